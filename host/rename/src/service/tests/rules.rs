//! Names that rules of automation, and the library itself, ask for.

use qm_kernel::{PermissionSet, Requester};
use qm_platform::AuditTrail;
use qm_ports::action::{ActionCall, ActionError, Actions, Occasion, TorrentRef};
use qm_ports::engine::Torrent;
use qm_ports::helpers::{HelpError, MediaNaming as _, NamingOrder};
use qm_ports::shelves::ShelfItem;
use serde_json::{Map, Value, json};

use super::*;
use crate::testing::One;

qm_db::sql! {
    ADD_USER = "INSERT INTO users (id, username, email, password_hash, created_at, updated_at) \
        VALUES ($1, $1, $1, '', 0, 0)";
}

/// Adds items of the library `tv` with these ids and paths.
fn stock(house: &House, items: &[(&str, &str)]) {
    for (id, path) in items {
        house.write(&format!("tv/{path}"), id);
        house.around.items.lock().unwrap().push(ShelfItem {
            id: (*id).to_owned(),
            path: house.place_of(&format!("tv/{path}")),
            title: "The Wire".to_owned(),
            year: Some(2002),
        });
    }
}

fn call(params: Value, torrent: Option<&str>) -> ActionCall {
    ActionCall {
        run_id: "run.0".to_owned(),
        occasion: Occasion::Torrent,
        params: params.as_object().unwrap().clone(),
        context: Map::from_iter([("name".to_owned(), json!("the torrent"))]),
        torrent: torrent.map(|hash| TorrentRef {
            engine_id: "e".to_owned(),
            hash: hash.to_owned(),
        }),
        author: Some(admin().principal.user_id.to_string()),
        powers: PermissionSet::empty().with(RENAMES),
    }
}

/// Runs an action as automation does.
async fn run(house: &House, action: &str, call: ActionCall) -> Result<(), ActionError> {
    Actions::run(&*house.app, action, call).await
}

async fn act(house: &House, action: &str, params: Value) -> Result<(), String> {
    let done = run(house, action, call(params, None)).await;
    done.map_err(|error| error.to_string())
}

/// Files below the folder `tv`.
fn files(house: &House) -> Vec<String> {
    let root = format!("{}/", house.place_of("tv"));
    let all = house.inventory().into_keys();
    let all = all.map(|path| String::from_utf8(path).unwrap());
    all.filter_map(|path| Some(path.strip_prefix(&root)?.to_owned()))
        .collect()
}

const LOOSE: &str = "The Wire (2002)/The.Wire.S01E01.1080p.mkv";
const NAMED: &str = "The Wire (2002)/Season 1/The Wire - S01E01.mkv";

