//! Media library: 100,000 files in 2,000 shows and 5,000 films with unusual names. Duration and memory of
//! first and later scans; pages of the items, and a search among them.

use std::ffi::{OsStr, OsString};
use std::fs::{File, FileTimes};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use qm_db::Backend;
use qm_db::testing::Scratch;
use serde_json::{Value, json};

use crate::http_load;
use crate::report::Report;
use crate::server::Server;

/// Size of the tree.
#[derive(Clone, Copy)]
struct Size {
    files: usize,
    shows: usize,
    films: usize,
}

const WHOLE: Size = Size {
    files: 100_000,
    shows: 2_000,
    films: 5_000,
};
/// Bytes of each file; sparse, so they need no space.
pub const BYTES: u64 = 1 << 30;
const PER_SEASON: usize = 12;
/// One in this number of files is changed between two scans.
const SHARE: usize = 100;
/// Modification time of all files, since 1970: recent changes are checked again.
const WRITTEN: Duration = Duration::from_hours(24 * 365 * 50);
const RUNS: u32 = 3;
const SECONDS: u32 = 5;
const PAGE: u64 = 60;
/// Time limit of a scan.
pub const PATIENCE: Duration = Duration::from_mins(30);

/// Runs the measurement; `divisor` 1 is the published size, and a greater one shrinks the tree, to test the
/// measurement itself.
pub async fn measure(report: &mut Report, divisor: usize) {
    let size = Size {
        files: WHOLE.files / divisor,
        shows: WHOLE.shows / divisor,
        films: WHOLE.films / divisor,
    };
    for backend in [Backend::Sqlite, Backend::Postgres] {
        let Some(scratch) = Scratch::new(backend).await else {
            report.add(
                format!("library, {backend:?}"),
                "no such server on this machine",
                "",
            );
            continue;
        };
        run(report, backend, scratch.url(), size).await;
        scratch.remove().await;
    }
}

async fn run(report: &mut Report, backend: Backend, url: &str, size: Size) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let root = dir.path().canonicalize().expect("it is there");
    let files = plant(&root, size);
    let roots = root.display().to_string();
    let server = Server::start_with(&[("FILE_MANAGER_ROOTS", &roots), ("DATABASE_URL", url)]).await;
    let mut row = |what: String, figure: String, target: &str| {
        report.add(format!("library, {backend:?}: {what}"), figure, target);
    };
    let before = server.settled_mib();
    let begun = Instant::now();
    let mut libraries = Vec::new();
    for (folder, kind) in [("tv", "tv"), ("films", "movie")] {
        let body = json!({ "name": folder, "path": root.join(folder), "kind": kind });
        let made = server.post("/api/media/libraries", &body).await;
        libraries.push(made["id"].as_str().expect("an id").to_owned());
        let added = ended(&server, &made["scanJobId"]).await["added"].clone();
        assert!(added.as_u64() > Some(0), "{folder}: {added}");
    }
    let took = begun.elapsed().as_secs_f64();
    let total = total(&server).await;
    assert_eq!(total, files.len() as u64, "every file is an item");
    row(
        format!(
            "first scan of {total} files in {} shows and {} films",
            size.shows, size.films
        ),
        format!("{took:.1} s, {:.1} CPU seconds", server.cpu_seconds()),
        "≤ 60 s",
    );
    // Each library only gets its own name: a scan that relies on unchanged directories.
    let quick = scans(&server, &libraries, true).await;
    row(
        "scan of what did not change".to_owned(),
        format!("{quick:.2} s"),
        "≤ 3 s",
    );
    let took = scans(&server, &libraries, false).await;
    row(
        "first scan by hand, which recognises what the files are".to_owned(),
        format!("{took:.2} s"),
        "",
    );
    let whole = scans(&server, &libraries, false).await;
    row(
        "scan by hand of what did not change, which looks at every file".to_owned(),
        format!("{whole:.2} s"),
        "≤ 3 s",
    );
    let changed = change(&files);
    let took = scans(&server, &libraries, false).await;
    row(
        format!("scan after {changed} files were written, renamed or deleted"),
        format!("{took:.2} s"),
        "",
    );
    row(
        "memory that these scans took at the peak".to_owned(),
        format!("{:.1} MiB more", server.peak_mib() - before),
        "≤ 150 MiB",
    );
    pages(&server, &mut row).await;
}

async fn pages(server: &Server, row: &mut impl FnMut(String, String, &str)) {
    let last = total(server).await.div_ceil(PAGE);
    let before = server.settled_mib();
    for (what, query, target) in [
        ("first page of items", "items?page=1".to_owned(), "p99 ≤ 30 ms"),
        ("middle page", format!("items?page={}", last / 2), "p99 ≤ 30 ms"),
        ("last page", format!("items?page={last}"), "p99 ≤ 30 ms"),
        (
            "middle page of films, the newest first",
            "items?mediaType=movie&sort=year_desc&page=40".to_owned(),
            "p99 ≤ 30 ms",
        ),
        (
            "search for a word",
            "items?search=lantern".to_owned(),
            "p99 ≤ 50 ms",
        ),
        (
            "search for a part of a word",
            "items?search=ante".to_owned(),
            "p99 ≤ 50 ms",
        ),
        (
            "search for what none has",
            "items?search=qqq".to_owned(),
            "p99 ≤ 50 ms",
        ),
        ("middle page of series", "series?page=20".to_owned(), ""),
    ] {
        let path = format!("/api/media/{query}");
        let found = server.get(&path).await["total"].clone();
        let load = http_load::run(&server.url(&path), server.token(), RUNS, SECONDS);
        row(
            format!("{what} of {found}, 16 connections"),
            format!(
                "{:.0}/s, p50 {:.1} ms, p99 {:.1} ms",
                load.per_second, load.p50_ms, load.p99_ms
            ),
            target,
        );
    }
    row(
        "memory that pages took at the peak".to_owned(),
        format!("{:.1} MiB more", server.peak_mib() - before),
        "",
    );
}

