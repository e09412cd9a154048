//! Tests of time tables and of conditions on the time of day, on both databases.

use std::sync::atomic::Ordering;
use std::time::Duration;

use qm_db::{Db, db_test};
use qm_kernel::{Role, Timestamp};
use serde_json::{Value, json};

use super::backfill::{Backfill, UNDER_WAY};
use super::schedules::OF_ONE_RULE;
use crate::model::log::LogLine;
use crate::model::rule::{Rule, RuleChange};
use crate::repo;
use crate::testing::{Account, House, hash, torrent, until};

fn mark(tag: &str) -> Value {
    json!({ "type": "mark", "params": { "tag": tag } })
}

fn parse_time(text: &str) -> Timestamp {
    serde_json::from_value(text.into()).expect("a time")
}

impl House {
    /// Puts the clock to a time of 2031-03-30, a Sunday on which the clocks of Berlin change.
    fn clock_to(&self, time: &str) {
        self.clock
            .set(parse_time(&format!("2031-03-30T{time}:00.000Z")).ms());
    }

    async fn scheduled(&self, schedule: &str, conditions: Value, actions: Value) -> Rule {
        let change = RuleChange {
            name: Some(schedule.to_owned()),
            trigger: Some("schedule".to_owned()),
            conditions: conditions.as_array().cloned(),
            actions: actions.as_array().cloned(),
            schedule: Some(Some(schedule.to_owned())),
            ..RuleChange::default()
        };
        self.app.create(self.caller(), change).await.unwrap()
    }

    /// Decides and runs what is due; the actions that ran, sorted.
    async fn look(&self) -> Vec<String> {
        while self.app.decide_scheduled().await.unwrap() {
            self.app.run_all().await;
        }
        self.app.run_all().await;
        let mut ran = self.actions.ran();
        ran.sort();
        ran
    }

    async fn next(&self, rule: &Rule) -> Option<Timestamp> {
        let rules = self.app.rules().await.unwrap();
        let rule = rules.into_iter().find(|other| other.id == rule.id).unwrap();
        self.app.shown_one(rule).await.unwrap().next_run_at
    }
}

