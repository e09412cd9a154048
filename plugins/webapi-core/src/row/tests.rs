//! Rows merged from JSON, and the torrents they become.

use super::*;
use proptest::prelude::*;

const HASH: &str = "0123456789abcdef0123456789ABCDEF01234567";

fn merged(json: &str) -> Torrent {
    let mut row = Row::blank(Id::parse(HASH).expect("a hash"));
    Merge {
        row: &mut row,
        shared: &mut Shared::default(),
    }
    .json(json.as_bytes())
    .expect("JSON of a torrent");
    row.torrent()
}

#[test]
fn hashes_are_forty_hex_digits() {
    assert_eq!(Id::parse(HASH).expect("a hash").to_string(), HASH.to_lowercase());
    for text in [
        "",
        "0123",
        &HASH[1..],
        "g123456789abcdef0123456789abcdef01234567",
        &"é".repeat(20),
    ] {
        assert_eq!(Id::parse(text), None, "{text}");
    }
}

#[test]
fn fields_are_mapped() {
    let torrent = merged(
        r#"{"name":"a \u00fc","state":"stalledUP","progress":1,"size":10,"downloaded":11,"uploaded":22,"ratio":2.0,
        "dlspeed":1,"upspeed":2,"eta":60,"num_seeds":3,"num_complete":-1,"num_leechs":4,"num_incomplete":5,
        "category":"tv","save_path":"/d","content_path":"/d/a","private":true,"added_on":7,"completion_on":8,
        "tags":"x, y","availability":1.5,"seeding_time":3600,"last_activity":9,
        "tracker":"https://user@Tracker.example:8443/announce"}"#,
    );
    let expected = Torrent {
        hash: HASH.to_lowercase(),
        name: "a ü".into(),
        state: State::Seeding,
        progress: 1.0,
        size: Some(10),
        downloaded: 11,
        uploaded: 22,
        ratio: 2.0,
        download_rate: 1,
        upload_rate: 2,
        eta: Some(60),
        seeds_connected: 3,
        seeds_total: None,
        peers_connected: 4,
        peers_total: Some(5),
        priority: 2,
        label: Some("tv".into()),
        tags: vec!["x".into(), "y".into()],
        save_path: "/d".into(),
        content_path: "/d/a".into(),
        is_private: Some(true),
        message: None, // the client has none for a torrent
        added_at: Some(7),
        completed_at: Some(8),
        tracker_host: Some("tracker.example".into()),
        tracker_standing: None, // it was not asked about
        tracker_message: None,
        seconds_seeded: Some(3600),
        last_activity: Some(9),
        availability: Some(1.5),
        trackers_count: Some(0),
        ..Torrent::default()
    };
    assert_eq!(torrent, expected);
}

/// The same of a torrent whose trackers were asked about.
fn heard(json: &str, (working, failing, unheard): (u32, u32, u32), text: &str) -> Torrent {
    let mut row = Row::blank(Id::parse(HASH).expect("a hash"));
    let merge = Merge {
        row: &mut row,
        shared: &mut Shared::default(),
    };
    merge.json(json.as_bytes()).expect("JSON of a torrent");
    row.hear(Heard {
        tracked: engine_model::Tracked {
            working,
            failing,
            unheard,
        },
        text: text.into(),
    });
    row.torrent()
}

#[test]
fn the_standing_is_that_of_all_trackers() {
    let lost = "unregistered torrent";
    let old = r#"{"state":"stalledUP","trackers_count":2,"tracker":""}"#;
    let named = r#"{"state":"stalledUP","trackers_count":2,"tracker":"http://t/a"}"#;
    let late = r#"{"state":"stalledUP","trackers_count":2,"tracker":"http://t/a","has_metadata":true}"#;
    let stopped = r#"{"state":"stoppedUP","trackers_count":2,"tracker":"http://t/a","private":null}"#;
    let full = r#"{"state":"missingFiles","trackers_count":2,"tracker":"http://t/a"}"#;
    let none = r#"{"state":"stalledUP","trackers_count":0}"#;
    let checked = r#"{"state":"checkingUP","trackers_count":1,"has_metadata":true}"#;
    for (json, tracked, text, state, standing, message) in [
        (
            old,
            (0, 2, 0),
            lost,
            State::Error,
            Some(Standing::Unregistered),
            Some(lost),
        ),
        (
            old,
            (0, 2, 0),
            "internal error",
            State::Seeding,
            Some(Standing::Failing),
            Some("internal error"),
        ),
        (old, (0, 0, 2), "", State::Seeding, Some(Standing::Updating), None),
        (
            named,
            (0, 2, 0),
            lost,
            State::Seeding,
            Some(Standing::Working),
            None,
        ),
        (
            late,
            (0, 2, 0),
            lost,
            State::Error,
            Some(Standing::Unregistered),
            Some(lost),
        ),
        (
            late,
            (1, 1, 0),
            "slow down",
            State::Seeding,
            Some(Standing::Working),
            Some("slow down"),
        ),
        (stopped, (0, 0, 2), "", State::Paused, None, None),
        (full, (2, 0, 0), "", State::Error, Some(Standing::Working), None),
        (none, (0, 1, 0), lost, State::Seeding, None, None),
        (
            checked,
            (0, 1, 0),
            lost,
            State::Checking,
            Some(Standing::Unregistered),
            Some(lost),
        ),
    ] {
        let shown = heard(json, tracked, text);
        let found = (
            shown.state,
            shown.tracker_standing,
            shown.tracker_message.as_deref(),
        );
        assert_eq!(found, (state, standing, message), "{json} {tracked:?}");
    }
}

