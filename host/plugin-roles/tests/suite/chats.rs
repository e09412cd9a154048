//! The channels that come with the server, against servers that speak the documented formats of their products: what is asked
//! for, what each answer means, and that no secret is told.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use qm_plugin_host::{Compiler, Limits};
use qm_ports::channel::{Button, ChannelConfig, ChannelError, Destination, Message, Picture, Receipt};
use qm_ports::mail::{Letter, MailError, Mailer};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use crate::bench::{Bench, first_party, limits};
use crate::network::answer;
use crate::webhook::request;

const TOKEN: &str = "123456:AAH-hidden_token";
const HOOK: &str = "https://discord.com/api/webhooks/1234567/hidden-token_x";

/// Requests that a product got: `POST /path`, and the body.
type Asked = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

/// A product that answers by what it is asked.
async fn product(tell: impl Fn(&str, &[u8]) -> Vec<u8> + Send + Sync + 'static) -> (u16, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Asked::default();
    let (seen, tell) = (asked.clone(), Arc::new(tell));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (seen, tell) = (seen.clone(), tell.clone());
            tokio::spawn(async move {
                let (head, body) = request(&mut stream).await;
                let line = head.lines().next().unwrap_or_default();
                let line = line.trim_end_matches(" http/1.1").to_owned();
                let reply = tell(&line, &body);
                seen.lock().unwrap().push((line, body));
                let _ = stream.write_all(&reply).await;
            });
        }
    });
    (port, asked)
}

fn json_of(head: &str, body: &Value) -> Vec<u8> {
    answer(
        &format!("{head}\r\ncontent-type: application/json"),
        &body.to_string(),
    )
}

/// A host with one of its channels, whose product's origins lead to `port`.
async fn bench(file: &str, origins: &[&str], port: u16) -> Bench {
    let limits = Limits {
        silence: Duration::from_secs(25),
        ..limits()
    };
    let relays = origins
        .iter()
        .map(|origin| format!("{origin}=http://127.0.0.1:{port}"));
    let files = [(file, first_party(file))];
    let bench = Bench::relaying(&files, limits, Compiler::InProcess, relays.collect()).await;
    bench.host.settled().await;
    let id = file.trim_end_matches(".wasm");
    bench.pins.grant(id, origins);
    bench.pins.grant_capabilities(id, &["mail"]);
    bench.host.follow_grants(id).await.unwrap();
    bench
}

async fn telegram(port: u16) -> Bench {
    bench("chat_app_a.wasm", &["https://api.telegram.org"], port).await
}

async fn discord(port: u16) -> Bench {
    bench("chat_app_b.wasm", &["https://discord.com"], port).await
}

fn config(name: &str, value: &str) -> ChannelConfig {
    ChannelConfig([(name.to_owned(), json!(value))].into_iter().collect())
}

fn message() -> Message {
    Message {
        id: "0197-n1".to_owned(),
        subject: "Download completed".to_owned(),
        text: "Download completed\n<b>x</b> finished downloading".to_owned(),
        presentation: Some(json!({
            "version": 2, "eventKey": "torrent.completed", "accent": "success", "icon": "download",
            "headline": { "lead": "Download", "trail": "completed" },
            "summary": { "text": "<b>x_1</b> finished downloading", "emphasis": "<b>x_1</b>" },
            "facts": [{ "icon": "download", "label": "Name", "value": "<b>x_1</b>" }],
            "timestamp": "2026-01-02T03:04:05.000Z", "service": "Quartermaster",
        })),
        button: Some(Button {
            label: "Open torrents".to_owned(),
            url: "https://qm.example.org/torrents".to_owned(),
        }),
        picture: None,
    }
}

async fn send(bench: &Bench, channel: &str, state: &str, message: Message) -> Result<Receipt, ChannelError> {
    let config = match channel {
        "chat_app_a" => config("token", TOKEN),
        "chat_app_b" => config("webhookUrl", HOOK),
        _ => config("address", "jo@example.org"),
    };
    let sent = bench.host.channels().send(channel, config, state, message).await;
    assert!(!format!("{sent:?}").contains("hidden"), "{sent:?}");
    sent
}

fn is_ok(result: &Value) -> Vec<u8> {
    json_of("200 OK", &json!({ "ok": true, "result": result }))
}

fn is_not(status: &str, more: &Value) -> Vec<u8> {
    let code: u16 = status[..3].parse().unwrap();
    let mut body = json!({ "ok": false, "error_code": code, "description": &status[4..] });
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    json_of(status, &body)
}

