//! An indexer aggregator on loopback. It answers as Prowlarr's v1 API does, and misbehaves in every way that is asked
//! for.
//!
//! The first part of the path of its base URL names its behaviour: `http://127.0.0.1:PORT/good`. Its indexers answer
//! Torznab below that, as `…/good/1/api`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use qm_lanes::IgnorePoison;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::indexer::{KEY, answer as torznab, http};

const JSON: &str = "content-type: application/json; charset=utf-8\r\n";

#[derive(Default)]
struct State {
    indexers: Vec<Value>,
    /// Heads of requests, whole.
    heard: Vec<String>,
}

/// The server. Its key is [`KEY`].
pub struct FakeAggregator {
    pub port: u16,
    state: Arc<Mutex<State>>,
}

impl FakeAggregator {
    /// # Panics
    /// When nothing on loopback can be bound.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::<Mutex<State>>::default();
        let shared = state.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, port, shared.clone()));
            }
        });
        Self { port, state }
    }

    /// The URL of one way to answer.
    pub fn base(&self, way: &str) -> String {
        format!("http://127.0.0.1:{}/{way}", self.port)
    }

    /// Has these indexers from now on.
    pub fn has(&self, indexers: Vec<Value>) {
        self.state.lock().ignore_poison().indexers = indexers;
    }

    /// Heads of what was asked since the last look, whole.
    pub fn heard(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().ignore_poison().heard)
    }
}

/// An indexer for torrents as the aggregator lists it, with what its answers have besides.
pub fn listed(id: u32, name: &str, definition: &str) -> Value {
    json!({
        "id": id, "name": name, "definitionName": definition, "implementation": "Cardigann", "implementationName": "Cardigann",
        "configContract": "CardigannSettings", "infoLink": "https://wiki.test/orchard", "tags": [], "sortName": name,
        "fields": [{ "order": 0, "name": "baseUrl", "label": "Base Url", "type": "select", "privacy": "normal" }],
        "indexerUrls": ["https://orchard.test/"], "language": "en-US", "enable": true, "redirect": false, "supportsRss": true,
        "supportsSearch": true, "appProfileId": 1, "protocol": "torrent", "privacy": "public", "priority": 25,
        "added": "2024-05-01T08:00:00Z", "capabilities": {
            "limitsMax": 100, "limitsDefault": 100, "supportsRawSearch": false, "searchParams": ["q"],
            "categories": [
                { "id": 5000, "name": "TV", "subCategories": [{ "id": 5040, "name": "TV/HD", "subCategories": [] }] },
                { "id": 2000, "name": "Movies", "subCategories": [] },
                { "id": 100_075, "name": "Anything", "subCategories": [] },
            ],
        },
    })
}

async fn serve(mut stream: TcpStream, port: u16, state: Arc<Mutex<State>>) {
    let mut bytes = Vec::new();
    while !bytes.windows(4).any(|part| part == b"\r\n\r\n") {
        match stream.read_buf(&mut bytes).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
    }
    let head = String::from_utf8_lossy(&bytes).into_owned();
    let list = {
        let mut state = state.lock().ignore_poison();
        state.heard.push(head.clone());
        Value::from(state.indexers.clone())
    };
    let target = head.split_whitespace().nth(1).unwrap_or("/");
    let way = target[1..].split(['/', '?']).next().unwrap_or_default();
    match way {
        "hang" => tokio::time::sleep(Duration::from_mins(5)).await,
        "huge" => huge(stream).await,
        _ => {
            // Whoever has gone needs no answer.
            let _ = stream.write_all(&answer(way, target, &head, port, &list)).await;
            let _ = stream.shutdown().await;
        }
    }
}

/// 64 MiB of a text in JSON.
async fn huge(mut stream: TcpStream) {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{\"version\":\"";
    let mut going = stream.write_all(head).await.is_ok();
    let piece = vec![b'x'; 1 << 20];
    let mut left = 64;
    while going && left > 0 {
        going = stream.write_all(&piece).await.is_ok();
        left -= 1;
    }
}

fn answer(way: &str, target: &str, head: &str, port: u16, list: &Value) -> Vec<u8> {
    let key = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("x-api-key").then(|| value.trim())
    });
    let is_status = target.ends_with("/api/v1/system/status");
    let is_list = target.ends_with("/api/v1/indexer");
    if let Some(answer) = jackett(way, target) {
        return answer;
    }
    if !is_status && !is_list {
        return torznab("good", target, port);
    }
    let status = |name: &str| {
        let status =
            json!({ "appName": name, "instanceName": name, "version": "1.21.2.4649", "isProduction": true });
        http("200 OK", JSON, status.to_string().as_bytes())
    };
    match way {
        _ if key != Some(KEY) => http("401 Unauthorized", "", b""),
        "good" if is_list => http("200 OK", JSON, list.to_string().as_bytes()),
        "sister" => status("Lidarr"),
        "html" => http(
            "200 OK",
            "content-type: text/html\r\n",
            b"<html><title>Welcome</title></html>",
        ),
        "garbage" => http("200 OK", JSON, &[0x9d, 0xff, 0x00, 0x80].repeat(500)),
        "broken" => http("500 Internal Server Error", JSON, b"{}"),
        "metadata" => http("302 Found", "location: http://169.254.169.254/latest\r\n", b""),
        "away" => {
            let there = format!("location: http://127.0.0.1:{port}/stolen/api/v1/system/status\r\n");
            http("302 Found", &there, b"")
        }
        "nolist" if is_list => http("200 OK", JSON, b"{\"indexers\": []}"),
        "endless" if is_list => http("200 OK", JSON, format!("[{}0]", "0,".repeat(3000)).as_bytes()),
        _ => status("Prowlarr"),
    }
}

/// The answer of Jackett in the behaviours that play it. In any other, its own addresses answer 404, and `None` means
/// that Prowlarr answers.
fn jackett(way: &str, target: &str) -> Option<Vec<u8>> {
    let is_own = target.contains("/api/v2.0/indexers/");
    let sign_in = || http("302 Found", "location: /UI/Login?ReturnUrl=%2F\r\n", b"");
    match way {
        "jackett" if is_own && !target.contains("/system/") => Some(http(
            "401 Unauthorized",
            "content-type: application/xml\r\n",
            br#"<?xml version="1.0" encoding="UTF-8"?><error code="100" description="Invalid API Key" />"#,
        )),
        "jackett" => Some(http("404 Not Found", "", b"")),
        "jackett-login" => Some(sign_in()),
        _ if is_own => Some(http("404 Not Found", "", b"")),
        _ => None,
    }
}
