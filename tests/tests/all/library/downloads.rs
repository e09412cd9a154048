//! From a download to what plays it, with real clients: a torrent completes, its library is scanned, what lies there is
//! identified, rules hear of each, a provider of metadata tells of it, a media server looks for it. Each once, wherever the
//! server is killed meanwhile; a media server that was being asked, or whose answer was on its way, is asked once more, and so
//! is the provider.
//!
//! The server is killed at a request to the provider or the media server, by a [`Gate`]; within what is done without asking
//! anybody it is killed when the database shows that it has begun, so how far it has come by then is another moment each time.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use qm_db::{Db, opt, sql, value};
use qm_testkit::binary::Binary;
use qm_testkit::plugins;
use qm_testkit::rtorrent::Mode;
use qm_testkit::sample::Sample;
use qm_testkit::tracker::Tracker;
use qm_testkit::wait::{PATIENCE, until, until_true};
use qm_testkit::{Api, TestDb, both_databases};
use serde_json::{Value, json};

use super::tmdb::{self, ORIGIN, Tmdb, episode};
use crate::client::{Client, Doing};
use crate::gate::{Gate, Trap};
use crate::media_servers::{KEY, jellyfin};

sql! {
    CHECKPOINT = "SELECT checkpoint FROM platform_jobs WHERE type = 'media.post_download' AND resource_id = $1 \
        AND checkpoint IS NOT NULL";
    RUNS = "SELECT COUNT(*) FROM automation_runs";
}

/// Where the server is killed, one download after the other.
const KILLS: [Point; 8] = [
    Point::Nowhere,
    Point::Unheard,
    Point::Scanning,
    Point::Identifying,
    Point::Describing,
    Point::Asking,
    Point::Asked,
    Point::Answered,
];

/// A show is downloaded each time.
const SHOWS: [&str; 8] = [
    "Aster Lane",
    "Birch Cove",
    "Cedar Bay",
    "Dogwood Hill",
    "Elder Moor",
    "Fir Point",
    "Gorse End",
    "Hazel Weir",
];

/// Episodes of a show, some transactions of them.
const EPISODES: usize = 130;
/// Episodes of one season.
const SEASON: usize = 65;
/// Bytes of an episode.
const SIZE: usize = 4096;

/// The point that a download has reached when the server is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Point {
    /// The client has not begun.
    Nowhere,
    /// The client has all of it, and the server has not heard of that.
    Unheard,
    /// The job that follows the download has begun.
    Scanning,
    /// Its library was scanned.
    Identifying,
    /// The provider is asked about the second season; of some episodes of the first one it may have told.
    Describing,
    /// The media server is to be asked, and has not read it.
    Asking,
    /// The media server was asked, and the server does not hear of it.
    Asked,
    /// The server has just heard that the media server was asked.
    Answered,
}

impl Point {
    /// The number of times that the provider may have been asked each of its questions.
    fn questions(self) -> &'static [usize] {
        match self {
            // Answers are kept in memory alone.
            Point::Scanning | Point::Identifying | Point::Describing => &[1, 2],
            _ => &[1],
        }
    }

    /// Requests to refresh that the media server may have read.
    fn refreshes(self) -> &'static [usize] {
        match self {
            // Nobody knows whether it heard.
            Point::Asked => &[2],
            // Whether the server had stored the answer when it was killed.
            Point::Answered => &[1, 2],
            _ => &[1],
        }
    }
}

/// A show of which each episode is a file.
fn sample(show: &str, seed: u64, announce: &str) -> Sample {
    let name = show.replace(' ', ".");
    let episode = |number: usize| {
        let (season, episode) = (number / SEASON + 1, number % SEASON + 1);
        format!("{name}.S{season:02}E{episode:02}.1080p.WEB.x264-TIDE.mkv")
    };
    let files = (0..EPISODES).map(episode).collect();
    let folder = format!("{name}.S01-S02.1080p.WEB.x264-TIDE");
    Sample::folder(&folder, files, SIZE, seed, announce)
}

/// The servers that our server asks, each behind its gate.
struct Outside {
    tmdb: Tmdb,
    provider: Gate,
    media_server: Gate,
}

