//! Tests of the routes.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, header};
use http_body_util::BodyExt;
use qm_db::{Db, db_test};
use qm_kernel::Ctx;
use qm_test_base::RoleTokens;
use qm_web::{Docs, WebConfig};
use serde_json::{Value, json};
use tower::ServiceExt;

use super::routes;
use crate::testing::{House, hash, torrent};

struct Site {
    house: House,
    router: Router,
}

impl Site {
    async fn new(db: &Db) -> Self {
        let house = House::new(db).await;
        house.in_zone("UTC").await;
        let config = WebConfig {
            throttle_limit: 0,
            docs: Docs::Hidden,
            ..WebConfig::default()
        };
        let state = routes().with_state(house.app.clone());
        let router = qm_web::finish(state, config, Arc::new(RoleTokens), Ctx::system());
        Self { house, router }
    }

    async fn ask(&self, role: &str, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let path = format!("/api/automation{path}");
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::AUTHORIZATION, format!("Bearer {role}"));
        let body = match body {
            Some(body) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                Body::from(body.to_string())
            }
            None => Body::empty(),
        };
        let response = self
            .router
            .clone()
            .oneshot(request.body(body).unwrap())
            .await
            .unwrap();
        let status = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    async fn admin(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        self.ask("ADMINISTRATOR", method, path, body).await
    }
}