#[tokio::test]
async fn a_bot_is_named_linked_and_sends() {
    let (port, asked) = product(|line, _| match line.rsplit('/').next() {
        Some("getme") => is_ok(&json!({ "id": 1, "is_bot": true, "username": "House_Bot" })),
        Some("getupdates") => is_ok(&json!([
            { "update_id": 7, "message": { "message_id": 1, "text": "482913", "chat": { "id": 99, "type": "private", "username": "jo" } } },
        ])),
        _ => is_ok(&json!({ "message_id": 4711 })),
    })
    .await;
    let bench = telegram(port).await;
    let channels = bench.host.channels();
    let kind = &channels.channels()[0];
    assert_eq!((&*kind.id, &*kind.label), ("chat_app_a", "Telegram"));
    assert_eq!((kind.text_limit, kind.links_by_code), (Some(4096), true));
    let token = config("token", TOKEN);
    let named = channels.verify("chat_app_a", token.clone()).await.unwrap();
    assert_eq!(named.label, "@House_Bot");
    assert_eq!(
        channels.link("chat_app_a", token.clone(), "111111").await,
        Ok(None)
    );
    let linked = channels
        .link("chat_app_a", token, "482913")
        .await
        .unwrap()
        .unwrap();
    let chat = Destination {
        label: "@jo".to_owned(),
        state: "99".to_owned(),
    };
    assert_eq!(linked, chat);
    let receipt = send(&bench, "chat_app_a", &linked.state, message())
        .await
        .unwrap();
    assert_eq!(receipt.id.as_deref(), Some("4711"));
    let asked = asked.lock().unwrap();
    let line = |method: &str| format!("post /bot{}/{method}", TOKEN.to_ascii_lowercase());
    let lines: Vec<&str> = asked.iter().map(|(line, _)| &**line).collect();
    assert_eq!(
        lines,
        [
            line("getme"),
            line("getupdates"),
            line("getupdates"),
            line("sendmessage")
        ]
    );
    let body = |at: usize| -> Value { serde_json::from_slice(&asked[at].1).unwrap() };
    assert_eq!(
        body(1),
        json!({ "offset": -100, "limit": 100, "timeout": 0, "allowed_updates": ["message"] })
    );
    assert_eq!(
        body(3),
        json!({
            "chat_id": 99, "parse_mode": "HTML", "link_preview_options": { "is_disabled": true },
            "text": "⬇️ <b>Download completed</b>\n<b>&lt;b&gt;x_1&lt;/b&gt;</b> finished downloading\n\n\
                     ⬇️ <i>Name:</i> &lt;b&gt;x_1&lt;/b&gt;",
            "reply_markup": { "inline_keyboard": [[{ "text": "Open torrents", "url": "https://qm.example.org/torrents" }]] },
        })
    );
}

#[tokio::test]
async fn what_telegram_refuses_is_told_apart_and_names_no_token() {
    let refusals: Vec<(Vec<u8>, ChannelError)> = vec![
        (
            is_not(
                "429 Too Many Requests: retry after 17",
                &json!({ "parameters": { "retry_after": 17 } }),
            ),
            ChannelError::Throttled(Some(17)),
        ),
        (
            is_not("403 Forbidden: bot was blocked by the user", &json!({})),
            ChannelError::Rejected("Forbidden: bot was blocked by the user".to_owned()),
        ),
        (
            is_not("400 Bad Request: chat not found", &json!({})),
            ChannelError::NotFound("the chat".to_owned()),
        ),
        (
            is_not("401 Unauthorized", &json!({})),
            ChannelError::Auth("Unauthorized".to_owned()),
        ),
        (
            answer("502 Bad Gateway", "<html>"),
            ChannelError::Unreachable("Telegram answered 502".to_owned()),
        ),
        (
            answer("200 OK", "<html>"),
            ChannelError::Protocol("Telegram answered 200, and not in its protocol".to_owned()),
        ),
        (
            answer("302 Found\r\nlocation: http://169.254.169.254/", ""),
            ChannelError::Rejected("Telegram sent a redirect, which is not followed".to_owned()),
        ),
        // 10 MiB, where a few kilobytes are an answer.
        (
            answer("200 OK", &"x".repeat(10 << 20)),
            ChannelError::Protocol("the answer of Telegram is too large".to_owned()),
        ),
    ];
    for (reply, expected) in refusals {
        let (port, _) = product(move |_, _| reply.clone()).await;
        let bench = telegram(port).await;
        assert_eq!(
            send(&bench, "chat_app_a", "99", message()).await,
            Err(expected.clone())
        );
        let verified = bench
            .host
            .channels()
            .verify("chat_app_a", config("token", TOKEN))
            .await;
        assert!(!format!("{verified:?}").contains("hidden"), "{verified:?}");
        let status = bench.status("chat_app_a.wasm");
        assert_eq!(
            (status.traps, status.timeouts),
            (0, 0),
            "it is no fault of the plugin's"
        );
    }
    let nobody = telegram(1).await;
    let refused = send(&nobody, "chat_app_a", "99", message()).await;
    assert_eq!(
        refused,
        Err(ChannelError::Unreachable(
            "Telegram refused the connection".to_owned()
        ))
    );
    for bad in ["no token", "1:a/../../x", "1:a?x=1"] {
        let refused = nobody
            .host
            .channels()
            .verify("chat_app_a", config("token", bad))
            .await;
        assert!(matches!(&refused, Err(ChannelError::InvalidConfig(why)) if !why.contains(bad)));
    }
}

