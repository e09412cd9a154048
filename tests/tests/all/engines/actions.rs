//! The actions that come with the server, over real HTTP and a real plugin host: what they do to torrents, what an
//! administrator has to grant first, and what outlives a restart.

use qm_ports::action::{ActionCall, ActionError, Occasion, TorrentRef};
use qm_test_base::engine::{FakeKinds, torrent};
use qm_testkit::{Api, TestServer, both_databases};
use serde_json::{Map, Value, json};

fn call(engine: &str, hash: &str, params: Value) -> ActionCall {
    ActionCall {
        author: None,
        run_id: "run".to_owned(),
        occasion: Occasion::Torrent,
        params: params.as_object().cloned().unwrap_or_default(),
        context: Map::new(),
        torrent: Some(TorrentRef {
            engine_id: engine.to_owned(),
            hash: hash.to_owned(),
        }),
        powers: qm_kernel::PermissionSet::all(),
    }
}

async fn plugin(api: &Api, id: &str) -> Value {
    let all = api.get("/api/plugins").await;
    let found = all
        .as_array()
        .into_iter()
        .flatten()
        .find(|plugin| plugin["id"] == id);
    found.unwrap_or_else(|| panic!("no {id} in {all}")).clone()
}

both_databases! {
    async fn rules_act_on_torrents_once_that_is_granted(db: &TestDb) {
        let kinds = FakeKinds::first_party();
        let fake = kinds.engine("one");
        fake.put(torrent(1));
        fake.put(torrent(2));
        let files = &["torrent_actions.wasm", "webhook.wasm"];
        let server = TestServer::builder(db).kinds(kinds).plugins(files).start().await;
        server.plugins().settled().await;
        let api = server.admin();
        let actions = server.plugins().actions();
        let ids: Vec<_> = actions.actions().into_iter().map(|kind| kind.id).collect();
        assert_eq!(ids, ["delete", "delete_with_data", "move", "pause", "stop", "webhook"]);
        let told = plugin(&api, "torrent_actions").await;
        assert_eq!((&told["kind"], &told["state"]), (&json!("action-set"), &json!("active")), "{told}");
        assert_eq!(told["neededCapabilities"], json!(["torrents"]));

        let engine = api.add_engine("fake", "scgi_client", json!({ "host": "one" })).await;
        let hash = torrent(1).hash.to_string();
        assert_eq!(api.get("/api/torrents").await["total"], json!(2));
        let run = async |action: &str, params: Value| actions.run(action, call(&engine, &hash, params)).await;
        if told["firstParty"] == json!(false) {
            // Built apart from this server: an administrator grants it.
            assert!(matches!(run("stop", json!({})).await, Err(ActionError::Denied(_))));
            assert!(plugin(&api, "torrent_actions").await["lastRefusal"]["what"].as_str().is_some_and(|what| what.contains("torrents")));
            let grants = "/api/plugins/torrent_actions/grants";
            let other = api.send("PUT", grants, Some(&json!({ "hosts": [], "capabilities": ["http-guarded"] }))).await;
            assert_eq!((other.status, &other.json()["code"]), (400, &json!("bad_request.plugin_grant")), "{}", other.text());
            let granted = api.put(grants, json!({ "hosts": [], "capabilities": ["torrents"] })).await;
            assert_eq!(granted["grantedCapabilities"], json!(["torrents"]));
            let audit = api.get("/api/audit?action=plugins.grant").await;
            assert_eq!(audit["items"][0]["metadata"], json!({ "hosts": [], "capabilities": ["torrents"] }), "{audit}");
        } else {
            assert_eq!(told["grantedCapabilities"], json!(["torrents"]));
        }
        let audited = api.get("/api/audit").await["total"].clone();
        assert_eq!(run("stop", json!({})).await, Ok(()));
        assert_eq!(run("pause", json!({})).await, Ok(()));
        for params in [json!({}), json!({ "destination": " " })] {
            let refused = run("move", params).await;
            let wanted = |text: &str| text.starts_with("destination is required");
            assert!(matches!(&refused, Err(ActionError::InvalidParams(text)) if wanted(text)), "{refused:?}");
        }
        assert_eq!(run("stop", json!({ "why": 1 })).await, Err(ActionError::InvalidParams("unknown parameter `why`".to_owned())));
        assert_eq!(
            run("move", json!({ "destination": "/etc" })).await,
            Err(ActionError::Rejected("Path is a protected system directory.".to_owned()))
        );
        assert_eq!(run("delete_with_data", json!({})).await, Ok(()));
        let done: Vec<String> = fake.commands().into_iter().map(|(_, command)| format!("{command:?}")).collect();
        assert_eq!(done, ["Stop", "Pause", "Remove { with_data: true }"]);
        let gone = api.send("GET", &format!("/api/torrents/{hash}?engineId={engine}"), None).await;
        assert_eq!(gone.status, 404, "{}", gone.text());
        assert!(fake.torrent(&torrent(2).hash).is_some(), "the other one was not touched");
        assert!(matches!(run("delete", json!({})).await, Err(ActionError::NotFound(_))));
        assert_eq!(api.get("/api/audit").await["total"], audited, "the run of a rule is audited, not what it does");
        server.end().await;
    }

    async fn an_administrator_configures_actions_and_reads_no_secret_back(db: &TestDb) {
        let path = "/api/plugins/porter/config";
        let configured = async |server: &TestServer| {
            server.plugins().settled().await;
            let asked = call("e", "h", json!({ "mode": "configured" }));
            match server.plugins().actions().run("carry", asked).await {
                Err(ActionError::Rejected(text)) => text,
                other => panic!("not an answer of the fixture: {other:?}"),
            }
        };
        let server = TestServer::builder(db).plugins(&["porter.wasm"]).start().await;
        server.plugins().settled().await;
        let api = server.admin();
        let before = api.get(path).await;
        assert_eq!((&before["configured"], &before["config"]), (&json!(false), &json!({})));
        let put = async |config: Value| api.send("PUT", path, Some(&json!({ "config": config }))).await;
        for (config, told) in [
            (json!({ "greeting": "hello" }), "config.key is required"),
            (json!({ "greeting": 5, "key": "k" }), "config.greeting must be a string"),
            (json!({ "color": 1 }), "property config.color should not exist"),
        ] {
            let refused = put(config).await;
            assert_eq!((refused.status, &refused.json()["message"]), (400, &json!([told])));
        }
        let entered = put(json!({ "greeting": "hello", "key": "very-secret" })).await;
        assert_eq!(entered.status, 200, "{}", entered.text());
        assert_eq!(entered.json()["config"], json!({ "greeting": "hello", "key": "••••••••" }));
        assert_eq!(put(json!({ "greeting": "salve", "key": "••••••••" })).await.status, 200);
        let shown = api.get(path).await;
        assert_eq!((&shown["configured"], &shown["config"]["greeting"]), (&json!(true), &json!("salve")));
        assert!(!shown.to_string().contains("very-secret"), "{shown}");
        let audit = api.get("/api/audit?action=plugins.configure").await;
        assert_eq!(audit["items"][0]["metadata"], json!({ "fields": ["greeting", "key"] }), "{audit}");
        assert_eq!(audit["total"], 2, "what was refused changed nothing");
        assert_eq!(api.send("PUT", "/api/plugins/nobody/config", Some(&json!({ "config": {} }))).await.status, 404);
        server.end().await;

        let server = TestServer::builder(db).plugins(&["porter.wasm"]).start().await;
        assert_eq!(configured(&server).await, r#"{"greeting":"salve","key":"••••••••"}"#, "blotted out on its way");
        assert_eq!(server.admin().send("PUT", path, Some(&json!({ "config": { "key": null } }))).await.status, 200);
        assert_eq!(configured(&server).await, "{}");
        server.end().await;
    }

    async fn what_a_plugin_keeps_outlives_the_server(db: &TestDb) {
        let ask = async |server: &TestServer, params: Value| {
            server.plugins().settled().await;
            match server.plugins().actions().run("carry", call("e", "h", params)).await {
                Err(ActionError::Rejected(text)) => text,
                other => panic!("not an answer of the fixture: {other:?}"),
            }
        };
        let server = TestServer::builder(db).plugins(&["porter.wasm"]).start().await;
        assert_eq!(ask(&server, json!({ "mode": "kv_set", "key": "k", "value": "v" })).await, "set");
        server.end().await;
        let server = TestServer::builder(db).plugins(&["porter.wasm"]).start().await;
        assert_eq!(ask(&server, json!({ "mode": "kv_get", "key": "k" })).await, r#"Some("v")"#);
        assert_eq!(ask(&server, json!({ "mode": "kv_claim", "key": "k", "value": "w" })).await, "false");
        server.end().await;
    }
}
