//! Tests of permissions to store and run rules, on both databases.

use std::time::Duration;

use qm_db::{Db, db_test, exec, sql};
use qm_kernel::{Permission, Role};
use qm_ports::action::Actions as _;
use qm_test_base::{client, principal};
use serde_json::{Value, json};

use super::Caller;
use super::backfill::Backfill;
use crate::error::AutomationError as E;
use crate::model::rule::{Rule, RuleChange};
use crate::repo;
use crate::testing::{Account, House, torrent, until};

const COMPLETED: &str = "torrent.completed";

sql! {
    OF_SOMEBODY = "UPDATE automation_rules SET author_id = 'v' WHERE id = $1";
    FORGET_AUTHOR = "UPDATE automation_rules SET author_id = NULL WHERE id = $1";
}

fn erase() -> Value {
    json!({ "type": "erase" })
}

fn doing(actions: Value) -> RuleChange {
    RuleChange {
        name: Some("r".to_owned()),
        trigger: Some(COMPLETED.to_owned()),
        actions: actions.as_array().cloned(),
        ..RuleChange::default()
    }
}

fn switched(is_enabled: bool) -> RuleChange {
    RuleChange {
        is_enabled: Some(is_enabled),
        ..RuleChange::default()
    }
}

impl House {
    async fn create_as(&self, role: Role, change: RuleChange) -> Result<Rule, E> {
        let (principal, client) = (principal(role), client());
        let caller = Caller {
            principal: &principal,
            client: &client,
        };
        self.app.create(caller, change).await
    }

    async fn update_as(&self, role: Role, rule: &Rule, change: RuleChange) -> Result<Rule, E> {
        let (principal, client) = (principal(role), client());
        let caller = Caller {
            principal: &principal,
            client: &client,
        };
        self.app.update(caller, &rule.id, change).await
    }

    async fn problem(&self, rule: &Rule) -> Option<String> {
        let stored = repo::rules::find(&mut self.db.begin_read().await.unwrap(), &rule.id)
            .await
            .unwrap();
        self.app.shown_one(stored.unwrap()).await.unwrap().problem
    }

    async fn pass_and_run(&self, passes: &mut Backfill) -> Vec<String> {
        self.app.pass(passes).await.unwrap();
        self.app.run_all().await;
        self.actions.ran()
    }
}

