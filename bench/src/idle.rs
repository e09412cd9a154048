//! CPU and memory of an idle server: stopped torrents in a real client, which is measured too. First without
//! a watching client, then with one WebSocket client. With 5,000 torrents the list's speed is measured on the
//! same server.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use qm_testkit::qbittorrent::Qbittorrent;
use qm_testkit::rtorrent::{Mode, Rtorrent};
use serde_json::Value;
use tokio_tungstenite::connect_async;

use crate::report::Report;
use crate::server::{Server, cpu_seconds};
use crate::{clients, http_load};

/// Time for the first full read, the page caches and the allocator to settle.
const WARM_UP: Duration = Duration::from_secs(10);

/// The server counts as watched for 30 s after the last request for a list.
const UNTIL_QUIET: Duration = Duration::from_secs(35);

/// A client filled with stopped torrents.
struct Subject {
    label: &'static str,
    kind: &'static str,
    config: Value,
    pid: u32,
    torrents: u64,
    /// Allowed CPU seconds per 60 s of the server with a WebSocket client.
    ours: f64,
    /// Allowed CPU seconds per 60 s of the server without a watching client.
    its_own: f64,
}

pub async fn measure(report: &mut Report, seconds: u64) {
    for (torrents, ours) in [(1_000, 0.4), (5_000, 1.5)] {
        let client = Rtorrent::start(Mode::Tcp).await;
        clients::fill_rtorrent(&client, torrents).await;
        let subject = Subject {
            label: "rTorrent",
            kind: "scgi_client",
            config: client.config(),
            pid: client.pid(),
            torrents,
            ours,
            its_own: 1.5,
        };
        subject.measure(report, seconds).await;
    }
    for (torrents, ours) in [(1_000, 0.2), (5_000, 0.3)] {
        let client = Qbittorrent::start().await;
        clients::fill_qbittorrent(&client, torrents).await;
        let subject = Subject {
            label: "qBittorrent",
            kind: "webapi_client",
            config: client.config(),
            pid: client.pid(),
            torrents,
            ours,
            its_own: 1.0,
        };
        subject.measure(report, seconds).await;
    }
}

impl Subject {
    async fn measure(&self, report: &mut Report, seconds: u64) {
        let idle = self.cpu(None, seconds).await.1;
        let server = Server::start().await;
        server.add_engine(self.kind, &self.config, self.torrents).await;
        tokio::time::sleep(UNTIL_QUIET).await;
        let quiet = self.cpu(Some(&server), seconds).await;
        let (socket, _) = connect_async(server.ws_url())
            .await
            .expect("the realtime channel");
        let counter = tokio::spawn(count_ticks(socket));
        tokio::time::sleep(WARM_UP).await;
        let ticks_before = TICKS.load(Ordering::Relaxed);
        let watched = self.cpu(Some(&server), seconds).await;
        let ticks = TICKS.load(Ordering::Relaxed) - ticks_before;
        counter.abort();
        let (label, torrents) = (self.label, self.torrents);
        let what = |of: &str, when: &str| {
            format!("CPU s per 60 s of {of}, {label} {torrents} torrents idle, {when}")
        };
        report.add(
            what("the server", "nobody looking"),
            format!("{:.2}", quiet.0),
            "",
        );
        report.add(
            what("the server", "one WebSocket client"),
            format!("{:.2} ({ticks} ticks in {seconds} s)", watched.0),
            format!("≤ {}, no tick missed", self.ours),
        );
        report.add(
            what("the client", "nobody looking"),
            format!("{:.2} ({idle:.2} when nobody asks it anything)", quiet.1),
            format!("≤ {}", self.its_own),
        );
        report.add(
            what("the client", "one WebSocket client"),
            format!("{:.2}", watched.1),
            "",
        );
        if torrents == 5_000 {
            lists(report, &server, label);
        }
    }

    /// CPU seconds per 60 s, of the server and of the client.
    async fn cpu(&self, server: Option<&Server>, seconds: u64) -> (f64, f64) {
        let used = || (server.map_or(0.0, Server::cpu_seconds), cpu_seconds(self.pid));
        let before = used();
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        let after = used();
        let scale = 60.0 / seconds as f64;
        ((after.0 - before.0) * scale, (after.1 - before.1) * scale)
    }
}

fn lists(report: &mut Report, server: &Server, label: &str) {
    report.add(
        format!("resident memory, {label} 5000 torrents"),
        server.memory(),
        "≤ 90 MiB",
    );
    let load = http_load::run(
        &server.url("/api/torrents?pageSize=50&sortBy=name&sortDir=asc"),
        server.token(),
        3,
        10,
    );
    report.add(
        format!("GET /api/torrents, page 50 sorted, {label} 5000, 16 connections, wrk on the same cores"),
        format!(
            "{:.0} req/s, p99 {:.1} ms, {:.0} MiB/s",
            load.per_second, load.p99_ms, load.mib_per_second
        ),
        "≥ 10,000 req/s, p99 ≤ 10 ms",
    );
    report.add(
        format!("resident memory after that load, {label}"),
        server.memory(),
        "",
    );
}

/// Number of `stats:update` messages, one per tick.
static TICKS: AtomicU64 = AtomicU64::new(0);

async fn count_ticks<S>(mut socket: tokio_tungstenite::WebSocketStream<S>)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = socket.next().await {
        if message
            .to_text()
            .is_ok_and(|text| text.contains("\"event\":\"stats:update\""))
        {
            TICKS.fetch_add(1, Ordering::Relaxed);
        }
    }
}
