//! Kill -9 between the decision to grab a release and the day it is done, with real clients: the release is in the client
//! once, the client was asked to add it once, and of all items that show it one was downloaded.
//!
//! Each release is shown by two feeds: one leads to its .torrent, the other names it by magnet links under two guids. What
//! the server asks of the feeds' site and of the client goes through a [`Gate`], which stops at one request until the
//! server is killed.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use qm_testkit::binary::Binary;
use qm_testkit::files::{self, FileServer};
use qm_testkit::plugins;
use qm_testkit::qbittorrent::Qbittorrent;
use qm_testkit::rtorrent::{Mode, Rtorrent};
use qm_testkit::sample::{Format, Sample};
use qm_testkit::wait::until_true;
use qm_testkit::{Api, TestDb, both_databases};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::{ANNOUNCE, feed_of};
use crate::gate::{Gate, Trap};

/// Where the server is killed, one release after the other.
const KILLS: [Point; 5] = [
    Point::Fetching,
    Point::Asking,
    Point::Answered,
    Point::Decided,
    Point::Told,
];

/// The point that a grab has reached when the server is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Point {
    /// It is in the database; the client knows nothing of it.
    Decided,
    /// The .torrent was asked for, and does not come.
    Fetching,
    /// The client was asked, and has not read it.
    Asking,
    /// The client has it, and the server does not hear of it.
    Answered,
    /// The server has just heard of it.
    Told,
}

impl Point {
    /// True if the feed that is read first is the one that leads to a .torrent.
    fn is_by_link(self) -> bool {
        matches!(self, Point::Fetching | Point::Asking | Point::Answered)
    }
}

/// Any of the clients.
trait Client {
    /// The adapter's file and kind.
    const PLUGIN: (&'static str, &'static str);
    /// A text that stands in every request that adds a torrent, and in no other.
    const ADDS: &'static str;

    fn port(&self) -> u16;
    /// `config` of the engine, at another port.
    fn config_at(&self, port: u16) -> Value;
    async fn hashes(&self) -> Vec<String>;
}

impl Client for Qbittorrent {
    const PLUGIN: (&'static str, &'static str) = ("webapi_client.wasm", "webapi_client");
    const ADDS: &'static str = "/api/v2/torrents/add ";

    fn port(&self) -> u16 {
        let url = self.base_url();
        let port = url.rsplit(':').next().and_then(|port| port.parse().ok());
        port.expect("a url with a port")
    }

    fn config_at(&self, port: u16) -> Value {
        let mut config = self.config();
        config["baseUrl"] = format!("http://127.0.0.1:{port}").into();
        config
    }

    async fn hashes(&self) -> Vec<String> {
        Qbittorrent::hashes(self).await
    }
}

impl Client for Rtorrent {
    const PLUGIN: (&'static str, &'static str) = ("scgi_client.wasm", "scgi_client");
    const ADDS: &'static str = ">load.";

    fn port(&self) -> u16 {
        let port = self.config()["port"]
            .as_u64()
            .and_then(|port| u16::try_from(port).ok());
        port.expect("a port")
    }

    fn config_at(&self, port: u16) -> Value {
        let mut config = self.config();
        config["port"] = port.into();
        config
    }

    async fn hashes(&self) -> Vec<String> {
        Rtorrent::hashes(self).await
    }
}

fn name(release: usize) -> String {
    format!("Harbor.Nine.S01E0{release}.1080p.WEB.x264-TIDE")
}

async fn start(dir: &Path, db: &TestDb) -> (Binary, Api) {
    let env = [("THROTTLE_LIMIT", "1000000"), ("SSRF_ALLOW_HOSTS", "127.0.0.1")];
    let server = Binary::start_with(dir, db.url(), &env).await;
    let admin = server.admin().await;
    (server, admin)
}

/// A feed that is read when somebody asks for it, with a rule on it.
async fn follow(admin: &Api, name: &str, url: String) -> String {
    let new = json!({ "name": name, "url": url, "isEnabled": false });
    let feed = admin.post("/api/rss/feeds", new).await;
    let feed = feed["id"].as_str().expect("an id").to_owned();
    let rule = admin
        .post("/api/rss/rules", json!({ "feedId": feed, "name": name }))
        .await;
    let id = rule["id"].as_str().expect("an id");
    let candidate = json!({ "name": "any", "matchType": "smart_episode_match", "pattern": "Harbor Nine" });
    admin
        .post(&format!("/api/rss/rules/{id}/match-candidates"), candidate)
        .await;
    feed
}

/// Asks a feed for what it shows, for somebody who may not live to hear of it.
fn refresh(admin: &Api, feed: &str) -> JoinHandle<()> {
    let (admin, path) = (admin.clone(), format!("/api/rss/feeds/{feed}/refresh"));
    tokio::spawn(async move {
        let _ = admin.request("POST", &path).send().await;
    })
}

async fn items(admin: &Api, feed: &str) -> Vec<Value> {
    let history = admin.get(&format!("/api/rss/feeds/{feed}/history")).await;
    history["items"].as_array().cloned().unwrap_or_default()
}

/// The feeds of a release: by its .torrent, and by magnet links.
type Feeds = [String; 2];

/// The site of the feeds with the releases it shows, and the gate before the server of their .torrents.
struct Shown {
    samples: Vec<Sample>,
    links: Gate,
    site: FileServer,
    /// Serves the .torrents while it lives.
    _torrents: FileServer,
}

