//! A folder that is swapped for a link to the outside as fast as it goes, while it is read and changed over the API.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use qm_testkit::{Api, Backend, TestServer, database};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use super::site::{Site, sung, temporaries, tree};

/// Long enough for every step to meet a swap many times over, on a machine that has nothing else to do.
const LENGTH: Duration = Duration::from_secs(20);
/// The test goes on until the wanted counts are reached, however busy the machine is. If no wanted count grows for this
/// long, the test fails.
const STUCK: Duration = Duration::from_mins(2);
const SWAPS: u64 = 1000;
const CHANGES: u64 = 100;
/// Reads that are wanted of each reader.
const READS_OF_EACH: u64 = 50;
/// Time that the folder is swapped without a rest; after it the folder is swapped as long with rests. An operation of
/// many steps then meets a swap in each of its steps, and also gets through as a whole.
const BURST: Duration = Duration::from_millis(20);
const REST: Duration = Duration::from_micros(300);

/// Counts of everything that has happened so far.
#[derive(Default)]
struct Tally {
    swaps: AtomicU64,
    changes: AtomicU64,
    reads: AtomicU64,
    streams: AtomicU64,
    over: AtomicBool,
}

impl Tally {
    fn add(to: &AtomicU64, succeeded: bool) {
        to.fetch_add(u64::from(succeeded), Ordering::Relaxed);
    }

    fn counts(&self) -> [u64; 4] {
        [&self.swaps, &self.changes, &self.reads, &self.streams].map(|count| count.load(Ordering::Relaxed))
    }

