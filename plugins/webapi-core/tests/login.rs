//! Behaviour of a session whose login is refused: it tries once, and then it waits.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on ends"
)]

mod support;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use engine_model::{Attention, Command};
use support::http::Whole;
use support::wire::Wire;
use webapi_core::{Clock, Error, NetError, Session};

/// Stands where it is put.
#[derive(Clone, Default)]
struct SetClock(Rc<Cell<u64>>);

impl Clock for SetClock {
    fn monotonic_ms(&self) -> u64 {
        self.0.get()
    }
    fn sleep_ms(&self, ms: u32) {
        self.0.set(self.0.get() + u64::from(ms));
    }
}

/// A client by a script, and what it was asked, as `METHOD path cookie`.
struct Scripted {
    session: Session<Wire, SetClock>,
    clock: SetClock,
    asked: Rc<RefCell<Vec<String>>>,
}

fn scripted(script: impl Fn(&str, &str) -> Result<Whole, NetError> + 'static) -> Scripted {
    let asked = Rc::new(RefCell::new(Vec::new()));
    let log = asked.clone();
    let wire = Wire::scripted(move |request| {
        let path = request
            .url
            .strip_prefix("http://box:8080/api/v2")
            .expect("the base address");
        let header = |name: &str| {
            request
                .headers
                .iter()
                .find(|(n, _)| *n == name)
                .map_or("", |(_, v)| v.as_str())
        };
        assert_eq!(header("Referer"), "http://box:8080");
        log.borrow_mut().push(
            format!("{} {path} {}", request.method, header("Cookie"))
                .trim()
                .to_owned(),
        );
        script(path, header("Cookie"))
    });
    let clock = SetClock::default();
    let config = support::config("http://box:8080", "admin", "secret");
    Scripted {
        session: Session::new(config, wire, clock.clone()),
        clock,
        asked,
    }
}

impl Scripted {
    fn logins(&self) -> usize {
        self.asked
            .borrow()
            .iter()
            .filter(|line| line.contains("/auth/login"))
            .count()
    }
}

fn granted(cookie: &str) -> Whole {
    Whole::new(200, "Ok.").with_header("Set-Cookie", &format!("{cookie}; HttpOnly; path=/"))
}

#[test]
fn a_lost_session_costs_one_login_and_one_retry() {
    let count = Cell::new(0);
    let mut client = scripted(move |path, cookie| {
        Ok(match (path, cookie) {
            ("/auth/login", _) => {
                count.set(count.get() + 1);
                granted(&format!("SID=s{}", count.get()))
            }
            (_, "SID=s2") => Whole::new(200, "v4.6.0"),
            _ => Whole::new(403, "Forbidden"),
        })
    });
    assert_eq!(client.session.version().as_deref(), Ok("4.6.0"));
    assert_eq!(
        *client.asked.borrow(),
        [
            "POST /auth/login",
            "GET /app/version SID=s1",
            "POST /auth/login",
            "GET /app/version SID=s2"
        ]
    );
}

#[test]
fn a_session_that_never_holds_ends_in_an_error_and_a_pause() {
    let mut client = scripted(|path, _| {
        Ok(if path == "/auth/login" {
            granted("SID=x")
        } else {
            Whole::new(403, "Forbidden")
        })
    });
    for _ in 0..50 {
        assert!(matches!(
            client.session.poll(None, Attention::Watched, &[]),
            Err(Error::Auth(_))
        ));
    }
    assert_eq!(client.logins(), 2, "one, and one more after the first 403");
    client.clock.sleep_ms(30_000);
    assert!(matches!(
        client.session.poll(None, Attention::Watched, &[]),
        Err(Error::Auth(_))
    ));
    assert_eq!(client.logins(), 4);
    client.clock.sleep_ms(30_000);
    assert!(matches!(
        client.session.poll(None, Attention::Watched, &[]),
        Err(Error::Auth(_))
    ));
    assert_eq!(client.logins(), 4, "the pause has grown");
}

#[test]
fn refused_credentials_are_not_tried_again_at_once() {
    // 5.2 says 401 where the others say `Fails.`.
    for refusal in [Whole::new(200, "Fails."), Whole::new(401, "Unauthorized")] {
        let mut client = scripted(move |_, _| Ok(refusal.clone()));
        for _ in 0..50 {
            let error = client.session.version().expect_err("it refuses");
            assert!(
                matches!(&error, Error::Auth(text) if !text.contains("secret")),
                "{error:?}"
            );
        }
        assert_eq!(client.asked.borrow().len(), 1);
        // One hour of polls every 2 s, fewer logins than a client bears.
        for _ in 0..1800 {
            client.clock.sleep_ms(2000);
            assert!(client.session.poll(None, Attention::Watched, &[]).is_err());
        }
        assert!(client.logins() <= 4, "{} logins in an hour", client.logins());
    }
}

