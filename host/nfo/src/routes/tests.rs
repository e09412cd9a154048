//! Tests of the routes, on both databases.

mod taken;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use qm_confined::Roots;
use qm_db::{Db, db_test};
use qm_jobs::{Ending, Jobs, Pace};
use qm_kernel::{Caller, Ctx, Permission, PermissionSet, Requester};
use qm_platform::testing::{self, Claims};
use qm_ports::action::{ActionCall, ActionError, Actions as _, Occasion};
use qm_ports::helpers::MediaNoteWriter as _;
use qm_ports::notes::{MediaNotes, NotedFacts, NotedItem, NotedLibrary, NotesUnread};
use qm_ports::payload::{Removal, TorrentPayload, TorrentPayloads};
use qm_test_base::Visitor;
use serde_json::{Value, json};

use super::routes;
use crate::model::MAX_ITEMS;
use crate::repo;
use crate::service::{Nfo, NfoDeps};
use taken::Changed;

#[derive(Default)]
struct Library(Mutex<Vec<NotedItem>>);

#[async_trait]
impl MediaNotes for Library {
    async fn find_noted(&self, id: &str) -> Result<Option<NotedItem>, NotesUnread> {
        Ok(self.0.lock().unwrap().iter().find(|item| item.id == id).cloned())
    }

    async fn find_noted_library(&self, id: &str) -> Result<Option<NotedLibrary>, NotesUnread> {
        let items = self.0.lock().unwrap();
        Ok(items
            .iter()
            .map(|item| &item.library)
            .find(|library| library.id == id)
            .cloned())
    }

    async fn list_unlocked(&self, library_id: &str, _: usize) -> Result<Vec<String>, NotesUnread> {
        let items = self.0.lock().unwrap();
        let wanted = items
            .iter()
            .filter(|item| item.library.id == library_id && !item.locked);
        Ok(wanted.map(|item| item.id.clone()).collect())
    }

    async fn list_known(&self, ids: &[String]) -> Result<Vec<String>, NotesUnread> {
        let items = self.0.lock().unwrap();
        Ok(ids
            .iter()
            .filter(|id| items.iter().any(|item| item.id == **id))
            .cloned()
            .collect())
    }
}

/// Torrents whose data is at a path.
#[derive(Default)]
struct Payloads(Mutex<Option<PathBuf>>);

#[async_trait]
impl TorrentPayloads for Payloads {
    fn touching(&self, paths: &[&Path]) -> Vec<TorrentPayload> {
        let held = self.0.lock().unwrap();
        let held = held
            .iter()
            .filter(|held| paths.iter().any(|path| path.starts_with(held)));
        let payload = |path: &PathBuf| TorrentPayload {
            engine_id: "e".to_owned(),
            hash: "h".to_owned(),
            name: "Tide.1999".to_owned(),
            path: path.display().to_string(),
            state: "seeding",
            live: true,
        };
        held.map(payload).collect()
    }

    async fn check_removal(&self, _: &[TorrentPayload]) -> Result<(), String> {
        unreachable!("notes remove nothing")
    }

    async fn remove(&self, _: &TorrentPayload, _: Removal<'_>, _: Caller<'_>) -> Result<(), String> {
        unreachable!("notes remove nothing")
    }
}

struct Site {
    visitor: Visitor,
    app: Arc<Nfo>,
    library: Arc<Library>,
    changed: Arc<Changed>,
    payloads: Arc<Payloads>,
    jobs: Jobs,
    db: Db,
    /// Directory of the library.
    root: PathBuf,
    folder: tempfile::TempDir,
}

