//! Channels that misbehave, as the components they are: the damage stays theirs, their users see it, and nobody else
//! waits.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use qm_kernel::Role;
use qm_lanes::IgnorePoison;
use qm_plugin_host::Limits;
use qm_test_base::engine::{FakeKinds, torrent};
use qm_testkit::wait::until;
use qm_testkit::{Api, TestServer, both_databases};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const CHANNELS: &str = "/api/account/notifications/channels";
const TOKEN: &str = "channel-token-5f1d3b7a9c2e";
/// The misbehaviour of a channel when it should send, and the text that its owner is shown.
const WRONGS: &[(&str, &str)] = &[
    ("sleep", "Courier did not answer in time"),
    ("answer", "Courier refused it: xxxxxxxx"),
    ("leak", "Courier refused it: •••••••• is not liked"),
    ("loop", "Courier its plugin failed"),
    ("trap", "Courier its plugin failed"),
];

/// Takes what is posted to it.
struct Hook {
    url: String,
    posted: Arc<Mutex<Vec<String>>>,
}

impl Hook {
    async fn start() -> Hook {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .expect("a free port");
        let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
        let posted: Arc<Mutex<Vec<String>>> = Arc::default();
        let keeps = posted.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut read = Vec::new();
                // A message is short: it ends with the name of the service, or its sender hangs up.
                while !read.ends_with(b"Quartermaster") && !read.ends_with(b"will arrive here.") {
                    if stream.read_buf(&mut read).await.unwrap_or(0) == 0 {
                        break;
                    }
                }
                let text = String::from_utf8_lossy(&read).into_owned();
                keeps.lock().ignore_poison().push(text);
                // Whoever hung up has been heard.
                let _ = stream
                    .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                    .await;
            }
        });
        Hook { url, posted }
    }

    async fn until_told(&self, name: &str) {
        until("the message by the channel that does well", || async {
            let posted = self.posted.lock().ignore_poison();
            posted.iter().any(|text| text.contains(name)).then_some(())
        })
        .await;
    }
}

impl Hook {
    /// The code of the letter that was posted here.
    async fn code(&self) -> String {
        until("the letter with the code", || async {
            let posted = self.posted.lock().ignore_poison();
            posted.iter().find_map(|text| {
                let (before, _) = text.split_once(" is the code")?;
                Some(before[before.len() - 6..].to_owned())
            })
        })
        .await
    }
}

/// Connects `channel`, and has it linked by the code that it takes for having arrived.
async fn connect(api: &Api, channel: &str, config: Value) {
    api.post(&format!("{CHANNELS}/{channel}"), json!({ "config": config }))
        .await;
    api.act(&format!("{CHANNELS}/{channel}/link")).await;
    let linked = api.act(&format!("{CHANNELS}/{channel}/confirm")).await;
    assert_eq!(linked["verified"], true, "{linked}");
    let wish = json!({ "otherChannels": [channel] });
    let path = "/api/account/notifications/preferences/torrent.completed";
    api.put(path, wish).await;
}

async fn seen(api: &Api, channel: &str) -> Value {
    let all = api.get(CHANNELS).await;
    let mut all = all["channels"].as_array().into_iter().flatten();
    let seen = all
        .find(|seen| seen["type"] == channel)
        .expect("the channel is listed");
    seen.clone()
}

both_databases! {
    async fn a_channel_that_misbehaves_is_shown_to_its_owner_and_holds_up_no_other(db: &TestDb) {
        let hook = Hook::start().await;
        let kinds = FakeKinds::first_party();
        let engine = kinds.engine("one");
        for number in 1..=WRONGS.len() as u32 {
            engine.put(torrent(number));
        }
        let limits = Limits {
            silence: Duration::from_secs(8),
            cpu: Duration::from_millis(300),
            // What is told is what went wrong, and not that it waits after it did.
            strikes: 100,
            back_off: Duration::from_millis(1),
            ..Limits::default()
        };
        let server = TestServer::builder(db)
            .kinds(kinds)
            .plugins(&["courier.wasm", "envoy.wasm"])
            .env("SSRF_ALLOW_HOSTS", "127.0.0.1")
            .limits(limits)
            .start()
            .await;
        let (admin, reader) = (server.admin(), server.user(Role::ReadOnly));
        let id = admin.add_engine("fake", "scgi_client", json!({ "host": "one" })).await;
        let last = torrent(WRONGS.len() as u32).hash;
        admin.until_torrent(&id, &last, "the torrents to be listed", |_| true).await;
        connect(&reader, "envoy", json!({ "url": hook.url, "code": "any" })).await;
        for (number, (mode, told)) in (1..).zip(WRONGS) {
            let config = json!({ "mode": mode, "on": "send", "code": "any", "token": TOKEN, "url": hook.url });
            connect(&admin, "courier", config).await;
            let torrent = torrent(number);
            engine.change(&torrent.hash, |torrent| torrent.progress = 1.0);
            hook.until_told(&torrent.name).await;
            if *mode == "sleep" {
                let waits = seen(&admin, "courier").await;
                assert_eq!(waits["lastError"], Value::Null, "the other one did not wait for it: {waits}");
            }
            let failed = until("the failure to be shown", || async {
                let seen = seen(&admin, "courier").await;
                seen["lastError"].is_string().then_some(seen)
            })
            .await;
            let error = failed["lastError"].as_str().expect("a text");
            assert!(error.starts_with(told) && error.len() <= 500, "{mode}: {error}");
            assert!(!failed.to_string().contains(TOKEN), "{failed}");
        }
        let well = seen(&reader, "envoy").await;
        assert_eq!((&well["health"], &well["lastError"]), (&json!("healthy"), &Value::Null));
    }

    async fn a_channel_that_sends_letters_is_linked_by_the_code_of_the_host_alone(db: &TestDb) {
        let hook = Hook::start().await;
        let server = TestServer::builder(db)
            .plugins(&["postman.wasm"])
            .env("SSRF_ALLOW_HOSTS", "127.0.0.1")
            .start()
            .await;
        let (admin, reader) = (server.admin(), server.user(Role::ReadOnly));
        let grants = json!({ "hosts": [], "capabilities": ["mail"] });
        admin.put("/api/plugins/postman/grants", grants).await;
        let channel = format!("{CHANNELS}/postman");
        let config = json!({ "url": hook.url, "code": "any" });
        let connected = reader.post(&channel, json!({ "config": config })).await;
        assert_eq!(connected["verified"], false, "{connected}");
        // Its own code is neither given nor taken.
        for (path, code) in [("link", "bad_request.no_codes"), ("confirm", "bad_request.wrong_code"), ("test", "bad_request.unconfirmed")] {
            let refused = reader.send("POST", &format!("{channel}/{path}"), None).await;
            assert_eq!(refused.json()["code"], code, "{path}: {}", refused.text());
        }
        let code = hook.code().await;
        let confirmed = reader.post(&format!("{channel}/confirm"), json!({ "code": code })).await;
        assert_eq!(confirmed["verified"], true, "{confirmed}");
    }
}
