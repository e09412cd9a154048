//! Tests of the own profile and password over HTTP.

use http::{Method, StatusCode};
use qm_kernel::Role;
use serde_json::json;

use super::surface::{Surface, refusal};
use super::*;

const PROFILE: &str = "/api/account/profile";

async fn patch(surface: &Surface, token: &str, body: Value) -> (StatusCode, Value) {
    surface.call(Method::PATCH, PROFILE, Some(token), body).await
}

qm_db::db_test! {
    async fn a_profile_is_read_and_changed(db: Db) {
        let surface = Surface::new(db).await;
        let id = surface.house.user("owner", Role::User).await;
        surface.house.login("owner", PASSWORD, None).await.expect("logged in");
        let token = surface.token(&id).await;
        let mut profile = json!({
            "id": id,
            "username": "owner",
            "email": "owner@example.org",
            "displayName": null,
            "roles": ["USER"],
            "timezone": null,
            "twoFactorEnabled": false,
            "lastLoginAt": "2031-03-30T09:15:00.000Z",
            "createdAt": "2031-03-30T09:15:00.000Z",
        });
        let (status, body) = surface.call(Method::GET, PROFILE, Some(&token), Value::Null).await;
        assert_eq!((status, body), (StatusCode::OK, profile.clone()));

        let change = json!({ "email": "o@example.net", "displayName": "The Owner", "timezone": "europe/berlin" });
        profile["email"] = json!("o@example.net");
        profile["displayName"] = json!("The Owner");
        profile["timezone"] = json!("Europe/Berlin");
        assert_eq!(patch(&surface, &token, change).await, (StatusCode::OK, profile.clone()));
        assert_eq!(patch(&surface, &token, json!({})).await, (StatusCode::OK, profile.clone()), "absent stays");
        for (change, field) in [(json!({ "timezone": null }), "timezone"), (json!({ "displayName": null }), "displayName")] {
            profile[field] = Value::Null;
            assert_eq!(patch(&surface, &token, change).await, (StatusCode::OK, profile.clone()));
        }
        for follows in ["", "auto", "AUTO"] {
            assert_eq!(patch(&surface, &token, json!({ "timezone": "Etc/GMT+5" })).await.1["timezone"], "Etc/GMT+5");
            assert_eq!(patch(&surface, &token, json!({ "timezone": follows })).await, (StatusCode::OK, profile.clone()));
        }

        let audit = surface.house.audited("account.profile_updated").await;
        let mut changed: Vec<_> = audit.iter().map(|row| row.metadata()["fields"].to_string()).collect();
        changed.sort();
        changed.dedup();
        assert_eq!(changed, [r#"["displayName"]"#, r#"["email","displayName","timezone"]"#, r#"["timezone"]"#]);
        assert_eq!(audit.len(), 9, "what changes nothing is not audited");
        assert!(audit.iter().all(|row| row.user_id.as_deref() == Some(&*id)));
    }

    async fn a_bad_profile_is_refused_whole(db: Db) {
        let surface = Surface::new(db).await;
        let id = surface.house.user("owner", Role::User).await;
        let token = surface.token(&id).await;
        for zone in ["-04:00", "GMT+2", "UTC-5", "Mars/Olympus", "posix/Europe/Berlin"] {
            let change = json!({ "displayName": "x", "timezone": zone });
            let expected = refusal(StatusCode::BAD_REQUEST, &format!("Unknown timezone: {zone}"));
            assert_eq!(patch(&surface, &token, change).await, expected);
        }
        let taken = refusal(StatusCode::CONFLICT, "Email is already in use");
        for email in ["admin@example.org", "Admin@Example.ORG"] {
            let change = json!({ "displayName": "x", "email": email });
            assert_eq!(patch(&surface, &token, change).await, taken, "{email}");
        }
        let change = json!({ "email": "nowhere", "displayName": "x".repeat(121), "username": "root", "roles": ["SUPER_ADMIN"] });
        let (status, body) = patch(&surface, &token, change).await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
        assert_eq!(body["message"], json!([
            "property roles should not exist",
            "property username should not exist",
            "email must be an email",
            "displayName must be shorter than or equal to 120 characters",
        ]));
        let (status, body) = patch(&surface, &token, json!({ "displayName": "a\u{0}b" })).await;
        assert_eq!((status, &body["message"]), (StatusCode::BAD_REQUEST, &json!(["displayName must not contain control characters"])));
        let profile = surface.call(Method::GET, PROFILE, Some(&token), Value::Null).await.1;
        assert_eq!((&profile["displayName"], &profile["email"]), (&Value::Null, &json!("owner@example.org")));
        assert!(surface.house.audit_rows().await.is_empty());
    }

    async fn a_password_is_changed_here_too(db: Db) {
        let surface = Surface::new(db).await;
        let id = surface.house.user("owner", Role::User).await;
        surface.house.login("owner", PASSWORD, None).await.expect("logged in");
        let token = surface.token(&id).await;
        let change = |current: &str, new: &str| json!({ "currentPassword": current, "newPassword": new });
        let post = |body| surface.call(Method::POST, "/api/account/password", Some(&token), body);
        let (status, body) = post(change(PASSWORD, "too short")).await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
        assert_eq!(body["message"], json!(["newPassword must be longer than or equal to 10 characters"]));
        assert_eq!(
            post(change("wrong", "0123456789")).await,
            refusal(StatusCode::BAD_REQUEST, "Current password is incorrect")
        );
        assert_eq!(surface.house.live_tokens(&id).await, 1);
        assert_eq!(post(change(PASSWORD, "0123456789")).await, (StatusCode::CREATED, json!({ "success": true })));
        assert_eq!(surface.house.live_tokens(&id).await, 0);
        surface.house.login("owner", "0123456789", None).await.expect("logged in");
        let rows = surface.house.audited("account.password_changed").await;
        let mut results: Vec<_> = rows.iter().map(|row| &*row.result).collect();
        results.sort_unstable();
        assert_eq!(results, ["failure", "success"]);
        let heard: Vec<_> = surface.house.heard.take().iter().map(|event| event.event_key.clone()).collect();
        assert_eq!(heard, ["security.password_changed"]);
    }

    async fn wrong_passwords_and_codes_inside_are_audited_and_slow_the_next(db: Db) {
        let surface = Surface::over(House::paced(db, SLOW).await, 0);
        let house = &surface.house;
        let metrics = prometheus::Registry::new();
        house.identity.register_metrics(&metrics).expect("registered");
        let id = house.user("owner", Role::User).await;
        house.login("owner", PASSWORD, None).await.expect("logged in");
        let token = surface.token(&id).await;
        let post = |path: &'static str, body: Value| surface.call(Method::POST, path, Some(&token), body);
        post("/api/account/2fa/setup", Value::Null).await;
        let change = json!({ "currentPassword": "wrong", "newPassword": "0123456789" });
        let wrong = [
            ("/api/auth/change-password", change.clone(), "auth.change_password"),
            ("/api/account/password", change, "account.password_changed"),
            ("/api/account/2fa/enable", json!({ "code": "000000" }), "account.2fa_enabled"),
            ("/api/account/2fa/disable", json!({ "password": "wrong" }), "account.2fa_disabled"),
        ];
        for (path, body, action) in wrong.iter().chain(&wrong[..2]) {
            let (status, _) = post(path, body.clone()).await;
            assert!(status == StatusCode::BAD_REQUEST || status == StatusCode::UNAUTHORIZED, "{path}: {status}");
            let rows = house.audited(action).await;
            let row = rows.last().expect("audited");
            assert_eq!((&*row.result, row.user_id.as_deref()), ("failure", Some(&*id)), "{path}");
        }
        let right = post("/api/account/2fa/disable", json!({ "password": PASSWORD }));
        tokio::select! {
            (status, _) = right => panic!("judged at once: {status}"),
            () = house.until_delayed(&metrics, 1) => {}
        }
        house.login_from("198.51.100.7", "owner", PASSWORD).await.expect("logins are counted apart");
    }

    async fn a_token_whose_user_is_gone_opens_nothing(db: Db) {
        let surface = Surface::new(db).await;
        let token = surface.token_claiming("00000000-0000-4000-8000-000000000000", &[Role::SuperAdmin]);
        let bare = (StatusCode::UNAUTHORIZED, json!({ "message": "Unauthorized", "statusCode": 401 }));
        let gone = refusal(StatusCode::FORBIDDEN, "Your account no longer exists");
        for (method, path, body) in [
            (Method::GET, PROFILE, Value::Null),
            (Method::PATCH, PROFILE, json!({ "displayName": "ghost" })),
            (Method::POST, "/api/account/password", json!({ "currentPassword": "x", "newPassword": "0123456789" })),
            (Method::GET, "/api/account/2fa", Value::Null),
            (Method::POST, "/api/account/2fa/setup", Value::Null),
            (Method::POST, "/api/account/2fa/enable", json!({ "code": "000000" })),
            (Method::POST, "/api/account/2fa/disable", json!({ "password": "x" })),
            (Method::POST, "/api/account/2fa/recovery", json!({ "code": "000000" })),
            (Method::POST, "/api/api-keys", json!({ "name": "ghost" })),
        ] {
            let expected = if method == Method::GET { &bare } else { &gone };
            assert_eq!(&surface.call(method, path, Some(&token), body).await, expected, "{path}");
        }
    }
}
