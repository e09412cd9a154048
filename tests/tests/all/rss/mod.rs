//! From feeds to a torrent, over the whole server and real clients.

mod bad_input;
mod crash;
mod guard;
mod shows;

use std::collections::HashMap;

use qm_testkit::files::{self, FileServer};
use qm_testkit::generations::Program;
use qm_testkit::qbittorrent::Qbittorrent;
use qm_testkit::rtorrent::{Mode, Rtorrent};
use qm_testkit::sample::{Format, Sample};
use qm_testkit::wait::until_true;
use qm_testkit::{TestDb, TestServer, every_generation};
use serde_json::{Value, json};

const ANNOUNCE: &str = "http://127.0.0.1:9/announce";
const NAME: &str = "Harbor.Nine.S01E01.1080p.WEB.x264-TIDE";

every_generation! { qbittorrent: a_feed_becomes_a_torrent_of_qbittorrent }

every_generation! { rtorrent: a_feed_becomes_a_torrent_of_rtorrent }

async fn a_feed_becomes_a_torrent_of_qbittorrent(db: &TestDb, program: &Program) {
    let client = Qbittorrent::start_program(program).await;
    follow(db, "webapi_client.wasm", "webapi_client", client.config()).await;
}

async fn a_feed_becomes_a_torrent_of_rtorrent(db: &TestDb, program: &Program) {
    let client = Rtorrent::start_program(program, Mode::Tcp).await;
    follow(db, "scgi_client.wasm", "scgi_client", client.config()).await;
}

/// A feed that shows one name under these guids, each with a link.
fn feed_of(name: &str, items: &[(&str, &str)]) -> Vec<u8> {
    let items: Vec<String> = items
        .iter()
        .map(|(guid, link)| {
            let link = link.replace('&', "&amp;");
            format!("<item><guid>{guid}</guid><title>{name}</title><link>{link}</link></item>")
        })
        .collect();
    let text = format!(
        "<rss version=\"2.0\"><channel><title>t</title>{}</channel></rss>",
        items.concat()
    );
    files::ok(text.as_bytes())
}

/// Two feeds show one release under guids of their own, one by its .torrent and one by a magnet link.
async fn follow(db: &TestDb, plugin: &'static str, kind: &str, config: Value) {
    let sample = Sample::new(NAME, 300_000, 61, Format::V1, ANNOUNCE);
    let metainfo = files::ok(&sample.metainfo);
    let tracker = FileServer::start(HashMap::from([("/1.torrent".to_owned(), metainfo)])).await;
    let magnet = format!("magnet:?xt=urn:btih:{}&dn={NAME}", sample.hash);
    let sites = FileServer::start(HashMap::from([
        (
            "/one".to_owned(),
            feed_of(NAME, &[("1", &tracker.url("/1.torrent"))]),
        ),
        (
            "/two".to_owned(),
            feed_of(NAME, &[("a", &magnet), ("b", &magnet)]),
        ),
    ]))
    .await;
    let server = TestServer::builder(db)
        .plugins(&[plugin])
        .env("SSRF_ALLOW_HOSTS", "127.0.0.1")
        .start()
        .await;
    server.plugins().settled().await;
    let api = server.admin();
    let engine = api.add_engine("client", kind, config).await;
    let mut feeds = Vec::new();
    for path in ["/one", "/two"] {
        let new = json!({ "name": path, "url": sites.url(path) });
        let feed = api.post("/api/rss/feeds", new).await;
        feeds.push(feed["id"].as_str().expect("an id").to_owned());
    }
    for (number, feed) in feeds.iter().enumerate() {
        let new = json!({ "feedId": feed, "name": format!("rule {number}") });
        let rule = api.post("/api/rss/rules", new).await;
        let id = rule["id"].as_str().expect("an id");
        let candidate =
            json!({ "name": "any", "matchType": "smart_episode_match", "pattern": "Harbor Nine" });
        api.post(&format!("/api/rss/rules/{id}/match-candidates"), candidate)
            .await;
        api.post(&format!("/api/rss/feeds/{feed}/refresh"), json!({}))
            .await;
    }
    api.until_torrent(&engine, &sample.hash, "the torrent to be listed", |_| true)
        .await;
    let mut downloaded = 0;
    for feed in &feeds {
        let path = format!("/api/rss/feeds/{feed}/history");
        until_true(
            "what the feed shows to be matched, and grabbed or not",
            || async {
                let history = api.get(&path).await;
                let items = history["items"].as_array().expect("items");
                let is_settled = |item: &Value| item["matched"] == true && item["grab"]["state"] != "pending";
                !items.is_empty() && items.iter().all(is_settled)
            },
        )
        .await;
        downloaded += api.get(&path).await["counts"]["downloaded"].as_u64().unwrap_or(0);
    }
    let list = api.get("/api/torrents").await;
    assert_eq!(list["total"], 1, "{list}");
    assert_eq!(downloaded, 1, "whichever item came first");
    server.end().await;
}
