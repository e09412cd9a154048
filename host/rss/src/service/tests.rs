//! Tests from feeds to torrents, with sites and a client in memory.

use std::time::Duration;

use qm_db::{Db, db_test};
use qm_kernel::{PageQuery, Role};
use qm_matching::CandidateDraft;
use qm_ports::feed::FetchError;
use qm_ports::intake::IntakeError;
use serde_json::json;

use super::poll::FeedReading;
use crate::error::RssError;
use crate::model::bundle::Mode;
use crate::model::feed::FeedChange;
use crate::model::history::HistoryItem;
use crate::model::rule::RuleChange;
use crate::testing::{House, hash, item, linked};

const A: &str = "https://a.test/rss";
const B: &str = "https://b.test/rss";
const SHOW: &str = "Harbor Nine";
const FULL: &str = "Harbor.Nine.S01E01.1080p.WEB.x264-TIDE";
const SMALL: &str = "Harbor.Nine.S01E01.720p.WEB.x264-TIDE";

db_test! {
    async fn an_item_becomes_a_torrent_once_by_whatever_feed_and_guid(db: Db) {
        let house = House::new(&db);
        let (a, b) = (house.feed(A).await, house.feed(B).await);
        house.rule(&a, "one", &[(SHOW, "1080p")]).await;
        house.rule(&b, "two", &[(SHOW, "1080p")]).await;
        house.sites.show(A, &[item("g1", FULL, &hash(1)), item("other", "Atlas.S01E01.1080p.WEB", &hash(9))]);
        house.sites.show(B, &[item("g2", FULL, &hash(1))]);
        assert_eq!(house.app.refresh(&a.id).await.unwrap(), (2, 1));
        assert_eq!(house.app.refresh(&b.id).await.unwrap(), (1, 0), "the same torrent by another feed");
        house.sites.show(A, &[item("changed", FULL, &hash(1)), item("g1", FULL, &hash(1))]);
        assert_eq!(house.app.refresh(&a.id).await.unwrap(), (1, 0), "the same torrent under another guid");
        assert_eq!(house.torrents.taken.lock().unwrap().len(), 1);
        let history = house.history(&a).await;
        let stood: Vec<_> = history.iter().filter(|item| item.downloaded).map(|item| &*item.item_guid).collect();
        assert_eq!(stood, ["g1"]);
    }

    async fn the_same_release_by_links_alone_is_grabbed_once_a_rule(db: Db) {
        let house = House::new(&db);
        let a = house.feed(A).await;
        let change = RuleChange {
            name: Some("simple".into()), include_regex: Some(Some("news".into())), ..RuleChange::default()
        };
        house.app.create_rule(house.caller(), &a.id, change).await.unwrap();
        house.sites.show(A, &[linked("g1", "The News", "https://a.test/01.torrent?k=1"),
            linked("g2", "The News", "https://a.test/01.torrent?k=2")]);
        assert_eq!(house.app.refresh(&a.id).await.unwrap(), (2, 1));
        assert_eq!(house.listed(), [hash(1)]);
    }

    async fn an_item_by_a_link_whose_torrent_another_item_brought_was_not_downloaded(db: Db) {
        let house = House::new(&db);
        let (a, b) = (house.feed(A).await, house.feed(B).await);
        house.rule(&a, "one", &[(SHOW, "1080p")]).await;
        let two = house.rule(&b, "two", &[(SHOW, "1080p"), (SHOW, "720p")]).await;
        house.sites.show(A, &[item("g1", FULL, &hash(1))]);
        house.sites.show(B, &[linked("g2", FULL, "https://b.test/01.torrent")]);
        assert_eq!(house.app.refresh(&a.id).await.unwrap(), (1, 1));
        assert_eq!(house.app.refresh(&b.id).await.unwrap(), (1, 0), "what the link led to is there");
        let found = house.history(&b).await.remove(0);
        assert_eq!((found.matched, found.downloaded, found.info_hash), (true, false, Some(hash(1))));
        let grab = found.grab.unwrap();
        assert_eq!((grab.state.as_str(), grab.error.as_deref()), ("superseded", Some("Another item has brought the same torrent")));
        let page = PageQuery { page: 1, page_size: 50 };
        let log = house.app.evaluations(&two.id, page).await.unwrap().0;
        assert_eq!((log[0].action_taken.as_str(), log[0].torrent_hash.clone()), ("skipped_duplicate", Some(hash(1))));
        // The rule holds its release all the same: it grabs nothing worse, and this one never again.
        house.sites.show(B, &[item("g3", SMALL, &hash(3))]);
        assert_eq!(house.app.refresh(&b.id).await.unwrap(), (1, 0));
        assert_eq!(house.app.backfill(&two.id).await.unwrap().downloaded, 0);
        assert_eq!((house.torrents.taken.lock().unwrap().len(), house.listed()), (2, vec![hash(1)]));
        // A user's own request gets it.
        let id = house.history(&b).await.into_iter().find(|item| item.item_guid == "g2").unwrap().id;
        assert!(house.app.download(house.caller(), &id, None).await.unwrap().item.downloaded);
    }

    async fn a_decision_outlives_the_server_and_is_done_once(db: Db) {
        let house = House::new(&db);
        let a = house.feed(A).await;
        house.rule(&a, "one", &[(SHOW, "1080p")]).await;
        house.sites.show(A, &[item("g1", FULL, &hash(1))]);
        // The client has taken it, but the answer was lost.
        house.torrents.faults.lock().unwrap().push_back((IntakeError::Engine("it does not answer".into()), true));
        assert_eq!(house.app.refresh(&a.id).await.unwrap(), (1, 0));
        let grab = house.history(&a).await.remove(0).grab.unwrap();
        assert_eq!((grab.state.as_str(), grab.error.as_deref()), ("pending", Some("it does not answer")));
        let house = house.restarted();
        house.app.settle_due().await.unwrap();
        assert_eq!(house.torrents.taken.lock().unwrap().len(), 1, "it waits");
        house.clock.advance(Duration::from_secs(31));
        house.app.settle_due().await.unwrap();
        house.app.settle_due().await.unwrap();
        assert_eq!((house.torrents.taken.lock().unwrap().len(), house.listed()), (2, vec![hash(1)]));
        let item = house.history(&a).await.remove(0);
        assert!(item.downloaded && item.grab.unwrap().state.as_str() == "done");
        assert_eq!(house.app.refresh(&a.id).await.unwrap(), (0, 0));
    }

    async fn a_rule_grabs_while_who_saved_it_may_add_torrents(db: Db) {
        let house = House::new(&db);
        let a = house.feed(A).await;
        house.rule(&a, "one", &[(SHOW, "1080p")]).await;
        house.sites.show(A, &[item("g1", FULL, &hash(1))]);
        house.authors.are(Role::ReadOnly);
        assert_eq!(house.app.refresh(&a.id).await.unwrap(), (1, 0));
        let grab = house.history(&a).await.remove(0).grab.unwrap();
        let why = "The rule does not grab: who saved it last may not have it add torrents any more. It does so again for \
                   whoever saves it";
        assert_eq!((grab.state.as_str(), grab.error.as_deref()), ("pending", Some(why)));
        assert!(house.torrents.taken.lock().unwrap().is_empty(), "no client was asked");
        // A user's own request needs no author.
        house.authors.are(Role::PowerUser);
        house.clock.advance(Duration::from_secs(31));
        house.app.settle_due().await.unwrap();
        assert_eq!(house.listed(), [hash(1)], "the right is back");
    }

    async fn a_better_release_takes_the_place_of_the_one_before(db: Db) {
        let house = House::new(&db);
        let a = house.feed(A).await;
        let rule = house.rule(&a, "one", &[(SHOW, "1080p"), (SHOW, "720p")]).await;
        house.sites.show(A, &[item("g1", SMALL, &hash(1))]);
        assert_eq!(house.app.refresh(&a.id).await.unwrap(), (1, 1));
        house.sites.show(A, &[item("g2", FULL, &hash(2)), item("g1", SMALL, &hash(1))]);
        assert_eq!(house.app.refresh(&a.id).await.unwrap(), (1, 1));
        house.app.settle_due().await.unwrap();
        assert_eq!((house.listed(), &house.torrents.removed.lock().unwrap()[..]), (vec![hash(2)], &[hash(1)][..]));
        let proper = "Harbor.Nine.S01E01.PROPER.720p.WEB.x264-OTHER";
        house.sites.show(A, &[item("g3", proper, &hash(3))]);
        assert_eq!(house.app.refresh(&a.id).await.unwrap(), (1, 0), "it has a better one");
        let page = PageQuery { page: 1, page_size: 50 };
        let (log, total) = house.app.evaluations(&rule.id, page).await.unwrap();
        let mut told: Vec<_> = log.iter().map(|row| (row.result.as_str(), row.action_taken.as_str())).collect();
        told.sort_unstable();
        assert_eq!((total, told), (3, vec![("matched", "download"), ("matched", "download"),
            ("skipped_duplicate", "skipped_duplicate")]));
    }

    async fn what_somebody_else_added_is_not_removed_for_a_better_one(db: Db) {
        let house = House::new(&db);
        let a = house.feed(A).await;
        house.rule(&a, "one", &[(SHOW, "1080p"), (SHOW, "720p")]).await;
        house.torrents.torrents.lock().unwrap().insert(hash(1), None);
        house.sites.show(A, &[item("g1", SMALL, &hash(1))]);
        house.app.refresh(&a.id).await.unwrap();
        house.sites.show(A, &[item("g2", FULL, &hash(2))]);
        house.app.refresh(&a.id).await.unwrap();
        house.app.settle_due().await.unwrap();
        assert_eq!(house.listed(), [hash(1), hash(2)]);
    }

    async fn a_feed_that_fails_is_left_alone_for_a_while_and_shows_why(db: Db) {
        let house = House::new(&db);
        let a = house.feed(A).await;
        // The older one is requested first.
        house.clock.advance(Duration::from_secs(1));
        let second = house.feed("https://a.test/other").await;
        house.rule(&a, "one", &[(SHOW, "1080p")]).await;
        let throttled = FetchError::Throttled { seconds: Some(7200), message: "`a.test` answered HTTP 429".into() };
        house.sites.faults.lock().unwrap().insert(A.into(), throttled);
        house.sites.show("https://a.test/other", &[]);
        house.app.round().await.unwrap();
        assert_eq!(house.sites.asked.lock().unwrap().len(), 1, "its site is left alone");
        let feeds = house.app.list_feeds().await.unwrap();
        let shown = &feeds[0].0;
        assert_eq!((shown.failures, shown.last_error.as_deref()), (1, Some("`a.test` answered HTTP 429")));
        assert_eq!(feeds[0].1.len(), 1, "it keeps its rules");
        assert_eq!(feeds[1].0.failures, 0);
        house.clock.advance(Duration::from_secs(7000));
        house.app.round().await.unwrap();
        assert_eq!(house.sites.asked.lock().unwrap().len(), 1);
        house.clock.advance(Duration::from_secs(201));
        house.sites.faults.lock().unwrap().clear();
        house.sites.show(A, &[item("g1", FULL, &hash(1))]);
        house.app.round().await.unwrap();
        house.app.settle_due().await.unwrap();
        assert_eq!(house.listed(), [hash(1)]);
        let shown = house.app.list_feeds().await.unwrap().remove(0).0;
        assert_eq!((shown.failures, shown.last_error, second.failures), (0, None, 0));
        let error = house.app.refresh("nobody").await.unwrap_err();
        assert_eq!(error.to_string(), "Unknown RSS feed: nobody");
    }

    async fn feeds_of_one_site_are_asked_a_second_apart(db: Db) {
        let house = House::new(&db);
        for path in ["one", "two", "three"] {
            let url = format!("https://a.test/{path}");
            house.feed(&url).await;
            house.sites.show(&url, &[]);
        }
        house.clock.advance(Duration::from_secs(1));
        house.app.round().await.unwrap();
        let at = house.sites.asked_at.lock().unwrap().clone();
        assert_eq!(at.len(), 3, "all in one round");
        for pair in at.windows(2) {
            // It may be more on a busy machine, never less.
            assert!(pair[1] - pair[0] >= Duration::from_secs(1), "{:?}", pair[1] - pair[0]);
        }
    }

    async fn what_is_no_feed_is_an_error_and_an_unchanged_one_is_not_read(db: Db) {
        let house = House::new(&db);
        let a = house.feed(A).await;
        house.sites.documents.lock().unwrap().insert(A.into(), "<html><title>Hello</title></html>".into());
        let error = house.app.refresh(&a.id).await.unwrap_err();
        assert!(error.to_string().starts_with("Could not fetch feed: the site answered a web page"), "{error}");
        house.sites.show(A, &[item("g1", FULL, &hash(1))]);
        house.app.refresh(&a.id).await.unwrap();
        assert_eq!(house.app.refresh(&a.id).await.unwrap(), (0, 0));
        let asked = house.sites.asked.lock().unwrap().last().cloned().unwrap();
        assert!(asked.1.is_some(), "with the version it has");
        let change = FeedChange { url: Some(B.into()), ..FeedChange::default() };
        let changed = house.app.update_feed(house.caller(), &a.id, change).await.unwrap();
        assert_eq!((changed.etag, changed.next_fetch_at), (None, None));
    }

    async fn what_broke_off_is_read_again_whole(db: Db) {
        let house = House::new(&db);
        let a = house.feed(A).await;
        house.sites.show(A, &[item("g1", FULL, &hash(1)), item("g2", SMALL, &hash(2))]);
        let whole = house.sites.documents.lock().unwrap()[A].clone();
        let torn = whole[..whole.rfind("<item>").unwrap() + 20].to_owned();
        house.sites.documents.lock().unwrap().insert(A.into(), torn);
        assert_eq!(house.app.refresh(&a.id).await.unwrap(), (1, 0));
        let shown = house.app.list_feeds().await.unwrap().remove(0).0;
        assert_eq!((shown.etag, shown.warnings.len()), (None, 1), "{:?}", shown.warnings);
        house.sites.documents.lock().unwrap().insert(A.into(), whole);
        assert_eq!(house.app.refresh(&a.id).await.unwrap(), (1, 0));
        assert!(house.app.list_feeds().await.unwrap().remove(0).0.etag.is_some());
    }

    async fn for_items_without_a_link_a_feed_is_asked_once(db: Db) {
        let house = House::new(&db);
        let a = house.feed(A).await;
        let bare = |guid: &str, title: &str| format!("<item><guid>{guid}</guid><title>{title}</title></item>");
        let other = "Harbor.Nine.S01E02.1080p.WEB.x264-TIDE";
        house.sites.show(A, &[bare("g1", FULL), bare("g2", other)]);
        house.app.refresh(&a.id).await.unwrap();
        house.sites.show(A, &[item("g1", FULL, &hash(1)), item("g2", other, &hash(2))]);
        house.sites.asked.lock().unwrap().clear();
        house.rule(&a, "one", &[(SHOW, "1080p")]).await;
        assert_eq!(house.listed(), [hash(1), hash(2)]);
        assert_eq!(house.sites.asked.lock().unwrap().len(), 1);
    }

    async fn a_rule_that_comes_later_finds_what_was_shown(db: Db) {
        let house = House::new(&db);
        let a = house.feed(A).await;
        house.sites.show(A, &[item("g1", FULL, &hash(1)), item("g2", SMALL, &hash(2))]);
        assert_eq!(house.app.refresh(&a.id).await.unwrap(), (2, 0));
        let drafts = || vec![CandidateDraft::read(json!({
            "name": "any", "matchType": "smart_episode_match", "pattern": SHOW,
        }).as_object().unwrap())];
        let change = RuleChange { name: Some("tried".into()), ..RuleChange::default() };
        let preview = house.app.preview(&a.id, change, drafts()).await.unwrap();
        assert_eq!((preview.looked_at, preview.matched, preview.would_grab), (2, 2, 1));
        assert!(house.listed().is_empty(), "nothing is grabbed for a trial");
        let rule = house.rule(&a, "one", &[(SHOW, "1080p")]).await;
        assert_eq!(house.listed(), [hash(1)], "the first candidate looked back");
        let again = house.app.backfill(&rule.id).await.unwrap();
        assert_eq!((again.evaluated, again.matched, again.downloaded), (1, 0, 0));
        assert_eq!(house.app.backfill("nobody").await.unwrap().evaluated, 0);
        let tried = house.app.try_history(&rule.id).await.unwrap();
        assert_eq!((tried.results.len(), tried.matched, tried.looked_at), (1, 1, 2));
    }

    async fn what_was_judged_before_a_rule_changed_is_judged_by_the_rule_as_it_is(db: Db) {
        let house = House::new(&db);
        let a = house.feed(A).await;
        let before = house.app.rules_alive().await.unwrap().of_feed(&a.id);
        // Its backfill sees a history without what a poll has read, and not stored.
        house.rule(&a, "one", &[(SHOW, "1080p")]).await;
        let shown = qm_feeds::Item {
            guid: "g1".into(), is_told_by_link: false, title: FULL.into(), info_hash: Some(hash(1)), link: None,
            magnet: Some(format!("magnet:?xt=urn:btih:{}", hash(1))), size: None, published: None, categories: Vec::new(),
            ..qm_feeds::Item::default()
        };
        let item = HistoryItem::new(house.app.ctx.id(), &a.id, &shown, 0, house.app.ctx.now());
        let mut looked = FeedReading::default();
        house.app.take_chunk(vec![item], before, &mut looked).await.unwrap();
        assert_eq!((looked.new_items, looked.grabs.len()), (1, 1));
        assert!(house.history(&a).await[0].matched);
    }

    async fn an_answer_to_a_trial_holds_so_much_however_much_matches(db: Db) {
        let house = House::new(&db);
        let a = house.feed(A).await;
        let items: Vec<String> = (1..=510)
            .map(|n| linked(&format!("g{n}"), &format!("Harbor.Nine.S01E{n:03}.1080p.WEB-TIDE"), "https://a.test/1"))
            .collect();
        house.sites.show(A, &items);
        assert_eq!(house.app.refresh(&a.id).await.unwrap(), (510, 0));
        let change = RuleChange {
            name: Some("quiet".into()), auto_download: Some(false), include_regex: Some(Some("harbor".into())),
            ..RuleChange::default()
        };
        let rule = house.app.create_rule(house.caller(), &a.id, change).await.unwrap();
        let tried = house.app.try_history(&rule.id).await.unwrap();
        assert_eq!((tried.results.len(), tried.matched, tried.looked_at), (500, 510, 510));
    }

    /// Readers may try rules: any number of trials leaves threads for others.
    async fn trials_wait_for_their_turn(db: Db) {
        let house = House::new(&db);
        let a = house.feed(A).await;
        let rule = house.rule(&a, "one", &[(SHOW, "1080p")]).await;
        let all = u32::try_from(crate::service::trial::AT_ONCE).unwrap();
        let turns = house.app.trials.clone().acquire_many_owned(all).await.unwrap();
        let trial = |what: &'static str| {
            let (app, rule, feed) = (house.app.clone(), rule.id.clone(), a.id.clone());
            let change = RuleChange { name: Some("tried".into()), ..RuleChange::default() };
            tokio::spawn(async move {
                match what {
                    "titles" => app.try_list(&rule, vec![FULL.into()]).await.map(drop),
                    "history" => app.try_history(&rule).await.map(drop),
                    "preview" => app.preview(&feed, change, Vec::new()).await.map(drop),
                    _ => app.try_suggestions(FULL, Vec::new(), None).await.map(drop),
                }
            })
        };
        let mut trials = Vec::new();
        for what in ["titles", "history", "preview", "suggestions"] {
            let mut trial = trial(what);
            let early = tokio::time::timeout(Duration::from_millis(100), &mut trial).await;
            assert!(early.is_err(), "{what} was tried out of turn");
            trials.push(trial);
        }
        drop(turns);
        for trial in trials {
            trial.await.unwrap().unwrap();
        }
    }

    async fn an_item_is_downloaded_by_hand_and_reset(db: Db) {
        let house = House::new(&db);
        let a = house.feed(A).await;
        let rule = house.rule(&a, "one", &[(SHOW, "1080p")]).await;
        house.sites.show(A, &[item("g1", FULL, &hash(1))]);
        house.app.refresh(&a.id).await.unwrap();
        let id = house.history(&a).await.remove(0).id;
        let reset = house.app.reset(house.caller(), &id).await.unwrap();
        assert_eq!((reset.holds_cleared, reset.torrent_removed), (1, true));
        assert!(house.listed().is_empty());
        assert_eq!(house.app.refresh(&a.id).await.unwrap(), (0, 1), "its rule grabs it again, though nothing is new");
        let taken = house.app.download(house.caller(), &id, Some("/data/x".into())).await.unwrap();
        assert_eq!(house.audited("rss.history.download").await, [json!({
            "title": FULL, "savePath": "/data/x",
        })]);
        house.app.backfill_for(house.caller(), &rule.id).await.unwrap();
        house.app.backfill_for(house.caller(), "nobody").await.unwrap();
        assert_eq!(house.audited("rss.rule.backfill").await, [json!({ "name": "one" })]);
        assert_eq!((taken.torrent_hash, taken.item.downloaded), (hash(1), true));
        let outside = house.app.download(house.caller(), &id, Some("/etc".into())).await.err().unwrap();
        assert!(matches!(outside, RssError::Path(_)));
        let refused = (IntakeError::Refused("no".into()), false);
        house.torrents.faults.lock().unwrap().push_back(refused);
        let failed = house.app.download(house.caller(), &id, None).await.err().unwrap();
        assert_eq!(failed.to_string(), "Download failed: no");
        house.app.delete_rule(house.caller(), &rule.id).await.unwrap();
        assert!(house.app.reset(house.caller(), "nobody").await.is_err());
    }

    async fn rules_are_told_apart_and_stay_within_the_roots(db: Db) {
        let house = House::new(&db);
        let a = house.feed(A).await;
        let named = |name: &str, path: Option<&str>| RuleChange {
            name: Some(name.into()), save_path: Some(path.map(str::to_owned)), ..RuleChange::default()
        };
        let first = house.app.create_rule(house.caller(), &a.id, named("One", Some("/data/one"))).await.unwrap();
        for (change, message) in [
            (named(" oNe ", None), "A rule named \"oNe\" already exists. Rule names must be unique."),
            (named("two", Some("/data/one")), "That path is already used by the rule \"One\". "),
            (named("two", Some("/etc/x")), "Path is outside the allowed storage roots (/data)."),
            (RuleChange { storage_profile_id: Some(Some("p".into())), ..named("two", None) }, "Unknown storage profile: p"),
        ] {
            let error = house.app.create_rule(house.caller(), &a.id, change).await.unwrap_err();
            assert!(error.to_string().starts_with(message), "{error}");
        }
        let same = house.app.update_rule(house.caller(), &first.id, named("ONE", Some("/data/one"))).await.unwrap();
        assert_eq!(same.name, "ONE");
        assert!(house.app.create_rule(house.caller(), "nobody", named("three", None)).await.is_err());
    }

    async fn bundles_are_carried_over_and_bad_rows_named(db: Db) {
        let house = House::new(&db);
        let a = house.feed(A).await;
        house.rule(&a, "one", &[(SHOW, "1080p"), (SHOW, "720p")]).await;
        let bundle = house.app.export(Some(&a.id), None).await.unwrap();
        assert_eq!(bundle["rules"][0]["candidates"][1]["qualityRules"], json!({ "resolution": "720p" }));
        house.app.delete_feed(house.caller(), &a.id).await.unwrap();
        let mut rules = bundle["rules"].as_array().unwrap().clone();
        let mut second = rules[0].clone();
        second["name"] = "two".into();
        second["candidates"][0]["matchType"] = "nonsense".into();
        rules.extend([json!({ "name": "no feed" }), json!(7), second]);
        let rows = || rules.iter().cloned().map(Ok).chain([Err("must not hold a name twice")]).collect::<Vec<_>>().into_iter();
        let done = house.app.import(house.caller(), rows(), Mode::Skip).await.unwrap();
        assert_eq!((done.feeds_created, done.rules_created, done.rules_skipped), (1, 2, 3));
        assert_eq!((done.candidates_created, done.candidates_skipped), (3, 1));
        let told: Vec<_> = done.problems.iter().map(|p| (p.row, p.candidate, p.reason.as_str())).collect();
        assert_eq!(told, [(1, None, "the rule names no feed"), (2, None, "the rule has no name"),
            (3, Some(0), "Invalid match type: nonsense"), (4, None, "the rule must not hold a name twice")]);
        let again = house.app.import(house.caller(), rows(), Mode::Merge).await.unwrap();
        assert_eq!((again.rules_merged, again.candidates_created, again.rules_created), (2, 0, 0));
        let over = house.app.import(house.caller(), rows(), Mode::Overwrite).await.unwrap();
        assert_eq!((over.rules_overwritten, over.candidates_created), (2, 3));
    }

    async fn what_a_feed_has_shown_is_known_again_in_a_long_document(db: Db) {
        let house = House::new(&db);
        let a = house.feed(A).await;
        let shown = |from: usize, to: usize| (from..to).map(|n| linked(&format!("g{n}"), &format!("Other.S01E{n:02}"), "")).collect::<Vec<_>>();
        // A long guid is known by its digest, and one with what PostgreSQL cannot hold by what is stored.
        let odd = [linked(&"g".repeat(300), "Long", ""), linked("g1000", "Other", "")];
        house.sites.show(A, &[&shown(0, 599)[..], &odd[..]].concat());
        assert_eq!(house.app.refresh(&a.id).await.unwrap(), (601, 0));
        // Every second one of a part is new, and one stands there twice.
        let mixed: Vec<String> = shown(300, 599).into_iter().zip(shown(2000, 2299)).flat_map(|(old, new)| [old, new]).collect();
        house.clock.advance(Duration::from_hours(25));
        house.sites.show(A, &[&mixed[..], &odd[..], &shown(2000, 2001)[..]].concat());
        assert_eq!(house.app.refresh(&a.id).await.unwrap(), (299, 0));
        let seen = house.clock.ctx().now();
        let of = |guid: &str| (a.id.clone(), guid.to_owned());
        let mut tx = house.db.begin_read().await.unwrap();
        for ((feed, guid), again) in [(of("g10"), false), (of("g400"), true), (of(&"g".repeat(300)), true), (of("g2298"), true)] {
            let mut known = crate::repo::history::known(&mut tx, &feed, [guid.as_str()].into_iter()).await.unwrap();
            let item = known.remove(&crate::repo::history::key(&guid)).unwrap();
            assert_eq!((item.item_guid == guid, item.seen_at == seen), (true, again), "{guid}");
        }
    }

    async fn a_long_feed_is_stored_in_parts_and_old_things_are_forgotten(db: Db) {
        let house = House::new(&db);
        let a = house.feed(A).await;
        let rule = house.rule(&a, "one", &[(SHOW, "1080p")]).await;
        let items: Vec<String> = (0..700).map(|n| linked(&format!("g{n}"), &format!("Other.S01E{n:02}"), "")).collect();
        house.sites.show(A, &items);
        assert_eq!(house.app.refresh(&a.id).await.unwrap(), (700, 0));
        let page = PageQuery { page: 1, page_size: 1 };
        assert_eq!(house.app.evaluations(&rule.id, page).await.unwrap().1, 700);
        house.clock.advance(Duration::from_hours(31 * 24));
        house.app.forget().await.unwrap();
        assert_eq!(house.app.evaluations(&rule.id, page).await.unwrap().1, 0);
        assert_eq!(house.history(&a).await.len(), 100, "what was shown stays");
        house.clock.advance(Duration::from_hours(335 * 24));
        house.app.forget().await.unwrap();
        assert!(house.history(&a).await.is_empty());
    }
}
