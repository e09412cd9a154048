//! Tests of refused handshakes.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::hub::Refused;
use crate::message::Protocol;

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
async fn socket_io_clients_are_refused_in_their_own_words() {
    let server = Server::start(listing_box()).await;
    let evil = format!("{UPGRADE}Origin: https://evil.example\r\n");
    for (target, headers, status, code, message) in [
        (
            "?EIO=3&transport=websocket",
            UPGRADE,
            400,
            5,
            "Unsupported protocol version",
        ),
        (
            "?EIO=4&transport=websocket&sid=nope",
            UPGRADE,
            400,
            1,
            "Session ID unknown",
        ),
        (
            "?EIO=4&transport=polling&sid=nope",
            "",
            400,
            1,
            "Session ID unknown",
        ),
        ("?EIO=4&transport=polling", "", 400, 0, "Transport unknown"),
        ("?EIO=4", "", 400, 0, "Transport unknown"),
        ("?EIO=4&transport=websocket", "", 400, 3, "Bad request"),
        ("?EIO=4&transport=websocket", &evil, 403, 4, "Forbidden"),
    ] {
        let answer = ask(&server, "GET", &format!("/ws/{target}"), headers).await;
        assert_eq!(
            answer,
            (status, json!({ "code": code, "message": message }).to_string()),
            "{target} {headers:?}"
        );
    }
    let answer = ask(
        &server,
        "POST",
        "/ws/?EIO=4&transport=websocket",
        "Content-Length: 0\r\n",
    )
    .await;
    assert_eq!(
        answer,
        (400, r#"{"code":2,"message":"Bad handshake method"}"#.to_owned())
    );
}

#[tokio::test]
async fn plain_clients_are_refused_like_any_request() {
    let server = Server::start(listing_box()).await;
    let evil = format!("{UPGRADE}Origin: https://evil.example\r\n");
    let old = UPGRADE.replace("13", "8");
    let speaks = "This address speaks WebSocket only";
    let not_allowed = "Method Not Allowed";
    for (method, headers, status, message, error, code) in [
        (
            "GET",
            evil.as_str(),
            403,
            "Origin not allowed",
            "Forbidden",
            "forbidden.origin",
        ),
        ("GET", &old, 400, speaks, "Bad Request", "bad_request.handshake"),
        ("GET", "", 400, speaks, "Bad Request", "bad_request.handshake"),
        (
            "POST",
            "Content-Length: 0\r\n",
            405,
            "Cannot POST /ws/",
            not_allowed,
            "method_not_allowed",
        ),
    ] {
        let (got, body) = ask(&server, method, "/ws/", headers).await;
        let expected = json!({ "message": message, "error": error, "statusCode": status, "code": code });
        assert_eq!(
            (got, serde_json::from_str::<Value>(&body).unwrap()),
            (status, expected),
            "{method} {headers:?}"
        );
    }
    assert_eq!(server.hub.counters().refused, 1);
}

#[tokio::test]
async fn listed_origins_our_own_and_none_are_let_in() {
    let server = Server::start(listing_box()).await;
    let listed = format!("{UPGRADE}Origin: https://box.example\r\n");
    let own = format!("{UPGRADE}Origin: http://{}\r\n", server.address);
    for target in ["/ws", "/ws/", "/ws/?EIO=4&transport=websocket"] {
        for headers in [listed.as_str(), &own, UPGRADE] {
            assert_eq!(
                ask(&server, "GET", target, headers).await.0,
                101,
                "{target} {headers:?}"
            );
        }
    }
}

fn listing_box() -> HubConfig {
    HubConfig {
        cors_origins: vec!["https://box.example".to_owned()],
        ..HubConfig::default()
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

    let server = Server::start(HubConfig {
        max_waiting: 2,
        ..HubConfig::default()
    })
    .await;
    let (first, _second) = (server.connect("").await, server.connect("").await);
    assert!(unavailable(&server).await, "whatever address it comes from");
    let url = server.url("?token=nonsense");
    assert!(
        tokio_tungstenite::connect_async(url).await.is_err(),
        "a token must be good"
    );
    let known = server.url(&format!("?token={}", VIEWER.replace(' ', "+")));
    let known = tokio_tungstenite::connect_async(known).await;
    assert!(known.is_ok(), "who says who he is need not wait");
    drop(first);
    server.until("room again", |counters| counters.sockets == 2).await;
    server.connect("").await;
}

#[tokio::test]
async fn waiting_sockets_are_counted_by_network() {
    let hub = Server::start(HubConfig {
        max_waiting_per_address: 2,
        ..HubConfig::default()
    })
    .await
    .hub;
    let enter = |text: &str, known| hub.enter(Protocol::Plain, text.parse().unwrap(), known);
    let address = |network: u32, host: u32| format!("2001:db8:1:{network}::{host}");
    assert!(enter(&address(1, 1), false).is_ok() && enter(&address(1, 2), false).is_ok());
    assert_eq!(
        enter(&address(1, 3), false).err(),
        Some(Refused::AddressFull),
        "one /64"
    );
    assert!(enter(&address(2, 1), false).is_ok() && enter(&address(3, 1), false).is_ok());
    assert_eq!(
        enter(&address(4, 1), false).err(),
        Some(Refused::AddressFull),
        "one /48"
    );
    assert!(enter(&address(4, 1), true).is_ok(), "it brings a token");
    assert!(enter("2001:db8:2::1", false).is_ok(), "another site");
    assert!(enter("::ffff:198.51.100.7", false).is_ok() && enter("198.51.100.7", false).is_ok());
    assert!(enter("198.51.100.7", false).is_err() && enter("198.51.100.8", false).is_ok());
}
