//! A channel in Python, `examples/channel-python`, against a server that speaks the documented wire format of ntfy: messages
//! published as JSON, its health, its errors.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use qm_lanes::IgnorePoison;
use qm_ports::channel::{Button, ChannelConfig, ChannelError, Message, Picture};
use qm_testkit::{Backend, TestDb, TestServer, database};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const PLUGIN: &str = "ntfy_py.wasm";
const TOKEN: &str = "tk_AgQdq7mVBoFD37zQVN29RhuMzNIz2";

/// Publishes what it is given, as ntfy does; some topics are in trouble.
struct Ntfy {
    url: String,
    published: Arc<Mutex<Vec<Value>>>,
}

impl Ntfy {
    async fn start() -> Ntfy {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let published: Arc<Mutex<Vec<Value>>> = Arc::default();
        let keeps = published.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                answer(stream, &keeps).await;
            }
        });
        Ntfy { url, published }
    }

    fn published(&self) -> Vec<Value> {
        std::mem::take(&mut *self.published.lock().ignore_poison())
    }

    /// A configuration for a topic of this server.
    fn config(&self, topic: &str, more: Value) -> ChannelConfig {
        let mut config = json!({ "server": self.url, "topic": topic });
        let (Some(fields), Value::Object(more)) = (config.as_object_mut(), more) else {
            panic!("a configuration is an object");
        };
        fields.extend(more);
        ChannelConfig(fields.clone())
    }
}

async fn answer(mut stream: TcpStream, published: &Mutex<Vec<Value>>) {
    let mut read = Vec::new();
    let (head, body) = loop {
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&read[..end]).into_owned();
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length")
                    .then(|| value.trim().parse().ok())?
            });
            if read.len() >= end + 4 + length.unwrap_or(0_usize) {
                break (head, read.split_off(end + 4));
            }
        }
        if stream.read_buf(&mut read).await.unwrap_or(0) == 0 {
            return;
        }
    };
    let (status, more, told) = judged(&head, &body, published);
    let told = told.to_string();
    let whole = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{more}content-length: {}\r\nconnection: close\r\n\r\n{told}",
        told.len()
    );
    // Whoever hung up has been heard.
    let _ = stream.write_all(whole.as_bytes()).await;
}

/// The error body of ntfy.
fn refused(code: u32, error: &str) -> Value {
    json!({ "code": code, "http": code / 100, "error": error, "link": "https://ntfy.sh/docs/publish/" })
}

fn judged(head: &str, body: &[u8], published: &Mutex<Vec<Value>>) -> (&'static str, &'static str, Value) {
    let unauthorized = || ("401 Unauthorized", "", refused(40101, "unauthorized"));
    let authorization = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("authorization").then_some(value)
    });
    // Wrong credentials are refused wherever they are given.
    if authorization.is_some_and(|given| given != format!("Bearer {TOKEN}")) {
        return unauthorized();
    }
    match head.lines().next().unwrap_or_default() {
        "GET /v1/health HTTP/1.1" => ("200 OK", "", json!({ "healthy": true })),
        "POST / HTTP/1.1" => {
            let given: Value = serde_json::from_slice(body).unwrap_or_default();
            match given["topic"].as_str().unwrap_or_default() {
                "busy" => (
                    "429 Too Many Requests",
                    "retry-after: 17\r\n",
                    refused(42901, "limit reached: too many requests"),
                ),
                "full" => (
                    "429 Too Many Requests",
                    "",
                    refused(42908, "limit reached: daily message quota reached"),
                ),
                "broken" => ("502 Bad Gateway", "", json!("<html>")),
                "away" => (
                    "503 Service Unavailable",
                    "retry-after: 120\r\n",
                    json!("maintenance"),
                ),
                "heavy" => (
                    "413 Request Entity Too Large",
                    "",
                    refused(41301, "attachment too large"),
                ),
                "protected" if authorization.is_none() => ("403 Forbidden", "", refused(40301, "forbidden")),
                "moved" => (
                    "301 Moved Permanently",
                    "location: https://example.org/\r\n",
                    json!(""),
                ),
                topic => {
                    let told = json!({
                        "id": "hwQ2YpKdmg", "time": 1_635_528_741, "expires": 1_635_571_941, "event": "message", "topic": topic,
                        "title": given["title"], "message": given["message"],
                    });
                    published.lock().ignore_poison().push(given);
                    ("200 OK", "", told)
                }
            }
        }
        _ => ("404 Not Found", "", refused(40401, "page not found")),
    }
}

