//! Every operation of the served document, attacked: wrong bodies, unknown properties, oversized bodies, ids nobody has,
//! texts no database takes. What an attack needs is derived from the document; [`TABLE`] holds only what cannot be: a
//! body without a mistake, and the exceptions with their reasons. A route without a row fails.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::StreamExt as _;
use qm_testkit::http::Reply;
use qm_testkit::{Api, Pace, TestDb, TestServer, both_databases};
use serde_json::{Value, json};

use crate::document::{Kind, Operation, Property, fresh, operations};
use crate::table::{Row, TABLE, Unknown};

/// A server whose only file root is its own, with an engine that has a torrent.
struct Target {
    server: TestServer,
    root: tempfile::TempDir,
}

impl Target {
    /// The row's good body, about our root.
    fn good(&self, row: &Row) -> Option<Value> {
        let text = row
            .body?
            .replace("{root}", &self.root.path().display().to_string());
        let body: Value =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", row.route));
        assert!(body.is_object(), "{}", row.route);
        Some(body)
    }
}

async fn target(db: &TestDb) -> Target {
    let root = tempfile::tempdir().expect("a temporary directory");
    // A hundred wrong passwords of one account, which are no guesses here.
    let guesses = Pace {
        first: Duration::from_millis(1),
        longest: Duration::from_millis(20),
        ..Pace::STANDARD
    };
    let (server, ..) = TestServer::builder(db)
        .guesses(guesses)
        .env("FILE_MANAGER_ROOTS", root.path().display().to_string())
        .start_with_a_torrent()
        .await;
    Target { server, root }
}

/// The operations with their rows; that each has one is a test of its own.
async fn rows(api: &Api) -> Vec<(Operation, &'static Row)> {
    let with_row = |operation: Operation| row(&operation).map(|row| (operation, row));
    operations(api).await.into_iter().filter_map(with_row).collect()
}

fn row(operation: &Operation) -> Option<&'static Row> {
    let name = operation.name();
    TABLE.iter().find(|row| row.route == name)
}

async fn send(api: &Api, operation: &Operation, path: &str, body: Option<String>) -> Reply {
    let mut request = fresh(api, &operation.method, path);
    if let Some(body) = body {
        request = request.body("application/json", body);
    }
    request
        .send()
        .await
        .unwrap_or_else(|error| panic!("{}: {error}", operation.name()))
}

/// Findings of an attack; all of them are reported at the end.
#[derive(Default)]
struct Findings {
    checked: usize,
    complaints: Vec<String>,
}

impl Findings {
    /// Keeps the value, or the complaint with the attack it is about.
    fn check<T>(&mut self, attack: &str, outcome: Result<T, String>) -> Option<T> {
        self.checked += 1;
        outcome
            .map_err(|complaint| self.complaints.push(format!("{attack}: {complaint}")))
            .ok()
    }

    fn expect(&mut self, attack: &str, holds: bool, reply: &Reply) {
        let complaint = || format!("{} {}", reply.status, reply.text());
        self.check(attack, holds.then_some(()).ok_or_else(complaint));
    }

    fn none(self) {
        assert!(self.checked > 30, "only {} answers were looked at", self.checked);
        let complaints = &self.complaints;
        assert!(
            complaints.is_empty(),
            "{} of {} answers are not as they should be:\n{}",
            complaints.len(),
            self.checked,
            complaints.join("\n")
        );
    }
}

/// The body of a failure: a text with the reason phrase, and nothing else.
fn check_failure_body(reply: &Reply, status: u16, phrase: &str) -> Result<(), String> {
    let body = body_of(reply, status)?;
    let message = body["message"].as_str().filter(|text| !text.is_empty());
    let wanted = json!({ "message": message, "error": phrase, "statusCode": status, "code": body["code"] });
    if message.is_none() || !body["code"].is_string() || body != wanted {
        return Err(format!("the body is {body}"));
    }
    Ok(())
}

/// The broken rules of a body, and nothing else.
fn broken(reply: &Reply) -> Result<Vec<String>, String> {
    let body = body_of(reply, 400)?;
    let rules: Vec<String> = body["message"]
        .as_array()
        .and_then(|list| list.iter().map(|rule| rule.as_str().map(str::to_owned)).collect())
        .ok_or_else(|| format!("the body is {body}"))?;
    let wanted =
        json!({ "message": rules, "error": "Bad Request", "statusCode": 400, "code": "bad_request.rules" });
    if body != wanted || rules.is_empty() {
        return Err(format!("the body is {body}"));
    }
    Ok(rules)
}

/// The JSON of an answer that has this status and the headers every answer has.
fn body_of(reply: &Reply, status: u16) -> Result<Value, String> {
    let labelled = reply.header("content-type") == Some("application/json; charset=utf-8")
        && reply.header("x-request-id").is_some();
    let body = serde_json::from_slice(&reply.body).ok();
    match body.filter(|_| labelled && reply.status == status) {
        Some(body) => Ok(body),
        None => Err(format!(
            "{} {:?} {}",
            reply.status,
            reply.header("content-type"),
            reply.text()
        )),
    }
}

