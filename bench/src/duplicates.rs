//! Duplicates among 100,000 items: the first detection, one after which nothing has changed, and one after a small change; their
//! memory.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use qm_db::Backend;
use qm_db::testing::Scratch;
use serde_json::{Value, json};

use crate::library::{BYTES, PATIENCE, age, ended, scans, total, write};
use crate::report::Report;
use crate::server::Server;

/// Items: films of which one in [`EVERY`] is there a second time, and as many episodes.
const FILMS: usize = 36_000;
const SHOWS: usize = 1_500;
const EPISODES: usize = 36;
const EVERY: usize = 9;
/// Files that get another size before the last detection.
const CHANGED: usize = 100;

/// Runs the measurement; `divisor` 1 is the published size, and a greater one shrinks it, to test the measurement itself.
pub async fn measure(report: &mut Report, divisor: usize) {
    for backend in [Backend::Sqlite, Backend::Postgres] {
        let Some(scratch) = Scratch::new(backend).await else {
            report.add(
                format!("duplicates, {backend:?}"),
                "no such server on this machine",
                "",
            );
            continue;
        };
        run(report, backend, scratch.url(), divisor).await;
        scratch.remove().await;
    }
}

async fn run(report: &mut Report, backend: Backend, url: &str, divisor: usize) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let root = dir.path().canonicalize().expect("it is there");
    let files = plant(&root, divisor);
    let roots = root.display().to_string();
    let server = Server::start_with(&[("FILE_MANAGER_ROOTS", &roots), ("DATABASE_URL", url)]).await;
    let mut libraries = Vec::new();
    for (folder, kind) in [("films", "movie"), ("shows", "tv")] {
        let body =
            json!({ "name": folder, "path": root.join(folder), "kind": kind, "artworkEnabled": false });
        let made = server.post("/api/media/libraries", &body).await;
        ended(&server, &made["scanJobId"]).await;
        libraries.push(made["id"].as_str().expect("an id").to_owned());
    }
    // A scan by hand recognises what the files are.
    scans(&server, &libraries, false).await;
    quiet(&server).await;
    let items = total(&server).await;
    assert_eq!(items, files.len() as u64, "every file is an item");
    let mut row = |what: String, figure: String, target: &str| {
        report.add(format!("duplicates, {backend:?}: {what}"), figure, target);
    };
    let before = server.settled_mib();
    let (took, found) = detect(&server).await;
    let groups = found["groupsDetected"].as_u64().unwrap_or_default();
    assert!(groups > items / 100, "{found}");
    row(
        format!("first detection, {groups} groups among {items} items"),
        format!("{took:.1} s"),
        "≤ 20 s",
    );
    let (took, found) = detect(&server).await;
    assert_eq!(found["unchanged"], true, "{found}");
    row(
        "detection after which nothing has changed".to_owned(),
        format!("{took:.2} s"),
        "≤ 2 s",
    );
    for file in files.iter().step_by(files.len() / CHANGED.min(files.len())) {
        write(file, BYTES + 1);
    }
    scans(&server, &libraries, false).await;
    quiet(&server).await;
    let (took, found) = detect(&server).await;
    assert_eq!(found["unchanged"], false, "{found}");
    row(
        format!("detection after {CHANGED} files were written"),
        format!("{took:.1} s"),
        "",
    );
    row(
        "memory that they took at the peak".to_owned(),
        format!("{:.1} MiB more", server.peak_mib() - before),
        "≤ 200 MiB",
    );
}

/// Seconds of a detection, and its result.
async fn detect(server: &Server) -> (f64, Value) {
    let begun = Instant::now();
    let asked = server.post("/api/media/duplicates/detect", &json!({})).await;
    let found = ended(server, &asked["jobId"]).await;
    (begun.elapsed().as_secs_f64(), found)
}

/// Waits until no job is at work, so that a figure is of one thing alone.
pub async fn quiet(server: &Server) {
    let begun = Instant::now();
    loop {
        let jobs = server.get("/api/jobs/list?active=true&pageSize=1").await;
        if jobs["total"] == 0 {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{jobs}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Creates the files; returns them.
fn plant(root: &Path, divisor: usize) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for number in 0..FILMS / divisor {
        let year = 1920 + number % 105;
        let title = format!("The Lantern of Harbour {number}");
        let folder = root.join("films").join(format!("{title} ({year})"));
        std::fs::create_dir_all(&folder).expect("our own directory");
        files.push(folder.join(format!("{title} ({year}) 1080p BluRay x264-GRP.mkv")));
        if number % EVERY == 0 {
            let folder = root.join("films").join(title.replace(' ', "."));
            std::fs::create_dir_all(&folder).expect("our own directory");
            let name = format!("{}.{year}.720p.WEB.x265-TIDE.mkv", title.replace(' ', "."));
            files.push(folder.join(name));
        }
    }
    for show in 0..SHOWS / divisor {
        let title = format!("River Kingdom {show}");
        for (folder, every) in [(title.clone(), 1), (title.replace(' ', "."), EVERY)] {
            for episode in (0..EPISODES).step_by(every) {
                let season = episode / 12 + 1;
                let folder = root.join("shows").join(&folder).join(format!("Season {season}"));
                std::fs::create_dir_all(&folder).expect("our own directory");
                let number = episode % 12 + 1;
                files.push(folder.join(format!("{title} S{season:02}E{number:02} 1080p.mkv")));
            }
        }
    }
    for (number, file) in files.iter().enumerate() {
        write(file, BYTES + number as u64);
    }
    age(root);
    files
}
