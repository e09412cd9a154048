//! The routes as a client sees them, over torrent clients in memory and both databases.

mod house;
mod many;
mod names;

use qm_db::{Db, db_test};
use qm_engines::model::abilities::{AUTO_MANAGE, EXPORT};
use qm_kernel::{Permission, PermissionSet};
use qm_ports::action::{ActionCall, ActionError, Actions, Occasion, TorrentRef};
use qm_ports::engine::{EngineError, Torrent, capability};
use qm_test_base::blank::{hash, torrent};
use serde_json::{Map, Value, json};

use self::house::House;
use crate::model::kinds::KINDS;

/// A client with torrent 1, which can everything.
async fn able(db: &Db) -> (House, String) {
    let house = House::new(db).await;
    let client = house.client("a");
    let abilities = KINDS.iter().filter_map(|kind| kind.ability);
    for ability in abilities.chain([&EXPORT, &AUTO_MANAGE]) {
        client.offer(ability.word);
    }
    client.put(torrent(1));
    let engine = house.engine("seedbox", "a").await;
    (house, engine)
}

/// A command of one torrent: its path and body, what the client is told, the audit's action and what it tells.
type Line = (&'static str, Option<Value>, &'static str, &'static str, Value);

/// Commands that switch or order something.
fn switches() -> Vec<Line> {
    let enabled = |on: bool| Some(json!({ "enabled": on }));
    vec![
        (
            "category",
            Some(json!({ "category": " films " })),
            "SetLabel { label: \"films\" }",
            "torrents.move",
            json!({ "label": "films" }),
        ),
        (
            "reannounce",
            None,
            "Reannounce",
            "torrents.manage_trackers",
            json!({}),
        ),
        (
            "force-start",
            enabled(true),
            "ForceStart(true)",
            "torrents.start",
            json!({ "on": true }),
        ),
        (
            "force-start",
            enabled(false),
            "ForceStart(false)",
            "torrents.start",
            json!({ "on": false }),
        ),
        (
            "queue",
            Some(json!({ "position": "top" })),
            "Queue(Top)",
            "torrents.manage_limits",
            json!({ "position": "top" }),
        ),
        (
            "queue",
            Some(json!({ "position": "down" })),
            "Queue(Down)",
            "torrents.manage_limits",
            json!({ "position": "down" }),
        ),
        (
            "priority",
            Some(json!({ "priority": 3 })),
            "Priority(3)",
            "torrents.manage_limits",
            json!({ "priority": 3 }),
        ),
        (
            "sequential",
            enabled(true),
            "Sequential(true)",
            "torrents.manage_files",
            json!({ "on": true }),
        ),
        (
            "first-last-piece",
            enabled(true),
            "FirstLastPiece(true)",
            "torrents.manage_files",
            json!({ "on": true }),
        ),
        (
            "super-seeding",
            enabled(true),
            "SuperSeeding(true)",
            "torrents.manage_limits",
            json!({ "on": true }),
        ),
        (
            "auto-manage",
            enabled(true),
            "AutoManage(true)",
            "torrents.move",
            json!({ "on": true }),
        ),
    ]
}

/// The other commands.
fn changes() -> Vec<Line> {
    vec![
        (
            "download-path",
            Some(json!({ "path": "/downloads/part/" })),
            "DownloadPath(Some(\"/downloads/part\"))",
            "torrents.move",
            json!({ "downloadPath": "/downloads/part/" }),
        ),
        (
            "download-path",
            Some(json!({ "path": null })),
            "DownloadPath(None)",
            "torrents.move",
            json!({ "downloadPath": null }),
        ),
        (
            "files/rename",
            Some(json!({ "fileIndex": 0, "name": "b.mkv" })),
            "RenameFile { index: 0, name: \"b.mkv\" }",
            "torrents.manage_files",
            json!({ "fileIndex": 0, "newName": "b.mkv" }),
        ),
        (
            "trackers/replace",
            Some(json!({ "url": "http://tracker.example/announce", "newUrl": "http://other.example/key" })),
            "ReplaceTracker { old_url: \"http://tracker.example/announce\", new_url: \"http://other.example/key\" }",
            "torrents.manage_trackers",
            json!({ "change": "replaced" }),
        ),
        (
            "peers/ban",
            Some(json!({ "peers": ["[::1]:5"] })),
            "BanPeers { peers: [\"[::1]:5\"] }",
            "torrents.manage_limits",
            json!({ "peers": ["[::1]:5"] }),
        ),
    ]
}

db_test! {
    async fn every_command_reaches_the_client_and_is_audited_once(db: Db) {
        let (house, engine) = able(&db).await;
        for (at, (path, body, told, action, facts)) in switches().into_iter().chain(changes()).enumerate() {
            let path = format!("/{}/{path}?engineId={engine}", hash(1).to_uppercase());
            let answer = house.ask("ADMINISTRATOR", "POST", &path, body).await;
            assert_eq!((answer.status, answer.json()), (201, json!({ "success": true })), "{path}");
            let given = house.client("a").commands();
            assert_eq!(given.len(), at + 1, "{path}: {given:?}");
            assert_eq!((given[at].0.as_str(), format!("{:?}", given[at].1)), (&*hash(1), told.to_owned()));
            let rows = house.audited().await;
            assert_eq!(rows.len(), at + 1, "{path}");
            assert!(rows.iter().any(|row| {
                let mut expected = json!({ "engineId": engine, "name": "torrent 1" });
                expected.as_object_mut().unwrap().extend(facts.as_object().unwrap().clone());
                let is_told = row.metadata.as_ref().is_some_and(|told| told.0 == expected);
                row.action == action && row.result == "success" && row.object_id.as_deref() == Some(&*hash(1)) && is_told
            }), "{path}: {:?}", rows.iter().map(|row| (&row.action, row.metadata.as_ref().map(|told| told.0.to_string()))).collect::<Vec<_>>());
        }
        house.close().await;
    }

    async fn what_a_client_cannot_is_501_before_it_is_asked(db: Db) {
        let house = House::new(&db).await;
        house.client("a").put(torrent(1));
        let engine = house.engine("seedbox", "a").await;
        let mut lacking = 0;
        for (path, body, ..) in switches().into_iter().chain(changes()) {
            let to = |n: u8| format!("/{}/{path}", hash(n));
            let answer = house.ask("ADMINISTRATOR", "POST", &to(1), body.clone()).await;
            if answer.status == 201 {
                continue;
            }
            let (status, code, message) = answer.refusal();
            assert_eq!((status, code.split('.').next()), (501, Some("unsupported")), "{path}: {message}");
            assert!(message.starts_with("seedbox cannot ") && message.contains("/api/engines/kinds"), "{message}");
            assert_eq!(answer.json()["error"], "Not Implemented");
            let unknown = house.ask("ADMINISTRATOR", "POST", &to(9), body).await;
            assert_eq!(unknown.refusal().0, 404, "{path}");
            lacking += 1;
        }
        assert_eq!(lacking, 11, "the others every client can");
        let told: Vec<String> = house.client("a").commands().iter().map(|(_, command)| format!("{command:?}")).collect();
        assert_eq!(told, ["SetLabel { label: \"films\" }", "ForceStart(true)", "ForceStart(false)", "Priority(3)"]);
        let answer = house.ask("ADMINISTRATOR", "GET", &format!("/{}/export", hash(1)), None).await;
        assert_eq!(answer.refusal().1, "unsupported.export");
        // Of many torrents none is told of where no engine can.
        let many = house.post("/bulk", json!({ "hashes": [*hash(1)], "action": "sequential", "params": { "enabled": true } })).await;
        assert_eq!((many.refusal().0, many.refusal().1.as_str()), (501, "unsupported.sequential"));
        // The kind can, and this version of the client cannot.
        house.client("a").offer(capability::SEQUENTIAL);
        let refusal = (false, EngineError::Unsupported("too old".into()));
        house.client("a").refusals.lock().unwrap().push(refusal);
        let path = format!("/{}/sequential?engineId={engine}", hash(1));
        let late = house.post(&path, json!({ "enabled": true })).await;
        assert_eq!(late.refusal().1, "unsupported.sequential");
        house.close().await;
    }

    async fn bad_input_and_strangers_are_refused(db: Db) {
        let (house, _) = able(&db).await;
        let path = |rest: &str| format!("/{}/{rest}", hash(1));
        for (rest, body, status, part) in [
            ("category", json!({ "category": "a/../b" }), 400, "Invalid category `a/../b`"),
            ("category", json!({ "category": "a\"b" }), 400, "illegal characters"),
            ("category", json!({}), 400, "category must be a string"),
            ("tags", json!({}), 400, "give tags to add"),
            ("tags", json!({ "add": ["a"], "set": ["b"] }), 400, "give tags to add"),
            ("tags", json!({ "add": [" "] }), 400, "tags must name one"),
            ("queue", json!({ "position": "first" }), 400, "position must be one of"),
            ("priority", json!({ "priority": 4 }), 400, "priority must be one of"),
            ("download-path", json!({ "path": "/etc" }), 403, "protected system directory"),
            ("download-path", json!({ "path": "/srv/x" }), 403, "outside the allowed storage roots"),
            ("trackers/replace", json!({ "url": "wss://t", "newUrl": "udp://t:1" }), 400, "Tracker URL"),
            ("peers/ban", json!({ "peers": ["1.2.3.4"] }), 400, "with a port"),
            ("peers/ban", json!({ "peers": [] }), 400, "at least 1"),
        ] {
            let (told, _, message) = house.post(&path(rest), body.clone()).await.refusal();
            assert_eq!(told, status, "{rest} {body}: {message}");
            assert!(message.contains(part), "{rest} {body}: {message}");
        }
        assert!(house.client("a").commands().is_empty() && house.audited().await.is_empty());
        for (role, rest, body) in [
            ("READ_ONLY", "reannounce", json!({})),
            ("USER", "category", json!({ "category": "films" })),
            ("USER", "files/rename", json!({ "fileIndex": 0, "name": "x" })),
        ] {
            assert_eq!(house.ask(role, "POST", &path(rest), Some(body)).await.status, 403, "{role} {rest}");
        }
        assert_eq!(house.ask("USER", "GET", &path("export"), None).await.status, 403, "it has keys of trackers in it");
        house.close().await;
    }

    async fn tags_are_changed_in_the_client_or_kept_here(db: Db) {
        let (house, _) = able(&db).await;
        let path = format!("/{}/tags", hash(1));
        let change = json!({ "add": ["a", "b, c"], "remove": ["x"] });
        assert_eq!(house.post(&path, change.clone()).await.status, 201);
        let texts = |tags: &[&str]| tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>();
        assert_eq!(*house.tags.told.lock().unwrap(), [(hash(1).to_string(), texts(&["a", "b", "c"]), texts(&["x"]))]);
        assert!(house.client("a").commands().is_empty());

        house.client("a").offer(capability::TAGS);
        house.client("a").change(&hash(1), |torrent| torrent.tags = texts(&["x", "y"]));
        assert_eq!(house.post(&path, change).await.status, 201);
        let tags = || house.client("a").torrent(&hash(1)).unwrap().tags;
        assert_eq!(tags(), texts(&["y", "a", "b", "c"]));
        assert_eq!(house.post(&path, json!({ "set": ["b", "d"] })).await.status, 201);
        assert_eq!(tags(), texts(&["b", "d"]));
        assert_eq!(house.post(&path, json!({ "remove": ["b"] })).await.status, 201);
        assert_eq!(tags(), texts(&["d"]));
        assert_eq!(house.post(&path, json!({ "set": [] })).await.status, 201);
        assert!(tags().is_empty());
        let rows = house.audited().await;
        assert!(rows.iter().all(|row| row.action == "torrents.rename") && rows.len() == 5);
        house.close().await;
    }

    async fn a_file_is_handed_out_with_its_name(db: Db) {
        let (house, _) = able(&db).await;
        let path = format!("/{}/export", hash(1));
        *house.client("a").metainfo.lock().unwrap() = b"d4:infode".to_vec();
        let answer = house.ask("POWER_USER", "GET", &path, None).await;
        assert_eq!((answer.status, answer.bytes.as_slice()), (200, b"d4:infode".as_slice()));
        let header = |name: &str| answer.headers[name].to_str().unwrap().to_owned();
        assert_eq!(header("content-type"), "application/x-bittorrent");
        assert!(header("content-disposition").starts_with("attachment") && header("content-disposition").contains("torrent 1.torrent"));
        assert_eq!(header("cache-control"), "no-store");
        *house.client("a").metainfo.lock().unwrap() = vec![0; 20 * 1024 * 1024 + 1];
        assert_eq!(house.ask("POWER_USER", "GET", &path, None).await.status, 502);
        house.close().await;
    }

    async fn rules_can_do_what_people_can(db: Db) {
        let (house, engine) = able(&db).await;
        let with_category = Torrent { label: Some("tv".into()), tracker_host: Some("t.example".into()), ..torrent(1) };
        house.client("a").put(with_category);
        house.loaded(&engine).refresh_exactly(std::time::Duration::from_mins(1)).await.unwrap();
        let listed = house.app.actions();
        assert_eq!(listed.len(), KINDS.iter().filter(|kind| kind.rule.is_some()).count());
        assert!(listed.iter().all(|action| !action.needs.is_empty() && action.params_schema["type"] == "object"));
        let call = |params: Value, powers: PermissionSet| ActionCall {
            run_id: "run".into(),
            occasion: Occasion::Torrent,
            params: params.as_object().cloned().unwrap_or_default(),
            context: Map::new(),
            torrent: Some(TorrentRef { engine_id: engine.clone(), hash: hash(1).to_string() }),
            author: Some("u".into()),
            powers,
        };
        let run = async |action: &str, params: Value| house.app.run(action, call(params, PermissionSet::all())).await;
        run("set_category", json!({ "category": "{trackerHost}" })).await.unwrap();
        assert_eq!(house.client("a").torrent(&hash(1)).unwrap().label.as_deref(), Some("t.example"));
        run("set_queue_position", json!({ "position": "bottom" })).await.unwrap();
        run("add_tags", json!({ "tags": "{category}, seen" })).await.unwrap();
        assert_eq!(house.tags.told.lock().unwrap()[0].1, ["tv", "seen"]);
        let refused = run("set_category", json!({ "category": "{mood}" })).await;
        assert!(matches!(refused, Err(ActionError::InvalidParams(why)) if why.contains("{mood}")));
        let refused = run("add_tags", json!({})).await;
        assert_eq!(refused, Err(ActionError::InvalidParams("tags is required".into())));
        let refused = run("set_download_path", json!({ "downloadPath": "/etc" })).await;
        assert!(matches!(refused, Err(ActionError::Rejected(why)) if why.contains("protected")));
        assert!(matches!(run("nothing", json!({})).await, Err(ActionError::Unknown(_))));
        let few: PermissionSet = [Permission::TorrentsView].into_iter().collect();
        let lent = house.app.run("reannounce", call(json!({}), few)).await;
        assert!(matches!(lent, Err(ActionError::Denied(why)) if why.contains("torrents.manage_trackers")));
        assert_eq!(house.client("a").commands().len(), 2);
        assert!(house.audited().await.is_empty(), "the rule's run is what is audited");
        house.close().await;
    }
}
