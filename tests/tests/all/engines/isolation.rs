//! Plugins that misbehave, driven through the whole server: contained, counted and shown; the honest engine beside them
//! never notices. And the other way round: a plugin dropped into the directory makes a new kind work.

use std::collections::HashMap;
use std::time::Duration;

use qm_kernel::Role;
use qm_plugin_host::{Compiler, Limits};
use qm_testkit::binary::{self, Binary};
use qm_testkit::files::{self, FileServer};
use qm_testkit::generations::Program;
use qm_testkit::plugins;
use qm_testkit::sample::{Format, Sample};
use qm_testkit::tracker::Tracker;
use qm_testkit::transmission::Transmission;
use qm_testkit::wait::{until, until_true};
use qm_testkit::{Api, TestDb, TestServer, both_databases, every_generation};
use serde_json::{Value, json};

use super::resilience::{assert_ticks, steady_engine};

both_databases! {
    async fn every_kind_of_trap_is_contained_and_counted(db: &TestDb) {
        let server = TestServer::builder(db).plugins(&["misbehave.wasm"]).limits(tight()).start().await;
        let api = server.admin();
        let steady = steady_engine(&api).await;
        for mode in ["loop", "trap", "recurse", "allocate_abort"] {
            let before = plugin(&api, "misbehave").await;
            let engine = api.add_engine(mode, "misbehave", json!({ "mode": mode })).await;
            let after = until("the trap to be counted", || async {
                let plugin = plugin(&api, "misbehave").await;
                (count(&plugin, "traps") > count(&before, "traps")).then_some(plugin)
            })
            .await;
            assert_eq!(after["state"], json!("active"), "one engine's trap is not the plugin's end: {after}");
            let reply = api.send("GET", &format!("/api/torrents?engineId={engine}"), None).await;
            assert_eq!(reply.status, 502, "{mode}: {}", reply.text());
            assert_ticks(&api, &steady, 2).await;
            api.delete(&format!("/api/engines/{engine}")).await;
        }
    }

    async fn a_server_answers_while_it_compiles(db: &TestDb) {
        let first = TestServer::builder(db).plugins(&["misbehave.wasm"]).start().await;
        let engine = first.admin().add_engine("steady", "misbehave", json!({})).await;
        first.end().await;

        // A new machine: nothing is compiled yet, and compiling takes its time.
        let script = format!("sleep 3; exec {} plugin compile", binary::path().display());
        let slow = Compiler::Child { program: "/bin/sh".into(), args: vec!["-c".into(), script.into()] };
        let server = TestServer::builder(db).plugins(&["misbehave.wasm"]).compiler(slow).start().await;
        let api = server.admin();
        let compiling = plugin(&api, "misbehave").await;
        assert_eq!((&compiling["state"], &compiling["kind"]), (&json!("compiling"), &json!("engine")), "{compiling}");
        assert_eq!(server.anonymous().get("/api/system/ready").await["status"], json!("ok"));
        assert_eq!(api.get("/api/engines").await.as_array().map(Vec::len), Some(1), "the engine is listed");
        let list = format!("/api/torrents?engineId={engine}");
        assert_ne!(api.send("GET", &list, None).await.status, 200, "its kind is not there yet");
        until_true("the engine to come up with its plugin", || async {
            api.send("GET", &list, None).await.status == 200
        })
        .await;
        assert_eq!(plugin(&api, "misbehave").await["state"], json!("active"));
        server.end().await;
    }

    async fn directories_may_be_named_from_where_the_server_was_started(db: &TestDb) {
        let dir = tempfile::tempdir().expect("our own directory");
        let installed = dir.path().join("plugins");
        std::fs::create_dir(&installed).expect("our own directory");
        plugins::install("misbehave.wasm", &installed);
        let named = [("DATA_DIR", "./data"), ("PLUGINS_DIR", "./plugins"), ("THROTTLE_LIMIT", "1000000")];
        let server = Binary::start_with(dir.path(), db.url(), &named).await;
        let plugin = plugin(&server.admin().await, "misbehave").await;
        assert_eq!(plugin["state"], json!("active"), "{plugin}");
    }

    async fn an_id_goes_to_another_file_only_by_an_administrator(db: &TestDb) {
        let server = TestServer::builder(db).plugins(&["misbehave.wasm"]).start().await;
        let api = server.admin();
        let dir = server.plugins_dir();
        let by_file = async |file: &str| {
            let list = api.get("/api/plugins").await;
            list.as_array().and_then(|all| all.iter().find(|plugin| plugin["file"] == *file)).cloned()
        };
        // By name it comes first.
        plugins::install_as("misbehave_v2.wasm", &dir, "a_twin.wasm");
        until_true("the twin to be refused", || async {
            by_file("a_twin.wasm").await.is_some_and(|twin| twin["state"] == "conflicting")
        })
        .await;
        let twin = json!({ "file": "a_twin.wasm" });
        let accept = "/api/plugins/misbehave/accept";
        let early = api.send("POST", accept, Some(&twin)).await;
        assert_eq!((early.status, &early.json()["code"]), (409, &json!("conflict.plugin")), "{}", early.text());
        std::fs::remove_file(dir.join("misbehave.wasm")).expect("our own file");
        until_true("the first to be gone", || async { by_file("misbehave.wasm").await.is_none() }).await;
        assert_eq!(by_file("a_twin.wasm").await.expect("listed")["state"], json!("conflicting"), "nobody accepted it");
        let refused = server.user(Role::Administrator).send("POST", accept, Some(&twin)).await;
        assert_eq!(refused.status, 403, "{}", refused.text());
        let accepted = api.send("POST", accept, Some(&twin)).await;
        assert_eq!(accepted.status, 201, "{}", accepted.text());
        assert_eq!(accepted.json()["state"], json!("active"), "{}", accepted.text());
        let audit = api.get("/api/audit?action=plugins.accept").await;
        let entry = &audit["items"][0];
        assert_eq!(
            (&entry["objectId"], &entry["metadata"]),
            (&json!("misbehave"), &json!({ "file": "a_twin.wasm" })),
            "{audit}"
        );

        // Another server on the same database holds to it, whatever lies in its own directory.
        let other = TestServer::builder(db).plugins(&["misbehave.wasm"]).start().await;
        let there = plugin(&other.admin(), "misbehave").await;
        assert_eq!(there["state"], json!("conflicting"), "{there}");
        assert!(there["reason"].as_str().is_some_and(|why| why.contains("`a_twin.wasm`")), "{there}");
        other.end().await;
        server.end().await;
    }

    async fn hosts_of_a_plugins_own_are_granted_by_an_administrator(db: &TestDb) {
        let server = TestServer::builder(db).plugins(&["courier.wasm"]).start().await;
        let api = server.admin();
        let asked = plugin(&api, "courier").await;
        assert_eq!((&asked["grantedHosts"], &asked["lastRefusal"]), (&json!([]), &Value::Null), "{asked}");
        assert!(asked["hosts"].as_array().is_some_and(|hosts| hosts.contains(&json!("https://courier.example"))));
        let grants = "/api/plugins/courier/grants";
        let wanted = json!({ "hosts": ["https://Courier.example/", "https://courier.example"] });
        let refused = server.user(Role::Administrator).send("PUT", grants, Some(&wanted)).await;
        assert_eq!(refused.status, 403, "{}", refused.text());
        for other in ["https://evil.example", "https://courier.example:444", "courier.example"] {
            let refused = api.send("PUT", grants, Some(&json!({ "hosts": [other] }))).await;
            assert_eq!((refused.status, &refused.json()["code"]), (400, &json!("bad_request.plugin_grant")), "{}", refused.text());
        }
        let unknown = api.send("PUT", "/api/plugins/nobody/grants", Some(&wanted)).await;
        assert_eq!(unknown.status, 404, "{}", unknown.text());
        let granted = api.put(grants, wanted).await;
        assert_eq!(granted["grantedHosts"], json!(["https://courier.example"]));
        let audit = api.get("/api/audit?action=plugins.grant").await;
        assert_eq!(audit["items"][0]["metadata"], json!({ "hosts": ["https://courier.example"], "capabilities": [] }), "{audit}");

        // Another server on the same database holds to it.
        let other = TestServer::builder(db).plugins(&["courier.wasm"]).start().await;
        assert_eq!(plugin(&other.admin(), "courier").await["grantedHosts"], json!(["https://courier.example"]));
        let taken = api.send("PUT", grants, Some(&json!({ "hosts": [] }))).await;
        assert_eq!(taken.json()["grantedHosts"], json!([]), "{}", taken.text());
        until_true("the other server to follow", || async {
            plugin(&other.admin(), "courier").await["grantedHosts"] == json!([])
        })
        .await;
        other.end().await;
        server.end().await;
    }

    async fn strikes_park_an_engine_and_a_reload_revives_it(db: &TestDb) {
        let limits = Limits { strikes: 3, back_off: Duration::from_millis(100), ..tight() };
        let server = TestServer::builder(db).plugins(&["misbehave.wasm"]).limits(limits).start().await;
        let api = server.admin();
        let engine = api.add_engine("trap", "misbehave", json!({ "mode": "trap" })).await;
        let parked = until("the lane to be parked", || async {
            let plugin = plugin(&api, "misbehave").await;
            lane(&plugin, &engine, "sync").filter(|lane| lane["state"] == json!("parked"))
        })
        .await;
        assert!(parked["reason"].is_string(), "{parked}");
        assert!(plugin(&api, "misbehave").await["reason"].is_string(), "the list says why");
        let traps = count(&parked, "traps");
        let reloaded = api.act("/api/plugins/misbehave/reload").await;
        assert_eq!(reloaded["state"], json!("active"), "{reloaded}");
        until_true("the engine to be tried again", || async {
            let plugin = plugin(&api, "misbehave").await;
            lane(&plugin, &engine, "sync").is_some_and(|lane| count(&lane, "traps") != traps)
        })
        .await;
    }

    async fn greed_is_bounded_without_harm(db: &TestDb) {
        let server = TestServer::builder(db).plugins(&["misbehave.wasm"]).limits(tight()).start().await;
        let api = server.admin();
        let steady = steady_engine(&api).await;
        let web = FileServer::start(HashMap::new()).await;
        let answers = [
            (json!({ "mode": "allocate", "on": "health" }), "then refused"),
            (json!({ "mode": "leak_connections", "on": "health", "host": "127.0.0.1", "port": web.port() }), "opened, then"),
        ];
        for (config, wanted) in answers {
            let health = test(&api, &config).await;
            let error = health["error"].as_str().unwrap_or_default();
            assert!(error.contains(wanted), "{config}: {health}");
        }
        assert!(web.connections() <= tight().connections, "{} connections", web.connections());

        // Floods of the log, long texts and nonsense in numbers and hashes reach nobody.
        for mode in ["log_flood", "long_strings", "bad_hashes", "nan", "no_base", "stuck_cursor", "ghosts", "long_error", "hoard"] {
            let engine = api.add_engine(mode, "misbehave", json!({ "mode": mode })).await;
            until_true("the engine to be read", || async {
                let plugin = plugin(&api, "misbehave").await;
                lane(&plugin, &engine, "sync").is_some_and(|lane| count(&lane, "calls") > 0)
            })
            .await;
            let reply = api.send("GET", &format!("/api/torrents?engineId={engine}&pageSize=500"), None).await;
            assert!([200, 502, 504].contains(&reply.status), "{mode}: {}", reply.text());
            assert!(reply.body.len() < 4 * 1024 * 1024, "{mode}: {} bytes", reply.body.len());
            if reply.status == 200 {
                for torrent in reply.json()["items"].as_array().into_iter().flatten() {
                    let hash = torrent["hash"].as_str().unwrap_or_default();
                    assert!(hash.len() == 40 && hash.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')), "{mode}: {hash}");
                    assert!(torrent["progress"].as_f64().is_some_and(|p| (0.0..=1.0).contains(&p)), "{mode}: {torrent}");
                }
            }
            assert_ticks(&api, &steady, 1).await;
            api.delete(&format!("/api/engines/{engine}")).await;
        }
    }

    async fn only_the_configured_endpoint_can_be_dialled(db: &TestDb) {
        let server = TestServer::builder(db).plugins(&["misbehave.wasm"]).start().await;
        let api = server.admin();
        let forbidden = FileServer::start(HashMap::from([("/".to_owned(), files::ok(b"secret"))])).await;
        let moved = files::redirect(&forbidden.url("/"));
        let granted = FileServer::start(HashMap::from([("/".to_owned(), moved)])).await;
        let port = forbidden.port();
        let targets = [
            format!("tcp:127.0.0.1:{port}"),
            format!("tcp:localhost:{port}"),
            format!("tcp:[::ffff:127.0.0.1]:{port}"),
            format!("http://127.0.0.1:{port}/"),
            format!("http://localhost:{port}/"),
            format!("http://2130706433:{port}/"),
            "http://169.254.169.254/latest/meta-data/".to_owned(),
            "unix:/run/docker.sock".to_owned(),
        ];
        for target in targets {
            let health = test(&api, &json!({ "mode": "dial", "on": "health", "url": granted.url("/"), "target": target })).await;
            assert!(health["error"].as_str().is_some_and(|error| error.contains("denied")), "{target}: {health}");
        }
        let health = test(&api, &json!({ "mode": "http_redirect", "on": "health", "url": granted.url("/") })).await;
        let error = health["error"].as_str().unwrap_or_default();
        assert!(error.contains("302") && error.contains("denied"), "{health}");
        assert!(granted.connections() > 0, "what was configured could be dialled");
        assert_eq!(forbidden.connections(), 0, "not one byte went elsewhere");
    }

    async fn bad_files_are_listed_with_the_reason(db: &TestDb) {
        let bad = ["future_api.wasm", "describe_trap.wasm", "describe_loop.wasm", "describe_garbage.wasm"];
        let server = TestServer::builder(db).plugins(&["misbehave.wasm"]).plugins(&bad).limits(tight()).start().await;
        std::fs::write(server.plugins_dir().join("noise.wasm"), b"\0asm, but no component").expect("our own directory");
        let whole = std::fs::read(plugins::file("misbehave.wasm")).expect("a built plugin");
        std::fs::write(server.plugins_dir().join("half.wasm"), &whole[..whole.len() / 2]).expect("our own directory");
        plugins::install_as("misbehave.wasm", &server.plugins_dir(), "zz_twin.wasm");
        let api = server.admin();
        let listed = until("every file to be judged", || async {
            let listed = api.get("/api/plugins").await;
            let is_done = listed
                .as_array()
                .is_some_and(|all| all.len() == 8 && all.iter().all(|plugin| plugin["state"] != "compiling"));
            is_done.then_some(listed)
        })
        .await;
        for plugin in listed.as_array().into_iter().flatten() {
            let wanted = match plugin["file"].as_str().unwrap_or_default() {
                "misbehave.wasm" => "active",
                "future_api.wasm" => "incompatible",
                "zz_twin.wasm" => "conflicting",
                _ => "failed",
            };
            assert_eq!(plugin["state"], json!(wanted), "{plugin}");
            assert!(wanted == "active" || plugin["reason"].is_string(), "{plugin}");
        }
    }

    async fn a_new_version_is_swapped_in_and_a_bad_one_is_not(db: &TestDb) {
        let server = TestServer::builder(db).plugins(&["misbehave.wasm"]).start().await;
        let api = server.admin();
        let steady = steady_engine(&api).await;
        plugins::install_as("misbehave_v2.wasm", &server.plugins_dir(), "misbehave.wasm");
        until_true("the new version to be noticed", || async {
            plugin(&api, "misbehave").await["version"] == json!("0.2.0")
        })
        .await;
        assert_ticks(&api, &steady, 2).await;
        std::fs::write(server.plugins_dir().join("misbehave.wasm"), b"broken").expect("our own directory");
        let kept = until("the bad file to be noticed", || async {
            let plugin = plugin(&api, "misbehave").await;
            plugin["pendingError"].is_string().then_some(plugin)
        })
        .await;
        assert_eq!((&kept["version"], &kept["state"]), (&json!("0.2.0"), &json!("active")));
        assert_ticks(&api, &steady, 2).await;
        plugins::install_as("misbehave.wasm", &server.plugins_dir(), "misbehave.wasm");
        until_true("a good file to be taken again", || async {
            let plugin = plugin(&api, "misbehave").await;
            plugin["version"] == json!("0.1.0") && plugin["pendingError"].is_null()
        })
        .await;
        assert_ticks(&api, &steady, 2).await;
    }
}

every_generation! { transmission: a_planned_kind_works_once_its_plugin_is_there }

async fn a_planned_kind_works_once_its_plugin_is_there(db: &TestDb, program: &Program) {
    let server = TestServer::builder(db).plugins(&["misbehave.wasm"]).start().await;
    let api = server.admin();
    let client = Transmission::start_program(program).await;
    let health = api
        .post(
            "/api/engines/test",
            json!({ "kind": "transmission", "config": client.config() }),
        )
        .await;
    assert_eq!(
        health["error"],
        json!("Engine \"transmission\" is planned but not yet implemented")
    );
    let engine = api
        .add_engine("Transmission", "transmission", client.config())
        .await;
    let reply = api
        .send("GET", &format!("/api/torrents?engineId={engine}"), None)
        .await;
    assert_eq!(reply.status, 404, "{}", reply.text());

    plugins::install("transmission.wasm", &server.plugins_dir());
    until_true("the stored engine to be loaded", || async {
        api.send("GET", &format!("/api/torrents?engineId={engine}"), None)
            .await
            .status
            == 200
    })
    .await;
    let tracker = Tracker::start().await;
    let sample = Sample::new("planned.bin", 1024 * 1024, 21, Format::V1, &tracker.announce());
    let fields = [("engineId", engine.as_str()), ("startPaused", "true")];
    let added = api.upload_torrent(&fields, &sample.metainfo).await;
    assert_eq!(added, json!({ "hash": sample.hash }));
    let rows = client.torrents(&["hashString", "name"]).await;
    assert_eq!(
        rows,
        [json!({ "hashString": sample.hash, "name": sample.name })],
        "asked directly"
    );
    api.until_torrent(&engine, &sample.hash, "it to be listed", |torrent| {
        torrent["progress"] == json!(0.0)
    })
    .await;
    api.delete(&format!("/api/torrents/{}?engineId={engine}", sample.hash))
        .await;
    until_true("Transmission to forget it", || async {
        client.torrents(&["hashString"]).await.is_empty()
    })
    .await;
}

#[test]
fn a_thousand_reloads_leak_neither_memory_nor_descriptors() {
    qm_testkit::database::block_on(async {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let installed = dir.path().join("plugins");
        std::fs::create_dir(&installed).expect("our own directory");
        plugins::install("misbehave.wasm", &installed);
        let url = format!("sqlite:{}", dir.path().join("test.db").display());
        let server = Binary::start_with(dir.path(), &url, &[("THROTTLE_LIMIT", "1000000")]).await;
        let api = server.admin().await;
        steady_engine(&api).await;
        let reload = async |times: usize| {
            for _ in 0..times {
                api.act("/api/plugins/misbehave/reload").await;
            }
        };
        // The first hundred fill caches and arenas.
        reload(100).await;
        let (memory, files) = (server.process().resident_bytes(), server.process().open_files());
        reload(900).await;
        let grown = server.process().resident_bytes().saturating_sub(memory);
        assert!(
            grown < 16 * 1024 * 1024,
            "900 reloads grew the process by {grown} bytes"
        );
        let opened = server.process().open_files();
        assert!(
            opened <= files + 8,
            "900 reloads went from {files} to {opened} open files"
        );
    });
}

/// Bounds that a test reaches soon.
fn tight() -> Limits {
    Limits {
        cpu: Duration::from_millis(300),
        memory_bytes: 32 << 20,
        silence: Duration::from_secs(5),
        call_total: Duration::from_secs(10),
        back_off: Duration::from_secs(1),
        strikes: u32::MAX,
        ..Limits::default()
    }
}

/// One entry of `GET /api/plugins`.
async fn plugin(api: &Api, id: &str) -> Value {
    let listed = api.get("/api/plugins").await;
    let found = listed
        .as_array()
        .and_then(|all| all.iter().find(|plugin| plugin["id"] == json!(id)));
    found
        .unwrap_or_else(|| panic!("`{id}` is not listed: {listed}"))
        .clone()
}

fn lane(plugin: &Value, engine: &str, lane: &str) -> Option<Value> {
    let lanes = plugin["lanes"].as_array()?;
    lanes
        .iter()
        .find(|entry| entry["engine"] == json!(engine) && entry["lane"] == json!(lane))
        .cloned()
}

fn count(value: &Value, counter: &str) -> u64 {
    value[counter]
        .as_u64()
        .unwrap_or_else(|| panic!("no `{counter}` in {value}"))
}

/// `POST /api/engines/test` of the misbehaving kind.
async fn test(api: &Api, config: &Value) -> Value {
    api.post(
        "/api/engines/test",
        json!({ "kind": "misbehave", "config": config }),
    )
    .await
}
