//! Data set of titles on both databases: imported from generated files in the real format, and searched.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use qm_db::Backend;
use qm_db::testing::Scratch;
use qm_testkit::http::Http;
use qm_titledb::testing::{Size, title_name, write};
use serde_json::{Value, json};

use crate::report::Report;
use crate::server::Server;

const SEED: u64 = 7;
const PROVIDER: &str = "/api/media/providers/titledb";
/// Searches of each kind.
const SEARCHES: u64 = 2_000;
const AT_ONCE: [usize; 2] = [1, 4];
const LOOK: Duration = Duration::from_millis(100);

/// `smaller` divides the size of the data set.
pub async fn measure(report: &mut Report, smaller: u64) {
    // A directory that the server may read.
    let files = tempfile::tempdir_in("/var/tmp").expect("a temporary directory");
    let large = Size::LARGE;
    let size = Size {
        titles: large.titles / smaller,
        akas: large.akas / smaller,
        episodes: large.episodes / smaller,
        principals: large.principals / smaller,
        persons: large.persons / smaller,
    };
    write(files.path(), size, SEED).expect("our own files");
    for backend in [Backend::Sqlite, Backend::Postgres] {
        match Scratch::new(backend).await {
            Some(scratch) => {
                let server = Server::start_on(scratch.url()).await;
                import(report, backend, &server, files.path()).await;
                for at_once in AT_ONCE {
                    searches(report, backend, &server, size.titles, at_once).await;
                }
                drop(server);
                scratch.remove().await;
            }
            None => report.add(
                format!("titledb, {backend:?}"),
                "no such server on this machine",
                "",
            ),
        }
    }
}

async fn import(report: &mut Report, backend: Backend, server: &Server, files: &Path) {
    let settings = json!({ "mode": "dataset", "importStrategy": "full" });
    server.patch(&format!("{PROVIDER}/settings"), &settings).await;
    let before = server.settled_mib();
    let (begun, cpu) = (Instant::now(), server.cpu_seconds());
    let path = json!({ "datasetPath": files });
    server.post(&format!("{PROVIDER}/dataset/import"), &path).await;
    let import = loop {
        let imports = server.get(&format!("{PROVIDER}/dataset/imports")).await;
        if !matches!(imports[0]["status"].as_str(), Some("pending" | "running")) {
            break imports[0].clone();
        }
        tokio::time::sleep(LOOK).await;
    };
    let took = begun.elapsed().as_secs_f64();
    assert_eq!(import["status"], "completed", "{import}");
    let rows = import["recordsImported"].as_u64().unwrap_or(0);
    let target = match backend {
        Backend::Sqlite => "100000/s or more, 200 MiB or less",
        Backend::Postgres => "200 MiB or less",
    };
    report.add(
        format!("titledb, {backend:?}: import of {rows} rows with their indexes"),
        format!(
            "{:.0}/s, {took:.0} s, {:.0} CPU s, {before:.0} MiB before, {:.0} MiB at most",
            rows as f64 / took,
            server.cpu_seconds() - cpu,
            server.peak_mib()
        ),
        target,
    );
}

/// Search texts: a whole title, its beginning, a part of it, a misspelt one, one with a year and a type.
fn question(number: u64, titles: u64) -> String {
    let title = title_name(SEED, number.wrapping_mul(7_919) % titles + 1);
    let letters: Vec<char> = title.chars().collect();
    let half = letters.len().div_ceil(2);
    let (text, more) = match number % 5 {
        0 => (title, ""),
        1 => (letters[..half].iter().collect(), ""),
        2 => (letters[half / 2..half / 2 + half].iter().collect(), ""),
        3 => {
            let mut wrong = letters;
            wrong.swap(half - 1, half);
            (wrong.into_iter().collect(), "")
        }
        _ => (title, "&year=1999&type=movie"),
    };
    format!("title={}{more}", text.replace(' ', "%20"))
}

async fn searches(report: &mut Report, backend: Backend, server: &Server, titles: u64, at_once: usize) {
    static ADDRESS: AtomicU32 = AtomicU32::new(0);
    let (http, token) = (Http::new(), Arc::new(format!("Bearer {}", server.token())));
    let url = server.url(&format!("{PROVIDER}/search"));
    server.settled_mib();
    let begun = Instant::now();
    let tasks: Vec<_> = (0..at_once as u64)
        .map(|task| {
            let (http, token, url) = (http.clone(), token.clone(), url.clone());
            tokio::spawn(async move {
                let (mut took, mut found) = (Vec::new(), 0);
                for number in (task..SEARCHES).step_by(at_once) {
                    // A separate address each, because the throttle allows thirty searches per address and
                    // minute.
                    let [_, a, b, c] = ADDRESS.fetch_add(1, Ordering::Relaxed).to_be_bytes();
                    let begun = Instant::now();
                    let reply = http
                        .request("GET", &format!("{url}?{}", question(number, titles)))
                        .header("authorization", &token)
                        .header("x-forwarded-for", &format!("10.{a}.{b}.{c}"))
                        .send()
                        .await
                        .expect("the server answers");
                    took.push(begun.elapsed().as_secs_f64() * 1000.0);
                    assert_eq!(reply.status, 200, "{}", reply.text());
                    found += usize::from(
                        reply
                            .json()
                            .as_array()
                            .is_some_and(|all: &Vec<Value>| !all.is_empty()),
                    );
                }
                (took, found)
            })
        })
        .collect();
    let (mut took, mut found) = (Vec::new(), 0);
    for task in tasks {
        let (times, answered) = task.await.expect("no panic");
        took.extend(times);
        found += answered;
    }
    let per_second = took.len() as f64 / begun.elapsed().as_secs_f64();
    took.sort_by(f64::total_cmp);
    let at = |percent: usize| took[took.len() * percent / 100];
    report.add(
        format!("titledb, {backend:?}: searches, {at_once} at once, {found} of {SEARCHES} find something"),
        format!(
            "{per_second:.0}/s, p50 {:.1} ms, p99 {:.1} ms, {:.0} MiB at most",
            at(50),
            at(99),
            server.peak_mib()
        ),
        "p99 50 ms or less, 200 MiB or less",
    );
}
