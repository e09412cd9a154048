//! Errors in sites, patterns and bundles, through the API: each is reported in its own words, and harms nothing else.

use std::collections::{BTreeSet, HashMap};

use qm_testkit::files::{self, FileServer};
use qm_testkit::{Api, TestServer, both_databases};
use serde_json::{Value, json};

const LOGIN: &str = "<!DOCTYPE html><html><head><title>Orchard :: Login</title></head><body>\
    <form action=\"/takelogin.php\"><input name=\"username\"><input type=\"password\" name=\"password\"></form></body></html>";
const CAPTCHA: &str =
    "<html><head><title>Just a moment...</title></head><body>solve this CAPTCHA</body></html>";
const PAGE: &str =
    "<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>";
const ERROR: &str = "<?xml version=\"1.0\"?><error code=\"100\" description=\"Incorrect user credentials\"/>";
const NOTHING_NEW: &str = "<rss version=\"2.0\"><channel><title>t</title></channel></rss>";

fn answer(status: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}").into_bytes()
}

fn feed(titles: &[&str]) -> Vec<u8> {
    let item = |title: &&str| {
        format!("<item><guid>{title}</guid><title>{title}</title><link>http://x.test/</link></item>")
    };
    let items: String = titles.iter().map(item).collect();
    files::ok(format!("<rss version=\"2.0\"><channel><title>t</title>{items}</channel></rss>").as_bytes())
}

/// A feed that is read only when it is told to, with a rule.
async fn follow(api: &Api, url: &str) -> (String, String) {
    let new = json!({ "name": url, "url": url, "isEnabled": false });
    let feed = api.post("/api/rss/feeds", new).await;
    let feed = feed["id"].as_str().expect("an id").to_owned();
    // What matches is recorded; there is no client to grab it.
    let new = json!({ "feedId": feed, "name": format!("of {url}"), "autoDownload": false });
    let rule = api.post("/api/rss/rules", new).await;
    (feed, rule["id"].as_str().expect("an id").to_owned())
}

