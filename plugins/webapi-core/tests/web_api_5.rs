//! The Web API as 5.x words it, after its documentation: `204` and a cookie with the port in its name for a login,
//! `start` and `stop`, states that begin with `stopped`, JSON for the outcome of an add. And what a client must not be
//! able to do to us, whatever its version.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on ends"
)]

mod support;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use engine_model::{
    AddOptions, AddRequest, Attention, Command, Error, RateLimits, RateMode, Source, State, Subject,
};
use proptest::prelude::*;
use support::TestSession;
use support::http::Whole;
use support::wire::Wire;

const HASH: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

type Asked = Rc<RefCell<Vec<String>>>;

/// A 5.x client that answers by path; what it was asked after the login, as `path body`.
fn client(answer: impl Fn(&str) -> Option<Whole> + 'static) -> (TestSession, Asked) {
    let asked: Asked = Rc::default();
    let log = asked.clone();
    let wire = Wire::scripted(move |request| {
        let path = request
            .url
            .strip_prefix("http://box:8080/api/v2")
            .expect("the base address");
        if path == "/auth/login" {
            return Ok(
                Whole::new(204, "").with_header("set-cookie", "QBT_SID_8080=abc; HttpOnly; SameSite=Strict")
            );
        }
        let cookie = request.headers.iter().find(|(name, _)| *name == "Cookie");
        assert_eq!(cookie.map(|(_, value)| value.as_str()), Some("QBT_SID_8080=abc"));
        log.borrow_mut().push(
            format!("{path} {}", String::from_utf8_lossy(&request.body))
                .trim()
                .to_owned(),
        );
        let usual = || match path.split('?').next().unwrap_or_default() {
            "/app/version" => Whole::new(200, "v5.1.2"),
            "/app/webapiVersion" => Whole::new(200, "2.11.4"),
            "/torrents/info" => Whole::new(200, format!(r#"[{{"hash":"{HASH}","state":"stoppedUP"}}]"#)),
            _ => Whole::new(200, ""),
        };
        Ok(answer(path).unwrap_or_else(usual))
    });
    (
        support::session(wire, "http://box:8080", "admin", "secret"),
        asked,
    )
}

#[test]
fn start_and_stop_have_their_new_names_and_the_version_is_read_once() {
    let (mut session, asked) = client(|_| None);
    for command in [Command::Start, Command::Resume, Command::Stop, Command::Pause] {
        let outcomes = session.run(&[HASH.into()], &command).expect("it was tried");
        assert_eq!(outcomes[0].error, None);
    }
    assert_eq!(
        session.get(HASH).expect("listed").map(|torrent| torrent.state),
        Some(State::Paused)
    );
    let asked = asked.borrow();
    let told: Vec<_> = asked
        .iter()
        .filter(|line| !line.starts_with("/torrents/info"))
        .map(String::as_str)
        .collect();
    let hashes = format!("hashes={HASH}");
    assert_eq!(
        told,
        [
            "/app/webapiVersion".to_owned(),
            format!("/torrents/start {hashes}"),
            format!("/torrents/start {hashes}"),
            format!("/torrents/stop {hashes}"),
            format!("/torrents/stop {hashes}"),
        ]
    );
}

#[test]
fn a_version_that_cannot_be_read_is_an_old_one() {
    for version in [
        Whole::new(404, "Not Found"),
        Whole::new(200, "<html>"),
        Whole::new(200, "2.10.9"),
    ] {
        let (mut session, asked) =
            client(move |path| (path == "/app/webapiVersion").then(|| version.clone()));
        session
            .run(&[HASH.into()], &Command::Start)
            .expect("it was tried");
        assert!(
            asked
                .borrow()
                .iter()
                .any(|line| line.starts_with("/torrents/resume "))
        );
    }
}

fn request(hash: &str) -> AddRequest {
    let source = Source::Magnet(format!("magnet:?xt=urn:btih:{hash}"));
    AddRequest {
        hash: hash.into(),
        source,
        options: AddOptions::default(),
    }
}

#[test]
fn adds_that_are_refused_are_adopted_when_the_torrent_is_there() {
    let refusals = [
        Whole::new(200, "Fails."),
        Whole::new(409, "Torrent is already present"),
        Whole::new(
            200,
            r#"{"success_count":0,"pending_count":0,"failure_count":1,"added_torrent_ids":[]}"#,
        ),
    ];
    for refusal in refusals {
        let (mut session, _) = client(move |path| (path == "/torrents/add").then(|| refusal.clone()));
        assert_eq!(session.add(&request(HASH)), Ok(()));
        assert!(matches!(
            session.add(&request(&"b".repeat(40))),
            Err(Error::Rejected(_))
        ));
    }
    let (mut session, _) = client(|path| (path == "/torrents/add").then(|| Whole::new(202, "{}")));
    assert_eq!(session.add(&request(&"b".repeat(40))), Ok(()));
}

#[test]
fn a_magnet_link_is_one_line() {
    let (mut session, asked) = client(|_| None);
    let mut two = request(HASH);
    two.source = Source::Magnet("magnet:?xt=urn:btih:a\nhttp://inside/file.torrent".into());
    assert!(matches!(session.add(&two), Err(Error::Rejected(_))));
    assert!(asked.borrow().is_empty());
}

#[test]
fn a_tracker_it_does_not_find_by_its_plain_url_is_named_encoded() {
    // From 5.0 on the client decodes what it is told, and says nothing when it finds none.
    let url = "http://t/a%2Fb/announce";
    let (mut session, asked) = client(move |path| {
        if path == "/torrents/removeTrackers" {
            return None;
        }
        path.starts_with("/torrents/trackers").then(|| {
            Whole::new(
                200,
                format!(r#"[{{"url":"** [DHT] **","tier":-1}},{{"url":"{url}","tier":0}}]"#),
            )
        })
    });
    let outcome = session
        .run(&[HASH.into()], &Command::RemoveTracker(url.into()))
        .expect("it was tried");
    assert!(
        matches!(outcome[0].error, Some(Error::Rejected(_))),
        "this client never lets go of it"
    );
    let asked = asked.borrow();
    let told: Vec<_> = asked
        .iter()
        .filter(|line| line.contains("removeTrackers"))
        .collect();
    assert!(
        told[0].ends_with("urls=http%3A%2F%2Ft%2Fa%252Fb%2Fannounce"),
        "{told:?}"
    );
    assert!(
        told[1].ends_with("urls=http%253A%252F%252Ft%252Fa%25252Fb%252Fannounce"),
        "{told:?}"
    );
    drop(asked);
    let outcome = session
        .run(&[HASH.into()], &Command::RemoveTracker("http://other/".into()))
        .expect("it was tried");
    assert_eq!(outcome[0].error, Some(Error::NotFound(Subject::Tracker)));
}

#[test]
fn a_tracker_of_a_torrent_it_does_not_know_is_not_added() {
    // From 5.2 on the client answers 204 to that, and only the list of trackers tells.
    let (mut session, asked) = client(|path| match path.split('?').next().unwrap_or_default() {
        "/torrents/addTrackers" | "/torrents/removeTrackers" => Some(Whole::new(204, "")),
        "/torrents/trackers" => Some(Whole::new(404, "Not Found")),
        "/torrents/info" => Some(Whole::new(200, "[]")),
        _ => None,
    });
    for command in [
        Command::AddTracker("http://t/announce".into()),
        Command::RemoveTracker("http://t/announce".into()),
    ] {
        let outcome = session.run(&[HASH.into()], &command).expect("it was tried");
        assert_eq!(
            outcome[0].error,
            Some(Error::NotFound(Subject::Torrent)),
            "{command:?}"
        );
    }
    assert!(!asked.borrow().iter().any(|line| line.contains("Trackers")));
}

#[test]
fn a_removal_that_does_not_happen_is_no_success() {
    let (mut session, asked) = client(|_| None);
    let outcome = session
        .run(&[HASH.into()], &Command::Remove(true))
        .expect("it was tried");
    assert!(matches!(outcome[0].error, Some(Error::Timeout(_))));
    assert!(
        asked
            .borrow()
            .contains(&format!("/torrents/delete hashes={HASH}&deleteFiles=true"))
    );
}

#[test]
fn global_limits_are_bytes_per_second_and_zero_is_none() {
    let told = r#"{"dl_limit":1024,"up_limit":0,"alt_dl_limit":5120,"alt_up_limit":-1}"#;
    let (mut session, asked) =
        client(move |path| (path == "/app/preferences").then(|| Whole::new(200, told)));
    for (mode, download) in [(RateMode::Normal, 1024), (RateMode::Alternative, 5120)] {
        assert_eq!(
            session.rate_limits(mode),
            Ok(RateLimits {
                download: Some(download),
                upload: None
            })
        );
    }
    session
        .set_rate_limits(
            RateMode::Alternative,
            RateLimits {
                download: None,
                upload: Some(1025),
            },
        )
        .expect("taken");
    let json = "%7B%22alt_dl_limit%22%3A0%2C%22alt_up_limit%22%3A2048%7D";
    assert_eq!(asked.borrow()[2..], [format!("/app/setPreferences json={json}")]);
}

#[test]
fn answers_of_something_else_are_protocol_errors() {
    for body in [
        "",
        "<html></html>",
        "{}",
        "[]",
        r#"{"rid":1}"#,
        r#"{"rid":0,"full_update":true}"#,
        "null",
    ] {
        let (mut session, _) = client(move |_| Some(Whole::new(200, body)));
        assert!(
            matches!(
                session.poll(None, Attention::Watched, &[]),
                Err(Error::Protocol(_))
            ),
            "{body}"
        );
    }
    for body in ["", "<html></html>", "{}", "null"] {
        let (mut session, _) = client(move |_| Some(Whole::new(200, body)));
        assert!(matches!(session.get(HASH), Err(Error::Protocol(_))), "{body}");
        assert!(
            matches!(session.trackers(HASH), Err(Error::Protocol(_))),
            "{body}"
        );
    }
}

#[test]
fn a_poll_that_broke_off_is_followed_by_a_full_one() {
    let answers = RefCell::new(vec![
        format!(r#"{{"rid":3,"full_update":true,"torrents":{{"{HASH}":{{"name":"b"}}}}}}"#),
        format!(r#"{{"rid":2,"torrents":{{"{HASH}":{{"name":"b"}}}},"#),
        format!(r#"{{"rid":1,"full_update":true,"torrents":{{"{HASH}":{{"name":"a"}}}}}}"#),
    ]);
    let (mut session, asked) = client(move |path| {
        let is_version = path == "/app/webapiVersion";
        let next = || answers.borrow_mut().pop().expect("three polls");
        Some(Whole::new(
            200,
            if is_version { "2.11.4".to_owned() } else { next() },
        ))
    });
    let first = session.poll(None, Attention::Watched, &[]).expect("a list");
    assert!(matches!(
        session.poll(Some(first.cursor), Attention::Watched, &[]),
        Err(Error::Protocol(_))
    ));
    let third = session
        .poll(Some(first.cursor), Attention::Watched, &[])
        .expect("a list");
    assert!(third.full, "what the broken one changed must not be lost");
    assert_eq!(
        *asked.borrow(),
        [
            "/sync/maindata?rid=0",
            "/app/webapiVersion",
            "/sync/maindata?rid=1",
            "/sync/maindata?rid=0"
        ]
    );
}

proptest! {
    #[test]
    fn no_answer_whatever_makes_it_panic(body: Vec<u8>, status in 200u16..600) {
        let (mut session, _) = client(move |_| Some(Whole::new(status, body.clone())));
        let _ = session.version();
        let _ = session.poll(None, Attention::Watched, &[]);
        let _ = session.get(HASH);
        let _ = session.files(HASH);
        let _ = session.peers(HASH);
        let _ = session.trackers(HASH);
        let _ = session.session_stats();
        let _ = session.all_time();
        let _ = session.health();
        let _ = session.export_metainfo(HASH);
        let _ = session.categories();
        let _ = session.tags();
        let _ = session.preferences_schema();
        let _ = session.preferences();
        let _ = session.set_preferences(r#"{"dht":true}"#);
        let _ = session.banned_peers();
        let _ = session.rate_mode();
        let _ = session.rate_limits(RateMode::Normal);
        let _ = session.add(&request(HASH));
        for command in [Command::Start, Command::Remove(true), Command::Rename("x".into()),
            Command::RenameFile { index: 0, name: "x".into() }, Command::RemoveTracker("http://t".into()),
            Command::Sequential(true), Command::RenameFolder { old_path: "a".into(), new_path: "b".into() }] {
            let _ = session.run(&[HASH.into()], &command);
        }
    }

    #[test]
    fn no_json_whatever_makes_it_panic(body in r#"\{("(rid|full_update|torrents|torrents_removed|server_state|x)":[\[\]{}",:0-9a-z.-]{0,12},?){0,6}\}"#) {
        let (mut session, _) = client(move |_| Some(Whole::new(200, body.clone())));
        let first = session.poll(None, Attention::Watched, &[]);
        let _ = session.poll(first.ok().map(|delta| delta.cursor), Attention::Watched, &[]);
    }
}

#[test]
fn the_client_is_not_set_to_take_data_by_itself() {
    let (mut session, asked) =
        client(|path| (path == "/app/preferences").then(|| Whole::new(200, r#"{"max_ratio_act":0}"#)));
    let refused = session.set_preferences(r#"{"shareLimitAction":"remove-with-data"}"#);
    assert!(matches!(refused, Err(Error::Rejected(_))), "{refused:?}");
    assert_eq!(asked.borrow().as_slice(), ["/app/preferences"]);
}

#[test]
fn an_add_that_happened_is_none_that_failed() {
    let (mut session, asked) = client(|path| match path.split('?').next().unwrap_or_default() {
        "/app/webapiVersion" => Some(Whole::new(200, "2.8.19")),
        "/torrents/info" => Some(Whole::new(500, "busy")),
        _ => None,
    });
    let mut first = request(HASH);
    first.options.queue_first = true;
    assert_eq!(
        session.add(&first),
        Ok(()),
        "though its place in the queue is not known"
    );
    assert!(
        asked
            .borrow()
            .iter()
            .any(|line| line.starts_with("/torrents/info"))
    );
}

#[test]
fn a_switch_may_show_late_that_it_was_thrown() {
    let looks = Cell::new(0);
    let (mut session, asked) = client(move |path| {
        let shows = path.starts_with("/torrents/info").then(|| {
            looks.set(looks.get() + 1);
            looks.get() > 9
        })?;
        Some(Whole::new(
            200,
            format!(r#"[{{"hash":"{HASH}","seq_dl":{shows}}}]"#),
        ))
    });
    let outcomes = session
        .run(&[HASH.into()], &Command::Sequential(true))
        .expect("it was tried");
    assert_eq!(outcomes[0].error, None);
    let thrown = asked
        .borrow()
        .iter()
        .filter(|line| line.starts_with("/torrents/toggle"))
        .count();
    assert_eq!(thrown, 1);
}
