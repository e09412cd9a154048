//! Tests of the texts of every event in the catalogue.

use proptest::prelude::*;
use qm_kernel::event::{Cause, DomainEvent};
use qm_kernel::{Ctx, Timestamp};
use serde_json::{Value, json};

use super::*;
use crate::testing::{CATALOGUE, find_spec};

qm_kernel::events! {
    struct Anything: "test.anything" about "thing" {
        nothing: Option<String>,
    }
}

/// 2031-03-30, 09:15 UTC.
const AT: Timestamp = Timestamp::from_ms(1_932_628_500_000);

fn event(key: &str, payload: Value) -> DomainEvent {
    let made = DomainEvent::new(&Ctx::system(), Cause::NONE, "x", &Anything { nothing: None });
    DomainEvent {
        event_key: key.to_owned().into(),
        occurred_at: AT,
        payload,
        ..made
    }
}

fn reader() -> Reader {
    Reader {
        zone: TimeZone::UTC,
        sees_people: true,
        now: AT,
    }
}

fn rendered(key: &str, payload: Value) -> Rendered {
    render(
        find_spec(key).expect("a known event"),
        &event(key, payload),
        &reader(),
    )
}

fn card(key: &str, payload: Value) -> Value {
    serde_json::to_value(rendered(key, payload).card.expect("a card")).expect("JSON")
}

fn facts(card: &Value) -> Vec<String> {
    let facts = card["facts"].as_array().expect("facts").iter();
    facts
        .map(|fact| {
            format!(
                "{}: {}",
                fact["label"].as_str().unwrap(),
                fact["value"].as_str().unwrap()
            )
        })
        .collect()
}

/// Key, headline, sentence, accent and link of each event.
const SENTENCES: &str = "\
torrent.completed | Download completed | a.mkv finished downloading | success | /torrents
torrent.failed | Download failed | a.mkv failed | error | /torrents
system.storage_warning | Storage running low | 4% is free on /data | warning | /system
system.storage_critical | Storage almost full | Only 4% is free on /data | error | /system
system.storage_recovered | Storage recovered | 4% is free again on /data | success | /system
provider.offline | Connection lost | seedbox is offline | error | /engines
provider.recovered | Connection restored | seedbox is back online | success | /engines
media_server.refresh_failed | Refresh failed | tv could not be refreshed | warning | /engines
security.password_changed | Password changed | The password of your account was changed | warning | /account
security.two_factor_disabled | Two-factor sign-in turned off | Two-factor sign-in of your account was turned off | warning | /account
security.api_key_created | API key created | An API key was created: ci | warning | /account
security.login_failed | Sign-in failed | 5 attempts to sign in to your account failed in a row | warning | /account
user.created | Account created | An account was created for Ada Lovelace | neutral | /users
user.role_changed | Roles changed | Other roles were given to Ada Lovelace | warning | /users
automation.notice | Rule notice | a.mkv is done | neutral | /automation";

/// Payload of a sample event.
fn payload(key: &str) -> Value {
    match key.split_once('.').expect("an area and a name") {
        ("torrent", _) => json!({ "torrentName": "a.mkv", "hash": "h" }),
        ("system", _) => json!({ "path": "/data", "freePercent": 4 }),
        ("provider", _) => json!({ "providerName": "seedbox", "kind": "scgi_client" }),
        ("media_server", _) => json!({ "serverName": "tv" }),
        ("user", _) => json!({ "username": "ada", "displayName": "Ada Lovelace" }),
        ("automation", _) => json!({ "noticeTitle": "a.mkv is done", "noticeText": "At last" }),
        ("security", "api_key_created") => json!({ "keyName": "ci" }),
        ("security", "login_failed") => json!({ "username": "ada", "attempts": 5 }),
        _ => json!({}),
    }
}

