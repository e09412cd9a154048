//! Addresses that a plugin may dial: those that the operator entered for that engine, and nothing else, by any way.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use qm_plugin_host::Limits;
use qm_ports::engine::Attention;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::bench::{Bench, limits, protocol_text};

const MISBEHAVE: &[(&str, &str)] = &[("misbehave.wasm", "misbehave.wasm")];

/// Counts connections and answers each with these pieces, one every `pause`.
pub async fn listen(pieces: Vec<Vec<u8>>, pause: Duration) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let count = Arc::new(AtomicUsize::new(0));
    let seen = count.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            seen.fetch_add(1, Ordering::SeqCst);
            let pieces = pieces.clone();
            tokio::spawn(async move {
                let mut buffer = [0; 4096];
                let _ = stream.read(&mut buffer).await;
                for piece in pieces {
                    if stream.write_all(&piece).await.is_err() {
                        return;
                    }
                    tokio::time::sleep(pause).await;
                }
            });
        }
    });
    (port, count)
}

pub fn answer(head: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {head}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

#[tokio::test]
async fn an_address_that_was_not_given_is_not_dialled() {
    let (port, count) = listen(vec![answer("200 OK", "x")], Duration::ZERO).await;
    let bench = Bench::start(MISBEHAVE).await;
    for target in [
        "tcp:127.0.0.1:P",
        "tcp:localhost:P",
        "tcp:[::1]:P",
        "http://127.0.0.1:P/",
        "http://localhost:P/",
        "http://0x7f.1:P/",
    ] {
        let target = target.replace('P', &port.to_string());
        // Something else is granted, so that it is not merely an engine without any grant.
        let config = json!({"mode": "dial", "target": target, "host": "127.0.0.1", "port": 1, "url": "http://127.0.0.1:2/"});
        let engine = bench.engine("dialler", config).await;
        let text = protocol_text(engine.poll(None, Attention::Watched, &[]).await);
        assert!(text.starts_with("dial: denied: "), "{target}: {text}");
        assert!(engine.health().await.is_ok());
    }
    let socket = json!({"mode": "dial", "target": "unix:/run/docker.sock"});
    assert!(
        protocol_text(
            bench
                .engine("s", socket)
                .await
                .poll(None, Attention::Watched, &[])
                .await
        )
        .starts_with("dial: denied: ")
    );
    assert_eq!(count.load(Ordering::SeqCst), 0, "something was dialled");

    let granted =
        json!({"mode": "dial", "target": format!("tcp:127.0.0.1:{port}"), "host": "127.0.0.1", "port": port});
    assert_eq!(
        protocol_text(
            bench
                .engine("ok", granted)
                .await
                .poll(None, Attention::Watched, &[])
                .await
        ),
        "dial: connected"
    );
    let metadata =
        json!({"mode": "dial", "target": "http://169.254.169.254/", "url": "http://169.254.169.254/"});
    assert!(
        protocol_text(
            bench
                .engine("m", metadata)
                .await
                .poll(None, Attention::Watched, &[])
                .await
        )
        .starts_with("dial: denied: "),
        "granted, and yet"
    );
}

#[tokio::test]
async fn a_redirect_leads_nowhere() {
    let (inner, count) = listen(vec![answer("200 OK", "secret")], Duration::ZERO).await;
    let head = format!("302 Found\r\nlocation: http://127.0.0.1:{inner}/");
    let (outer, _) = listen(vec![answer(&head, "")], Duration::ZERO).await;
    let bench = Bench::start(MISBEHAVE).await;
    let engine = bench
        .engine(
            "r",
            json!({"mode": "http_redirect", "url": format!("http://127.0.0.1:{outer}/")}),
        )
        .await;
    let text = protocol_text(engine.poll(None, Attention::Watched, &[]).await);
    assert!(text.starts_with("dial: 302, then denied: "), "{text}");
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn leaked_connections_are_few_and_close_with_the_instance() {
    let (port, _) = listen(vec![], Duration::ZERO).await;
    let bench = Bench::start(MISBEHAVE).await;
    let leak = json!({"mode": "leak_connections", "host": "127.0.0.1", "port": port});
    let engine = bench.engine("leaky", leak).await;
    let before = open_files();
    let text = protocol_text(engine.poll(None, Attention::Watched, &[]).await);
    assert_eq!(
        text,
        "connections: 8 opened, then other: too many open connections"
    );
    assert_eq!(
        protocol_text(engine.poll(None, Attention::Watched, &[]).await),
        "connections: 0 opened, then other: too many open connections"
    );
    engine.close().await;
    // The listener's ends stay open; ours are what counts.
    assert!(open_files() <= before + 8, "ours are still open");
    let neighbour = bench
        .engine(
            "n",
            json!({"mode": "leak_connections", "host": "127.0.0.1", "port": port}),
        )
        .await;
    assert!(
        protocol_text(neighbour.poll(None, Attention::Watched, &[]).await)
            .starts_with("connections: 8 opened"),
        "its slots are its own"
    );
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[tokio::test]
async fn as_long_as_bytes_arrive_a_call_goes_on() {
    // 2 s in all with a silence limit of 800 ms.
    let mut pieces = vec![b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".to_vec()];
    pieces.extend(std::iter::repeat_n(vec![b'x'; 1024], 20));
    let (port, _) = listen(pieces, Duration::from_millis(100)).await;
    let bench = Bench::start(MISBEHAVE).await;
    let config = json!({"mode": "slow_but_progressing", "url": format!("http://127.0.0.1:{port}/")});
    let engine = bench.engine("slow", config).await;
    assert_eq!(
        engine
            .poll(None, Attention::Watched, &[])
            .await
            .unwrap()
            .changed
            .len(),
        3
    );
    assert_eq!(bench.lane("slow", "sync").timeouts, 0);
}

#[tokio::test]
async fn a_trickle_without_end_meets_the_total_but_is_no_strike() {
    let mut pieces = vec![b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".to_vec()];
    pieces.extend(std::iter::repeat_n(vec![b'x'; 1], 1000));
    let (port, _) = listen(pieces, Duration::from_millis(50)).await;
    let bench = Bench::with(
        MISBEHAVE,
        Limits {
            poll_total: Duration::from_millis(700),
            strikes: 1,
            ..limits()
        },
    )
    .await;
    let config = json!({"mode": "slow_but_progressing", "url": format!("http://127.0.0.1:{port}/")});
    let engine = bench.engine("slow", config).await;
    for _ in 0..2 {
        let error = engine
            .poll(None, Attention::Watched, &[])
            .await
            .unwrap_err()
            .to_string();
        assert!(error.contains("not done within 0.7 s"), "{error}");
    }
    let lane = bench.lane("slow", "sync");
    assert_eq!((lane.timeouts, lane.restarts), (2, 1));
}
