//! Tests with bytes that no browser sends.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use qm_web::{ConnectionLimits, WebConfig};

use crate::support::{FIRST_STEP, GO_ON, HEARD, SECOND_STEP, Server, server, start_within};

/// Sends bytes and reads the answer; a closed connection is an answer too.
async fn raw(server: &Server, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let _ = stream.write_all(bytes).await;
    let mut answer = [0; 4096];
    let read = tokio::time::timeout(Duration::from_mins(1), stream.read(&mut answer)).await;
    let length = read.ok().and_then(Result::ok).unwrap_or_default();
    String::from_utf8_lossy(&answer[..length]).into_owned()
}

#[tokio::test]
async fn nonsense_never_takes_the_server_down() {
    let server = server().await;
    let many_headers = (0..200).fold(
        String::from("GET /api/things HTTP/1.1\r\nHost: x\r\n"),
        |text, number| format!("{text}x-{number}: 1\r\n"),
    ) + "\r\n";
    let long_head = format!(
        "GET /api/things HTTP/1.1\r\nHost: x\r\nx: {}\r\n\r\n",
        "a".repeat(200_000)
    );
    let long_path = format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "a".repeat(60_000));
    for (bytes, statuses) in [
        (&b"\0\xff\xfe garbage\r\n\r\n"[..], &["400", ""][..]),
        (b"GET / HTTP/9.9\r\n\r\n", &["400", "505", ""]),
        (
            b"POST /api/account HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
            &["400"],
        ),
        (
            b"POST /api/account HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
            &["400"],
        ),
        (
            b"POST /api/account HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
            &["400"],
        ),
        (b"GET /api/things/%00%ff HTTP/1.1\r\nHost: x\r\n\r\n", &["401"]),
        (
            b"GET /api/failing/\xff HTTP/1.1\r\nHost: x\r\n\r\n",
            &["400", "404"],
        ),
        (b"GET /../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", &["404"]),
        (b"BREW /api/things HTTP/1.1\r\nHost: x\r\n\r\n", &["405"]),
        (
            b"CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n",
            &["404", "400", ""],
        ),
        (many_headers.as_bytes(), &["431"]),
        (long_head.as_bytes(), &["431"]),
        (long_path.as_bytes(), &["404", "414"]),
        (
            b"GET /api/things HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \xff\xfe\r\n\r\n",
            &["200"],
        ),
        (
            b"GET /api/things/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \xff\xfe\r\n\r\n",
            &["401"],
        ),
        (
            b"GET /api/things HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: \xff, ,\r\nIf-None-Match: \xff\r\n\r\n",
            &["200"],
        ),
    ] {
        let answer = raw(&server, bytes).await;
        let status = answer.split(' ').nth(1).unwrap_or_default();
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).into_owned();
        assert!(statuses.contains(&status), "{shown:?} got {answer:?}");
    }
    assert_eq!(server.get("/api/things").await.status, 200, "it still stands");
}

#[tokio::test]
async fn a_token_of_any_size_is_an_answer() {
    let server = server().await;
    for size in [1, 1_000, 16 * 1024, 20_000, 40_000] {
        assert_eq!(
            server.get_as(&"x".repeat(size), "/api/things/1").await.status,
            401,
            "{size}"
        );
    }
}

#[tokio::test]
async fn a_connection_serves_many_requests_after_an_error_and_a_panic() {
    let server = server().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    for (target, status) in [
        ("/api/nope", "404"),
        ("/api/failing/panic", "500"),
        ("/api/things/1", "401"),
        ("/api/things", "200"),
    ] {
        stream
            .write_all(format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes())
            .await
            .unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"}") {
            let mut piece = [0; 4096];
            let read = tokio::time::timeout(Duration::from_mins(1), stream.read(&mut piece))
                .await
                .unwrap()
                .unwrap();
            assert_ne!(read, 0, "the connection ended at {target}");
            answer.extend_from_slice(&piece[..read]);
        }
        assert!(
            answer.starts_with(format!("HTTP/1.1 {status}").as_bytes()),
            "{target}"
        );
    }
}

#[tokio::test]
async fn a_body_announced_beyond_all_limits_is_refused_at_once() {
    let server = server().await;
    let request = "POST /api/account HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
                   Content-Length: 99999999999\r\n\r\n{";
    assert!(raw(&server, request.as_bytes()).await.starts_with("HTTP/1.1 413"));
}

#[tokio::test]
async fn a_body_that_is_too_large_is_not_read_on_for_a_stranger() {
    let server = server().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = "POST /api/account HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
                Transfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let chunk = [b"4000\r\n".to_vec(), vec![b' '; 0x4000], b"\r\n".to_vec()].concat();
    // It never ends: the answer comes while more is being sent.
    let answered = async {
        let (mut reader, mut writer) = stream.split();
        let mut answer = [0; 4096];
        let mut sent = 0;
        loop {
            tokio::select! {
                biased;
                read = reader.read(&mut answer) => {
                    return (String::from_utf8_lossy(&answer[..read.unwrap_or_default()]).into_owned(), sent);
                }
                // Refused once the server has closed; its answer can still be read.
                written = writer.write(&chunk) => sent += written.unwrap_or_default(),
            }
        }
    };
    let (answer, sent) = tokio::time::timeout(Duration::from_mins(1), answered)
        .await
        .unwrap();
    // The system buffers a part.
    assert!(sent < 32 * 1024 * 1024, "{sent} bytes were taken");
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 413"),
        "{answer}"
    );
}

/// True when the server accepts a connection: a refused one is closed at once.
async fn is_taken(stream: &mut TcpStream) -> bool {
    if stream
        .write_all(b"GET /api/things HTTP/1.1\r\nHost: x\r\n\r\n")
        .await
        .is_err()
    {
        return false;
    }
    let mut answer = [0; 64];
    let read = tokio::time::timeout(Duration::from_mins(1), stream.read(&mut answer)).await;
    matches!(read.unwrap(), Ok(1..))
}

#[tokio::test]
async fn an_address_holds_its_share_of_connections_and_upgraded_ones_count() {
    let limits = ConnectionLimits {
        all: 12,
        proxied: false,
    };
    let server = start_within(WebConfig::default(), limits).await;
    let mut held = Vec::new();
    for number in 0..3 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let request = b"GET /silence HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: silence\r\n\r\n";
        stream.write_all(request).await.unwrap();
        let mut answer = [0; 1024];
        let read = stream.read(&mut answer).await.unwrap();
        assert!(answer[..read].starts_with(b"HTTP/1.1 101"), "{number}");
        held.push(stream);
    }
    let mut one_more = TcpStream::connect(server.address).await.unwrap();
    assert!(!is_taken(&mut one_more).await, "a quarter of twelve is taken");
    held.pop();
    let patience = tokio::time::Instant::now() + Duration::from_mins(1);
    loop {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        if is_taken(&mut stream).await {
            break;
        }
        assert!(tokio::time::Instant::now() < patience, "a place is free again");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_change_goes_on_when_its_caller_hangs_up() {
    let server = server().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream
        .write_all(b"POST /api/steps HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
        .await
        .unwrap();
    let patience = Duration::from_mins(1);
    tokio::time::timeout(patience, FIRST_STEP.notified())
        .await
        .unwrap();
    drop(stream);
    // Time for the server to see the end of the connection; a dropped handler never reaches its second step.
    tokio::time::sleep(Duration::from_millis(200)).await;
    GO_ON.notify_one();
    tokio::time::timeout(patience, SECOND_STEP.notified())
        .await
        .unwrap();
    tokio::time::timeout(patience, HEARD.notified()).await.unwrap();
}
