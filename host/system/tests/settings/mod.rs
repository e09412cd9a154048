//! Tests of the settings and environment routes.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use qm_db::{Db, Json, all, db_test, exec, sql, value};
use qm_kernel::Role;
use qm_kernel::secret::MASK;
use qm_platform::EnvEntry;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::Service;

qm_platform::settings! {
    of "tests";

    /// A text with a route of its own.
    ROOT: String = "test.root", String::new, by_route("PUT /api/root");

    /// An object that holds a secret.
    LINK: serde_json::Map<String, Value> = "test.link",
        serde_json::Map::new, by_route("PATCH /api/link"), secret_members(&["apiKey"]);

    /// A number.
    A: i64 = "test.a", || 0;

    /// Another one.
    B: i64 = "test.b", || 0;

    /// One more.
    C: i64 = "test.c", || 0;

    /// A secret.
    secret API_KEY = "test.apiKey";

    /// A secret with a route of its own.
    secret PICTURES = "test.pictures", by_route("PATCH /api/pictures"), to_come();
}

sql! {
    STORED = "SELECT value FROM settings WHERE key = $1";
    COUNT = "SELECT COUNT(*) FROM settings";
    SET = "INSERT INTO settings (key, value, updated_at) VALUES ($1, $2, 0)";
    AUDITED = "SELECT action, object_type, object_id, metadata FROM audit_logs ORDER BY created_at, id";
}

/// One variable that is shown and one secret.
pub(crate) fn environment() -> Vec<EnvEntry> {
    let entry = |key, secret| EnvEntry {
        key,
        group: "Runtime",
        label: "A label",
        description: "A description.",
        secret,
        set: true,
        value: Some("hunter2".to_owned()),
    };
    vec![entry("PORT", false), entry("DATABASE_URL", true)]
}

async fn send(service: &Service, method: &str, path: &str, role: Role, body: &Value) -> (StatusCode, Value) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("authorization", format!("Bearer {}", role.name()))
        .header("content-type", "application/json")
        .body(Body::from(body.to_string()))
        .unwrap();
    let response = service.router.clone().oneshot(request).await.unwrap();
    let status = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap())
}

async fn put(service: &Service, key: &str, value: Value) -> (StatusCode, Value) {
    let path = format!("/api/settings/{key}");
    send(
        service,
        "PUT",
        &path,
        Role::Administrator,
        &json!({ "value": value }),
    )
    .await
}

async fn patch(service: &Service, body: &Value) -> (StatusCode, Value) {
    send(service, "PATCH", "/api/settings", Role::Administrator, body).await
}

async fn stored(db: &Db) -> i64 {
    value!(&mut db.begin_read().await.unwrap(), i64, COUNT)
        .await
        .unwrap()
}

type Audited = (String, Option<String>, Option<String>, Option<String>);

async fn audited(db: &Db) -> Vec<Audited> {
    all!(&mut db.begin_read().await.unwrap(), Audited, AUDITED)
        .await
        .unwrap()
}

