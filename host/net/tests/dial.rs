//! Tests of endpoints configured by an operator: grants by name, addresses checked at the dial, limited
//! silence.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod common;

use std::time::{Duration, Instant};

use bytes::Bytes;
use common::{Listener, Script, ok};
use qm_kernel::Mandate;
use qm_net::{DialError, Endpoint, Grants, HttpRequest, Net, NetConfig, Progress};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};

const IDLE: Duration = Duration::from_mins(2);

fn grants(config: Value) -> Grants {
    let schema = json!({"type": "object", "properties": {
        "url": {"x-grant": "http-url"}, "host": {"x-grant": "tcp-host", "x-grant-port": "port"}, "port": {},
        "path": {"x-grant": "unix-path"}}});
    Grants::from_config(&schema, config.as_object().unwrap()).unwrap()
}

fn net(answers: &[&[&str]]) -> Net {
    Net::with_resolver(NetConfig::default(), Script::new(answers)).unwrap()
}

fn tcp(host: &str, port: u16) -> Endpoint {
    Endpoint::Tcp {
        host: host.to_owned(),
        port,
    }
}

fn get(url: String) -> HttpRequest {
    HttpRequest {
        method: "GET".into(),
        url,
        headers: vec![],
        body: Bytes::new(),
        idle: IDLE,
        max_body: 1000,
    }
}

async fn connect(net: &Net, endpoint: Endpoint, grants: &Grants) -> Result<(), DialError> {
    net.dialer()
        .connect(&endpoint, grants, IDLE, Progress::default())
        .await
        .map(drop)
}

async fn send(net: &Net, request: HttpRequest, grants: &Grants) -> Result<(u16, Vec<u8>), DialError> {
    let mut response = net.dialer().send(request, grants, Progress::default()).await?;
    let body = response.read_to_end().await?;
    Ok((response.status(), body))
}

fn denied<T: std::fmt::Debug>(result: Result<T, DialError>) {
    assert!(matches!(result, Err(DialError::Denied(_))), "{result:?}");
}

#[tokio::test]
async fn only_what_is_granted_is_dialled() {
    let listener = Listener::on("127.0.0.1:0", ok("hello")).await;
    let port = listener.port();
    let net = net(&[&["127.0.0.1"]]);
    let granted = grants(json!({"host": "box.lan", "port": port, "url": format!("http://box.lan:{port}/")}));
    denied(connect(&net, tcp("127.0.0.1", port), &granted).await);
    denied(connect(&net, tcp("other.lan", port), &granted).await);
    denied(connect(&net, tcp("box.lan", port ^ 1), &granted).await);
    denied(connect(&net, Endpoint::Unix("/run/docker.sock".into()), &granted).await);
    for url in [
        "http://127.0.0.1:P/",
        "http://other.lan:P/",
        "https://box.lan:P/",
        "http://box.lan:P@other.lan/",
    ] {
        denied(send(&net, get(url.replace('P', &port.to_string())), &granted).await);
    }
    assert_eq!(listener.connections(), 0);
    connect(&net, tcp("BOX.lan", port), &granted).await.unwrap();
    let answer = send(&net, get(format!("http://box.lan:{port}/path?q")), &granted)
        .await
        .unwrap();
    assert_eq!(answer, (200, b"hello".to_vec()));
}

#[tokio::test]
async fn metadata_and_link_local_are_never_dialled() {
    for host in [
        "169.254.169.254",
        "[fe80::1]",
        "0.0.0.0",
        "[::]",
        "100.100.100.200",
        "[fd00:ec2::254]",
        "224.0.0.1",
    ] {
        let granted = grants(json!({"host": host, "port": 80, "url": format!("http://{host}/")}));
        let net = net(&[]);
        denied(connect(&net, tcp(host, 80), &granted).await);
        denied(send(&net, get(format!("http://{host}/")), &granted).await);
    }
    // A granted name with such an address.
    let granted = grants(json!({"host": "box.lan", "port": 80, "url": "http://box.lan/"}));
    for answer in [
        &["169.254.169.254"][..],
        &["::ffff:169.254.169.254"],
        &["fe80::1", "0.0.0.0"],
    ] {
        let net = net(&[answer]);
        denied(connect(&net, tcp("box.lan", 80), &granted).await);
        denied(send(&net, get("http://box.lan/".into()), &granted).await);
    }
}

#[tokio::test]
async fn a_forbidden_answer_beside_a_good_one_is_passed_over() {
    let listener = Listener::on("127.0.0.1:0", ok("hello")).await;
    let port = listener.port();
    let net = net(&[&["169.254.169.254", "127.0.0.1"]]);
    let granted = grants(json!({"host": "box.lan", "port": port, "url": format!("http://box.lan:{port}")}));
    connect(&net, tcp("box.lan", port), &granted).await.unwrap();
    assert_eq!(
        send(&net, get(format!("http://box.lan:{port}/")), &granted)
            .await
            .unwrap()
            .0,
        200
    );
}

#[tokio::test]
async fn a_redirect_is_an_answer() {
    let inner = Listener::on("127.0.0.1:0", ok("secret")).await;
    let answer = format!(
        "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:{}/\r\ncontent-length: 0\r\n\r\n",
        inner.port()
    );
    let outer = Listener::on("127.0.0.1:0", answer).await;
    let url = format!("http://127.0.0.1:{}/", outer.port());
    let granted = grants(json!({"url": url}));
    assert_eq!(send(&net(&[]), get(url), &granted).await.unwrap().0, 302);
    assert_eq!(inner.connections(), 0);
}

