//! Comparison with an earlier server: the same request in turns, only one server running at a time, both in
//! front of the same clients. A row shows both medians, the median of the turns' ratios, and the spread of
//! the turns, so that noise of the machine is visible beside the effect of a change.

use std::path::Path;
use std::time::{Duration, Instant};

use qm_db::Db;
use qm_testkit::http::Http;
use qm_testkit::qbittorrent::Qbittorrent;
use qm_testkit::rtorrent::{Mode, Rtorrent};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::report::{Report, median};
use crate::server::{Build, Server, first_start};
use crate::{audit, clients, files, http_load, start};

const TURNS: usize = 9;
const STARTS: usize = 21;
const TORRENTS: u64 = 5_000;
/// Number of entries of a listed directory, and of a tree whose removal is previewed.
const FILES: usize = 20_000;
/// Folders created per turn: small changes, each with an audit row.
const FOLDERS: usize = 30;
/// Requests per row and turn, except under load.
const REQUESTS: usize = 5;
/// Time for pending work when a server is frozen.
const SETTLING: Duration = Duration::from_millis(150);

pub async fn measure(report: &mut Report) {
    let Some(before) = Build::baseline() else {
        report.add(
            "compare",
            "QM_BASELINE and QM_BASELINE_PLUGINS name no server",
            "",
        );
        return;
    };
    let plugins = plugins_of_both(&before);
    let now = Build {
        plugins: plugins.path().to_owned(),
        ..Build::measured()
    };
    starts(report, &before, &now).await;
    requests(report, &before, &now).await;
    changes_of_files(report, &before, &now).await;
}

/// Our plugins that the earlier server has too: each file costs start time and memory.
fn plugins_of_both(before: &Build) -> TempDir {
    let dir = tempdir();
    let ours = Build::measured().plugins;
    for file in std::fs::read_dir(&before.plugins).expect("its plugins").flatten() {
        let from = ours.join(file.file_name());
        if from.exists() {
            std::fs::copy(from, dir.path().join(file.file_name())).expect("our own directory");
        }
    }
    dir
}

/// Values of both servers, one pair per turn.
#[derive(Default)]
struct Turns {
    before: Vec<f64>,
    now: Vec<f64>,
}

impl Turns {
    fn add(&mut self, before: f64, now: f64) {
        self.before.push(before);
        self.now.push(now);
    }

    /// Both medians with their unit, and the ratio of `now` to `before`.
    fn row(&self, unit: &str) -> String {
        let mut ratios: Vec<f64> = self.before.iter().zip(&self.now).map(|(b, n)| n / b).collect();
        ratios.sort_by(f64::total_cmp);
        let digits = usize::from(median(self.now.clone()) < 100.0);
        format!(
            "{:.digits$} → {:.digits$} {unit}, ×{:.2} (turns ×{:.2} to ×{:.2})",
            median(self.before.clone()),
            median(self.now.clone()),
            median(ratios.clone()),
            ratios.first().copied().unwrap_or(f64::NAN),
            ratios.last().copied().unwrap_or(f64::NAN),
        )
    }
}

async fn starts(report: &mut Report, before: &Build, now: &Build) {
    let (old, new) = (tempdir(), tempdir());
    first_start(before, old.path(), &Http::new(), &[]).await;
    first_start(now, new.path(), &Http::new(), &[]).await;
    let mut turns = Turns::default();
    for _ in 0..STARTS {
        let ms = |build: &Build, dir: &Path| start::once(build, dir).as_secs_f64() * 1000.0;
        turns.add(ms(before, old.path()), ms(now, new.path()));
    }
    report.add("compare: from start to first 200", turns.row("ms"), "×1.05");
}

/// Both servers, of which at most one runs at a time.
struct Pair {
    before: Server,
    now: Server,
}

impl Pair {
    async fn start(before: &Build, now: &Build, env: &[(&str, &str)]) -> Pair {
        let pair = Pair {
            before: Server::start_of(before, env).await,
            now: Server::start_of(now, env).await,
        };
        pair.both().iter().for_each(|server| server.freeze(true));
        pair
    }

    fn both(&self) -> [&Server; 2] {
        [&self.before, &self.now]
    }

    /// Requests per second, server CPU per request, and bytes sent.
    fn load(&self, report: &mut Report, what: &str, before: &str, now: &str) {
        let (mut speed, mut cpu, mut sent) = (Turns::default(), Turns::default(), Turns::default());
        for _ in 0..TURNS {
            let (old, new) = (loaded(&self.before, before), loaded(&self.now, now));
            speed.add(old[0], new[0]);
            cpu.add(old[1], new[1]);
            sent.add(old[2], new[2]);
        }
        report.add(format!("compare: {what}"), speed.row("req/s"), "×0.95");
        report.add(
            format!("compare: {what}, CPU of the server"),
            cpu.row("µs a request"),
            "×1.05",
        );
        report.add(
            format!("compare: {what}, length of an answer"),
            sent.row("KiB"),
            "",
        );
    }

    fn memory(&self, report: &mut Report, what: &str) {
        let figure = format!("{} → {}", self.before.memory(), self.now.memory());
        report.add(format!("compare: resident memory, {what}"), figure, "");
    }
}