#[test]
fn a_ban_is_waited_out() {
    let until = Rc::new(Cell::new(true));
    let banned = until.clone();
    let mut client = scripted(move |path, _| {
        Ok(match path {
            "/auth/login" if banned.get() => Whole::new(403, "Your IP address has been banned"),
            "/auth/login" => granted("SID=x"),
            _ => Whole::new(200, "v4.6.0"),
        })
    });
    assert!(matches!(client.session.version(), Err(Error::Auth(_))));
    until.set(false);
    assert!(matches!(client.session.version(), Err(Error::Auth(text)) if text.contains("next try in 30 s")));
    client.clock.sleep_ms(30_000);
    assert_eq!(client.session.version().as_deref(), Ok("4.6.0"));
}

#[test]
fn logins_that_give_nothing_usable() {
    let cases: [(Whole, fn(&Error) -> bool); 6] = [
        (Whole::new(200, "Ok."), |e| matches!(e, Error::Auth(_))), // without a cookie
        (Whole::new(200, "<html>Welcome</html>"), |e| {
            matches!(e, Error::Auth(_))
        }),
        (Whole::new(404, "not here"), |e| matches!(e, Error::Protocol(_))),
        (Whole::new(500, "oops"), |e| matches!(e, Error::Protocol(_))),
        (Whole::new(502, "bad gateway"), |e| {
            matches!(e, Error::Unreachable(_))
        }),
        (
            Whole::new(301, "").with_header("Location", "https://box/"),
            |e| matches!(e, Error::Protocol(text) if text.contains("https://box/")),
        ),
    ];
    for (answer, is_right) in cases {
        let given = answer.clone();
        let error = scripted(move |_, _| Ok(given.clone()))
            .session
            .version()
            .expect_err("no way in");
        assert!(is_right(&error), "{answer:?}: {error:?}");
    }
}

#[test]
fn the_network_says_no_in_words() {
    let cases: [(NetError, fn(&Error) -> bool); 6] = [
        (NetError::Refused, |e| matches!(e, Error::Unreachable(_))),
        (NetError::Closed, |e| matches!(e, Error::Unreachable(_))),
        (NetError::Other("no route".into()), |e| {
            matches!(e, Error::Unreachable(_))
        }),
        (NetError::Timeout, |e| matches!(e, Error::Timeout(_))),
        (NetError::TooLarge, |e| matches!(e, Error::Protocol(_))),
        (NetError::Denied("box:8080".into()), |e| {
            matches!(e, Error::InvalidConfig(_))
        }),
    ];
    for (net, is_right) in cases {
        let given = net.clone();
        let mut client = scripted(move |_, _| Err(given.clone()));
        let error = client.session.version().expect_err("no network");
        assert!(is_right(&error), "{net:?}: {error:?}");
        assert!(client.session.version().is_err());
        assert_eq!(
            client.logins(),
            2,
            "nothing was refused, so nothing is waited for"
        );
    }
}

#[test]
fn a_folder_it_may_not_write_to_is_no_matter_of_the_login() {
    let hash = "a".repeat(40);
    let listed = format!(r#"[{{"hash":"{hash}"}}]"#);
    let mut client = scripted(move |path, _| {
        Ok(match path {
            "/auth/login" => granted("SID=x"),
            "/torrents/setLocation" => Whole::new(403, "Cannot write to directory"),
            "/app/version" => Whole::new(200, "v5.0.0"),
            _ => Whole::new(200, listed.clone()),
        })
    });
    let outcomes = client
        .session
        .run(&[hash], &Command::Move("/root".into()))
        .expect("it was tried");
    assert_eq!(
        outcomes[0].error,
        Some(Error::Rejected("Cannot write to directory".into()))
    );
    assert!(client.session.version().is_ok(), "and the session goes on");
}

#[test]
fn a_client_that_is_gone_is_not_asked_for_each_torrent() {
    let mut client = scripted(|path, _| {
        if path == "/auth/login" {
            Ok(granted("SID=x"))
        } else {
            Err(NetError::Timeout)
        }
    });
    let hashes: Vec<String> = (0..100).map(|n| format!("{n:040x}")).collect();
    let outcomes = client
        .session
        .run(&hashes, &Command::Rename("x".into()))
        .expect("one of them was tried");
    assert!(
        outcomes
            .iter()
            .all(|outcome| matches!(outcome.error, Some(Error::Timeout(_))))
    );
    assert_eq!(client.asked.borrow().len(), 2);
    assert!(
        client.session.run(&hashes, &Command::Start).is_err(),
        "nothing was tried"
    );
}