impl Site {
    async fn new(db: &Db) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("films");
        fs::create_dir(&root).unwrap();
        let (library, payloads) = (Arc::new(Library::default()), Arc::new(Payloads::default()));
        let changed = Arc::new(Changed::default());
        let ctx = Ctx::system();
        let jobs = qm_jobs::testing::worker(db, Pace::default()).0;
        let app = Nfo::new(NfoDeps {
            ground: testing::ground(db, &ctx, Arc::new(Claims)),
            roots: Roots::open(&[root.to_str().unwrap()]),
            notes: library.clone(),
            subjects: changed.clone(),
            takers: changed.clone(),
            payloads: payloads.clone(),
            jobs: jobs.clone(),
        });
        let mut tx = db.begin_write().await.unwrap();
        repo::testing::add_library(&mut tx).await.unwrap();
        tx.commit().await.unwrap();
        Self {
            visitor: Visitor::new("/api/media", routes().with_state(app.clone()), ctx),
            app,
            library,
            changed,
            payloads,
            jobs,
            db: db.clone(),
            root,
            folder,
        }
    }

    async fn add(&self, id: &str, place: &str) {
        let mut tx = self.db.begin_write().await.unwrap();
        repo::testing::add_item(&mut tx, id).await.unwrap();
        tx.commit().await.unwrap();
        let path = self.root.join(place);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "a film").unwrap();
        self.library.0.lock().unwrap().push(NotedItem {
            id: id.to_owned(),
            library: NotedLibrary {
                id: "l".to_owned(),
                path: self.root.to_str().unwrap().to_owned(),
                nfo_enabled: true,
            },
            media_type: "movie".to_owned(),
            title: "Tide".to_owned(),
            place: place.to_owned(),
            facts: NotedFacts {
                genres: vec!["Drama".to_owned()],
                ..NotedFacts::default()
            },
            ..NotedItem::default()
        });
    }

    fn change(&self, change: impl Fn(&mut NotedItem)) {
        self.library.0.lock().unwrap().iter_mut().for_each(change);
    }

    async fn send(&self, path: &str, body: Value) -> (u16, Value) {
        let answer = self.visitor.ask("ADMINISTRATOR", "POST", path, Some(body)).await;
        answer.status_and_json()
    }

    /// The answer to a request for an item, which must have this status.
    async fn generate(&self, status: u16, body: Value) -> Value {
        let (found, said) = self.send("/nfo/generate", body).await;
        assert_eq!(found, status, "{said}");
        said
    }

    fn read(&self, place: &str) -> String {
        fs::read_to_string(self.root.join(place)).unwrap()
    }
}

