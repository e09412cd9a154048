//! Posters of 1,000 films: pages of films with their pictures, and the pictures themselves in one of their sizes, at 16
//! connections; first when none is made yet, then when all are.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use qm_testkit::http::Http;
use qm_testkit::process::loopback_address;
use qm_testkit::wait::until;
use serde_json::json;

use crate::duplicates::quiet;
use crate::http_load;
use crate::library::{ended, total};
use crate::report::{Report, median};
use crate::server::Server;

const POSTERS: usize = 1_000;
const CONNECTIONS: usize = 16;
/// Films of a page.
const PAGE: usize = 60;
/// Times that all pictures are fetched when all are made.
const ROUNDS: usize = 5;
const RUNS: u32 = 3;
const SECONDS: u32 = 5;

/// Runs the measurement; `divisor` 1 is the published size.
pub async fn measure(report: &mut Report, divisor: usize) {
    let count = POSTERS / divisor;
    let dir = tempfile::tempdir().expect("a temporary directory");
    let root = dir.path().canonicalize().expect("it is there");
    let bytes = plant(&root, count);
    let roots = root.display().to_string();
    let server = Server::start_with(&[("FILE_MANAGER_ROOTS", &roots)]).await;
    let body = json!({ "name": "films", "path": root.join("films"), "kind": "movie" });
    let made = server.post("/api/media/libraries", &body).await;
    ended(&server, &made["scanJobId"]).await;
    assert_eq!(total(&server).await, count as u64, "every film is an item");
    let ids = posters(&server, count).await;
    quiet(&server).await;
    let mut row = |what: String, figure: String, target: &str| {
        report.add(format!("posters: {what}"), figure, target);
    };
    let before = server.settled_mib();
    let last = count.div_ceil(PAGE);
    for (what, page) in [("first", 1), ("middle", last.div_ceil(2)), ("last", last)] {
        let path = format!("/api/media/items?pageSize={PAGE}&page={page}");
        let load = http_load::run(&server.url(&path), server.token(), RUNS, SECONDS);
        row(
            format!("{what} page of {count} films with a poster each, {CONNECTIONS} connections"),
            format!(
                "{:.0}/s, p50 {:.1} ms, p99 {:.1} ms",
                load.per_second, load.p50_ms, load.p99_ms
            ),
            "p99 ≤ 30 ms",
        );
    }
    let clients = Clients::new();
    for (what, query) in [("400 pixels wide", "?width=400"), ("as they are", "")] {
        let first = clients.fetch(&server, &ids, query).await;
        row(
            format!("{count} pictures of {bytes} bytes, {what}, for the first time"),
            first.to_string(),
            "",
        );
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            rounds.push(clients.fetch(&server, &ids, query).await);
        }
        let of = |pick: fn(&Pass) -> f64| median(rounds.iter().map(pick).collect());
        let warm = Pass {
            per_second: of(|pass| pass.per_second),
            p50_ms: of(|pass| pass.p50_ms),
            p99_ms: of(|pass| pass.p99_ms),
        };
        row(
            format!("{count} pictures, {what}, once they are made"),
            warm.to_string(),
            "p99 ≤ 30 ms",
        );
    }
    row(
        "memory that they took at the peak".to_owned(),
        format!("{:.1} MiB more", server.peak_mib() - before),
        "",
    );
}

/// Ids of all posters, once they are known.
async fn posters(server: &Server, count: usize) -> Vec<String> {
    until("every film to have its poster", || async {
        let mut ids = Vec::new();
        for page in 1..=count.div_ceil(PAGE) {
            let path = format!("/api/media/items?pageSize={PAGE}&page={page}");
            let page = server.get(&path).await;
            for item in page["items"].as_array()? {
                ids.push(item["artwork"][0]["id"].as_str()?.to_owned());
            }
        }
        (ids.len() == count).then_some(ids)
    })
    .await
}

/// Figures of one pass over all pictures.
struct Pass {
    per_second: f64,
    p50_ms: f64,
    p99_ms: f64,
}

impl std::fmt::Display for Pass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (rate, p50, p99) = (self.per_second, self.p50_ms, self.p99_ms);
        write!(f, "{rate:.0}/s, p50 {p50:.1} ms, p99 {p99:.1} ms")
    }
}

/// Clients with a connection each. Each comes from an address of its own: pictures have a limit an address and minute, which a
/// grid of posters does not meet.
struct Clients(Vec<Http>);

impl Clients {
    fn new() -> Clients {
        let clients = (0..CONNECTIONS).map(|_| Http::from_address(loopback_address()));
        Clients(clients.collect())
    }

    /// Fetches all pictures once, each client its share.
    async fn fetch(&self, server: &Server, ids: &[String], query: &str) -> Pass {
        let begun = Instant::now();
        let token = format!("Bearer {}", server.token());
        let tasks: Vec<_> = self
            .0
            .iter()
            .enumerate()
            .map(|(number, http)| {
                let mine = ids.iter().skip(number).step_by(CONNECTIONS);
                let urls = mine.map(|id| server.url(&format!("/api/media/artwork/{id}/image{query}")));
                let urls: Vec<String> = urls.collect();
                let (http, token) = (http.clone(), token.clone());
                tokio::spawn(async move { fetch_each(&http, &token, urls).await })
            })
            .collect();
        let mut times = Vec::with_capacity(ids.len());
        for task in tasks {
            times.extend(task.await.expect("a client ends without a panic"));
        }
        let took = begun.elapsed().as_secs_f64();
        times.sort();
        let at = |share: f64| {
            let place = (times.len() as f64 * share) as usize;
            let time = times.get(place.min(times.len().saturating_sub(1)));
            time.copied().unwrap_or_default().as_secs_f64() * 1000.0
        };
        Pass {
            per_second: times.len() as f64 / took,
            p50_ms: at(0.5),
            p99_ms: at(0.99),
        }
    }
}

async fn fetch_each(http: &Http, token: &str, urls: Vec<String>) -> Vec<Duration> {
    let mut times = Vec::with_capacity(urls.len());
    for url in urls {
        let begun = Instant::now();
        let reply = http
            .request("GET", &url)
            .header("authorization", token)
            .send()
            .await;
        let reply = reply.unwrap_or_else(|error| panic!("{url}: {error}"));
        assert_eq!(reply.status, 200, "{url}: {}", reply.text());
        times.push(begun.elapsed());
    }
    times
}

/// Creates films with a poster beside each; returns the size of a poster.
fn plant(root: &Path, count: usize) -> usize {
    let picture = root.join("picture.jpg");
    let drawn = Command::new("ffmpeg")
        .args(["-v", "error", "-f", "lavfi", "-i", "mandelbrot=size=1000x1500"])
        .args(["-frames:v", "1", "-q:v", "4"])
        .arg(&picture)
        .status();
    assert!(
        drawn.is_ok_and(|status| status.success()),
        "ffmpeg is installed by `cargo xtask setup bench`"
    );
    let bytes = std::fs::read(&picture).expect("our own file");
    for number in 0..count {
        let title = format!("The Lantern {number} ({})", 1920 + number % 105);
        let folder = root.join("films").join(&title);
        std::fs::create_dir_all(&folder).expect("our own directory");
        std::fs::write(folder.join(format!("{title}.mkv")), "a film").expect("our own directory");
        std::fs::write(folder.join("poster.jpg"), &bytes).expect("our own directory");
    }
    bytes.len()
}