#[test]
fn a_torrent_whose_trackers_are_dead_has_the_host_of_its_first() {
    let magnet = r#""magnet_uri":"magnet:?xt=urn:btih:0&dn=a&tr=http%3a%2f%2fOne.example%3a80%2fa&tr=udp%3A%2F%2Ftwo.example""#;
    for (json, host) in [
        (format!(r#"{{{magnet},"tracker":""}}"#), Some("one.example")),
        (
            format!(r#"{{{magnet},"tracker":"https://works.example/"}}"#),
            Some("works.example"),
        ),
        (r#"{"magnet_uri":"magnet:?xt=urn:btih:0"}"#.to_owned(), None),
        (r#"{"magnet_uri":7}"#.to_owned(), None),
    ] {
        assert_eq!(merged(&json).tracker_host.as_deref(), host, "{json}");
    }
}

#[test]
fn what_moves_with_the_clock_is_kept_and_is_no_news() {
    let mut row = Row::blank(Id::parse(HASH).expect("a hash"));
    let mut shared = Shared::default();
    let mut news = |json: &str| {
        let merge = Merge {
            row: &mut row,
            shared: &mut shared,
        };
        merge.json(json.as_bytes()).expect("JSON of a torrent")
    };
    assert!(news(
        r#"{"tracker":"udp://[2001:db8::1]:6969","availability":1.5,"seeding_time":1}"#
    ));
    assert!(!news(
        r#"{"seeding_time":9,"last_activity":99,"availability":1.505,"tracker":""}"#
    ));
    assert!(news(r#"{"availability":1.52}"#));
    assert!(news(r#"{"availability":-1}"#));
    let torrent = row.torrent();
    assert_eq!(
        (
            torrent.seconds_seeded,
            torrent.last_activity,
            torrent.availability
        ),
        (Some(9), Some(99), None)
    );
    assert_eq!(
        torrent.tracker_host.as_deref(),
        Some("2001:db8::1"),
        "a tracker that is down is still its tracker"
    );
}

#[test]
fn what_the_client_does_not_know_stays_unknown() {
    let torrent = merged(
        r#"{"eta":8640000,"ratio":-1,"size":-1,"completion_on":-3600,"added_on":0,"category":"","save_path":"/d",
        "private":null,"progress":7.5}"#,
    );
    assert_eq!(
        (torrent.eta, torrent.completed_at, torrent.added_at),
        (None, None, None)
    );
    assert_eq!(
        (torrent.label, torrent.size, torrent.content_path.as_str()),
        (None, Some(0), "/d")
    );
    assert!(
        (torrent.ratio - RATIO_MAX).abs() < f64::EPSILON && (torrent.progress - 1.0).abs() < f64::EPSILON
    );
}

#[test]
fn a_hybrid_goes_by_its_v1_hash() {
    let v1 = "f".repeat(40);
    assert_eq!(merged(&format!(r#"{{"infohash_v1":"{v1}"}}"#)).hash, v1);
    assert_eq!(merged(r#"{"infohash_v1":""}"#).hash, HASH.to_lowercase());
}

#[test]
fn only_what_shows_is_a_change() {
    let mut row = Row::blank(Id::default());
    let mut shared = Shared::default();
    let mut merge = |json: &str| {
        Merge {
            row: &mut row,
            shared: &mut shared,
        }
        .json(json.as_bytes())
        .expect("JSON")
    };
    assert!(merge(r#"{"name":"a","upspeed":5,"category":"c"}"#));
    assert!(!merge(r#"{"name":"a","upspeed":5,"category":"c"}"#));
    assert!(!merge(
        r#"{"time_active":9,"seeding_time":9,"last_activity":9,"availability":-1,"seen_complete":1,
        "uploaded_session":9,"amount_left":0,"tracker":"","trackers_count":2}"#
    ));
    assert!(!merge(
        r#"{"name":5,"upspeed":"7","state":null,"private":"yes","category":[],"infohash_v1":{}}"#
    ));
    assert!(merge(r#"{"upspeed":6}"#));
    assert!(merge(r#"{"state":"error"}"#));
    assert!(merge(r#"{"tags":"a, b"}"#) && !merge(r#"{"tags":"a, b"}"#));
}

#[test]
fn shared_texts_do_not_pile_up() {
    let mut shared = Shared::default();
    for n in 0..3 * SHARED_MAX {
        shared.get(&n.to_string());
    }
    assert!(shared.0.len() <= SHARED_MAX);
    assert!(Rc::ptr_eq(&shared.get("a"), &shared.get("a")));
}

proptest! {
    #[test]
    fn hostile_objects_never_panic(json in r#"[\[\]{}",:0-9a-z_eE.\\-]{0,80}"#) {
        let mut row = Row::blank(Id::default());
        let _ = Merge { row: &mut row, shared: &mut Shared::default() }.json(json.as_bytes());
    }

    #[test]
    fn any_value_may_stand_in_any_field(n: i64, x: f64, text: String) {
        let mut row = Row::blank(Id::default());
        for field in ["added_on", "category", "eta", "name", "num_seeds", "private", "progress", "ratio", "size", "state",
            "hash", "infohash_v1", "save_path", "completion_on"] {
            for value in [serde_json::json!(n), serde_json::json!(x), serde_json::json!(text), serde_json::json!([n])] {
                let json = serde_json::json!({ field: value }).to_string();
                let merged = Merge { row: &mut row, shared: &mut Shared::default() }.json(json.as_bytes());
                prop_assert!(merged.is_ok());
            }
        }
        let torrent = row.torrent();
        prop_assert!((0.0..=1.0).contains(&torrent.progress) && torrent.ratio.is_finite());
    }
}

#[test]
fn choices_of_users_are_told_and_each_is_news() {
    let mut row = Row::blank(Id::parse(HASH).expect("a hash"));
    let mut merge = |json: &str| {
        let merge = Merge {
            row: &mut row,
            shared: &mut Shared::default(),
        };
        (merge.json(json.as_bytes()).expect("JSON"), row.torrent())
    };
    type Shows = fn(&Torrent) -> bool;
    let rows: [(&str, Shows); 12] = [
        (r#"{"priority":3}"#, |t| t.queue_position == Some(3)),
        (r#"{"priority":0}"#, |t| t.queue_position.is_none()),
        (r#"{"seq_dl":true}"#, |t| t.sequential == Some(true)),
        (r#"{"f_l_piece_prio":false}"#, |t| {
            t.first_last_piece == Some(false)
        }),
        (r#"{"super_seeding":true}"#, |t| t.super_seeding == Some(true)),
        (r#"{"force_start":true}"#, |t| t.force_started == Some(true)),
        (r#"{"auto_tmm":true}"#, |t| t.auto_managed == Some(true)),
        (r#"{"download_path":"/i"}"#, |t| {
            t.download_path.as_deref() == Some("/i")
        }),
        (r#"{"up_limit":-1}"#, |t| t.upload_limit == Some(0)),
        (r#"{"dl_limit":2048}"#, |t| t.download_limit == Some(2048)),
        (r#"{"total_size":-1}"#, |t| {
            t.has_metadata == Some(false) && t.size.is_none()
        }),
        (
            r#"{"ratio_limit":2,"seeding_time_limit":-1,"inactive_seeding_time_limit":5,"share_limit_action":"Remove"}"#,
            |t| {
                t.share_limits
                    == Some(engine_model::ShareLimits {
                        ratio: engine_model::Limit::At(2.0),
                        seeding_seconds: engine_model::Limit::Unlimited,
                        inactive_seconds: engine_model::Limit::At(300),
                        action: engine_model::ShareAction::Remove,
                    })
            },
        ),
    ];
    for (json, shows) in rows {
        let (news, torrent) = merge(json);
        assert!(news && shows(&torrent), "{json}: {torrent:?}");
        assert!(!merge(json).0, "{json} again");
    }
}
