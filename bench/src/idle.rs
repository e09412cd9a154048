//! CPU and memory while nothing happens: stopped torrents in a real client, one WebSocket client attached. With 5,000
//! torrents the list's speed is measured on the same server.

use std::time::Duration;

use futures_util::StreamExt as _;
use qm_testkit::qbittorrent::Qbittorrent;
use qm_testkit::rtorrent::{Mode, Rtorrent};
use tokio_tungstenite::connect_async;

use crate::report::Report;
use crate::server::Server;
use crate::{clients, http_load};

/// Lets the first full read, the page caches and the allocator settle.
const WARM_UP: Duration = Duration::from_secs(10);

pub async fn measure(report: &mut Report, seconds: u64) {
    for (torrents, target) in [(1_000, 0.4), (5_000, 1.5)] {
        let client = Rtorrent::start(Mode::Tcp).await;
        clients::fill_rtorrent(&client, torrents).await;
        one(
            report,
            "rTorrent",
            "scgi_client",
            &client.config(),
            torrents,
            seconds,
            target,
        )
        .await;
    }
    for (torrents, target) in [(1_000, 0.2), (5_000, 0.3)] {
        let client = Qbittorrent::start().await;
        clients::fill_qbittorrent(&client, torrents).await;
        one(
            report,
            "qBittorrent",
            "webapi_client",
            &client.config(),
            torrents,
            seconds,
            target,
        )
        .await;
    }
}

async fn one(
    report: &mut Report,
    label: &str,
    kind: &str,
    config: &serde_json::Value,
    torrents: u64,
    seconds: u64,
    target: f64,
) {
    let server = Server::start().await;
    server.add_engine(kind, config, torrents).await;
    let (socket, _) = connect_async(server.ws_url())
        .await
        .expect("the realtime channel");
    let counter = tokio::spawn(count_ticks(socket));
    tokio::time::sleep(WARM_UP).await;
    let ticks_before = TICKS.load(std::sync::atomic::Ordering::Relaxed);
    let cpu = server.cpu_seconds();
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let cpu = (server.cpu_seconds() - cpu) * 60.0 / seconds as f64;
    let ticks = TICKS.load(std::sync::atomic::Ordering::Relaxed) - ticks_before;
    counter.abort();
    report.add(
        format!("CPU s per 60 s, {label} {torrents} torrents idle, one WebSocket client"),
        format!("{cpu:.2} ({ticks} ticks in {seconds} s)"),
        format!("≤ {target}, no tick missed"),
    );
    if torrents == 5_000 {
        report.add(
            format!("resident memory, {label} {torrents} torrents"),
            format!("{:.0} MiB", server.resident_mib()),
            "≤ 90 MiB",
        );
        let load = http_load::run(
            &server.url("/api/torrents?pageSize=50&sortBy=name&sortDir=asc"),
            server.token(),
            3,
            10,
        );
        report.add(
            format!(
                "GET /api/torrents, page 50 sorted, {label} {torrents}, 16 connections, wrk on the same cores"
            ),
            format!("{:.0} req/s, p99 {:.1} ms", load.per_second, load.p99_ms),
            "≥ 10,000 req/s, p99 ≤ 10 ms",
        );
        report.add(
            format!("resident memory after that load, {label}"),
            format!("{:.0} MiB", server.resident_mib()),
            "",
        );
    }
}

/// `stats:update` messages seen: one a tick.
static TICKS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

async fn count_ticks<S>(mut socket: tokio_tungstenite::WebSocketStream<S>)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = socket.next().await {
        if message
            .to_text()
            .is_ok_and(|text| text.contains("\"event\":\"stats:update\""))
        {
            TICKS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }
}