db_test! {
    async fn every_action_is_stored_by_those_alone_who_may_do_it_by_hand(db: Db) {
        let house = House::new(&db).await;
        let kept = house.create_as(Role::SuperAdmin, doing(json!([]))).await.unwrap();
        for kind in house.actions.actions() {
            for &role in Role::ALL {
                let may = |need: &Permission| role == Role::SuperAdmin || role.permissions().any(|held| held == *need);
                let expected = may(&Permission::AutomationManage) && kind.needs.iter().all(may);
                let change = doing(json!([{ "type": kind.id }]));
                let stored = house.create_as(role, change.clone()).await;
                assert_eq!(stored.is_ok(), expected, "{} by {role:?}: {stored:?}", kind.id);
                let changed = house.update_as(role, &kept, change).await;
                assert_eq!(changed.is_ok(), expected, "{} by {role:?}: {changed:?}", kind.id);
            }
        }
    }

    async fn a_refusal_names_what_lacks_for_which_action(db: Db) {
        let house = House::new(&db).await;
        let refused = house.create_as(Role::PowerUser, doing(json!([{ "type": "pause" }, erase(), { "type": "nonsense" }]))).await;
        let error = refused.unwrap_err();
        assert_eq!((error.kind(), error.code()), (qm_kernel::ErrorKind::Forbidden, "forbidden.action"));
        assert_eq!(error.to_string(),
            "Missing permission(s) for the action \"erase\": torrents.delete_data. A rule does only what its author may");
        assert!(house.app.rules().await.unwrap().is_empty());
        let (principal, client) = (principal(Role::PowerUser), client());
        let caller = Caller { principal: &principal, client: &client };
        let preview = house.app.preview(caller, doing(json!([erase(), { "type": "pause" }]))).await.unwrap();
        let problems: Vec<_> = preview.actions.iter().map(|action| action.problem.as_deref()).collect();
        assert_eq!(problems, [Some("You may not store a rule that does this: torrents.delete_data is missing"), None]);
    }

    async fn slow_rules_of_one_user_leave_room_for_those_of_others(db: Db) {
        let house = House::new(&db).await;
        let slow = json!([{ "type": "pause", "params": { "do": "hang" } }]);
        for n in 1..=6 {
            house.lists.put(torrent(n));
            let rule = house.rule(COMPLETED, 9 - i64::from(n), json!([]), slow.clone()).await;
            house.edge(COMPLETED, n, i64::from(n), &[&rule]).await;
        }
        house.lists.put(torrent(7));
        let quick = house.rule(COMPLETED, 1, json!([]), json!([{ "type": "mark", "params": { "tag": "v" } }])).await;
        let mut tx = db.begin_write().await.unwrap();
        let _ = exec!(&mut tx, OF_SOMEBODY, &*quick.id).await.unwrap();
        tx.commit().await.unwrap();
        house.edge(COMPLETED, 7, 7, &[&quick]).await;
        let app = house.app.clone();
        let running = tokio::spawn(async move { app.run_all().await });
        until("the rule of somebody else to run", || {
            house.actions.ran.lock().unwrap().iter().any(|ran| ran.starts_with("mark:07"))
        }).await;
        house.actions.until_hanging(4).await;
        assert_eq!(house.actions.ran().len(), 5, "four of the slow ones, and the other");
        until("all to end", || {
            house.actions.go.notify_one();
            running.is_finished()
        }).await;
        assert_eq!(house.actions.ran().len(), 2, "the rest");
    }

    /// Without a check, each of these changes would use the author's permissions for another user.
    async fn who_says_what_a_rule_does_is_judged_by_all_of_it(db: Db) {
        let house = House::new(&db).await;
        let narrow = RuleChange { conditions: Some(vec![json!({ "field": "ratio", "op": "gt", "value": 9 })]), ..doing(json!([erase()])) };
        let rule = house.create_as(Role::Administrator, narrow).await.unwrap();
        let refused = [
            RuleChange { conditions: Some(vec![]), ..RuleChange::default() },
            RuleChange { trigger: Some("media.matched".into()), ..RuleChange::default() },
            RuleChange { actions: Some(vec![erase(), erase()]), ..RuleChange::default() },
            switched(true),
        ];
        for change in refused {
            let outcome = house.update_as(Role::PowerUser, &rule, change.clone()).await;
            assert!(matches!(outcome, Err(E::Powers(_))), "{change:?}: {outcome:?}");
        }
        // Disabling and renaming need no permission of the actions.
        let name = RuleChange { name: Some("n".into()), priority: Some(7), ..RuleChange::default() };
        for change in [switched(false), name] {
            house.update_as(Role::PowerUser, &rule, change).await.unwrap();
        }
        let refused = house.update_as(Role::PowerUser, &rule, switched(true)).await;
        assert!(matches!(refused, Err(E::Powers(_))), "{refused:?}");
        // They may choose actions within their own permissions.
        let tame = RuleChange { actions: Some(vec![json!({ "type": "pause" })]), ..switched(true) };
        house.update_as(Role::PowerUser, &rule, tame).await.unwrap();
    }

    async fn a_rule_whose_author_lost_the_right_waits_and_says_so(db: Db) {
        let house = House::new(&db).await;
        house.lists.put_all((1..=200).map(torrent).collect());
        let rule = house.create_as(Role::Administrator, doing(json!([erase()]))).await.unwrap();
        let mark = house.create_as(Role::Administrator, doing(json!([{ "type": "mark" }]))).await.unwrap();
        house.change(&mark, switched(false)).await;
        for (account, why) in [
            (Account::Of(Role::PowerUser), "its author may not do what \"erase\" does: torrents.delete_data is missing"),
            (Account::Of(Role::ReadOnly), "its author may not have rules any more (automation.manage is missing)"),
            (Account::Inactive, "the account of its author is deactivated"),
            (Account::Gone, "the account of its author no longer exists"),
        ] {
            house.authors.are(account);
            let told = format!("The rule does not run: {why}. Whoever saves it again becomes its author");
            assert_eq!(house.problem(&rule).await.as_deref(), Some(&*told), "{account:?}");
            house.clock.advance(Duration::from_mins(2));
            let mut passes = Backfill::default();
            assert!(house.pass_and_run(&mut passes).await.is_empty(), "{account:?}");
            let last = house.log(&rule).await.pop().unwrap();
            assert_eq!((last.status.as_str(), last.message.as_deref()), ("failed", Some(&*told)));
            // The rule is paused then, and costs nothing.
            let lines = house.log(&rule).await.len();
            assert!(house.pass_and_run(&mut passes).await.is_empty());
            assert_eq!(house.log(&rule).await.len(), lines, "{account:?}");
        }
        let audited = house.audited().await;
        let row = audited.iter().find(|row| row.result == "failure").unwrap();
        let told = row.metadata.as_ref().unwrap();
        assert_eq!((&told["ruleId"], &told["author"]), (&json!(rule.id), &json!("u")));
        // The permission is back: the due run happens once.
        house.authors.are(Account::Of(Role::Administrator));
        house.clock.advance(Duration::from_mins(2));
        let mut passes = Backfill::default();
        let mut ran = house.pass_and_run(&mut passes).await.len();
        for _ in 0..5 {
            ran += house.pass_and_run(&mut passes).await.len();
        }
        assert_eq!((ran, house.problem(&rule).await), (200, None));
    }

    async fn what_was_left_alone_is_found_again_by_the_same_passes(db: Db) {
        let house = House::new(&db).await;
        house.lists.put_all(vec![torrent(1), torrent(2)]);
        house.create_as(Role::Administrator, doing(json!([erase()]))).await.unwrap();
        house.authors.are(Account::Of(Role::User));
        let mut passes = Backfill::default();
        assert!(house.pass_and_run(&mut passes).await.is_empty());
        house.authors.are(Account::Of(Role::Administrator));
        assert!(house.pass_and_run(&mut passes).await.is_empty(), "not before its minute is over");
        house.clock.advance(Duration::from_mins(1));
        let mut ran = house.pass_and_run(&mut passes).await;
        ran.sort();
        assert_eq!(ran, ["erase:01:", "erase:02:"]);
    }

    async fn an_edge_whose_rule_may_not_run_is_done_by_a_pass_once_it_may(db: Db) {
        let house = House::new(&db).await;
        house.lists.put(torrent(1));
        let rule = house.create_as(Role::Administrator, doing(json!([{ "type": "mark" }, erase()]))).await.unwrap();
        house.authors.are(Account::Of(Role::PowerUser));
        house.edge(COMPLETED, 1, 1, &[&rule]).await;
        house.app.run_all().await;
        assert_eq!(house.actions.ran(), ["mark:01:"], "what they may is done, up to what they may not");
        house.authors.are(Account::Of(Role::Administrator));
        // Saving it again ends the pause.
        house.update_as(Role::Administrator, &rule, switched(true)).await.unwrap();
        assert_eq!(house.pass_and_run(&mut Backfill::default()).await, ["mark:01:", "erase:01:"]);
    }

    async fn a_rule_that_nobody_is_known_to_have_written_runs_for_nobody(db: Db) {
        let house = House::new(&db).await;
        let rule = house.create_as(Role::Administrator, doing(json!([{ "type": "mark" }]))).await.unwrap();
        let mut tx = db.begin_write().await.unwrap();
        exec!(&mut tx, FORGET_AUTHOR, &rule.id).await.unwrap().exactly(1).unwrap();
        tx.commit().await.unwrap();
        house.lists.put(torrent(1));
        assert!(house.pass_and_run(&mut Backfill::default()).await.is_empty());
        assert!(house.problem(&rule).await.is_some_and(|told| told.contains("nobody is known to have written it")));
        let renamed = RuleChange { name: Some("n".into()), ..RuleChange::default() };
        assert_eq!(house.update_as(Role::PowerUser, &rule, renamed).await.unwrap().author, None);
        let saved = house.update_as(Role::PowerUser, &rule, switched(true)).await.unwrap();
        assert_eq!(saved.author.as_deref(), Some("u"));
        assert_eq!(house.pass_and_run(&mut Backfill::default()).await, ["mark:01:"]);
    }

    async fn a_run_may_what_its_action_stands_for_and_no_more(db: Db) {
        let house = House::new(&db).await;
        let rule = house.create_as(Role::SuperAdmin, doing(json!([{ "type": "pause" }]))).await.unwrap();
        house.edge(COMPLETED, 1, 1, &[&rule]).await;
        house.app.run_all().await;
        let calls = house.actions.calls();
        assert_eq!(calls[0].powers.iter().collect::<Vec<_>>(), [Permission::TorrentsPause]);
    }
}