#[tokio::test]
async fn a_group_that_moved_is_followed_and_a_picture_that_is_refused_is_left_out() {
    let (port, asked) = product(|line, body| {
        let text = String::from_utf8_lossy(body);
        if line.ends_with("sendphoto") {
            return is_not("400 Bad Request: IMAGE_PROCESS_FAILED", &json!({}));
        }
        if text.contains("\"chat_id\":-5,") {
            return is_not(
                "400 Bad Request: group chat was upgraded",
                &json!({ "parameters": { "migrate_to_chat_id": -1005 } }),
            );
        }
        is_ok(&json!({ "message_id": 1 }))
    })
    .await;
    let bench = telegram(port).await;
    assert!(send(&bench, "chat_app_a", "-5", message()).await.is_ok());
    let with = |bytes: &[u8]| Message {
        picture: Some(Picture {
            name: "poster.jpg".to_owned(),
            media_type: "image/jpeg".to_owned(),
            bytes: bytes.to_vec(),
        }),
        ..message()
    };
    let reduced = send(&bench, "chat_app_a", "7", with(b"\xFF\xD8\xFFxx"))
        .await
        .unwrap();
    assert!(
        reduced
            .reduced
            .is_some_and(|why| why.contains("IMAGE_PROCESS_FAILED"))
    );
    let reduced = send(&bench, "chat_app_a", "7", with(b"GIF89a")).await.unwrap();
    assert!(reduced.reduced.is_some_and(|why| why.contains("PNG")));
    let asked = asked.lock().unwrap();
    let methods: Vec<&str> = asked
        .iter()
        .filter_map(|(line, _)| line.rsplit('/').next())
        .collect();
    assert_eq!(
        methods,
        [
            "sendmessage",
            "sendmessage",
            "sendphoto",
            "sendmessage",
            "sendmessage"
        ]
    );
    let form = String::from_utf8_lossy(&asked[2].1);
    assert!(
        form.contains("name=\"chat_id\"\r\n\r\n7\r\n") && form.contains("filename=\"poster.jpg\""),
        "{form}"
    );
}

#[tokio::test]
async fn a_webhook_is_named_and_gets_one_embed() {
    let (port, asked) = product(|line, _| {
        if line.starts_with("get ") {
            return json_of(
                "200 OK",
                &json!({ "id": "1234567", "name": "alerts", "token": "hidden-token_x" }),
            );
        }
        json_of("200 OK", &json!({ "id": "88" }))
    })
    .await;
    let bench = discord(port).await;
    let channels = bench.host.channels();
    let url = format!(" {HOOK}/?thread_id=5#x ");
    let found = channels
        .verify("chat_app_b", config("webhookUrl", &url))
        .await
        .unwrap();
    assert_eq!(found.label, "#alerts (…4567)");
    let receipt = send(&bench, "chat_app_b", &found.state, message()).await.unwrap();
    assert_eq!(receipt.id.as_deref(), Some("88"));
    let asked = asked.lock().unwrap().clone();
    assert_eq!(asked[0].0, "get /api/webhooks/1234567/hidden-token_x");
    assert_eq!(asked[1].0, "post /api/webhooks/1234567/hidden-token_x?wait=true");
    let body: Value = serde_json::from_slice(&asked[1].1).unwrap();
    assert_eq!(
        body,
        json!({ "allowed_mentions": { "parse": [] }, "embeds": [{
            "title": "Download completed", "color": 0x0022_C55E,
            "description": "**<b\\>x\\_1</b\\>** finished downloading",
            "fields": [{ "name": "Name", "value": "<b\\>x\\_1</b\\>", "inline": true }],
            "footer": { "text": "Quartermaster" }, "timestamp": "2026-01-02T03:04:05.000Z",
        }] })
    );
    let unsupported = channels.link("chat_app_b", config("webhookUrl", HOOK), "1").await;
    assert!(matches!(unsupported, Err(ChannelError::Unsupported(_))));
}

