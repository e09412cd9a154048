//! Cost of logins: logins per second and their memory, and the cheapest authenticated request.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use qm_testkit::http::Http;
use serde_json::json;

use crate::http_load;
use crate::report::Report;
use crate::server::{PASSWORD, Server};

/// Duration of a round with each number of callers.
const ROUND: Duration = Duration::from_secs(10);

pub async fn measure(report: &mut Report) {
    for callers in [1, 8, 64] {
        // A process of its own, so that the peak belongs to this round.
        let server = Server::start().await;
        let before = server.resident_mib();
        let per_second = logins(&server, callers).await;
        report.add(
            format!("logins (Argon2id, 64 MiB, 3 passes, 4 lanes), {callers} at once"),
            format!(
                "{per_second:.1}/s, {before:.0} MiB before, {:.0} MiB at most",
                server.peak_mib()
            ),
            if callers == 64 { "far below 4 GiB" } else { "" },
        );
    }
    let server = Server::start().await;
    let load = http_load::run(&server.url("/api/auth/me"), server.token(), 3, 5);
    report.add(
        "GET /api/auth/me, 16 connections",
        format!("{:.0}/s, p99 {:.2} ms", load.per_second, load.p99_ms),
        "",
    );
}

/// `callers` log in repeatedly for one round.
async fn logins(server: &Server, callers: usize) -> f64 {
    let (done, address) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicU32::new(0)));
    let http = Http::new();
    let begin = Instant::now();
    let tasks: Vec<_> = (0..callers)
        .map(|_| {
            let (http, url) = (http.clone(), server.url("/api/auth/login"));
            let (done, address) = (done.clone(), address.clone());
            tokio::spawn(async move {
                while begin.elapsed() < ROUND {
                    // A separate address each, because the throttle allows five logins per address and
                    // minute.
                    let [_, a, b, c] = address.fetch_add(1, Ordering::Relaxed).to_be_bytes();
                    let reply = http
                        .request("POST", &url)
                        .header("x-forwarded-for", &format!("10.{a}.{b}.{c}"))
                        .json(&json!({ "username": "admin", "password": PASSWORD }))
                        .send()
                        .await
                        .expect("the server answers");
                    assert_eq!(reply.status, 201, "{}", reply.text());
                    done.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no panic");
    }
    done.load(Ordering::Relaxed) as f64 / begin.elapsed().as_secs_f64()
}