    /// The number of wanted events that have not happened yet.
    fn wanted(&self) -> u64 {
        let wanted = [SWAPS, CHANGES, READS_OF_EACH, READS_OF_EACH];
        let counts = self.counts().into_iter().zip(wanted);
        counts.map(|(count, wanted)| wanted.saturating_sub(count)).sum()
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

/// Requests of the reader, through the folder that is swapped.
const READS: &[(&str, &str, &str)] = &[
    ("GET", "/api/files?path=victim", ""),
    ("GET", "/api/files?path=victim/folder", ""),
    ("GET", "/api/files/properties?path=victim", ""),
    ("GET", "/api/files/properties?path=victim/secret", ""),
    ("GET", "/api/files/preview?path=victim/secret", ""),
    ("GET", "/api/files/download?path=victim/secret", ""),
    ("GET", "/api/files/download?path=victim/folder/secret", ""),
    ("POST", "/api/files/delete/preview", r#"{"path":"victim"}"#),
    ("POST", "/api/files/cleanup-preview", r#"{"path":"victim"}"#),
    ("POST", "/api/files/media-ticket", r#"{"path":"victim/secret"}"#),
    (
        "POST",
        "/api/files/move-conflicts",
        r#"{"operation":"move","sources":["file"],"destination":"victim"}"#,
    ),
];

/// Every change once, through and onto the folder that is swapped.
fn changes(round: u64) -> Vec<(&'static str, Value)> {
    let fresh = format!("new-{round}");
    vec![
        (
            "/api/files/folders",
            json!({ "path": "victim", "name": format!("folder-{round}") }),
        ),
        (
            "/api/files/rename",
            json!({ "path": "victim/secret", "newName": fresh, "overwrite": true }),
        ),
        (
            "/api/files/rename",
            json!({ "path": format!("victim/{fresh}"), "newName": "secret", "overwrite": true }),
        ),
        (
            "/api/files/copy",
            json!({ "source": "file", "destination": "victim/folder/deep", "overwrite": true }),
        ),
        (
            "/api/files/copy",
            json!({ "source": "tree", "destination": "victim/folder/deep", "overwrite": true, "verify": true }),
        ),
        (
            "/api/files/move",
            json!({ "source": "victim/folder/deep/tree", "destination": "victim", "overwrite": true }),
        ),
        (
            "/api/files/move",
            json!({ "source": "victim/tree", "destination": "elsewhere", "overwrite": true }),
        ),
        ("/api/files/delete", json!({ "path": "victim/folder/secret" })),
        (
            "/api/files/delete",
            json!({ "path": "victim/folder/deep/file", "permanent": true }),
        ),
        (
            "/api/files/delete",
            json!({ "path": "victim/folder", "permanent": round.is_multiple_of(4) }),
        ),
        (
            "/api/files/bulk",
            json!({ "operation": "delete", "paths": ["victim/secret", "victim/folder"] }),
        ),
        (
            "/api/files/resolve-conflicts",
            json!({ "operation": "copy", "destination": "victim", "permanent": true, "items": [
                { "source": "file", "resolution": "keep_both" },
                { "source": "file", "resolution": "replace", "targetPath": "victim/secret" },
            ] }),
        ),
        (
            "/api/files/cleanup-execute",
            json!({ "path": "victim", "paths": [format!("victim/folder-{round}"), "victim/file"], "permanent": true }),
        ),
        (
            "/api/files/copy",
            json!({ "source": "secret", "destination": "victim", "overwrite": true }),
        ),
        (
            "/api/files/copy",
            json!({ "source": "secret", "destination": "victim/folder", "overwrite": true }),
        ),
    ]
}

/// Sends a request. True if it succeeded; a batch in which nothing succeeded did not. Every answer is checked: it may
/// hold nothing of the canary.
async fn ask(api: &Api, method: &str, path: &str, body: Option<&Value>) -> bool {
    let reply = api.send(method, path, body).await;
    if let Some(said) = sung(&reply) {
        panic!("{method} {path}: {said}");
    }
    assert!(reply.status < 500, "{method} {path}: {}", reply.text());
    // A batch is answered with what became of each item.
    reply.status < 300 && !reply.text().contains("\"succeeded\":0")
}

async fn change(api: Api, site: Arc<Site>, tally: Arc<Tally>) {
    let (start, mut round) = (Instant::now(), 0);
    let mut last = (tally.wanted(), start);
    while start.elapsed() < LENGTH || tally.wanted() > 0 {
        if tally.wanted() != last.0 {
            last = (tally.wanted(), Instant::now());
        }
        assert!(
            last.1.elapsed() < STUCK,
            "{:?}: nothing succeeds any more",
            tally.counts()
        );
        for (path, body) in changes(round) {
            Tally::add(&tally.changes, ask(&api, "POST", path, Some(&body)).await);
        }
        // Whatever was deleted goes back, through the folder as it is then.
        for item in api.get("/api/files/trash").await.as_array().into_iter().flatten() {
            let restore = json!({ "id": item["id"], "overwrite": true });
            if !ask(&api, "POST", "/api/files/trash/restore", Some(&restore)).await {
                ask(
                    &api,
                    "POST",
                    "/api/files/trash/purge",
                    Some(&json!({ "id": item["id"] })),
                )
                .await;
            }
        }
        ask(
            &api,
            "POST",
            "/api/files/ensure-dir",
            Some(&json!({ "path": site.path_of("victim/folder/deep") })),
        )
        .await;
        site.write("tree/a/b", "inside");
        if round.is_multiple_of(4) {
            rooted_in_the_swap(&api, &site, round, &tally.changes).await;
        }
        round += 1;
    }
}

/// The folder that is swapped as the Default Root Path itself: every path begins there, and so does a trash.
async fn rooted_in_the_swap(api: &Api, site: &Site, round: u64, done: &AtomicU64) {
    let root = json!({ "path": site.path_of("victim") });
    Tally::add(done, ask(api, "PUT", "/api/files/root", Some(&root)).await);
    for path in ["/api/files", "/api/files/root", "/api/files/download?path=secret"] {
        ask(api, "GET", path, None).await;
    }
    for (path, body) in [
        (
            "/api/files/folders",
            json!({ "path": "/", "name": format!("rooted-{round}") }),
        ),
        ("/api/files/delete", json!({ "path": "secret" })),
        (
            "/api/files/rename",
            json!({ "path": "folder", "newName": format!("folder-{round}") }),
        ),
        (
            "/api/files/delete",
            json!({ "path": format!("rooted-{round}"), "permanent": true }),
        ),
    ] {
        Tally::add(done, ask(api, "POST", path, Some(&body)).await);
    }
    let root = json!({ "path": site.root });
    assert!(ask(api, "PUT", "/api/files/root", Some(&root)).await);
}

async fn read(api: Api, tally: Arc<Tally>) {
    while !tally.is_over() {
        for (method, path, body) in READS {
            let body: Option<Value> = serde_json::from_str(body).ok();
            Tally::add(&tally.reads, ask(&api, method, path, body.as_ref()).await);
        }
    }
}

/// Streams by tickets. A ticket is good for one file, and the file is deleted and put back all the time, so a refused
/// reader asks for another ticket.
async fn stream(viewer: Api, player: Api, tally: Arc<Tally>) {
    while !tally.is_over() {
        let wanted = json!({ "path": "victim/secret" });
        let ticket = viewer
            .send("POST", "/api/files/media-ticket", Some(&wanted))
            .await;
        assert_eq!(sung(&ticket), None);
        if ticket.status != 201 {
            continue;
        }
        let token = ticket.json()["token"].as_str().expect("a ticket").to_owned();
        let query = format!("/api/files/stream?path=victim/secret&ticket={token}");
        let mut is_good = true;
        while is_good && !tally.is_over() {
            let reply = player.send("GET", &query, None).await;
            assert_eq!(sung(&reply), None);
            is_good = reply.status == 200;
            Tally::add(&tally.streams, is_good);
        }
    }
}

/// Swaps two names until it is over.
fn swap_all_the_time(victim: &Path, swap: &Path, tally: &Tally) {
    let start = Instant::now();
    while !tally.is_over() {
        let swapped = renameat_with(CWD, victim, CWD, swap, RenameFlags::EXCHANGE);
        Tally::add(&tally.swaps, swapped.is_ok());
        if start.elapsed().as_millis() / BURST.as_millis() % 2 == 1 {
            std::thread::sleep(REST);
        }
    }
}

async fn race(server: &TestServer, site: Arc<Site>) {
    let api = server.admin();
    for (file, content) in [("victim/secret", "inside"), ("victim/folder/secret", "inside")] {
        site.write(file, content);
    }
    for file in ["file", "secret", "tree/a/b"] {
        site.write(file, "inside");
    }
    symlink(&site.canary, site.path_of("swap")).expect("our own directory");
    let before = tree(&site.canary);
    let tally = Arc::new(Tally::default());
    let swapper = {
        let (victim, swap, tally) = (site.path_of("victim"), site.path_of("swap"), tally.clone());
        std::thread::spawn(move || swap_all_the_time(victim.as_ref(), swap.as_ref(), &tally))
    };
    let readers = [
        tokio::spawn(read(api.clone(), tally.clone())),
        tokio::spawn(stream(api.clone(), server.anonymous(), tally.clone())),
    ];
    let changed = tokio::spawn(change(api.clone(), site.clone(), tally.clone())).await;
    tally.over.store(true, Ordering::Relaxed);
    swapper.join().expect("the swapper does not panic");
    changed.expect("nothing of the canary was told");
    for reader in readers {
        reader.await.expect("nothing of the canary was told");
    }
    let counts = tally.counts();
    println!("{counts:?} swaps, changes, reads, streams");
    assert_eq!(tree(&site.canary), before);
    assert_eq!(tally.wanted(), 0, "{counts:?} swaps, changes, reads, streams");
    api.act("/api/files/trash/empty").await;
    assert_eq!(temporaries(&site.root), Vec::<std::path::PathBuf>::new());
}

/// The content of the disk is the same whichever database keeps the records.
#[test]
fn a_folder_swapped_for_a_link_leads_nowhere() {
    database::run(Backend::Sqlite, async |db| {
        let site = Arc::new(Site::in_memory());
        let server = TestServer::builder(db)
            .env("FILE_MANAGER_ROOTS", site.roots())
            .start()
            .await;
        race(&server, site).await;
    });
}
