//! A poll of 10,000 torrents through the component compared with the same native code, both on recorded
//! replies of a real rTorrent: the client's own time is excluded.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use qm_ports::engine::{Attention, EngineConfig, EngineDriver};
use qm_testkit::rtorrent::{Mode, Rtorrent};
use scgi_core::native::{Native, NativeClock};
use scgi_core::{Client, Endpoint, Poller};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::clients;
use crate::plugin_host;
use crate::report::{Report, median};

const TORRENTS: u64 = 10_000;
const RUNS: usize = 15;

pub async fn measure(report: &mut Report) {
    let rtorrent = Rtorrent::start(Mode::Tcp).await;
    clients::fill_rtorrent(&rtorrent, TORRENTS).await;
    let real = rtorrent.config()["port"].as_u64().expect("it listens on TCP") as u16;
    let port = replay(real).await;
    let driver = open_component(port).await;
    let (mut full, mut same) = (Pair::default(), Pair::default());
    // In turns, so that noise of the machine affects both. The first round fills the record.
    for round in 0..=RUNS {
        let (component_full, component_same) = component(driver.as_ref()).await;
        let (native_full, native_same) = tokio::task::spawn_blocking(move || native(port))
            .await
            .expect("no panic");
        if round > 0 {
            full.push(component_full, native_full);
            same.push(component_same, native_same);
        }
    }
    full.report(
        report,
        "poll of 10,000 torrents, all told: component against native",
        "≤ 1.7×",
    );
    same.report(
        report,
        "poll of 10,000 torrents, none changed: component against native",
        "≤ 1.7×",
    );
    driver.close().await;
}

#[derive(Default)]
struct Pair {
    component: Vec<f64>,
    native: Vec<f64>,
}

impl Pair {
    fn push(&mut self, component: Duration, native: Duration) {
        self.component.push(component.as_secs_f64() * 1000.0);
        self.native.push(native.as_secs_f64() * 1000.0);
    }

    fn report(self, report: &mut Report, what: &str, target: &str) {
        let (component, native) = (median(self.component), median(self.native));
        let figure = format!(
            "{:.2}× ({component:.1} ms against {native:.1} ms)",
            component / native
        );
        report.add(what, figure, target);
    }
}

async fn open_component(port: u16) -> Arc<dyn EngineDriver> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let plugins = std::env::var_os("QM_PLUGINS_DIR").expect("QM_PLUGINS_DIR");
    let host = plugin_host::start(plugins.into(), dir.path().join("cache")).await;
    let config = json!({ "mode": "scgi-tcp", "host": "127.0.0.1", "port": port });
    let config = EngineConfig {
        fields: config.as_object().cloned().unwrap_or_default(),
        secrets: Vec::new(),
    };
    let driver = host
        .engine_kinds()
        .open("bench", "scgi_client", config)
        .await
        .expect("the engine");
    // The host must outlive its engine.
    std::mem::forget(host);
    driver
}

/// Durations of a full poll, and of one without changes.
async fn component(driver: &dyn EngineDriver) -> (Duration, Duration) {
    let begin = Instant::now();
    let delta = driver
        .poll(None, Attention::Watched, &[])
        .await
        .expect("a full poll");
    let full = begin.elapsed();
    assert_eq!((delta.full, delta.changed.len() as u64), (true, TORRENTS));
    let begin = Instant::now();
    let delta = driver
        .poll(Some(delta.cursor), Attention::Watched, &[])
        .await
        .expect("a poll");
    let same = begin.elapsed();
    assert_eq!((delta.full, delta.changed.len()), (false, 0));
    (full, same)
}

fn native(port: u16) -> (Duration, Duration) {
    let endpoint = Endpoint::Tcp {
        host: "127.0.0.1".to_owned(),
        port,
    };
    let client = Client::new(endpoint, 15_000, Native, NativeClock::default());
    let mut poller = Poller::default();
    let begin = Instant::now();
    let mut told = Vec::new();
    let summary = poller
        .poll(&client, None, scgi_core::Attention::Watched, &mut |torrent| {
            told.push(torrent);
        })
        .expect("a full poll");
    let full = begin.elapsed();
    assert_eq!((summary.full, told.len() as u64), (true, TORRENTS));
    let begin = Instant::now();
    let mut told = Vec::new();
    poller
        .poll(
            &client,
            Some(summary.cursor),
            scgi_core::Attention::Watched,
            &mut |torrent| told.push(torrent),
        )
        .expect("a poll");
    let same = begin.elapsed();
    assert!(told.is_empty());
    (full, same)
}

type Record = Arc<Mutex<HashMap<Vec<u8>, Arc<Vec<u8>>>>>;

/// SCGI server that forwards each request once to the real one.
async fn replay(real: u16) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    let record = Record::default();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, real, record.clone()));
        }
    });
    port
}

async fn answer(mut stream: TcpStream, real: u16, record: Record) {
    let Some(request) = read_request(&mut stream).await else {
        return;
    };
    let known = record.lock().expect("no panic").get(&request).cloned();
    let reply = match known {
        Some(reply) => reply,
        None => {
            let mut upstream = TcpStream::connect(("127.0.0.1", real)).await.expect("rTorrent");
            let mut reply = Vec::new();
            upstream.write_all(&request).await.expect("rTorrent reads");
            upstream.read_to_end(&mut reply).await.expect("rTorrent answers");
            let reply = Arc::new(reply);
            record.lock().expect("no panic").insert(request, reply.clone());
            reply
        }
    };
    // The other side may hang up early.
    let _ = stream.write_all(&reply).await;
}

/// `<length>:<headers>,<body>`, where the headers begin with `CONTENT_LENGTH`.
async fn read_request(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut request = Vec::new();
    loop {
        if stream.read_buf(&mut request).await.ok()? == 0 {
            return None;
        }
        let Some(colon) = request.iter().position(|byte| *byte == b':') else {
            continue;
        };
        let headers: usize = std::str::from_utf8(&request[..colon]).ok()?.parse().ok()?;
        let Some(head) = request.get(colon + 1..colon + 1 + headers) else {
            continue;
        };
        let body: usize = std::str::from_utf8(head.split(|byte| *byte == 0).nth(1)?)
            .ok()?
            .parse()
            .ok()?;
        if request.len() >= colon + 1 + headers + 1 + body {
            return Some(request);
        }
    }
}
