//! Answers about engines: their kinds, the state of each, and the part of that state that their torrents carry.

use std::sync::atomic::Ordering;

use qm_db::{Db, db_test};
use qm_ports::engine::{EngineError, EngineKinds as _};
use qm_test_base::blank::{hash, torrent};
use serde_json::{Value, json};

use super::Site;
use crate::testing::eventually;

impl Site {
    async fn seedbox(&self) -> String {
        let engines = self.ask("ADMINISTRATOR", "GET", "/api/engines", None).await.body;
        engines[0]["id"].as_str().expect("an id").to_owned()
    }

    /// Waits until the last read of the engine ended this way.
    async fn until_online(&self, id: &str, online: bool) {
        self.house.torrents.resolve(Some(id)).unwrap().poke();
        let is = || {
            self.house
                .torrents
                .status(id)
                .is_some_and(|status| status.online == online)
        };
        eventually("its state is known", is).await;
    }

    async fn standings(&self) -> Vec<(String, String, Value, bool)> {
        let engines = self.ask("ADMINISTRATOR", "GET", "/api/engines", None).await.body;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let standing = |engine: &Value| {
            let since = engine["stateSince"].is_string();
            (
                text(&engine["name"]),
                text(&engine["state"]),
                engine["stateReason"].clone(),
                since,
            )
        };
        engines.as_array().unwrap().iter().map(standing).collect()
    }
}

