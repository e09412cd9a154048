//! Operations on what users choose, of a torrent and of the whole client. They stand among the scenarios.

use engine_model::{
    Category, Command, Error, Limit, QueueMove, RateLimits, RateMode, ShareAction, ShareLimits, Subject,
    Torrent,
};
use serde_json::{Value, json};

use super::TestSession;
use super::scenarios::{Given, MAGNET, NO_TORRENT, UNKNOWN, done, run, until};
use super::torrents::TRACKER;

const PLAIN: &str = "http://127.0.0.1:9/plain/announce?key=a&b=c";
/// A client decodes it where it replaces one by another.
pub const REPLACED: &str = "http://127.0.0.1:9/other%20one/announce?key=a&b=c";

fn torrent_now(session: &mut TestSession, given: &Given) -> Torrent {
    let torrent = session.get(&given.two.hash).expect("an answer");
    torrent.expect("it is there")
}

pub fn toggles(session: &mut TestSession, given: &Given) {
    let hash = given.two.hash.as_str();
    type Read = fn(&Torrent) -> Option<bool>;
    let rows: [(fn(bool) -> Command, Read); 3] = [
        (Command::Sequential, |torrent| torrent.sequential),
        (Command::FirstLastPiece, |torrent| torrent.first_last_piece),
        (Command::SuperSeeding, |torrent| torrent.super_seeding),
    ];
    for (command, read) in rows {
        for on in [false, true, true, false] {
            assert_eq!(run(session, &[hash, UNKNOWN], command(on)), [None, NO_TORRENT]);
            until(session, hash, |torrent| read(torrent) == Some(on));
        }
    }
    done(session, hash, Command::Reannounce);
    assert_eq!(run(session, &[UNKNOWN], Command::Reannounce), [NO_TORRENT]);
}

pub fn share_limits(session: &mut TestSession, given: &Given) {
    let hash = given.two.hash.as_str();
    let lacks = session.health().expect("an answer").lacks;
    for limits in [
        ShareLimits {
            ratio: Limit::At(1.5),
            seeding_seconds: Limit::At(7200),
            ..ShareLimits::default()
        },
        ShareLimits {
            ratio: Limit::Unlimited,
            seeding_seconds: Limit::Unlimited,
            ..ShareLimits::default()
        },
        ShareLimits::default(),
    ] {
        done(session, hash, Command::ShareLimits(limits));
        until(session, hash, |torrent| torrent.share_limits == Some(limits));
    }
    for (word, limits) in [
        (
            "inactive-limit",
            ShareLimits {
                inactive_seconds: Limit::At(600),
                ..ShareLimits::default()
            },
        ),
        (
            "share-action",
            ShareLimits {
                ratio: Limit::At(3.0),
                action: ShareAction::RemoveWithData,
                ..ShareLimits::default()
            },
        ),
    ] {
        let answer = session.run(&[hash.to_owned()], &Command::ShareLimits(limits));
        if lacks.contains(&word) {
            assert!(matches!(answer, Err(Error::Unsupported(_))), "{word}: {answer:?}");
        } else {
            assert_eq!(answer.expect("it was tried")[0].error, None, "{word}");
            until(session, hash, |torrent| torrent.share_limits == Some(limits));
        }
    }
    done(session, hash, Command::ShareLimits(ShareLimits::default()));
}

