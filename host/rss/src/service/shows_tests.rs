//! Tests of rules on shows that have ended, and of the automation actions on rules.

use std::sync::Arc;

use async_trait::async_trait;
use qm_db::{Db, db_test};
use qm_kernel::{Caller, Permission, PermissionSet, Role};
use qm_ports::action::{ActionCall, ActionError, ActionKind, Actions, HOUSE, HouseFirst, Occasion};
use qm_ports::shows::{AiringStatus, ShowRules};
use qm_test_base::{client, principal};
use serde_json::{Value, json};

use crate::error::RssError;
use crate::model::rule::{Rule, RuleChange, ShowSnapshot};
use crate::testing::{House, hash, item};

const A: &str = "https://a.test/rss";
const TOLD: &str = "rss.rule.created_for_inactive_show";

/// A change that names a show.
fn about(name: &str, media_type: &str, id: &str) -> RuleChange {
    RuleChange {
        name: Some(name.to_owned()),
        media_type: Some(Some(media_type.to_owned())),
        show_status_provider_id: Some(Some(id.to_owned())),
        ..RuleChange::default()
    }
}

fn insisting(change: RuleChange) -> RuleChange {
    RuleChange {
        allow_inactive_show_monitoring: Some(true),
        ..change
    }
}

fn call(params: Value, context: Value) -> ActionCall {
    let map = |value: Value| value.as_object().cloned().unwrap_or_default();
    ActionCall {
        author: None,
        run_id: "r.0".to_owned(),
        occasion: Occasion::Event,
        params: map(params),
        context: map(context),
        torrent: None,
        powers: qm_kernel::PermissionSet::all(),
    }
}

/// Plugin registry with these actions and `pause`.
struct Plugins(Vec<ActionKind>);

#[async_trait]
impl Actions for Plugins {
    fn actions(&self) -> Vec<ActionKind> {
        let mut kinds = self.0.clone();
        let pause = ActionKind {
            id: "pause".to_owned(),
            ..kinds[0].clone()
        };
        kinds.push(pause);
        for kind in &mut kinds {
            kind.plugin = "plugin".to_owned();
        }
        kinds
    }

    async fn run(&self, action: &str, _: ActionCall) -> Result<(), ActionError> {
        Err(ActionError::Plugin(action.to_owned()))
    }
}

async fn stored(house: &House, id: &str) -> Rule {
    let rules = house.app.list_rules().await.unwrap();
    rules
        .into_iter()
        .find(|listed| listed.rule.id == id)
        .unwrap()
        .rule
}

