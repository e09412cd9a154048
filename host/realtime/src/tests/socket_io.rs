//! Tests of Socket.IO v4: its frames one by one, and its own client from npm.

use std::path::PathBuf;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::*;

const QUERY: &str = "?EIO=4&transport=websocket";

#[tokio::test]
async fn the_frames_are_those_of_the_protocol() {
    let (server, numbers) = Server::with_numbers(HubConfig::default()).await;
    let mut client = server.connect(QUERY).await;
    let open = client.text().await;
    let open: Value = serde_json::from_str(open.strip_prefix('0').unwrap()).unwrap();
    assert_eq!(open["pingInterval"], 25_000);
    assert_eq!(
        (&open["pingTimeout"], &open["maxPayload"]),
        (&json!(20_000), &json!(1_000_000))
    );
    assert_eq!(open["upgrades"], json!([]));
    assert_eq!(open["sid"].as_str().unwrap().len(), 20);

    client.say("40/admin,{}").await;
    assert_eq!(client.text().await, r#"44/admin,{"message":"Invalid namespace"}"#);
    client.say(format!("40{}", json!({ "token": VIEWER }))).await;
    assert!(client.text().await.starts_with(r#"40{"sid":""#));
    assert_eq!(
        client.text().await,
        r#"42["torrents:update",{"engineId":"e1","torrents":[]}]"#
    );
    numbers.grow(&server.hub, 0);
    assert_eq!(
        client.text().await,
        r#"42["torrents:update",{"engineId":"e1","torrents":[1]}]"#
    );
    client.say(r#"42["anything",{"at":"all"}]"#).await;
    client.say("2").await;
    assert_eq!(client.text().await, "3");

    // Leaves and comes back on the same connection, now with deltas.
    client.say("41").await;
    server.until("out", |counters| counters.authenticated == 0).await;
    client
        .say(format!("40{}", json!({ "token": VIEWER, "delta": true })))
        .await;
    assert!(client.text().await.starts_with("40{"));
    let full = r#"42["torrents:update",{"engineId":"e1","full":true,"seq":1,"torrents":[1]}]"#;
    assert_eq!(client.text().await, full);
    numbers.grow(&server.hub, 0);
    assert!(client.text().await.contains(r#""full":false"#));
}

#[tokio::test]
async fn a_bad_token_is_let_in_and_sent_away_at_once() {
    let server = Server::start(HubConfig::default()).await;
    for (query, connect) in [
        ("", r#"40{"token":"nonsense"}"#),
        ("", "40"),
        ("&token=nonsense", "40"),
    ] {
        let mut client = server.connect(&format!("{QUERY}{query}")).await;
        client.text().await;
        client.say(connect).await;
        assert!(client.text().await.starts_with("40{"));
        assert_eq!(client.text().await, "41", "{query} {connect}");
        client.closed().await;
    }
    let mut client = server
        .connect(&format!("{QUERY}&token=alice%20torrents.view%20600000"))
        .await;
    client.text().await;
    client.say("40").await;
    assert!(client.text().await.starts_with("40{"));
    server.until("in", |counters| counters.authenticated == 1).await;
}

#[tokio::test]
async fn a_client_that_never_connects_or_never_answers_is_closed() {
    let config = HubConfig {
        connect_timeout: Duration::from_millis(100),
        ping_interval: Duration::from_millis(150),
        ping_timeout: Duration::from_millis(100),
        expiry_grace: Duration::ZERO,
        ..HubConfig::default()
    };
    let server = Server::start(config).await;
    assert_eq!(server.connect(QUERY).await.closed().await, 4408);

    let mut silent = server.connect(QUERY).await;
    silent.text().await;
    silent.say(format!("40{}", json!({ "token": VIEWER }))).await;
    silent.text().await;
    assert_eq!(silent.text().await, "2");
    assert_eq!(silent.closed().await, 4408);

    let mut expiring = server.connect(QUERY).await;
    expiring.text().await;
    expiring
        .say(format!("40{}", json!({ "token": "alice torrents.view 50" })))
        .await;
    expiring.text().await;
    assert_eq!(expiring.text().await, "41");
    assert_eq!(expiring.closed().await, 4401);

    let mut garbled = server.connect(QUERY).await;
    garbled.text().await;
    garbled.say("oops").await;
    assert_eq!(garbled.closed().await, 1003);
}

/// Socket.IO's own client in a process of its own; see `tests/js/socket-io-client.mjs`.
struct Script {
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    _child: Child,
}

impl Script {
    fn start(server: &Server, options: &Value) -> Self {
        let folder = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where"))
            .join("../../tests/js");
        assert!(
            folder.join("node_modules/socket.io-client").is_dir(),
            "Socket.IO's client is not installed: run `cargo xtask setup` (it runs `npm ci` in tests/js)"
        );
        let mut child = Command::new("node")
            .arg("socket-io-client.mjs")
            .arg(format!("http://{}", server.address))
            .arg(options.to_string())
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("node starts");
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self {
            input: child.stdin.take().unwrap(),
            lines,
            _child: child,
        }
    }

    async fn says(&mut self) -> Value {
        let line = timeout(DEADLINE, self.lines.next_line())
            .await
            .expect("the client said nothing in time");
        serde_json::from_str(&line.unwrap().expect("the client ended")).unwrap()
    }

    async fn hears(&mut self, command: &Value) {
        self.input
            .write_all(format!("{command}\n").as_bytes())
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn its_own_client_connects_listens_and_comes_back() {
    let (server, numbers) = Server::with_numbers(HubConfig::default()).await;
    let mut script = Script::start(&server, &json!({ "auth": { "token": VIEWER } }));
    assert_eq!(script.says().await["type"], "connect");
    let update = |numbers: Value| json!({ "type": "event", "name": "torrents:update", "args": [{ "engineId": "e1", "torrents": numbers }] });
    assert_eq!(script.says().await, update(json!([])));
    numbers.grow(&server.hub, 0);
    assert_eq!(script.says().await, update(json!([1])));
    script
        .hears(&json!({ "do": "emit", "name": "ignored", "args": [1] }))
        .await;
    server.hub.emit(
        Room::User("alice".into()),
        "account.notification.created",
        Bytes::from_static(b"{\"id\":1}"),
    );
    assert_eq!(script.says().await["name"], "account.notification.created");

    let again = json!({ "do": "reconnect", "auth": { "token": VIEWER, "delta": true } });
    script.hears(&again).await;
    assert_eq!(script.says().await["reason"], "io client disconnect");
    assert_eq!(script.says().await["type"], "connect");
    assert_eq!(script.says().await["args"][0]["full"], true);
    numbers.grow(&server.hub, 0);
    let delta = script.says().await;
    assert_eq!(
        (&delta["args"][0]["full"], &delta["args"][0]["seq"]),
        (&json!(false), &json!(2))
    );
    script.hears(&json!({ "do": "close" })).await;
    server.until("it left", |counters| counters.sockets == 0).await;
}

#[tokio::test]
async fn its_own_client_is_told_why_it_may_not() {
    let server = Server::start(HubConfig::default()).await;
    let mut script = Script::start(&server, &json!({ "auth": { "token": "nonsense" } }));
    assert_eq!(script.says().await["type"], "connect");
    assert_eq!(
        script.says().await,
        json!({ "type": "disconnect", "reason": "io server disconnect" })
    );

    let mut script = Script::start(&server, &json!({ "transports": ["polling"] }));
    assert_eq!(script.says().await["type"], "connect_error");
}

#[tokio::test]
async fn its_own_client_learns_that_its_sessions_ended() {
    let server = Server::start(HubConfig::default()).await;
    let mut script = Script::start(&server, &json!({ "auth": { "token": VIEWER } }));
    assert_eq!(script.says().await["type"], "connect");
    server
        .until("admitted", |counters| counters.authenticated == 1)
        .await;
    let ended = SessionsEnded {
        at: Ctx::system().now(),
        for_good: true,
    };
    server.hub.end_sessions("alice", ended);
    let gone = json!({ "type": "disconnect", "reason": "io server disconnect" });
    assert_eq!(script.says().await, gone);
}

#[tokio::test]
async fn its_own_client_lives_through_pings_and_learns_of_expiry() {
    let config = HubConfig {
        ping_interval: Duration::from_millis(200),
        ping_timeout: Duration::from_millis(150),
        expiry_grace: Duration::ZERO,
        ..HubConfig::default()
    };
    let server = Server::start(config).await;
    let mut script = Script::start(
        &server,
        &json!({ "auth": { "token": "alice torrents.view 1500" } }),
    );
    assert_eq!(script.says().await["type"], "connect");
    assert_eq!(
        script.says().await,
        json!({ "type": "disconnect", "reason": "io server disconnect" })
    );
    let sent = server.hub.counters().sent_frames;
    assert!(
        sent >= 6,
        "the open packet, the connect packet and several pings, not {sent}"
    );
}
