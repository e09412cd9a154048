//! Servers behind certificates of their own: a walk over all configurations that hold a URL, and a real client.

use std::time::Duration;

use qm_testkit::qbittorrent::Qbittorrent;
use qm_testkit::tls::TlsFront;
use qm_testkit::wait::until_true;
use qm_testkit::{Api, Backend, TestServer, database};
use serde_json::{Value, json};

use super::origins::{Ear, MAIL, PLUGINS, Stored, all, with_secret};

/// Longer than the time between two looks at an engine.
const QUIET: Duration = Duration::from_millis(2500);

/// Change of a configuration by which it trusts a certificate.
fn trusting(stored: &Stored, ear: &Ear, certificate: &str) -> Value {
    let mut config = (stored.at)(ear);
    if stored.name.starts_with("/api/indexers") {
        config["config"] = json!({ "tlsCertificate": certificate });
    } else {
        config["tlsCertificate"] = json!(certificate);
    }
    config
}

/// Text of the answer to a test of a configuration.
async fn refusal(api: &Api, stored: &Stored, config: Value) -> String {
    let (method, path, body) = &stored.uses[0];
    let reply = match stored.name.strip_prefix("/api/engines ") {
        Some(kind) => {
            let asked = json!({ "kind": kind, "config": with_secret(config, "password") });
            api.send("POST", "/api/engines/test", Some(&asked)).await
        }
        None => api.send(method, path, Some(body)).await,
    };
    reply.text()
}

#[test]
fn every_configured_server_is_trusted_by_the_certificate_that_its_test_shows() {
    database::run(Backend::Sqlite, async |db| {
        let server = TestServer::builder(db).plugins(PLUGINS).start().await;
        server.plugins().settled().await;
        let api = server.admin();
        let ear = Ear::secure().await;
        let mut walked = 0;
        for stored in all(&api, &ear).await {
            // Letters are tried with a real server in `mail`, and some are asked by nobody.
            if stored.name == MAIL || stored.uses.is_empty() {
                continue;
            }
            let name = &stored.name;
            let other = "ab".repeat(32);
            let told = refusal(&api, &stored, (stored.at)(&ear)).await;
            for part in ["not trusted", ear.front().sha256(), "tlsCertificate"] {
                assert!(told.contains(part), "{name}: {told}");
            }
            stored.change(&api, trusting(&stored, &ear, &other)).await;
            let told = refusal(&api, &stored, trusting(&stored, &ear, &other)).await;
            assert!(told.contains("not the one"), "{name}: {told}");
            stored.use_it(&api).await;
            assert!(ear.heard().is_empty(), "{name}: nothing is sent to it");
            for certificate in [ear.front().sha256(), ear.front().pem()] {
                stored.change(&api, trusting(&stored, &ear, certificate)).await;
                ear.forget();
                stored.use_it(&api).await;
                until_true(&format!("{name}: it is asked"), || async {
                    ear.heard_the_secret()
                })
                .await;
            }
            // Engines are asked by themselves: the next ones begin in silence.
            stored.change(&api, trusting(&stored, &ear, &other)).await;
            until_true(&format!("{name}: silence"), || async {
                ear.forget();
                tokio::time::sleep(QUIET).await;
                ear.heard().is_empty()
            })
            .await;
            walked += 1;
        }
        assert!(walked >= 9, "{walked}");
    });
}

#[test]
fn a_qbittorrent_behind_its_own_certificate_is_driven() {
    database::run(Backend::Sqlite, async |db| {
        let client = Qbittorrent::start().await;
        let port = client
            .base_url()
            .rsplit(':')
            .next()
            .and_then(|port| port.parse().ok());
        let front = TlsFront::start(port.expect("a port")).await;
        let server = TestServer::builder(db)
            .plugins(&["webapi_client.wasm"])
            .start()
            .await;
        let api = server.admin();
        let mut config = client.config();
        config["baseUrl"] = json!(front.url());
        let asked = json!({ "name": "seedbox", "kind": "webapi_client", "config": config.clone() });
        let made = api.post("/api/engines", asked).await;
        let engine = made["id"].as_str().expect("an id");
        let test = async |config: &Value| {
            let asked = json!({ "kind": "webapi_client", "config": config });
            api.send("POST", "/api/engines/test", Some(&asked)).await.text()
        };
        let tried = test(&config).await;
        assert!(tried.contains(front.sha256()), "{tried}");
        // Word for word, as a person copies it.
        let shown = tried
            .split("SHA-256 ")
            .nth(1)
            .map(|rest| &rest[..95])
            .expect("a SHA-256");
        config["tlsCertificate"] = json!(shown);
        let tried = test(&config).await;
        assert!(tried.contains("\"online\":true"), "{tried}");
        let changed = json!({ "config": config });
        api.patch(&format!("/api/engines/{engine}"), changed).await;
        until_true("the engine to answer", || async {
            let list = format!("/api/torrents?engineId={engine}");
            api.send("GET", &list, None).await.status == 200
        })
        .await;
    });
}
