//! Media servers with the real plugin: connected, tested, refreshed, and what is left of them in the answers.

use std::sync::{Arc, Mutex};

use qm_testkit::{TestServer, both_databases};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

pub const KEY: &str = "0123456789abcdef-key";

/// A server that answers as Jellyfin does, and the lines that it was asked, each with whether it knew who asks.
pub async fn jellyfin() -> (u16, Arc<Mutex<Vec<(String, bool)>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let asked = Arc::<Mutex<Vec<(String, bool)>>>::default();
    let ours = asked.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let asked = ours.clone();
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.windows(4).any(|part| part == b"\r\n\r\n") {
                    if stream.read_buf(&mut head).await.unwrap_or(0) == 0 {
                        return;
                    }
                }
                let head = String::from_utf8_lossy(&head).into_owned();
                let line = head
                    .lines()
                    .next()
                    .unwrap_or_default()
                    .trim_end_matches(" HTTP/1.1")
                    .to_owned();
                let knows = head.contains(&format!("MediaBrowser Token=\"{KEY}\""));
                let (status, body) = match line.as_str() {
                    "GET /System/Info/Public" => ("200 OK", r#"{"ServerName":"Den","Version":"10.11.2"}"#),
                    _ if !knows => ("401 Unauthorized", ""),
                    "GET /Library/VirtualFolders" => ("200 OK", "[]"),
                    "POST /Library/Refresh" => ("204 No Content", ""),
                    _ => ("404 Not Found", ""),
                };
                asked.lock().expect("a list").push((line, knows));
                let length = body.len();
                let answer = format!(
                    "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
                );
                // Whoever has gone needs no answer.
                let _ = stream.write_all(answer.as_bytes()).await;
            });
        }
    });
    (port, asked)
}

both_databases! {
    async fn a_media_server_is_connected_tested_and_refreshed(db: &TestDb) {
        let (port, asked) = jellyfin().await;
        let server = TestServer::builder(db).plugins(&["jellyfin.wasm"]).start().await;
        let api = server.admin();
        let path = "/api/media/server-integrations";
        let config = json!({ "baseUrl": format!("http://127.0.0.1:{port}/"), "apiKey": KEY });
        let made = api.post(path, json!({ "name": "Den", "kind": "jellyfin", "config": config })).await;
        let one = format!("{path}/{}", made["id"].as_str().expect("an id"));
        assert_eq!((&made["status"], &made["config"]["apiKey"]), (&json!("unknown"), &json!("••••••••")));
        let told = api.post(&format!("{one}/test"), json!({})).await;
        assert_eq!(told, json!({ "ok": true, "message": "Den answers.", "serverName": "Den", "version": "10.11.2" }));
        let refreshed = api.post(&format!("{one}/refresh"), json!({})).await;
        assert!(refreshed["lastRefreshAt"].is_string(), "{refreshed}");
        let lines: Vec<_> = asked.lock().expect("a list").drain(..).collect();
        let wanted = ["GET /System/Info/Public", "GET /Library/VirtualFolders", "POST /Library/Refresh"];
        assert_eq!(lines, wanted.map(|line| (line.to_owned(), true)));
        // A wrong key is found out, although the first question is answered to everybody.
        api.patch(&one, json!({ "config": { "apiKey": "wrong" } })).await;
        let told = api.post(&format!("{one}/test"), json!({})).await;
        assert_eq!(told, json!({ "ok": false, "message": "Jellyfin responded with HTTP 401." }));
        let all = api.get(path).await;
        assert_eq!((&all[0]["status"], &all[0]["lastRefreshAt"]), (&json!("offline"), &refreshed["lastRefreshAt"]));
    }
}