#[tokio::test]
async fn what_discord_refuses_is_told_apart_and_names_no_webhook() {
    let limited = json!({ "message": "You are being rate limited.", "retry_after": 1.337, "global": false });
    let unknown = json!({ "message": "Unknown Webhook", "code": 10015 });
    let refusals: Vec<(Vec<u8>, Result<Option<&str>, ChannelError>)> = vec![
        (answer("204 No Content", ""), Ok(None)),
        // What it answers to a message it took does not matter.
        (answer("200 OK", &"x".repeat(10 << 20)), Ok(None)),
        (
            json_of("429 Too Many Requests", &limited),
            Err(ChannelError::Throttled(Some(2))),
        ),
        (
            answer("429 Too Many Requests\r\nretry-after: 65", "<html>"),
            Err(ChannelError::Throttled(Some(65))),
        ),
        (
            json_of("404 Not Found", &unknown),
            Err(ChannelError::NotFound("the webhook: it was deleted".to_owned())),
        ),
        (
            json_of(
                "400 Bad Request",
                &json!({ "message": "Cannot send an empty message", "code": 50006 }),
            ),
            Err(ChannelError::Rejected(
                "Discord answered 400: Cannot send an empty message".to_owned(),
            )),
        ),
        (
            answer("503 Service Unavailable", ""),
            Err(ChannelError::Unreachable("Discord answered 503".to_owned())),
        ),
        (
            answer("301 Moved Permanently\r\nlocation: http://127.0.0.1/", ""),
            Err(ChannelError::Rejected(
                "Discord sent a redirect, which is not followed".to_owned(),
            )),
        ),
    ];
    for (reply, expected) in refusals {
        let (port, asked) = product(move |_, _| reply.clone()).await;
        let bench = discord(port).await;
        let sent = send(&bench, "chat_app_b", "1234567", message()).await;
        let sent = sent.map(|receipt| receipt.id);
        assert_eq!(sent, expected.map(|id| id.map(str::to_owned)));
        assert_eq!(asked.lock().unwrap().len(), 1, "it is not tried again");
    }
    let bench = discord(1).await;
    for bad in [
        "http://discord.com/api/webhooks/1/hidden",
        "https://evil.example/api/webhooks/1/hidden",
    ] {
        let refused = bench
            .host
            .channels()
            .verify("chat_app_b", config("webhookUrl", bad))
            .await;
        assert!(
            matches!(&refused, Err(ChannelError::InvalidConfig(why)) if !why.contains("hidden")),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn hosts_that_nobody_granted_are_asked_nothing() {
    let (port, asked) = product(|_, _| answer("200 OK", "x")).await;
    for (channel, file, origin) in [
        ("chat_app_a", "chat_app_a.wasm", "https://api.telegram.org"),
        ("chat_app_b", "chat_app_b.wasm", "https://discord.com"),
    ] {
        let bench = bench(file, &[origin], port).await;
        bench.pins.grant(channel, &[]);
        bench.host.follow_grants(channel).await.unwrap();
        let refused = send(&bench, channel, "99", message()).await;
        assert!(matches!(refused, Err(ChannelError::Denied(_))), "{refused:?}");
    }
    assert!(asked.lock().unwrap().is_empty());
}

/// A mail server that answers by what it is given.
struct Desk {
    letters: Mutex<Vec<Letter>>,
    answer: Result<(), MailError>,
}

#[async_trait]
impl Mailer for Desk {
    async fn send(&self, letter: &Letter) -> Result<(), MailError> {
        self.letters.lock().unwrap().push(letter.clone());
        self.answer.clone()
    }
}

async fn mailing(answer: Result<(), MailError>) -> (Bench, Arc<Desk>) {
    let bench = bench("email.wasm", &[], 1).await;
    let desk = Arc::new(Desk {
        letters: Mutex::default(),
        answer,
    });
    bench.host.use_mailer(desk.clone());
    (bench, desk)
}

#[tokio::test]
async fn a_letter_is_handed_to_the_operators_mail_server() {
    let (bench, desk) = mailing(Ok(())).await;
    let channels = bench.host.channels();
    let found = channels
        .verify("email", config("address", " josephine@example.org "))
        .await;
    assert_eq!(found.unwrap().label, "jo•••••••@example.org");
    for bad in [
        "",
        "jo",
        "jo@example.org\r\nBcc: all@example.org",
        "jo@example.org, b@example.org",
    ] {
        let refused = channels.verify("email", config("address", bad)).await;
        assert!(
            matches!(refused, Err(ChannelError::InvalidConfig(_))),
            "{bad}: {refused:?}"
        );
    }
    // A subject that would break a header is one line by the time it leaves the plugin.
    let evil = Message {
        subject: "Done\r\nBcc: all@example.org".to_owned(),
        ..message()
    };
    assert!(send(&bench, "email", "", evil).await.is_ok());
    let letters = desk.letters.lock().unwrap();
    let [letter] = &**letters else {
        panic!("{letters:?}")
    };
    assert_eq!((&*letter.id, &*letter.to), ("0197-n1", "jo@example.org"));
    assert_eq!(letter.subject, "Done  Bcc: all@example.org");
    assert_eq!(letter.text, message().text);
    let html = letter.html.as_deref().unwrap();
    assert!(
        html.contains("<strong>&lt;b&gt;x_1&lt;/b&gt;</strong> finished downloading"),
        "{html}"
    );
}

#[tokio::test]
async fn what_a_mail_server_says_is_told_apart() {
    for (said, expected) in [
        (
            MailError::NotConfigured,
            ChannelError::Rejected("Email is not configured.".to_owned()),
        ),
        (
            MailError::Refused("550 no such user".to_owned()),
            ChannelError::Rejected("550 no such user".to_owned()),
        ),
        (
            MailError::Later("451 greylisted".to_owned()),
            ChannelError::Unreachable("the mail server asks to try again later: 451 greylisted".to_owned()),
        ),
        (
            MailError::Auth("535 no".to_owned()),
            ChannelError::Auth("535 no".to_owned()),
        ),
        (
            MailError::Timeout,
            ChannelError::Timeout("the mail server did not answer in time".to_owned()),
        ),
        (MailError::Busy, ChannelError::Throttled(None)),
    ] {
        let (bench, _) = mailing(Err(said)).await;
        assert_eq!(send(&bench, "email", "", message()).await, Err(expected));
    }
}

#[tokio::test]
async fn mail_is_granted_like_a_host() {
    let (bench, desk) = mailing(Ok(())).await;
    bench.pins.grant_capabilities("email", &[]);
    bench.host.follow_grants("email").await.unwrap();
    let refused = send(&bench, "email", "", message()).await;
    assert_eq!(
        refused,
        Err(ChannelError::Denied("`mail` is not granted".to_owned()))
    );
    assert!(desk.letters.lock().unwrap().is_empty());
    let refusal = bench.status("email.wasm").last_refusal.unwrap();
    assert!(refusal.what.contains("mail"), "{refusal:?}");
}

#[tokio::test]
async fn no_letter_of_a_guest_breaks_a_header_and_few_leave_in_one_call() {
    let bench = Bench::start(&[("postman.wasm", "postman.wasm")]).await;
    let desk = Arc::new(Desk {
        letters: Mutex::default(),
        answer: Ok(()),
    });
    bench.host.use_mailer(desk.clone());
    bench.pins.grant_capabilities("postman", &["mail"]);
    bench.host.follow_grants("postman").await.unwrap();
    let ask = async |value: Value| {
        let config = ChannelConfig(value.as_object().unwrap().clone());
        bench.host.channels().verify("postman", config).await
    };
    let broken = ask(json!({ "mode": "mail", "subject": "Hi\r\nBcc: all@example.org" })).await;
    let why = "the subject must be one line, without control characters";
    assert_eq!(broken, Err(ChannelError::InvalidConfig(why.to_owned())));
    let large = ask(json!({ "mode": "mail", "subject": "x".repeat(1 << 20) })).await;
    assert!(
        matches!(&large, Err(ChannelError::InvalidConfig(why)) if why.contains("512")),
        "{large:?}"
    );
    assert!(desk.letters.lock().unwrap().is_empty());
    assert!(ask(json!({ "mode": "mail", "subject": "Hi" })).await.is_ok());
    let often = ask(json!({ "mode": "mail_often" })).await;
    assert!(
        matches!(&often, Err(ChannelError::InvalidConfig(why)) if why.contains("4 times")),
        "{often:?}"
    );
    assert_eq!(desk.letters.lock().unwrap().len(), 5);
}
