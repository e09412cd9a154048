//! Tests of item identities, and of rules without a pattern.

use std::time::Duration;

use qm_db::{Db, db_test};
use qm_matching::CandidateDraft;
use serde_json::{Value, json};

use crate::model::rule::RuleChange;
use crate::service::Rss;
use crate::testing::{House, hash, linked};

const A: &str = "https://a.test/rss";
const B: &str = "https://b.test/rss";
const SHOW: &str = "Harbor Nine";

fn episode(n: u8) -> String {
    format!("Harbor.Nine.S01E{n:02}.1080p.WEB.x264-TIDE")
}

/// An item with only a title and a link.
fn unnamed(title: &str, link: &str) -> String {
    format!("<item><title>{title}</title><link>{link}</link></item>")
}

fn draft(body: &Value) -> CandidateDraft {
    CandidateDraft::read(body.as_object().unwrap())
}

async fn guids(house: &House, feed: &crate::model::feed::Feed) -> Vec<String> {
    house
        .history(feed)
        .await
        .into_iter()
        .map(|item| item.item_guid)
        .collect()
}

db_test! {
    async fn a_key_of_a_member_in_every_link_hides_no_item(db: Db) {
        let house = House::new(&db);
        let (a, b) = (house.feed(A).await, house.feed(B).await);
        house.rule(&a, "one", &[(SHOW, "1080p")]).await;
        house.rule(&b, "two", &[(SHOW, "1080p")]).await;
        let key = "0123456789abcdef0123456789abcdef01234567";
        for (feed, url, n) in [(&a, A, 1), (&a, A, 2), (&b, B, 3)] {
            let link = format!("https://a.test/t/{n}.torrent/{key}/{n:02}.torrent");
            house.sites.show(url, &[linked(&"g".repeat(n.into()), &episode(n), &link)]);
            assert_eq!(house.app.refresh(&feed.id).await.unwrap(), (1, 1), "{n}");
        }
        assert_eq!(house.listed(), [hash(1), hash(2), hash(3)]);
        let told: Vec<_> = house.history(&a).await.into_iter().map(|item| item.info_hash).collect();
        assert_eq!(told.len(), 2);
        assert!(told.contains(&Some(hash(1))) && told.contains(&Some(hash(2))), "{told:?}");
    }

    async fn what_a_torrent_is_takes_the_place_of_what_a_feed_supposed(db: Db) {
        let house = House::new(&db);
        let a = house.feed(A).await;
        house.rule(&a, "one", &[(SHOW, "1080p")]).await;
        let wrong = hash(0xee);
        let item = linked("g1", &episode(1), "https://a.test/01.torrent");
        house.sites.show(A, &[item.replace("</item>", &format!("<infoHash>{wrong}</infoHash></item>"))]);
        assert_eq!(house.app.refresh(&a.id).await.unwrap(), (1, 1));
        assert_eq!(house.history(&a).await[0].info_hash, Some(hash(1)));
    }

    async fn a_torrent_that_was_removed_does_not_come_back_by_another_link(db: Db) {
        let house = House::new(&db);
        let (a, b) = (house.feed(A).await, house.feed(B).await);
        house.rule(&a, "one", &[(SHOW, "1080p")]).await;
        house.rule(&b, "two", &[(SHOW, "1080p")]).await;
        house.sites.show(A, &[linked("g1", &episode(1), "https://a.test/01.torrent")]);
        assert_eq!(house.app.refresh(&a.id).await.unwrap(), (1, 1));
        house.torrents.torrents.lock().unwrap().clear();
        house.sites.show(B, &[linked("g9", &episode(1), "https://b.test/dl/01.torrent")]);
        assert_eq!(house.app.refresh(&b.id).await.unwrap(), (1, 0));
        assert!(house.listed().is_empty(), "no client was handed it");
        let item = house.history(&b).await.remove(0);
        assert_eq!((item.matched, item.downloaded, item.info_hash), (true, false, Some(hash(1))));
        assert_eq!(item.grab.unwrap().state.as_str(), "superseded");
        // A user's own request gets it.
        assert!(house.app.download(house.caller(), &item.id, None).await.unwrap().item.downloaded);
        assert_eq!(house.listed(), [hash(1)]);
    }

    async fn what_was_removed_takes_the_place_of_nothing(db: Db) {
        let house = House::new(&db);
        let (a, b) = (house.feed(A).await, house.feed(B).await);
        house.rule(&a, "one", &[(SHOW, "1080p")]).await;
        house.rule(&b, "two", &[(SHOW, "1080p"), (SHOW, "720p")]).await;
        house.sites.show(A, &[linked("g1", &episode(1), "https://a.test/01.torrent")]);
        assert_eq!(house.app.refresh(&a.id).await.unwrap(), (1, 1));
        house.torrents.torrents.lock().unwrap().clear();
        house.sites.show(B, &[linked("g2", &episode(1).replace("1080p", "720p"), "https://b.test/03.torrent")]);
        assert_eq!(house.app.refresh(&b.id).await.unwrap(), (1, 1));
        house.sites.show(B, &[linked("better", &episode(1), "https://b.test/01.torrent")]);
        assert_eq!(house.app.refresh(&b.id).await.unwrap(), (1, 0));
        house.app.settle_due().await.unwrap();
        assert_eq!(house.listed(), [hash(3)]);
    }

    async fn items_of_one_link_and_different_titles_are_different_items(db: Db) {
        let house = House::new(&db);
        let a = house.feed(A).await;
        let link = "https://a.test/all";
        house.sites.show(A, &[unnamed("One", link), unnamed("Two", link), unnamed("Two", link)]);
        assert_eq!(house.app.refresh(&a.id).await.unwrap(), (2, 0));
        assert_eq!(guids(&house, &a).await, [link.to_owned(), format!("{link} Two")]);
        // They are recognised in any order, and alone.
        house.sites.show(A, &[unnamed("Two", link), unnamed("One", link), unnamed("Three", link)]);
        assert_eq!(house.app.refresh(&a.id).await.unwrap(), (1, 0));
        house.sites.show(A, &[unnamed("Two", link)]);
        assert_eq!(house.app.refresh(&a.id).await.unwrap(), (0, 0));
    }

    async fn a_history_has_the_order_of_the_document(db: Db) {
        let house = House::new(&db);
        let a = house.feed(A).await;
        let shown = |from: usize, to: usize| (from..to).map(|n| linked(&format!("g{n}"), &format!("T {n}"), "")).collect::<Vec<_>>();
        house.sites.show(A, &shown(10, 60));
        house.app.refresh(&a.id).await.unwrap();
        house.clock.advance(Duration::from_mins(1));
        house.sites.show(A, &shown(0, 60));
        house.app.refresh(&a.id).await.unwrap();
        let expected: Vec<String> = (0..60).map(|n| format!("g{n}")).collect();
        assert_eq!(guids(&house, &a).await, expected);
    }

    async fn a_smart_candidate_without_a_pattern_is_about_the_title_of_its_rule(db: Db) {
        let house = House::new(&db);
        let a = house.feed(A).await;
        house.sites.show(A, &[linked("g1", &episode(1), "https://a.test/01.torrent"),
            linked("g2", "Atlas.2021.1080p.WEB", "https://a.test/02.torrent")]);
        house.app.refresh(&a.id).await.unwrap();
        let rule = house.rule(&a, "Harbor Nine 1080p", &[]).await;
        for kind in ["smart_episode_match", "smart_movie_match"] {
            let body = json!({ "name": kind, "matchType": kind, "pattern": " " });
            let (stored, _) = house.app.add_candidate(house.caller(), &rule.id, draft(&body)).await.unwrap();
            assert_eq!((stored.candidate.pattern.as_deref(), stored.complaint), (Some(" "), None));
        }
        assert_eq!(house.listed(), [hash(1)]);
        let tried = Rss::try_list(&house.app, &rule.id, vec!["Atlas.2021.1080p".into(), episode(2)]).await.unwrap();
        let matched: Vec<bool> = tried.iter().map(|tried| tried.evaluated.matched).collect();
        assert_eq!(matched, [false, true]);
    }

    async fn a_candidate_that_matches_nothing_says_so_when_it_is_saved(db: Db) {
        let house = House::new(&db);
        let a = house.feed(A).await;
        house.sites.show(A, &[linked("g1", &episode(1), "https://a.test/01.torrent")]);
        house.app.refresh(&a.id).await.unwrap();
        let change = RuleChange { name: Some("!!!".into()), ..RuleChange::default() };
        let rule = house.app.create_rule(house.caller(), &a.id, change).await.unwrap();
        for (body, says) in [
            (json!({ "name": "a", "matchType": "smart_episode_match" }), "the pattern is empty"),
            (json!({ "name": "b", "matchType": "contains_text", "pattern": "" }), "the pattern is empty"),
            (json!({ "name": "c", "matchType": "smart_movie_match", "pattern": "??" }), "no letter"),
            (json!({ "name": "d", "matchType": "regex", "pattern": "(" }), "the pattern"),
        ] {
            let (stored, filled) = house.app.add_candidate(house.caller(), &rule.id, draft(&body)).await.unwrap();
            assert!(stored.complaint.as_ref().is_some_and(|reason| reason.contains(says)), "{body} {:?}", stored.complaint);
            assert_eq!(filled.matched, 0);
        }
        let listed = house.app.candidates(&rule.id).await.unwrap();
        assert!(listed.iter().all(|stored| stored.complaint.is_some()));
        assert!(house.listed().is_empty());
    }
}
