//! Tests of triggers other than completions and ratios, on both databases.

use std::time::Duration;

use qm_db::{Db, db_test};
use qm_ports::engine::{TorrentState, TrackerStanding};
use qm_ports::list::TorrentRecord;
use qm_ports::rules::{Edge, RuleWatch};
use serde_json::{Value, json};

use super::edges::OCCASIONS;
use crate::model::rule::RuleChange;
use crate::testing::{House, torrent};

const FAILED: &str = "torrent.failed";

fn mark(tag: &str) -> Value {
    json!({ "type": "mark", "params": { "tag": tag } })
}

#[test]
fn consumers_keep_the_keys_they_were_released_with() {
    let told: Vec<(&str, &[&str])> = OCCASIONS.to_vec();
    let shows = [
        "rss.rule.created_for_inactive_show",
        "rss.show_status.changed",
        "rss.show.became_active",
        "rss.show.ended",
        "rss.show.canceled",
    ];
    assert_eq!(
        told[..2],
        [
            ("automation.occasions", shows.as_slice()),
            ("automation.storage_low", ["storage.low"].as_slice())
        ]
    );
}

db_test! {
    async fn a_torrent_that_fails_is_judged_by_its_conditions(db: Db) {
        let house = House::new(&db).await;
        let unregistered = json!([
            { "field": "trackerStatus", "op": "eq", "value": "unregistered" }, { "field": "state", "op": "eq", "value": "error" },
        ]);
        let gone = house.rule(FAILED, 2, unregistered, json!([mark("gone")])).await;
        let full = json!([{ "field": "message", "op": "contains", "value": "No space" }]);
        let full = house.rule(FAILED, 1, full, json!([mark("full")])).await;
        house.rule("torrent.completed", 0, json!([]), json!([])).await;
        let due = |standing: Option<TrackerStanding>, message: Option<&str>| {
            let mut failed = torrent(1);
            failed.state = TorrentState::Error;
            failed.tracker_standing = standing;
            failed.message = message.map(str::to_owned);
            house.book.due(Edge::Failed, &TorrentRecord { engine_id: "e", torrent: &failed, now: house.clock.ctx().now(), free_bytes: None })
        };
        assert_eq!(due(Some(TrackerStanding::Unregistered), None), std::slice::from_ref(&gone.id));
        assert_eq!(due(None, Some("No space left on device")), std::slice::from_ref(&full.id));
        assert_eq!(due(Some(TrackerStanding::Unregistered), Some("No space left")), [gone.id, full.id]);
        assert!(due(Some(TrackerStanding::Working), None).is_empty());
    }

    async fn a_disk_that_fills_up_runs_rules_by_its_numbers(db: Db) {
        let house = House::new(&db).await;
        let data = json!([{ "field": "path", "op": "eq", "value": "/data" }, { "field": "freeBytes", "op": "lt", "value": 100 }]);
        let numbers = house.rule("storage.low", 2, data, json!([mark("numbers")])).await;
        let critical = json!([{ "field": "level", "op": "eq", "value": "critical" }, { "field": "thresholdPercent", "op": "lte", "value": 15 }]);
        house.rule("storage.low", 1, critical, json!([mark("critical")])).await;
        let refused = house.rule("storage.low", 0, json!([{ "field": "totalBytes", "op": "eq", "value": 0 }]), json!([{ "type": "pause" }])).await;
        let mut heard = Vec::new();
        for (path, free) in [("/data", 120), ("/other", 90), ("/data", 90), ("/data", 40)] {
            house.storage_low(path, free).await;
            house.app.run_all().await;
            heard.push(house.actions.ran().len());
        }
        assert_eq!(heard, [0, 0, 1, 2]);
        let log = house.log(&numbers).await;
        assert!(log.iter().any(|line| line.context["freePercent"] == 9), "{log:?}");
        let shown = house.app.shown_one(refused).await.unwrap();
        assert_eq!(shown.warnings, ["Action \"pause\" is not valid for an event trigger"]);
    }

    async fn templates_of_json_are_filled_and_unknown_placeholders_refused(db: Db) {
        let house = House::new(&db).await;
        let mark = |body: Value| json!([{ "type": "mark", "params": { "tag": "{name}", "body": body } }]);
        let rule = house.rule(FAILED, 0, json!([]), mark(json!("{\"text\": \"{name}: failed\"}"))).await;
        house.edge(FAILED, 1, 1, &[&rule]).await;
        house.app.run_all().await;
        let call = house.actions.calls().remove(0);
        assert_eq!(Value::Object(call.params), json!({ "tag": "{name}", "body": { "text": "torrent 1: failed" } }));
        for (body, told) in [
            (json!({ "text": "{nobody}" }), "There is no placeholder {nobody}: there are {label}, {name}"),
            (json!("{\"text\": {name}}"), "it is no JSON"),
        ] {
            let change = RuleChange {
                name: Some("a".to_owned()),
                trigger: Some(FAILED.to_owned()),
                actions: mark(body).as_array().cloned(),
                ..RuleChange::default()
            };
            let refused = house.app.create(house.caller(), change).await.unwrap_err().to_string();
            assert!(refused.starts_with(&format!("The parameter \"body\" of action \"mark\": {told}")), "{refused}");
        }
    }

    async fn a_text_is_filled_and_words_are_those_of_the_schema(db: Db) {
        let house = House::new(&db).await;
        let note = |params: Value| json!([{ "type": "mark", "params": params }]);
        let rule = house.rule(FAILED, 0, json!([]), note(json!({ "note": "{name} {category}!", "word": "one" }))).await;
        house.edge(FAILED, 1, 1, &[&rule]).await;
        house.app.run_all().await;
        let call = house.actions.calls().remove(0);
        assert_eq!(Value::Object(call.params), json!({ "note": "torrent 1 !", "word": "one" }));
        for (params, told) in [
            (json!({ "note": "{size}" }), "The parameter \"note\" of action \"mark\": There is no placeholder {size}"),
            (json!({ "word": "three" }), "The parameter \"word\" of action \"mark\" must be one of \"one\", \"two\""),
        ] {
            let change = RuleChange {
                name: Some("a".to_owned()),
                trigger: Some(FAILED.to_owned()),
                actions: note(params).as_array().cloned(),
                ..RuleChange::default()
            };
            let refused = house.app.create(house.caller(), change).await.unwrap_err().to_string();
            assert!(refused.starts_with(told), "{refused}");
        }
    }

    async fn a_removed_torrent_is_an_event_with_its_last_fields(db: Db) {
        let house = House::new(&db).await;
        let rule = house.rule("torrent.removed", 0, json!([]), json!([mark("gone")])).await;
        let useless = house.rule("torrent.removed", 1, json!([]), json!([{ "type": "pause" }])).await;
        assert_eq!(
            house.app.shown_one(useless.clone()).await.unwrap().warnings,
            ["Action \"pause\" is not valid for an event trigger"]
        );
        house.edge("torrent.removed", 1, 1, &[&rule, &useless]).await;
        house.app.run_all().await;
        assert_eq!(house.actions.ran(), ["mark:-:gone"]);
        let call = house.actions.calls().remove(0);
        assert_eq!((call.torrent, &call.context["name"]), (None, &json!("torrent 1")));
        assert_eq!(house.log(&useless).await[0].status, "failed");
    }

    async fn a_rule_on_stalls_needs_hours_and_runs_once_a_stall(db: Db) {
        let house = House::new(&db).await;
        let change = |hours: Option<u32>| RuleChange {
            name: Some("stalled".to_owned()),
            trigger: Some("torrent.stalled".to_owned()),
            conditions: json!([{ "field": "name", "op": "eq", "value": "torrent 1" }]).as_array().cloned(),
            actions: json!([mark("s")]).as_array().cloned(),
            stalled_hours: Some(hours),
            ..RuleChange::default()
        };
        let refused = house.app.create(house.caller(), change(None)).await.unwrap_err();
        assert_eq!(refused.code(), "bad_request.stalled_hours");
        let rule = house.app.create(house.caller(), change(Some(6))).await.unwrap();
        let again = house.app.rules().await.unwrap().remove(0);
        assert_eq!((again.stalled_hours, house.book.watches_stalls()), (Some(6), true));
        let now = house.clock.ctx().now();
        let due = |n: u16, hours: u64| {
            let since = qm_kernel::Timestamp::from_ms(now.ms() - hours as i64 * 3_600_000);
            let torrent = torrent(n);
            let record = TorrentRecord { engine_id: "e", torrent: &torrent, now, free_bytes: None };
            house.book.due(Edge::Stalled { since }, &record)
        };
        assert_eq!(due(1, 6), std::slice::from_ref(&rule.id));
        assert!(due(1, 5).is_empty() && due(2, 9).is_empty());
        let mut ran = Vec::new();
        for (position, since) in ["2031-03-30T01:00:00.000Z", "2031-03-30T01:00:00.000Z", "2031-03-30T07:00:00.000Z"].into_iter().enumerate() {
            house.stall(1, since, position as i64 + 1, &rule).await;
            house.app.run_all().await;
            ran.push(house.actions.ran().len());
            // It is not forgotten with the process.
            house.restarted().await;
        }
        assert_eq!(ran, [1, 0, 1]);
        let cleared = RuleChange { stalled_hours: Some(None), ..RuleChange::default() };
        let refused = house.app.update(house.caller(), &rule.id, cleared).await.unwrap_err();
        assert_eq!(refused.code(), "bad_request.stalled_hours");
    }

    async fn free_space_is_a_condition_on_the_torrents_of_its_engine(db: Db) {
        let house = House::new(&db).await;
        let low = json!([{ "field": "freeBytes", "op": "lt", "value": 100 }]);
        let rule = house.rule("torrent.added", 0, low, json!([mark("low")])).await;
        let subject = torrent(1);
        let due = |free_bytes: Option<u64>| {
            let now = house.clock.ctx().now();
            house.book.due(Edge::Added, &TorrentRecord { engine_id: "e", torrent: &subject, now, free_bytes })
        };
        assert_eq!(due(Some(99)), [rule.id]);
        assert!(due(Some(100)).is_empty());
        assert!(due(None).is_empty(), "nobody knows");
    }

    async fn two_rules_that_undo_each_other_are_stopped_and_people_are_told(db: Db) {
        let house = House::new(&db).await;
        let (mut there, mut ran) = (false, Vec::new());
        let mut rules = Vec::new();
        for (name, path) in [("to the archive", "/a"), ("back again", "/b")] {
            let conditions = json!([{ "field": "savePath", "op": "eq", "value": path }]);
            let change = RuleChange {
                name: Some(name.to_owned()),
                trigger: Some("schedule".to_owned()),
                conditions: conditions.as_array().cloned(),
                actions: json!([mark(name)]).as_array().cloned(),
                schedule: Some(Some("* * * * *".to_owned())),
                ..RuleChange::default()
            };
            rules.push(house.app.create(house.caller(), change).await.unwrap());
        }
        for _ in 0..30 {
            let mut moved = torrent(1);
            moved.save_path = if there { "/b" } else { "/a" }.to_owned();
            house.lists.put(moved);
            house.clock.advance(Duration::from_mins(1));
            house.app.decide_scheduled().await.unwrap();
            house.app.run_all().await;
            let acted = house.actions.ran();
            there ^= !acted.is_empty();
            ran.extend(acted);
        }
        assert_eq!(ran.len(), 8, "four times there and four times back: {ran:?}");
        let log = house.log(&rules[0]).await;
        let last = log.last().expect("a line");
        let message = last.message.clone().unwrap_or_default();
        assert!(
            last.status == "failed"
                && message.starts_with("The rule does not run for this torrent until 2031-03-31T")
                && message.contains("within a day it ran 4 times for it from one place, to which another rule took it back (\"back again\")"),
            "{log:?}"
        );
        assert!(log.len() <= 3, "the same refusal is one line: {log:?}");
        let told = house.stopped().await;
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0]["noticeTitle"], "The rule \"to the archive\" was stopped for torrent 1");
        // A change lets it run again.
        house.change(&rules[1], RuleChange { is_enabled: Some(false), ..RuleChange::default() }).await;
        house.clock.advance(Duration::from_mins(1));
        house.app.decide_scheduled().await.unwrap();
        house.app.run_all().await;
        assert_eq!(house.actions.ran(), ["mark:01:to the archive"]);
    }

    async fn a_rule_whose_effect_is_its_own_event_is_stopped(db: Db) {
        let house = House::new(&db).await;
        let rule = house.rule("torrent.added", 0, json!([]), json!([mark("x")])).await;
        let mut ran = 0;
        for position in 1..30 {
            house.edge("torrent.added", 1, position, &[&rule]).await;
            house.app.run_all().await;
            ran += house.actions.ran().len();
        }
        assert_eq!(ran, 12);
        house.edge("torrent.added", 2, 30, &[&rule]).await;
        house.app.run_all().await;
        assert_eq!(house.actions.ran(), ["mark:02:x"], "another torrent is not concerned");
        assert_eq!(house.stopped().await.len(), 1);
        house.clock.advance(Duration::from_hours(24));
        house.edge("torrent.added", 1, 31, &[&rule]).await;
        house.app.run_all().await;
        assert_eq!(house.actions.ran(), ["mark:01:x"], "a day later it may");
    }

    async fn an_effect_of_a_rule_does_not_trigger_it_again_while_it_runs(db: Db) {
        let house = House::new(&db).await;
        const MATCHED: &str = "media.matched";
        let fire = async |item: &str| {
            let context = json!({ "itemId": item, "title": "Harbor Nine" });
            let mut tx = db.begin_write().await.unwrap();
            house.app.fire(&mut tx, MATCHED, None, context.as_object().unwrap()).await.unwrap();
            tx.commit().await.unwrap();
        };
        let hang = json!([{ "type": "mark", "params": { "do": "hang", "tag": "x" } }]);
        let rule = house.rule(MATCHED, 0, json!([]), hang.clone()).await;
        let failed = house.rule(FAILED, 0, json!([]), hang).await;
        fire("i").await;
        house.edge(FAILED, 1, 1, &[&failed]).await;
        let app = house.app.clone();
        let running = tokio::spawn(async move { app.run_all().await });
        house.actions.until_hanging(2).await;
        // Its action identifies the item again, and makes the torrent fail again.
        fire("i").await;
        house.edge(FAILED, 1, 2, &[&failed]).await;
        fire("other").await;
        let logged = async || (house.log(&rule).await.len(), house.log(&failed).await.len());
        while !running.is_finished() {
            house.actions.go.notify_waiters();
            tokio::task::yield_now().await;
        }
        running.await.unwrap();
        assert_eq!(logged().await, (2, 1), "only another item is another occasion");
    }

    async fn a_rule_that_makes_its_torrent_fail_again_does_not_run_for_ever(db: Db) {
        let house = House::new(&db).await;
        let rule = house.rule(FAILED, 0, json!([]), json!([mark("x"), { "type": "pause" }])).await;
        let other = house.rule(FAILED, 1, json!([]), json!([mark("y")])).await;
        // While the run waits, and after it has ended.
        for position in 1..4 {
            house.edge(FAILED, 1, position, &[&rule]).await;
        }
        house.app.run_all().await;
        assert_eq!(house.actions.ran(), ["mark:01:x", "pause:01:"]);
        house.clock.advance(Duration::from_mins(59));
        house.edge(FAILED, 1, 4, &[&other, &rule]).await;
        house.edge(FAILED, 2, 5, &[&rule]).await;
        // The pause of an hour is kept in the database.
        let house = house.restarted().await;
        house.edge(FAILED, 1, 6, &[&rule]).await;
        house.app.run_all().await;
        let mut ran = house.actions.ran();
        ran.sort();
        assert_eq!(ran, ["mark:01:y", "mark:02:x", "pause:02:"], "other rules and torrents do not wait");
        house.clock.advance(Duration::from_mins(1));
        house.edge(FAILED, 1, 7, &[&rule]).await;
        house.app.run_all().await;
        assert_eq!(house.actions.ran(), ["mark:01:x", "pause:01:"], "an hour later it may");
        // Other triggers have no such pause.
        let ratio = house.rule("ratio.reached", 0, json!([]), json!([mark("r")])).await;
        for position in 8..10 {
            house.edge("ratio.reached", 1, position, &[&ratio]).await;
            house.app.run_all().await;
        }
        assert_eq!(house.actions.ran(), ["mark:01:r", "mark:01:r"]);
    }
}
