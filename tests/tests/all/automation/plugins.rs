//! Rules with the actions that come with the server, as the components they are.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use qm_kernel::Role;
use qm_lanes::IgnorePoison;
use qm_ports::engine::{Torrent, TorrentState};
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
            // Files of a torrent for a library: that of the renaming of media.
            *id != "rename_for_media" && starts.iter().any(|start| id.starts_with(start))
        };
        let ids: Vec<&str> = all.into_iter().filter(|id| !of_table(id)).collect();
        assert_eq!(ids, [
            "convert_rule_to_backfill", "delete", "delete_with_data", "disable_rss_rule", "media_fetch_artwork",
            "media_fetch_metadata", "media_generate_nfo", "media_match", "media_move", "media_rename", "media_scan_library",
            "media_server_refresh", "move", "notify", "pause", "refresh_rss_show_status", "rename_for_media", "stop", "webhook",
        ]);
        // These read nothing but their parameters, so a time table runs them once and not for each torrent.
        let occasions = |id: &str| {
            let mut listed = catalogue["actions"].as_array().into_iter().flatten();
            listed.find(|action| action["id"] == id).expect("listed")["occasions"].clone()
        };
        for id in [
            "media_fetch_artwork", "media_fetch_metadata", "media_generate_nfo", "media_match", "media_move", "media_rename",
            "media_scan_library", "media_server_refresh",
        ] {
            assert_eq!(occasions(id), json!(["torrent", "media", "event"]), "{id}");
        }
        assert_eq!(occasions("rename_for_media"), json!(["torrent", "media"]), "it needs the torrent's files");
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

    /// By the library itself, and by a rule on its completion; rules hear of each step.
    async fn a_download_is_named_and_rules_hear_of_what_it_lacks(db: &TestDb) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = dir.path().canonicalize().expect("it is there");
        let name = "The.Wire.S01E01.1080p.WEB-DL.x264-GRP";
        let (shows, named) = (root.join("shows"), root.join("named"));
        std::fs::create_dir_all(shows.join(name)).expect("our own directory");
        std::fs::create_dir(&named).expect("our own directory");
        std::fs::write(shows.join(name).join(format!("{name}.mkv")), "an episode").expect("our own file");
        let kinds = FakeKinds::first_party();
        let engine = kinds.engine("one");
        let mut loading = torrent(1);
        name.clone_into(&mut loading.name);
        loading.save_path = shows.display().to_string();
        loading.content_path = shows.join(name).display().to_string();
        engine.put(loading);
        let server = TestServer::builder(db).kinds(kinds).env("FILE_MANAGER_ROOTS", root.display().to_string()).start().await;
        let api = server.admin();
        let id = api.add_engine("fake", "scgi_client", json!({ "host": "one" })).await;
        api.until_torrent(&id, &torrent(1).hash, "the torrent to be listed", |_| true).await;
        let library = json!({ "name": "Shows", "path": shows, "kind": "tv", "autoOrganize": true });
        api.post("/api/media/libraries", library).await;
        until_true("the first scan to end", || async {
            api.get("/api/media/libraries").await[0]["lastScanAt"].is_string()
        }).await;
        let copies = json!({ "type": "rename_for_media", "params": { "libraryPath": named, "mode": "copy" } });
        let mut rules = Vec::new();
        for (trigger, actions) in [
            ("torrent.completed", json!([copies])), ("media.rename_completed", json!([])), ("media.missing_artwork", json!([])),
            ("media.missing_subtitles", json!([])),
        ] {
            let rule = json!({ "name": trigger, "trigger": trigger, "conditions": [], "actions": actions });
            let made = api.post("/api/automation/rules", rule).await;
            rules.push((trigger, made["id"].as_str().expect("an id").to_owned()));
        }
        let finished = |torrent: &mut Torrent| {
            torrent.progress = 1.0;
            torrent.state = TorrentState::Seeding;
        };
        engine.change(&torrent(1).hash, finished);
        for (trigger, rule) in &rules {
            let line = until(trigger, || async {
                let page = api.get(&format!("/api/automation/rules/{rule}/logs")).await;
                page["items"].as_array().and_then(|lines| lines.first().cloned())
            }).await;
            assert_eq!((&line["status"], &line["message"]), (&json!("success"), &Value::Null), "{trigger}: {line}");
        }
        let place = "The Wire/Season 1/The Wire - S01E01.mkv";
        assert!(shows.join(place).exists() && named.join(place).exists(), "by the library, and by the rule");
        assert!(shows.join(name).join(format!("{name}.mkv")).exists(), "what seeds goes on: the library links");
        let audit = api.get("/api/audit?action=media.rename").await;
        let rows = audit["items"].as_array().cloned().unwrap_or_default();
        assert_eq!(rows.len(), 2, "{audit}");
        let author = server.user_id(Role::SuperAdmin);
        assert!(rows.iter().all(|row| row["userId"] == author), "{audit}");
        server.end().await;
    }
}
