//! Attacks of guests on the host's memory and time, which count as the guest's own: an attack costs the process no more than the
//! instance's budget, it ends in a sentence, and what it took goes back. Each attack runs in a process of its own, whose memory
//! is read.

use std::process::Command;
use std::time::{Duration, Instant};

use qm_plugin_host::{LaneState, Limits, PluginState};
use qm_ports::channel::ChannelConfig;
use qm_ports::engine::{Attention, EngineDriver, EngineError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::bench::{Bench, limits, protocol_text};
use crate::network::{answer, listen};

const MISBEHAVE: &[(&str, &str)] = &[("misbehave.wasm", "misbehave.wasm")];
/// Cost that an attack may have beyond the budget of its instance, in KiB.
const SLACK: u64 = 32 << 10;
/// The smallest of what may stay resident, in KiB.
const NEXT_TO_NOTHING: u64 = 8 << 10;
/// Names the attack to the process that runs it.
const ATTACK: &str = "QM_ATTACK";

/// Measures of one attack. Memory in KiB.
#[derive(Debug, Serialize, Deserialize)]
struct Seen {
    before: u64,
    peak: u64,
    after: u64,
    budget: u64,
    /// Result of the call.
    end: String,
    /// Charged to the engine's lanes afterwards, in bytes.
    charged: u64,
    /// True where the lane is listed, and works again once its plugin is reloaded.
    revived: bool,
}

/// The attack of one mode, some with a grant to send somewhere, with what must be in the end it comes to.
const ATTACKS: &[(&str, &str)] = &[
    ("unfinished_bodies", "^0"),
    ("unfinished_bodies, granted", "its 128 MiB of memory"),
    ("unsent_bodies", "its 128 MiB of memory"),
    ("long_methods", "more at once than the 32 MiB of a call"),
    ("long_methods, of 30 MiB", "^0"),
    ("many_fields", "a set of headers holds at most"),
    ("many_handles", "no free keys"),
    ("many_headers, granted", "a request may have 256 headers"),
    ("allocate", "then refused"),
    ("allocate_abort", "128 MiB of memory"),
    ("recurse", "wasm trap"),
    ("loop", "computed for more than"),
    ("long_logs", "^100000"),
    ("console", "computed for more than"),
    ("randoms", "computed for more than"),
    ("long_error", "xxx"),
    ("log_flood", "well"),
];

#[test]
fn no_attack_costs_more_than_the_budget_and_all_of_it_comes_back() {
    let mut failed = Vec::new();
    for (mode, says) in ATTACKS {
        let seen = in_a_process(mode);
        println!("{mode}: {seen:?}");
        let ends = match says.strip_prefix('^') {
            Some(begin) => seen.end.starts_with(begin),
            None => seen.end.contains(says),
        };
        let sound = seen.peak <= seen.before + seen.budget + SLACK
            && seen.after <= seen.before + SLACK
            && seen.charged == 0
            && seen.revived;
        if !ends || !sound {
            failed.push(format!("{mode}, which was to end with `{says}`: {seen:?}"));
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn a_description_that_hoards_costs_no_more() {
    let seen = in_a_process("describe_hoard");
    assert!(seen.peak <= seen.before + seen.budget + SLACK, "{seen:?}");
    assert!(seen.after <= seen.before + SLACK, "{seen:?}");
    assert!(seen.end.contains("its 128 MiB of memory"), "{seen:?}");
}

/// Begins the name of an attack by a session's destructor.
const DESTRUCTOR: &str = "destructor: ";
/// Work of a session's destructor in its second of grace, while its neighbour works on.
const DESTRUCTORS: &[&str] = &[
    "loop",
    "trap",
    "allocate_abort",
    "recurse",
    "long_logs",
    "unsent_bodies",
];

#[test]
fn a_destructor_costs_no_more_either() {
    for mode in DESTRUCTORS {
        let seen = in_a_process(&format!("{DESTRUCTOR}{mode}"));
        println!("{mode}: {seen:?}");
        assert!(seen.peak <= seen.before + seen.budget + SLACK, "{mode}: {seen:?}");
        assert!(seen.after <= seen.before + SLACK, "{mode}: {seen:?}");
        assert!(
            seen.end == "well" && seen.charged == 0 && seen.revived,
            "{mode}: {seen:?}"
        );
    }
}

#[test]
fn of_what_is_handed_over_next_to_nothing_stays() {
    let seen = in_a_process("long_methods, of 30 MiB");
    assert!(seen.after <= seen.before + 12 * 1024, "{seen:?}");
}

#[test]
fn a_thousand_killed_instances_leave_nothing() {
    let seen = in_a_process("killed");
    assert!(seen.after <= seen.before + NEXT_TO_NOTHING, "{seen:?}");
    assert!(
        seen.end.contains("asked to trap") && seen.charged == 0,
        "{seen:?}"
    );
}

/// Runs the test below in a process of its own.
fn in_a_process(attack: &str) -> Seen {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "hostile::attacked", "--ignored", "--nocapture"])
        .env(ATTACK, attack)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let told = text
        .lines()
        .find_map(|line| line.split_once("SEEN ").map(|(_, seen)| seen));
    let Some(seen) = told else {
        panic!(
            "{attack}: {}\n{text}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )
    };
    serde_json::from_str(seen).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the tests above run it, each attack in a process of its own"]
async fn attacked() {
    let attack = std::env::var(ATTACK).unwrap();
    // What is to end by another bound must not meet this one first on a slow machine.
    let by_time = ATTACKS
        .iter()
        .any(|(mode, says)| *mode == attack && says.contains("computed"));
    let limits = Limits {
        cpu: Duration::from_secs(if by_time { 2 } else { 60 }),
        silence: Duration::from_mins(4),
        call_total: Duration::from_mins(4),
        trial: Duration::from_mins(4),
        back_off: Duration::ZERO,
        strikes: u32::MAX,
        ..Limits::default()
    };
    let seen = match attack.as_str() {
        "describe_hoard" => described(limits).await,
        "killed" => killed(limits).await,
        mode if mode.starts_with(DESTRUCTOR) => destroyed(&mode[DESTRUCTOR.len()..], limits).await,
        mode => polled(mode, limits).await,
    };
    println!("SEEN {}", serde_json::to_string(&seen).unwrap());
}

/// Twice, because the second instance must not find less room than the first.
async fn polled(mode: &str, limits: Limits) -> Seen {
    let budget = limits.memory_bytes as u64 >> 10;
    let (bench, good) = ready(limits).await;
    // Some minutes of looking at texts, where a call may compute for one: of those that are dropped nothing is looked at.
    let count = (mode == "long_logs").then_some(100_000);
    let (mode, url) = match mode.strip_suffix(", granted") {
        Some(mode) => (mode, Some("http://127.0.0.1:9/")),
        None => (mode, None),
    };
    let (mode, bytes) = match mode.strip_suffix(", of 30 MiB") {
        Some(mode) => (mode, Some(30 << 20)),
        None => (mode, None),
    };
    let config = json!({"mode": mode, "url": url, "torrents": 3, "count": count, "bytes": bytes});
    let bad = bench.engine("bad", config).await;
    forget_peak();
    let before = resident();
    let mut end = String::new();
    for _ in 0..2 {
        end = match bad.poll(None, Attention::Watched, &[]).await {
            Ok(_) => "well".to_owned(),
            Err(EngineError::Protocol(text)) => text.trim_start_matches("attack: ").to_owned(),
            Err(error) => error.to_string(),
        };
        assert_eq!(
            good.poll(None, Attention::Watched, &[])
                .await
                .unwrap()
                .changed
                .len(),
            3
        );
    }
    let revived = revived(&bench, &*bad).await;
    bad.close().await;
    seen(&bench, before, budget, end, revived).await
}

/// Measures once the engine is closed.
async fn seen(bench: &Bench, before: u64, budget: u64, end: String, revived: bool) -> Seen {
    let lanes = bench.status("misbehave.wasm").lanes;
    let ours = lanes.iter().filter(|lane| lane.owner == "bad");
    let charged = ours.map(|lane| lane.memory_bytes).sum();
    let peak = peak();
    Seen {
        before,
        peak,
        after: settled(before).await,
        budget,
        end,
        charged,
        revived,
    }
}

/// The plugin is reloaded, and at last the engine closed: either way the session's destructor runs.
async fn destroyed(mode: &str, limits: Limits) -> Seen {
    let budget = limits.memory_bytes as u64 >> 10;
    let (bench, good) = ready(limits).await;
    let bad = bench
        .engine("bad", json!({"mode": mode, "on": "drop", "torrents": 3}))
        .await;
    let answers = async |engine: &dyn EngineDriver| {
        let delta = engine.poll(None, Attention::Watched, &[]).await;
        delta.is_ok_and(|delta| delta.changed.len() == 3)
    };
    let mut well = answers(&*bad).await;
    forget_peak();
    let before = resident();
    bench.host.reload("misbehave").await.unwrap();
    well &= answers(&*good).await && answers(&*bad).await;
    let revived = bench.lane("bad", "sync").state == LaneState::Ready;
    tokio::time::timeout(Duration::from_mins(1), bad.close())
        .await
        .unwrap();
    well &= answers(&*good).await;
    let end = if well { "well" } else { "an engine did not answer" };
    seen(&bench, before, budget, end.to_owned(), revived).await
}

/// Tells whether the lane is listed after what happened, and answers again after a reload.
async fn revived(bench: &Bench, bad: &dyn EngineDriver) -> bool {
    let listed = bench
        .status("misbehave.wasm")
        .lanes
        .iter()
        .any(|lane| lane.owner == "bad" && lane.lane == "sync");
    bench.host.reload("misbehave").await.unwrap();
    listed && bad.health().await.is_ok() && bench.lane("bad", "sync").state != LaneState::Parked
}

async fn described(limits: Limits) -> Seen {
    let budget = limits.memory_bytes as u64 >> 10;
    let (bench, _good) = ready(limits).await;
    forget_peak();
    let before = resident();
    bench.install("hoard.wasm", &crate::bench::fixture("describe_hoard.wasm"));
    bench
        .until("it is refused", |list| {
            list.iter()
                .any(|plugin| plugin.file == "hoard.wasm" && plugin.state == PluginState::Failed)
        })
        .await;
    let peak = peak();
    Seen {
        before,
        peak,
        after: settled(before).await,
        budget,
        end: bench.status("hoard.wasm").reason.unwrap(),
        charged: 0,
        revived: true,
    }
}

async fn killed(limits: Limits) -> Seen {
    let budget = limits.memory_bytes as u64 >> 10;
    let (bench, _good) = ready(limits).await;
    let bad = bench.engine("bad", json!({"mode": "trap"})).await;
    for _ in 0..100 {
        bad.poll(None, Attention::Watched, &[]).await.unwrap_err();
    }
    let before = resident();
    forget_peak();
    let mut end = String::new();
    for _ in 0..1000 {
        end = bad
            .poll(None, Attention::Watched, &[])
            .await
            .unwrap_err()
            .to_string();
    }
    let lane = bench.lane("bad", "sync");
    assert_eq!((lane.traps, lane.restarts), (1100, 1099));
    let peak = peak();
    Seen {
        before,
        peak,
        after: settled(before).await,
        budget,
        end,
        charged: lane.memory_bytes,
        revived: true,
    }
}

/// A host with a healthy engine that has answered, so that what follows is the attack's alone.
async fn ready(limits: Limits) -> (Bench, std::sync::Arc<dyn EngineDriver>) {
    let bench = Bench::with(MISBEHAVE, limits).await;
    let good = bench.engine("good", json!({"torrents": 3})).await;
    good.poll(None, Attention::Watched, &[]).await.unwrap();
    (bench, good)
}

/// A line of `/proc/self/status`, in KiB.
fn status(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_start_matches(':')
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap()
}

fn resident() -> u64 {
    status("VmRSS")
}

fn peak() -> u64 {
    status("VmHWM")
}

/// Begins the peak anew.
fn forget_peak() {
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
}

/// Resident memory once it was given back, all but what no bound here is smaller than; or after a minute.
async fn settled(before: u64) -> u64 {
    let started = Instant::now();
    while resident() > before + NEXT_TO_NOTHING && started.elapsed() < Duration::from_mins(1) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    resident()
}

#[tokio::test]
async fn wasi_http_reaches_what_was_granted_and_nothing_else() {
    let (port, count) = listen(vec![answer("201 Created", "hello")], Duration::ZERO).await;
    let bench = Bench::start(MISBEHAVE).await;
    let fetch = async |config: Value| {
        let engine = bench.engine("fetch", config).await;
        let text = protocol_text(engine.poll(None, Attention::Watched, &[]).await);
        engine.close().await;
        text
    };
    let url = format!("http://127.0.0.1:{port}/path");
    let granted = fetch(json!({"mode": "fetch", "url": url})).await;
    assert_eq!(granted, "attack: status 201: hello");
    assert_eq!(count.load(std::sync::atomic::Ordering::SeqCst), 1);
    for named in [
        "http://169.254.169.254/latest/meta-data/",
        "http://[fd00:ec2::254]/",
    ] {
        let refused = fetch(json!({"mode": "fetch", "url": named})).await;
        assert!(refused.contains("HttpRequestDenied"), "{named}: {refused}");
    }
    // Not granted: the body is not waited for, and nobody is dialled.
    let refused = fetch(json!({"mode": "fetch"})).await;
    assert!(refused.contains("HttpRequestDenied"), "{refused}");
}

#[tokio::test]
async fn the_calls_of_a_channel_add_up_to_what_is_shown() {
    let bench = Bench::with(&[("courier.wasm", "courier.wasm")], limits()).await;
    let slow = || async {
        let Value::Object(config) = json!({"mode": "sleep"}) else {
            unreachable!()
        };
        bench
            .host
            .channels()
            .verify("courier", ChannelConfig(config))
            .await
    };
    let one = memory_during(&bench, futures_util::future::join_all([slow()])).await;
    let three = memory_during(&bench, futures_util::future::join_all([slow(), slow(), slow()])).await;
    assert!(one > 0 && three == 3 * one, "{one} and {three}");
    assert_eq!(bench.status("courier.wasm").memory_bytes, 0);
}

/// The most that is shown while `calls` run.
async fn memory_during<T>(bench: &Bench, calls: impl Future<Output = T>) -> u64 {
    let mut most = 0;
    let mut calls = std::pin::pin!(calls);
    loop {
        tokio::select! {
            _ = &mut calls => return most,
            () = tokio::time::sleep(Duration::from_millis(5)) => {
                most = most.max(bench.status("courier.wasm").memory_bytes);
            }
        }
    }
}

#[tokio::test]
async fn fifty_files_and_a_pipe_at_once_are_listed_and_hold_nobody_up() {
    let bench = Bench::start(MISBEHAVE).await;
    let good = bench.engine("good", json!({})).await;
    let copy = crate::bench::fixture("transmission.wasm");
    for i in 0..50 {
        bench.install(&format!("copy-{i:02}.wasm"), &copy);
    }
    let pipe = bench.dir().join("pipe.wasm");
    let made = Command::new("mkfifo").arg(pipe).status().unwrap();
    assert!(made.success());
    let listed = |state| move |plugin: &&qm_plugin_host::PluginStatus| plugin.state == state;
    bench
        .until("all are listed", |list| {
            let one = list.iter().filter(listed(PluginState::Active)).count() == 2;
            one && list.iter().filter(listed(PluginState::Conflicting)).count() == 49
                && list.iter().filter(listed(PluginState::Failed)).count() == 1
        })
        .await;
    assert_eq!(
        good.poll(None, Attention::Watched, &[])
            .await
            .unwrap()
            .changed
            .len(),
        3
    );
}

#[tokio::test]
async fn a_file_swapped_every_100_ms_is_good_in_the_end_and_works_meanwhile() {
    let bench = Bench::start(MISBEHAVE).await;
    let engine = bench.engine("e", json!({})).await;
    let files = ["misbehave.wasm", "misbehave_v2.wasm", "describe_trap.wasm"].map(crate::bench::fixture);
    for i in 0..30 {
        bench.install("misbehave.wasm", &files[i % files.len()]);
        assert!(engine.poll(None, Attention::Watched, &[]).await.is_ok());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    bench.install("misbehave.wasm", &files[1]);
    bench
        .until("the last one is in use", |list| {
            list[0].version.as_deref() == Some("0.2.0") && list[0].state == PluginState::Active
        })
        .await;
    assert!(engine.poll(None, Attention::Watched, &[]).await.is_ok());
}
