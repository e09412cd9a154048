//! The mail server of the service: what an administrator sets up, and letters by a real server.

use qm_kernel::Role;
use qm_testkit::smtp::{Options, PASSWORD, Smtp, USER};
use qm_testkit::{Api, Backend, TestDb, TestServer, both_databases, database};
use serde_json::{Value, json};

const SETTINGS: &str = "/api/media-server-analytics/settings/email";
const TEST: &str = "/api/media-server-analytics/settings/email/test";

/// Sends a letter to try the server: the status, and what is said.
async fn try_out(api: &Api, recipient: &str) -> (u16, Value) {
    let reply = api
        .send("POST", TEST, Some(&json!({ "recipient": recipient })))
        .await;
    let said = reply.json();
    assert!(!said.to_string().contains(PASSWORD), "{said}");
    (reply.status, said)
}

/// A real mail server, and a service that sends by it.
async fn sending(db: &TestDb, options: Options) -> Option<(Smtp, TestServer, Api)> {
    sending_by(db, options, |smtp| vec![smtp.certificate()]).await
}

/// The same, where the machine trusts the certificates of `roots`.
async fn sending_by(
    db: &TestDb,
    options: Options,
    roots: fn(&Smtp) -> Vec<Vec<u8>>,
) -> Option<(Smtp, TestServer, Api)> {
    let smtp = Smtp::start(options).await?;
    let server = TestServer::builder(db).mail_roots(roots(&smtp)).start().await;
    let admin = server.admin();
    let mut settings = smtp.settings();
    settings["secure"] = json!(options.implicit_tls);
    if options.login {
        settings["user"] = json!(USER);
        settings["password"] = json!(PASSWORD);
    }
    admin.patch(SETTINGS, settings).await;
    Some((smtp, server, admin))
}

both_databases! {
    async fn the_mail_server_is_set_up_and_its_password_is_never_shown(db: &TestDb) {
        let server = TestServer::builder(db).start().await;
        let (admin, user) = (server.admin(), server.user(Role::User));
        for (method, path) in [("GET", SETTINGS), ("PATCH", SETTINGS), ("POST", TEST)] {
            let body = (method != "GET").then(|| json!({ "recipient": "jo@example.org" }));
            assert_eq!(user.send(method, path, body.as_ref()).await.status, 403, "{method} {path}");
        }
        let none = json!({
            "host": "", "port": 587, "secure": false, "auth": false, "user": "", "fromName": "Quartermaster",
            "fromAddress": "", "hasPassword": false, "tlsCertificate": "",
        });
        assert_eq!(admin.get(SETTINGS).await, none);
        let (status, said) = try_out(&admin, "jo@example.org").await;
        assert_eq!((status, &said["message"]), (400, &json!("Email is not configured.")));

        let given = json!({
            "host": " mail.example.org ", "port": 465, "secure": true, "user": USER, "password": PASSWORD,
            "fromAddress": "qm@example.org",
        });
        let shown = admin.patch(SETTINGS, given).await;
        let expected = json!({
            "host": "mail.example.org", "port": 465, "secure": true, "auth": true, "user": USER,
            "fromName": "Quartermaster", "fromAddress": "qm@example.org", "hasPassword": true, "tlsCertificate": "",
        });
        assert_eq!(shown, expected);
        for kept in ["", "••••••••"] {
            assert_eq!(admin.patch(SETTINGS, json!({ "password": kept })).await, expected);
        }
        let listed = admin.get("/api/settings").await["media_server_analytics.email"].clone();
        assert_eq!(listed["password"], "••••••••");
        let refused = admin.send("PATCH", "/api/settings", Some(&json!({ "media_server_analytics.email": {} }))).await;
        assert_eq!(refused.status, 403, "it has a route of its own");
        let audit = admin.get("/api/audit?pageSize=100").await;
        assert!(audit.to_string().contains("media_server_analytics.email") && !audit.to_string().contains(PASSWORD));

        for (broken, word) in [
            (json!({ "host": "https://mail.example.org" }), "host"),
            (json!({ "host": "mail.example.org:25" }), "host"),
            (json!({ "port": 0 }), "port"),
            (json!({ "port": 65536 }), "port"),
            (json!({ "fromAddress": "qm" }), "fromAddress"),
            (json!({ "fromAddress": "qm@example.org\r\nBcc: all@example.org" }), "fromAddress"),
            (json!({ "fromName": "Q\r\nBcc: all@example.org" }), "fromName"),
            (json!({ "user": "a\nb" }), "user"),
            (json!({ "pass": "x" }), "pass"),
        ] {
            let reply = admin.send("PATCH", SETTINGS, Some(&broken)).await;
            assert!(reply.status == 400 && reply.json()["message"].to_string().contains(word), "{broken}");
        }
        assert_eq!(admin.get(SETTINGS).await, expected, "what is refused changes nothing");
    }

    async fn a_letter_arrives_over_starttls_with_a_login(db: &TestDb) {
        let options = Options { login: true, ..Options::default() };
        let Some((smtp, _server, admin)) = sending(db, options).await else { return };
        assert_eq!(try_out(&admin, "jo@example.net").await, (201, json!({ "ok": true })));
        let letters = smtp.letters();
        let [letter] = &*letters else { panic!("{letters:?}") };
        assert_eq!(
            (&letter["tls"], &letter["login"], &letter["from"], &letter["to"]),
            (&json!(true), &json!(USER), &json!("qm@example.org"), &json!(["jo@example.net"]))
        );
        let data = letter["data"].as_str().expect("a text");
        for line in ["Subject: Quartermaster test message", "From: ", "To: jo@example.net", "Auto-Submitted: auto-generated"] {
            assert!(data.lines().any(|found| found.starts_with(line)), "{line}\n{data}");
        }

        // What the server says is told, and what signs in is not.
        let (status, said) = try_out(&admin, "nobody@example.net").await;
        assert!(status == 400 && said["message"].to_string().contains("No such user here"), "{status} {said}");
        let (status, said) = try_out(&admin, "later@example.net").await;
        assert!(status == 503 && said["message"].to_string().contains("Greylisted"), "{status} {said}");
        admin.patch(SETTINGS, json!({ "password": "another password" })).await;
        let (status, said) = try_out(&admin, "jo@example.net").await;
        assert!(status == 400 && said["code"] == "bad_request.mail_login", "{status} {said}");
        assert!(!said.to_string().contains("another password"), "{said}");
        assert_eq!(smtp.letters().len(), 1);
    }
}

