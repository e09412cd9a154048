//! One engine misbehaves; the instance pays, is replaced, and nobody else notices.

use std::time::{Duration, Instant};

use qm_plugin_host::{LaneState, Limits};
use qm_ports::engine::{Attention, EngineDriver, EngineError};
use serde_json::json;

use crate::bench::{Bench, limits, plugin_error, protocol_text};

const MISBEHAVE: &[(&str, &str)] = &[("misbehave.wasm", "misbehave.wasm")];

/// For what is not about time: a guest that computes on a busy machine is slow, and not silent. The bound of its computing is its
/// thread's own time, which other threads do not use up.
fn patient() -> Limits {
    Limits {
        cpu: Duration::from_secs(1),
        silence: Duration::from_mins(1),
        poll_total: Duration::from_mins(2),
        call_total: Duration::from_mins(2),
        ..limits()
    }
}

/// The instance failed once, is replaced by the next call, and the neighbour works on.
async fn replaced_and_alone(bench: &Bench, bad: &dyn EngineDriver, good: &dyn EngineDriver) {
    assert_eq!(
        good.poll(None, Attention::Watched, &[])
            .await
            .unwrap()
            .changed
            .len(),
        3
    );
    assert!(bad.health().await.is_ok(), "its other lane works");
    // The first failure costs no pause; `after` of the new instance counts anew.
    let again = bad.poll(None, Attention::Watched, &[]).await;
    assert!(!matches!(&again, Err(EngineError::Unreachable(_))), "{again:?}");
    assert_eq!(bench.lane("bad", "sync").restarts, 1);
    assert_eq!(bench.lane("good", "sync").restarts, 0);
}

#[tokio::test]
async fn traps_of_every_sort_are_contained() {
    for (mode, says) in [
        ("trap", "misbehave was asked to trap"),
        ("recurse", "wasm trap"),
        ("loop", "computed for more than 1 s"),
        ("allocate_abort", "32 MiB of memory"),
    ] {
        let bench = Bench::with(MISBEHAVE, patient()).await;
        let bad = bench.engine("bad", json!({"mode": mode, "after": 0})).await;
        let good = bench.engine("good", json!({})).await;
        let text = plugin_error(bad.poll(None, Attention::Watched, &[]).await);
        assert!(text.contains(says), "{mode}: {text}");
        let lane = bench.lane("bad", "sync");
        assert_eq!((lane.calls, lane.traps, lane.timeouts), (1, 1, 0), "{mode}");
        assert!(lane.reason.is_some_and(|reason| reason.contains(says)), "{mode}");
        assert_eq!(bench.status("misbehave.wasm").traps, 1);
        replaced_and_alone(&bench, &*bad, &*good).await;
    }
}

