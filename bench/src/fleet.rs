//! 500 plain WebSocket clients while 500 of 5,000 torrents change each tick. The torrents come from a scripted Web API
//! (no real client changes that many at will) through the real plugin.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::{Query, State};
use axum::http::header::SET_COOKIE;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use futures_util::StreamExt as _;
use serde_json::{Map, Value, json};
use tokio_tungstenite::connect_async;

use crate::report::Report;
use crate::server::Server;

pub const TORRENTS: u64 = 5_000;
const CHANGING: u64 = 500;
const CLIENTS: usize = 500;

pub async fn measure(report: &mut Report, seconds: u64) {
    let port = serve_script().await;
    let server = Server::start().await;
    let config = json!({ "baseUrl": format!("http://127.0.0.1:{port}"), "username": "u", "password": "p" });
    server.add_engine("webapi_client", &config, TORRENTS).await;
    let received = Arc::new(AtomicU64::new(0));
    let bytes = Arc::new(AtomicU64::new(0));
    let mut readers = Vec::new();
    for _ in 0..CLIENTS {
        let (mut socket, _) = connect_async(server.ws_url())
            .await
            .expect("the realtime channel");
        let (received, bytes) = (received.clone(), bytes.clone());
        readers.push(tokio::spawn(async move {
            while let Some(Ok(message)) = socket.next().await {
                if message
                    .to_text()
                    .is_ok_and(|text| text.contains("\"full\":false"))
                {
                    received.fetch_add(1, Ordering::Relaxed);
                    bytes.fetch_add(message.len() as u64, Ordering::Relaxed);
                }
            }
        }));
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
    let (cpu, deltas) = (server.cpu_seconds(), received.load(Ordering::Relaxed));
    bytes.store(0, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let cores = (server.cpu_seconds() - cpu) / seconds as f64;
    let deltas = received.load(Ordering::Relaxed) - deltas;
    report.add(
        format!("{CLIENTS} WebSocket clients, {CHANGING} of {TORRENTS} torrents change each tick; readers in the bench process"),
        format!("{cores:.2} cores ({:.1} deltas a client in {seconds} s, {:.0} KiB each)", deltas as f64 / CLIENTS as f64, bytes.load(Ordering::Relaxed) as f64 / 1024.0 / deltas as f64),
        "≤ 0.5 core",
    );
    report.add(
        "resident memory with them",
        format!("{:.0} MiB", server.resident_mib()),
        "",
    );
    readers.iter().for_each(tokio::task::JoinHandle::abort);
}

/// Fake Web API whose `sync/maindata` reports new rates for the next 500 torrents on each call.
pub async fn serve_script() -> u16 {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0))
        .await
        .expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    let router = axum::Router::new()
        .route(
            "/api/v2/auth/login",
            post(|| async { ([(SET_COOKIE, "SID=bench; path=/")], "Ok.") }),
        )
        .route("/api/v2/app/version", get(|| async { "v5.1.0" }))
        .route("/api/v2/app/webapiVersion", get(|| async { "2.11.4" }))
        .route("/api/v2/sync/maindata", get(maindata))
        .with_state(Arc::new(AtomicU64::new(0)));
    tokio::spawn(async move { axum::serve(listener, router).await });
    port
}

async fn maindata(
    State(calls): State<Arc<AtomicU64>>,
    Query(query): Query<BTreeMap<String, String>>,
) -> impl IntoResponse {
    let call = calls.fetch_add(1, Ordering::Relaxed) + 1;
    let known: u64 = query.get("rid").and_then(|rid| rid.parse().ok()).unwrap_or(0);
    let server_state = json!({ "dl_info_speed": 1000, "up_info_speed": 1000, "dl_rate_limit": 0, "up_rate_limit": 0,
        "alltime_dl": 1, "alltime_ul": 1, "free_space_on_disk": 1 });
    let full = known + 1 != call || known == 0;
    let torrents: Map<String, Value> = if full {
        (0..TORRENTS)
            .map(|number| (hash(number), whole(number, call)))
            .collect()
    } else {
        (0..CHANGING)
            .map(|number| (call * CHANGING + number) % TORRENTS)
            .map(|number| (hash(number), moved(number, call)))
            .collect()
    };
    axum::Json(
        json!({ "rid": call, "full_update": full, "torrents": torrents, "server_state": server_state }),
    )
}

fn hash(number: u64) -> String {
    format!(
        "{:040x}",
        u128::from(number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
    )
}

fn moved(number: u64, call: u64) -> Value {
    json!({ "dlspeed": (number * 37 + call * 1009) % 9_000_000, "upspeed": (number * 91 + call * 503) % 2_000_000,
        "eta": 3600 + call % 100, "num_seeds": call % 40 })
}

fn whole(number: u64, call: u64) -> Value {
    let name = format!(
        "Some.Show.S{:02}E{:02}.1080p.WEB-DL.x264-GROUP.{number}",
        number % 30,
        number % 24
    );
    let mut row = json!({ "name": name, "state": "downloading", "progress": 0.5, "size": 4_000_000_000_u64 + number,
        "downloaded": 2_000_000_000_u64, "completed": 2_000_000_000_u64, "uploaded": 1_000_000_u64, "ratio": 0.1,
        "num_complete": 40, "num_leechs": 3, "num_incomplete": 9, "category": "tv", "tags": "",
        "save_path": "/downloads/tv", "content_path": format!("/downloads/tv/{name}"), "added_on": 1_700_000_000 + number,
        "completion_on": -1, "priority": 1 });
    if let (Some(row), Value::Object(rates)) = (row.as_object_mut(), moved(number, call)) {
        row.extend(rates);
    }
    row
}