pub async fn total(server: &Server) -> u64 {
    let page = server.get("/api/media/items?pageSize=1").await;
    page["total"].as_u64().expect("a number")
}

/// Scans all libraries one after the other; seconds.
pub async fn scans(server: &Server, libraries: &[String], relies: bool) -> f64 {
    let begun = Instant::now();
    for id in libraries {
        let path = format!("/api/media/libraries/{id}");
        let job = if relies {
            server.patch(&path, &json!({ "isEnabled": true })).await["scanJobId"].clone()
        } else {
            server.post(&format!("{path}/scan"), &json!({})).await["jobId"].clone()
        };
        ended(server, &job).await;
    }
    begun.elapsed().as_secs_f64()
}

/// Waits for a job; returns its result.
pub async fn ended(server: &Server, job: &Value) -> Value {
    let path = format!("/api/jobs/{}", job.as_str().expect("the id of a job"));
    let begun = Instant::now();
    loop {
        let job = server.get(&path).await;
        match job["status"].as_str().unwrap_or_default() {
            "completed" | "completed_with_warnings" => return job["resultSummary"].clone(),
            "queued" | "running" | "waiting" | "retrying" => {}
            _ => panic!("{job}"),
        }
        assert!(begun.elapsed() < PATIENCE, "{job}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Words of titles, as users and groups write them.
const WORDS: [&str; 24] = [
    "Lantern",
    "River",
    "Harbour",
    "Winter",
    "Señorita",
    "Über",
    "東京",
    "Ночь",
    "Glass",
    "Iron",
    "O'Neil's",
    "Mr.",
    "100%",
    "Under_score",
    "(Part)",
    "[Cut]",
    "&",
    "S.W.A.T",
    "1984",
    "24",
    "It's",
    "🎬",
    "Kingdom",
    "Voyage",
];

fn title(number: usize) -> String {
    let word = |at: usize| WORDS[at % WORDS.len()];
    format!(
        "{} {} {number}",
        word(number),
        word(number / WORDS.len() + number * 7)
    )
}

/// Name of a folder or file in one of several styles.
fn styled(title: &str, number: usize, rest: &str) -> OsString {
    match number % 6 {
        0 => format!("{title}{rest}").into(),
        1 => format!("{}{rest}", title.replace(' ', ".")).into(),
        2 => format!("{}{rest}", title.replace(' ', "_")).into(),
        3 => format!("[Group] {title}{rest}").into(),
        4 => format!("{}{rest}", title.to_uppercase()).into(),
        // Latin-1, as in old archives.
        _ => {
            let mut name = title.as_bytes().to_vec();
            name.push(0xe9);
            name.extend_from_slice(rest.as_bytes());
            OsStr::from_bytes(&name).to_owned()
        }
    }
}

/// Creates the tree; returns its files in mixed order.
fn plant(root: &Path, size: Size) -> Vec<PathBuf> {
    let mut files = Vec::with_capacity(size.files);
    for number in 0..size.films {
        let year = 1920 + number % 105;
        let title = title(number);
        let folder = root
            .join("films")
            .join(styled(&title, number, &format!(" ({year})")));
        std::fs::create_dir_all(&folder).expect("our own directory");
        files.push(folder.join(styled(
            &title,
            number + 1,
            &format!(".{year}.1080p.BluRay.x264-GRP{}.mkv", number % 9),
        )));
    }
    let episodes = size.files - size.films;
    for show in 0..size.shows {
        let title = title(show);
        let folder = root.join("tv").join(styled(&title, show, ""));
        let mine = episodes / size.shows + usize::from(show < episodes % size.shows);
        for episode in 0..mine {
            let (season, number) = (episode / PER_SEASON + 1, episode % PER_SEASON + 1);
            let folder = folder.join(format!("Season {season}"));
            if number == 1 {
                std::fs::create_dir_all(&folder).expect("our own directory");
            }
            let rest = format!(" S{season:02}E{number:02} 720p HDTV x265.mkv");
            files.push(folder.join(styled(&title, show + episode, &rest)));
        }
    }
    for file in &files {
        write(file, BYTES);
    }
    age(root);
    // Steps of a prime number visit all of them in another order.
    let step = 7919 % files.len().max(1);
    (0..files.len())
        .map(|at| files[at * step % files.len()].clone())
        .collect()
}

pub fn write(path: &Path, bytes: u64) {
    let file = File::create(path).expect("our own directory");
    file.set_len(bytes).expect("a sparse file");
    let old = UNIX_EPOCH + WRITTEN;
    file.set_times(FileTimes::new().set_modified(old))
        .expect("our own file");
}

/// Makes the directories old.
pub fn age(directory: &Path) {
    for entry in std::fs::read_dir(directory).expect("our own directory") {
        let entry = entry.expect("our own directory");
        if entry.file_type().expect("our own file").is_dir() {
            age(&entry.path());
        }
    }
    let old = UNIX_EPOCH + WRITTEN;
    let opened = File::open(directory).expect("our own directory");
    opened
        .set_times(FileTimes::new().set_modified(old))
        .expect("our own directory");
}

/// Changes a share of the files: written, renamed and deleted in turn. Returns the number.
fn change(files: &[PathBuf]) -> usize {
    let some = files.len() / SHARE;
    for (at, file) in files.iter().take(some).enumerate() {
        match at % 3 {
            0 => write(file, BYTES + 1),
            1 => std::fs::rename(file, file.with_extension("mp4")).expect("our own file"),
            _ => std::fs::remove_file(file).expect("our own file"),
        }
    }
    some
}