#[tokio::test]
async fn memory_is_refused_and_given_back() {
    let bench = Bench::with(
        MISBEHAVE,
        Limits {
            memory_total_bytes: 56 << 20,
            ..patient()
        },
    )
    .await;
    let first = bench.engine("first", json!({"mode": "allocate"})).await;
    let text = protocol_text(first.poll(None, Attention::Watched, &[]).await);
    assert!(text.contains("then refused"), "{text}");
    assert!(
        first
            .poll(None, Attention::Watched, &[])
            .await
            .is_err_and(|error| matches!(error, EngineError::Protocol(_))),
        "it lives on"
    );
    assert_eq!(bench.lane("first", "sync").traps, 0);
    let held = bench.lane("first", "sync").memory_bytes;
    assert!((24 << 20..=32 << 20).contains(&held), "{held}");

    // The budget of all is nearly used up: the second one gets what is left.
    let second = bench.engine("second", json!({"mode": "allocate"})).await;
    let text = protocol_text(second.poll(None, Attention::Watched, &[]).await);
    let got: u64 = text
        .trim_start_matches("allocated: ")
        .split(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!(got < 16, "{text}");
    first.close().await;
    let text = protocol_text(
        bench
            .engine("third", json!({"mode": "allocate"}))
            .await
            .poll(None, Attention::Watched, &[])
            .await,
    );
    let got: u64 = text
        .trim_start_matches("allocated: ")
        .split(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!(got > 16, "what the first one held is free again: {text}");
}

#[tokio::test]
async fn a_call_that_sleeps_is_cut_off() {
    // More than an honest call takes on the slowest machine, less than the sleep.
    let silence = Duration::from_secs(3);
    let bench = Bench::with(MISBEHAVE, Limits { silence, ..patient() }).await;
    let bad = bench.engine("bad", json!({"mode": "sleep"})).await;
    let good = bench.engine("good", json!({})).await;
    let error = bad.poll(None, Attention::Watched, &[]).await.unwrap_err();
    assert!(
        matches!(&error, EngineError::Timeout(text) if text.contains("3 s")),
        "{error}"
    );
    let lane = bench.lane("bad", "sync");
    assert_eq!((lane.traps, lane.timeouts), (0, 1));
    replaced_and_alone(&bench, &*bad, &*good).await;
}

#[tokio::test]
async fn failures_back_off_and_end_parked_until_a_reload() {
    let bench = Bench::with(
        MISBEHAVE,
        Limits {
            strikes: 3,
            ..patient()
        },
    )
    .await;
    let bad = bench.engine("bad", json!({"mode": "trap"})).await;
    plugin_error(bad.poll(None, Attention::Watched, &[]).await);
    plugin_error(bad.poll(None, Attention::Watched, &[]).await);
    let waiting = plugin_error(bad.poll(None, Attention::Watched, &[]).await);
    assert!(waiting.contains("tried again in 1 s"), "{waiting}");
    assert_eq!(
        (bench.lane("bad", "sync").state, bench.lane("bad", "sync").traps),
        (LaneState::BackingOff, 2)
    );
    let started = Instant::now();
    while bench.lane("bad", "sync").traps < 3 {
        assert!(
            started.elapsed() < Duration::from_mins(1),
            "it is not tried again"
        );
        let _ = bad.poll(None, Attention::Watched, &[]).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let parked = plugin_error(bad.poll(None, Attention::Watched, &[]).await);
    assert!(parked.contains("parked until"), "{parked}");
    assert_eq!(bench.lane("bad", "sync").state, LaneState::Parked);
    let shown = bench.status("misbehave.wasm").reason.unwrap();
    assert!(
        shown.contains("sync lane of `bad` is parked") && shown.contains("asked to trap"),
        "{shown}"
    );
    assert_eq!(
        bench.lane("bad", "command").state,
        LaneState::Idle,
        "the other lane is not concerned"
    );
    assert_eq!(
        bench
            .engine("good", json!({}))
            .await
            .poll(None, Attention::Watched, &[])
            .await
            .unwrap()
            .changed
            .len(),
        3
    );

    bench.host.reload("misbehave").await.unwrap();
    bench
        .until("the lane is revived", |list| {
            list[0].lanes.iter().all(|lane| lane.state != LaneState::Parked) && list[0].reason.is_none()
        })
        .await;
    let again = plugin_error(bad.poll(None, Attention::Watched, &[]).await);
    assert!(
        again.ends_with("misbehave was asked to trap"),
        "it was tried: {again}"
    );
}

#[tokio::test]
async fn expected_failures_cost_nothing() {
    let bench = Bench::with(MISBEHAVE, patient()).await;
    for (case, check) in [
        (
            "unreachable",
            (|e| matches!(e, EngineError::Unreachable(t) if t == "why")) as fn(&EngineError) -> bool,
        ),
        ("timeout", |e| matches!(e, EngineError::Timeout(t) if t == "why")),
        ("auth", |e| matches!(e, EngineError::Auth(t) if t == "why")),
        (
            "invalid-config",
            |e| matches!(e, EngineError::InvalidConfig(t) if t == "why"),
        ),
        (
            "unsupported",
            |e| matches!(e, EngineError::Unsupported(t) if t == "why"),
        ),
        (
            "rejected",
            |e| matches!(e, EngineError::Rejected(t) if t == "why"),
        ),
        (
            "protocol",
            |e| matches!(e, EngineError::Protocol(t) if t == "why"),
        ),
        (
            "other",
            |e| matches!(e, EngineError::Protocol(t) if t == "custom: why"),
        ),
        ("not-found", |e| matches!(e, EngineError::NotFound(_))),
    ] {
        let engine = bench
            .engine(case, json!({"mode": "error", "error": case, "message": "why"}))
            .await;
        for _ in 0..20 {
            let error = engine.poll(None, Attention::Watched, &[]).await.unwrap_err();
            assert!(check(&error), "{case}: {error:?}");
        }
        let lane = bench.lane(case, "sync");
        assert_eq!(
            (lane.calls, lane.traps, lane.timeouts, lane.restarts, lane.state),
            (20, 0, 0, 0, LaneState::Ready)
        );
    }
}

#[tokio::test]
async fn a_session_that_cannot_be_opened_is_a_plain_error() {
    let bench = Bench::with(MISBEHAVE, patient()).await;
    let refused =
        json!({"mode": "error", "on": "open", "error": "invalid-config", "message": "`x` is wrong"});
    let engine = bench.engine("refused", refused).await;
    for _ in 0..20 {
        assert_eq!(
            engine.poll(None, Attention::Watched, &[]).await.unwrap_err(),
            EngineError::InvalidConfig("`x` is wrong".into())
        );
    }
    let trapping = bench
        .engine("trapping", json!({"mode": "trap", "on": "open"}))
        .await;
    plugin_error(trapping.poll(None, Attention::Watched, &[]).await);
    assert_eq!(bench.lane("trapping", "sync").traps, 1);
    let looping = bench
        .engine("looping", json!({"mode": "loop", "on": "open"}))
        .await;
    plugin_error(looping.poll(None, Attention::Watched, &[]).await);
    assert_eq!(
        bench
            .engine("good", json!({}))
            .await
            .poll(None, Attention::Watched, &[])
            .await
            .unwrap()
            .changed
            .len(),
        3
    );
}

#[tokio::test]
async fn a_slow_poll_does_not_delay_a_command_and_a_full_queue_says_busy() {
    let bench = Bench::with(
        MISBEHAVE,
        Limits {
            queue: 2,
            ..patient()
        },
    )
    .await;
    // It sleeps as long as the test lets it.
    let engine = bench.engine("slow", json!({"mode": "sleep"})).await;
    let poll = || {
        let engine = engine.clone();
        tokio::spawn(async move { engine.poll(None, Attention::Watched, &[]).await })
    };
    let running = poll();
    bench
        .until("the poll runs", |list| {
            list[0].lanes.iter().any(|l| l.state == LaneState::Running)
        })
        .await;
    assert!(engine.health().await.is_ok());
    assert!(!running.is_finished(), "the command did not wait for the poll");
    let waiting = [poll(), poll()];
    // This test has one thread: both have been asked for when it comes back here.
    tokio::task::yield_now().await;
    assert_eq!(
        engine.poll(None, Attention::Watched, &[]).await.unwrap_err(),
        EngineError::Busy
    );
    engine.close().await;
    for call in [running].into_iter().chain(waiting) {
        assert!(matches!(call.await.unwrap(), Err(EngineError::Unreachable(_))));
    }
}

#[tokio::test]
async fn calls_that_waited_are_answered() {
    let bench = Bench::with(MISBEHAVE, patient()).await;
    let engine = bench.engine("slow", json!({"mode": "sleep", "ms": 100})).await;
    let polls = (0..3).map(|_| engine.poll(None, Attention::Watched, &[]));
    for answer in futures_util::future::join_all(polls).await {
        assert_eq!(answer.unwrap().changed.len(), 3);
    }
    assert_eq!(bench.lane("slow", "sync").calls, 3);
}

#[tokio::test]
async fn a_caller_that_goes_away_costs_nothing() {
    let bench = Bench::with(MISBEHAVE, patient()).await;
    let engine = bench.engine("slow", json!({"mode": "sleep", "ms": 300})).await;
    let poll = engine.poll(None, Attention::Watched, &[]);
    let gone = tokio::time::timeout(Duration::from_millis(50), poll).await;
    assert!(gone.is_err());
    assert!(engine.poll(None, Attention::Watched, &[]).await.is_ok());
    let lane = bench.lane("slow", "sync");
    assert_eq!((lane.calls, lane.timeouts, lane.restarts), (2, 0, 0));
}

#[tokio::test]
async fn closing_ends_a_call_at_once_and_every_later_one() {
    let bench = Bench::with(MISBEHAVE, patient()).await;
    let engine = bench.engine("slow", json!({"mode": "sleep"})).await;
    let poll = tokio::spawn({
        let engine = engine.clone();
        async move { engine.poll(None, Attention::Watched, &[]).await }
    });
    bench
        .until("the poll runs", |list| {
            list[0].lanes.iter().any(|l| l.state == LaneState::Running)
        })
        .await;
    engine.close().await;
    assert!(matches!(poll.await.unwrap(), Err(EngineError::Unreachable(_))));
    assert!(matches!(engine.health().await, Err(EngineError::Unreachable(_))));
    let status = bench.status("misbehave.wasm");
    assert_eq!((status.lanes.len(), status.memory_bytes), (0, 0));
}

/// One thread runs everything here: a guest that did not give it back would keep the timer from ever firing.
#[tokio::test(flavor = "current_thread")]
async fn a_guest_that_spins_starves_nobody() {
    let bench = Bench::with(MISBEHAVE, patient()).await;
    let engines = [
        bench.engine("a", json!({"mode": "loop"})).await,
        bench.engine("b", json!({"mode": "loop"})).await,
    ];
    let spinning = tokio::spawn(async move {
        let polls = engines
            .each_ref()
            .map(|engine| engine.poll(None, Attention::Watched, &[]));
        futures_util::future::join_all(polls).await
    });
    let mut ticks = 0;
    while !spinning.is_finished() {
        tokio::time::sleep(Duration::from_millis(1)).await;
        ticks += 1;
    }
    for poll in spinning.await.unwrap() {
        assert!(plugin_error(poll).contains("computed for more than 1 s"));
    }
    // Both compute for a second: turns of a long tick would leave room for two hundred.
    assert!(ticks >= 300, "the timer fired only {ticks} times");
}

#[tokio::test]
async fn a_log_flood_is_dropped_and_counted() {
    let bench = Bench::with(
        MISBEHAVE,
        Limits {
            cpu: Duration::from_secs(20),
            ..patient()
        },
    )
    .await;
    let engine = bench
        .engine("loud", json!({"mode": "log_flood", "count": 5000}))
        .await;
    assert!(engine.poll(None, Attention::Watched, &[]).await.is_ok());
    let dropped = bench.status("misbehave.wasm").log_dropped;
    assert!((4_900..5_000).contains(&dropped), "{dropped}");
}

#[tokio::test]
async fn counters_add_up_over_engines() {
    let bench = Bench::with(MISBEHAVE, patient()).await;
    for id in ["a", "b"] {
        let engine = bench.engine(id, json!({})).await;
        engine.poll(None, Attention::Watched, &[]).await.unwrap();
        engine.health().await.unwrap();
        if id == "a" {
            let status = bench.status("misbehave.wasm");
            assert_eq!((status.instances, status.lanes.len()), (2, 2));
            assert!(status.memory_bytes > 0);
        }
        engine.close().await;
    }
    let status = bench.status("misbehave.wasm");
    assert_eq!((status.calls, status.instances, status.memory_bytes), (4, 0, 0));
    assert_eq!(bench.host.engine_kinds().kinds().len(), 1);
}