db_test! {
    async fn who_may_not_manage_rules_sees_no_keys(db: Db) {
        let site = Site::new(&db).await;
        let actions = json!([{ "type": "webhook", "params": {
            "url": "https://jo:pa55word@hooks.test/in?token=t0k3n&x=1", "headers": { "X-Any": "h34der" }, "secret": "s3cret", "body": "kept",
            "bodyTemplate": "{\"token\": \"t3mplate\", \"text\": \"{name}\"}",
        } }]);
        let new = json!({ "name": "a", "trigger": "ratio.reached", "actions": actions, "isEnabled": false });
        let (status, made) = site.admin("POST", "/rules", Some(new)).await;
        assert_eq!((status, &made["actions"]), (201, &actions), "{made}");
        let (_, seen) = site.ask("READ_ONLY", "GET", "/rules", None).await;
        let text = seen.to_string();
        for secret in ["pa55word", "t0k3n", "h34der", "s3cret", "t3mplate"] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
        assert!(text.contains("@hooks.test/in") && text.contains("X-Any") && text.contains("kept"), "{text}");
        assert!(text.contains("{name}"), "the rest of the template stays: {text}");
        let (_, whole) = site.ask("POWER_USER", "GET", "/rules", None).await;
        assert_eq!(whole[0]["actions"], actions);
    }

    async fn rules_are_kept_as_they_come(db: Db) {
        let site = Site::new(&db).await;
        let odd = json!([{ "field": "ratio", "op": "gte", "value": 2, "note": [1.5] }, "nonsense", null]);
        let new = json!({
            "name": "Stop at 2.0", "trigger": "ratio.reached", "conditions": odd, "actions": [{ "type": "stop" }], "priority": -3,
        });
        let (status, rule) = site.admin("POST", "/rules", Some(new)).await;
        assert_eq!(status, 201, "{rule}");
        assert_eq!(rule, json!({
            "id": rule["id"], "name": "Stop at 2.0", "description": null, "trigger": "ratio.reached", "conditions": odd,
            "actions": [{ "type": "stop" }], "isEnabled": true, "priority": -3, "author": "u", "problem": null,
            "warnings": [
                "conditions[1] is never true: it is no object", "conditions[2] is never true: it is no object",
                "Unknown action type: stop",
            ],
            "createdAt": "2031-03-30T09:15:00.000Z", "updatedAt": "2031-03-30T09:15:00.000Z",
        }));
        let least = json!({ "name": "b", "trigger": "whatever it is", "description": "text" });
        let (status, second) = site.admin("POST", "/rules", Some(least)).await;
        assert_eq!((status, &second["conditions"], &second["actions"]), (201, &json!([]), &json!([])));
        let path = format!("/rules/{}", second["id"].as_str().unwrap());
        let (status, changed) = site.admin("PATCH", &path, Some(json!({ "isEnabled": false }))).await;
        assert_eq!((status, &changed["isEnabled"], &changed["description"]), (200, &json!(false), &json!("text")));
        let (_, changed) = site.admin("PATCH", &path, Some(json!({ "description": null, "priority": 9 }))).await;
        assert_eq!((&changed["description"], &changed["name"]), (&Value::Null, &json!("b")));
        let (_, listed) = site.ask("READ_ONLY", "GET", "/rules", None).await;
        assert_eq!(listed, json!([changed, rule]), "by priority");
        let (status, deleted) = site.admin("DELETE", &path, None).await;
        assert_eq!((status, deleted), (200, changed));
        assert_eq!(site.admin("DELETE", &path, None).await.0, 404);
        let (_, logs) = site.ask("READ_ONLY", "GET", "/rules/nobody/logs?pageSize=0", None).await;
        assert_eq!(logs, json!({ "items": [], "total": 0, "page": 1, "pageSize": 1 }));
        let mut tx = db.begin_read().await.unwrap();
        let audited = qm_platform::AuditTrail::newest(&mut tx, 10).await.unwrap();
        let actions: Vec<&str> = audited.iter().map(|row| row.action.as_str()).collect();
        for (action, count) in [("automation.rules.create", 2), ("automation.rules.update", 2), ("automation.rules.delete", 1)] {
            assert_eq!(actions.iter().filter(|other| **other == action).count(), count, "{actions:?}");
        }
    }

    async fn what_of_a_rule_does_nothing_is_told(db: Db) {
        let site = Site::new(&db).await;
        for (trigger, action, told) in [
            ("torrent.completed", json!({ "type": "pause", "params": { "tag": "x" } }), json!(null)),
            ("torrent.completed", json!({ "type": "pause" }), json!(null)),
            ("torrent.completd", json!({ "type": "mark" }), json!([
                "Nothing fires the trigger \"torrent.completd\"; the catalogue lists those there are",
            ])),
            ("torrent.completed", json!({ "type": "nothing" }), json!(["Unknown action type: nothing"])),
            ("torrent.completed", json!({ "type": "pause", "params": { "label": "x" } }), json!([
                "The action \"pause\" has no parameter \"label\": it takes do, tag",
            ])),
            ("rss.show.ended", json!({ "type": "pause" }), json!(["Action \"pause\" is not valid for an event trigger"])),
        ] {
            let new = json!({ "name": "a", "trigger": trigger, "actions": [action] });
            let (status, made) = site.admin("POST", "/rules", Some(new)).await;
            assert_eq!((status, &made["warnings"]), (201, &told), "{made}");
        }
    }

    async fn what_is_no_rule_is_refused(db: Db) {
        let site = Site::new(&db).await;
        let rule = |change: Value| {
            let mut rule = json!({ "name": "a", "trigger": "t" });
            rule.as_object_mut().unwrap().extend(change.as_object().cloned().unwrap());
            rule
        };
        let deep = json!("x".repeat(70_000));
        for (method, path, body, status, message) in [
            ("POST", "/rules", json!({}), 400, json!(["name must be a string", "trigger must be a string"])),
            ("POST", "/rules", rule(json!({ "conditions": {} })), 400, json!(["conditions must be an array"])),
            ("POST", "/rules", rule(json!({ "actions": "stop" })), 400, json!(["actions must be an array"])),
            ("POST", "/rules", rule(json!({ "isEnabled": "maybe" })), 400, json!(["isEnabled must be a boolean value"])),
            ("POST", "/rules", rule(json!({ "priority": 1.5 })), 400, json!(["priority must be an integer number"])),
            ("POST", "/rules", rule(json!({ "x": 1 })), 400, json!(["property x should not exist"])),
            ("POST", "/rules", rule(json!({ "conditions": vec![1; 101] })), 400,
                json!(["conditions must contain no more than 100 elements"])),
            ("POST", "/rules", rule(json!({ "actions": [deep] })), 400, json!(["actions must take no more than 65536 bytes"])),
            ("PATCH", "/rules/x", json!({ "name": {} }), 400, json!(["name must be a string"])),
            ("PATCH", "/rules/x", json!({}), 404, json!("Automation rule not found")),
            ("DELETE", "/rules/x", json!({}), 404, json!("Automation rule not found")),
        ] {
            let (found, answer) = site.admin(method, path, Some(body)).await;
            assert_eq!((found, &answer["message"]), (status, &message), "{method} {path}");
        }
        let (status, answer) = site.ask("READ_ONLY", "POST", "/rules", Some(rule(json!({})))).await;
        assert_eq!((status, &answer["message"]), (403, &json!("Missing permission(s): automation.manage")));
        assert_eq!(site.ask("READ_ONLY", "POST", "/rules/preview", Some(rule(json!({})))).await.0, 403);
        assert_eq!(site.ask("USER", "GET", "/rules", None).await.0, 403);
    }

    async fn hours_without_data_are_a_number_of_a_year_at_most_and_needed(db: Db) {
        let site = Site::new(&db).await;
        let rule = |hours: Value| {
            Some(json!({ "name": "a", "trigger": "torrent.stalled", "stalledHours": hours, "actions": [{ "type": "mark", "params": { "word": "one" } }] }))
        };
        for wrong in [json!(0), json!(8785), json!(1.5), json!("many")] {
            let (status, answer) = site.admin("POST", "/rules", rule(wrong.clone())).await;
            assert_eq!((status, answer["message"].to_string().contains("stalledHours")), (400, true), "{wrong}: {answer}");
        }
        let (status, answer) = site.admin("POST", "/rules", rule(Value::Null)).await;
        assert_eq!((status, &answer["code"]), (400, &json!("bad_request.stalled_hours")), "{answer}");
        let (status, stored) = site.admin("POST", "/rules", rule(json!(8784))).await;
        assert_eq!((status, &stored["stalledHours"]), (201, &json!(8784)), "{stored}");
        let path = format!("/rules/{}", stored["id"].as_str().unwrap());
        for (change, code) in [
            (json!({ "stalledHours": null }), "bad_request.stalled_hours"),
            (json!({ "actions": [{ "type": "mark", "params": { "word": "three" } }] }), "bad_request.parameter"),
        ] {
            let (status, answer) = site.admin("PATCH", &path, Some(change)).await;
            assert_eq!((status, &answer["code"]), (400, &json!(code)), "{answer}");
        }
        // Of another trigger they say nothing.
        let (status, changed) = site.admin("PATCH", &path, Some(json!({ "trigger": "torrent.added", "stalledHours": null }))).await;
        assert_eq!((status, changed.get("stalledHours")), (200, None), "{changed}");
    }

    async fn a_placeholder_that_nobody_fills_is_refused_when_the_rule_is_stored(db: Db) {
        let site = Site::new(&db).await;
        let actions = |tag: &str| json!([{ "type": "mark", "params": { "tag": "{x}" } }, { "type": "pause", "params": { "tag": tag, "do": "{x}" } }]);
        let rule = |tag: &str| json!({ "name": "moved", "trigger": "torrent.completed", "actions": actions(tag) });
        let (status, answer) = site.admin("POST", "/rules", Some(rule("/dl/{label}/{lable}"))).await;
        assert_eq!((status, &answer["code"]), (400, &json!("bad_request.placeholder")), "{answer}");
        let why = "The parameter \"tag\" of action \"pause\": There is no placeholder {lable}: there are {label}, {name}, {tracker}, {hash}, \
            {category}, {tag}, {trackerHost}, {year}";
        assert_eq!(answer["message"], why);
        let (status, stored) = site.admin("POST", "/rules", Some(rule("/dl/{label}"))).await;
        assert_eq!(status, 201, "{stored}");
        let path = format!("/rules/{}", stored["id"].as_str().unwrap());
        let change = |tag: &str| Some(json!({ "actions": actions(tag) }));
        assert_eq!(site.admin("PATCH", &path, change("/dl/{}")).await.0, 400);
        assert_eq!(site.admin("PATCH", &path, change("/dl/{name}")).await.0, 200);
    }

    async fn all_rules_together_hold_so_many_patterns(db: Db) {
        let site = Site::new(&db).await;
        let rule = |patterns: usize| {
            let condition = json!({ "field": "name", "op": "matches", "value": "a" });
            json!({ "name": "r", "trigger": "torrent.completed", "conditions": vec![condition; patterns], "actions": [] })
        };
        let mut last = Value::Null;
        for _ in 0..10 {
            let (status, made) = site.admin("POST", "/rules", Some(rule(100))).await;
            assert_eq!(status, 201, "{made}");
            last = made;
        }
        let (status, refused) = site.admin("POST", "/rules", Some(rule(1))).await;
        assert_eq!((status, &refused["code"]), (409, &json!("conflict.too_many_patterns")), "{refused}");
        assert_eq!(site.admin("POST", "/rules", Some(rule(0))).await.0, 201);
        let path = format!("/rules/{}", last["id"].as_str().unwrap());
        let fewer = json!({ "conditions": rule(99)["conditions"] });
        assert_eq!(site.admin("PATCH", &path, Some(fewer)).await.0, 200);
        assert_eq!(site.admin("POST", "/rules", Some(rule(1))).await.0, 201);
        let more = json!({ "conditions": rule(100)["conditions"] });
        let (status, refused) = site.admin("PATCH", &path, Some(more)).await;
        assert_eq!((status, &refused["code"]), (409, &json!("conflict.too_many_patterns")), "{refused}");
    }

    async fn a_time_table_is_checked_when_it_is_stored(db: Db) {
        let site = Site::new(&db).await;
        let rule = |schedule: Value| json!({ "name": "a", "trigger": "schedule", "schedule": schedule });
        let (status, made) = site.admin("POST", "/rules", Some(rule(json!("*/15  * * * *")))).await;
        assert_eq!((status, &made["schedule"], &made["nextRunAt"]),
            (201, &json!("*/15 * * * *"), &json!("2031-03-30T09:30:00.000Z")), "{made}");
        let path = format!("/rules/{}", made["id"].as_str().unwrap());
        for (method, path, body, message) in [
            ("POST", "/rules", rule(json!("61 * * * *")),
                json!(["schedule: `61` is no minute: give numbers from 0 to 59, `a-b`, `*` or `*/n`"])),
            ("POST", "/rules/preview", rule(json!("0 0 30 2 *")), json!(["schedule: `0 0 30 2 *` is never due: there is no such day"])),
            ("POST", "/rules", rule(json!({})),
                json!(["schedule must be shorter than or equal to 200 characters", "schedule must be a string"])),
            ("PATCH", path.as_str(), json!({ "schedule": "daily" }), json!(["schedule: `daily` is no schedule: give minute, hour, \
                day, month and day of the week, e.g. `30 4 * * 1-5`"])),
            ("POST", "/rules", rule(Value::Null), json!("schedule is missing: a rule with the trigger `schedule` needs minute, hour, \
                day, month and day of the week, e.g. `30 4 * * 1-5`")),
            ("PATCH", path.as_str(), json!({ "schedule": null }), json!("schedule is missing: a rule with the trigger `schedule` \
                needs minute, hour, day, month and day of the week, e.g. `30 4 * * 1-5`")),
        ] {
            let (status, answer) = site.admin(method, path, Some(body)).await;
            assert_eq!((status, &answer["message"]), (400, &message), "{method} {path}");
        }
        let (status, changed) = site.admin("PATCH", &path, Some(json!({ "schedule": "0 9 * * *" }))).await;
        assert_eq!((status, &changed["nextRunAt"]), (200, &json!("2031-03-31T09:00:00.000Z")));
        let (_, changed) = site.admin("PATCH", &path, Some(json!({ "isEnabled": false }))).await;
        assert_eq!((&changed["schedule"], changed.get("nextRunAt")), (&json!("0 9 * * *"), None));
        let (status, changed) = site.admin("PATCH", &path, Some(json!({ "trigger": "t", "schedule": null }))).await;
        assert_eq!((status, changed.get("schedule")), (200, None), "{changed}");
        let each = json!({ "name": "a", "trigger": "schedule", "schedule": "0 1 * * *", "actions": [{ "type": "pause" }] });
        site.house.lists.put(torrent(1));
        let (_, tried) = site.admin("POST", "/rules/preview", Some(each)).await;
        assert_eq!((&tried["torrents"][0]["standing"], &tried["actions"][0]["problem"]), (&json!("waits_for_time"), &Value::Null));
    }

    async fn the_catalogue_tells_what_there_is(db: Db) {
        let site = Site::new(&db).await;
        let (status, catalogue) = site.ask("READ_ONLY", "GET", "/catalog", None).await;
        assert_eq!((status, catalogue["triggers"].as_array().unwrap().len()), (200, 20));
        assert_eq!(catalogue["triggers"][0], json!({ "id": "torrent.completed", "label": "Download completes", "category": "torrent" }));
        assert_eq!(catalogue["actions"][2], json!({
            "id": "pause", "label": "The pause", "category": "torrent", "plugin": "fake", "missing": false,
            "occasions": ["torrent"], "paramsSchema": { "type": "object", "properties": { "do": {}, "tag": { "x-placeholders": true } } }, "idempotent": true,
            "permissions": ["torrents.pause"],
        }));
    }

    async fn a_rule_is_tried_and_explained(db: Db) {
        let site = Site::new(&db).await;
        let mut unfinished = torrent(3);
        unfinished.progress = 0.5;
        site.house.lists.put_all(vec![torrent(1), torrent(2), unfinished]);
        let rule = json!({
            "name": "try", "trigger": "torrent.completed",
            "conditions": [{ "field": "size", "op": "gte", "value": "2" }, { "field": "name", "op": "matches", "value": "^TORRENT" }],
            "actions": [{ "type": "pause" }, { "type": "nonsense" }],
        });
        let (status, tried) = site.admin("POST", "/rules/preview", Some(rule.clone())).await;
        assert_eq!(status, 201, "{tried}");
        assert_eq!(tried, json!({
            "isKnownTrigger": true, "matched": 2, "wouldFire": 1, "judged": 3, "total": 3,
            "torrents": [
                { "engineId": "e", "hash": hash(2), "name": "torrent 2", "wouldFire": true, "standing": "fires" },
                { "engineId": "e", "hash": hash(3), "name": "torrent 3", "wouldFire": false, "standing": "incomplete" },
            ],
            "actions": [
                { "type": "pause", "label": "The pause", "plugin": "fake", "problem": null },
                { "type": "nonsense", "label": null, "plugin": null, "problem": "Unknown action type: nonsense" },
            ],
        }));
        assert_eq!(site.ask("READ_ONLY", "GET", "/rules", None).await.1, json!([]), "nothing is stored");
        assert!(site.house.actions.ran().is_empty(), "and nothing runs");
        let event = json!({ "name": "e", "trigger": "rss.show.ended", "actions": [{ "type": "pause" }] });
        let (_, tried) = site.admin("POST", "/rules/preview", Some(event)).await;
        assert_eq!((&tried["torrents"], &tried["actions"][0]["problem"]),
            (&json!([]), &json!("Action \"pause\" is not valid for an event trigger")));
        let (_, stored) = site.admin("POST", "/rules", Some(rule)).await;
        let explain = |hash: String| format!("/rules/{}/explain?hash={hash}", stored["id"].as_str().unwrap());
        let (status, explained) = site.ask("READ_ONLY", "GET", &explain(hash(1).to_uppercase()), None).await;
        assert_eq!(status, 200, "{explained}");
        assert_eq!((&explained["holds"], &explained["standing"]), (&json!(false), &Value::Null));
        assert_eq!(explained["conditions"][0], json!({
            "condition": { "field": "size", "op": "gte", "value": "2" }, "seen": 1, "isMissing": false, "comparedAs": "number",
            "left": "1", "right": "2", "holds": false, "reason": null,
        }));
        assert_eq!(explained["conditions"][1]["comparedAs"], "pattern");
        let group = json!({ "any": [{ "field": "size", "op": "gt", "value": 5 }, { "field": "name", "op": "contains", "value": "2" }] });
        let grouped = json!({ "name": "either", "trigger": "torrent.completed", "conditions": [group] });
        let (_, grouped) = site.admin("POST", "/rules", Some(grouped)).await;
        let path = format!("/rules/{}/explain?hash={}", grouped["id"].as_str().unwrap(), hash(2));
        let (_, either) = site.ask("READ_ONLY", "GET", &path, None).await;
        let shown = &either["conditions"][0];
        assert_eq!((&shown["comparedAs"], &shown["left"], &shown["right"], &shown["holds"]),
            (&json!("any"), &json!("1"), &json!("2"), &json!(true)), "{either}");
        assert_eq!((&shown["condition"], &shown["members"][0]["holds"], &shown["members"][1]["condition"]),
            (&group, &json!(false), &group["any"][1]));
        let broken = json!({ "name": "b", "trigger": "torrent.completed",
            "conditions": [{ "any": [{ "field": "name", "op": "matches", "value": "(" }, { "any": [] }] }] });
        let (_, broken) = site.admin("POST", "/rules", Some(broken)).await;
        assert_eq!(broken["warnings"].as_array().map(Vec::len), Some(2), "{broken}");
        assert!(broken["warnings"][1].as_str().unwrap().starts_with("conditions[0].any[1] is never true:"), "{broken}");
        let leaf = json!({ "field": "size", "op": "eq", "value": 1 });
        let many = json!({ "name": "m", "trigger": "t", "conditions": [{ "any": vec![leaf; 101] }] });
        let (status, refused) = site.admin("POST", "/rules", Some(many)).await;
        assert_eq!((status, &refused["message"]), (400, &json!(["conditions must contain no more than 100 conditions, those in groups included"])));
        let (_, explained) = site.ask("READ_ONLY", "GET", &explain(hash(2)), None).await;
        assert_eq!((&explained["holds"], &explained["standing"]), (&json!(true), &json!("fires")));
        assert_eq!(site.admin("GET", &explain(hash(9)), None).await, (404, json!({
            "statusCode": 404, "message": "Torrent not found", "error": "Not Found", "code": "not_found.torrent",
        })));
        assert_eq!(site.admin("GET", &format!("/rules/x/explain?hash={}", hash(1)), None).await.0, 404);
        assert_eq!(site.admin("GET", &explain(String::new()), None).await.0, 400);
        assert_eq!(site.admin("GET", &format!("{}&engineId=other", explain(hash(2))), None).await.0, 404);
    }
}
