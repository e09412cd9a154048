//! The directory changes while the host runs.

use std::time::Duration;

use qm_plugin_host::{LaneState, PluginHostError, PluginState};
use qm_ports::engine::{Attention, EngineError};
use serde_json::json;

use crate::bench::{Bench, fixture};

const MISBEHAVE: &[(&str, &str)] = &[("misbehave.wasm", "misbehave.wasm")];

fn version_is(file: &'static str, version: &'static str) -> impl Fn(&[qm_plugin_host::PluginStatus]) -> bool {
    move |list| {
        list.iter()
            .any(|status| status.file == file && status.version.as_deref() == Some(version))
    }
}

#[tokio::test]
async fn a_new_version_is_swapped_in_and_running_calls_finish_on_the_old_one() {
    let bench = Bench::start(MISBEHAVE).await;
    let engine = bench.engine("e", json!({"mode": "sleep", "ms": 600})).await;
    let old = engine.poll(None, Attention::Watched, &[]);
    tokio::pin!(old);
    let _ = tokio::time::timeout(Duration::from_millis(50), &mut old).await;
    let seen = bench.host.engine_kinds().generation().current();
    bench.install("misbehave.wasm", &fixture("misbehave_v2.wasm"));
    let status = bench.host.reload("misbehave").await.unwrap();
    assert_eq!(
        (status.version.as_deref(), status.state),
        (Some("0.2.0"), PluginState::Active)
    );
    assert!(old.await.unwrap().full, "the call under way ended well");
    // The new version ignores the mode: it answers at once, and knows nothing of the old one's cursors.
    assert!(engine.poll(Some(1), Attention::Watched, &[]).await.unwrap().full);
    assert_ne!(bench.host.engine_kinds().generation().changed(seen).await, seen);
    let lane = bench.lane("e", "sync");
    assert_eq!((lane.traps, lane.timeouts, lane.restarts), (0, 0, 0));
}

#[tokio::test]
async fn a_file_that_changes_on_disk_is_noticed() {
    let bench = Bench::start(MISBEHAVE).await;
    let engine = bench.engine("e", json!({})).await;
    engine.poll(None, Attention::Watched, &[]).await.unwrap();
    bench.install("misbehave.wasm", &fixture("misbehave_v2.wasm"));
    bench
        .until("the new version is in use", version_is("misbehave.wasm", "0.2.0"))
        .await;
    assert!(engine.poll(None, Attention::Watched, &[]).await.unwrap().full);
}

#[tokio::test]
async fn a_bad_file_leaves_the_old_one_working_and_shows_why() {
    let bench = Bench::start(MISBEHAVE).await;
    let engine = bench.engine("e", json!({})).await;
    engine.poll(None, Attention::Watched, &[]).await.unwrap();
    let bad = [
        (b"nonsense".to_vec(), "no WebAssembly"),
        (fixture("describe_trap.wasm"), "it cannot be run"),
        (fixture("future_api.wasm"), "needs plugin API 0.9"),
        (fixture("misbehave.wasm")[..1000].to_vec(), ""),
    ];
    for (bytes, says) in bad {
        bench.install("misbehave.wasm", &bytes);
        let error = bench.host.reload("misbehave").await.unwrap_err();
        assert!(matches!(error, PluginHostError::NotReloaded { .. }), "{error}");
        let status = bench.status("misbehave.wasm");
        assert_eq!(
            (status.state, status.version.as_deref()),
            (PluginState::Active, Some("0.1.0"))
        );
        let pending = status.pending_error.unwrap();
        assert!(pending.contains(says), "{pending}");
        assert!(engine.poll(None, Attention::Watched, &[]).await.is_ok());
    }
    bench.install("misbehave.wasm", &fixture("misbehave_v2.wasm"));
    let status = bench.host.reload("misbehave").await.unwrap();
    assert_eq!(
        (status.version.as_deref(), status.pending_error),
        (Some("0.2.0"), None)
    );
}

#[tokio::test]
async fn a_kind_appears_goes_and_comes_back_without_a_change_to_the_host() {
    let bench = Bench::start(&[]).await;
    let seen = bench.host.engine_kinds().generation().current();
    assert!(bench.open("e", "transmission", json!({})).await.is_err());
    bench.install("anything.wasm", &fixture("transmission.wasm"));
    let seen = bench.host.engine_kinds().generation().changed(seen).await;
    let kind = bench.host.engine_kinds().kind("transmission").unwrap();
    assert_eq!(kind.label, "Transmission");
    let url = json!({"url": "http://127.0.0.1:9/transmission/rpc", "baseUrl": "http://127.0.0.1:9/transmission/rpc"});
    let engine = bench.open("e", "transmission", url).await.unwrap();
    let error = engine.health().await.unwrap_err();
    assert!(
        matches!(error, EngineError::Unreachable(_)),
        "nobody listens there: {error}"
    );

    std::fs::remove_file(bench.dir().join("anything.wasm")).unwrap();
    let seen = bench.host.engine_kinds().generation().changed(seen).await;
    assert!(bench.host.engine_kinds().kinds().is_empty() && bench.host.list().is_empty());
    let error = engine.health().await.unwrap_err();
    assert!(
        matches!(&error, EngineError::InvalidConfig(text) if text.contains("no longer installed")),
        "{error}"
    );

    bench.install("anything.wasm", &fixture("transmission.wasm"));
    bench.host.engine_kinds().generation().changed(seen).await;
    let error = engine.health().await.unwrap_err();
    assert!(
        matches!(error, EngineError::Unreachable(_)),
        "the engine that was open works again: {error}"
    );
}