#[tokio::test]
async fn bodies_are_capped() {
    for answer in [
        ok(&"x".repeat(1001)),
        format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{}", "x".repeat(5000)),
    ] {
        let listener = Listener::on("127.0.0.1:0", answer).await;
        let url = format!("http://127.0.0.1:{}/", listener.port());
        let granted = grants(json!({"url": url}));
        assert_eq!(
            send(&net(&[]), get(url), &granted).await,
            Err(DialError::TooLarge)
        );
    }
}

#[tokio::test]
async fn the_host_header_stays_the_clients() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let seen = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = vec![0; 4096];
        let n = stream.read(&mut head).await.unwrap();
        stream.write_all(ok("").as_bytes()).await.unwrap();
        String::from_utf8_lossy(&head[..n]).to_lowercase()
    });
    let mut request = get(url.clone());
    request.headers = vec![
        ("Host".into(), b"other".to_vec()),
        ("X-Mine".into(), b"yes".to_vec()),
    ];
    send(&net(&[]), request, &grants(json!({"url": url})))
        .await
        .unwrap();
    let head = seen.await.unwrap();
    assert!(
        head.contains("host: 127.0.0.1") && !head.contains("other") && head.contains("x-mine: yes"),
        "{head}"
    );
}

#[tokio::test]
async fn silence_is_bounded_and_a_slow_answer_is_not() {
    let silent = Listener::on("127.0.0.1:0", "").await;
    let url = format!("http://127.0.0.1:{}/", silent.port());
    let granted = grants(json!({"url": url, "host": "127.0.0.1", "port": silent.port()}));
    let idle = Duration::from_millis(200);
    let started = Instant::now();
    let request = HttpRequest { idle, ..get(url) };
    assert_eq!(send(&net(&[]), request, &granted).await, Err(DialError::Timeout));
    let net = net(&[]);
    let endpoint = tcp("127.0.0.1", silent.port());
    let mut stream = net
        .dialer()
        .connect(&endpoint, &granted, idle, Progress::default())
        .await
        .unwrap();
    assert_eq!(stream.read(10).await, Err(DialError::Timeout));
    assert!(started.elapsed() < IDLE);

    let slow = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = slow.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = slow.accept().await.unwrap();
        for _ in 0..10 {
            stream.write_all(b"x").await.unwrap();
            tokio::time::sleep(Duration::from_millis(60)).await;
        }
    });
    let granted = grants(json!({"host": "127.0.0.1", "port": addr.port()}));
    let progress = Progress::default();
    let endpoint = tcp("127.0.0.1", addr.port());
    let mut stream = net
        .dialer()
        .connect(&endpoint, &granted, idle, progress.clone())
        .await
        .unwrap();
    assert_eq!(
        stream.read_to_end(100).await.unwrap().len(),
        10,
        "600 ms in all, but never silent for 200"
    );
    assert_eq!(progress.bytes(), 10);
}

#[tokio::test]
async fn unix_sockets_and_refusals() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("rpc.sock").to_str().unwrap().to_owned();
    let listener = UnixListener::bind(&path).unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).await.unwrap();
        stream.write_all(&all).await.unwrap();
    });
    let granted = grants(json!({"path": path, "host": "127.0.0.1", "port": 1}));
    let net = net(&[]);
    let endpoint = Endpoint::Unix(path);
    let mut stream = net
        .dialer()
        .connect(&endpoint, &granted, IDLE, Progress::default())
        .await
        .unwrap();
    stream.write(b"echo").await.unwrap();
    stream.shutdown_write().await.unwrap();
    assert_eq!(stream.read_to_end(3).await, Err(DialError::TooLarge));
    assert_eq!(
        connect(&net, tcp("127.0.0.1", 1), &granted).await,
        Err(DialError::Refused)
    );
}

#[tokio::test]
async fn without_a_mandate_nothing_is_sent_also_on_what_is_open() {
    let server = Listener::on("127.0.0.1:0", ok("x")).await;
    let port = server.port();
    let mandate = Mandate::until(Mandate::clock() + Duration::from_mins(1));
    let net = net(&[]).under(mandate.clone());
    let stream_grants = grants(json!({ "host": "127.0.0.1", "port": port }));
    let url = format!("http://127.0.0.1:{port}/");
    let url_grants = grants(json!({ "url": url }));
    let mut open = net
        .dialer()
        .connect(&tcp("127.0.0.1", port), &stream_grants, IDLE, Progress::default())
        .await
        .unwrap();
    while server.connections() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    mandate.take_away();
    let denied =
        |error: DialError| matches!(error, DialError::Denied(text) if text.contains("another server"));
    assert!(open.write(b"GET / HTTP/1.1\r\n\r\n").await.is_err_and(denied));
    let endpoint = tcp("127.0.0.1", port);
    assert!(connect(&net, endpoint, &stream_grants).await.is_err_and(denied));
    let sent = net
        .dialer()
        .send(get(url), &url_grants, Progress::default())
        .await;
    assert!(sent.err().is_some_and(denied));
    assert_eq!(server.connections(), 1, "none but the one that was open");
}
