//! Servers behind certificates of their own: a walk over all configurations that hold a URL, and a real client.

use qm_testkit::qbittorrent::Qbittorrent;
use qm_testkit::tls::TlsFront;
use qm_testkit::wait::until_true;
use qm_testkit::{Backend, TestServer, database};
use serde_json::{Value, json};

use super::origins::{Ear, MAIL, PLUGINS, Stored, all};

/// What a change has to say to trust a certificate.
fn trusting(stored: &Stored, ear: &Ear, certificate: &str) -> Value {
    let mut config = (stored.at)(ear);
    if stored.name.starts_with("/api/indexers") {
        config["config"] = json!({ "tlsCertificate": certificate });
    } else {
        config["tlsCertificate"] = json!(certificate);
    }
    config
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
            let (method, path, body) = &stored.uses[0];
            let refused = api.send(method, path, Some(body)).await.text();
            for part in ["not trusted", ear.front().sha256(), "tlsCertificate"] {
                assert!(refused.contains(part), "{name}: {refused}");
            }
            stored.use_it(&api).await;
            assert!(ear.heard().is_empty(), "{name}: nothing is sent to it");
            for certificate in [ear.front().sha256(), ear.front().pem()] {
                stored.change(&api, trusting(&stored, &ear, certificate)).await;
                stored.use_it(&api).await;
                until_true(&format!("{name}: it is asked"), || async {
                    ear.heard_the_secret()
                })
                .await;
                ear.forget();
            }
            let other = "ab".repeat(32);
            stored.change(&api, trusting(&stored, &ear, &other)).await;
            // A connection that was kept is none of the new certificate's.
            ear.forget();
            let refused = api.send(method, path, Some(body)).await.text();
            assert!(refused.contains("not the one"), "{name}: {refused}");
            assert!(!ear.heard_the_secret(), "{name}");
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
        let tried = api
            .send("POST", &format!("/api/engines/{engine}/test"), Some(&json!({})))
            .await
            .text();
        assert!(tried.contains(front.sha256()), "{tried}");
        // Word for word, as a person copies it.
        let shown = tried
            .split("SHA-256 ")
            .nth(1)
            .map(|rest| &rest[..95])
            .expect("a SHA-256");
        config["tlsCertificate"] = json!(shown);
        let changed = json!({ "config": config });
        api.patch(&format!("/api/engines/{engine}"), changed).await;
        until_true("the engine to answer", || async {
            let tried = api
                .send("POST", &format!("/api/engines/{engine}/test"), Some(&json!({})))
                .await;
            tried.json()["ok"] == true
        })
        .await;
    });
}