/// A value that is not of the declared type, and the rule it breaks.
fn mistaken(property: &Property) -> Option<(Value, String)> {
    let (value, rule) = match property.kind {
        Kind::Text => (json!({}), "must be a string"),
        Kind::Whole => (json!("many"), "must be an integer number"),
        Kind::Number => (
            json!("many"),
            "must be a number conforming to the specified constraints",
        ),
        Kind::Flag => (json!("perhaps"), "must be a boolean value"),
        Kind::List => (json!("one"), "must be an array"),
        Kind::Object => (json!(7), "must be an object"),
        Kind::Free => return None,
    };
    Some((value, format!("{} {rule}", property.name)))
}

both_databases! {
    async fn every_route_has_a_row_and_every_row_a_route(db: &TestDb) {
        let target = target(db).await;
        let operations = operations(&target.server.anonymous()).await;
        let served: BTreeSet<String> = operations.iter().map(Operation::name).collect();
        let rows: BTreeSet<String> = TABLE.iter().map(|row| row.route.to_owned()).collect();
        assert_eq!(rows.len(), TABLE.len(), "a route has one row");
        let missing: Vec<_> = served.difference(&rows).collect();
        let gone: Vec<_> = rows.difference(&served).collect();
        assert!(missing.is_empty() && gone.is_empty(), "without a row: {missing:#?}\nwithout a route: {gone:#?}");
        for operation in &operations {
            let row = row(operation).expect("every route has one");
            assert_eq!(operation.body.is_some(), row.body.is_some(), "{}: a body where one is taken", row.route);
            let reasons = [row.loose, row.unknown.and_then(|unknown| unknown.reason)];
            assert!(reasons.into_iter().flatten().all(|reason| reason.len() > 10), "{}: an exception has a reason", row.route);
            let names: BTreeSet<&str> = operation.body.iter().flatten().map(|property| property.name.as_str()).collect();
            let body = target.good(row);
            let used = body.iter().filter_map(Value::as_object).flat_map(serde_json::Map::keys);
            for name in used.filter(|_| row.loose.is_none()) {
                assert!(names.contains(name.as_str()), "{}: {name} is not in the document", row.route);
            }
        }
    }

    async fn what_is_no_object_is_refused(db: &TestDb) {
        let target = target(db).await;
        let api = target.server.admin();
        let mut findings = Findings::default();
        for (operation, row) in rows(&api).await.iter().filter(|(operation, _)| operation.body.is_some()) {
            let path = operation.target();
            for body in ["{", "{\"a\":", "[]", "[{}]", "\"text\"", "7", "null", "true", "{}{}", "\u{0}", "{\"a\":\"\\ud800\"}"] {
                let reply = send(&api, operation, &path, Some(body.to_owned())).await;
                findings.check(&format!("{} with {body:?}", row.route), check_failure_body(&reply, 400, "Bad Request"));
            }
        }
        findings.none();
    }

    async fn a_property_of_the_wrong_type_is_named(db: &TestDb) {
        let target = target(db).await;
        let api = target.server.admin();
        let mut findings = Findings::default();
        for (operation, row) in rows(&api).await {
            for property in operation.body.iter().flatten() {
                let Some((value, rule)) = mistaken(property) else { continue };
                if row.lenient.contains(&property.name.as_str()) {
                    continue;
                }
                let body = json!({ &property.name: value });
                let attack = format!("{} with {body}", row.route);
                let reply = send(&api, &operation, &operation.target(), Some(body.to_string())).await;
                let rules = findings.check(&attack, broken(&reply)).unwrap_or_else(|| vec![rule.clone()]);
                findings.expect(&attack, rules.contains(&rule), &reply);
            }
        }
        findings.none();
    }

    async fn an_unknown_property_is_refused_by_name(db: &TestDb) {
        let target = target(db).await;
        let api = target.server.admin();
        let mut findings = Findings::default();
        for (operation, row) in rows(&api).await {
            let Some(mut body) = target.good(row).filter(|_| row.loose.is_none()) else { continue };
            body["noSuchProperty"] = json!(1);
            let reply = send(&api, &operation, &operation.target(), Some(body.to_string())).await;
            if let Some(rules) = findings.check(row.route, broken(&reply)) {
                findings.expect(row.route, rules == ["property noSuchProperty should not exist"], &reply);
            }
            let reply = send(&api, &operation, &operation.target(), Some("{\"__proto__\":{\"a\":1}}".to_owned())).await;
            if let Some(rules) = findings.check(row.route, broken(&reply)) {
                findings.expect(row.route, rules[0] == "property __proto__ should not exist", &reply);
            }
        }
        findings.none();
    }

    async fn an_oversized_body_is_a_413(db: &TestDb) {
        let target = target(db).await;
        let api = target.server.admin();
        let of = |size: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(size));
        // A stranger's connection is closed where a caller's with a token is read to the end of its body.
        let (small, large) = (of(16 * 1024), of(25 * 1024 * 1024));
        let wanted = json!({ "statusCode": 413, "message": "The uploaded file is too large for this endpoint.", "code": "payload_too_large" });
        let mut findings = Findings::default();
        for (operation, row) in rows(&api).await.iter().filter(|(operation, _)| operation.body.is_some()) {
            let body = if operation.takes_token() { &large } else { &small };
            let reply = send(&api, operation, &operation.target(), Some(body.clone())).await;
            if let Some(body) = findings.check(row.route, body_of(&reply, 413)) {
                findings.expect(row.route, body == wanted, &reply);
            }
        }
        findings.none();
    }

    async fn an_id_nobody_has_is_a_404(db: &TestDb) {
        let target = target(db).await;
        let api = target.server.admin();
        let mut findings = Findings::default();
        for (operation, row) in rows(&api).await {
            let unknown = match (operation.has_parameter(), row.unknown) {
                (false, None) => continue,
                (_, Some(unknown)) => unknown,
                (true, None) => Unknown { status: 404, reason: None },
            };
            let body = target.good(row).map(|body| body.to_string());
            let reply = send(&api, &operation, &operation.target(), body).await;
            if unknown.status == 404 {
                findings.check(row.route, check_failure_body(&reply, 404, "Not Found"));
            } else {
                findings.expect(row.route, reply.status == unknown.status, &reply);
            }
        }
        findings.none();
    }

    /// Ids in a path are looked up, never trusted: whatever the id is, the answer is the caller's fault and never ours.
    async fn hostile_ids_and_queries_are_no_fault_of_ours(db: &TestDb) {
        let target = target(db).await;
        let api = target.server.admin();
        let long = "x".repeat(3000);
        let hostile = ["%00", "%ff%fe", "..%2f..%2fetc%2fpasswd", "%0d%0aX-Evil:1", "'%20OR%201=1--", "%F0%9F%92%A9", "-1", "99999999999999999999", &long];
        let mut findings = Findings::default();
        for (operation, row) in rows(&api).await {
            let body = target.good(row).map(|body| body.to_string());
            let parameters = if operation.has_parameter() { &hostile[..] } else { &[] };
            for value in parameters {
                let path = operation.with(|_| (*value).to_owned());
                let reply = send(&api, &operation, &path, body.clone()).await;
                let good = reply.status < 500 && reply.header("x-evil").is_none();
                findings.expect(&format!("{} with {value}", row.route), good, &reply);
            }
            for (parameter, value) in operation.query.iter().flat_map(|name| hostile.iter().map(move |value| (name, value))) {
                let path = format!("{}?{parameter}={value}", operation.target());
                let reply = send(&api, &operation, &path, body.clone()).await;
                let good = reply.status != 500 && reply.header("x-evil").is_none();
                findings.expect(&format!("{} with {parameter}={value}", row.route), good, &reply);
            }
        }
        findings.none();
    }

    /// A good body with one text replaced by something that a column, an index or a parser may not like.
    async fn hostile_texts_are_no_fault_of_ours(db: &TestDb) {
        let target = target(db).await;
        let api = target.server.admin();
        // Does not compress: an index entry of it is too long for PostgreSQL.
        let mut state = 1_u64;
        let noise: String = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(b'!' + (state >> 33) as u8 % 90)
        })
        .take(30_000)
        .collect();
        let hostile = ["", " ", "a\u{0}b", "\u{202e}\u{feff}", "'; DROP TABLE users; --", "../../etc/passwd", "\r\nX-Evil: 1", "\u{1f4a9}", "-0", &noise];
        let (api, target, hostile) = (&api, &target, &hostile);
        // What one operation waits for (a client, an address that nobody answers at) is nothing to the others.
        let attacks = rows(api).await.into_iter().filter_map(|(operation, row)| Some((operation, row, target.good(row)?)));
        let attacked = futures_util::stream::iter(attacks).map(|(operation, row, body)| async move {
            let mut replies = Vec::new();
            let properties = operation.body.iter().flatten();
            for property in properties.filter(|property| matches!(property.kind, Kind::Text | Kind::List | Kind::Free)) {
                for text in hostile {
                    let mut body = body.clone();
                    body[&property.name] = if property.kind == Kind::List { json!([text]) } else { json!(text) };
                    let reply = send(api, &operation, &operation.target(), Some(body.to_string())).await;
                    let shown: String = text.chars().take(20).collect();
                    replies.push((format!("{} with {} = {shown:?}", row.route, property.name), reply));
                }
            }
            replies
        });
        let replies: Vec<_> = attacked.buffer_unordered(6).collect().await;
        let mut findings = Findings::default();
        for (attack, reply) in replies.iter().flatten() {
            findings.expect(attack, reply.status != 500, reply);
        }
        findings.none();
        assert_eq!(target.server.anonymous().send("GET", "/api/system/ready", None).await.json()["status"], json!("ok"));
    }
}
