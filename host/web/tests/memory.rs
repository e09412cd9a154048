//! Test of the memory cost of hostile bodies. A program of its own with one test, because it measures the
//! whole process.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::format_collect,
    clippy::format_push_string,
    reason = "tests"
)]
#![allow(
    dead_code,
    reason = "the module is that of the other tests, and most of it is not needed here"
)]

#[path = "surface/support.rs"]
mod support;

use support::{Server, server};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// Resident memory of this process in KiB: present and peak.
fn resident() -> (i64, i64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    (field("VmRSS:"), field("VmHWM:"))
}

/// As [`resident`], after resetting the peak to the present value.
fn measured() -> (i64, i64) {
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    resident()
}

/// Status of an answer, and the additional peak memory in KiB.
async fn cost(server: &Server, target: &str, headers: &[(&str, &str)], body: &[u8]) -> (u16, i64) {
    let (before, _) = measured();
    let answer = server.ask("POST", target, headers, body).await;
    (answer.status, resident().1 - before)
}

#[tokio::test]
async fn a_body_costs_a_few_times_its_size_whatever_it_says() {
    const MIB: usize = 1024 * 1024;
    let server = server().await;
    let token = ("Authorization", "Bearer root");
    let json = ("Content-Type", "application/json");
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    let objects = |size: usize| "{\"\":0},".repeat(size / 7 - 20);
    let bodies = [
        ("objects", json, format!("[{}0]", objects(MIB))),
        (
            "objects where nobody asks",
            json,
            format!("{{\"a\":[{}0]}}", objects(MIB)),
        ),
        (
            "objects where any value may be",
            json,
            format!("{{\"value\":[{}0]}}", objects(MIB)),
        ),
        (
            "objects in an object",
            json,
            format!("{{\"config\":{{\"a\":[{}0]}}}}", objects(MIB)),
        ),
        (
            "a list of numbers",
            json,
            format!("{{\"hashes\":[{}0]}}", "0,".repeat(MIB / 2 - 20)),
        ),
        (
            "a list of texts",
            json,
            format!("{{\"hashes\":[{}0]}}", "\"\",".repeat(MIB / 3 - 20)),
        ),
        ("brackets", json, format!("{{\"value\":{}", "[".repeat(MIB - 20))),
        (
            "the same key",
            json,
            format!("{{{}\"b\":0}}", "\"a\":0,".repeat(MIB / 6 - 20)),
        ),
        ("keys", json, {
            let keys: String = (0..90_000).map(|key| format!("\"{key}\":0,")).collect();
            format!("{{{keys}\"b\":0}}")
        }),
        ("a form", form, "a&".repeat(MIB / 2 - 20)),
        ("a form of a list", form, "hashes&".repeat(MIB / 7 - 20)),
    ];
    server.post_as("root", "/api/strict", "{}").await;
    for (what, kind, body) in &bodies {
        let (status, kib) = cost(&server, "/api/strict", &[token, *kind], body.as_bytes()).await;
        assert_eq!(status, 400, "{what}");
        assert!(kib < 24 * 1024, "{what}: {kib} KiB for a body of 1 MiB");
    }
    let body = format!("[{}0]", objects(25 * MIB));
    let (before, _) = measured();
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = format!(
        "POST /api/account HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    // Cut off in the middle, because it is not read to its end.
    let cut = stream.write_all(body.as_bytes()).await.is_err();
    let kib = resident().1 - before;
    assert!(kib < 24 * 1024, "without a token: {kib} KiB");
    assert!(cut, "25 MiB were taken of a stranger");
}