both_databases! {
    async fn what_is_no_feed_says_what_it_is_and_keeps_its_rules(db: &TestDb) {
        let told = [
            ("/login", answer("200 OK", LOGIN), "a page on which people sign in"),
            ("/captcha", answer("403 Forbidden", CAPTCHA), "HTTP 403 (Forbidden): the site, or what stands before it, answered a page that wants to see a person"),
            ("/challenge", answer("200 OK", CAPTCHA), "wants to see a person"),
            ("/page", answer("200 OK", PAGE), "a web page where a feed was expected"),
            ("/error", answer("200 OK", ERROR), "the error 100: Incorrect user credentials"),
            ("/refused", answer("401 Unauthorized", ERROR), "HTTP 401 (Unauthorized)"),
            ("/nothing", answer("200 OK", ""), ""),
            ("/throttled", answer("429 Too Many Requests\r\nretry-after: 120", ""), "asks to be left alone for 120 s"),
            ("/json", answer("200 OK", "{\"items\":[]}"), "JSON"),
            ("/cut", answer("200 OK", "<rss><channel><title>x"), ""),
            ("/gone", answer("410 Gone", ""), "HTTP 410 (Gone)"),
        ];
        let mut answers: HashMap<String, Vec<u8>> =
            told.iter().map(|(path, bytes, _)| (format!("{path}?passkey=hidden"), bytes.clone())).collect();
        answers.insert("/empty".to_owned(), answer("200 OK", NOTHING_NEW));
        let sites = FileServer::start(answers).await;
        let server = TestServer::builder(db).env("SSRF_ALLOW_HOSTS", "127.0.0.1").start().await;
        let api = server.admin();
        let mut sentences = BTreeSet::new();
        for (path, _, says) in &told {
            let (feed, _) = follow(&api, &format!("{}?passkey=hidden", sites.url(path))).await;
            let reply = api.send("POST", &format!("/api/rss/feeds/{feed}/refresh"), Some(&json!({}))).await;
            assert_eq!(reply.status, 400, "{path}: {}", reply.text());
            let text = reply.json()["message"].as_str().expect("a sentence").to_owned();
            assert!(text.starts_with("Could not fetch feed: ") && text.contains(says), "{path}: {text}");
            assert!(!text.contains("hidden"), "{path}: {text}");
            assert!(sentences.insert(text.clone()), "{path}: the words of another one: {text}");
            let feeds = api.get("/api/rss/feeds").await;
            let shown = feeds.as_array().expect("a list").iter().find(|shown| shown["id"] == *feed).expect("it stays");
            assert_eq!((&shown["status"], &shown["failures"]), (&json!("error"), &json!(1)), "{path}: {shown}");
            assert!(text.ends_with(shown["lastError"].as_str().expect("a reason")), "{path}: {shown}");
            assert_eq!(shown["rules"].as_array().map(Vec::len), Some(1), "{path}: {shown}");
        }
        // A feed that has nothing to show is a feed.
        let (feed, _) = follow(&api, &sites.url("/empty")).await;
        let read = api.post(&format!("/api/rss/feeds/{feed}/refresh"), json!({})).await;
        assert_eq!(read, json!({ "newItems": 0, "downloaded": 0 }));
        server.end().await;
    }

    async fn a_pattern_that_cannot_end_is_a_candidate_that_failed(db: &TestDb) {
        // What would keep a backtracking engine busy for ever.
        let long = "a".repeat(3000);
        let sites = FileServer::start(HashMap::from([("/rss".to_owned(), feed(&[&long, "Harbor.Nine.S01E01.1080p"]))])).await;
        let server = TestServer::builder(db).env("SSRF_ALLOW_HOSTS", "127.0.0.1").start().await;
        let api = server.admin();
        let (feed, rule) = follow(&api, &sites.url("/rss")).await;
        let path = format!("/api/rss/rules/{rule}/match-candidates");
        let patterns = [
            ("regex", "^(a+)+z$", "regex"),
            ("regex", "(a|a)*z", "regex"),
            ("regex", "(?=harbor)", "a look ahead or behind"),
            ("regex", r"(a)\1", "a backreference"),
            ("regex", "((a{99}){99}){99}", "too large"),
            ("regex", "(", "no regular expression"),
            ("wildcard", "*a*a*a*a*a*a*a*a*a*a*b", "wildcard"),
            ("wildcard", "harbor*", ""),
        ];
        for (kind, pattern, _) in patterns {
            api.post(&path, json!({ "name": pattern, "matchType": kind, "pattern": pattern })).await;
        }
        let read = api.post(&format!("/api/rss/feeds/{feed}/refresh"), json!({})).await;
        assert_eq!(read["newItems"], 2, "{read}");
        let log = api.get(&format!("/api/rss/rules/{rule}/match-history")).await;
        let items = log["items"].as_array().expect("items");
        assert_eq!(items.len(), 2, "{log}");
        let matched = items.iter().find(|item| item["result"] == "matched").expect("the release");
        assert_eq!(matched["matchedCandidatePriority"], patterns.len(), "{matched}");
        for item in items {
            let candidates = item["evaluationTrace"]["candidates"].as_array().expect("a trace");
            for (candidate, (_, pattern, reason)) in candidates.iter().zip(patterns).take(patterns.len() - 1) {
                assert_eq!(candidate["result"], "failed", "{pattern}: {candidate}");
                let told = candidate["reason"].as_str().expect("a reason");
                assert!(told.contains(reason), "{pattern}: {told}");
            }
        }
        // The same, tried.
        let titles = json!({ "titles": [long], "candidate": { "name": "x", "matchType": "regex", "pattern": "^(a+)+z" } });
        let tried = api.post(&format!("/api/rss/rules/{rule}/test-match"), titles).await;
        assert_eq!(tried["results"][0]["result"], "failed", "{}", tried["results"][0]["reason"]);
        server.end().await;
    }

    async fn a_bad_row_of_a_bundle_costs_itself_alone(db: &TestDb) {
        let server = TestServer::builder(db).start().await;
        let api = server.admin();
        let rule = |name: &str, candidates: Value| json!({
            "name": name, "feed": { "name": "Main", "url": "https://feeds.test/rss" }, "candidates": candidates,
        });
        let good = json!({ "name": "any", "matchType": "wildcard", "pattern": "*" });
        let bundle = json!({ "kind": "some.rss-export", "version": 1, "rules": [
            rule("first", json!([good])),
            7,
            { "name": "without a feed" },
            rule("", json!([good])),
            rule("last", json!([{ "name": "odd", "matchType": "nonsense" }, good])),
        ]});
        let done = api.post("/api/rss/rules-import", bundle).await;
        assert_eq!((&done["rulesCreated"], &done["rulesSkipped"]), (&json!(2), &json!(3)), "{done}");
        assert_eq!((&done["candidatesCreated"], &done["candidatesSkipped"]), (&json!(2), &json!(1)), "{done}");
        let problems = done["problems"].as_array().expect("a list");
        let places: Vec<_> = problems.iter().map(|problem| (problem["row"].clone(), problem["candidate"].clone())).collect();
        assert_eq!(places, [(json!(1), Value::Null), (json!(2), Value::Null), (json!(3), Value::Null), (json!(4), json!(0))], "{done}");
        assert_eq!(problems[3]["reason"], "Invalid match type: nonsense");
        let rules = api.get("/api/rss/rules").await;
        let names: Vec<_> = rules.as_array().expect("a list").iter().map(|rule| rule["name"].clone()).collect();
        assert_eq!(names, ["first", "last"], "{rules}");
        server.end().await;
    }
}