db_test! {
    async fn a_time_zone_is_one_or_it_is_refused(db: Db) {
        let service = Service::new(&db).await;
        for zone in [json!("Mars/Olympus"), json!(""), json!("GMT+2"), json!(7), json!(["Europe/Berlin"])] {
            let (status, body) = put(&service, "app.timezone", zone.clone()).await;
            assert_eq!(status, StatusCode::BAD_REQUEST, "{zone}");
            let rule = "app.timezone must be the IANA name of a time zone, e.g. Europe/Berlin, or null";
            assert_eq!(body["message"], json!([rule]), "{zone}");
        }
        assert_eq!(stored(&db).await, 0);
        let (status, body) = patch(&service, &json!({ "app.timezone": "Mars/Olympus", "general.theme": "light" })).await;
        assert_eq!((status, stored(&db).await), (StatusCode::BAD_REQUEST, 0), "{body}");
        assert_eq!(put(&service, "app.timezone", json!("Europe/Berlin")).await.0, StatusCode::OK);
        assert_eq!(patch(&service, &json!({ "app.timezone": null })).await.0, StatusCode::OK, "back to the server's own");
    }

    async fn they_are_for_those_who_may(db: Db) {
        let service = Service::new(&db).await;
        for (method, path, permission) in [
            ("GET", "/api/settings", "settings.view"),
            ("PUT", "/api/settings/test.a", "settings.manage"),
            ("PATCH", "/api/settings", "settings.manage"),
            ("GET", "/api/settings/environment", "settings.manage"),
        ] {
            let (status, body) = send(&service, method, path, Role::PowerUser, &json!({ "value": 1 })).await;
            assert_eq!(status, StatusCode::FORBIDDEN, "{method} {path}");
            assert_eq!(body["message"], format!("Missing permission(s): {permission}"));
            assert_eq!(service.call(method, path, None).await.0, StatusCode::UNAUTHORIZED);
        }
        assert_eq!((stored(&db).await, audited(&db).await.len()), (0, 0));
    }

    async fn any_value_of_a_setting_is_stored(db: Db) {
        let service = Service::new(&db).await;
        for value in [json!("light"), json!(5), json!({ "a": [1, null] }), json!(false), json!("\u{0}")] {
            let (status, body) = put(&service, "general.theme", value.clone()).await;
            assert_eq!((status, body), (StatusCode::OK, json!({ "key": "general.theme", "value": value })));
        }
        let (status, body) = patch(&service, &json!({ "test.a": [1], "test.b": "b", "app.timezone": null })).await;
        let all = json!({ "app.timezone": null, "general.theme": "\u{0}", "test.a": [1], "test.b": "b" });
        assert_eq!((status, &body), (StatusCode::OK, &all));
        assert_eq!(service.call("GET", "/api/settings", Some(Role::Administrator)).await, (StatusCode::OK, all));
        let rows = audited(&db).await;
        assert_eq!(rows.len(), 6);
        assert!(rows.iter().all(|row| row.0 == "settings.update" && row.1.as_deref() == Some("setting")));
        assert_eq!(rows[0].2.as_deref(), Some("general.theme"));
        let metadata: Value = serde_json::from_str(rows[5].3.as_deref().unwrap()).unwrap();
        assert_eq!(metadata, json!({ "keys": ["app.timezone", "test.a", "test.b"] }));
    }

    async fn a_setting_with_a_route_of_its_own_is_refused_and_nothing_written(db: Db) {
        let service = Service::new(&db).await;
        let message = "\"test.root\" cannot be changed here — use PUT /api/root.";
        let refused = json!({ "message": message, "error": "Forbidden", "statusCode": 403, "code": "forbidden.setting" });
        let answer = put(&service, "test.root", json!("/")).await;
        assert_eq!(answer, (StatusCode::FORBIDDEN, refused.clone()));
        let answer = patch(&service, &json!({ "test.a": 1, "test.root": "/", "test.c": 1 })).await;
        assert_eq!(answer, (StatusCode::FORBIDDEN, refused));
        for key in ["test.link", "test.pictures"] {
            assert_eq!(put(&service, key, json!({})).await.0, StatusCode::FORBIDDEN, "{key}");
        }
        assert_eq!((stored(&db).await, audited(&db).await.len()), (0, 0));
    }

    async fn a_key_that_no_setting_has_is_refused_by_its_nearest(db: Db) {
        let service = Service::new(&db).await;
        for (key, told) in [
            ("general.themes", "general.themes is not a setting; did you mean general.theme?"),
            ("APP.timeZones", "APP.timeZones is not a setting; did you mean app.timezone?"),
            ("qwxz", "qwxz is not a setting; docs/settings.md lists all of them"),
        ] {
            let (status, body) = put(&service, key, json!("a-secret")).await;
            assert_eq!((status, &body["message"]), (StatusCode::BAD_REQUEST, &json!([told])));
            let (status, body) = patch(&service, &json!({ "test.a": 1, key: "a-secret" })).await;
            assert_eq!((status, &body["message"]), (StatusCode::BAD_REQUEST, &json!([told])));
        }
        let many: serde_json::Map<String, Value> = (0..400).map(|at| (format!("k{at}"), json!(at))).collect();
        let (status, body) = patch(&service, &Value::Object(many)).await;
        assert_eq!((status, body["message"].as_array().unwrap().len()), (StatusCode::BAD_REQUEST, 20));
        assert_eq!((stored(&db).await, audited(&db).await.len()), (0, 0));
    }

    /// A settings page shows all settings and saves them together.
    async fn the_whole_answer_can_be_sent_back(db: Db) {
        let service = Service::new(&db).await;
        put(&service, "test.apiKey", json!("hunter2")).await;
        let mut tx = db.begin_write().await.unwrap();
        for (key, value) in [
            ("test.root", json!("/srv")),
            ("test.link", json!({ "enabled": true, "apiKey": "sealed" })),
            ("left.by.another.version", json!("in clear")),
        ] {
            exec!(&mut tx, SET, key, Json(value)).await.unwrap().exactly(1).unwrap();
        }
        tx.commit().await.unwrap();
        let (_, mut all) = service.call("GET", "/api/settings", Some(Role::Administrator)).await;
        assert_eq!(all["test.link"]["apiKey"], MASK);
        assert_eq!(patch(&service, &all).await, (StatusCode::OK, all.clone()));
        assert_eq!(audited(&db).await.len(), 1, "nothing was changed");
        all["test.a"] = json!(7);
        assert_eq!(patch(&service, &all).await, (StatusCode::OK, all.clone()));
        let metadata: Value = serde_json::from_str(audited(&db).await[1].3.as_deref().unwrap()).unwrap();
        assert_eq!(metadata, json!({ "keys": ["test.a"] }));
        for (key, changed) in [("test.root", json!("/etc")), ("test.link", json!({ "enabled": false, "apiKey": MASK }))] {
            let (status, _) = patch(&service, &json!({ key: changed, "test.b": 1 })).await;
            assert_eq!(status, StatusCode::FORBIDDEN, "{key}");
        }
        let (status, _) = patch(&service, &json!({ "left.by.another.version": "changed" })).await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
        all.as_object_mut().unwrap().remove("left.by.another.version");
        assert_eq!(patch(&service, &json!({ "left.by.another.version": null })).await, (StatusCode::OK, all));
    }

    async fn bad_input_is_refused_and_nothing_written(db: Db) {
        let service = Service::new(&db).await;
        let (status, body) = put(&service, "general.theme", Value::Null).await;
        assert_eq!((status, &body["message"]), (StatusCode::BAD_REQUEST, &json!(["value should not be null or undefined"])));
        let (status, body) = send(&service, "PUT", "/api/settings/a", Role::Administrator, &json!({ "value": 1, "more": 2 })).await;
        assert_eq!((status, &body["message"]), (StatusCode::BAD_REQUEST, &json!(["property more should not exist"])));
        let too_many: serde_json::Map<String, Value> = (0..501).map(|at| (format!("k{at}"), json!(at))).collect();
        for (bad, part) in [
            (json!({ "a": 1, "k".repeat(201): 1 }), "1 to 200 characters"),
            (json!({ "a": 1, "nul\0": 1 }), "control character"),
            (json!({ "a": 1, " ": 1 }), "1 to 200 characters"),
            (json!({ "a": 1, "big": "x".repeat(70_000) }), "big must not be larger than 65536 bytes"),
            (json!({ "a": 1, "test.apiKey": 5 }), "test.apiKey must be a string"),
            (Value::Object(too_many), "no more than 500 settings"),
        ] {
            let (status, body) = patch(&service, &bad).await;
            assert_eq!(status, StatusCode::BAD_REQUEST, "{body}");
            let message = body["message"][0].as_str().unwrap();
            assert!(message.contains(part), "{message}");
        }
        assert_eq!(patch(&service, &json!({})).await, (StatusCode::OK, json!({})));
        assert_eq!((stored(&db).await, audited(&db).await.len()), (0, 0));
    }

    async fn secrets_are_stored_encrypted_and_never_shown(db: Db) {
        let service = Service::new(&db).await;
        let key = "test.apiKey";
        let (status, body) = put(&service, key, json!("hunter2")).await;
        assert_eq!((status, body), (StatusCode::OK, json!({ "key": key, "value": MASK })));
        let sealed = value!(&mut db.begin_read().await.unwrap(), String, STORED, key).await.unwrap();
        assert!(!sealed.contains("hunter2"), "{sealed}");
        // Sending back the displayed values changes nothing.
        let (status, body) = patch(&service, &json!({ key: MASK, "test.a": 1 })).await;
        assert_eq!((status, &body[key]), (StatusCode::OK, &json!(MASK)));
        assert_eq!(value!(&mut db.begin_read().await.unwrap(), String, STORED, key).await.unwrap(), sealed);
        let (_, list) = service.call("GET", "/api/settings", Some(Role::SuperAdmin)).await;
        assert_eq!(list, json!({ key: MASK, "test.a": 1 }));
        assert!(!format!("{:?}", audited(&db).await).contains("hunter2"));
        assert_eq!(put(&service, key, json!("")).await.1, json!({ "key": key, "value": null }));
        assert_eq!(stored(&db).await, 1);
    }

    async fn concurrent_changes_are_each_whole(db: Db) {
        let service = Service::new(&db).await;
        let changes = (0..40).map(|at| {
            let service = &service;
            async move {
                // The same keys in either order.
                let body = if at % 2 == 0 {
                    format!(r#"{{"test.a":{at},"test.b":{at},"test.c":{at}}}"#)
                } else {
                    format!(r#"{{"test.c":{at},"test.b":{at},"test.a":{at}}}"#)
                };
                let body: Value = serde_json::from_str(&body).unwrap();
                let (status, answer) = patch(service, &body).await;
                assert_eq!(status, StatusCode::OK, "{answer}");
                assert_eq!((&answer["test.a"], &answer["test.b"]), (&json!(at), &json!(at)));
            }
        });
        futures_util::future::join_all(changes).await;
        let (_, list) = service.call("GET", "/api/settings", Some(Role::Administrator)).await;
        assert!(list["test.a"] == list["test.b"] && list["test.b"] == list["test.c"], "{list}");
        assert_eq!(audited(&db).await.len(), 40);
    }

    async fn the_environment_shows_what_is_no_secret(db: Db) {
        let service = Service::new(&db).await;
        let (status, list) = service.call("GET", "/api/settings/environment", Some(Role::Administrator)).await;
        let entry = |key: &str, secret: bool, value: Value| json!({
            "key": key, "group": "Runtime", "label": "A label", "description": "A description.", "secret": secret,
            "set": true, "value": value,
        });
        let expected = json!([entry("PORT", false, json!("hunter2")), entry("DATABASE_URL", true, Value::Null)]);
        assert_eq!((status, list), (StatusCode::OK, expected));
    }
}
