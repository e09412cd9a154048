//! Rules with the actions that come with the server, as the components they are.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use qm_lanes::IgnorePoison;
use qm_ports::engine::TorrentState;
use qm_test_base::engine::{FakeKinds, torrent};
use qm_testkit::wait::{until, until_true};
use qm_testkit::{Api, TestServer, both_databases};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Takes what is posted to it and answers 204, and 500 to the first post.
struct Listener {
    url: String,
    posted: Arc<Mutex<Vec<Value>>>,
}

impl Listener {
    async fn start() -> Listener {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .expect("a free port");
        let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
        let posted: Arc<Mutex<Vec<Value>>> = Arc::default();
        let keeps = posted.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                take(stream, &keeps).await;
            }
        });
        Listener { url, posted }
    }

    fn posted(&self) -> Vec<Value> {
        self.posted.lock().ignore_poison().clone()
    }
}

async fn take(mut stream: TcpStream, posted: &Mutex<Vec<Value>>) {
    let mut read = Vec::new();
    let body = loop {
        let text = String::from_utf8_lossy(&read).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
            if body.len() >= length.unwrap_or(0_usize) {
                break serde_json::from_str(body).unwrap_or_default();
            }
        }
        if stream.read_buf(&mut read).await.unwrap_or(0) == 0 {
            return;
        }
    };
    let is_first = {
        let mut posted = posted.lock().ignore_poison();
        posted.push(body);
        posted.len() == 1
    };
    let status = if is_first { "500 Broken" } else { "204 Taken" };
    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    // Whoever hung up has been heard.
    let _ = stream.write_all(answer.as_bytes()).await;
}

/// Grants a plugin what it needs, where it was built apart from this server.
pub async fn grant(api: &Api, plugin: &str, capability: &str) {
    let plugins = api.get("/api/plugins").await;
    let mut all = plugins.as_array().into_iter().flatten();
    let listed = all.find(|one| one["id"] == plugin).expect("the plugin is listed");
    if listed["firstParty"] == true {
        return;
    }
    let grants = json!({ "hosts": [], "capabilities": [capability] });
    api.put(&format!("/api/plugins/{plugin}/grants"), grants).await;
}

both_databases! {
    async fn a_completion_is_posted_and_the_torrent_is_paused(db: &TestDb) {
        let listener = Listener::start().await;
        let kinds = FakeKinds::first_party();
        let engine = kinds.engine("one");
        engine.put(torrent(1));
        let files = &["torrent_actions.wasm", "webhook.wasm"];
        let server = TestServer::builder(db).kinds(kinds).plugins(files).env("SSRF_ALLOW_HOSTS", "127.0.0.1").start().await;
        let api = server.admin();
        grant(&api, "torrent_actions", "torrents").await;
        grant(&api, "webhook", "http-guarded").await;
        let catalogue = api.get("/api/automation/catalog").await;
        let listed = catalogue["actions"].as_array().expect("a list");
        let all: Vec<&str> = listed.iter().filter_map(|action| action["id"].as_str()).collect();
        for command in ["add_tags", "force_start", "replace_tracker_host", "set_category", "start"] {
            assert!(all.contains(&command), "{command}: {all:?}");
        }
        // Those of torrents that the server itself has are in a table of their own, and tested there.
        let of_table = |id: &&str| {
            let starts = ["set_", "add_", "remove_", "rename_", "replace_", "limit_", "ban_", "force_", "start", "resume", "recheck", "reannounce"];
            starts.iter().any(|start| id.starts_with(start))
        };
        let ids: Vec<&str> = all.into_iter().filter(|id| !of_table(id)).collect();
        assert_eq!(ids, [
            "convert_rule_to_backfill", "delete", "delete_with_data", "disable_rss_rule", "media_fetch_metadata",
            "media_match", "media_scan_library", "media_server_refresh", "move", "notify", "pause",
            "refresh_rss_show_status", "stop", "webhook",
        ]);
        // These read nothing but their parameters, so a time table runs them once and not for each torrent.
        for id in ["media_fetch_metadata", "media_match", "media_scan_library", "media_server_refresh"] {
            let listed = catalogue["actions"].as_array().into_iter().flatten().find(|action| action["id"] == id).expect("listed");
            assert_eq!(listed["occasions"], json!(["torrent", "media", "event"]), "{id}");
        }
        api.add_engine("fake", "scgi_client", json!({ "host": "one" })).await;
        until_true("the torrent to be listed", || async {
            let reply = api.send("GET", "/api/torrents", None).await;
            reply.status == 200 && reply.json()["total"] == 1
        }).await;
        let rule = api.post("/api/automation/rules", json!({
            "name": "tell and pause", "trigger": "torrent.completed", "conditions": [],
            "actions": [{ "type": "webhook", "params": { "url": listener.url } }, { "type": "pause" }],
        })).await;
        let hash = torrent(1).hash;
        engine.change(&hash, |torrent| {
            torrent.progress = 1.0;
            torrent.state = TorrentState::Seeding;
        });
        let logs = format!("/api/automation/rules/{}/logs", rule["id"].as_str().expect("an id"));
        let lines = until("the rule to succeed", || async {
            let page = api.get(&logs).await;
            let lines = page["items"].as_array().expect("items").clone();
            (lines.first().is_some_and(|line| line["status"] == "success")).then_some(lines)
        }).await;
        let told: Vec<(&Value, &Value)> = lines.iter().map(|line| (&line["status"], &line["message"])).collect();
        assert_eq!(told, [(&json!("success"), &Value::Null), (&json!("failed"), &json!("Webhook responded 500"))]);
        let posted = listener.posted();
        assert_eq!(posted.len(), 2, "once, and again because it was refused");
        assert_eq!((&posted[1]["torrent"]["hash"], &posted[1]["params"]["url"]), (&json!(*hash), &json!(listener.url)));
        assert_eq!(posted[1]["torrent"]["progress"], json!(1.0));
        let commands: Vec<String> = engine.commands().into_iter().map(|(_, command)| format!("{command:?}")).collect();
        assert_eq!(commands, ["Pause"], "an action after one that failed does not run");
        server.end().await;
    }
}
