//! Tests of decisions and runs, on both databases.

use std::sync::atomic::Ordering;
use std::time::Duration;

use qm_db::{Db, db_test};
use qm_ports::action::TorrentRef;
use qm_ports::list::TorrentRecord;
use qm_ports::rules::{Edge, RuleWatch};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::backfill::Backfill;
use crate::model::rule::RuleChange;
use crate::repo;
use crate::testing::{House, hash, torrent, torrent_ref, until};

const COMPLETED: &str = "torrent.completed";
const RATIO: &str = "ratio.reached";

fn mark(tag: &str) -> Value {
    json!({ "type": "mark", "params": { "tag": tag } })
}

fn act(kind: &str, what: &str) -> Value {
    json!({ "type": kind, "params": { "do": what } })
}

fn success() -> (String, Option<String>) {
    ("success".to_owned(), None)
}

fn failed(message: &str) -> (String, Option<String>) {
    ("failed".to_owned(), Some(message.to_owned()))
}

fn off() -> RuleChange {
    RuleChange {
        is_enabled: Some(false),
        ..RuleChange::default()
    }
}

db_test! {
    async fn rules_of_an_edge_run_by_priority_and_one_that_fails_hinders_no_other(db: Db) {
        let house = House::new(&db).await;
        let last = house.rule(COMPLETED, -5, json!([]), json!([mark("last")])).await;
        let broken = house.rule(COMPLETED, 5, json!([]), json!([mark("a"), act("once", "fail"), mark("never")])).await;
        let wild = house.rule(COMPLETED, 4, json!([]), json!([act("once", "panic"), mark("never")])).await;
        let idle = house.rule(COMPLETED, 3, json!([]), json!([])).await;
        let first = house.rule(COMPLETED, 9, json!([]), json!([mark("first"), mark("second")])).await;
        // The order of the event, which is that of the rules.
        house.edge(COMPLETED, 1, 1, &[&first, &broken, &wild, &idle, &last]).await;
        house.app.run_all().await;
        assert_eq!(
            house.actions.ran(),
            ["mark:01:first", "mark:01:second", "mark:01:a", "once:01:", "once:01:", "mark:01:last"]
        );
        assert_eq!(house.log_messages(&first).await, [success()]);
        assert_eq!(house.log_messages(&idle).await, [success()], "a rule without actions");
        assert_eq!(house.log_messages(&broken).await, [failed("it failed")]);
        assert_eq!(house.log_messages(&wild).await, [failed("The action \"once\" ended unexpectedly")]);
        let line = &house.log(&broken).await[0];
        assert_eq!(Value::Object(line.context.clone()), json!({ "hash": hash(1), "name": "torrent 1" }));
        let audited = house.audited().await;
        let row = audited.iter().find(|row| row.metadata.as_ref().is_some_and(|told| told["rule"] == "rule 5")).unwrap();
        assert_eq!((row.result.as_str(), row.object_type.as_deref(), row.object_id.as_deref()),
            ("failure", Some("torrent"), Some(hash(1).as_str())));
        assert_eq!(row.metadata, Some(json!({
            "rule": "rule 5", "ruleId": broken.id, "author": "u", "actions": ["mark", "once", "mark"], "name": "torrent 1", "hash": hash(1), "error": "it failed",
        })));
        assert_eq!((row.user_id.as_ref(), row.ip_address.as_ref(), audited.len()), (None, None, 5));
        // Each call names its run, and gets the torrent as it was.
        let calls = house.actions.calls();
        assert!(calls[0].run_id.ends_with(".0") && calls[1].run_id.ends_with(".1"));
        assert_eq!(calls[0].run_id[..36], calls[1].run_id[..36]);
        assert_eq!((calls[0].context["name"].as_str(), calls[0].torrent.clone()), (Some("torrent 1"), Some(torrent_ref(1))));
    }

    async fn what_was_complete_before_is_run_for_once(db: Db) {
        let house = House::new(&db).await;
        house.lists.put_all(vec![torrent(1), torrent(2)]);
        let mut unfinished = torrent(3);
        unfinished.progress = 0.99;
        house.lists.put(unfinished.clone());
        let large = json!([{ "field": "size", "op": "gte", "value": 2 }]);
        let rule = house.rule(COMPLETED, 0, large, json!([mark("large")])).await;
        let any = house.rule(COMPLETED, 1, json!([]), json!([mark("any")])).await;
        let disabled = house.rule(COMPLETED, 2, json!([]), json!([mark("off")])).await;
        house.change(&disabled, off()).await;
        let mut passes = Backfill::default();
        house.app.pass(&mut passes).await.unwrap();
        house.app.pass(&mut passes).await.unwrap();
        house.app.run_all().await;
        let mut ran = house.actions.ran();
        ran.sort();
        assert_eq!(ran, ["mark:01:any", "mark:02:any", "mark:02:large"]);
        assert_eq!(house.log_messages(&rule).await, [success()]);
        // It has changed, and nothing is to be done.
        let mut changed = torrent(2);
        changed.ratio = 1.0;
        house.lists.put(changed);
        house.app.pass(&mut passes).await.unwrap();
        house.app.run_all().await;
        assert!(house.actions.ran().is_empty());
        // Nor after a restart, nor after a change of the rule.
        let again = house.restarted().await;
        again.change(&any, RuleChange { actions: Some(vec![mark("other")]), ..RuleChange::default() }).await;
        again.app.pass(&mut Backfill::default()).await.unwrap();
        again.app.run_all().await;
        assert!(again.actions.ran().is_empty());
        // It completed without an event.
        unfinished.progress = 1.0;
        again.lists.put(unfinished);
        again.app.pass(&mut Backfill::default()).await.unwrap();
        again.app.run_all().await;
        assert_eq!(again.actions.ran(), ["mark:03:other", "mark:03:large"], "by priority");
    }

    async fn a_pass_with_nothing_to_do_asks_the_database_nothing(db: Db) {
        let house = House::new(&db).await;
        house.lists.put_all((0..5000).map(torrent).collect());
        let mut rules = Vec::new();
        for priority in 0..20 {
            rules.push(house.rule(COMPLETED, priority, json!([]), json!([])).await);
        }
        let mut tx = db.begin_write().await.unwrap();
        for rule in &rules {
            for n in 0..5000 {
                repo::ledger::put(&mut tx, &rule.id, &torrent_ref(n), 0).await.unwrap();
            }
        }
        tx.commit().await.unwrap();
        let house = house.restarted().await;
        let mut passes = Backfill::default();
        house.app.pass(&mut passes).await.unwrap();
        assert!(repo::runs::pairs(&mut db.begin_read().await.unwrap()).await.unwrap().is_empty());
        // One has changed, and the rules know it already: no query is needed.
        db.close().await;
        let mut changed = torrent(7);
        changed.ratio = 1.0;
        house.lists.put(changed);
        house.app.pass(&mut passes).await.expect("nothing is asked");
        house.app.pass(&mut passes).await.expect("nothing is asked");
        // Without rules there is no query even at first.
        house.app.pass(&mut passes).await.expect("nothing is asked");
    }

    async fn without_rules_on_completions_nothing_is_looked_at(db: Db) {
        let house = House::new(&db).await;
        house.lists.put(torrent(1));
        house.rule(RATIO, 0, json!([]), json!([mark("x")])).await;
        db.close().await;
        house.app.pass(&mut Backfill::default()).await.expect("nothing is asked");
    }

    async fn what_failed_is_tried_again_and_told_in_one_line(db: Db) {
        let house = House::new(&db).await;
        house.lists.put(torrent(1));
        let rule = house.rule(COMPLETED, 0, json!([]), json!([act("once", "fail")])).await;
        let mut passes = Backfill::default();
        // At 0, 2 and 6 s: a pass comes every two seconds.
        for _ in 0..4 {
            house.app.pass(&mut passes).await.unwrap();
            house.app.run_all().await;
            house.clock.advance(Duration::from_secs(2));
        }
        assert_eq!(house.actions.ran().len(), 3);
        let lines = house.log(&rule).await;
        assert_eq!((lines.len(), &lines[0].context["attempts"]), (1, &json!(3)));
        assert_eq!(lines[0].context["lastAt"], json!("2031-03-30T09:15:06.000Z"));
        assert_eq!(house.audited().await.len(), 1, "audited once");
        // Another reason is a new line.
        let other = json!({ "type": "once", "params": { "do": "fail", "text": "it is full" } });
        house.change(&rule, RuleChange { actions: Some(vec![other]), ..RuleChange::default() }).await;
        house.app.pass(&mut passes).await.unwrap();
        house.app.run_all().await;
        house.clock.advance(Duration::from_secs(2));
        assert_eq!(house.log_messages(&rule).await, [failed("it failed"), failed("it is full")]);
        // And so is a success.
        house.change(&rule, RuleChange { actions: Some(vec![mark("done")]), ..RuleChange::default() }).await;
        for _ in 0..2 {
            house.app.pass(&mut passes).await.unwrap();
            house.app.run_all().await;
        }
        assert_eq!(house.log_messages(&rule).await.last(), Some(&success()));
        assert_eq!((house.log(&rule).await.len(), house.audited().await.len()), (3, 3));
    }

    async fn a_completion_that_a_pass_saw_first_is_run_for_once(db: Db) {
        let house = House::new(&db).await;
        let rule = house.rule(COMPLETED, 0, json!([]), json!([mark("x")])).await;
        house.lists.put(torrent(1));
        let mut passes = Backfill::default();
        // The pass is done with it when the event comes, which had been stored before.
        house.app.pass(&mut passes).await.unwrap();
        house.app.run_all().await;
        house.edge(COMPLETED, 1, 0, &[&rule]).await;
        house.app.run_all().await;
        assert_eq!(house.actions.ran(), ["mark:01:x"]);
        // Both at once.
        house.lists.put(torrent(2));
        house.app.pass(&mut passes).await.unwrap();
        house.edge(COMPLETED, 2, 0, &[&rule]).await;
        house.app.run_all().await;
        assert_eq!(house.actions.ran(), ["mark:02:x"]);
        // The event first.
        house.edge(COMPLETED, 3, 1, &[&rule]).await;
        house.lists.put(torrent(3));
        house.app.pass(&mut passes).await.unwrap();
        house.app.run_all().await;
        house.app.pass(&mut passes).await.unwrap();
        house.app.run_all().await;
        assert_eq!(house.actions.ran(), ["mark:03:x"]);
        // It was downloaded again: that event is newer than the ledger.
        house.edge(COMPLETED, 3, 5, &[&rule]).await;
        house.app.run_all().await;
        assert_eq!(house.actions.ran(), ["mark:03:x"]);
    }

    async fn a_torrent_that_was_removed_and_added_again_is_another_one(db: Db) {
        let house = House::new(&db).await;
        let rule = house.rule(COMPLETED, 0, json!([]), json!([mark("x")])).await;
        let mut passes = Backfill::default();
        let mut round = async |house: &House| {
            house.app.pass(&mut passes).await.unwrap();
            house.app.run_all().await;
            house.actions.ran()
        };
        house.lists.put(torrent(1));
        house.lists.put(torrent(2));
        assert_eq!(round(&house).await, ["mark:01:x", "mark:02:x"]);
        // A torrent of another engine is another one.
        house.renewed("another", &[1]).await;
        house.lists.remove(1);
        assert!(round(&house).await.is_empty());
        house.renewed("e", &[1]).await;
        house.lists.put(torrent(1));
        assert_eq!(round(&house).await, ["mark:01:x"]);
        assert!(round(&house).await.is_empty());
        // The same after a restart.
        house.renewed("e", &[2]).await;
        let house = house.restarted().await;
        house.lists.put(torrent(1));
        house.lists.put(torrent(2));
        let mut passes = Backfill::default();
        house.app.pass(&mut passes).await.unwrap();
        house.app.run_all().await;
        assert_eq!(house.actions.ran(), ["mark:02:x"]);
        assert_eq!(house.log_messages(&rule).await.len(), 4);
    }

    async fn a_pass_that_decided_too_late_runs_nothing(db: Db) {
        let house = House::new(&db).await;
        let rule = house.rule(COMPLETED, 0, json!([]), json!([mark("x")])).await;
        house.lists.put(torrent(1));
        house.app.pass(&mut Backfill::default()).await.unwrap();
        // Between the decision and its turn the ledger got the pair.
        let mut tx = db.begin_write().await.unwrap();
        repo::ledger::put(&mut tx, &rule.id, &torrent_ref(1), 0).await.unwrap();
        tx.commit().await.unwrap();
        house.app.run_all().await;
        assert!(house.actions.ran().is_empty() && house.log_messages(&rule).await.is_empty());
        assert!(repo::runs::pairs(&mut db.begin_read().await.unwrap()).await.unwrap().is_empty());
    }

    async fn what_was_cut_off_goes_on_only_where_that_does_no_harm(db: Db) {
        let house = House::new(&db).await;
        house.lists.put(torrent(1));
        let harmless = house.rule(COMPLETED, 3, json!([]), json!([mark("a"), act("pause", "hang"), mark("b")])).await;
        let harmful = house.rule(COMPLETED, 2, json!([]), json!([mark("c"), act("once", "hang"), mark("d")])).await;
        for (rule, ran) in [
            (&harmless, vec!["mark:01:a", "pause:01:"]),
            (&harmful, vec!["mark:01:c", "once:01:"]),
        ] {
            house.edge(COMPLETED, 1, 1, &[rule]).await;
            let killed = house.restarted().await;
            let app = killed.app.clone();
            let running = tokio::spawn(async move { app.run_all().await });
            until("the second action to begin", || {
                killed.actions.ran.lock().unwrap().len() == ran.len()
            }).await;
            killed.actions.until_hanging(1).await;
            running.abort();
            let _ = running.await;
            assert_eq!(killed.actions.ran(), ran);
            killed.actions.reset();
        }
        let house = house.restarted().await;
        house.app.recover().await.unwrap();
        house.actions.go.notify_one();
        house.app.run_all().await;
        assert_eq!(house.actions.ran(), ["pause:01:", "mark:01:b"], "what had ended is not begun again");
        assert_eq!(house.log_messages(&harmless).await, [success()]);
        let told = house.log_messages(&harmful).await;
        assert_eq!(told, [failed("The server ended while the action \"once\" ran: nobody knows whether it took effect, and \
            running it twice may do harm, so the rule does not run again for this")]);
        assert_eq!(house.audited().await.len(), 2);
        // Nor does the next pass, nor the next start.
        for house in [&house, &house.restarted().await] {
            house.app.recover().await.unwrap();
            house.app.pass(&mut Backfill::default()).await.unwrap();
            house.app.run_all().await;
            assert!(house.actions.ran().is_empty());
        }
    }

    async fn a_start_waits_for_plugins_and_lists_before_it_settles_what_was_cut_off(db: Db) {
        let house = House::new(&db).await;
        house.lists.put(torrent(1));
        let rule = house.rule(RATIO, 0, json!([]), json!([act("pause", "hang")])).await;
        let late = house.rule(RATIO, 1, json!([]), json!([mark("late")])).await;
        house.edge(RATIO, 1, 1, &[&rule]).await;
        let app = house.app.clone();
        let running = tokio::spawn(async move { app.run_all().await });
        house.actions.until_hanging(1).await;
        running.abort();
        let _ = running.await;
        house.edge(RATIO, 2, 2, &[&late]).await;
        assert_eq!(house.actions.ran(), ["pause:01:"]);

        house.actions.compiles.store(true, Ordering::SeqCst);
        house.lists.clear();
        let house = house.restarted().await;
        let stop = CancellationToken::new();
        let running = tokio::spawn(house.app.clone().runner_loop(stop.clone()));
        let nothing_happens = async || {
            tokio::time::sleep(Duration::from_millis(300)).await;
            assert!(house.actions.ran().is_empty());
            assert!(house.log_messages(&rule).await.is_empty() && house.log_messages(&late).await.is_empty());
        };
        nothing_happens().await;
        house.actions.compiles.store(false, Ordering::SeqCst);
        house.actions.compiled.notify_one();
        nothing_happens().await;
        house.actions.go.notify_one();
        house.lists.put(torrent(1));
        until("both to run", || house.actions.ran.lock().unwrap().len() == 2).await;
        let mut ran = house.actions.ran();
        ran.sort();
        assert_eq!(ran, ["mark:02:late", "pause:01:"], "what may be done again is done again");
        stop.cancel();
        running.await.unwrap();
        assert_eq!(house.log_messages(&rule).await, [success()]);
    }

    async fn a_rule_that_is_changed_deleted_or_disabled_meanwhile(db: Db) {
        let house = House::new(&db).await;
        let changed = house.rule(RATIO, 0, json!([]), json!([mark("old")])).await;
        let deleted = house.rule(RATIO, 1, json!([]), json!([mark("deleted")])).await;
        let disabled = house.rule(RATIO, 2, json!([]), json!([mark("disabled")])).await;
        house.edge(RATIO, 1, 1, &[&changed, &deleted, &disabled]).await;
        house.change(&changed, RuleChange { actions: Some(vec![mark("new")]), ..RuleChange::default() }).await;
        house.app.delete(house.caller(), &deleted.id).await.unwrap();
        house.change(&disabled, off()).await;
        house.app.run_all().await;
        assert_eq!(house.actions.ran(), ["mark:01:new"]);
        assert_eq!(house.log_messages(&disabled).await, [failed("The rule was disabled before its turn came")]);
        assert!(house.log_messages(&deleted).await.is_empty());
        // Events for a missing or disabled rule are ignored.
        house.edge(RATIO, 2, 2, &[&deleted, &disabled]).await;
        house.app.run_all().await;
        assert!(house.actions.ran().is_empty());
        // A rule that is deleted while it runs ends without a trace.
        let running = house.rule(RATIO, 3, json!([]), json!([act("mark", "hang"), mark("second")])).await;
        house.edge(RATIO, 3, 3, &[&running]).await;
        let app = house.app.clone();
        let run = tokio::spawn(async move { app.run_all().await });
        house.actions.until_hanging(1).await;
        house.app.delete(house.caller(), &running.id).await.unwrap();
        house.actions.go.notify_one();
        run.await.unwrap();
        assert_eq!(house.actions.ran(), ["mark:03:"], "nothing further is begun");
        assert_eq!(house.audited().await.len(), 2);
    }

    async fn a_slow_rule_delays_neither_other_rules_nor_their_order(db: Db) {
        let house = House::new(&db).await;
        house.lists.put(torrent(1));
        let slow = house.rule(RATIO, 5, json!([]), json!([act("once", "hang")])).await;
        let quick = house.rule(RATIO, 1, json!([]), json!([mark("quick")])).await;
        house.edge(RATIO, 1, 1, &[&slow]).await;
        house.edge(RATIO, 2, 2, &[&slow]).await;
        for n in 3..9 {
            house.edge(RATIO, n, 3, &[&quick]).await;
        }
        // The quick rule waits for its turn on the slow rule's torrent.
        house.edge(RATIO, 1, 4, &[&quick]).await;
        let stop = CancellationToken::new();
        let (app, end) = (house.app.clone(), stop.clone());
        let runner = tokio::spawn(app.runner_loop(end));
        house.actions.until_hanging(1).await;
        let seen = |count: usize| { let actions = house.actions.clone(); move || actions.ran.lock().unwrap().len() == count };
        until("the quick ones", seen(7)).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        let quick_ones: Vec<String> = (3..9).map(|n| format!("mark:{n:02x}:quick")).collect();
        let ran = house.actions.ran();
        assert_eq!(ran.iter().filter(|ran| ran.starts_with("mark")).collect::<Vec<_>>(), quick_ones.iter().collect::<Vec<_>>());
        house.actions.go.notify_one();
        until("the rest", seen(2)).await;
        let mut rest = house.actions.ran();
        rest.sort();
        assert_eq!(rest, ["mark:01:quick", "once:02:"]);
        house.actions.go.notify_one();
        stop.cancel();
        runner.await.unwrap();
        assert_eq!(house.log_messages(&slow).await, [success(), success()]);
    }

    async fn events_run_what_is_made_for_events(db: Db) {
        let house = House::new(&db).await;
        const ENDED: &str = "rss.show.ended";
        let ended = json!([{ "field": "to", "op": "eq", "value": "ended" }]);
        let told = house.rule(ENDED, 2, ended, json!([mark("event")])).await;
        let refused = house.rule(ENDED, 1, json!([]), json!([mark("first"), { "type": "pause" }])).await;
        let other = house.rule(ENDED, 0, json!([{ "field": "to", "op": "eq", "value": "x" }]), json!([mark("no")])).await;
        let context: Map<String, Value> = json!({ "title": "Harbor Nine", "to": "ended" }).as_object().cloned().unwrap();
        let mut tx = db.begin_write().await.unwrap();
        house.app.fire(&mut tx, ENDED, None, &context).await.unwrap();
        drop(tx);
        house.app.run_all().await;
        assert!(house.actions.ran().is_empty(), "what did not happen fires nothing");
        for _ in 0..2 {
            let mut tx = db.begin_write().await.unwrap();
            house.app.fire(&mut tx, ENDED, None, &context).await.unwrap();
            tx.commit().await.unwrap();
        }
        house.app.run_all().await;
        let mut ran = house.actions.ran();
        ran.sort();
        assert_eq!(ran, ["mark:-:event", "mark:-:event", "mark:-:first", "mark:-:first"]);
        assert_eq!(house.log(&told).await[0].context, context);
        let refusal = failed("Action \"pause\" is not valid for an event trigger");
        assert_eq!(house.log_messages(&refused).await, [refusal.clone(), refusal]);
        assert!(house.log_messages(&other).await.is_empty());
        let row = house.audited().await.into_iter().find(|row| row.result == "failure").unwrap();
        assert_eq!((row.object_type.as_deref(), row.object_id), (Some("automation_rule"), Some(refused.id)));
        assert_eq!(row.metadata.unwrap()["name"], "Harbor Nine");
        // Media triggers are about a torrent.
        let media = house.rule("media.matched", 0, json!([]), json!([{ "type": "pause" }])).await;
        let mut tx = db.begin_write().await.unwrap();
        house.app.fire(&mut tx, "media.matched", Some(&torrent_ref(4)), &context).await.unwrap();
        tx.commit().await.unwrap();
        house.app.run_all().await;
        assert_eq!(house.log_messages(&media).await, [failed("Action \"pause\" is only valid for a torrent trigger")]);
    }

    async fn what_is_known_of_media_is_about_the_torrent_it_is_told_with(db: Db) {
        let house = House::new(&db).await;
        let rule = house.rule("media.matched", 0, json!([]), json!([mark("x")])).await;
        let told = json!({ "engineId": "e", "hash": "0a0b", "itemId": "i" });
        // Two items of one torrent, one found by a scan, and a value that is no torrent.
        for context in [&told, &told, &json!({ "itemId": "i" }), &json!({ "engineId": "", "hash": 7 })] {
            let mut tx = db.begin_write().await.unwrap();
            house.app.fire(&mut tx, "media.matched", None, context.as_object().unwrap()).await.unwrap();
            tx.commit().await.unwrap();
        }
        house.app.run_all().await;
        assert_eq!(house.log_messages(&rule).await, vec![success(); 4]);
        let torrents: Vec<_> = house.actions.calls().into_iter().filter_map(|call| call.torrent).collect();
        let torrent = TorrentRef { engine_id: "e".to_owned(), hash: "0a0b".to_owned() };
        assert_eq!(torrents, vec![torrent; 2]);
        let event = house.rule("rss.show.ended", 0, json!([]), json!([mark("y")])).await;
        let mut tx = db.begin_write().await.unwrap();
        house.app.fire(&mut tx, "rss.show.ended", None, told.as_object().unwrap()).await.unwrap();
        tx.commit().await.unwrap();
        house.app.run_all().await;
        assert_eq!(house.log_messages(&event).await, [success()]);
        assert!(house.actions.calls().into_iter().all(|call| call.torrent.is_none()), "an event is about none");
    }

    async fn what_is_told_of_a_show_runs_the_rules_it_is_for(db: Db) {
        let house = House::new(&db).await;
        let named = json!([{ "field": "title", "op": "eq", "value": "Harbor Nine" }]);
        house.rule("rss.show.ended", 1, named, json!([mark("named")])).await;
        house.rule("rss.show.canceled", 1, json!([]), json!([mark("other")])).await;
        house.show_ended("Quiet Web").await;
        house.app.run_all().await;
        assert!(house.actions.ran().is_empty());
        house.show_ended("Harbor Nine").await;
        house.app.run_all().await;
        assert_eq!(house.actions.ran(), ["mark:-:named"]);
        let keys: Vec<&str> = crate::service::edges::OCCASIONS.iter().flat_map(|(_, keys)| keys.iter().copied()).collect();
        let triggers = crate::model::trigger::ALL.iter().filter(|trigger| ["rss", "system"].contains(&trigger.category));
        let triggers: Vec<&str> = triggers.map(|trigger| trigger.id).collect();
        assert!(keys.len() == triggers.len() && triggers.iter().all(|id| keys.contains(id)), "{keys:?}");
    }

    async fn an_action_whose_plugin_is_gone_is_named(db: Db) {
        let house = House::new(&db).await;
        let rule = house.rule(RATIO, 0, json!([]), json!([mark("x")])).await;
        house.actions.unload("mark");
        house.actions.unload("pause");
        house.edge(RATIO, 1, 1, &[&rule]).await;
        house.app.run_all().await;
        assert_eq!(house.log_messages(&rule).await,
            [failed("Unknown action type: mark (it was provided by the plugin `fake`, which is not loaded)")]);
        let offered = house.app.offered().await.unwrap();
        let listed: Vec<(&str, bool)> =
            offered.iter().map(|offered| (offered.action.id.as_str(), offered.kind.is_none())).collect();
        assert_eq!(listed, [("once", false), ("erase", false), ("mark", true)], "what no rule uses is not missed");
    }

    async fn the_sync_loops_are_told_what_waits(db: Db) {
        let house = House::new(&db).await;
        let two = json!([{ "field": "name", "op": "contains", "value": "torrent" }, { "field": "ratio", "op": "gte", "value": 2 }]);
        let subject = torrent(1);
        let record = |ratio: f64| { let mut subject = subject.clone(); subject.ratio = ratio; subject };
        let due = |edge, ratio: f64| {
            let subject = record(ratio);
            house.book.due(edge, &TorrentRecord { engine_id: "e", torrent: &subject, now: house.clock.ctx().now(), free_bytes: None })
        };
        assert!(!house.book.watches_ratios());
        house.rule(RATIO, 9, json!([]), json!([])).await;
        assert!(!house.book.watches_ratios(), "without a condition on the ratio it never fires");
        let low = house.rule(RATIO, 1, two.clone(), json!([])).await;
        let high = house.rule(RATIO, 2, two, json!([])).await;
        let done = house.rule(COMPLETED, 0, json!([]), json!([])).await;
        assert!(house.book.watches_ratios());
        assert_eq!(due(Edge::RatioMoved { from: 1.9 }, 2.0), [high.id.clone(), low.id.clone()]);
        assert!(due(Edge::RatioMoved { from: 2.0 }, 2.1).is_empty() && due(Edge::RatioMoved { from: 1.0 }, 1.9).is_empty());
        assert_eq!(due(Edge::Completed, 0.0), [done.id]);
        house.change(&high, off()).await;
        assert_eq!(due(Edge::RatioMoved { from: 1.9 }, 2.0), [low.id]);
    }

    async fn ages_are_asked_again_while_nothing_happens(db: Db) {
        let house = House::new(&db).await;
        house.lists.put(torrent(1));
        let old = json!([{ "field": "addedDaysAgo", "op": "gt", "value": 1 }]);
        house.rule(COMPLETED, 0, old, json!([mark("old")])).await;
        let mut passes = Backfill::default();
        for (hours, expected) in [(0, 0), (23, 0), (2, 1), (1, 0)] {
            house.clock.advance(Duration::from_hours(hours));
            house.app.pass(&mut passes).await.unwrap();
            house.app.run_all().await;
            assert_eq!(house.actions.ran().len(), expected, "{hours} hours later");
        }
    }

    async fn many_torrents_wait_in_memory_and_all_have_their_turn(db: Db) {
        let house = House::new(&db).await;
        house.lists.put_all((0..300).map(torrent).collect());
        house.rule(COMPLETED, 0, json!([]), json!([mark("x")])).await;
        let stop = CancellationToken::new();
        let runner = tokio::spawn(house.app.clone().runner_loop(stop.clone()));
        let passes = tokio::spawn(house.app.clone().backfill_loop(stop.clone()));
        let actions = house.actions.clone();
        until("all of them", move || actions.ran.lock().unwrap().len() == 300).await;
        stop.cancel();
        runner.await.unwrap();
        passes.await.unwrap();
        let mut ran = house.actions.ran();
        ran.dedup();
        assert_eq!(ran.len(), 300, "each once");
    }
}