fn message(text: &str) -> Message {
    Message {
        id: "1".to_owned(),
        subject: "Torrent complete".to_owned(),
        text: text.to_owned(),
        ..Message::default()
    }
}

/// A server of ours with the channel, and one that is ntfy, which the operator lists.
async fn both(db: &TestDb) -> (TestServer, Ntfy) {
    let ntfy = Ntfy::start().await;
    let builder = TestServer::builder(db).plugins(&[PLUGIN]);
    let server = builder.env("SSRF_ALLOW_HOSTS", "127.0.0.1").start().await;
    (server, ntfy)
}

/// One server for both: in a debug build it compiles a component of 18 MB for half a minute.
#[test]
fn a_channel_in_python_pushes_and_says_what_was_refused() {
    database::run(Backend::Sqlite, async |db| {
        let (server, ntfy) = both(db).await;
        pushes(&server, &ntfy).await;
        refuses(&server, &ntfy).await;
        is_connected(&server, &ntfy).await;
        let status = server.admin().get("/api/plugins").await;
        assert_eq!(
            (&status[0]["traps"], &status[0]["kind"]),
            (&json!(0), &json!("channel")),
            "{status}"
        );
    });
}

async fn pushes(server: &TestServer, ntfy: &Ntfy) {
    let channels = server.plugins().channels();
    let kinds = channels.channels();
    assert_eq!(
        kinds.iter().map(|kind| &*kind.id).collect::<Vec<_>>(),
        ["ntfy_py"]
    );
    assert_eq!(
        (
            kinds[0].text_limit,
            kinds[0].caption_limit,
            kinds[0].links_by_code
        ),
        (Some(4096), None, false)
    );

    let plain = ntfy.config("alerts", json!({}));
    let found = channels
        .verify("ntfy_py", plain.clone())
        .await
        .expect("it is verified");
    assert_eq!(
        found.label,
        format!("ale… on {}", ntfy.url.trim_start_matches("http://"))
    );
    let receipt = channels
        .send("ntfy_py", plain.clone(), &found.state, message("Done."))
        .await
        .expect("it is sent");
    assert_eq!(
        (receipt.id.as_deref(), receipt.reduced),
        (Some("hwQ2YpKdmg"), None)
    );
    assert_eq!(
        ntfy.published(),
        [json!({
            "topic": "alerts", "title": "Torrent complete", "message": "Done.", "priority": 3, "tags": [],
        })]
    );

    let own = ntfy.config(
        "protected",
        json!({ "token": TOKEN, "priority": 2, "tags": ["nas", "skull"] }),
    );
    assert!(channels.verify("ntfy_py", own.clone()).await.is_ok());
    for (accent, priority, tags) in [
        ("neutral", 2, json!(["nas", "skull"])),
        ("success", 2, json!(["white_check_mark", "nas", "skull"])),
        ("warning", 4, json!(["warning", "nas", "skull"])),
        ("error", 5, json!(["rotating_light", "nas", "skull"])),
    ] {
        let rich = Message {
            presentation: Some(json!({ "version": 2, "accent": accent })),
            button: Some(Button {
                label: "Open".to_owned(),
                url: "https://qm.example.org/torrents".to_owned(),
            }),
            picture: Some(Picture {
                name: "p.png".to_owned(),
                media_type: "image/png".to_owned(),
                bytes: vec![0; 10],
            }),
            // 3 bytes each: too long in bytes, not in characters.
            ..message(&"€".repeat(2000))
        };
        let receipt = channels
            .send("ntfy_py", own.clone(), "", rich)
            .await
            .expect("it is sent");
        assert_eq!(
            receipt.reduced.as_deref(),
            Some("Left out: the end of a long text and the picture")
        );
        let published = ntfy.published();
        let text = published[0]["message"].as_str().unwrap_or_default();
        assert!(text.len() <= 4096 && text.ends_with("€…"), "{} bytes", text.len());
        assert_eq!(
            (
                &published[0]["priority"],
                &published[0]["tags"],
                &published[0]["click"]
            ),
            (&json!(priority), &tags, &json!("https://qm.example.org/torrents")),
        );
    }
}

