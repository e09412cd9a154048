//! A server whose plugins are still being compiled: what needs one of them says so, and is done as usual afterwards.

use std::path::Path;

use qm_plugin_host::Compiler;
use qm_testkit::wait::until_true;
use qm_testkit::{Api, TestServer, binary, both_databases};
use serde_json::{Value, json};

/// One plugin a role.
const PLUGINS: [&str; 6] = [
    "misbehave.wasm",
    "courier.wasm",
    "porter.wasm",
    "torznab.wasm",
    "provider_a.wasm",
    "jellyfin.wasm",
];
const CODE: &str = "unavailable.plugin_settling";

/// The compiler, which begins once a file is there.
fn held(gate: &Path) -> Compiler {
    let script = format!(
        "until [ -e {} ]; do sleep 0.1; done; exec {} plugin compile",
        gate.display(),
        binary::path().display()
    );
    Compiler::Child {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), script.into()],
    }
}

/// A request that needs a plugin, and what it answers once all have settled.
struct Needing {
    method: &'static str,
    path: String,
    body: Option<Value>,
    then: u16,
}

fn needing(method: &'static str, path: &str, body: Value, then: u16) -> Needing {
    Needing {
        method,
        path: path.to_owned(),
        body: (!body.is_null()).then_some(body),
        then,
    }
}

/// Requests that need a plugin: at least one for each role of plugins, and some more.
fn requests(engine: &str) -> Vec<Needing> {
    let engine_path = format!("/api/engines/{engine}");
    let magnet = "magnet:?xt=urn:btih:0123456789abcdef0123456789abcdef01234567";
    let rule = |name: &str, action: &str| json!({ "name": name, "trigger": "torrent.completed", "conditions": [], "actions": [{ "type": action }] });
    vec![
        needing(
            "POST",
            "/api/engines",
            json!({ "name": "a", "kind": "misbehave", "config": { "torrents": 1 } }),
            201,
        ),
        // Known by name: whether its plugin is installed is not known yet.
        needing(
            "POST",
            "/api/engines",
            json!({ "name": "b", "kind": "nobody", "config": {} }),
            400,
        ),
        needing("PATCH", &engine_path, json!({ "config": { "torrents": 2 } }), 200),
        needing(
            "POST",
            "/api/engines/test",
            json!({ "kind": "misbehave", "config": {} }),
            201,
        ),
        needing(
            "GET",
            &format!("/api/torrents?engineId={engine}"),
            Value::Null,
            200,
        ),
        needing(
            "POST",
            "/api/torrents",
            json!({ "magnet": magnet, "engineId": engine }),
            201,
        ),
        needing(
            "GET",
            &format!("/api/torrents/{}?engineId={engine}", "f".repeat(40)),
            Value::Null,
            404,
        ),
        needing(
            "POST",
            "/api/indexers",
            json!({ "name": "i", "baseUrl": "http://127.0.0.1:9/", "apiKey": "key" }),
            201,
        ),
        // Nobody can be asked: an empty answer would say that there is nothing.
        needing("POST", "/api/indexers/search", json!({ "q": "x" }), 201),
        needing(
            "POST",
            "/api/media/server-integrations",
            json!({ "name": "m", "kind": "jellyfin", "config": { "baseUrl": "http://127.0.0.1:9/", "apiKey": "key" } }),
            201,
        ),
        needing(
            "POST",
            "/api/media/server-integrations",
            json!({ "name": "n", "kind": "nobody", "config": {} }),
            400,
        ),
        needing(
            "POST",
            "/api/account/notifications/channels/nobody",
            json!({ "config": {} }),
            400,
        ),
        needing(
            "POST",
            "/api/account/notifications/channels/email",
            json!({ "address": "a@example.org" }),
            400,
        ),
        needing("POST", "/api/automation/rules", rule("r", "carry"), 201),
        needing(
            "POST",
            "/api/automation/rules/preview",
            rule("s", "nothing_of_that_name"),
            201,
        ),
        needing("POST", "/api/media/providers/provider_a/test", json!({}), 201),
        needing("POST", "/api/plugins/nobody/reload", Value::Null, 404),
        needing("GET", "/api/plugins/nobody/config", Value::Null, 404),
    ]
}

async fn states(api: &Api) -> Vec<Value> {
    let plugins = api.get("/api/plugins").await;
    let plugins = plugins.as_array().cloned().unwrap_or_default();
    plugins
        .into_iter()
        .map(|plugin| plugin["state"].clone())
        .collect()
}

both_databases! {
    async fn what_needs_a_plugin_waits_until_all_have_settled(db: &TestDb) {
        let first = TestServer::builder(db).plugins(&["misbehave.wasm", "torznab.wasm"]).start().await;
        first.plugins().settled().await;
        let engine = first.admin().add_engine("steady", "misbehave", json!({})).await;
        let indexer = json!({ "name": "steady", "baseUrl": "http://127.0.0.1:9/", "apiKey": "key" });
        first.admin().post("/api/indexers", indexer).await;
        first.end().await;

        let home = tempfile::tempdir().expect("our own directory");
        let gate = home.path().join("gate");
        let server = TestServer::builder(db).plugins(&PLUGINS).compiler(held(&gate)).start().await;
        let api = server.admin();
        until_true("the plugins to be looked at", || async {
            states(&api).await == vec![json!("compiling"); PLUGINS.len()]
        })
        .await;
        for one in requests(&engine) {
            let reply = api.send(one.method, &one.path, one.body.as_ref()).await;
            let told = format!("{} {}: {}", one.method, one.path, reply.text());
            assert_eq!((reply.status, &reply.json()["code"]), (503, &json!(CODE)), "{told}");
            assert!(reply.header("retry-after").is_some_and(|seconds| seconds.parse::<u64>().is_ok()), "{told}");
            let message = reply.json()["message"].as_str().expect("a sentence").to_owned();
            assert!(message.contains(".wasm`") && message.contains("being compiled"), "{told}");
        }
        // What is there is listed all the same.
        for path in ["/api/engines", "/api/engines/kinds", "/api/indexers/implementations", "/api/automation/catalog"] {
            api.get(path).await;
        }
        // What needs no plugin is not kept waiting for one.
        api.patch(&format!("/api/engines/{engine}"), json!({ "name": "renamed" })).await;

        std::fs::write(&gate, "").expect("our own file");
        until_true("the plugins to be compiled", || async {
            states(&api).await.iter().all(|state| state == "active")
        })
        .await;
        until_true("the engine to be loaded", || async {
            api.send("GET", &format!("/api/torrents?engineId={engine}"), None).await.status == 200
        })
        .await;
        for one in requests(&engine) {
            let reply = api.send(one.method, &one.path, one.body.as_ref()).await;
            assert_eq!(reply.status, one.then, "{} {}: {}", one.method, one.path, reply.text());
        }
        server.end().await;
    }
}