db_test! {
    async fn a_rule_has_an_item_named_by_the_rules_of_its_library(db: Db) {
        let author = admin().principal.user_id.to_string();
        let mut tx = db.begin_write().await.unwrap();
        let _ = qm_db::exec!(&mut tx, ADD_USER, &*author).await.unwrap();
        tx.commit().await.unwrap();
        let house = House::new(&db);
        stock(&house, &[("a", LOOSE), ("b", "The Wire (2002)/The.Wire.S01E02.mkv")]);
        house.write("tv/The Wire (2002)/The.Wire.S01E01.1080p.en.srt", "words");
        assert_eq!(act(&house, "media_rename", json!({ "itemId": "a", "torrentHash": "ABC" })).await, Ok(()));
        let now = files(&house);
        assert_eq!(now, [
            "The Wire (2002)/Season 1/The Wire - S01E01.en.srt".to_owned(), NAMED.to_owned(), "The Wire (2002)/The.Wire.S01E02.mkv".to_owned(),
        ]);
        let runs = house.app.list_undoable().await.unwrap();
        let (steps, _) = house.app.list_steps(&runs[0].run_id).await.unwrap();
        assert!(steps.iter().all(|step| step.torrent_hash.as_deref() == Some("abc")), "{steps:?}");
        let rows = AuditTrail::newest(&mut db.begin_read().await.unwrap(), 5).await.unwrap();
        assert_eq!((rows.len(), &*rows[0].action, rows[0].user_id.as_deref()), (1, "media.rename", Some(&*author)));
        assert_eq!(rows[0].ip_address, None, "no request asked for it");
        // It lies elsewhere than the library knows by now: there is nothing to name.
        let gone = act(&house, "media_rename", json!({ "itemId": "a" })).await;
        assert_eq!(gone, Err("its file is not there, or cannot be read".to_owned()));
    }

    async fn a_rule_has_a_library_named_but_for_locked_items(db: Db) {
        let house = House::new(&db);
        stock(&house, &[("a", LOOSE), ("b", "The Wire (2002)/The.Wire.S01E02.mkv"), ("c", "gone/The.Wire.S01E03.mkv")]);
        fs::remove_dir_all(house.root.join("tv/gone")).unwrap();
        *house.around.locked.lock().unwrap() = vec!["b".to_owned()];
        assert_eq!(act(&house, "media_rename", json!({ "libraryId": "tv" })).await, Ok(()), "one that is gone holds nobody up");
        assert_eq!(files(&house), [NAMED.to_owned(), "The Wire (2002)/The.Wire.S01E02.mkv".to_owned()]);
        assert_eq!(house.app.list_undoable().await.unwrap().len(), 1, "one run that can be undone");
        assert_eq!(undo_all(&house).await, 1);
        assert_eq!(files(&house).len(), 2);
        // A library that links: a rule may have its files moved all the same.
        house.around.shelf.lock().unwrap().mode = "hardlink".to_owned();
        assert_eq!(act(&house, "media_rename", json!({ "libraryId": "tv" })).await, Ok(()));
        assert!(house.root.join("tv").join(LOOSE).exists() && house.root.join("tv").join(NAMED).exists());
        assert_eq!(undo_all(&house).await, 1);
        assert_eq!(act(&house, "media_move", json!({ "itemId": "a", "libraryId": "none" })).await, Ok(()), "the item counts");
        assert!(!house.root.join("tv").join(LOOSE).exists() && house.root.join("tv").join(NAMED).exists());
    }

    async fn rules_are_refused_what_makes_no_sense(db: Db) {
        let house = House::new(&db);
        stock(&house, &[("a", LOOSE)]);
        *house.around.locked.lock().unwrap() = vec!["a".to_owned()];
        let before = house.inventory();
        for action in ["media_rename", "media_move"] {
            for (params, why) in [
                (json!({}), "itemId or libraryId is required"), (json!({ "itemId": " ", "libraryId": null }), "itemId or libraryId is required"),
                (json!({ "itemId": "none" }), "Item not found"), (json!({ "libraryId": "none" }), "Library not found"),
                (json!({ "itemId": "a" }), "Item is locked: unlock it first"),
            ] {
                assert_eq!(act(&house, action, params.clone()).await, Err(why.to_owned()), "{action} {params}");
            }
        }
        for (params, torrent, why) in [
            (json!({ "libraryPath": house.place_of("tv") }), None, "The action \"rename_for_media\" needs a torrent"),
            (json!({}), Some("x"), "libraryPath is required"), (json!({ "libraryPath": "" }), Some("x"), "libraryPath is required"),
            (json!({ "libraryPath": house.place_of("tv") }), Some("x"), "Torrent not found"),
            (json!({ "libraryPath": "/proc" }), Some("x"), "Path is outside the allowed storage roots"),
            (json!({ "libraryPath": "tv" }), Some("x"), "libraryPath must be absolute, and without ..: \"tv\" is not"),
        ] {
            let refused = run(&house, "rename_for_media", call(params.clone(), torrent)).await.unwrap_err();
            assert_eq!(refused.to_string(), why, "{params}");
        }
        // Neither without the right, nor for nobody.
        let mut powerless = call(json!({ "libraryId": "tv" }), None);
        powerless.powers = PermissionSet::empty();
        assert!(matches!(run(&house, "media_rename", powerless).await, Err(ActionError::Denied(why)) if why.contains("media_manager.rename")));
        let mut nobodys = call(json!({ "libraryId": "tv" }), None);
        nobodys.author = None;
        assert!(matches!(run(&house, "media_rename", nobodys).await, Err(ActionError::Denied(_))));
        assert_eq!(run(&house, "pause", call(json!({}), None)).await, Err(ActionError::Unknown("pause".to_owned())));
        assert_eq!(house.inventory(), before);
    }

    async fn a_rule_names_the_files_of_a_torrent_for_a_library(db: Db) {
        let house = House::new(&db);
        house.write("dl/The.Wire.S01E01.1080p.WEB/The.Wire.S01E01.1080p.WEB.mkv", "1");
        let torrent = Torrent {
            save_path: house.place_of("dl"),
            name: "The.Wire.S01E01.1080p.WEB".to_owned(),
            content_path: house.place_of("dl/The.Wire.S01E01.1080p.WEB"),
            ..qm_test_base::blank::torrent(1)
        };
        let hash = torrent.hash.to_string();
        house.around.lists.lock().unwrap().push(Arc::new(One(torrent)));
        let before = house.inventory();
        let name = async |params: Value| run(&house, "rename_for_media", call(params, Some(&hash))).await;
        let library = house.place_of("tv");
        assert_eq!(name(json!({ "libraryPath": library, "mode": "preview" })).await, Ok(()));
        assert_eq!(house.inventory(), before, "a preview changes nothing");
        assert_eq!(name(json!({ "libraryPath": library })).await, Ok(()));
        assert_eq!(files(&house), [NAMED]);
        assert_eq!(house.inventory().len(), 2, "what seeds goes on: a link is the default");
        assert_eq!(name(json!({ "libraryPath": library })).await, Ok(()), "it has the name already");
        assert_eq!(house.inventory().len(), 2);
        let bad = name(json!({ "libraryPath": library, "mode": "burn" })).await.unwrap_err().to_string();
        assert!(bad.contains("mode must be one of") && bad.contains("burn"), "{bad}");
        let bad = name(json!({ "libraryPath": library, "preset": "none" })).await;
        assert_eq!(bad, Err(ActionError::NotFound("Preset not found".to_owned())));
    }

    async fn the_library_has_items_named_for_a_person(db: Db) {
        let house = House::new(&db);
        stock(&house, &[("a", LOOSE), ("b", "The Wire (2002)/Season 1/The Wire - S01E02.mkv"), ("c", "The Wire (2002)/The.Wire.S01E03.mkv")]);
        *house.around.locked.lock().unwrap() = vec!["c".to_owned()];
        let who = Requester::absent("somebody", PermissionSet::empty().with(RENAMES), "job");
        let ids = ["a", "b", "c", "none"].map(str::to_owned);
        let order = NamingOrder { library_id: "tv", item_ids: &ids, torrent_hash: None, is_moving: false };
        let mut named = house.app.name_items(&who, order).await.unwrap();
        named.settled.sort();
        assert_eq!((named.settled, named.renamed, named.failed), (vec!["a".to_owned(), "b".to_owned()], vec!["a".to_owned()], vec![]));
        // A download right in the library comes to the show that the library knows, not to one of its own.
        house.around.items.lock().unwrap().clear();
        stock(&house, &[("e", "The.Wire.S01E05.1080p.WEB-DL.x264-GRP/The.Wire.S01E05.1080p.WEB-DL.x264-GRP.mkv")]);
        house.around.shelf.lock().unwrap().mode = "rename_move".to_owned();
        let ids = ["e".to_owned()];
        let order = NamingOrder { library_id: "tv", item_ids: &ids, torrent_hash: Some("ABC"), is_moving: false };
        assert_eq!(house.app.name_items(&who, order).await.unwrap().renamed, ids);
        assert!(house.root.join("tv/The Wire (2002)/Season 1/The Wire - S01E05.mkv").exists());
        // Files that came a moment ago are not linked beside themselves.
        house.around.shelf.lock().unwrap().mode = "hardlink".to_owned();
        house.around.items.lock().unwrap().clear();
        stock(&house, &[("d", "The.Wire.S01E04.mkv")]);
        let ids = ["d".to_owned()];
        let order = NamingOrder { library_id: "tv", item_ids: &ids, torrent_hash: None, is_moving: true };
        assert_eq!(house.app.name_items(&who, order).await.unwrap().renamed, ids);
        assert!(!house.root.join("tv/The.Wire.S01E04.mkv").exists());
        // Without the right nothing is.
        let powerless = Requester::absent("somebody", PermissionSet::empty(), "job");
        let refused = house.app.name_items(&powerless, order).await;
        assert_eq!(refused, Err(HelpError::Failed("Missing permission(s): media_manager.rename".to_owned())));
        let refused = house.app.put_in_order(&powerless, "tv").await;
        assert!(matches!(refused, Err(HelpError::Failed(_))), "{refused:?}");
    }
}
