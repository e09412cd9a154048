//! Cost of a plugin by its language: compiling its file, once; its first call after a start, from cached
//! machine code; further calls, each in its own instance; and the memory of one instance.
//!
//! The calls make no requests: only the instance and the crossing into it are measured.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use qm_plugin_roles::Plugins;
use qm_ports::action::{ActionCall, ActionError, Occasion};
use qm_ports::channel::{ChannelConfig, ChannelError};
use qm_testkit::plugins;
use serde_json::{Map, json};

use crate::plugin_host;
use crate::report::{Report, median};

const CALLS: usize = 200;
/// Number of fresh hosts, whose first call is measured.
const STARTS: usize = 5;
const LOOK_EVERY: Duration = Duration::from_micros(200);

/// A measured plugin with its call.
struct Subject {
    language: &'static str,
    file: &'static str,
    call: Call,
}

enum Call {
    /// Links a channel without codes.
    Link(&'static str),
    /// Runs an action without grants.
    Run(&'static str),
}

const SUBJECTS: [Subject; 4] = [
    Subject {
        language: "Rust, a channel",
        file: "chat_app_b.wasm",
        call: Call::Link("chat_app_b"),
    },
    Subject {
        language: "Rust, an action",
        file: "torrent_actions.wasm",
        call: Call::Run("pause"),
    },
    Subject {
        language: "Python, a channel",
        file: "ntfy_py.wasm",
        call: Call::Link("ntfy_py"),
    },
    Subject {
        language: "JavaScript, an action",
        file: "tag_by_tracker_js.wasm",
        call: Call::Run("tag_by_tracker"),
    },
];

pub async fn measure(report: &mut Report) {
    for subject in &SUBJECTS {
        subject.measure(report).await;
    }
}

async fn host(dir: &Path) -> Arc<Plugins> {
    plugin_host::start(dir.join("plugins"), dir.join("cache")).await
}

impl Subject {
    async fn measure(&self, report: &mut Report) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let installed = dir.path().join("plugins");
        std::fs::create_dir(&installed).expect("our own directory");
        plugins::install(self.file, &installed);
        let begun = Instant::now();
        let compiling = host(dir.path()).await;
        let compiled = begun.elapsed().as_secs_f64();
        compiling.shutdown().await;
        drop(compiling);

        let mut cold = Vec::new();
        let mut running = host(dir.path()).await;
        for _ in 0..STARTS {
            running.shutdown().await;
            running = host(dir.path()).await;
            cold.push(self.timed(&running).await);
        }
        let (memory, ends) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let watch = {
            let (host, memory, ends) = (running.clone(), memory.clone(), ends.clone());
            std::thread::spawn(move || {
                while !ends.load(Ordering::SeqCst) {
                    let now = host.list().first().map_or(0, |plugin| plugin.memory_bytes);
                    memory.fetch_max(now, Ordering::SeqCst);
                    std::thread::sleep(LOOK_EVERY);
                }
            })
        };
        let mut warm = Vec::new();
        for _ in 0..CALLS {
            warm.push(self.timed(&running).await);
        }
        ends.store(true, Ordering::SeqCst);
        watch.join().expect("it looks and does nothing else");
        assert_eq!(running.list()[0].traps, 0, "{}", self.language);
        running.shutdown().await;

        let size = std::fs::metadata(plugins::file(self.file)).map_or(0, |file| file.len());
        report.add(
            format!("{} ({:.1} MB): compiled, once", self.language, size as f64 / 1e6),
            format!("{compiled:.2} s"),
            "",
        );
        report.add(
            format!("{}: first call after a start, further calls", self.language),
            format!("{:.2} ms, {:.2} ms", median(cold), median(warm)),
            "",
        );
        report.add(
            format!("{}: memory of an instance", self.language),
            format!(
                "{:.1} MiB",
                memory.load(Ordering::SeqCst) as f64 / f64::from(1 << 20)
            ),
            "≤ 128 MiB, the limit",
        );
    }

    /// Milliseconds of one call.
    async fn timed(&self, host: &Plugins) -> f64 {
        let begun = Instant::now();
        match self.call {
            Call::Link(channel) => {
                let told = host
                    .channels()
                    .link(channel, ChannelConfig(Map::new()), "123456")
                    .await;
                assert!(matches!(told, Err(ChannelError::Unsupported(_))), "{told:?}");
            }
            Call::Run(action) => {
                let call = ActionCall {
                    author: None,
                    run_id: "1".to_owned(),
                    occasion: Occasion::Torrent,
                    params: Map::from_iter([("tags".to_owned(), json!({ "tracker.example": "a" }))]),
                    context: Map::new(),
                    torrent: None,
                    powers: qm_kernel::PermissionSet::all(),
                };
                let told = host.actions().run(action, call).await;
                assert!(matches!(told, Err(ActionError::Denied(_))), "{told:?}");
            }
        }
        begun.elapsed().as_secs_f64() * 1000.0
    }
}