db_test! {
    async fn the_kinds_are_published_with_their_schemas(db: Db) {
        let site = Site::new(&db).await;
        site.house.kinds.install("another");
        let kinds = site.ask("ADMINISTRATOR", "GET", "/api/engines/kinds", None).await;
        let schema = site.house.kinds.kind("fake").expect("installed").config_schema;
        assert!(schema["properties"]["host"].is_object());
        let kind = |id: &str| json!({ "id": id, "label": id, "version": "1.0.0", "capabilities": [], "configSchema": schema });
        assert_eq!((kinds.status, kinds.body), (200, json!([kind("another"), kind("fake")])));
        assert_eq!(site.ask("", "GET", "/api/engines/kinds", None).await.status, 401);
        site.house.torrents.shutdown().await;
    }

    async fn engines_say_how_it_stands_with_them(db: Db) {
        let site = Site::new(&db).await;
        let id = site.seedbox().await;
        site.until_online(&id, true).await;
        for (name, kind, host, enabled) in [
            ("planned", "deluge", "h", true),
            ("refused", "fake", "refused", true),
            ("off", "fake", "b", false),
        ] {
            let engine = json!({ "name": name, "kind": kind, "config": { "host": host }, "isEnabled": enabled });
            let made = site.ask("ADMINISTRATOR", "POST", "/api/engines", Some(engine)).await;
            assert_eq!(made.status, 201, "{}", made.body);
        }
        let client = site.house.kinds.engine("a");
        let rest = [
            ("planned", "unsupported", json!("Engine \"deluge\" is planned but not yet implemented")),
            ("refused", "refused", json!("The engine is not configured right: `host` may not be dialled")),
            ("off", "disabled", Value::Null),
        ];
        let with = |state: &str, reason: Value| {
            let mut all = vec![("seedbox".to_owned(), state.to_owned(), reason, true)];
            all.extend(rest.iter().map(|(name, state, reason)| ((*name).to_owned(), (*state).to_owned(), reason.clone(), true)));
            all
        };
        assert_eq!(site.standings().await, with("online", Value::Null));
        let since = |engines: &Value| engines[0]["stateSince"].clone();
        let before = site.ask("ADMINISTRATOR", "GET", "/api/engines", None).await.body;
        client.fail(Some(EngineError::Unreachable("refused".into())));
        site.until_online(&id, false).await;
        assert_eq!(site.standings().await, with("offline", json!("seedbox cannot be reached: refused")));
        let offline = site.ask("ADMINISTRATOR", "GET", "/api/engines", None).await.body;
        assert!(since(&offline).as_str() >= since(&before).as_str());
        client.fail(Some(EngineError::Timeout("silent".into())));
        let polls = client.polls.load(Ordering::SeqCst);
        site.house.torrents.resolve(None).unwrap().poke();
        eventually("it was tried again", || client.polls.load(Ordering::SeqCst) > polls + 1).await;
        let still = site.ask("ADMINISTRATOR", "GET", "/api/engines", None).await.body;
        assert_eq!(since(&still), since(&offline), "it is offline since then, whatever the reason");
        assert_eq!(still[0]["stateReason"], "seedbox did not answer in time: silent");
        assert_eq!(still[1]["stateSince"], before[1]["stateSince"]);
        site.house.torrents.shutdown().await;
    }

    async fn torrents_of_an_engine_that_is_down_are_stale(db: Db) {
        let site = Site::new(&db).await;
        let id = site.seedbox().await;
        let other = json!({ "name": "other", "kind": "fake", "config": { "host": "b" } });
        let other = site.ask("ADMINISTRATOR", "POST", "/api/engines", Some(other)).await.body;
        site.house.kinds.engine("b").put(torrent(9));
        site.until_online(other["id"].as_str().unwrap(), true).await;
        site.until_online(&id, true).await;
        let own = "/api/torrents?sortBy=name".to_owned();
        let all = "/api/torrents?engineId=all&sortBy=name&sortDir=asc".to_owned();
        let one = format!("/api/torrents/{}", hash(1));
        let stale = async |path: &str| {
            let answer = site.ask("USER", "GET", path, None).await;
            assert!(answer.headers.contains_key("x-snapshot-at"));
            let items = answer.body["items"].as_array().cloned();
            items.unwrap_or_else(|| vec![answer.body]).iter().map(|item| item.get("stale").cloned()).collect::<Vec<_>>()
        };
        eventually("the other is listed", || site.house.torrents.torrent(other["id"].as_str().unwrap(), &hash(9)).is_some()).await;
        assert_eq!(stale(&own).await, [None, None, None]);
        assert_eq!((stale(&all).await, stale(&one).await), (vec![None; 4], vec![None]));
        site.house.kinds.engine("a").fail(Some(EngineError::Unreachable("refused".into())));
        site.until_online(&id, false).await;
        let yes = Some(Value::Bool(true));
        assert_eq!(stale(&own).await, vec![yes.clone(); 3]);
        assert_eq!(stale(&all).await, [yes.clone(), yes.clone(), yes.clone(), None], "the other one answers");
        assert_eq!(stale(&one).await, [yes]);
        site.house.kinds.engine("a").fail(None);
        site.until_online(&id, true).await;
        assert_eq!((stale(&own).await, stale(&all).await, stale(&one).await), (vec![None; 3], vec![None; 4], vec![None]));
        site.house.torrents.shutdown().await;
    }

    async fn a_hung_engine_holds_nobody_up_who_asks_for_its_health(db: Db) {
        let site = Site::new(&db).await;
        let client = site.house.kinds.engine("a");
        let health = async || site.ask("ADMINISTRATOR", "GET", "/api/engines/health", None).await.body;
        let well = health().await;
        assert_eq!((&well["online"], &well["version"]), (&json!(true), &json!("1.0")));
        client.hangs.store(true, Ordering::SeqCst);
        // Asked many times over it is asked once: the lane that commands take is not filled up.
        let asked = client.health_asked.load(Ordering::SeqCst);
        let answers = futures_util::future::join_all((0..20).map(|_| health())).await;
        for answer in answers {
            assert_eq!((&answer["online"], &answer["version"], &answer["error"]), (&json!(true), &json!("1.0"), &Value::Null));
            assert!(answer["checkedAt"].as_str() >= well["checkedAt"].as_str(), "{answer}");
        }
        assert_eq!(client.health_asked.load(Ordering::SeqCst), asked + 1);
        let id = site.seedbox().await;
        client.fail(Some(EngineError::Timeout("silent".into())));
        site.until_online(&id, false).await;
        let known = health().await;
        assert_eq!((&known["online"], &known["version"]), (&json!(false), &json!("1.0")));
        assert_eq!(known["error"], "seedbox did not answer in time: silent");
        site.house.torrents.shutdown().await;
    }
}