impl Outside {
    async fn start() -> Outside {
        let tmdb = tmdb::start(&SHOWS, SEASON).await;
        let (port, _) = jellyfin().await;
        Outside {
            provider: Gate::before(tmdb.port, "/season/2?").await,
            media_server: Gate::before(port, "POST /Library/Refresh ").await,
            tmdb,
        }
    }

    fn set(&self, point: Point) {
        self.provider.set(match point {
            Point::Describing => Trap::BeforeRequest,
            _ => Trap::Open,
        });
        self.media_server.set(match point {
            Point::Asking => Trap::BeforeRequest,
            Point::Asked => Trap::BeforeAnswer,
            Point::Answered => Trap::AfterAnswer,
            _ => Trap::Open,
        });
    }

    /// Checks that the provider was asked what it takes to describe a show, and that the media server was asked to
    /// refresh.
    fn were_asked(&self, at: usize, point: Point, refreshed: usize) {
        let id = 9000 + at;
        let asked = self.tmdb.asked();
        let questions = [
            "/3/search/tv".to_owned(),
            format!("/3/tv/{id}"),
            format!("/3/tv/{id}/season/1"),
            format!("/3/tv/{id}/season/2"),
        ];
        let times = questions
            .iter()
            .map(|question| asked.iter().filter(|path| *path == question).count());
        let times: Vec<usize> = times.collect();
        let is_right = times.iter().all(|times| point.questions().contains(times));
        assert!(is_right, "killed at {point:?}: {asked:?}");
        assert_eq!(
            times.iter().sum::<usize>(),
            asked.len(),
            "killed at {point:?}: {asked:?}"
        );
        let is_right = point.refreshes().contains(&refreshed);
        assert!(is_right, "killed at {point:?}: refreshed {refreshed} times");
    }
}

async fn start(dir: &Path, db: &TestDb, client: &Client, provider: u16) -> (Binary, Api) {
    let root = client.downloads();
    let relay = format!("{ORIGIN}=http://127.0.0.1:{provider}");
    let env = [
        ("PROVIDER_A_API_KEY", tmdb::KEY),
        ("PLUGIN_RELAYS", &relay),
        ("THROTTLE_LIMIT", "1000000"),
        ("FILE_MANAGER_ROOTS", root.to_str().expect("UTF-8")),
    ];
    let server = Binary::start_with(dir, db.url(), &env).await;
    let admin = server.admin().await;
    (server, admin)
}

/// Objects that are made once, before the first download.
struct Made {
    engine: String,
    library: String,
    /// Rules on media that were detected, matched, and not matched.
    rules: [String; 3],
}

impl Made {
    async fn over(admin: &Api, client: &Client, media_server: u16) -> Made {
        let engine = admin.add_engine("client", client.kind(), client.config()).await;
        // Pictures would be questions to the provider that are not counted here.
        let new =
            json!({ "name": "Shows", "path": client.downloads(), "kind": "tv", "artworkEnabled": false });
        let library = id(&admin.post("/api/media/libraries", new).await);
        until_true("the first scan to end", || async {
            let listed = admin.get("/api/media/libraries").await;
            listed[0]["lastScanAt"].is_string()
        })
        .await;
        reaches_its_host(admin).await;
        let config = json!({ "baseUrl": format!("http://127.0.0.1:{media_server}"), "apiKey": KEY });
        let new = json!({ "name": "Den", "kind": "jellyfin", "config": config });
        admin.post("/api/media/server-integrations", new).await;
        let mut rules = Vec::new();
        for trigger in ["media.detected", "media.matched", "media.unmatched"] {
            let rule = json!({ "name": trigger, "trigger": trigger, "conditions": [], "actions": [] });
            rules.push(id(&admin.post("/api/automation/rules", rule).await));
        }
        let rules = rules.try_into().expect("three rules");
        Made {
            engine,
            library,
            rules,
        }
    }
}

fn id(made: &Value) -> String {
    made["id"].as_str().expect("an id").to_owned()
}

