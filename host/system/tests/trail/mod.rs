//! Tests of the routes of the audit trail and the modules.

use axum::http::StatusCode;
use qm_db::{Db, db_test, exec, sql};
use qm_kernel::{Ctx, Permission, Role};
use qm_platform::{Audit, AuditEntry};
use serde_json::{Value, json};

use crate::Service;

sql! {
    ADD_USER = "INSERT INTO users (id, username, email, display_name, password_hash, created_at, updated_at) \
        VALUES ('u', 'ann', 'ann@example.org', 'Ann', '', 0, 0)";
    DELETE_USER = "DELETE FROM users WHERE id = 'u'";
}

async fn audit_list(service: &Service, query: &str) -> Value {
    let (status, body) = service
        .call("GET", &format!("/api/audit{query}"), Some(Role::Administrator))
        .await;
    assert_eq!(status, StatusCode::OK, "{body}");
    body
}

db_test! {
    async fn the_trail_is_for_those_who_may(db: Db) {
        let service = Service::new(&db).await;
        for role in &Role::ALL[2..] {
            let (status, body) = service.call("GET", "/api/audit", Some(*role)).await;
            assert_eq!(status, StatusCode::FORBIDDEN, "{role:?}");
            assert_eq!(body["message"], "Missing permission(s): audit.view");
        }
        assert_eq!(service.call("GET", "/api/audit", None).await.0, StatusCode::UNAUTHORIZED);
    }

    async fn rows_show_who_and_what(db: Db) {
        let service = Service::new(&db).await;
        let audit = Audit::new(Ctx::system());
        let mut tx = db.begin_write().await.unwrap();
        exec!(&mut tx, ADD_USER).await.unwrap().exactly(1).unwrap();
        tx.commit().await.unwrap();
        let by_user = AuditEntry {
            user_id: Some("u".into()),
            action: "torrents.add",
            object_type: Some("torrent"),
            object_id: Some("abc".into()),
            metadata: Some(json!({ "name": "Orchard.Lane.2021.S02E07.1080p.WEB.x264-KESTREL" })),
            ..AuditEntry::default()
        };
        audit.record_alone(&db, by_user.clone()).await;
        let list = audit_list(&service, "").await;
        let item = &list["items"][0];
        assert_eq!((&list["total"], &list["page"], &list["pageSize"]), (&json!(1), &json!(1), &json!(50)));
        let expected = json!({
            "id": item["id"], "userId": "u", "action": "torrents.add", "objectType": "torrent", "objectId": "abc",
            "result": "success", "ipAddress": null, "userAgent": null,
            "metadata": { "name": "Orchard.Lane.2021.S02E07.1080p.WEB.x264-KESTREL" }, "createdAt": item["createdAt"],
            "user": { "username": "ann", "displayName": "Ann" },
            "target": { "label": "Orchard Lane (2021) — S02E07", "title": "Orchard Lane (2021)", "season": 2, "episode": 7 },
        });
        assert_eq!(item, &expected);
        assert!(item["createdAt"].as_str().is_some_and(|at| at.ends_with('Z') && at.len() == 24), "{item}");

        let mut tx = db.begin_write().await.unwrap();
        exec!(&mut tx, DELETE_USER).await.unwrap().exactly(1).unwrap();
        tx.commit().await.unwrap();
        let list = audit_list(&service, "").await;
        let item = &list["items"][0];
        assert_eq!((&item["user"], &item["userId"]), (&Value::Null, &Value::Null));
    }

    async fn pages_and_the_filter(db: Db) {
        let service = Service::new(&db).await;
        let audit = Audit::new(Ctx::system());
        for at in 0..7 {
            let action = if at % 2 == 0 { "auth.login" } else { "users.update" };
            let entry = AuditEntry { action, object_id: Some(at.to_string()), ..AuditEntry::default() };
            audit.record_alone(&db, entry).await;
            // The order goes by the time.
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
        for (query, ids, total, page, size) in [
            ("?pageSize=3", &["6", "5", "4"][..], 7, 1, 3),
            ("?page=3&pageSize=3", &["0"], 7, 3, 3),
            ("?page=4&pageSize=3", &[], 7, 4, 3),
            ("?action=users.update", &["5", "3", "1"], 3, 1, 50),
            ("?action=auth.login&page=2&pageSize=2", &["2", "0"], 4, 2, 2),
            ("?action=no.such", &[], 0, 1, 50),
            ("?action=users.update%00", &[], 0, 1, 50),
            ("?action=&page=-1&pageSize=1000", &["6", "5", "4", "3", "2", "1", "0"], 7, 1, 200),
            ("?page=x&pageSize=0", &["6"], 7, 1, 1),
            ("?page=99999999999&pageSize=200", &[], 7, 2_147_483_647, 200),
        ] {
            let list = audit_list(&service, query).await;
            let found: Vec<&str> = list["items"].as_array().unwrap().iter().map(|item| item["objectId"].as_str().unwrap()).collect();
            assert_eq!(found, ids, "{query}");
            assert_eq!((&list["total"], &list["page"], &list["pageSize"]), (&json!(total), &json!(page), &json!(size)), "{query}");
        }
    }

    async fn everybody_sees_the_modules(db: Db) {
        let service = Service::new(&db).await;
        assert_eq!(service.call("GET", "/api/modules/enabled", None).await.0, StatusCode::UNAUTHORIZED);
        let (status, list) = service.call("GET", "/api/modules/enabled", Some(Role::ReadOnly)).await;
        assert_eq!(status, StatusCode::OK);
        let modules = list.as_array().unwrap();
        let ids: Vec<&str> = modules.iter().map(|module| module["id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["audit", "settings"]);
        let permissions: Vec<&str> = Permission::ALL.iter().map(|permission| permission.key()).filter(|key| key.starts_with("audit.")).collect();
        let expected = json!({
            "id": "audit", "name": "Audit", "description": modules[0]["description"], "tier": "core", "state": "enabled",
            "enabled": true, "licensed": true, "dependencies": ["users"], "unmetDependencies": [],
            "permissions": permissions, "menu": [{ "label": "Audit", "icon": "ScrollText", "path": "/audit", "permission": "audit.view" }],
            "features": ["audit"], "locked": false, "reason": "active",
        });
        assert_eq!(modules[0], expected);
        let ask = async |path: &str| service.call("GET", path, Some(Role::ReadOnly)).await;
        assert_eq!(ask("/api/modules").await, (StatusCode::OK, list.clone()));
        assert_eq!(ask("/api/modules/audit").await, (StatusCode::OK, expected));
        let (status, body) = ask("/api/modules/nothing").await;
        assert_eq!((status, &body["code"]), (StatusCode::NOT_FOUND, &json!("not_found.module")));
        let license = json!({
            "edition": "community", "status": "active", "licensed": true, "required": false, "expiresAt": null,
            "modules": ["audit", "settings"],
        });
        assert_eq!(ask("/api/modules/license").await, (StatusCode::OK, license));
    }
}