#[test]
fn every_event_has_its_sentence() {
    for line in SENTENCES.lines() {
        let words: Vec<&str> = line.split(" | ").collect();
        let [key, headline, title, accent, href] = words[..] else {
            panic!("a line of five: {line}");
        };
        let told = rendered(key, payload(key));
        let card = serde_json::to_value(told.card.expect("a card")).unwrap();
        let (lead, trail) = (&card["headline"]["lead"], &card["headline"]["trail"]);
        assert_eq!(
            format!("{} {}", lead.as_str().unwrap(), trail.as_str().unwrap()),
            headline
        );
        assert_eq!(told.title, title, "{key}");
        assert_eq!(
            (card["accent"].as_str(), card["action"]["href"].as_str()),
            (Some(accent), Some(href)),
            "{key}"
        );
        assert_eq!(card["timestamp"], json!("2031-03-30T09:15:00.000Z"));
        assert!(facts(&card).contains(&"Time: Today, 9:15 AM".to_owned()), "{key}");
    }
}

#[test]
fn a_full_disk_shows_how_full() {
    let card = card(
        "system.storage_critical",
        json!({ "path": "/data", "freePercent": 4 }),
    );
    assert_eq!(
        facts(&card),
        ["Location: /data", "Free: 4%", "Time: Today, 9:15 AM"]
    );
    assert_eq!(
        card["progress"],
        json!({ "percent": 4, "label": "Free space", "positionLabel": null })
    );
    assert_eq!(card["icon"], "disk");
}

#[test]
fn what_a_card_needs_and_is_not_told_leaves_a_title() {
    for (key, payload, title) in [
        ("torrent.completed", json!({}), "Torrent completed"),
        (
            "torrent.completed",
            json!({ "torrentName": " ", "path": "/x" }),
            "Torrent completed: /x",
        ),
        (
            "system.storage_warning",
            json!({ "path": "/data" }),
            "System storage warning: /data",
        ),
        (
            "provider.offline",
            json!({ "providerName": null }),
            "Provider offline",
        ),
        ("user.created", json!([]), "User created"),
        (
            "media_server.user_started_watching",
            json!({ "serverName": "tv" }),
            "Media server user started watching: tv",
        ),
    ] {
        let told = rendered(key, payload);
        assert_eq!((&*told.title, told.card), (title, None));
    }
}

#[test]
fn times_are_the_readers() {
    for (zone, now, clock) in [
        ("Asia/Kolkata", AT, "Today, 2:45 PM"),
        ("America/New_York", AT, "Today, 5:15 AM"),
        (
            "UTC",
            Timestamp::from_ms(AT.ms() + 86_400_000),
            "Mar 30, 2031, 9:15 AM",
        ),
    ] {
        let reader = Reader {
            zone: qm_kernel::timezone::zone(Some(zone)),
            now,
            ..reader()
        };
        let happened = event("security.password_changed", json!({}));
        let card = render(
            find_spec("security.password_changed").unwrap(),
            &happened,
            &reader,
        )
        .card
        .unwrap();
        assert_eq!(card.facts.last().unwrap().value, clock, "{zone}");
    }
}

fn watching() -> Value {
    json!({
        "mediaTitle": "The Gate", "serverName": "tv", "userDisplayName": "Ada Lovelace", "showTitle": "Orchard Lane",
        "seasonNumber": 1, "episodeNumber": 3, "mediaType": "episode", "device": "Living room", "client": "app",
        "resolution": "2160", "videoDynamicRange": "HDR10", "progressPercent": 41,
    })
}

#[test]
fn who_watches_is_told_to_whom_may_know() {
    let card = card("media_server.user_started_watching", watching());
    assert_eq!(
        card["summary"],
        json!({
            "text": "Ada Lovelace resumed watching Orchard Lane S01E03 • The Gate", "emphasis": "Orchard Lane",
        })
    );
    assert_eq!(card["context"], "Resumed at 41% • 4K HDR");
    assert_eq!(
        card["media"],
        json!({ "kind": "episode", "primary": "Orchard Lane", "secondary": "S01E03 • The Gate" })
    );
    assert_eq!(card["avatar"]["initials"], "AL");
    assert_eq!(
        facts(&card),
        [
            "User: Ada Lovelace",
            "Episode: Orchard Lane S01E03 • The Gate",
            "Time: Today, 9:15 AM",
            "Player: Living room",
            "Quality: 4K HDR",
        ]
    );
}

