//! Load on one route by `wrk` (Debian), 16 connections on 2 threads, on the same cores as the server.

use std::process::Command;

pub struct Load {
    pub per_second: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    /// Sent data including answer heads, in MiB per second: comparable for servers whose answers differ in
    /// length.
    pub mib_per_second: f64,
}

/// Median of some runs of some seconds each.
pub fn run(url: &str, token: &str, runs: u32, seconds: u32) -> Load {
    let runs: Vec<Load> = (0..runs).map(|_| once(url, token, seconds)).collect();
    Load {
        per_second: crate::report::median(runs.iter().map(|load| load.per_second).collect()),
        p50_ms: crate::report::median(runs.iter().map(|load| load.p50_ms).collect()),
        p99_ms: crate::report::median(runs.iter().map(|load| load.p99_ms).collect()),
        mib_per_second: crate::report::median(runs.iter().map(|load| load.mib_per_second).collect()),
    }
}

fn once(url: &str, token: &str, seconds: u32) -> Load {
    let output = Command::new("wrk")
        .args([
            "-t2",
            "-c16",
            &format!("-d{seconds}s"),
            "--latency",
            "-H",
            &format!("Authorization: Bearer {token}"),
            url,
        ])
        .output()
        .expect("wrk is installed by `cargo xtask setup bench`");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!text.contains("Non-2xx"), "the server refused the load: {text}");
    let word = |label: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(label));
        line.and_then(|line| line.split_whitespace().last())
            .unwrap_or_default()
            .to_owned()
    };
    Load {
        per_second: word("Requests/sec:").parse().unwrap_or(0.0),
        p50_ms: milliseconds(&word("50%")),
        p99_ms: milliseconds(&word("99%")),
        mib_per_second: mebibytes(&word("Transfer/sec:")),
    }
}

/// Parses `512.00B`, `823.40KB`, `64.12MB`, `1.77GB`: wrk's kilobyte has 1,024 bytes.
fn mebibytes(text: &str) -> f64 {
    let (number, unit) = quantity(text);
    match unit {
        "GB" => number * 1024.0,
        "KB" => number / 1024.0,
        "B" => number / 1024.0 / 1024.0,
        _ => number,
    }
}

/// A number and the unit that follows it.
fn quantity(text: &str) -> (f64, &str) {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    (number.parse().unwrap_or(f64::NAN), unit)
}

/// Parses `823.00us`, `4.21ms`, `1.02s`.
fn milliseconds(text: &str) -> f64 {
    let (number, unit) = quantity(text);
    match unit {
        "us" => number / 1000.0,
        "s" => number * 1000.0,
        _ => number,
    }
}
