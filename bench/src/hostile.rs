//! Cost of hostile plugins: memory of the server before, at the peak and after each attack, the tick of a
//! healthy engine and the list's p99 meanwhile, and the displayed state of the plugin. The attacks come from
//! `plugins/fixtures`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use qm_testkit::http::Http;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fleet;
use crate::neighbours::{Ticks, figures, watch_ticks};
use crate::report::Report;
use crate::server::Server;

/// Duration of watching ticks; engines are polled every 2 s.
const WATCHED: Duration = Duration::from_secs(8);
/// Shortest and longest time for memory to be freed: a list of 100,000 torrents is removed row by row first.
const SETTLING: Duration = Duration::from_secs(4);
const SETTLED: Duration = Duration::from_secs(90);
/// Largest remaining memory of an attack in MiB, and the target.
const STAYS: f64 = 32.0;
const TARGET: &str = "its budget (128 MiB) + 32 MiB; tick and list within 2× of quiet";

/// An attack during the measurement of the healthy engine.
enum Attack {
    /// This number of `misbehave` engines with this configuration.
    Engines(&'static str, usize, Value),
    /// One engine with this configuration whose plugin is reloaded every 500 ms, which destroys its session
    /// each time.
    Dying(&'static str, Value),
    /// A change to files of the plugins directory.
    Files(&'static str, fn(&Path) -> Option<Swapping>),
}

fn attacks() -> Vec<Attack> {
    use Attack::{Dying, Engines, Files};
    // A granted port without a listener: an unfinished request is never sent.
    let url = "http://127.0.0.1:9/";
    let one = |what, config| Engines(what, 1, config);
    vec![
        one("bodies never finished", json!({ "mode": "unfinished_bodies" })),
        one(
            "bodies never finished, granted",
            json!({ "mode": "unfinished_bodies", "url": url }),
        ),
        one("bodies never sent", json!({ "mode": "unsent_bodies" })),
        one("methods of 60 MiB", json!({ "mode": "long_methods" })),
        one(
            "methods of 30 MiB",
            json!({ "mode": "long_methods", "bytes": 30 << 20, "count": 60 }),
        ),
        one("8,000 sets of headers", json!({ "mode": "many_fields" })),
        one("handles without end", json!({ "mode": "many_handles" })),
        one(
            "40,000 headers in a request",
            json!({ "mode": "many_headers", "url": url }),
        ),
        one(
            "log messages of 60 MiB",
            json!({ "mode": "long_logs", "count": 20_000 }),
        ),
        Engines(
            "log messages of 60 MiB, four engines",
            4,
            json!({ "mode": "long_logs", "count": 20_000 }),
        ),
        one(
            "100,000 log lines",
            json!({ "mode": "log_flood", "count": 100_000, "bytes": 1000 }),
        ),
        one("standard error without end", json!({ "mode": "console" })),
        one("random numbers without end", json!({ "mode": "randoms" })),
        one("a loop", json!({ "mode": "loop" })),
        one("allocation", json!({ "mode": "allocate" })),
        one("allocation to the death", json!({ "mode": "allocate_abort" })),
        one("recursion", json!({ "mode": "recurse" })),
        one("a list of 100,000", json!({ "mode": "huge_list" })),
        one(
            "an error of 60 MiB",
            json!({ "mode": "long_error", "bytes": 60 << 20 }),
        ),
        one(
            "a metadata address by literal",
            json!({ "mode": "dial", "target": "http://169.254.169.254/" }),
        ),
        one(
            "a metadata address by name",
            json!({ "mode": "dial", "target": "http://metadata.google.internal/" }),
        ),
        Dying("a destructor that loops", json!({ "mode": "loop", "on": "drop" })),
        Dying(
            "a destructor that allocates to the death",
            json!({ "mode": "allocate_abort", "on": "drop" }),
        ),
        Files("a description that hoards", |dir| {
            put(dir, "hoard.wasm", &fixture("describe_hoard.wasm"))
        }),
        Files("a description that loops", |dir| {
            put(dir, "loop.wasm", &fixture("describe_loop.wasm"))
        }),
        Files("truncated files", |dir| {
            let whole = fixture("transmission.wasm");
            (1..20).find_map(|part| {
                put(
                    dir,
                    &format!("cut-{part}.wasm"),
                    &whole[..whole.len() * part / 20],
                )
            })
        }),
        Files("a pipe", |dir| {
            let made = Command::new("mkfifo").arg(dir.join("pipe.wasm")).status();
            assert!(made.is_ok_and(|status| status.success()), "mkfifo");
            None
        }),
        Files("50 plugins at once", |dir| {
            (0..50).find_map(|i| put(dir, &format!("copy-{i}.wasm"), &fixture("transmission.wasm")))
        }),
        Files("a file swapped every 100 ms", |dir| {
            Some(Swapping::start(dir.join("swapped.wasm")))
        }),
    ]
}

pub async fn measure(report: &mut Report) {
    let plugins = plugins_with_misbehave();
    let port = fleet::serve_script().await;
    let server = Server::start_beside(plugins.path()).await;
    let config = json!({ "baseUrl": format!("http://127.0.0.1:{port}"), "username": "u", "password": "p" });
    let healthy = server.add_engine("webapi_client", &config, fleet::TORRENTS).await;
    let ticks = watch_ticks(&server, healthy).await;
    let quiet = figures(&server, &ticks, WATCHED, async || ()).await;
    report.add("quiet", format!("{:.0} MiB; {quiet}", server.resident_mib()), "");
    for attack in attacks() {
        row(report, &server, &ticks, plugins.path(), attack).await;
    }
}

async fn row(report: &mut Report, server: &Server, ticks: &Ticks, plugins: &Path, attack: Attack) {
    let before = server.settled_mib();
    let known = names(plugins);
    let (mut engines, mut swapping, mut reloads) = (Vec::new(), None, None);
    let what = match attack {
        Attack::Engines(what, count, config) => {
            for _ in 0..count {
                engines.push(server.add_neighbour("misbehave", &config).await);
            }
            what
        }
        Attack::Dying(what, config) => {
            engines.push(server.add_neighbour("misbehave", &config).await);
            reloads = Some(tokio::spawn(keep_reloading(
                server.url(RELOAD),
                server.token().to_owned(),
            )));
            what
        }
        Attack::Files(what, begin) => {
            swapping = begin(plugins);
            what
        }
    };
    // A plugin that computes too long is called ever more seldom: each load meets a call that begins.
    let attacked = !engines.is_empty() && reloads.is_none();
    let figures = figures(server, ticks, WATCHED, async || {
        if attacked {
            reload(&Http::new(), &server.url(RELOAD), server.token()).await;
        }
    })
    .await;
    if let Some(reloads) = reloads {
        reloads.abort();
    }
    let peak = server.peak_mib();
    let shown = shown(&server.get("/api/plugins").await);
    drop(swapping.take());
    for name in names(plugins).difference(&known) {
        std::fs::remove_file(plugins.join(name)).expect("our own file");
    }
    for engine in engines.drain(..) {
        server.remove_engine(&engine).await;
    }
    let (after, waited) = settled(server, before).await;
    report.add(
        what,
        format!("{before:.0} → {peak:.0} → {after:.0} MiB after {waited} s; {figures}; shown: {shown}"),
        TARGET,
    );
}

const RELOAD: &str = "/api/plugins/misbehave/reload";

/// Reloads until stopped.
async fn keep_reloading(url: String, token: String) {
    let http = Http::new();
    loop {
        reload(&http, &url, &token).await;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

async fn reload(http: &Http, url: &str, token: &str) {
    let reloaded = http
        .request("POST", url)
        .header("authorization", &format!("Bearer {token}"))
        .send()
        .await
        .expect("the server answers");
    assert!(reloaded.status < 300, "{}", reloaded.text());
}

/// Memory once it is close to the former value, and the seconds until then.
async fn settled(server: &Server, before: f64) -> (f64, u64) {
    let ended = std::time::Instant::now();
    tokio::time::sleep(SETTLING).await;
    while server.resident_mib() > before + STAYS && ended.elapsed() < SETTLED {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    (server.resident_mib(), ended.elapsed().as_secs())
}

/// Short summary of the plugins that are not well.
fn shown(plugins: &Value) -> String {
    let plugins = plugins.as_array().or_else(|| plugins["data"].as_array());
    let mut states: Vec<String> = Vec::new();
    for plugin in plugins.into_iter().flatten() {
        let lanes = plugin["lanes"].as_array().into_iter().flatten();
        let worst = lanes.filter(|lane| lane["reason"].is_string());
        states.extend(worst.map(|lane| sentence(&lane["state"], &lane["reason"])));
        if plugin["state"] != "active" {
            states.push(sentence(&plugin["state"], &plugin["reason"]));
        }
    }
    states.sort_unstable();
    states.dedup();
    states.truncate(2);
    if states.is_empty() {
        "nothing wrong".to_owned()
    } else {
        states.join("; ")
    }
}

fn sentence(state: &Value, reason: &Value) -> String {
    let reason: String = reason.as_str().unwrap_or_default().chars().take(90).collect();
    format!("{} ({reason})", state.as_str().unwrap_or_default())
}

fn fixture(name: &str) -> Vec<u8> {
    let dir = std::env::var_os("QM_FIXTURES_DIR").expect("QM_FIXTURES_DIR");
    std::fs::read(PathBuf::from(dir).join(name)).expect("a fixture: `cargo xtask plugins` builds them")
}

/// The first-party plugins and `misbehave`.
fn plugins_with_misbehave() -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let from = PathBuf::from(std::env::var_os("QM_PLUGINS_DIR").expect("QM_PLUGINS_DIR"));
    for file in std::fs::read_dir(from).expect("the plugins").flatten() {
        std::fs::copy(file.path(), dir.path().join(file.file_name())).expect("our own directory");
    }
    put(dir.path(), "misbehave.wasm", &fixture("misbehave.wasm"));
    dir
}

/// Replaces a file atomically.
fn put(dir: &Path, name: &str, bytes: &[u8]) -> Option<Swapping> {
    let temporary = dir.join(format!("{name}.part"));
    std::fs::write(&temporary, bytes).expect("our own directory");
    std::fs::rename(temporary, dir.join(name)).expect("our own directory");
    None
}

fn names(dir: &Path) -> std::collections::BTreeSet<std::ffi::OsString> {
    let files = std::fs::read_dir(dir).expect("our own directory");
    files.flatten().map(|file| file.file_name()).collect()
}

/// Swaps two files every 100 ms until dropped.
struct Swapping {
    over: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Swapping {
    fn start(file: PathBuf) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let seen = over.clone();
        let swap = move || {
            let both = [fixture("transmission.wasm"), fixture("describe_trap.wasm")];
            let dir = file.parent().unwrap_or(&file).to_owned();
            for bytes in both.iter().cycle() {
                if seen.load(Ordering::Acquire) {
                    return;
                }
                put(&dir, "swapped.wasm", bytes);
                std::thread::sleep(Duration::from_millis(100));
            }
        };
        Self {
            over,
            thread: Some(std::thread::spawn(swap)),
        }
    }
}

impl Drop for Swapping {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("it only copies");
        }
    }
}