/// One turn: requests per second, µs of server CPU per request, KiB per answer.
fn loaded(server: &Server, path: &str) -> [f64; 3] {
    server.freeze(false);
    let (began, cpu) = (Instant::now(), server.cpu_seconds());
    let load = http_load::run(&server.url(path), server.token(), 1, 3);
    let (took, cpu) = (began.elapsed().as_secs_f64(), server.cpu_seconds() - cpu);
    server.freeze(true);
    let requests = load.per_second * took;
    [
        load.per_second,
        cpu / requests * 1_000_000.0,
        load.mib_per_second * 1024.0 / load.per_second,
    ]
}

async fn requests(report: &mut Report, before: &Build, now: &Build) {
    let pair = Pair::start(before, now, &[]).await;
    pair.memory(report, "no engine");
    pair.load(report, "who am I", "/api/auth/me", "/api/auth/me");
    drop(pair);

    let client = Rtorrent::start(Mode::Tcp).await;
    clients::fill_rtorrent(&client, TORRENTS).await;
    lists(report, before, now, "rTorrent", "scgi_client", &client.config()).await;
    drop(client);
    let client = Qbittorrent::start().await;
    clients::fill_qbittorrent(&client, TORRENTS).await;
    lists(
        report,
        before,
        now,
        "qBittorrent",
        "webapi_client",
        &client.config(),
    )
    .await;
    drop(client);

    let pair = Pair::start(before, now, &[]).await;
    for server in pair.both() {
        let url = format!("sqlite:{}", server.database().display());
        let db = Db::open(&url).await.expect("the database is open to us");
        audit::fill(&db).await;
        db.close().await;
    }
    for (what, path) in [
        ("first page", "/api/audit?page=1"),
        ("a page of the middle", "/api/audit?page=10000"),
        ("last page", "/api/audit?page=20000"),
    ] {
        pair.load(report, &format!("audit list of 1,000,000, {what}"), path, path);
    }
}

async fn lists(report: &mut Report, before: &Build, now: &Build, label: &str, kind: &str, config: &Value) {
    let pair = Pair::start(before, now, &[]).await;
    for server in pair.both() {
        server.freeze(false);
        server.add_engine(kind, config, TORRENTS).await;
        server.freeze(true);
    }
    pair.memory(report, &format!("{label} {TORRENTS}"));
    let page = |size: usize| format!("/api/torrents?pageSize={size}&sortBy=name&sortDir=asc");
    pair.load(
        report,
        &format!("page of 50 of {TORRENTS} torrents, {label}"),
        &page(50),
        &page(50),
    );
    // A torrent's JSON has grown: the same number of bytes shows if the server itself is slower.
    let [old, new] = pair.both().map(|server| loaded(server, &page(50))[2]);
    let alike = (50.0 * old / new).round() as usize;
    pair.load(
        report,
        &format!("pages as long as each other (50 and {alike}), {label}"),
        &page(50),
        &page(alike),
    );
    pair.memory(report, &format!("{label} {TORRENTS}, after that load"));
}

async fn changes_of_files(report: &mut Report, before: &Build, now: &Build) {
    let root = tempdir();
    files::make_tree(root.path(), FILES);
    files::make_entries(&root.path().join("entries"), FILES);
    let roots = root.path().display().to_string();
    let pair = Pair::start(before, now, &[("FILE_MANAGER_ROOTS", &roots)]).await;
    std::fs::create_dir(root.path().join("made")).expect("our own directory");
    let (mut listing, mut preview, mut made) = (Turns::default(), Turns::default(), Turns::default());
    let tree = json!({ "path": "tree" });
    for turn in 0..STARTS {
        let make = |server, whose| folders(server, turn, whose);
        made.add(make(&pair.before, "before").await, make(&pair.now, "now").await);
        let list = |server| timed(server, "/api/files?path=entries&limit=500", None);
        listing.add(list(&pair.before).await, list(&pair.now).await);
        let removal = |server| timed(server, "/api/files/delete/preview", Some(&tree));
        preview.add(removal(&pair.before).await, removal(&pair.now).await);
    }
    let what = format!("compare: {FOLDERS} folders made and named anew, one after the other");
    report.add(what, made.row("ms"), "×1.05");
    let what = format!("compare: the first 500 of a directory of {FILES}");
    report.add(what, listing.row("ms"), "×1.05");
    let what = format!("compare: preview of deleting {FILES} files");
    report.add(what, preview.row("ms"), "×1.05");
}

/// Milliseconds for creating this number of folders.
async fn folders(server: &Server, turn: usize, whose: &str) -> f64 {
    server.freeze(false);
    tokio::time::sleep(SETTLING).await;
    let began = Instant::now();
    for number in 0..FOLDERS {
        let name = format!("{turn} {whose} {number}");
        let folder = json!({ "path": "made", "name": name });
        server.post("/api/files/folders", &folder).await;
        let anew = json!({ "path": format!("made/{name}"), "newName": format!("{name} anew") });
        server.post("/api/files/rename", &anew).await;
    }
    let took = began.elapsed().as_secs_f64() * 1000.0;
    server.freeze(true);
    took
}

/// Milliseconds of one request: the median of a few, after pending work of the frozen server has ended.
async fn timed(server: &Server, path: &str, body: Option<&Value>) -> f64 {
    server.freeze(false);
    tokio::time::sleep(SETTLING).await;
    let mut took = Vec::with_capacity(REQUESTS);
    for _ in 0..REQUESTS {
        let began = Instant::now();
        match body {
            Some(body) => server.post(path, body).await,
            None => server.get(path).await,
        };
        took.push(began.elapsed().as_secs_f64() * 1000.0);
    }
    server.freeze(true);
    median(took)
}

fn tempdir() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}
