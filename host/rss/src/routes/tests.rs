//! Tests of the routes.

use qm_db::{Db, db_test};
use qm_kernel::Ctx;
use qm_test_base::Visitor;
use serde_json::{Value, json};

use super::routes;
use crate::testing::{House, hash, item};

struct Site {
    house: House,
    visitor: Visitor,
}

impl Site {
    fn new(db: &Db) -> Self {
        let house = House::new(db);
        let visitor = Visitor::new("/api/rss", routes().with_state(house.app.clone()), Ctx::system());
        Self { house, visitor }
    }

    async fn ask(&self, role: &str, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        self.visitor.ask(role, method, path, body).await.status_and_json()
    }

    async fn admin(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        self.ask("ADMINISTRATOR", method, path, body).await
    }
}

db_test! {
    async fn feeds_answer_with_their_rules_and_rules_with_their_feeds(db: Db) {
        let site = Site::new(&db);
        let (_, feed) = site.admin("POST", "/feeds", Some(json!({ "name": "Main", "url": "https://feeds.test/rss" }))).await;
        assert_eq!(feed["rules"], json!([]));
        let id = feed["id"].as_str().unwrap();
        let (_, rule) = site.admin("POST", "/rules", Some(json!({ "feedId": id, "name": "One" }))).await;
        assert_eq!(rule["feedIds"], json!([id]));
        assert_eq!(rule["warnings"], Value::Null, "nothing was said of it");
        let rule_path = format!("/rules/{}", rule["id"].as_str().unwrap());
        let (_, said) = site.admin("PATCH", &rule_path, Some(json!({ "importMode": "managed_intake" }))).await;
        assert!(said["warnings"][0].as_str().unwrap().contains("managed_intake"), "{said}");
        let (_, said) = site.admin("PATCH", &rule_path, Some(json!({ "importMode": "legacy_direct" }))).await;
        assert_eq!((&said["importMode"], &said["warnings"]), (&json!("legacy_direct"), &Value::Null));
        let body = json!({ "name": "a", "matchType": "wildcard" });
        let (_, candidate) = site.admin("POST", &format!("{rule_path}/match-candidates"), Some(body)).await;
        assert_eq!(candidate["warnings"], json!(["The candidate matches nothing: the pattern is empty"]));
        let (_, changed) = site.admin("PATCH", &rule_path, Some(json!({ "autoDownload": false }))).await;
        assert_eq!(changed["feedIds"], json!([id]));
        let (_, listed) = site.admin("GET", "/rules", None).await;
        assert_eq!(listed[0]["feedIds"], json!([id]));
        for (method, body) in [("PATCH", Some(json!({ "name": "Other" }))), ("DELETE", None)] {
            let (status, feed) = site.admin(method, &format!("/feeds/{id}"), body).await;
            assert_eq!((status, &feed["rules"][0]["feedIds"]), (200, &json!([id])), "{method}");
        }
    }

    async fn from_a_feed_to_a_torrent_over_http(db: Db) {
        let site = Site::new(&db);
        let url = "https://feeds.test/rss";
        site.house.sites.show(url, &[item("g1", "Harbor.Nine.S01E01.1080p.WEB.x264-TIDE", &hash(1))]);
        let (status, feed) = site.admin("POST", "/feeds", Some(json!({ "name": "Main", "url": url }))).await;
        assert_eq!((status, &feed["refreshInterval"], &feed["isEnabled"], &feed["status"]),
            (201, &json!(900), &json!(true), &json!("unknown")));
        let feed_id = feed["id"].as_str().unwrap().to_owned();
        let (status, rule) = site.admin("POST", "/rules", Some(json!({ "feedId": feed_id, "name": "Harbor Nine" }))).await;
        assert_eq!((status, &rule["importMode"], &rule["autoDownload"]), (201, &json!("managed_intake"), &json!(true)));
        let rule_path = format!("/rules/{}", rule["id"].as_str().unwrap());
        let body = json!({ "name": "1080p", "matchType": "smart_episode_match", "pattern": "Harbor Nine", "enabled": 1 });
        let (status, candidate) = site.admin("POST", &format!("{rule_path}/match-candidates"), Some(body)).await;
        assert_eq!((status, &candidate["priorityOrder"], &candidate["enabled"]), (201, &json!(1), &json!(true)));
        assert_eq!(candidate["backfill"], json!({ "evaluated": 0, "matched": 0, "downloaded": 0 }));
        let (status, looked) = site.admin("POST", &format!("/feeds/{feed_id}/refresh"), None).await;
        assert_eq!((status, looked), (201, json!({ "newItems": 1, "downloaded": 1 })));
        let (_, feeds) = site.ask("READ_ONLY", "GET", "/feeds", None).await;
        assert_eq!((&feeds[0]["status"], &feeds[0]["rules"][0]["feedIds"]), (&json!("ok"), &json!([feed_id])));
        let (_, history) = site.ask("READ_ONLY", "GET", &format!("/feeds/{feed_id}/history?status=downloaded&search=HARBOR"), None).await;
        assert_eq!((&history["total"], &history["items"][0]["grab"]["state"]), (&json!(1), &json!("done")));
        assert_eq!(history["counts"], json!({ "total": 1, "downloaded": 1, "matched": 0, "seen": 0 }));
        let (_, log) = site.admin("GET", &format!("{rule_path}/match-history"), None).await;
        assert_eq!((&log["items"][0]["torrentHash"], &log["items"][0]["rssItemId"]), (&json!(hash(1)), &json!("g1")));
        let titles = json!({ "titles": ["Harbor.Nine.S02E01.720p", "Atlas.S01E01"] });
        let (_, tried) = site.ask("READ_ONLY", "POST", &format!("{rule_path}/test-preference-list"), Some(titles)).await;
        assert_eq!((&tried["results"][0]["matched"], &tried["results"][1]["action"]), (&json!(true), &json!("none")));
        let (status, gone) = site.admin("DELETE", &format!("/feeds/{feed_id}"), None).await;
        assert_eq!((status, &gone["id"]), (200, &json!(feed_id)));
        assert_eq!(site.admin("GET", "/rules", None).await.1, json!([]));
    }

    async fn who_may_not_manage_feeds_sees_no_keys(db: Db) {
        let site = Site::new(&db);
        let url = "https://jo:pa55word@feeds.test/rss/0123456789abcdef0123456789abcdef?passkey=abc&cat=5";
        let key = "deadbeefdeadbeefdeadbeefdeadbeef";
        site.house.sites.show(url, &[item(&format!("https://t.test/dl?rsskey={key}"), "Harbor.Nine.S01E01.1080p", &hash(1))]);
        let (_, feed) = site.admin("POST", "/feeds", Some(json!({ "name": "Main", "url": url }))).await;
        let id = feed["id"].as_str().unwrap().to_owned();
        assert_eq!(feed["url"], url, "who manages feeds sees what they entered");
        site.admin("POST", "/rules", Some(json!({ "feedId": id, "name": "Harbor Nine" }))).await;
        site.admin("POST", &format!("/feeds/{id}/refresh"), None).await;
        for path in ["/feeds".to_owned(), format!("/feeds/{id}/history"), "/rules-export".to_owned(), format!("/feeds/{id}/rules-export")] {
            let (status, seen) = site.ask("READ_ONLY", "GET", &path, None).await;
            let text = seen.to_string();
            assert_eq!(status, 200, "{text}");
            for secret in ["pa55word", "passkey=abc", "0123456789abcdef0123456789abcdef", key] {
                assert!(!text.contains(secret), "{path}: {text}");
            }
            let (_, whole) = site.ask("POWER_USER", "GET", &path, None).await;
            assert!(whole.to_string().contains("pa55word") || whole.to_string().contains(key), "{path}: {whole}");
        }
        let (_, seen) = site.ask("USER", "GET", "/feeds", None).await;
        let masked = seen[0]["url"].clone();
        assert!(masked.as_str().unwrap().contains("@feeds.test/rss/") && masked.as_str().unwrap().ends_with("&cat=5"), "{masked}");
        // A form that was shown without them keeps what is stored.
        let (status, kept) = site.admin("PATCH", &format!("/feeds/{id}"), Some(json!({ "url": masked }))).await;
        assert_eq!((status, &kept["url"]), (200, &json!(url)));
    }

    /// Parsed as one tree, all these rules would exceed the memory limit of a body.
    async fn a_bundle_of_thousands_of_rules_is_taken_over(db: Db) {
        let site = Site::new(&db);
        let row = |name: String, url: Option<&str>| json!({
            "name": name, "feed": { "name": "Main", "url": url },
            "candidates": (1..=5).map(|order| json!({
                "priorityOrder": order, "name": format!("candidate {order}"), "matchType": "smart_episode_match",
                "pattern": "Harbor Nine", "qualityRules": { "resolution": "1080p" }, "sizeRules": { "maxBytes": 3_000_000 },
            })).collect::<Vec<_>>(),
        });
        // Those without an address cost no more than to be read.
        let mut rows: Vec<Value> = (0..3000).map(|n| row(format!("rule {n}"), None)).collect();
        rows.push(row("last".to_owned(), Some("https://feeds.test/rss")));
        let bundle = json!({ "kind": "some.rss-export", "version": 1, "rules": rows });
        let (status, done) = site.admin("POST", "/rules-import", Some(bundle)).await;
        assert_eq!((status, &done["rulesCreated"], &done["rulesSkipped"], &done["candidatesCreated"]),
            (201, &json!(1), &json!(3000), &json!(5)));
        assert_eq!(done["problems"][2999]["reason"], "the rule's feed has no url");
        for body in [json!({ "kind": "some.rss-export", "rules": { "0": {} } }), json!({ "kind": 7, "rules": [] }), json!({ "rules": [] }),
            json!({ "kind": "some.rss-export" })] {
            let (status, answer) = site.admin("POST", "/rules-import", Some(body)).await;
            assert_eq!((status, &answer["message"]), (400, &json!("Not a valid Quartermaster RSS export")));
        }
    }

    async fn refusals_have_their_words(db: Db) {
        let site = Site::new(&db);
        let message = |answer: &Value| answer["message"].as_str().unwrap_or_default().to_owned();
        for (method, path, body, status, words) in [
            ("POST", "/feeds", Some(json!({ "name": "a", "url": "feeds.test" })), 400, ""),
            ("POST", "/feeds", Some(json!({ "name": "a", "url": "http://f.test", "refreshInterval": 59 })), 400, ""),
            ("PATCH", "/feeds/x", Some(json!({})), 404, "Unknown RSS feed: x"),
            ("POST", "/feeds/x/refresh", None, 404, "Unknown RSS feed: x"),
            ("GET", "/feeds/x/rules-export", None, 404, "Feed not found"),
            ("PATCH", "/rules/x", Some(json!({ "isEnabled": true })), 404, "Unknown RSS rule: x"),
            ("POST", "/rules/x/backfill", None, 201, ""),
            ("POST", "/rules/x/match-candidates", Some(json!({ "name": "a" })), 400, "RSS rule not found"),
            ("POST", "/rules/x/match-candidates/reorder", Some(json!({ "orderedIds": 1 })), 400, "orderedIds must be an array"),
            ("POST", "/rules/x/test-match", Some(json!({})), 400, "Provide sample titles"),
            ("POST", "/rules/x/test-preference-list", Some(json!({ "titles": [] })), 400, "Provide sample titles"),
            ("POST", "/smart-match/analyze", Some(json!({})), 400, "torrentName is required"),
            ("POST", "/history/x/download", None, 404, "RSS history item not found"),
            ("POST", "/history/x/reset", None, 404, "RSS history item not found"),
            ("GET", "/rules-export?feedId=x", None, 404, "Feed not found"),
            ("POST", "/rules-import", Some(json!({ "kind": "x", "rules": [] })), 400, "Not a valid Quartermaster RSS export"),
        ] {
            let (found, answer) = site.admin(method, path, body).await;
            assert_eq!(found, status, "{method} {path}: {answer}");
            if !words.is_empty() {
                assert_eq!(message(&answer), words, "{method} {path}");
            }
        }
        assert_eq!(site.ask("READ_ONLY", "POST", "/rules-import", Some(json!({}))).await.0, 403);
        let (_, pattern) = site.ask("READ_ONLY", "POST", "/convert-to-regex", Some(json!({ "text": " a.b  c " }))).await;
        assert_eq!(pattern["pattern"], "a\\.b[\\s._-]+c");
        let (status, tried) = site.ask("READ_ONLY", "POST", "/smart-match/test",
            Some(json!({ "torrentName": "Harbor.Nine.S01E01.1080p.WEB.x264-TIDE" }))).await;
        assert_eq!((status, &tried["recommendation"]["matchedCandidateId"]), (201, &json!("1")));
    }
}