db_test! {
    async fn a_due_time_runs_once_for_each_torrent_whose_conditions_hold(db: Db) {
        let house = House::new(&db).await;
        house.in_zone("UTC").await;
        house.clock_to("10:10");
        house.lists.put_all(vec![torrent(1), torrent(2), torrent(3)]);
        let large = json!([{ "field": "size", "op": "gte", "value": 2 }]);
        let rule = house.scheduled("*/15 * * * *", large, json!([mark("x")])).await;
        assert_eq!(house.next(&rule).await, Some(parse_time("2031-03-30T10:15:00.000Z")));
        house.clock_to("10:14");
        assert!(house.look().await.is_empty(), "it is not due yet");
        house.clock_to("10:15");
        assert_eq!(house.look().await, ["mark:02:x", "mark:03:x"]);
        assert!(house.look().await.is_empty(), "once");
        assert_eq!(house.next(&rule).await, Some(parse_time("2031-03-30T10:30:00.000Z")));
        let lines = house.log(&rule).await;
        assert!(lines.iter().any(|line| line.context["name"] == "torrent 2"), "{lines:?}");
        // The ledger plays no part, and the next one is for the same torrents; those that hold by then.
        house.lists.remove(3);
        house.clock_to("10:31");
        assert_eq!(house.look().await, ["mark:02:x"]);
        // The same end of the same torrent is one line.
        let mut lines = house.log(&rule).await;
        lines.sort_by_key(|line| line.attempts);
        assert_eq!(lines.iter().map(|line| line.attempts).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(lines[1].context["hash"], hash(2));
    }

    async fn missed_times_are_one_and_a_restart_doubles_nothing(db: Db) {
        let house = House::new(&db).await;
        house.in_zone("UTC").await;
        house.clock_to("10:00");
        house.lists.put(torrent(1));
        house.scheduled("*/5 * * * *", json!([]), json!([{ "type": "pause" }])).await;
        // The server was down for an hour.
        house.clock_to("11:02");
        let house = house.restarted().await;
        assert_eq!(house.look().await, ["pause:01:"]);
        let house = house.restarted().await;
        assert!(house.look().await.is_empty());
        house.clock_to("11:05");
        // It died after the decision, and before the run.
        assert!(!house.app.decide_scheduled().await.unwrap());
        let house = house.restarted().await;
        assert_eq!(house.look().await, ["pause:01:"]);
        assert!(house.look().await.is_empty());
    }

    async fn more_torrents_than_may_wait_are_all_run_for_once(db: Db) {
        let house = House::new(&db).await;
        house.in_zone("UTC").await;
        house.clock_to("10:00");
        let count = OF_ONE_RULE + 70;
        house.lists.put_all((0..count as u16).map(torrent).collect());
        let rule = house.scheduled("1 * * * *", json!([]), json!([mark("x"), { "type": "pause" }])).await;
        house.clock_to("10:01");
        assert!(house.app.decide_scheduled().await.unwrap(), "there is no room for all");
        assert!(house.app.decide_scheduled().await.unwrap(), "nor is there more by now");
        house.app.run_all().await;
        assert_eq!(house.actions.calls().len(), 2 * OF_ONE_RULE);
        house.actions.ran();
        // The rest follows after a restart, even one that missed the next due time meanwhile.
        let house = house.restarted().await;
        house.clock_to("11:02");
        assert_eq!(house.look().await.len(), 2 * 70);
        assert_eq!(house.log(&rule).await.len(), count, "each torrent once");
        house.clock_to("12:01");
        assert_eq!(house.look().await.len(), 2 * count);
    }

    async fn a_rule_with_a_slow_action_leaves_room_to_others(db: Db) {
        let house = House::new(&db).await;
        house.in_zone("UTC").await;
        house.clock_to("10:00");
        house.lists.put_all((0..(UNDER_WAY + 70) as u16).map(torrent).collect());
        let slow = house.scheduled("* * * * *", json!([]), json!([{ "type": "pause", "params": { "do": "hang" } }])).await;
        let few = json!([{ "field": "size", "op": "gte", "value": UNDER_WAY + 60 }]);
        house.scheduled("* * * * *", few, json!([mark("quick"), { "type": "pause" }])).await;
        house.clock_to("10:01");
        assert!(house.app.decide_scheduled().await.unwrap(), "there is no room for all of the slow one");
        let app = house.app.clone();
        let running = tokio::spawn(async move { app.run_all().await });
        house.actions.until_hanging(1).await;
        let quick = || house.actions.ran.lock().unwrap().iter().filter(|ran| ran.ends_with(":quick")).count();
        until("the quick one to run for its torrents", || quick() == 10).await;
        // Nor does the slow one take more at its next due times.
        for time in ["10:02", "10:03"] {
            house.clock_to(time);
            assert!(house.app.decide_scheduled().await.unwrap(), "{time}");
        }
        let pairs = repo::runs::pairs(&mut db.begin_read().await.unwrap()).await.unwrap();
        let waiting = pairs.iter().filter(|(rule_id, _)| *rule_id == slow.id).count();
        assert_eq!(waiting, OF_ONE_RULE);
        running.abort();
    }

    async fn a_rule_whose_actions_need_no_torrent_runs_once(db: Db) {
        let house = House::new(&db).await;
        house.in_zone("UTC").await;
        house.clock_to("10:00");
        house.lists.put_all(vec![torrent(1), torrent(2)]);
        let once = house.scheduled("0 * * * *", json!([]), json!([mark("once")])).await;
        let asked = json!([{ "any": [{ "field": "size", "op": "eq", "value": 1 }] }]);
        house.scheduled("0 * * * *", asked, json!([mark("each")])).await;
        house.clock_to("11:00");
        assert_eq!(house.look().await, ["mark:-:once", "mark:01:each"]);
        let line = &house.log(&once).await[0];
        assert_eq!(line.context["dueAt"], "2031-03-30T11:00:00.000Z");
        // A run that has not ended is not overtaken by the next.
        house.clock_to("12:00");
        assert!(!house.app.decide_scheduled().await.unwrap());
        house.clock_to("13:00");
        assert_eq!(house.look().await, ["mark:-:once", "mark:01:each"]);
        let shown = house.app.shown_one(once).await.unwrap();
        assert!(shown.warnings.is_empty(), "{:?}", shown.warnings);
    }

    async fn an_action_of_all_occasions_runs_once_beside_others_of_its_kind_only(db: Db) {
        let house = House::new(&db).await;
        house.in_zone("UTC").await;
        house.clock_to("02:00");
        house.lists.put_all(vec![torrent(1), torrent(2)]);
        let scan = json!({ "type": "mark", "params": { "tag": "scan" } });
        house.scheduled("0 3 * * *", json!([]), json!([scan, { "type": "once" }])).await;
        house.scheduled("0 3 * * *", json!([]), json!([scan, { "type": "pause" }])).await;
        house.clock_to("03:00");
        assert_eq!(house.look().await, ["mark:-:scan", "mark:01:scan", "mark:02:scan", "once:-:", "pause:01:", "pause:02:"]);
    }

    async fn a_due_time_waits_for_plugins_that_are_being_loaded(db: Db) {
        let house = House::new(&db).await;
        house.in_zone("UTC").await;
        house.clock_to("10:00");
        house.lists.put_all(vec![torrent(1), torrent(2)]);
        let rule = house.scheduled("0 * * * *", json!([]), json!([{ "type": "pause" }])).await;
        house.actions.compiles.store(true, Ordering::SeqCst);
        house.clock_to("11:00");
        assert!(house.look().await.is_empty());
        assert!(house.log(&rule).await.is_empty(), "nothing was decided");
        house.actions.compiles.store(false, Ordering::SeqCst);
        assert_eq!(house.look().await, ["pause:01:", "pause:02:"]);
        // A plugin that is gone says nothing; the rule fails once.
        house.actions.unload("pause");
        house.clock_to("12:00");
        assert!(house.look().await.is_empty());
        let failed = |line: &LogLine| line.status == "failed";
        assert_eq!(house.log(&rule).await.into_iter().filter(failed).count(), 1);
    }

    async fn a_due_time_of_an_author_without_the_right_is_one_line(db: Db) {
        let house = House::new(&db).await;
        house.in_zone("UTC").await;
        house.clock_to("10:00");
        house.lists.put_all((0..40).map(torrent).collect());
        let rule = house.scheduled("0 * * * *", json!([]), json!([{ "type": "pause" }, { "type": "erase" }])).await;
        house.authors.are(Account::Of(Role::PowerUser));
        house.clock_to("11:00");
        assert!(house.look().await.is_empty());
        assert!(house.look().await.is_empty(), "nor later");
        let log = house.log(&rule).await;
        assert_eq!(log.len(), 1);
        assert_eq!(log[0].context["dueAt"], "2031-03-30T11:00:00.000Z");
        let told = log[0].message.as_deref().unwrap_or_default();
        assert!(told.contains("its author may not do what \"erase\" does: torrents.delete_data is missing"), "{told}");
        // The next due time judges anew; and they lose the right while its torrents are worked off.
        house.authors.are(Account::Of(Role::Administrator));
        house.clock_to("12:00");
        assert!(house.app.decide_scheduled().await.unwrap());
        house.app.run_all().await;
        assert_eq!(house.actions.ran().len(), 2 * OF_ONE_RULE);
        house.authors.are(Account::Gone);
        assert!(house.look().await.is_empty());
        let log = house.log(&rule).await;
        assert_eq!(log.iter().filter(|line| line.status == "failed").count(), 2);
        house.clock_to("13:00");
        house.authors.are(Account::Of(Role::Administrator));
        assert_eq!(house.look().await.len(), 2 * 40);
    }

    async fn changes_and_pauses_are_not_made_up_for(db: Db) {
        let house = House::new(&db).await;
        house.in_zone("UTC").await;
        house.clock_to("10:00");
        let rule = house.scheduled("0 * * * *", json!([]), json!([mark("x")])).await;
        let enable = |is_enabled| RuleChange { is_enabled: Some(is_enabled), ..RuleChange::default() };
        house.change(&rule, enable(false)).await;
        house.clock_to("11:30");
        assert!(house.look().await.is_empty());
        assert_eq!(house.next(&rule).await, None);
        house.change(&rule, enable(true)).await;
        assert!(house.look().await.is_empty(), "it was disabled at eleven");
        house.change(&rule, RuleChange { schedule: Some(Some("20 * * * *".to_owned())), ..RuleChange::default() }).await;
        assert!(house.look().await.is_empty(), "this time table is new");
        house.clock_to("12:19");
        house.change(&rule, RuleChange { name: Some("other".to_owned()), ..RuleChange::default() }).await;
        house.clock_to("12:20");
        assert_eq!(house.look().await, ["mark:-:x"]);
        house.change(&rule, RuleChange { trigger: Some("t".to_owned()), ..RuleChange::default() }).await;
        house.clock_to("14:00");
        assert!(house.look().await.is_empty());
        let stored = house.app.rules().await.unwrap().remove(0);
        let told = house.app.shown_one(stored).await.unwrap().warnings;
        assert_eq!(told[1], "The schedule does nothing: the trigger is \"t\", and \"schedule\" follows it");
    }

    async fn a_change_that_memory_has_not_read_yet_decides_with_its_own_conditions(db: Db) {
        let house = House::new(&db).await;
        house.in_zone("UTC").await;
        house.clock_to("10:00");
        house.lists.put_all(vec![torrent(1), torrent(2)]);
        let of_size = |size: u8| vec![json!({ "field": "size", "op": "eq", "value": size })];
        let mut rule = house.scheduled("0 * * * *", json!(of_size(2)), json!([mark("before")])).await;
        rule.conditions = of_size(1);
        rule.actions = vec![mark("after")];
        rule.updated_at = rule.updated_at.plus(Duration::from_millis(1));
        let mut tx = db.begin_write().await.unwrap();
        repo::rules::update(&mut tx, &rule).await.unwrap();
        tx.commit().await.unwrap();
        house.clock_to("11:00");
        assert_eq!(house.look().await, ["mark:01:after"]);
    }

    async fn due_times_are_those_of_the_zone_that_is_set(db: Db) {
        let house = House::new(&db).await;
        house.in_zone("Europe/Berlin").await;
        house.clock_to("00:00");
        // 02:30 does not exist on this day in Berlin.
        let rule = house.scheduled("30 2 * * *", json!([]), json!([mark("x")])).await;
        assert!(house.look().await.is_empty());
        assert_eq!(house.next(&rule).await, Some(parse_time("2031-03-30T01:30:00.000Z")));
        house.clock_to("01:30");
        assert_eq!(house.look().await, ["mark:-:x"]);
        assert_eq!(house.next(&rule).await, Some(parse_time("2031-03-31T00:30:00.000Z")));
        house.in_zone("Asia/Kolkata").await;
        assert!(house.look().await.is_empty());
        assert_eq!(house.next(&rule).await, Some(parse_time("2031-03-30T21:00:00.000Z")), "the zone was changed");
    }

    async fn conditions_see_the_hour_and_the_day_of_the_operator(db: Db) {
        let house = House::new(&db).await;
        house.in_zone("Asia/Kolkata").await;
        house.lists.put(torrent(1));
        let night = json!([{ "any": [{ "field": "hour", "op": "gte", "value": 22 }, { "field": "hour", "op": "lt", "value": 6 }] },
            { "field": "weekday", "op": "eq", "value": 1 }]);
        let rule = house.rule("torrent.completed", 0, night.clone(), json!([mark("night")])).await;
        let mut passes = Backfill::default();
        // 21:30 on Sunday, 23:30 on Sunday, and 00:30 on Monday there.
        for (time, expected) in [("16:00", 0), ("18:00", 0), ("19:00", 1), ("19:05", 0)] {
            house.clock_to(time);
            house.app.pass(&mut passes).await.unwrap();
            house.app.run_all().await;
            assert_eq!(house.actions.ran().len(), expected, "{time}");
        }
        let explained = house.app.explain(&rule.id, &hash(1), None).await.unwrap();
        assert_eq!(explained.conditions[1].1.seen, Some(json!(1)));
        // Events too.
        house.rule("rss.show.ended", 0, night, json!([mark("event")])).await;
        house.clock_to("18:00");
        house.show_ended("Harbor Nine").await;
        house.clock_to("19:10");
        house.show_ended("Quiet Web").await;
        house.app.run_all().await;
        assert_eq!(house.actions.ran(), ["mark:-:event"]);
    }

    async fn a_preview_and_an_explanation_read_the_zone_that_is_set(db: Db) {
        let house = House::new(&db).await;
        house.in_zone("UTC").await;
        house.lists.put(torrent(1));
        house.clock_to("18:00");
        let late = json!([{ "field": "hour", "op": "eq", "value": 23 }]);
        let rule = house.rule("torrent.completed", 0, late.clone(), json!([mark("x")])).await;
        let new = RuleChange { trigger: Some("torrent.completed".to_owned()), conditions: late.as_array().cloned(), ..RuleChange::default() };
        assert_eq!(house.app.preview(house.caller(), new.clone()).await.unwrap().matched, 0);
        house.in_zone("Asia/Kolkata").await;
        assert_eq!(house.app.preview(house.caller(), new).await.unwrap().matched, 1);
        house.in_zone("UTC").await;
        assert!(!house.app.explain(&rule.id, &hash(1), None).await.unwrap().holds);
    }

    async fn a_time_table_may_go_on_for_long_without_filling_memory(db: Db) {
        let house = House::new(&db).await;
        house.in_zone("UTC").await;
        house.clock_to("00:00");
        house.lists.put(torrent(1));
        let rule = house.scheduled("* * * * *", json!([]), json!([{ "type": "pause", "params": { "do": "fail" } }])).await;
        for _ in 0..30 {
            house.clock.advance(Duration::from_mins(1));
            assert_eq!(house.look().await, ["pause:01:"], "a failure is no reason to wait");
        }
        let lines = house.log(&rule).await;
        assert_eq!((lines.len(), lines[0].attempts), (1, 30));
    }
}