db_test! {
    async fn a_rule_on_a_show_is_stored_by_what_is_known_of_the_show(db: Db) {
        use AiringStatus::{Canceled, Continuing, Ended, OnHiatus, Planned, Returning, Unknown};
        let house = House::new(&db);
        let feed = house.feed(A).await;
        for (status, recommendation, is_over) in [
            (Continuing, "recommended", false),
            (Returning, "recommended", false),
            (Planned, "recommended", false),
            (OnHiatus, "caution", false),
            (Unknown, "unknown", false),
            (Ended, "not_recommended", true),
            (Canceled, "not_recommended", true),
        ] {
            let word = status.as_str();
            house.shows.show("1", status);
            house.heard.take();
            let made = house.app.create_rule(house.caller(), &feed.id, about(word, "tv", "1")).await;
            let rule = if is_over {
                let error = made.unwrap_err();
                let begins = format!("\"Harbor Nine\" appears to be {word}. Confirm ");
                assert!(matches!(&error, RssError::InactiveShow(text) if text.starts_with(&begins)), "{error}");
                assert!(house.app.list_rules().await.unwrap().iter().all(|listed| listed.rule.name != word));
                let insists = insisting(about(word, "anime", "1"));
                house.app.create_rule(house.caller(), &feed.id, insists).await.unwrap()
            } else {
                made.unwrap()
            };
            let told = house.heard.take_payloads();
            let expected = json!({
                "ruleName": word, "title": "Harbor Nine", "normalizedStatus": word, "recommendation": recommendation,
                "provider": "provider_a", "providerShowId": "1",
            });
            assert_eq!(told, if is_over { vec![(TOLD, expected)] } else { vec![] }, "{word}");
            let show = stored(&house, &rule.id).await.show;
            assert_eq!((show.status.as_deref(), show.recommendation.as_deref()), (Some(word), Some(recommendation)));
            assert_eq!((show.provider.as_deref(), show.provider_id.as_deref()), (Some("provider_a"), Some("1")));
            assert_eq!(show.last_air_date.as_deref(), Some("2026-04-01"));
        }
    }

    async fn what_concerns_no_show_looks_none_up(db: Db) {
        let house = House::new(&db);
        let feed = house.feed(A).await;
        house.shows.show("1", AiringStatus::Ended);
        // A film; a show without an id; an id without a media type.
        for (name, change) in [
            ("film", about("film", "movie", "1")),
            ("nameless", RuleChange { show_status_provider_id: None, ..about("nameless", "tv", "") }),
            ("blank", about("blank", "tv", " ")),
            ("typeless", RuleChange { media_type: None, ..about("typeless", "", "1") }),
        ] {
            let media_type = change.media_type.clone().flatten();
            let rule = house.app.create_rule(house.caller(), &feed.id, change).await.unwrap();
            assert_eq!((rule.media_type, rule.show), (media_type, ShowSnapshot::default()), "{name}");
        }
        assert!(house.shows.asked.lock().unwrap().is_empty());
        // No provider knows the show: stored, with a warning.
        let change = RuleChange { show_status_provider: Some(Some("nobody".into())), ..about("unsure", "tv", "7") };
        let rule = house.app.create_rule(house.caller(), &feed.id, change).await.unwrap();
        assert_eq!((rule.show.status.as_deref(), &rule.show.warnings[..]), (Some("unknown"), &["status_unconfirmed".to_owned()][..]));
        assert_eq!(house.shows.asked.lock().unwrap()[..], [("nobody".to_owned(), "7".to_owned())]);
    }

    async fn a_change_is_judged_only_where_it_concerns_the_show(db: Db) {
        let house = House::new(&db);
        let feed = house.feed(A).await;
        house.shows.show("1", AiringStatus::Returning);
        house.shows.show("2", AiringStatus::Canceled);
        let rule = house.app.create_rule(house.caller(), &feed.id, about("one", "tv", "1")).await.unwrap();
        house.shows.show("1", AiringStatus::Ended);
        house.shows.asked.lock().unwrap().clear();
        let renamed = RuleChange { name: Some("uno".into()), show_status_provider: Some(Some("other".into())), ..RuleChange::default() };
        let rule = house.app.update_rule(house.caller(), &rule.id, renamed).await.unwrap();
        assert_eq!((rule.show.status.as_deref(), rule.show.provider.as_deref()), (Some("returning"), Some("provider_a")));
        assert!(house.shows.asked.lock().unwrap().is_empty());
        let same_type = RuleChange { media_type: Some(Some("series".into())), ..RuleChange::default() };
        let other_show = RuleChange { show_status_provider_id: Some(Some("2".into())), ..RuleChange::default() };
        for change in [same_type, other_show.clone()] {
            let error = house.app.update_rule(house.caller(), &rule.id, change).await.unwrap_err();
            assert!(matches!(error, RssError::InactiveShow(_)), "{error}");
        }
        assert_eq!(stored(&house, &rule.id).await, rule, "nothing of it is stored");
        house.heard.take();
        let changed = house.app.update_rule(house.caller(), &rule.id, insisting(other_show)).await.unwrap();
        assert_eq!((changed.show.status.as_deref(), changed.show.provider_id.as_deref()), (Some("canceled"), Some("2")));
        assert_eq!(house.heard.keys(), [TOLD]);
        // A rule that is no longer about a show keeps no status.
        let film = RuleChange { media_type: Some(Some("movie".into())), ..RuleChange::default() };
        let changed = house.app.update_rule(house.caller(), &rule.id, film).await.unwrap();
        assert_eq!(changed.show, ShowSnapshot::default());
        assert!(house.app.watched().await.unwrap().is_empty());
    }

    async fn only_who_may_insists(db: Db) {
        let house = House::new(&db);
        let feed = house.feed(A).await;
        house.shows.show("1", AiringStatus::Ended);
        house.shows.show("2", AiringStatus::Returning);
        let mut somebody = principal(Role::ReadOnly);
        somebody.permissions = PermissionSet::empty().with(Permission::RssManage).with(Permission::TorrentsAdd);
        let client = client();
        let caller = Caller { principal: &somebody, client: &client };
        let error = house.app.create_rule(caller, &feed.id, about("closed", "tv", "1")).await.unwrap_err();
        assert!(matches!(error, RssError::InactiveShow(_)), "{error}");
        let error = house.app.create_rule(caller, &feed.id, insisting(about("over", "tv", "1"))).await.unwrap_err();
        assert!(matches!(error, RssError::MayNotOverride), "{error}");
        assert!(house.app.list_rules().await.unwrap().is_empty() && house.heard.keys().is_empty());
        // It airs: nothing is overridden. That it may end unseen was said before it did.
        let rule = house.app.create_rule(caller, &feed.id, insisting(about("airs", "tv", "2"))).await.unwrap();
        let other = RuleChange { show_status_provider_id: Some(Some("1".into())), ..RuleChange::default() };
        let error = house.app.update_rule(caller, &rule.id, other.clone()).await.unwrap_err();
        assert!(matches!(error, RssError::MayNotOverride), "{error}");
        house.app.update_rule(house.caller(), &rule.id, other).await.unwrap();
        // A caller without the permission triggers no request to a provider.
        somebody.permissions = PermissionSet::empty();
        let caller = Caller { principal: &somebody, client: &client };
        house.shows.asked.lock().unwrap().clear();
        for done in [
            house.app.create_rule(caller, &feed.id, about("nobody", "tv", "1")).await,
            house.app.update_rule(caller, &rule.id, about("nobody", "tv", "1")).await,
        ] {
            assert!(matches!(done.unwrap_err(), RssError::Acting(_)));
        }
        assert!(house.shows.asked.lock().unwrap().is_empty());
    }

    async fn rules_hear_of_their_show(db: Db) {
        let house = House::new(&db);
        let feed = house.feed(A).await;
        house.shows.show("1", AiringStatus::Returning);
        let mut ids = Vec::new();
        for (name, id) in [("one", "1"), ("two", "1"), ("three", "9")] {
            ids.push(house.app.create_rule(house.caller(), &feed.id, about(name, "tv", id)).await.unwrap().id);
        }
        house.shows.show("1", AiringStatus::Ended);
        let told = house.shows.snapshot_of("provider_a", "1").unwrap();
        for _ in 0..2 {
            assert_eq!(house.app.show_changed(&told).await.unwrap(), 2);
            for (id, status) in ids.iter().zip(["ended", "ended", "unknown"]) {
                let rule = stored(&house, id).await;
                assert_eq!((rule.show.status.as_deref(), rule.is_enabled), (Some(status), true));
            }
        }
        let mut watched = house.app.watched().await.unwrap();
        watched.sort();
        let of = |id: &str| ("provider_a".to_owned(), id.to_owned());
        assert_eq!(watched, [of("1"), of("9")]);
    }

    async fn automation_changes_the_rules_of_a_show_or_one(db: Db) {
        let house = House::new(&db);
        let feed = house.feed(A).await;
        let mut ids = Vec::new();
        for (name, id) in [("one", "1"), ("two", "1"), ("three", "9")] {
            ids.push(house.app.create_rule(house.caller(), &feed.id, about(name, "tv", id)).await.unwrap().id);
        }
        house.sites.show(A, &[item("g1", "Atlas.S01E01.1080p.WEB", &hash(1))]);
        house.app.refresh(&feed.id).await.unwrap();
        assert_eq!(house.app.backfill(&ids[0]).await.unwrap().evaluated, 1);
        let state = async || {
            let mut found = Vec::new();
            for id in &ids {
                let rule = stored(&house, id).await;
                found.push((rule.is_enabled, rule.auto_download));
            }
            found
        };
        let ended = json!({ "provider": "provider_a", "providerShowId": "1", "title": "Harbor Nine" });
        let run = async |action: &str, params: Value, context: &Value| {
            house.app.run(action, call(params, context.clone())).await
        };
        // No rule named; half of a show; a value that is no text; a rule id in the context is ignored.
        for context in [json!({}), json!({ "provider": "provider_a" }), json!({ "provider": "provider_a", "providerShowId": 1 }),
            json!({ "ruleId": ids[0] })] {
            for action in ["disable_rss_rule", "convert_rule_to_backfill", "refresh_rss_show_status"] {
                let error = run(action, json!({ "ruleId": "" }), &context).await.unwrap_err();
                assert!(matches!(&error, ActionError::InvalidParams(text) if text.contains("provider and providerShowId")), "{error}");
            }
        }
        // A repetition changes nothing.
        for _ in 0..2 {
            run("convert_rule_to_backfill", json!({}), &ended).await.unwrap();
            assert_eq!(state().await, [(true, false), (true, false), (true, true)]);
        }
        // Parameters of the action take precedence over the context, key by key; a rule over a show.
        run("disable_rss_rule", json!({ "providerShowId": "9" }), &ended).await.unwrap();
        assert_eq!(state().await, [(true, false), (true, false), (false, true)]);
        run("disable_rss_rule", json!({ "ruleId": ids[1] }), &ended).await.unwrap();
        assert_eq!(state().await, [(true, false), (false, false), (false, true)]);
        for params in [json!({ "ruleId": "nobody" }), json!({ "provider": "nobody" })] {
            run("disable_rss_rule", params, &ended).await.unwrap();
        }
        assert_eq!(state().await, [(true, false), (false, false), (false, true)]);
        run("disable_rss_rule", json!({}), &ended).await.unwrap();
        assert_eq!(state().await, [(false, false), (false, false), (false, true)]);
        // Disabled rules are not judged any more.
        assert_eq!(house.app.backfill(&ids[0]).await.unwrap().evaluated, 0);
    }

    async fn an_id_of_the_house_is_no_plugin_s(db: Db) {
        let house = House::new(&db);
        let both = HouseFirst::new(Arc::new(Plugins(house.app.actions())));
        both.add(&house.app);
        let listed: Vec<_> = both.actions().into_iter().map(|kind| (kind.id, kind.plugin)).collect();
        assert_eq!(listed, [("convert_rule_to_backfill", HOUSE), ("disable_rss_rule", HOUSE), ("pause", "plugin"),
            ("refresh_rss_show_status", HOUSE)].map(|(id, plugin)| (id.to_owned(), plugin.to_owned())));
        both.settled().await;
        both.run("disable_rss_rule", call(json!({ "ruleId": "nobody" }), json!({}))).await.unwrap();
        let error = both.run("pause", call(json!({}), json!({}))).await.unwrap_err();
        assert_eq!(error.to_string(), "its plugin failed: pause");
    }

    async fn automation_looks_a_show_up_again(db: Db) {
        let house = House::new(&db);
        let ended = json!({ "provider": "provider_a", "providerShowId": "1" });
        for params in [json!({}), json!({ "providerShowId": "2", "provider": "" })] {
            house.app.run("refresh_rss_show_status", call(params, ended.clone())).await.unwrap();
        }
        let of = |id: &str| ("provider_a".to_owned(), id.to_owned());
        assert_eq!(house.shows.refreshed.lock().unwrap()[..], [of("1"), of("2")]);
        *house.shows.broken.lock().unwrap() = true;
        let error = house.app.run("refresh_rss_show_status", call(json!({}), ended)).await.unwrap_err();
        assert_eq!(error.to_string(), "provider_a does not answer");
        let error = house.app.run("pause", call(json!({}), json!({}))).await.unwrap_err();
        assert_eq!(error.to_string(), "Unknown action type: pause");
        let ids: Vec<_> = house.app.actions().into_iter().map(|kind| (kind.id, kind.idempotent, kind.occasions)).collect();
        assert_eq!(ids, ["convert_rule_to_backfill", "disable_rss_rule", "refresh_rss_show_status"]
            .map(|id| (id.to_owned(), true, vec![Occasion::Event])));
    }
}
