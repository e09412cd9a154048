//! Effect of a broken engine on its neighbours: the tick interval of a healthy engine and the list's p99,
//! alone and beside one engine that misbehaves in each manner.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use qm_testkit::hostile::{HostileServer, Manner, Protocol};
use serde_json::json;
use tokio_tungstenite::connect_async_with_config;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use crate::report::{Report, median};
use crate::server::Server;
use crate::{fleet, http_load};

pub async fn measure(report: &mut Report) {
    let port = fleet::serve_script().await;
    let server = Server::start().await;
    let config = json!({ "baseUrl": format!("http://127.0.0.1:{port}"), "username": "u", "password": "p" });
    let healthy = server.add_engine("webapi_client", &config, fleet::TORRENTS).await;
    let ticks = watch_ticks(&server, healthy).await;
    round(report, &server, &ticks, "alone").await;
    for protocol in [Protocol::Scgi, Protocol::Http] {
        for manner in Manner::ALL {
            let hostile = HostileServer::start(protocol, *manner).await;
            let (kind, config) = hostile.engine();
            let engine = server.add_neighbour(kind, &config).await;
            round(report, &server, &ticks, &format!("beside a {manner:?} {kind}")).await;
            server.remove_engine(&engine).await;
        }
    }
}

/// Loads per row: the p99 of one load of five seconds varies by a factor of two.
const LOADS: usize = 3;

pub type Ticks = Arc<Mutex<Vec<Instant>>>;

/// Records the time of every `stats:update` of the healthy engine. A closed channel is reopened, and its
/// missing ticks show in the figures; so does a missing server.
pub async fn watch_ticks(server: &Server, engine: String) -> Ticks {
    // A flood of torrents is one message of any size.
    let any_size = WebSocketConfig::default()
        .max_message_size(None)
        .max_frame_size(None);
    let url = server.ws_url();
    let ticks = Ticks::default();
    let noted = ticks.clone();
    tokio::spawn(async move {
        // A refusing server has ended, and so has the measurement.
        while let Ok((mut socket, _)) = connect_async_with_config(&url, Some(any_size), false).await {
            while let Some(Ok(message)) = socket.next().await {
                let ours = |text: &str| text.contains("\"stats:update\"") && text.contains(&engine);
                if message.to_text().is_ok_and(ours) {
                    noted.lock().expect("no panic").push(Instant::now());
                }
            }
            eprintln!("the channel that shows the ticks was closed, and is opened again");
        }
    });
    ticks
}

pub async fn round(report: &mut Report, server: &Server, ticks: &Ticks, what: &str) {
    let figures = figures(server, ticks, Duration::from_secs(10), async || ()).await;
    report.add(format!("healthy engine {what}"), figures, "as alone");
}

/// Figures from `time` of ticks without load, then the median of some loads, with `anew` before each.
pub async fn figures(server: &Server, ticks: &Ticks, time: Duration, anew: impl AsyncFn()) -> String {
    ticks.lock().expect("no panic").clear();
    tokio::time::sleep(time).await;
    let seen = std::mem::take(&mut *ticks.lock().expect("no panic"));
    let gaps: Vec<f64> = seen
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).as_secs_f64())
        .collect();
    let longest = gaps.iter().copied().fold(0.0, f64::max);
    let url = server.url("/api/torrents?pageSize=50&sortBy=name&sortDir=asc");
    let (mut p99_ms, mut per_second) = (Vec::new(), Vec::new());
    for _ in 0..LOADS {
        anew().await;
        let load = http_load::run(&url, server.token(), 1, 5);
        p99_ms.push(load.p99_ms);
        per_second.push(load.per_second);
    }
    format!(
        "tick every {:.2} s, longest {longest:.2} s; list p99 {:.1} ms at {:.0} req/s",
        median(gaps),
        median(p99_ms),
        median(per_second)
    )
}
