//! Tests with misbehaving mail servers, and of secrets in errors. A real server is used by the tests of the
//! whole product.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use async_trait::async_trait;
use qm_kernel::{Mandate, Secret};
use qm_net::{Mail, MailFault, MailServer, Net, NetConfig, Resolver};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;

/// Lines that a server received.
type Heard = Arc<Mutex<Vec<String>>>;

/// A server that greets with `greeting` and answers each line by `reply`; `None` hangs up.
async fn server(
    greeting: String,
    reply: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
) -> (u16, Heard) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Heard::default();
    let (seen, reply) = (heard.clone(), Arc::new(reply));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (seen, reply, greeting) = (seen.clone(), reply.clone(), greeting.clone());
            tokio::spawn(async move {
                let (read, mut write) = stream.into_split();
                let mut lines = BufReader::new(read).lines();
                let mut is_letter = false;
                let _ = write.write_all(greeting.as_bytes()).await;
                while let Ok(Some(line)) = lines.next_line().await {
                    seen.lock().unwrap().push(line.clone());
                    if is_letter && line != "." {
                        continue;
                    }
                    is_letter = line == "DATA";
                    let Some(answer) = reply(&line) else { return };
                    if write.write_all(answer.as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    (port, heard)
}

/// Answers of a server without encryption.
#[expect(
    clippy::unnecessary_wraps,
    reason = "it is one of several servers, and some hang up"
)]
fn honest(line: &str) -> Option<String> {
    let word = line.split(' ').next().unwrap_or_default();
    let said = match word {
        "EHLO" => "250-mail.test\r\n250-AUTH PLAIN LOGIN\r\n250 8BITMIME",
        "AUTH" => "235 welcome",
        "DATA" => "354 go on",
        "QUIT" => "221 bye",
        _ => "250 OK",
    };
    Some(format!("{said}\r\n"))
}

const GREETING: &str = "220 mail.test ESMTP\r\n";

/// Resolver for mail servers.
struct Names(IpAddr);

#[async_trait]
impl Resolver for Names {
    async fn resolve(&self, _: &str) -> std::io::Result<Vec<IpAddr>> {
        Ok(vec![self.0])
    }
}

fn net(leads_to: &str) -> Net {
    Net::with_resolver(NetConfig::default(), Arc::new(Names(leads_to.parse().unwrap()))).unwrap()
}

fn server_on(port: u16, login: bool) -> MailServer {
    MailServer {
        host: "mail.test".to_owned(),
        port,
        implicit_tls: false,
        trust: None,
        login: login.then(|| ("postman".to_owned(), Secret::new("hunter22"))),
    }
}

fn mail() -> Mail {
    Mail {
        from_name: "Quartermaster".to_owned(),
        from: "qm@example.org".to_owned(),
        to: "jo@example.net".to_owned(),
        subject: "Done".to_owned(),
        text: "one\n.\n.two\n".to_owned(),
        html: None,
        id: "n-1".to_owned(),
        date: SystemTime::UNIX_EPOCH,
    }
}

#[tokio::test]
async fn a_letter_is_handed_in_whole_without_encryption_where_there_is_none() {
    let (port, heard) = server(GREETING.to_owned(), honest).await;
    let net = net("127.0.0.1");
    assert_eq!(net.dialer().mail(&server_on(port, true), &mail()).await, Ok(()));
    let heard = heard.lock().unwrap();
    for line in [
        "MAIL FROM:<qm@example.org>",
        "RCPT TO:<jo@example.net>",
        "DATA",
        "Subject: Done",
        "..",
        "..two",
    ] {
        assert!(heard.iter().any(|found| found == line), "{line}: {heard:#?}");
    }
    // An internal address: a password may be sent unencrypted.
    assert!(heard.iter().any(|line| line.starts_with("AUTH PLAIN ")));
    assert_eq!(heard.iter().filter(|line| *line == ".").count(), 1);
}

#[tokio::test]
async fn what_a_server_says_is_handed_on_without_what_signs_in() {
    let echoing = |line: &str| match line {
        line if line.starts_with("AUTH ") => Some(format!(
            "535 5.7.8 {line}: postman and hunter22 (cG9zdG1hbg== aHVudGVyMjI=)\r\n"
        )),
        line => honest(line),
    };
    let (port, _) = server(GREETING.to_owned(), echoing).await;
    let refused = net("127.0.0.1")
        .dialer()
        .mail(&server_on(port, true), &mail())
        .await;
    let Err(MailFault::Auth(words)) = refused else {
        panic!("{refused:?}");
    };
    assert!(words.contains("535") && words.contains("5.7.8"), "{words}");
    for secret in [
        "postman",
        "hunter22",
        "cG9zdG1hbg==",
        "aHVudGVyMjI=",
        "AHBvc3RtYW4AaHVudGVyMjI=",
    ] {
        assert!(!words.contains(secret), "{words}");
    }
}

#[tokio::test]
async fn answers_are_told_apart() {
    for (at_word, answer, expected) in [
        ("RCPT", "550 5.1.1 no such user", "refused"),
        ("RCPT", "451 4.7.1 greylisted", "later"),
        ("MAIL", "421 closing", "later"),
        (".", "554 5.7.1 spam", "refused"),
        ("EHLO", "nonsense", "unreachable"),
    ] {
        let (port, heard) = server(GREETING.to_owned(), move |line| {
            if line.starts_with(at_word) {
                return Some(format!("{answer}\r\n"));
            }
            honest(line)
        })
        .await;
        let told = match net("127.0.0.1")
            .dialer()
            .mail(&server_on(port, false), &mail())
            .await
        {
            Err(MailFault::Refused(words)) if words.contains(&answer[4..]) => "refused",
            Err(MailFault::Later(words)) if words.contains(&answer[4..]) => "later",
            Err(MailFault::Unreachable(_)) => "unreachable",
            other => panic!("{at_word} {answer}: {other:?}"),
        };
        assert_eq!(told, expected, "{at_word} {answer}");
        assert!(heard.lock().unwrap().iter().all(|line| !line.starts_with("AUTH")));
    }
    // It hangs up, floods, or is unreachable.
    let (gone, _) = server(GREETING.to_owned(), |_| None).await;
    let (flood, _) = server(format!("220-{}\r\n", "x".repeat(900)).repeat(16 << 10), honest).await;
    for port in [gone, flood, 1] {
        let failed = net("127.0.0.1")
            .dialer()
            .mail(&server_on(port, false), &mail())
            .await;
        assert!(matches!(failed, Err(MailFault::Unreachable(_))), "{failed:?}");
    }
}

#[tokio::test]
async fn no_letter_leaves_to_where_nobody_goes_or_without_a_mandate() {
    let (port, heard) = server(GREETING.to_owned(), honest).await;
    for nowhere in ["169.254.169.254", "0.0.0.0", "fe80::1"] {
        let refused = net(nowhere).dialer().mail(&server_on(port, false), &mail()).await;
        assert!(
            matches!(refused, Err(MailFault::Unreachable(_))),
            "{nowhere}: {refused:?}"
        );
    }
    let net = net("127.0.0.1").under(Mandate::none());
    let refused = net.dialer().mail(&server_on(port, false), &mail()).await;
    assert!(matches!(refused, Err(MailFault::Unreachable(_))), "{refused:?}");
    assert!(heard.lock().unwrap().is_empty());
}
