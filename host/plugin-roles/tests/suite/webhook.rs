//! The webhook that comes with the server, against servers of its own: what is posted, and what counts as a failure.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use qm_plugin_host::{Compiler, Limits};
use qm_ports::action::{ActionCall, ActionError, Occasion};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::bench::{Bench, first_party, limits};
use crate::network::{answer, listen};

/// A name of this machine that the operator listed.
fn listed(port: u16, path: &str) -> String {
    format!("http://listed.example:{port}{path}")
}

fn call(occasion: Occasion, params: Value) -> ActionCall {
    let object = |value: Value| value.as_object().cloned().unwrap_or_default();
    ActionCall {
        author: None,
        run_id: "run-1".to_owned(),
        occasion,
        params: object(params),
        context: object(json!({ "name": "x", "ratio": 2.5, "size": u64::MAX })),
        torrent: None,
        powers: qm_kernel::PermissionSet::all(),
    }
}

/// A host that grants the webhook what it asks for.
async fn bench() -> Bench {
    let limits = Limits {
        silence: Duration::from_secs(25),
        ..limits()
    };
    let bench = Bench::at_once(
        &[("webhook.wasm", first_party("webhook.wasm"))],
        limits,
        Compiler::InProcess,
    )
    .await;
    bench.host.settled().await;
    bench.pins.grant_capabilities("webhook", &["http-guarded"]);
    bench.host.follow_grants("webhook").await.unwrap();
    bench
}

async fn post(bench: &Bench, url: &str) -> Result<(), ActionError> {
    let call = call(Occasion::Torrent, json!({ "url": url }));
    bench.host.actions().run("webhook", call).await
}

/// One request whole: its head, and as much of a body as that says.
pub async fn request(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let mut bytes = Vec::new();
    loop {
        stream.read_buf(&mut bytes).await.unwrap();
        let Some(end) = bytes.windows(4).position(|part| part == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8(bytes[..end].to_vec())
            .unwrap()
            .to_ascii_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.map_or(0, |length| length.parse().unwrap());
        while bytes.len() < end + 4 + length {
            stream.read_buf(&mut bytes).await.unwrap();
        }
        return (head, bytes[end + 4..].to_vec());
    }
}

#[tokio::test]
async fn it_posts_what_the_rule_ran_for_and_its_parameters() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (give, mut take) = mpsc::channel(4);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            give.send(request(&mut stream).await).await.unwrap();
            stream.write_all(&answer("204 No Content", "")).await.unwrap();
        }
    });
    let bench = bench().await;
    let params = json!({ "url": listed(port, "/hook?token=t"), "note": "\u{e4}\n" });
    for (occasion, name) in [
        (Occasion::Torrent, "torrent"),
        (Occasion::Media, "torrent"),
        (Occasion::Event, "event"),
    ] {
        let asked = call(occasion, params.clone());
        let context = asked.context.clone();
        assert_eq!(bench.host.actions().run("webhook", asked).await, Ok(()));
        let (head, body) = take.recv().await.unwrap();
        assert!(head.starts_with("post /hook?token=t http/1.1"), "{head}");
        assert!(head.contains("\r\ncontent-type: application/json"), "{head}");
        let body: Map<String, Value> = serde_json::from_slice(&body).unwrap();
        assert_eq!(body.len(), 2);
        assert_eq!((&body[name], &body["params"]), (&Value::Object(context), &params));
    }
}

#[tokio::test]
async fn what_leads_inside_is_refused_unless_it_is_listed() {
    let (port, count) = listen(vec![answer("200 OK", "x")], Duration::ZERO).await;
    let bench = bench().await;
    for host in ["127.0.0.1", "localhost", "[::1]", "0x7f.1", "inside.example"] {
        let refused = post(&bench, &format!("http://{host}:{port}/")).await;
        let text = refused.unwrap_err().to_string();
        assert!(
            text.starts_with("URL resolves to a blocked internal address"),
            "{host}: {text}"
        );
    }
    assert_eq!(count.load(Ordering::SeqCst), 0);
    assert_eq!(post(&bench, &listed(port, "/")).await, Ok(()));
    assert_eq!(count.load(Ordering::SeqCst), 1);
    let missing = bench
        .host
        .actions()
        .run("webhook", call(Occasion::Event, json!({})))
        .await;
    assert_eq!(
        missing,
        Err(ActionError::InvalidParams("url is required".to_owned()))
    );
    let nobody = post(&bench, "http://listed.example:1/?token=geheim").await;
    assert!(
        matches!(&nobody, Err(ActionError::Unreachable(why)) if !why.contains("geheim")),
        "{nobody:?}"
    );
    bench.pins.grant_capabilities("webhook", &[]);
    bench.host.follow_grants("webhook").await.unwrap();
    assert!(matches!(
        post(&bench, &listed(port, "/")).await,
        Err(ActionError::Denied(_))
    ));
}

#[tokio::test]
async fn a_bad_status_and_a_redirect_are_failures() {
    let bench = bench().await;
    for (head, expected) in [
        ("500 Internal Server Error", "Webhook responded 500"),
        ("404 Not Found", "Webhook responded 404"),
        (
            "302 Found\r\nlocation: http://listed.example:1/",
            "redirects are not followed",
        ),
        ("304 Not Modified", "redirects are not followed"),
    ] {
        let (port, count) = listen(vec![answer(head, "")], Duration::ZERO).await;
        let failed = post(&bench, &listed(port, "/")).await;
        assert_eq!(failed, Err(ActionError::Rejected(expected.to_owned())), "{head}");
        assert_eq!(count.load(Ordering::SeqCst), 1, "it is not tried again");
    }
}

#[tokio::test]
async fn an_answer_has_ten_seconds_however_it_comes() {
    // Its head comes a byte a time, so there is never silence.
    let head = "HTTP/1.1 200 OK\r\nx-slow: ".bytes().map(|byte| vec![byte]);
    let pieces = head.chain(std::iter::repeat_n(vec![b'x'], 1000)).collect();
    let (port, _) = listen(pieces, Duration::from_millis(100)).await;
    let bench = bench().await;
    let began = Instant::now();
    let late = post(&bench, &listed(port, "/")).await;
    assert!(matches!(late, Err(ActionError::Timeout(_))), "{late:?}");
    let took = began.elapsed();
    assert!(
        (Duration::from_secs(9)..Duration::from_secs(25)).contains(&took),
        "{took:?}"
    );
    let status = bench.status("webhook.wasm");
    assert_eq!(
        (status.timeouts, status.traps),
        (0, 0),
        "it is no fault of the plugin's"
    );
}

#[tokio::test]
async fn a_large_answer_is_not_read() {
    const LARGE: usize = 64 << 20;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let sent = Arc::new(AtomicUsize::new(0));
    let (counted, (ended, end)) = (sent.clone(), tokio::sync::oneshot::channel());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        request(&mut stream).await;
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {LARGE}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let piece = vec![b'x'; 64 << 10];
        while counted.load(Ordering::SeqCst) < LARGE && stream.write_all(&piece).await.is_ok() {
            counted.fetch_add(piece.len(), Ordering::SeqCst);
        }
        let _ = ended.send(());
    });
    let bench = bench().await;
    assert_eq!(post(&bench, &listed(port, "/")).await, Ok(()));
    end.await.unwrap();
    let sent = sent.load(Ordering::SeqCst);
    assert!(sent < LARGE / 2, "{sent} bytes were taken");
    assert_eq!(
        bench.status("webhook.wasm").memory_bytes,
        0,
        "nothing is held for it afterwards"
    );
}