/// The provider's plugin may ask its own host, also where it was built apart from this server.
async fn reaches_its_host(admin: &Api) {
    let plugins = admin.get("/api/plugins").await;
    let mut all = plugins.as_array().into_iter().flatten();
    let listed = all.find(|one| one["id"] == "provider_a");
    if listed.expect("the plugin is listed")["firstParty"] == true {
        return;
    }
    let grants = json!({ "hosts": [ORIGIN], "capabilities": [] });
    let path = "/api/plugins/provider_a/grants";
    admin.put(path, grants).await;
}

/// Hands the torrent to the client, which does not begin with it.
async fn add(admin: &Api, engine: &str, sample: &Sample) {
    let fields = [("engineId", engine), ("startPaused", "true")];
    admin.upload_torrent(&fields, &sample.metainfo).await;
    admin
        .until_torrent(engine, &sample.hash, "the torrent to be listed", |torrent| {
            torrent["progress"] == json!(0.0) && torrent["state"] != json!("checking")
        })
        .await;
}

/// Waits until the client has all of it.
async fn until_whole(client: &Client, sample: &Sample) {
    until_true("the client to have all of it", || async {
        let bytes = client.completed_bytes(&sample.hash).await;
        bytes == sample.bytes.len() as u64 && client.doing(&sample.hash).await != Doing::Checking
    })
    .await;
}

