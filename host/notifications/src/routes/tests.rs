//! Tests of the routes. Callers are the user `u`.

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
use crate::testing::{CATALOGUE, House};

struct Site {
    house: House,
    router: Router,
}

impl Site {
    async fn new(db: &Db) -> Self {
        let house = House::new(db).await;
        house.user("u", &["torrents.view"]).await;
        let config = WebConfig {
            throttle_limit: 0,
            docs: Docs::Hidden,
            ..WebConfig::default()
        };
        let state = routes().with_state(house.app.clone());
        let router = qm_web::finish(state, config, Arc::new(RoleTokens), Ctx::system());
        Self { house, router }
    }

    async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("/api/account/notifications{path}"))
            .header(header::AUTHORIZATION, "Bearer READ_ONLY");
        let body = match body {
            Some(body) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                Body::from(body.to_string())
            }
            None => Body::empty(),
        };
        let request = request.body(body).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&bytes).unwrap_or_default())
    }
}

db_test! {
    async fn events_and_preferences_have_the_shapes_that_clients_know(db: Db) {
        let site = Site::new(&db).await;
        let (status, events) = site.ask("GET", "/events", None).await;
        assert_eq!((status, events["events"].as_array().unwrap().len()), (200, CATALOGUE.len()));
        let completed = json!({
            "key": "torrent.completed", "category": "downloads", "severity": "success",
            "titleKey": "events.torrent.completed.title", "descriptionKey": "events.torrent.completed.description",
            "defaultInApp": true, "recipientStrategy": "resource_owner", "requiredPermission": "torrents.view",
            "presentationBuilder": "torrent",
        });
        assert_eq!(events["events"][3], completed);
        assert!(events["events"][10].get("requiredPermission").is_none());
        let (status, rows) = site.ask("GET", "/preferences", None).await;
        assert_eq!((status, &rows["rows"][3]), (200, &json!({
            "definition": completed, "customized": false,
            "preference": {
                "eventKey": "torrent.completed", "enabled": true, "inAppEnabled": true, "emailEnabled": false,
                "chatAppAEnabled": false, "chatAppBEnabled": false, "otherChannels": [],
            },
        })));
        let patch = json!({ "chatAppAEnabled": true, "otherChannels": ["push"] });
        let (status, preference) = site.ask("PUT", "/preferences/torrent.completed", Some(patch)).await;
        assert_eq!((status, preference), (200, json!({
            "eventKey": "torrent.completed", "enabled": true, "inAppEnabled": true, "emailEnabled": false,
            "chatAppAEnabled": true, "chatAppBEnabled": false, "otherChannels": ["push"],
        })));
        let bulk = json!({ "eventKeys": ["torrent.completed", "x"], "patch": { "enabled": false } });
        let (status, changed) = site.ask("POST", "/preferences/bulk", Some(bulk)).await;
        assert_eq!((status, changed), (201, json!({ "updated": 1, "skipped": ["x"] })));
        let none = json!({ "eventKeys": [], "patch": {} });
        assert_eq!(site.ask("POST", "/preferences/bulk", Some(none)).await, (201, json!({ "updated": 0, "skipped": [] })));
        let (_, rows) = site.ask("GET", "/preferences", None).await;
        let row = &rows["rows"][3];
        assert_eq!((&row["customized"], &row["preference"]["enabled"]), (&json!(true), &json!(false)));
        assert_eq!(row["preference"]["chatAppAEnabled"], true);
    }

    async fn what_is_no_preference_is_refused(db: Db) {
        let site = Site::new(&db).await;
        let no_channel = "each value in otherChannels must be the id of a channel that has no switch of its own";
        for (path, body, message) in [
            ("/preferences/torrent.completed", json!({ "enabled": "maybe" }), json!(["enabled must be a boolean value"])),
            ("/preferences/torrent.completed", json!({ "smsEnabled": true }), json!(["property smsEnabled should not exist"])),
            ("/preferences/torrent.completed", json!({ "otherChannels": ["email"] }), json!([no_channel])),
            ("/preferences/torrent.completed", json!({ "otherChannels": ["A b"] }), json!([no_channel])),
        ] {
            let (status, answer) = site.ask("PUT", path, Some(body.clone())).await;
            assert_eq!((status, &answer["message"]), (400, &message), "{body}");
        }
        for (body, message) in [
            (json!({ "eventKeys": [], "patch": { "enabled": 1 } }), json!(["patch.enabled must be a boolean value"])),
            (json!({ "eventKeys": [], "patch": { "x": true } }), json!(["property patch.x should not exist"])),
            (json!({ "eventKeys": [], "patch": [] }), json!(["patch must be an object"])),
            (json!({ "eventKeys": vec!["a"; 201], "patch": {} }), json!(["eventKeys must contain no more than 200 elements"])),
        ] {
            let (status, answer) = site.ask("POST", "/preferences/bulk", Some(body.clone())).await;
            assert_eq!((status, &answer["message"]), (400, &message), "{body}");
        }
        let (status, answer) = site.ask("PUT", "/preferences/x", Some(json!({}))).await;
        assert_eq!((status, &answer["message"], &answer["code"]),
            (404, &json!("Unknown notification event"), &json!("not_found.notification_event")));
    }

    async fn channels_are_connected_tried_and_given_up(db: Db) {
        let site = Site::new(&db).await;
        let (status, channels) = site.ask("GET", "/channels", None).await;
        assert_eq!(status, 200);
        let nothing = |id: &str| json!({
            "type": id, "connected": false, "enabled": false, "verified": false, "maskedDestination": null,
            "lastTestedAt": null, "lastSuccessAt": null, "lastFailureAt": null, "lastError": null,
            "consecutiveFailures": 0, "health": "disabled",
        });
        assert_eq!(channels["channels"], json!(["email", "chat_app_a", "chat_app_b", "push"].map(nothing)));
        assert_eq!(channels["chat_app_a"], json!({ "configured": false, "botUsername": "" }));
        assert_eq!((&channels["platformEmailReady"], channels["kinds"].as_array().unwrap().len()), (&json!(true), 4));

        let now = "2031-03-30T09:15:00.000Z";
        let connected = |id: &str| json!({
            "type": id, "connected": true, "enabled": true, "verified": true, "maskedDestination": "masked",
            "lastTestedAt": now, "lastSuccessAt": now, "lastFailureAt": null, "lastError": null,
            "consecutiveFailures": 0, "health": "healthy",
        });
        for (id, body) in [
            ("chat_app_b", json!({ "webhookUrl": "https://chat.example/hook" })),
            ("push", json!({ "config": { "topic": "t" } })),
        ] {
            let path = format!("/channels/{id}");
            assert_eq!(site.ask("POST", &path, Some(body)).await, (201, connected(id)));
            assert_eq!(site.ask("POST", &format!("{path}/test"), None).await, (201, connected(id)));
            assert_eq!(site.ask("DELETE", &path, None).await, (200, json!({ "ok": true })));
            let (status, answer) = site.ask("DELETE", &path, None).await;
            assert_eq!((status, &answer["message"]), (404, &json!("No such connection.")));
            assert_eq!(site.ask("POST", &format!("{path}/test"), None).await.0, 404);
        }
        let address = json!({ "address": " u@example.org " });
        let (status, mailbox) = site.ask("POST", "/channels/email", Some(address)).await;
        assert_eq!((status, &mailbox["verified"], &mailbox["health"]), (201, &json!(false), &json!("unverified")));
        let sent = site.house.channels.sent();
        let code = sent.last().unwrap().message.text.split_whitespace().next().unwrap().to_owned();
        let (status, refused) = site.ask("POST", "/channels/email/test", None).await;
        assert_eq!((status, &refused["code"]), (400, &json!("bad_request.unconfirmed")));
        for wrong in [None, Some(json!({})), Some(json!({ "code": "000000" }))] {
            let (status, refused) = site.ask("POST", "/channels/email/confirm", wrong).await;
            assert_eq!((status, &refused["code"]), (400, &json!("bad_request.wrong_code")));
        }
        let confirmed = site.ask("POST", "/channels/email/confirm", Some(json!({ "code": code }))).await;
        assert_eq!(confirmed, (201, connected("email")));
        assert_eq!(site.ask("POST", "/channels/email/test", None).await, (201, connected("email")));
        assert_eq!(site.ask("DELETE", "/channels/email", None).await, (200, json!({ "ok": true })));
        let (status, bot) = site.ask("POST", "/channels/chat_app_a/bot", Some(json!({ "token": "1:t" }))).await;
        assert_eq!((status, &bot["verified"], &bot["health"], &bot["maskedDestination"]),
            (201, &json!(false), &json!("unverified"), &json!("@house_bot")));
        assert_eq!(site.ask("POST", "/channels/chat_app_a/test", None).await.0, 404, "nobody to send to");
        let (status, code) = site.ask("POST", "/channels/chat_app_a/link", None).await;
        assert_eq!((status, &code["expiresInSeconds"], &code["botUsername"]), (201, &json!(600), &json!("house_bot")));
        assert_eq!(site.ask("POST", "/channels/chat_app_a/confirm", None).await.0, 404);
        let digits = code["code"].as_str().unwrap().to_owned();
        site.house.channels.arrived.lock().unwrap().insert(digits, "jo".into());
        let (status, linked) = site.ask("POST", "/channels/chat_app_a/confirm", None).await;
        assert_eq!((status, &linked["verified"], &linked["maskedDestination"]), (201, &json!(true), &json!("@jo")));
        let (_, channels) = site.ask("GET", "/channels", None).await;
        assert_eq!(channels["chat_app_a"], json!({ "configured": true, "botUsername": "house_bot" }));
        for _ in 0..4 {
            assert_eq!(site.ask("POST", "/channels/chat_app_a/link", None).await.0, 201);
        }
        assert_eq!(site.ask("POST", "/channels/chat_app_a/link", None).await.0, 429);
        assert_eq!(site.ask("DELETE", "/channels/chat_app_a", None).await, (200, json!({ "ok": true })));
        assert_eq!(site.ask("POST", "/channels/chat_app_a/link", None).await.0, 400, "there is no bot");
    }

    async fn what_is_no_channel_is_refused(db: Db) {
        let site = Site::new(&db).await;
        for (method, path, body, status, message) in [
            ("POST", "/channels/email", Some(json!({ "address": "a@b" })), 400,
                json!(["address must be an email address, e.g. jo@example.org, of no more than 254 characters"])),
            ("POST", "/channels/chat_app_a/bot", Some(json!({ "token": " " })), 400, json!(["A bot token is required."])),
            ("POST", "/channels/chat_app_b", Some(json!({ "webhookUrl": "" })), 400,
                json!(["webhookUrl should not be empty"])),
            ("POST", "/channels/push", Some(json!({ "config": { "topic": 1 } })), 400, json!(["config.topic must be a string"])),
            ("POST", "/channels/fax", Some(json!({ "config": {} })), 400, json!("Unknown channel \"fax\".")),
            ("POST", "/channels/fax/test", None, 400, json!("Unknown channel \"fax\".")),
            ("DELETE", "/channels/fax", None, 404, json!("No such connection.")),
        ] {
            let (answered, answer) = site.ask(method, path, body).await;
            assert_eq!((answered, &answer["message"]), (status, &message), "{method} {path}");
        }
        site.house.channels.fail("push", Some(qm_ports::channel::ChannelError::Timeout("10 s".into())));
        let (status, answer) = site.ask("POST", "/channels/push", Some(json!({ "config": { "topic": "t" } }))).await;
        assert_eq!((status, &answer["message"], &answer["code"]),
            (504, &json!("The push did not answer in time: 10 s"), &json!("upstream_timeout.channel")));
    }

    async fn an_inbox_is_listed_and_marked(db: Db) {
        let site = Site::new(&db).await;
        for name in ["a", "b"] {
            site.house.dispatch(&site.house.completed(name)).await;
            site.house.clock.advance(std::time::Duration::from_secs(1));
        }
        let (status, page) = site.ask("GET", "/inbox?page=junk&state=whatever", None).await;
        assert_eq!((status, &page["total"], &page["page"], &page["pageSize"]), (200, &json!(2), &json!(1), &json!(25)));
        let item = &page["items"][1];
        assert_eq!(item, &json!({
            "id": item["id"], "eventKey": "torrent.completed", "category": "downloads", "severity": "success",
            "title": "a finished downloading", "body": null, "deepLink": "/torrents", "resourceType": "torrent",
            "resourceId": "t", "read": false, "archived": false, "createdAt": "2031-03-30T09:15:00.000Z",
            "presentation": item["presentation"],
        }));
        assert_eq!(item["presentation"]["version"], 2);
        let path = format!("/inbox/{}", item["id"].as_str().unwrap());
        assert_eq!(site.ask("GET", "/inbox/unread-count", None).await, (200, json!({ "unread": 2 })));
        let (status, read) = site.ask("POST", &format!("{path}/read"), None).await;
        assert_eq!((status, &read["read"], &read["presentation"]), (201, &json!(true), &item["presentation"]));
        assert_eq!(site.ask("POST", &format!("{path}/unread"), None).await.1["read"], false);
        assert_eq!(site.ask("POST", &format!("{path}/archive"), None).await.1["archived"], true);
        assert_eq!(site.ask("GET", "/inbox?state=archived&search=A%20FIN", None).await.1["total"], 1);
        assert_eq!(site.ask("GET", "/inbox?category=storage", None).await.1["total"], 0);
        assert_eq!(site.ask("POST", "/inbox/mark-all-read", None).await, (201, json!({ "updated": 1 })));
        let (status, answer) = site.ask("POST", "/inbox/nobody/read", None).await;
        assert_eq!((status, &answer["message"]), (404, &json!("Notification not found.")));
    }
}
