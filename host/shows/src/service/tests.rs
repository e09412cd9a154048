//! Tests of lookups, storage, refreshes and published changes, on both databases.

use std::sync::atomic::Ordering;

use qm_db::{Db, db_test};
use qm_ports::shows::{AiringStatus, Gate, Recommendation, ShowStatuses};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::refresh::Refreshed;
use crate::testing::{FakeProvider, House};

async fn run(house: &House) -> Refreshed {
    house.app.refresh_due(&CancellationToken::new()).await.unwrap()
}

fn counts(answered: usize, failed: usize, forgotten: usize) -> Refreshed {
    Refreshed {
        answered,
        failed,
        forgotten,
    }
}

db_test! {
    async fn the_first_provider_that_has_the_show_answers(db: Db) {
        let house = House::new(&db).await;
        house.first.show("1", "Quiet Web", "Ended");
        house.second.show("2", "Harbor Nine", "Returning Series");
        house.second.show("3", "Quiet Web", "Returning Series");
        let told = house.look_up("harbor-nine").await;
        assert_eq!((told.provider.as_str(), told.provider_show_id.as_deref()), ("titledb", Some("2")));
        assert_eq!((told.normalized_status, told.title.as_str()), (AiringStatus::Returning, "Harbor Nine"));
        assert!((told.confidence - 0.6).abs() < 1e-9);
        let told = house.look_up("quiet web").await;
        assert_eq!((told.provider.as_str(), told.recommendation), ("provider_a", Recommendation::NotRecommended));
        let told = house.look_up_of("quiet web", Some("titledb")).await;
        assert_eq!(told.provider, "titledb");
        // A provider that is not ready is skipped.
        house.first.ready.store(false, Ordering::SeqCst);
        assert_eq!(house.look_up("quiet web").await.provider, "titledb");
        let audited = house.audited().await;
        assert!(audited.iter().all(|row| row.action == "rss.show_status.lookup" && row.result == "success"));
        assert_eq!(audited.len(), 4);
        let row = audited.iter().find(|row| row.object_id.as_deref() == Some("titledb:2")).unwrap();
        assert_eq!(row.metadata, Some(json!({
            "title": "harbor-nine", "provider": "titledb", "normalizedStatus": "returning",
        })));
        assert_eq!(row.object_type.as_deref(), Some("show"));
    }

    async fn what_nobody_knows_is_unknown(db: Db) {
        let house = House::new(&db).await;
        let told = house.look_up("Harbor Nine").await;
        assert_eq!((told.provider.as_str(), told.normalized_status), ("none", AiringStatus::Unknown));
        assert_eq!((told.warnings, told.confidence), (vec!["status_unconfirmed".to_owned()], 0.0));
        for provider in ["nobody", "local"] {
            let told = house.look_up_of("Harbor Nine", Some(provider)).await;
            assert_eq!(told.warnings, ["no_provider_configured"]);
        }
        house.first.ready.store(false, Ordering::SeqCst);
        let told = house.look_up_of("Harbor Nine", Some("provider_a")).await;
        assert_eq!(told.warnings, ["no_provider_configured"]);
        let alone = House::alone(&db).await;
        assert_eq!(alone.look_up("Harbor Nine").await.warnings, ["no_provider_configured"]);
        assert_eq!(run(&alone).await, counts(0, 0, 0));
        // After a failure the next one answers; if none does, that is reported.
        house.first.ready.store(true, Ordering::SeqCst);
        house.first.broken.store(true, Ordering::SeqCst);
        let told = house.look_up("Harbor Nine").await;
        assert_eq!((told.provider.as_str(), told.warnings), ("none", vec!["status_unconfirmed".to_owned()]));
        let row = house.audited().await.into_iter().find(|row| row.result == "failure").unwrap();
        assert_eq!(row.metadata, Some(json!({ "title": "Harbor Nine", "error": "provider_a is out of order" })));
        house.second.show("2", "Harbor Nine", "Ended");
        assert_eq!(house.look_up("Harbor Nine").await.provider, "titledb");
    }

    async fn a_change_is_told_once_and_to_the_rules_first(db: Db) {
        let house = House::new(&db).await;
        let show = ("provider_a".to_owned(), "1".to_owned());
        *house.rules.watched.lock().unwrap() = vec![show.clone(), show];
        let mut before = None;
        for (text, status, more) in [
            ("Returning Series", AiringStatus::Returning, None),
            ("Ended", AiringStatus::Ended, Some("rss.show.ended")),
            ("Canceled", AiringStatus::Canceled, Some("rss.show.canceled")),
            ("rumoured", AiringStatus::Unknown, None),
            ("Ended", AiringStatus::Ended, Some("rss.show.ended")),
            ("Returning Series", AiringStatus::Returning, Some("rss.show.became_active")),
            ("Planned", AiringStatus::Planned, None),
        ] {
            house.first.show("1", "Harbor Nine", text);
            assert_eq!(house.look_up("Harbor Nine").await.normalized_status, status);
            assert_eq!(house.look_up("Harbor Nine").await.normalized_status, status);
            let told = house.take_events();
            let Some(from) = before.replace(status) else {
                assert!(told.is_empty(), "the first answer changes nothing: {told:?}");
                continue;
            };
            let keys: Vec<&str> = told.iter().map(|(key, _)| *key).collect();
            let expected: Vec<&str> = ["rss.show_status.changed"].into_iter().chain(more).collect();
            assert_eq!(keys, expected, "{from:?} to {status:?}");
            for (_, payload) in told {
                assert_eq!(payload, json!({
                    "provider": "provider_a", "providerShowId": "1", "title": "Harbor Nine", "from": from, "to": status,
                    "recommendation": status.recommendation(), "rulesAffected": 2, "at": "2031-03-30T09:15:00.000Z",
                }));
            }
            let last = house.rules.told.lock().unwrap().pop().unwrap();
            assert_eq!((last.status, last.recommendation), (status, status.recommendation()));
            assert_eq!(last.next_episode_air_date.as_deref(), Some("2031-09-01"));
            assert!(house.rules.told.lock().unwrap().is_empty(), "once");
        }
        let changes = house.audited().await.into_iter().filter(|row| row.action == "rss.show_status.changed");
        let changes: Vec<_> = changes.collect();
        assert_eq!(changes.len(), 6);
        assert_eq!((changes[0].user_id.as_deref(), changes[0].object_id.as_deref()), (None, Some("provider_a:1")));
    }

    async fn rules_that_cannot_hear_hear_later(db: Db) {
        let house = House::new(&db).await;
        house.first.show("1", "Harbor Nine", "Returning Series");
        house.look_up("Harbor Nine").await;
        house.first.show("1", "Harbor Nine", "Ended");
        house.rules.broken.store(true, Ordering::SeqCst);
        // The caller gets the answer all the same.
        assert_eq!(house.look_up("Harbor Nine").await.normalized_status, AiringStatus::Ended);
        assert!(house.take_events().is_empty());
        house.after(25);
        assert_eq!(run(&house).await, counts(0, 1, 0));
        assert!(house.take_events().is_empty());
        house.rules.broken.store(false, Ordering::SeqCst);
        assert_eq!(run(&house).await, counts(1, 0, 0));
        assert_eq!(house.take_events().len(), 2);
        assert_eq!(house.rules.told.lock().unwrap().len(), 1);
    }

    async fn shows_are_asked_anew_when_they_are_due(db: Db) {
        for (text, hours) in [
            ("Returning Series", 24), ("Planned", 24), ("Ended", 30 * 24), ("Canceled", 30 * 24), ("rumoured", 3 * 24),
        ] {
            let house = House::new(&db).await;
            house.first.show("1", text, text);
            house.look_up(text).await;
            house.after(hours - 1);
            assert_eq!(run(&house).await, counts(0, 0, 0), "{text}");
            house.after(1);
            assert_eq!(run(&house).await, counts(1, 0, 0), "{text}");
            assert_eq!(run(&house).await, counts(0, 0, 0), "{text}");
            let mut tx = house.db.begin_write().await.unwrap();
            crate::repo::forget(&mut tx, ("provider_a", "1")).await.unwrap();
            tx.commit().await.unwrap();
        }
    }

    async fn shows_that_fail_keep_what_is_known_and_hold_up_no_others(db: Db) {
        let house = House::new(&db).await;
        for number in 0..130 {
            let title = format!("Show number {number}");
            house.first.show(&number.to_string(), &title, "Returning Series");
            house.look_up(&title).await;
            house.clock.advance(std::time::Duration::from_secs(1));
        }
        for number in 0..100 {
            house.first.forget(&number.to_string());
        }
        house.after(25);
        assert_eq!(run(&house).await, counts(0, 100, 0), "a hundred at once");
        house.after(1);
        // Shows not asked yet come first.
        let second = run(&house).await;
        assert_eq!(second, counts(30, 70, 0));
        house.first.broken.store(true, Ordering::SeqCst);
        let kept = house.app.snapshot("provider_a", "5").await;
        assert_eq!((kept.status, kept.title.as_deref()), (AiringStatus::Returning, Some("Show number 5")));
        let begun = house.first.asked.load(Ordering::SeqCst);
        let stop = CancellationToken::new();
        stop.cancel();
        house.after(24);
        house.app.refresh_due(&stop).await.unwrap();
        assert!(house.first.asked.load(Ordering::SeqCst) <= begun + 1, "a server that stops asks no more");
    }

    async fn a_rule_is_judged_by_what_is_known_or_told_now(db: Db) {
        let house = House::new(&db).await;
        house.first.show("1", "Harbor Nine", "Ended");
        let first = house.app.snapshot("provider_a", "1").await;
        assert_eq!((first.gate(false), first.gate(true)), (Gate::Closed, Gate::Overridden));
        assert!(first.warning().starts_with("\"Harbor Nine\" appears to be ended. Confirm"));
        let asked = house.first.asked.load(Ordering::SeqCst);
        house.after(29 * 24);
        assert_eq!(house.app.snapshot("provider_a", "1").await, first);
        assert_eq!(house.first.asked.load(Ordering::SeqCst), asked, "what is known is not asked again");
        house.after(24);
        house.first.show("1", "Harbor Nine", "Returning Series");
        assert_eq!(house.app.snapshot("provider_a", "1").await.gate(false), Gate::Open);
        for (provider, id) in [("provider_a", "9"), ("nobody", "1")] {
            let unknown = house.app.snapshot(provider, id).await;
            assert_eq!((unknown.status, unknown.gate(false)), (AiringStatus::Unknown, Gate::Open));
            assert_eq!((unknown.warnings, unknown.title), (vec!["status_unconfirmed".to_owned()], None));
        }
        house.take_events();
        house.first.show("1", "Harbor Nine", "Canceled");
        assert_eq!(house.app.refresh("provider_a", "1").await.unwrap().unwrap().status, AiringStatus::Canceled);
        assert_eq!(house.take_events().len(), 2);
        for (provider, id) in [("provider_a", "9"), ("nobody", "1")] {
            assert_eq!(house.app.refresh(provider, id).await.unwrap(), None, "{provider} {id}");
        }
        house.first.broken.store(true, std::sync::atomic::Ordering::SeqCst);
        let error = house.app.refresh("provider_a", "1").await.unwrap_err();
        assert_eq!(error.to_string(), "provider_a is out of order");
    }

    async fn what_nobody_asks_for_is_forgotten(db: Db) {
        let house = House::new(&db).await;
        for id in ["1", "2"] {
            house.first.show(id, &format!("Harbor {id}"), "Ended");
            house.look_up(&format!("Harbor {id}")).await;
        }
        house.rules.watched.lock().unwrap().push(("provider_a".to_owned(), "2".to_owned()));
        house.after(181 * 24);
        house.rules.broken.store(true, Ordering::SeqCst);
        assert_eq!(run(&house).await, counts(2, 0, 0));
        house.rules.broken.store(false, Ordering::SeqCst);
        assert_eq!(run(&house).await, counts(0, 0, 1));
        let mut tx = house.db.begin_read().await.unwrap();
        let left: Vec<String> = crate::repo::oldest(&mut tx, 9).await.unwrap().into_iter().map(|kept| kept.id).collect();
        assert_eq!(left, ["2"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_says_nothing_is_left_after_eight_seconds() {
    let provider = FakeProvider::new("provider_a", 0.95);
    provider.silent.store(true, Ordering::SeqCst);
    for error in [
        super::search(provider.as_ref(), "Harbor Nine", None)
            .await
            .unwrap_err(),
        super::details(provider.as_ref(), "1").await.unwrap_err(),
    ] {
        assert_eq!(error.to_string(), "provider_a did not answer within 8 s");
    }
}