/// Waits until the job that follows a download has stored a state that `is_there` accepts, looking as often as it can.
async fn until_stored(db: &Db, hash: &str, is_there: impl Fn(&Value) -> bool) {
    let looking = async {
        loop {
            let mut tx = db.begin_read().await.expect("a database");
            let row = opt!(&mut tx, (String,), CHECKPOINT, hash).await.expect("a job");
            drop(tx);
            let stored = row.map(|(text,)| serde_json::from_str(&text).expect("a checkpoint is JSON"));
            if stored.is_some_and(|stored: Value| is_there(&stored)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let waited = tokio::time::timeout(PATIENCE, looking).await;
    waited.expect("what follows the download begins");
}

/// The job that follows the download of this torrent, once it has ended.
async fn followed(admin: &Api, hash: &str) -> Value {
    let path = format!("/api/jobs/list?type=media.post_download&resourceId={hash}");
    until("what follows the download to end", || async {
        let jobs = admin.get(&path).await["items"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        assert!(jobs.len() <= 1, "it is followed once: {jobs:?}");
        let job = jobs.into_iter().next()?;
        let status = job["status"].as_str().unwrap_or_default();
        assert!(!["failed", "cancelled"].contains(&status), "{job}");
        if status != "completed" {
            return None;
        }
        Some(admin.get(&format!("/api/jobs/{}", id(&job))).await)
    })
    .await
}

/// The number of entries in each rule's log, in the order of the rules, once no run is left to do.
async fn count_log_entries(admin: &Api, db: &Db, rules: &[String; 3]) -> Vec<Value> {
    until_true("the rules to have run", || async {
        let mut tx = db.begin_read().await.expect("a database");
        value!(&mut tx, i64, RUNS).await.expect("runs") == 0
    })
    .await;
    let mut told = Vec::new();
    for rule in rules {
        let page = admin.get(&format!("/api/automation/rules/{rule}/logs")).await;
        told.push(page["total"].clone());
    }
    told
}

/// Every episode of a show is one item, known, and described.
async fn is_described(admin: &Api, library: &str, show: &str) {
    let title = show.replace(' ', "%20");
    let path = format!("/api/media/items?libraryId={library}&title={title}&pageSize=200");
    let page = admin.get(&path).await;
    assert_eq!(page["total"], json!(EPISODES), "{show}");
    let items = page["items"].as_array().expect("items");
    let mut numbers = BTreeSet::new();
    for item in items {
        let number = |name: &str| {
            item[name]
                .as_u64()
                .and_then(|number| usize::try_from(number).ok())
        };
        let (Some(season), Some(of)) = (number("season"), number("episode")) else {
            panic!("{show}: no episode: {item}");
        };
        let told = [
            &item["matchStatus"],
            &item["metadata"]["providerName"],
            &item["metadata"]["title"],
        ];
        let expected = ["matched", "provider_a", &episode(show, season, of)].map(|text| json!(text));
        assert_eq!(told, expected.each_ref(), "{show}: {item}");
        numbers.insert((season, of));
    }
    assert_eq!(numbers.len(), EPISODES, "{show}");
}

async fn each_stage_once_wherever_the_server_is_killed(db: &TestDb, client: &Client, seeder: &Client) {
    let tracker = Tracker::start().await;
    let announce = tracker.announce();
    let shows = SHOWS.iter().zip(101..);
    let samples: Vec<Sample> = shows.map(|(show, seed)| sample(show, seed, &announce)).collect();
    for sample in &samples {
        tracker.allow(&sample.hash).await;
        seeder.seed(sample).await;
        tracker.until_seeded(&sample.hash).await;
    }
    let outside = Outside::start().await;
    let provider = outside.provider.port();
    let dir = tempfile::tempdir().expect("a temporary directory");
    let installed = dir.path().join("plugins");
    std::fs::create_dir(&installed).expect("our own directory");
    for name in [
        "scgi_client.wasm",
        "webapi_client.wasm",
        "jellyfin.wasm",
        "provider_a.wasm",
    ] {
        plugins::install(name, &installed);
    }
    let (mut server, mut admin) = start(dir.path(), db, client, provider).await;
    let made = Made::over(&admin, client, outside.media_server.port()).await;
    let stored = Db::open(db.url()).await.expect("the database is open to us");

    for (at, (point, sample)) in KILLS.into_iter().zip(&samples).enumerate() {
        let (hash, before) = (&sample.hash, outside.media_server.passed());
        add(&admin, &made.engine, sample).await;
        outside.set(point);
        if point == Point::Unheard {
            server.kill();
            client.start(sample).await;
            until_whole(client, sample).await;
        } else {
            admin
                .act(&format!("/api/torrents/{hash}/start?engineId={}", made.engine))
                .await;
        }
        match point {
            Point::Nowhere | Point::Unheard => {}
            Point::Scanning => until_stored(&stored, hash, |_| true).await,
            Point::Identifying => {
                let is_scanned = |stored: &Value| stored["stage"] != "scan" || stored["passed"] != 0;
                until_stored(&stored, hash, is_scanned).await;
            }
            Point::Describing => outside.provider.caught().await,
            Point::Asking | Point::Asked | Point::Answered => outside.media_server.caught().await,
        }
        if point != Point::Nowhere {
            server.kill();
            outside.set(Point::Nowhere);
            (server, admin) = start(dir.path(), db, client, provider).await;
        }
        let job = followed(&admin, hash).await;
        let result = &job["resultSummary"];
        let counts = [
            "matched",
            "unmatched",
            "described",
            "serversAsked",
            "serversFailed",
        ];
        let counts = counts.map(|name| result[name].as_u64());
        let episodes = Some(EPISODES as u64);
        let expected = [episodes, Some(0), episodes, Some(1), Some(0)];
        assert_eq!(counts, expected, "killed at {point:?}: {job}");
        // What a scan stored before it was cut off is not new to the next one.
        assert!(result["added"].as_u64() <= episodes, "killed at {point:?}: {job}");
        outside.were_asked(at, point, outside.media_server.passed() - before);
        let expected = [at + 1, (at + 1) * EPISODES, 0].map(|count| json!(count));
        assert_eq!(
            count_log_entries(&admin, &stored, &made.rules).await,
            expected,
            "killed at {point:?}"
        );
        is_described(&admin, &made.library, SHOWS[at]).await;
        assert!(sample.is_in(&client.downloads()), "killed at {point:?}");
    }
    let all = admin.get("/api/media/items").await;
    assert_eq!(all["total"], json!(KILLS.len() * EPISODES));
    stored.close().await;
    server.kill();
}

both_databases! {
    async fn what_follows_a_download_of_qbittorrent_happens_once(db: &TestDb) {
        let (client, seeder) = (Client::qbittorrent().await, Client::rtorrent(Mode::Tcp).await);
        each_stage_once_wherever_the_server_is_killed(db, &client, &seeder).await;
    }

    async fn what_follows_a_download_of_rtorrent_happens_once(db: &TestDb) {
        let (client, seeder) = (Client::rtorrent(Mode::Tcp).await, Client::qbittorrent().await);
        each_stage_once_wherever_the_server_is_killed(db, &client, &seeder).await;
    }
}
