//! Films that share an id, as a client has them repaired.

use qm_db::{Db, db_test};
use qm_kernel::Permission;
use qm_media::model::external::ExternalId;
use qm_media::model::library::Kind;
use qm_media::repo;
use serde_json::{Value, json};

use super::Site;
use crate::testing::{Say, audited, has_user};

const FOLDERS: [&str; 6] = [
    "Ebb (2004)",
    "Fog (2001)",
    "Gale (1999)",
    "Hail (1990)",
    "Locked (1980)",
    "Tide (2003)",
];

impl Site {
    /// A film in each folder, each of which holds the same id.
    async fn has_films(&self, db: &Db) {
        has_user(db).await;
        for folder in FOLDERS {
            self.house.file(format!("films/{folder}/film.mkv"), 1);
        }
        self.house.file("films/Tide (2003)/film.part.2.mkv", 1);
        self.house.file("other/Tide (2003)/film.mkv", 1);
        for (folder, kind) in [("films", Kind::Movie), ("other", Kind::General)] {
            let (_, job) = self.house.library(folder, kind).await;
            self.house.ended(&job).await;
        }
        for item in self.all().await {
            self.gives(db, &item, "provider_a", "1").await;
        }
        let locked = self
            .all()
            .await
            .into_iter()
            .find(|item| path(item).contains("Locked"))
            .unwrap();
        self.admin(
            "POST",
            &format!("/items/{}/lock", locked["id"].as_str().unwrap()),
            None,
        )
        .await;
    }

    async fn gives(&self, db: &Db, item: &Value, provider: &str, id: &str) {
        let item_id = item["id"].as_str().unwrap().to_owned();
        let mut tx = db.begin_write().await.unwrap();
        let id = ExternalId {
            id: format!("{item_id}{provider}"),
            provider: provider.to_owned(),
            value: id.to_owned(),
            url: None,
            is_derived: false,
            item_id,
        };
        repo::external::put(&mut tx, &id).await.unwrap();
        tx.commit().await.unwrap();
    }

    async fn all(&self) -> Vec<Value> {
        self.get("/items").await["items"].as_array().unwrap().clone()
    }

    /// Ids of all items, by the ends of their paths.
    async fn held(&self) -> Vec<(String, Vec<String>)> {
        let mut held: Vec<_> = self
            .all()
            .await
            .iter()
            .map(|item| {
                let ids = item["externalIds"].as_array().unwrap().iter();
                let ids = ids.map(|id| {
                    format!(
                        "{} {}",
                        id["provider"].as_str().unwrap(),
                        id["externalId"].as_str().unwrap()
                    )
                });
                let from = self.house.root.to_str().unwrap().len() + 1;
                (path(item)[from..].to_owned(), ids.collect())
            })
            .collect();
        held.sort();
        held
    }

    async fn preview(&self) -> (u64, Vec<(String, String, bool)>) {
        let preview = self.get("/repair/movie-identity/preview").await;
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let rows = preview["proposals"].as_array().unwrap().iter().map(|row| {
            (
                text(&row["folderTitle"]),
                text(&row["action"]),
                row["ambiguous"].as_bool().unwrap(),
            )
        });
        (preview["contaminatedIds"].as_u64().unwrap(), rows.collect())
    }
}

fn path(item: &Value) -> &str {
    item["path"].as_str().unwrap()
}

db_test! {
    async fn films_get_the_ids_of_their_folders(db: Db) {
        let site = Site::new(&db).await;
        site.has_films(&db).await;
        // Nobody can be asked: nothing would go.
        let stays = |title: &str| (title.to_owned(), "unchanged".to_owned(), false);
        let all = ["Ebb", "Fog", "Gale", "Hail", "Locked", "Tide"].map(stays);
        assert_eq!(site.preview().await, (1, all.to_vec()));
        let chain = &site.house.around.chain;
        for (title, say) in [
            ("Tide", Say::Ids(vec!["1"])), ("Ebb", Say::Ids(vec!["2"])), ("Fog", Say::Silence), ("Gale", Say::Ids(vec!["1", "7"])),
            ("Locked", Say::Ids(vec!["3"])),
        ] {
            chain.says(title, say);
        }
        let row = |title: &str, action: &str, ambiguous| (title.to_owned(), action.to_owned(), ambiguous);
        let expected = vec![
            row("Ebb", "reidentify", false), row("Fog", "unchanged", false), row("Gale", "unchanged", true), row("Hail", "clear", false),
            row("Locked", "unchanged", false), row("Tide", "unchanged", false),
        ];
        let before = site.held().await;
        assert_eq!(site.preview().await, (1, expected));
        assert_eq!(*chain.asked.lock().unwrap(), ["Ebb", "Fog", "Gale", "Hail", "Tide"], "a folder once, and a locked one not at all");
        assert_eq!(site.held().await, before, "a preview changes nothing");
        let (status, done) = site.admin("POST", "/repair/movie-identity/apply", None).await;
        assert_eq!((status, done), (201, json!({ "reidentified": 1, "cleared": 1, "unchanged": 4 })));
        let mut after = before;
        after[0].1 = vec!["provider_a 2".to_owned()];
        after[3].1 = Vec::new();
        assert_eq!(site.held().await, after, "what is in no library of films is left alone");
        let (_, done) = site.admin("POST", "/repair/movie-identity/apply", None).await;
        assert_eq!(done, json!({ "reidentified": 0, "cleared": 0, "unchanged": 4 }), "done twice it does no more");
        assert_eq!(site.held().await, after);
        assert_eq!(audited(&db, "media.repair.movie_identity").await.len(), 2);
        assert_eq!(site.ask("USER", "POST", "/repair/movie-identity/apply", None).await.0, 403);
        site.house.around.lost.lock().unwrap().push(Permission::MediaManagerManageLibraries);
        chain.says("Fog", Say::Ids(vec!["9"]));
        let (status, answer) = site.admin("POST", "/repair/movie-identity/apply", None).await;
        assert_eq!((status, &answer["code"]), (409, &json!("conflict.media_job_unfinished")), "who may no longer has nothing done");
        assert_eq!(site.held().await, after);
        site.house.stops().await;
    }

    async fn without_providers_the_data_set_is_asked(db: Db) {
        let site = Site::new(&db).await;
        site.has_films(&db).await;
        site.house.around.titles.has("one", &[("tt0000020", "movie", "Tide", 2003)], &[]);
        let (status, done) = site.admin("POST", "/repair/movie-identity/apply", None).await;
        assert_eq!((status, done), (201, json!({ "reidentified": 1, "cleared": 0, "unchanged": 5 })), "what it does not have may be there");
        let held = site.held().await;
        assert_eq!((&held[5].1, &held[0].1), (&vec!["titledb tt0000020".to_owned()], &vec!["provider_a 1".to_owned()]));
        site.house.stops().await;
    }
}
