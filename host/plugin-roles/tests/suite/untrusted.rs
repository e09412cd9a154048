//! Answers of a plugin that are bent into shape, refused, or dropped; none is passed on as it is.

use qm_plugin_host::Limits;
use qm_ports::engine::{Attention, Command, Delta, EngineError};
use serde_json::json;
use std::time::Duration;

use crate::bench::{Bench, limits};

const MISBEHAVE: &[(&str, &str)] = &[("misbehave.wasm", "misbehave.wasm")];

fn assert_sound(delta: &Delta) {
    for torrent in &delta.changed {
        assert!(
            torrent.hash.len() == 40
                && torrent
                    .hash
                    .bytes()
                    .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        );
        assert!(torrent.name.len() <= 16 << 10 && torrent.save_path.len() <= 16 << 10);
        assert!((0.0..=1.0).contains(&torrent.progress) && torrent.ratio.is_finite() && torrent.ratio >= 0.0);
        for number in [
            torrent.size,
            torrent.downloaded,
            torrent.uploaded,
            torrent.download_rate,
            torrent.upload_rate,
        ] {
            assert!(i64::try_from(number).is_ok());
        }
        assert!(torrent.priority <= 3);
    }
}

#[tokio::test]
async fn rows_are_sound_whatever_the_plugin_says() {
    let roomy = Limits {
        cpu: Duration::from_secs(30),
        silence: Duration::from_secs(30),
        memory_bytes: 128 << 20,
        ..limits()
    };
    let bench = Bench::with(MISBEHAVE, roomy).await;
    for mode in [
        "bad_hashes",
        "nan",
        "long_strings",
        "ghosts",
        "huge_list",
        "stuck_cursor",
    ] {
        // Ghosts are a part of an answer, so the first poll is an honest one.
        let (torrents, after) = (
            if mode == "huge_list" { 20_000 } else { 5 },
            u8::from(mode == "ghosts"),
        );
        let engine = bench
            .engine(mode, json!({"mode": mode, "torrents": torrents, "after": after}))
            .await;
        let first = engine
            .poll(None, Attention::Watched, &[])
            .await
            .unwrap_or_else(|error| panic!("{mode}: {error}"));
        assert!(first.full);
        assert_sound(&first);
        let mut hashes: Vec<_> = first.changed.iter().map(|torrent| torrent.hash.clone()).collect();
        hashes.sort();
        let all = hashes.len();
        hashes.dedup();
        assert_eq!(hashes.len(), all, "{mode}: one twice");
        let next = engine
            .poll(Some(first.cursor), Attention::Watched, &[])
            .await
            .unwrap();
        assert_sound(&next);
        assert!(
            next.removed
                .iter()
                .all(|hash| !next.changed.iter().any(|torrent| *torrent.hash == **hash)),
            "{mode}"
        );
    }
}

#[tokio::test]
async fn a_part_is_no_answer_to_a_question_for_all() {
    let bench = Bench::start(MISBEHAVE).await;
    let engine = bench.engine("part", json!({"mode": "no_base"})).await;
    assert!(matches!(
        engine.poll(None, Attention::Watched, &[]).await,
        Err(EngineError::Protocol(_))
    ));
}

#[tokio::test]
async fn a_cursor_of_another_session_asks_for_all() {
    let bench = Bench::start(MISBEHAVE).await;
    let engine = bench.engine("e", json!({"torrents": 4})).await;
    let first = engine.poll(Some(12345), Attention::Watched, &[]).await.unwrap();
    assert!(first.full && first.changed.len() == 4);
    assert!(
        !engine
            .poll(Some(first.cursor), Attention::Watched, &[])
            .await
            .unwrap()
            .full
    );
    let other = bench.engine("other", json!({"torrents": 4})).await;
    assert!(
        other
            .poll(Some(first.cursor), Attention::Watched, &[])
            .await
            .unwrap()
            .full
    );
}

#[tokio::test]
async fn outcomes_follow_the_question() {
    let bench = Bench::start(MISBEHAVE).await;
    let engine = bench
        .engine("e", json!({"mode": "wrong_outcomes", "on": "run"}))
        .await;
    let hashes: Vec<String> = (0..3).map(|i| format!("{i:040x}")).collect();
    let outcomes = engine.run(&hashes, Command::Start).await.unwrap();
    assert_eq!(
        outcomes
            .iter()
            .map(|outcome| outcome.hash.clone())
            .collect::<Vec<_>>(),
        hashes
    );
    assert!(outcomes.iter().any(|outcome| outcome.result.is_err()));
}

#[tokio::test]
async fn errors_are_short_and_hold_no_secret() {
    let roomy = Limits {
        memory_bytes: 128 << 20,
        cpu: Duration::from_secs(10),
        silence: Duration::from_secs(10),
        ..limits()
    };
    let bench = Bench::with(MISBEHAVE, roomy).await;
    let engine = bench.engine("long", json!({"mode": "long_error"})).await;
    let Err(EngineError::Protocol(text)) = engine.poll(None, Attention::Watched, &[]).await else {
        panic!("not an error of the protocol")
    };
    assert!(text.len() <= 1024);
    let config = json!({"mode": "error", "error": "auth", "message": "user admin, password hunter22", "password": "hunter22"});
    let engine = bench.engine("secret", config).await;
    assert_eq!(
        engine.poll(None, Attention::Watched, &[]).await.unwrap_err(),
        EngineError::Auth("user admin, password ••••••••".into())
    );
}