async fn refuses(server: &TestServer, ntfy: &Ntfy) {
    let channels = server.plugins().channels();
    let send = async |topic: &str, more: Value| {
        let config = ntfy.config(topic, more);
        channels
            .send("ntfy_py", config, "", message("x"))
            .await
            .expect_err("it is refused")
    };
    assert_eq!(send("busy", json!({})).await, ChannelError::Throttled(Some(17)));
    assert_eq!(send("full", json!({})).await, ChannelError::Throttled(None));
    assert_eq!(send("away", json!({})).await, ChannelError::Throttled(Some(120)));
    let broken = send("broken", json!({})).await;
    assert!(
        matches!(&broken, ChannelError::Unreachable(why) if why.contains("502")),
        "{broken:?}"
    );
    for passing in [send("busy", json!({})).await, broken] {
        assert!(passing.is_passing(), "{passing:?}");
    }
    let wrong = send("alerts", json!({ "token": "tk_somebodys" })).await;
    assert_eq!(wrong, ChannelError::Auth("unauthorized".to_owned()));
    assert_eq!(
        send("protected", json!({})).await,
        ChannelError::Auth("forbidden".to_owned())
    );
    assert_eq!(
        send("heavy", json!({})).await,
        ChannelError::Rejected("attachment too large".to_owned())
    );
    assert!(
        matches!(send("moved", json!({})).await, ChannelError::InvalidConfig(why) if why.contains("301"))
    );
    for (field, value, told) in [
        ("topic", json!("a b"), "`topic`"),
        ("server", json!(format!("{}/path", ntfy.url)), "`server`"),
        ("server", json!("ntfy.example.org"), "`server`"),
    ] {
        let bad = send("alerts", json!({ field: value })).await;
        assert!(
            matches!(&bad, ChannelError::InvalidConfig(why) if why.contains(told)),
            "{bad:?}"
        );
    }
    assert!(ntfy.published().is_empty());
    let verified = channels
        .verify(
            "ntfy_py",
            ntfy.config("alerts", json!({ "token": "tk_somebodys" })),
        )
        .await;
    assert_eq!(verified, Err(ChannelError::Auth("unauthorized".to_owned())));
    // The public server is a host of the plugin's own, and nobody granted it.
    let public = ChannelConfig(
        json!({ "topic": "alerts" })
            .as_object()
            .cloned()
            .unwrap_or_default(),
    );
    let denied = channels.verify("ntfy_py", public).await;
    assert!(
        matches!(&denied, Err(ChannelError::Denied(why)) if why.contains("ntfy.sh")),
        "{denied:?}"
    );
    let asked = server.admin().get("/api/plugins").await;
    assert_eq!(asked[0]["hosts"], json!(["https://ntfy.sh"]), "{asked}");
}

/// By the routes that users have.
async fn is_connected(server: &TestServer, ntfy: &Ntfy) {
    let config = Value::Object(ntfy.config("alerts", json!({ "tags": ["nas"] })).0);
    let connected = server
        .admin()
        .send(
            "POST",
            "/api/account/notifications/channels/ntfy_py",
            Some(&json!({ "config": config })),
        )
        .await;
    assert_eq!(connected.status, 201, "{}", connected.text());
    let view = connected.json();
    assert_eq!(
        (&view["connected"], &view["verified"]),
        (&json!(true), &json!(true)),
        "{view}"
    );
    let published = ntfy.published();
    assert_eq!(published.len(), 1, "the message that tries it: {published:?}");
    assert_eq!(
        (&published[0]["topic"], &published[0]["tags"]),
        (&json!("alerts"), &json!(["nas"]))
    );
}