#[test]
fn a_letter_arrives_over_tls_from_the_first_byte() {
    database::run(Backend::Sqlite, async |db| {
        let options = Options {
            implicit_tls: true,
            login: true,
        };
        let Some((smtp, _server, admin)) = sending(db, options).await else {
            return;
        };
        let (status, said) = try_out(&admin, "jö@example.net").await;
        assert_eq!(status, 201, "{said}");
        let letters = smtp.letters();
        assert_eq!(
            (&letters[0]["tls"], &letters[0]["to"]),
            (&json!(true), &json!(["jö@example.net"]))
        );
    });
}

#[test]
fn a_mail_server_that_nobody_vouches_for_gets_nothing() {
    database::run(Backend::Sqlite, async |db| {
        for implicit_tls in [false, true] {
            let options = Options {
                implicit_tls,
                login: true,
            };
            let Some((smtp, _server, admin)) = sending_by(db, options, |_| Vec::new()).await else {
                return;
            };
            let (status, said) = try_out(&admin, "jo@example.net").await;
            assert_eq!((status, &said["code"]), (502, &json!("upstream.mail")), "{said}");
            assert!(smtp.letters().is_empty());
        }
    });
}

#[test]
fn a_mail_server_is_trusted_by_the_certificate_that_somebody_accepted() {
    database::run(Backend::Sqlite, async |db| {
        for implicit_tls in [false, true] {
            let options = Options {
                implicit_tls,
                login: true,
            };
            let Some((smtp, _server, admin)) = sending_by(db, options, |_| Vec::new()).await else {
                return;
            };
            let (_, said) = try_out(&admin, "jo@example.net").await;
            let message = said["message"].as_str().expect("a message");
            let (_, rest) = message.split_once("(SHA-256 ").expect(message);
            let sha256 = &rest[..95];
            let pem = String::from_utf8(smtp.certificate()).expect("PEM is ASCII");
            let other = "ab".repeat(32);
            for (certificate, is_trusted) in [(&*other, false), (sha256, true), (&*pem, true), ("", false)] {
                admin
                    .patch(SETTINGS, json!({ "tlsCertificate": certificate }))
                    .await;
                let before = smtp.letters().len();
                let (status, said) = try_out(&admin, "jo@example.net").await;
                let expected = if is_trusted {
                    (201, before + 1)
                } else {
                    (502, before)
                };
                assert_eq!((status, smtp.letters().len()), expected, "{certificate}: {said}");
            }
            let refused = admin
                .send("PATCH", SETTINGS, Some(&json!({ "tlsCertificate": "abc" })))
                .await;
            assert_eq!(refused.status, 400, "{}", refused.text());
        }
    });
}
