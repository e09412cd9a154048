//! What is refused before a connection stands.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

/// Status and body of one request.
async fn ask(server: &Server, method: &str, target: &str, headers: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let host = server.address;
    let request = format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"}") && !answer.starts_with(b"HTTP/1.1 101") {
        let mut piece = [0; 4096];
        match timeout(DEADLINE, stream.read(&mut piece)).await.unwrap().unwrap() {
            0 => break,
            read => answer.extend_from_slice(&piece[..read]),
        }
    }
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
    (status, body.unwrap_or_default())
}

#[tokio::test]
async fn refusals_have_the_body_of_their_protocol() {
    let config = HubConfig {
        cors_origins: vec!["https://box.example".to_owned()],
        ..HubConfig::default()
    };
    let server = Server::start(config).await;
    let evil = format!("{UPGRADE}Origin: https://evil.example\r\n");
    let good = format!("{UPGRADE}Origin: https://box.example\r\n");
    let own = format!("{UPGRADE}Origin: http://{}\r\n", server.address);
    let old = UPGRADE.replace("13", "8");
    for (method, target, headers, status, body) in [
        (
            "GET",
            "/ws/?EIO=3&transport=websocket",
            UPGRADE,
            400,
            r#"{"code":5,"message":"Unsupported protocol version"}"#,
        ),
        (
            "GET",
            "/ws/?EIO=4&transport=websocket&sid=nope",
            UPGRADE,
            400,
            r#"{"code":1,"message":"Session ID unknown"}"#,
        ),
        (
            "GET",
            "/ws/?EIO=4&transport=polling&sid=nope",
            "",
            400,
            r#"{"code":1,"message":"Session ID unknown"}"#,
        ),
        (
            "GET",
            "/ws/?EIO=4&transport=polling",
            "",
            400,
            r#"{"code":0,"message":"Transport unknown"}"#,
        ),
        (
            "GET",
            "/ws/?EIO=4",
            "",
            400,
            r#"{"code":0,"message":"Transport unknown"}"#,
        ),
        (
            "GET",
            "/ws/?EIO=4&transport=websocket",
            "",
            400,
            r#"{"code":3,"message":"Bad request"}"#,
        ),
        (
            "POST",
            "/ws/?EIO=4&transport=websocket",
            "Content-Length: 0\r\n",
            400,
            r#"{"code":2,"message":"Bad handshake method"}"#,
        ),
        (
            "GET",
            "/ws/?EIO=4&transport=websocket",
            &evil,
            403,
            r#"{"code":4,"message":"Forbidden"}"#,
        ),
        ("GET", "/ws/?EIO=4&transport=websocket", &good, 101, ""),
        ("GET", "/ws", &own, 101, ""),
        ("GET", "/ws/", UPGRADE, 101, ""),
        (
            "GET",
            "/ws/",
            &evil,
            403,
            r#"{"message":"Origin not allowed","error":"Forbidden","statusCode":403}"#,
        ),
        (
            "GET",
            "/ws/",
            &old,
            400,
            r#"{"message":"This address speaks WebSocket only","error":"Bad Request","statusCode":400}"#,
        ),
        (
            "GET",
            "/ws/",
            "",
            400,
            r#"{"message":"This address speaks WebSocket only","error":"Bad Request","statusCode":400}"#,
        ),
        (
            "POST",
            "/ws/",
            "Content-Length: 0\r\n",
            404,
            r#"{"message":"Cannot POST /ws/","error":"Not Found","statusCode":404}"#,
        ),
    ] {
        let (got_status, got_body) = ask(&server, method, target, headers).await;
        assert_eq!(got_status, status, "{method} {target} {headers:?}: {got_body}");
        if status != 101 {
            assert_eq!(got_body, body, "{method} {target} {headers:?}");
        }
    }
}

#[tokio::test]
async fn sockets_are_bounded_in_all_by_address_and_without_a_token() {
    let unavailable = |server: &Server| {
        let url = server.url("");
        async move { tokio_tungstenite::connect_async(url).await.is_err() }
    };
    let server = Server::start(HubConfig {
        max_sockets: 1,
        ..HubConfig::default()
    })
    .await;
    let one = server.plain(VIEWER).await;
    assert!(unavailable(&server).await);
    drop(one);
    server.until("room again", |counters| counters.sockets == 0).await;
    server.plain(VIEWER).await;

    let server = Server::start(HubConfig {
        max_per_address: 2,
        ..HubConfig::default()
    })
    .await;
    let _kept = (server.plain(VIEWER).await, server.plain(VIEWER).await);
    assert!(unavailable(&server).await);
    assert_eq!(server.hub.counters().refused, 1);

    let server = Server::start(HubConfig {
        max_waiting_per_address: 1,
        ..HubConfig::default()
    })
    .await;
    let mut waiting = server.connect("").await;
    assert!(unavailable(&server).await);
    waiting.auth(VIEWER).await;
    assert_eq!(waiting.json().await["event"], "auth:ok");
    server.connect("").await;
}
