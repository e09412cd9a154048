//! Categories that choose where torrents lie: of a client that does not know that, and of one that does.

use std::sync::Arc;

use qm_db::{Db, db_test};
use qm_engines::{Engine, TorrentsError};
use qm_ports::action::{TorrentHands, TorrentRef};
use qm_ports::engine::{Category, Command, Torrent, TorrentState, capability};
use qm_test_base::FakeEngine;
use qm_test_base::blank::{hash, torrent};

use crate::dto::taxonomy::{CategoryChange, NewCategory};
use crate::testing::{House, eventually};

struct Site {
    house: House,
    client: Arc<FakeEngine>,
    engine: String,
}

impl Site {
    /// A torrent at `/downloads`, and the categories `films` and `shows` with directories of their names.
    async fn new(db: &Db, abilities: &[&'static str]) -> Self {
        let house = House::new(db, &["fake"]).await;
        let client = house.kinds.engine("a");
        for ability in abilities {
            client.offer(ability);
        }
        client.put(Torrent {
            state: TorrentState::Seeding,
            progress: 1.0,
            downloaded: 1000,
            ..torrent(1)
        });
        house.mover.put("/downloads/x");
        let engine = house.engine("seedbox", "a").await;
        house.torrents.resolve(None).unwrap().listed().await.unwrap();
        let site = Self {
            house,
            client,
            engine,
        };
        for name in ["films", "shows"] {
            let new = NewCategory {
                name: name.to_owned(),
                color: None,
                save_path: Some(format!("/downloads/{name}")),
            };
            site.house
                .torrents
                .create_category(site.house.caller(), new)
                .await
                .unwrap();
        }
        site
    }

    fn engine(&self) -> Arc<Engine> {
        self.house.torrents.engines.get(&self.engine).unwrap()
    }

    /// Carries out a command, and waits until the list shows where the torrent is then.
    async fn tell(&self, command: Command) -> Result<(), TorrentsError> {
        let (data, engine) = (&self.house.torrents.data, self.engine());
        let caller = Some(self.house.caller());
        let done = data.follow_category(caller, &engine, &hash(1), &command).await;
        engine.show_change(true).await;
        done
    }

    async fn set(&self, label: &str) -> Result<(), TorrentsError> {
        self.tell(Command::SetLabel { label: label.into() }).await
    }

    /// Category, directory and mark of the torrent, as the list shows them.
    fn shown(&self) -> (Option<String>, String, Option<bool>) {
        let entry = self.house.torrents.torrent(&self.engine, &hash(1)).unwrap();
        let torrent = &entry.torrent;
        (
            torrent.label.clone(),
            torrent.save_path.clone(),
            torrent.auto_managed,
        )
    }

    async fn change(&self, name: &str, path: Option<&str>) -> Result<Option<String>, TorrentsError> {
        let all = self.house.torrents.categories().await.unwrap();
        let id = all
            .iter()
            .find(|row| row.name == name)
            .map(|row| row.id.clone())
            .unwrap();
        let change = CategoryChange {
            color: None,
            save_path: Some(path.map(str::to_owned)),
        };
        let changed = self
            .house
            .torrents
            .change_category(self.house.caller(), &id, change);
        changed.await.map(|row| row.save_path)
    }
}

fn is_at(label: &str, path: &str, auto_managed: Option<bool>) -> (Option<String>, String, Option<bool>) {
    (Some(label.to_owned()), path.to_owned(), auto_managed)
}

const KNOWS: &[&str] = &[
    capability::AUTO_MANAGE,
    capability::CATEGORIES,
    capability::MOVES_DATA,
];

db_test! {
    async fn the_server_moves_what_a_category_chooses(db: Db) {
        let site = Site::new(&db, &[capability::FOLLOWS_DATA]).await;
        site.set("films").await.unwrap();
        assert_eq!(site.shown(), is_at("films", "/downloads", None), "nobody asked for more");
        site.tell(Command::AutoManage(true)).await.unwrap();
        assert_eq!(site.shown(), is_at("films", "/downloads/films", Some(true)));
        assert_eq!(site.house.mover.paths(), ["/downloads/films/x"]);
        site.set("shows").await.unwrap();
        assert_eq!(site.shown(), is_at("shows", "/downloads/shows", Some(true)));
        // Rules follow it too, and a category without a directory chooses none.
        let torrent = TorrentRef { engine_id: site.engine.clone(), hash: hash(1).to_string() };
        site.house.torrents.label(&torrent, "films").await.unwrap();
        site.engine().show_change(true).await;
        assert_eq!(site.shown(), is_at("films", "/downloads/films", Some(true)));
        site.set("loose").await.unwrap();
        assert_eq!(site.shown(), is_at("loose", "/downloads/films", Some(true)));
        site.tell(Command::AutoManage(false)).await.unwrap();
        site.set("shows").await.unwrap();
        assert_eq!(site.shown(), is_at("shows", "/downloads/films", Some(false)));
        site.house.torrents.shutdown().await;
    }

    async fn a_torrent_that_cannot_follow_keeps_its_category(db: Db) {
        let site = Site::new(&db, &[capability::FOLLOWS_DATA]).await;
        site.set("films").await.unwrap();
        site.tell(Command::AutoManage(true)).await.unwrap();
        site.house.mover.put("/downloads/shows/x");
        let refused = site.set("shows").await.unwrap_err();
        assert_eq!(refused.to_string(), "Destination already exists");
        assert_eq!(site.shown(), is_at("films", "/downloads/films", Some(true)));
        // Another torrent of the same data.
        site.house.mover.there.lock().unwrap().remove("/downloads/shows/x");
        site.client.put(Torrent {
            progress: 1.0,
            downloaded: 1000,
            save_path: "/downloads/films".into(),
            content_path: "/downloads/films/x".into(),
            ..torrent(2)
        });
        site.engine().show_change(true).await;
        site.set("loose").await.unwrap();
        let refused = site.set("shows").await.unwrap_err();
        assert_eq!(refused.code(), "conflict.shared_data", "{refused}");
        assert_eq!(site.shown(), is_at("loose", "/downloads/films", Some(true)));
        site.house.torrents.shutdown().await;
    }

    async fn a_move_by_hand_ends_it_and_a_restart_does_not(db: Db) {
        let site = Site::new(&db, &[capability::FOLLOWS_DATA]).await;
        site.set("films").await.unwrap();
        site.tell(Command::AutoManage(true)).await.unwrap();
        let refused = site.change("films", Some("/downloads/movies")).await.unwrap_err();
        assert_eq!(refused.code(), "conflict.category_in_use", "{refused}");
        assert_eq!(site.change("shows", Some("/downloads/series")).await.unwrap().as_deref(), Some("/downloads/series"));
        let mut tx = db.begin_read().await.unwrap();
        let stored = qm_engines::repo::intake::load(&mut tx, &site.engine).await.unwrap();
        drop(tx);
        assert_eq!(stored[0].1.auto_managed, Some(true), "as the next start reads it");
        let data = &site.house.torrents.data;
        data.relocate(site.house.caller(), None, &hash(1), "/downloads/apart").await.unwrap();
        eventually("the mark is gone", || site.shown().2 == Some(false)).await;
        assert_eq!(site.change("films", None).await.unwrap(), None);
        site.set("shows").await.unwrap();
        assert_eq!(site.shown(), is_at("shows", "/downloads/apart", Some(false)));
        site.house.torrents.shutdown().await;
    }

    async fn a_client_that_chooses_itself_gets_the_directories_of_the_list(db: Db) {
        let site = Site::new(&db, KNOWS).await;
        site.tell(Command::AutoManage(true)).await.unwrap();
        assert!(site.client.categories.lock().unwrap().is_empty(), "the torrent is in none");
        site.set("films").await.unwrap();
        let own = |name: &str, path: Option<&str>| Category {
            name: name.to_owned(),
            save_path: path.map(str::to_owned),
            download_path: None,
        };
        assert_eq!(*site.client.categories.lock().unwrap(), [own("films", Some("/downloads/films"))]);
        // One that the client has elsewhere, with nothing in it.
        site.client.categories.lock().unwrap().push(own("shows", Some("/downloads/elsewhere")));
        site.set("shows").await.unwrap();
        assert_eq!(site.client.categories.lock().unwrap()[1], own("shows", Some("/downloads/shows")));
        // And with a torrent that would be moved by it.
        site.client.categories.lock().unwrap()[0].save_path = Some("/downloads/elsewhere".into());
        site.client.put(Torrent {
            label: Some("films".into()),
            auto_managed: Some(true),
            save_path: "/downloads/elsewhere".into(),
            content_path: "/downloads/elsewhere/y".into(),
            ..torrent(2)
        });
        site.engine().show_change(true).await;
        let refused = site.set("films").await.unwrap_err();
        assert_eq!(refused.code(), "conflict.category_elsewhere", "{refused}");
        assert!(refused.to_string().contains("/downloads/elsewhere") && refused.to_string().contains("1 torrents"), "{refused}");
        assert_eq!(site.shown().0.as_deref(), Some("shows"));
        // Data of two torrents is not moved by a client either.
        site.client.put(Torrent { label: None, ..site.client.torrent(&hash(1)).unwrap() });
        site.client.put(Torrent {
            name: "torrent 1".into(),
            progress: 1.0,
            downloaded: 1000,
            ..torrent(3)
        });
        site.engine().show_change(true).await;
        let refused = site.set("shows").await.unwrap_err();
        assert_eq!(refused.code(), "conflict.shared_data", "{refused}");
        site.house.torrents.shutdown().await;
    }
}
