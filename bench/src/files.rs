//! File manager: a listing of 100,000 entries, the stream of a 1 GiB file compared with `cat`, and the
//! preview of deleting 200,000 files.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use qm_testkit::http::{Http, Reply};
use serde_json::{Value, json};

use crate::report::{Report, median};
use crate::server::Server;

const ENTRIES: usize = 100_000;
const FILES: usize = 200_000;
const PER_FOLDER: usize = 1000;
/// Size of the streamed file in MiB, and number of runs.
const STREAMED: usize = 1024;
const RUNS: usize = 7;

pub async fn measure(report: &mut Report) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let root = dir.path();
    listing(report, root).await;
    stream(report, root).await;
    preview(report, root).await;
}

/// A separate server per measurement, so that the peak belongs to it.
async fn server(root: &Path) -> Server {
    let roots = root.display().to_string();
    Server::start_with(&[("FILE_MANAGER_ROOTS", &roots)]).await
}

/// Creates a directory with this number of empty files.
pub fn make_entries(folder: &Path, count: usize) {
    std::fs::create_dir(folder).expect("our own directory");
    for number in 0..count {
        // Unordered, like real names.
        let name = format!(
            "{:08x} Some.Show.S01E{:02}.mkv",
            (number as u32).wrapping_mul(2_654_435_761),
            number % 24
        );
        std::fs::write(folder.join(name), "").expect("our own directory");
    }
}

/// Creates `tree` with this number of files, in folders of a thousand.
pub fn make_tree(root: &Path, files: usize) {
    for folder in 0..files / PER_FOLDER {
        let folder = root.join(format!("tree/{}/{folder}", folder % 10));
        std::fs::create_dir_all(&folder).expect("our own directory");
        for number in 0..PER_FOLDER {
            std::fs::write(folder.join(format!("{number}.nfo")), "x").expect("our own directory");
        }
    }
}

async fn listing(report: &mut Report, root: &Path) {
    let folder = root.join("entries");
    make_entries(&folder, ENTRIES);
    for (what, query) in [
        ("the first 500", "&limit=500"),
        ("500 from the middle", "&limit=500&offset=50000"),
        ("all of them", ""),
    ] {
        let server = server(root).await;
        let path = format!("/api/files?path=entries{query}");
        let (before, mut times, mut bytes) = (server.settled_mib(), Vec::new(), 0);
        for _ in 0..RUNS {
            let begin = Instant::now();
            bytes = ask(&server, "GET", &path, None).await.body.len();
            times.push(begin.elapsed().as_secs_f64() * 1000.0);
        }
        report.add(
            format!("list a directory of {ENTRIES} entries: {what}"),
            format!(
                "{:.0} ms, {:.1} MiB of JSON, {:.1} MiB more memory at the peak",
                median(times),
                bytes as f64 / (1024.0 * 1024.0),
                server.peak_mib() - before
            ),
            "",
        );
    }
}

async fn stream(report: &mut Report, root: &Path) {
    let file = root.join("large.mkv");
    let block: Vec<u8> = (0..1 << 20).map(|number| (number % 251) as u8).collect();
    std::fs::write(&file, block.repeat(STREAMED)).expect("our own directory");
    let server = server(root).await;
    let ticket = ask(
        &server,
        "POST",
        "/api/files/media-ticket",
        Some(&json!({ "path": "large.mkv" })),
    )
    .await;
    let ticket = ticket.json()["token"].as_str().expect("a ticket").to_owned();
    let url = server.url(&format!("/api/files/stream?path=large.mkv&ticket={ticket}"));
    let (before, cpu) = (server.settled_mib(), server.cpu_seconds());
    let (mut streamed, mut cat) = (Vec::new(), Vec::new());
    // In turns, so that both run under the same conditions.
    for _ in 0..RUNS {
        streamed.push(throughput(Command::new("curl").args(["-sS", "--fail", &url])));
        cat.push(throughput(Command::new("cat").arg(&file)));
    }
    let cpu = (server.cpu_seconds() - cpu) / RUNS as f64;
    let (streamed, cat) = (median(streamed), median(cat));
    report.add(
        "stream of 1 GiB to curl, and `cat` of the file, both into /dev/null",
        format!(
            "{streamed:.0} MiB/s and {cat:.0} MiB/s; {cpu:.2} CPU seconds of the server and {:.1} MiB more memory",
            server.peak_mib() - before
        ),
        "",
    );
}

/// MiB per second of a program that outputs the streamed file.
fn throughput(command: &mut Command) -> f64 {
    let sink = std::fs::File::create("/dev/null").expect("/dev/null");
    let begin = Instant::now();
    let status = command.stdout(sink).status().expect("curl and cat are installed");
    assert!(status.success(), "{command:?} ended with {status}");
    STREAMED as f64 / begin.elapsed().as_secs_f64()
}

async fn preview(report: &mut Report, root: &Path) {
    make_tree(root, FILES);
    let server = server(root).await;
    let (before, mut times) = (server.settled_mib(), Vec::new());
    for _ in 0..RUNS {
        let begin = Instant::now();
        let body = json!({ "path": "tree" });
        let preview = ask(&server, "POST", "/api/files/delete/preview", Some(&body))
            .await
            .json();
        times.push(begin.elapsed().as_secs_f64() * 1000.0);
        assert!(preview["sizeBytes"].as_u64() >= Some(FILES as u64), "{preview}");
    }
    report.add(
        format!(
            "preview of deleting {FILES} files in {} folders",
            FILES / PER_FOLDER
        ),
        format!(
            "{:.0} ms, {:.1} MiB more memory at the peak",
            median(times),
            server.peak_mib() - before
        ),
        "",
    );
}

async fn ask(server: &Server, method: &str, path: &str, body: Option<&Value>) -> Reply {
    let request = Http::new()
        .request(method, &server.url(path))
        .header("authorization", &format!("Bearer {}", server.token()));
    let request = match body {
        Some(body) => request.json(body),
        None => request,
    };
    let reply = request
        .send()
        .await
        .unwrap_or_else(|error| panic!("{method} {path}: {error}"));
    assert!(
        reply.status < 300,
        "{method} {path}: {} {}",
        reply.status,
        reply.text()
    );
    reply
}