#[tokio::test]
async fn an_id_stays_with_the_file_that_had_it_first() {
    let bench = Bench::start(&[("b.wasm", "misbehave.wasm")]).await;
    let engine = bench.engine("e", json!({})).await;
    engine.poll(None, Attention::Watched, &[]).await.unwrap();
    // It comes first by name, and is there alone in the end.
    bench.install("a.wasm", &fixture("misbehave_v2.wasm"));
    let conflicting = |list: &[qm_plugin_host::PluginStatus]| {
        list.iter()
            .any(|status| status.file == "a.wasm" && status.state == PluginState::Conflicting)
    };
    bench.until("the twin is refused", conflicting).await;
    let again = bench.again().await;
    assert!(
        conflicting(&again.list()),
        "after a restart too: {:#?}",
        again.list()
    );
    assert_eq!(again.engine_kinds().kind("misbehave").unwrap().version, "0.1.0");
    let early = bench.host.may_accept("misbehave", "a.wasm").await.unwrap_err();
    assert!(
        early.to_string().contains("`b.wasm` has it and is still there"),
        "{early}"
    );

    std::fs::remove_file(bench.dir().join("b.wasm")).unwrap();
    bench
        .until("the first is gone", |list| list.len() == 1 && conflicting(list))
        .await;
    let alone = bench.again().await;
    assert!(conflicting(&alone.list()) && alone.engine_kinds().kinds().is_empty());
    assert!(
        engine.poll(None, Attention::Watched, &[]).await.is_err(),
        "nobody has the id"
    );
    let wrong = bench.host.may_accept("misbehave", "c.wasm").await.unwrap_err();
    assert!(wrong.to_string().contains("no such file"), "{wrong}");

    bench.host.may_accept("misbehave", "a.wasm").await.unwrap();
    bench.pins.give("misbehave", "a.wasm");
    let status = bench.host.follow_pins("a.wasm").await.unwrap();
    assert_eq!(
        (status.state, status.version.as_deref()),
        (PluginState::Active, Some("0.2.0"))
    );
    assert!(engine.poll(None, Attention::Watched, &[]).await.unwrap().full);

    // The file that had it once comes back, and waits.
    bench.install("b.wasm", &fixture("misbehave.wasm"));
    bench
        .until("the other one is refused now", |list| {
            list.len() == 2 && list[1].state == PluginState::Conflicting
        })
        .await;
}

/// Two servers share a memory of pins: what an administrator decides on one holds on the other.
#[tokio::test]
async fn an_id_given_away_elsewhere_is_given_up_here() {
    let bench = Bench::start(MISBEHAVE).await;
    let engine = bench.engine("e", json!({})).await;
    engine.poll(None, Attention::Watched, &[]).await.unwrap();
    bench.pins.give("misbehave", "elsewhere.wasm");
    bench
        .until("it is given up", |list| list[0].state == PluginState::Conflicting)
        .await;
    assert!(bench.host.engine_kinds().kinds().is_empty());
    assert!(engine.poll(None, Attention::Watched, &[]).await.is_err());
}

#[tokio::test]
async fn an_idle_instance_lets_go_of_old_code() {
    let bench = Bench::start(MISBEHAVE).await;
    let engine = bench.engine("e", json!({})).await;
    engine.poll(None, Attention::Watched, &[]).await.unwrap();
    engine.health().await.unwrap();
    assert_eq!(bench.status("misbehave.wasm").instances, 2);
    bench.host.reload("misbehave").await.unwrap();
    bench
        .until("both instances are gone", |list| {
            list[0].instances == 0
                && list[0].memory_bytes == 0
                && list[0].lanes.iter().all(|l| l.state == LaneState::Idle)
        })
        .await;
}

#[tokio::test]
async fn a_thousand_reloads_leak_neither_memory_nor_files() {
    let bench = Bench::start(MISBEHAVE).await;
    let engine = bench.engine("e", json!({"torrents": 10})).await;
    let round = async |n: usize| {
        for _ in 0..n {
            bench.host.reload("misbehave").await.unwrap();
            assert!(engine.poll(None, Attention::Watched, &[]).await.unwrap().full);
        }
    };
    round(100).await;
    let (files, resident) = (open_files(), resident_kib());
    round(1000).await;
    let (files_after, resident_after) = (open_files(), resident_kib());
    // A leak would be a thousand files; the tests beside this one open and close some, too.
    assert!(
        files_after <= files + 100,
        "{files} open files became {files_after}"
    );
    // A leak of the code alone (0.4 MiB a reload) would be 400 MiB; the tests beside this one take some, too.
    assert!(
        resident_after <= resident + 64 * 1024,
        "{resident} KiB became {resident_after} KiB"
    );
    let status = bench.status("misbehave.wasm");
    assert_eq!((status.calls, status.traps, status.restarts), (1100, 0, 0));
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").trim().parse().unwrap()
}