impl Shown {
    async fn new() -> Shown {
        let samples: Vec<Sample> = (1..=KILLS.len())
            .map(|release| Sample::new(&name(release), 100_000, 70 + release as u64, Format::V1, ANNOUNCE))
            .collect();
        let files = samples.iter().enumerate();
        let files = files.map(|(at, sample)| (format!("/{}.torrent", at + 1), files::ok(&sample.metainfo)));
        let torrents = FileServer::start(files.collect()).await;
        let links = Gate::before(torrents.port(), ".torrent ").await;
        let mut documents = HashMap::new();
        for (at, sample) in samples.iter().enumerate() {
            let release = at + 1;
            let link = format!("http://127.0.0.1:{}/{release}.torrent", links.port());
            // rTorrent takes none without a tracker.
            let (hash, name) = (&sample.hash, &sample.name);
            let magnet =
                format!("magnet:?xt=urn:btih:{hash}&dn={name}&tr=http%3A%2F%2F127.0.0.1%3A9%2Fannounce");
            documents.insert(format!("/link/{release}"), feed_of(name, &[("1", &link)]));
            let twice = [("a", magnet.as_str()), ("b", magnet.as_str())];
            documents.insert(format!("/magnet/{release}"), feed_of(name, &twice));
        }
        Shown {
            samples,
            links,
            site: FileServer::start(documents).await,
            _torrents: torrents,
        }
    }

    /// Follows all of it.
    async fn followed(&self, admin: &Api) -> Vec<Feeds> {
        let mut feeds: Vec<Feeds> = Vec::new();
        for release in 1..=self.samples.len() {
            let url = |kind: &str| self.site.url(&format!("/{kind}/{release}"));
            feeds.push([
                follow(admin, &format!("link {release}"), url("link")).await,
                follow(admin, &format!("magnet {release}"), url("magnet")).await,
            ]);
        }
        feeds
    }
}

/// Has the server get as far as `point` with what the feed shows.
async fn get_as_far_as(point: Point, admin: &Api, feed: &str, links: &Gate, adds: &Gate) {
    links.set(match point {
        Point::Fetching => Trap::BeforeRequest,
        _ => Trap::Open,
    });
    adds.set(match point {
        Point::Decided | Point::Asking => Trap::BeforeRequest,
        Point::Answered => Trap::BeforeAnswer,
        Point::Told => Trap::AfterAnswer,
        Point::Fetching => Trap::Open,
    });
    let _asking = refresh(admin, feed);
    match point {
        Point::Decided => {
            until_true("the decision to be stored", || async {
                let items = items(admin, feed).await;
                items.iter().any(|item| item["grab"]["state"] == "pending")
            })
            .await;
        }
        Point::Fetching => links.caught().await,
        Point::Asking | Point::Answered | Point::Told => adds.caught().await,
    }
}

async fn grabbed_once_however_often_the_server_is_killed<C: Client>(db: &TestDb, client: &C) {
    let shown = Shown::new().await;
    let adds = Gate::before(client.port(), C::ADDS).await;
    let dir = tempfile::tempdir().expect("a temporary directory");
    let installed = dir.path().join("plugins");
    std::fs::create_dir(&installed).expect("our own directory");
    plugins::install(C::PLUGIN.0, &installed);
    let (mut server, mut admin) = start(dir.path(), db).await;
    admin
        .add_engine("client", C::PLUGIN.1, client.config_at(adds.port()))
        .await;
    let feeds = shown.followed(&admin).await;

    for (point, [by_link, by_magnet]) in KILLS.into_iter().zip(&feeds) {
        let first = if point.is_by_link() { by_link } else { by_magnet };
        get_as_far_as(point, &admin, first, &shown.links, &adds).await;
        server.kill();
        shown.links.set(Trap::Open);
        adds.set(Trap::Open);
        (server, admin) = start(dir.path(), db).await;
        until_true("what was decided to be with the client", || async {
            let items = items(&admin, first).await;
            items.iter().any(|item| item["downloaded"] == true)
        })
        .await;
        for feed in [by_link, by_magnet] {
            admin.act(&format!("/api/rss/feeds/{feed}/refresh")).await;
        }
    }

    for (point, feeds) in KILLS.into_iter().zip(&feeds) {
        let mut shown = items(&admin, &feeds[0]).await;
        shown.extend(items(&admin, &feeds[1]).await);
        let count = |is: fn(&Value) -> bool| shown.iter().filter(|item| is(item)).count();
        let counts = (
            shown.len(),
            count(|item| item["downloaded"] == true),
            count(|item| item["matched"] == true),
            count(|item| item["grab"]["state"] == "pending"),
        );
        assert_eq!(counts, (3, 1, 3, 0), "killed at {point:?}: {shown:#?}");
    }
    let expected: BTreeSet<String> = shown.samples.iter().map(|sample| sample.hash.clone()).collect();
    let listed = client.hashes().await;
    assert_eq!(
        (listed.len(), listed.into_iter().collect()),
        (expected.len(), expected)
    );
    assert_eq!(
        adds.passed(),
        KILLS.len(),
        "the client was asked to add each once"
    );
    server.kill();
}

both_databases! {
    async fn a_release_is_in_qbittorrent_once_however_often_the_server_is_killed(db: &TestDb) {
        grabbed_once_however_often_the_server_is_killed(db, &Qbittorrent::start().await).await;
    }

    async fn a_release_is_in_rtorrent_once_however_often_the_server_is_killed(db: &TestDb) {
        grabbed_once_however_often_the_server_is_killed(db, &Rtorrent::start(Mode::Tcp).await).await;
    }
}