#[test]
fn who_may_not_know_learns_nothing_of_the_person() {
    for key in [
        "media_server.user_started_watching",
        "media_server.user_stopped_watching",
    ] {
        let mut payload = watching();
        payload["completionPercent"] = json!(97);
        payload["watchedSeconds"] = json!(3900);
        let reader = Reader {
            sees_people: false,
            ..reader()
        };
        let told = render(find_spec(key).unwrap(), &event(key, payload.clone()), &reader);
        let text = serde_json::to_string(&told.card.unwrap()).unwrap() + &told.title;
        for hidden in ["Ada", "Living", "app\"", "4K", "HDR", "41", "97", "1h"] {
            assert!(!text.contains(hidden), "{hidden}: {text}");
        }
        assert!(told.title.starts_with("A user "), "{}", told.title);
        payload.as_object_mut().unwrap().remove("mediaTitle");
        let told = render(find_spec(key).unwrap(), &event(key, payload), &reader);
        assert!(
            told.card.is_none() && told.title.ends_with(": tv"),
            "{}",
            told.title
        );
    }
}

#[test]
fn what_was_watched_to_the_end_is_finished() {
    for (percent, seconds, verb, context) in [
        (97, 3900, "finished", "Completed • 1h 05m"),
        (89, 2520, "stopped", "89% watched • 42 min"),
    ] {
        let card = card(
            "media_server.user_stopped_watching",
            json!({
                "mediaTitle": "The Gate", "year": 1999, "userDisplayName": "Ada", "completionPercent": percent,
                "watchedSeconds": seconds,
            }),
        );
        assert_eq!(
            card["summary"]["text"],
            format!("Ada {verb} watching The Gate (1999)")
        );
        assert_eq!(
            (card["context"].as_str(), card["accent"].as_str()),
            (Some(context), Some("stopped"))
        );
    }
    let song = json!({ "mediaTitle": "Gates", "showTitle": "The Lanes", "mediaType": "music", "userDisplayName": "Ada" });
    let card = card("media_server.user_started_watching", song);
    assert_eq!(
        card["summary"]["text"],
        "Ada started listening to Gates The Lanes"
    );
}

#[test]
fn secrets_are_never_told() {
    for name in [
        "token",
        "apiKey",
        "api_key",
        "webhookUrl",
        "chatId",
        "ipAddress",
        "newPassword",
        "clientSecret",
    ] {
        assert!(is_secret(name), "{name}");
    }
    for name in TELLING {
        assert!(!is_secret(name), "{name}");
    }
}

proptest! {
    /// Any payload: no panic, an emphasis that occurs in its sentence, and bounded lengths.
    #[test]
    fn hostile_payloads_make_bounded_cards(
        name in ".{0,400}", number in proptest::num::i64::ANY, sees_people in proptest::bool::ANY, place in 0..CATALOGUE.len(),
    ) {
        let mut payload = Map::new();
        for field in TELLING.iter().chain(&["userDisplayName", "showTitle", "device", "resolution", "reason"]) {
            payload.insert((*field).to_owned(), json!(name));
        }
        for field in ["freePercent", "progressPercent", "completionPercent", "watchedSeconds", "year", "seasonNumber",
            "episodeNumber", "attempts"] {
            payload.insert(field.to_owned(), json!(number));
        }
        let def = &CATALOGUE[place];
        let mut happened = event(def.key, Value::Object(payload));
        happened.occurred_at = Timestamp::from_ms(number);
        let told = render(def, &happened, &Reader { sees_people, ..reader() });
        prop_assert!(told.title.chars().count() <= MAX_TITLE);
        if let Some(card) = told.card {
            let emphasis = card.summary.emphasis.clone().unwrap_or_default();
            prop_assert!(card.summary.text.contains(&emphasis));
            prop_assert!(serde_json::to_string(&card).unwrap().len() < 20_000);
        }
    }
}