pub fn queue(session: &mut TestSession, given: &Given) {
    // What is complete is in no queue.
    let refused = run(session, &[MAGNET], Command::Queue(QueueMove::Top));
    assert!(
        matches!(refused[0], Some(Error::Rejected(_))),
        "its queue is off: {refused:?}"
    );
    session.set_preferences(r#"{"queueing":true}"#).expect("taken");
    for way in [QueueMove::Bottom, QueueMove::Up, QueueMove::Down, QueueMove::Top] {
        done(session, MAGNET, Command::Queue(way));
    }
    until(session, MAGNET, |torrent| torrent.queue_position == Some(1));
    session.set_preferences(r#"{"queueing":false}"#).expect("taken");
    let _ = given;
}

pub fn incomplete_path(session: &mut TestSession, given: &Given) {
    let hash = given.two.hash.as_str();
    let path = given.folder("incomplete");
    done(session, hash, Command::DownloadPath(Some(path.clone())));
    until(session, hash, |torrent| {
        torrent.download_path.as_deref() == Some(&path)
    });
    done(session, hash, Command::DownloadPath(None));
    until(session, hash, |torrent| torrent.download_path.is_none());
    done(session, MAGNET, Command::AutoManage(true));
    until(session, MAGNET, |torrent| torrent.auto_managed == Some(true));
    let refused = run(session, &[MAGNET], Command::DownloadPath(Some(path)));
    assert!(matches!(refused[0], Some(Error::Rejected(_))), "{refused:?}");
    done(session, MAGNET, Command::AutoManage(false));
    until(session, MAGNET, |torrent| torrent.auto_managed == Some(false));
}

pub fn folder(session: &mut TestSession, given: &Given) {
    let hash = given.two.hash.as_str();
    let rename = |old: &str, new: &str| Command::RenameFolder {
        old_path: old.to_owned(),
        new_path: new.to_owned(),
    };
    done(session, hash, rename("alpha/moved", "alpha/else where"));
    let paths = |session: &mut TestSession| -> Vec<String> {
        let files = session.files(hash).expect("files");
        files.into_iter().map(|file| file.path).collect()
    };
    assert_eq!(paths(session), ["alpha/else where/d.bin", "alpha/sub/c.bin"]);
    done(session, hash, rename("alpha/else where", "alpha/moved"));
    assert_eq!(
        run(session, &[hash, UNKNOWN], rename("alpha/nowhere", "alpha/x")),
        [Some(Error::NotFound(Subject::File)), NO_TORRENT]
    );
}

pub fn replace_tracker(session: &mut TestSession, given: &Given) {
    let hash = given.two.hash.as_str();
    let replace = |old: &str, new: &str| Command::ReplaceTracker {
        old_url: old.to_owned(),
        new_url: new.to_owned(),
    };
    done(session, hash, replace(TRACKER, REPLACED));
    let urls = |session: &mut TestSession| -> Vec<(String, u32)> {
        let trackers = session.trackers(hash).expect("trackers");
        trackers
            .into_iter()
            .map(|tracker| (tracker.url, tracker.tier))
            .collect()
    };
    let replaced = urls(session);
    assert_eq!(
        replaced.iter().map(|(url, _)| url.as_str()).collect::<Vec<_>>(),
        [REPLACED]
    );
    done(session, hash, replace(REPLACED, PLAIN));
    assert_eq!(
        urls(session),
        [(PLAIN.to_owned(), replaced[0].1)],
        "in the same tier"
    );
    assert_eq!(
        run(session, &[hash, UNKNOWN], replace(TRACKER, REPLACED)),
        [Some(Error::NotFound(Subject::Tracker)), NO_TORRENT]
    );
    done(session, hash, replace(PLAIN, TRACKER));
}

pub fn ban(session: &mut TestSession, given: &Given) {
    let hash = given.two.hash.as_str();
    let peers = ["192.0.2.7:6881", "[2001:db8::7]:6881"]
        .map(str::to_owned)
        .to_vec();
    assert_eq!(
        run(session, &[hash, UNKNOWN], Command::BanPeers(peers)),
        [None, NO_TORRENT]
    );
    let mut banned = session.banned_peers().expect("a list");
    banned.sort();
    assert_eq!(banned, ["192.0.2.7", "2001:db8::7"]);
    session
        .set_banned_peers(&["192.0.2.9".to_owned()])
        .expect("taken");
    assert_eq!(session.banned_peers(), Ok(vec!["192.0.2.9".to_owned()]));
    session.set_banned_peers(&[]).expect("taken");
    assert_eq!(session.banned_peers(), Ok(vec![]));
}

pub fn export(session: &mut TestSession, given: &Given) {
    let bytes = session.export_metainfo(&given.two.hash).expect("a file");
    let info = |bytes: &[u8]| {
        let at = bytes
            .windows(6)
            .position(|part| part == b"4:info")
            .expect("an info");
        bytes[at..].to_vec()
    };
    let made = info(&given.two.bytes);
    assert!(
        info(&bytes).starts_with(&made[..made.len() - 1]),
        "the same info dictionary"
    );
    let refused = session.export_metainfo(MAGNET);
    assert!(matches!(refused, Err(Error::Rejected(_))), "{refused:?}");
    assert_eq!(
        session.export_metainfo(UNKNOWN),
        Err(Error::NotFound(Subject::Torrent))
    );
}

pub fn categories(session: &mut TestSession, given: &Given) {
    let category = |save: Option<String>, incomplete: Option<String>| Category {
        name: "with & path".to_owned(),
        save_path: save,
        download_path: incomplete,
    };
    let (one, two) = (given.folder("one"), given.folder("two"));
    let find = |session: &mut TestSession| {
        let all = session.categories().expect("a list");
        all.into_iter().find(|category| category.name == "with & path")
    };
    let made = category(Some(one), None);
    assert_eq!(session.create_category(&made), Ok(()));
    assert_eq!(find(session), Some(made.clone()));
    let again = session.create_category(&made);
    assert!(matches!(again, Err(Error::Rejected(_))), "{again:?}");
    let edited = category(Some(two.clone()), Some(two));
    assert_eq!(session.edit_category(&edited), Ok(()));
    assert_eq!(
        session.edit_category(&edited),
        Ok(()),
        "an edit that changes nothing"
    );
    assert_eq!(find(session), Some(edited.clone()));
    assert_eq!(
        session.edit_category(&Category {
            name: "nowhere".to_owned(),
            ..edited
        }),
        Err(Error::NotFound(Subject::Category))
    );
    let names = ["with & path".to_owned(), "nowhere".to_owned()];
    assert_eq!(session.remove_categories(&names), Ok(()));
    assert_eq!(find(session), None);
}

pub fn all_tags(session: &mut TestSession, _: &Given) {
    let new = ["quite new".to_owned()];
    assert_eq!(session.create_tags(&new), Ok(()));
    assert_eq!(session.create_tags(&new), Ok(()), "one that exists is no error");
    assert!(session.tags().expect("a list").contains(&new[0]));
    assert_eq!(session.delete_tags(&new), Ok(()));
    assert_eq!(session.delete_tags(&new), Ok(()), "nor is one that does not");
    assert!(!session.tags().expect("a list").contains(&new[0]));
}

pub fn preferences(session: &mut TestSession, given: &Given) {
    let schema: Value = serde_json::from_str(&session.preferences_schema().expect("a schema")).expect("JSON");
    let properties = schema["properties"].as_object().expect("properties");
    assert_eq!(properties["defaultSavePath"]["x-path"], "directory");
    let read = |session: &mut TestSession| -> Value {
        serde_json::from_str(&session.preferences().expect("preferences")).expect("JSON")
    };
    let before = read(session);
    for name in before.as_object().expect("an object").keys() {
        assert!(properties.contains_key(name), "{name} is in no schema");
    }
    let changes = json!({"maxConnections": 321, "maxUploads": null, "maxRatio": 2.5, "maxSeedingMinutes": 90,
        "addStopped": true, "encryption": "required", "shareLimitAction": "stop", "dht": false,
        "defaultSavePath": given.folder("by default")});
    session.set_preferences(&changes.to_string()).expect("taken");
    let now = read(session);
    for (name, value) in changes.as_object().expect("an object") {
        assert_eq!(&now[name], value, "{name}");
    }
    let none =
        json!({"maxRatio": null, "maxSeedingMinutes": null, "encryption": "allowed", "addStopped": false});
    session.set_preferences(&none.to_string()).expect("taken");
    assert_eq!(read(session)["maxRatio"], Value::Null);
    for bad in [json!({"nothing": 1}), json!({"dht": "yes"}), json!([])] {
        let refused = session.set_preferences(&bad.to_string());
        assert!(matches!(refused, Err(Error::Rejected(_))), "{bad}: {refused:?}");
    }
}

pub fn rate_mode(session: &mut TestSession, _: &Given) {
    assert_eq!(session.rate_mode(), Ok(RateMode::Normal));
    let limits = RateLimits {
        download: Some(20_480),
        upload: Some(10_240),
    };
    assert_eq!(session.set_rate_limits(RateMode::Alternative, limits), Ok(()));
    assert_eq!(session.rate_limits(RateMode::Alternative), Ok(limits));
    assert_eq!(session.set_rate_mode(RateMode::Alternative), Ok(()));
    assert_eq!(session.rate_mode(), Ok(RateMode::Alternative));
    assert_eq!(session.rate_limits(RateMode::Normal), Ok(RateLimits::default()));
    assert_eq!(session.set_rate_mode(RateMode::Normal), Ok(()));
    assert_eq!(session.rate_mode(), Ok(RateMode::Normal));
}
