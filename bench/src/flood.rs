//! Cost of an engine whose list grows without end: ticks and lists of a healthy engine meanwhile, memory, and
//! its deletion.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::fleet;
use crate::neighbours::{round, watch_ticks};
use crate::report::Report;
use crate::server::Server;

/// Longer than the flood takes to reach its limit, at 20,000 torrents a tick.
const LET_IN: Duration = Duration::from_mins(1);

pub async fn measure(report: &mut Report) {
    let port = fleet::serve_script().await;
    let plugins = tempfile::tempdir().expect("a temporary directory");
    for name in ["misbehave.wasm", "webapi_client.wasm"] {
        qm_testkit::plugins::install(name, plugins.path());
    }
    let server = Server::start_beside(plugins.path()).await;
    let config = json!({ "baseUrl": format!("http://127.0.0.1:{port}"), "username": "u", "password": "p" });
    let healthy = server.add_engine("webapi_client", &config, fleet::TORRENTS).await;
    let ticks = watch_ticks(&server, healthy).await;
    round(report, &server, &ticks, "alone").await;
    let before = server.resident_mib();
    let flood = server
        .add_neighbour("misbehave", &json!({ "mode": "ever_new" }))
        .await;
    round(report, &server, &ticks, "beside a flood that is let in").await;
    tokio::time::sleep(LET_IN).await;
    round(report, &server, &ticks, "beside a flood at its limit").await;
    let flooded = server.resident_mib();
    let begun = Instant::now();
    server.remove_engine(&flood).await;
    let deleted = begun.elapsed().as_secs_f64() * 1000.0;
    round(report, &server, &ticks, "while the rows of a flood go").await;
    report.add(
        "a flood of 20,000 torrents a tick",
        format!("{before:.0} MiB before, {flooded:.0} MiB at its limit; deleted in {deleted:.0} ms"),
        "bounded; at once",
    );
}