db_test! {
    async fn a_note_is_written_and_written_anew(db: Db) {
        let site = Site::new(&db).await;
        site.add("film", "Tide (1999)/Tide (1999).mkv").await;
        let made = site.generate(201, json!({ "itemId": "film", "more": 1 })).await;
        let place = "Tide (1999)/Tide (1999).nfo";
        assert_eq!((&made["generated"], &made["files"][0]["type"]), (&json!(1), &json!("movie")));
        assert_eq!(made["files"][0]["path"], site.root.join(place).to_str().unwrap());
        assert!(site.read(place).contains("<genre>Drama</genre>"));
        let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(site.root.join(place)).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o644, "a media server reads it");
        // What was written here is written anew.
        site.change(|item| item.facts.genres = vec!["Comedy".to_owned()]);
        let again = site.generate(201, json!({ "itemId": "film" })).await;
        assert_eq!(again["files"][0]["id"], made["files"][0]["id"]);
        let text = site.read(place);
        assert!(text.contains("<genre>Comedy</genre>") && !text.contains("Drama"), "{text}");
        assert_eq!(repo::testing::count(&mut db.begin_read().await.unwrap()).await.unwrap(), 1);
        let left: Vec<_> = fs::read_dir(site.root.join("Tide (1999)")).unwrap().collect();
        assert_eq!(left.len(), 2, "no temporary stays: {left:?}");
        let rows = qm_platform::AuditTrail::newest(&mut db.begin_read().await.unwrap(), 10).await.unwrap();
        assert!(rows.iter().all(|row| row.action == "media.nfo.generate" && row.object_id.as_deref() == Some("film")) && rows.len() == 2);
    }

    async fn a_note_of_somebody_else_stays_or_keeps_what_is_not_known(db: Db) {
        let site = Site::new(&db).await;
        site.add("film", "Tide/Tide.mkv").await;
        let path = site.root.join("Tide/Tide.nfo");
        let theirs = "<movie><title>Mine</title><playcount>3</playcount></movie>";
        fs::write(&path, theirs).unwrap();
        fs::hard_link(&path, site.root.join("elsewhere.nfo")).unwrap();
        let refused = site.generate(409, json!({ "itemId": "film" })).await;
        assert_eq!(refused["code"], "conflict.nfo_exists");
        assert!(refused["message"].as_str().unwrap().contains("overwrite: true"), "{refused}");
        let over = json!({ "itemId": "film", "overwrite": true });
        // Of a seeding torrent it stays in any case.
        *site.payloads.0.lock().unwrap() = Some(site.root.join("Tide"));
        let refused = site.generate(409, over.clone()).await;
        assert_eq!(refused["code"], "conflict.shared_data");
        assert!(refused["message"].as_str().unwrap().contains("Tide.1999"), "{refused}");
        assert_eq!(site.read("Tide/Tide.nfo"), theirs);
        *site.payloads.0.lock().unwrap() = None;
        let _ = site.generate(201, over.clone()).await;
        let text = site.read("Tide/Tide.nfo");
        assert!(text.contains("<title>Tide</title>") && text.contains("<playcount>3</playcount>"), "{text}");
        assert_eq!(site.read("elsewhere.nfo"), theirs, "another name of the file keeps its content");
        // It is ours now, until somebody changes it; and what they added stays.
        let _ = site.generate(201, json!({ "itemId": "film" })).await;
        fs::write(&path, text.replace("</movie>", "<set>Tides</set></movie>")).unwrap();
        assert_eq!(site.generate(409, json!({ "itemId": "film" })).await["code"], "conflict.nfo_exists");
        let _ = site.generate(201, over.clone()).await;
        let _ = site.generate(201, json!({ "itemId": "film" })).await;
        let text = site.read("Tide/Tide.nfo");
        assert!(text.contains("<set>Tides</set>") && text.contains("<playcount>3</playcount>"), "{text}");
        for attack in ["<!DOCTYPE a [<!ENTITY b \"c\">]><movie>&b;</movie>", "https://www.imdb.com/title/tt1/", "<movie>", "\u{0}"] {
            fs::write(&path, attack).unwrap();
            let refused = site.generate(409, over.clone()).await;
            assert_eq!(refused["code"], "conflict.nfo_unreadable", "{attack}");
            assert_eq!(site.read("Tide/Tide.nfo"), attack);
        }
        // A link is not followed, a folder not replaced.
        fs::remove_file(&path).unwrap();
        let secret = site.folder.path().join("secret");
        fs::write(&secret, "<movie/>").unwrap();
        std::os::unix::fs::symlink(&secret, &path).unwrap();
        let (status, _) = site.send("/nfo/generate", over.clone()).await;
        assert!((400..500).contains(&status), "{status}");
        assert_eq!(fs::read_to_string(&secret).unwrap(), "<movie/>");
    }

    async fn a_library_is_noted_as_far_as_it_may_be(db: Db) {
        let site = Site::new(&db).await;
        for (id, place) in [("a", "A/a.mkv"), ("b", "B/b.mkv"), ("c", "C/c.mkv"), ("d", "d.mkv")] {
            site.add(id, place).await;
        }
        fs::write(site.root.join("B/b.nfo"), "<movie/>").unwrap();
        fs::remove_dir_all(site.root.join("C")).unwrap();
        site.change(|item| item.locked = item.id == "d");
        let made = site.generate(201, json!({ "libraryId": "l" })).await;
        assert_eq!((&made["generated"], &made["files"][0]["itemId"]), (&json!(1), &json!("a")));
        assert!(!site.root.join("d.nfo").exists());
        for (status, body, code) in [
            (404, json!({ "itemId": "nobody" }), "not_found.media_item"),
            (404, json!({ "libraryId": "nowhere" }), "not_found.media_library"),
            (400, json!({}), "bad_request.nothing_to_note"),
            (409, json!({ "itemId": "d" }), "conflict.media_item_locked"),
        ] {
            assert_eq!(site.generate(status, body).await["code"], code);
        }
        site.change(|item| item.library.nfo_enabled = false);
        for body in [json!({ "itemId": "a" }), json!({ "libraryId": "l" })] {
            let refused = site.generate(400, body).await;
            assert_eq!(refused["message"], "NFO generation is disabled for this library.");
        }
        let viewer = site.visitor.ask("USER", "POST", "/nfo/generate", Some(json!({ "itemId": "a" }))).await;
        assert_eq!(viewer.status, 403);
    }

    async fn many_notes_are_a_job(db: Db) {
        let site = Site::new(&db).await;
        for (id, place) in [("a", "A/a.mkv"), ("b", "B/b.mkv"), ("c", "C/c.mkv")] {
            site.add(id, place).await;
        }
        fs::write(site.root.join("B/b.nfo"), "<movie/>").unwrap();
        site.change(|item| item.locked = item.id == "c");
        let (status, accepted) = site.send("/items/bulk/nfo", json!({ "itemIds": ["a", "b", "a", "nobody", "c", 5] })).await;
        assert_eq!((status, &accepted["accepted"], &accepted["missing"]), (201, &json!(3), &json!(["nobody"])), "{accepted}");
        let job = accepted["jobId"].as_str().unwrap();
        let ended = site.jobs.ended(job).await.unwrap();
        assert!(matches!(ended, Ending::Completed), "{ended:?}");
        let result = site.jobs.result(job).await.unwrap().unwrap();
        assert_eq!((&result["total"], &result["completed"], &result["failed"]), (&json!(3), &json!(1), &json!(2)));
        assert!(site.root.join("A/a.nfo").exists());
        let many: Vec<String> = (0..=MAX_ITEMS).map(|number| number.to_string()).collect();
        for (ids, code) in [(json!([]), "bad_request.no_items"), (json!(many), "bad_request.too_many_items")] {
            let (status, refused) = site.send("/items/bulk/nfo", json!({ "itemIds": ids })).await;
            assert_eq!((status, &refused["code"]), (400, &json!(code)));
        }
    }

    async fn a_rule_has_notes_written_for_its_author(db: Db) {
        let site = Site::new(&db).await;
        site.add("film", "Tide (1999)/Tide (1999).mkv").await;
        site.add("other", "Ebb (2001)/Ebb (2001).mkv").await;
        let powers = PermissionSet::empty().with(Permission::MediaManagerGenerateNfo);
        let call = |params: Value, author: Option<&str>, powers| ActionCall {
            run_id: "run.0".to_owned(),
            occasion: Occasion::Event,
            params: params.as_object().unwrap().clone(),
            context: serde_json::Map::new(),
            torrent: None,
            author: author.map(str::to_owned),
            powers,
        };
        let run = |params: Value| site.app.run("media_generate_nfo", call(params, Some("u"), powers));
        for (params, why) in [
            (json!({}), "itemId or libraryId is required"), (json!({ "itemId": "none" }), "Item not found"),
            (json!({ "itemId": "no\0ne" }), "Item not found"), (json!({ "libraryId": "none" }), "Library not found"),
        ] {
            assert_eq!(run(params.clone()).await.unwrap_err().to_string(), why, "{params}");
        }
        assert_eq!(run(json!({ "itemId": "film" })).await, Ok(()));
        assert!(site.read("Tide (1999)/Tide (1999).nfo").contains("<genre>Drama</genre>"));
        assert!(!site.root.join("Ebb (2001)/Ebb (2001).nfo").exists());
        // What somebody else wrote stays: about one item that is told, of a library it is left out.
        fs::write(site.root.join("Tide (1999)/Tide (1999).nfo"), "<movie><plot>mine</plot></movie>").unwrap();
        assert!(run(json!({ "itemId": "film" })).await.unwrap_err().to_string().contains("written or changed by somebody else"));
        assert_eq!(run(json!({ "libraryId": "l" })).await, Ok(()));
        assert!(site.root.join("Ebb (2001)/Ebb (2001).nfo").exists());
        assert!(site.read("Tide (1999)/Tide (1999).nfo").contains("mine"));
        let who = Requester::absent("u", powers, "job");
        assert_eq!(site.app.write_note_of(&who, "film").await, Ok(false));
        assert_eq!(site.app.write_note_of(&who, "other").await, Ok(true));
        assert_eq!(run(json!({ "itemId": "film", "overwrite": true })).await, Ok(()));
        assert!(site.read("Tide (1999)/Tide (1999).nfo").contains("<genre>Drama</genre>"));
        for (author, powers) in [(None, powers), (Some("u"), PermissionSet::empty())] {
            let refused = site.app.run("media_generate_nfo", call(json!({ "itemId": "film" }), author, powers)).await;
            assert!(matches!(refused, Err(ActionError::Denied(_))), "{refused:?}");
        }
        site.change(|item| item.library.nfo_enabled = false);
        assert!(matches!(run(json!({ "libraryId": "l" })).await, Err(ActionError::Rejected(_))));
        assert!(site.app.write_note_of(&who, "film").await.is_err());
    }
}
