//! Tests of the routes: statuses, bodies, limits.

use axum::Router;
use axum::body::Body;
use http::{Method, Request, StatusCode, header};
use http_body_util::BodyExt as _;
use qm_kernel::Role;
use qm_web::WebConfig;
use serde_json::json;
use tower::ServiceExt as _;

use super::*;

pub(super) struct Surface {
    router: Router,
    pub(super) house: House,
}

impl Surface {
    pub(super) async fn new(db: Db) -> Self {
        Self::with_limit(db, WebConfig::default().throttle_limit).await
    }

    /// A budget a minute that is not the usual one.
    pub(super) async fn with_limit(db: Db, throttle_limit: u32) -> Self {
        Self::over(House::seeded(db).await, throttle_limit)
    }

    pub(super) fn over(house: House, throttle_limit: u32) -> Self {
        let routes = crate::routes().with_state(house.identity.clone());
        let router = qm_web::finish(
            routes,
            WebConfig {
                throttle_limit,
                ..WebConfig::default()
            },
            house.tokens.clone(),
            house.ctx.clone(),
        );
        Self { router, house }
    }

    /// A token of the user with the claims of now.
    pub(super) async fn token(&self, id: &str) -> String {
        let account = self.house.identity.account(id).await.expect("there");
        self.token_claiming(id, &account.roles)
    }

    pub(super) fn token_claiming(&self, id: &str, roles: &[Role]) -> String {
        let subject = crate::Subject {
            user_id: id,
            username: "whoever",
            roles,
            permissions: roles.iter().flat_map(|role| role.permissions()).collect(),
        };
        self.house.tokens.issue(&subject).expect("issued")
    }

    pub(super) async fn call(
        &self,
        method: Method,
        path: &str,
        token: Option<&str>,
        body: Value,
    ) -> (StatusCode, Value) {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::CONTENT_TYPE, "application/json");
        if let Some(token) = token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        let body = if body.is_null() {
            Body::empty()
        } else {
            Body::from(body.to_string())
        };
        let response = self
            .router
            .clone()
            .oneshot(request.body(body).expect("a request"))
            .await
            .expect("infallible");
        let status = response.status();
        let bytes = response.into_body().collect().await.expect("read").to_bytes();
        let mut body: Value = serde_json::from_slice(&bytes).expect("JSON");
        if !status.is_success() {
            let code = body.as_object_mut().and_then(|fields| fields.remove("code"));
            assert!(
                code.is_some_and(|code| code.is_string()),
                "every failure has a code: {body}"
            );
        }
        (status, body)
    }

    async fn post(&self, path: &str, body: Value) -> (StatusCode, Value) {
        self.call(Method::POST, path, None, body).await
    }
}

/// The body of a failure raised with a message.
pub(super) fn refusal(status: StatusCode, message: &str) -> (StatusCode, Value) {
    let error = status.canonical_reason().expect("a usual status");
    (
        status,
        json!({ "message": message, "error": error, "statusCode": status.as_u16() }),
    )
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

qm_db::db_test! {
    async fn a_session_from_login_to_logout(db: Db) {
        let surface = Surface::new(db).await;
        let id = surface.house.user("viewer", Role::ReadOnly).await;
        let (status, login) =
            surface.post("/api/auth/login", json!({ "username": "viewer", "password": PASSWORD })).await;
        assert_eq!(status, StatusCode::CREATED);
        assert_eq!(login["expiresIn"], 900);
        let user = json!({
            "id": id,
            "username": "viewer",
            "email": "viewer@example.org",
            "displayName": null,
            "roles": ["READ_ONLY"],
            "permissions": Role::ReadOnly.permissions().map(qm_kernel::Permission::key).collect::<Vec<_>>(),
            "isActive": true,
            "timezone": null,
        });
        assert_eq!(login["user"], user);
        let mut keys: Vec<_> = login.as_object().expect("an object").keys().collect();
        keys.sort();
        assert_eq!(keys, ["accessToken", "expiresIn", "refreshToken", "user"]);

        let (status, refreshed) =
            surface.post("/api/auth/refresh", json!({ "refreshToken": login["refreshToken"] })).await;
        assert_eq!((status, &refreshed["user"]), (StatusCode::CREATED, &user));
        let token = Some(text(&refreshed["accessToken"]));
        let (status, me) = surface.call(Method::GET, "/api/auth/me", token, Value::Null).await;
        assert_eq!((status, me), (StatusCode::OK, user));

        let change = json!({ "currentPassword": "wrong", "newPassword": "0123456789" });
        let (status, refused) = surface.call(Method::POST, "/api/auth/change-password", token, change).await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
        assert_eq!(refused, json!({ "message": "Current password is incorrect", "error": "Bad Request", "statusCode": 400 }));
        let change = json!({ "currentPassword": PASSWORD, "newPassword": "0123456789" });
        let (status, done) = surface.call(Method::POST, "/api/auth/change-password", token, change).await;
        assert_eq!((status, done), (StatusCode::CREATED, json!({ "success": true })));

        let (status, done) =
            surface.call(Method::POST, "/api/auth/logout", token, json!({ "refreshToken": "nonsense" })).await;
        assert_eq!((status, done), (StatusCode::CREATED, json!({ "success": true })));
        assert_eq!(surface.house.live_tokens(&id).await, 0);
    }

    async fn failures_have_the_bodies_of_the_contract(db: Db) {
        let surface = Surface::new(db).await;
        let refused = |message: &str| json!({ "message": message, "error": "Unauthorized", "statusCode": 401 });
        let (status, body) = surface.post("/api/auth/login", json!({ "username": "admin", "password": "x" })).await;
        assert_eq!((status, body), (StatusCode::UNAUTHORIZED, refused("Invalid credentials")));
        let (status, body) = surface.post("/api/auth/refresh", json!({ "refreshToken": "x" })).await;
        assert_eq!((status, body), (StatusCode::UNAUTHORIZED, refused("Malformed refresh token")));

        let (status, body) = surface
            .post("/api/auth/login", json!({ "username": 5, "password": "", "totp": "1".repeat(65), "extra": 1 }))
            .await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
        assert_eq!(
            body["message"],
            json!([
                "property extra should not exist",
                "password must be longer than or equal to 1 characters",
                "totp must be shorter than or equal to 64 characters",
            ])
        );
        let bare = json!({ "message": "Unauthorized", "statusCode": 401 });
        for token in [None, Some("nonsense"), Some("key_0123456789ab.c2VjcmV0")] {
            let (status, body) = surface.call(Method::GET, "/api/auth/me", token, Value::Null).await;
            assert_eq!((status, &body), (StatusCode::UNAUTHORIZED, &bare));
        }
        let stranger = crate::Subject {
            user_id: "00000000-0000-4000-8000-000000000000",
            username: "deleted",
            roles: &[Role::User],
            permissions: qm_kernel::PermissionSet::empty(),
        };
        let token = surface.house.tokens.issue(&stranger).expect("issued");
        let (status, body) = surface.call(Method::GET, "/api/auth/me", Some(&token), Value::Null).await;
        assert_eq!((status, body), (StatusCode::UNAUTHORIZED, bare), "the user was deleted meanwhile");
    }

    async fn a_second_factor_is_asked_for_in_its_own_body(db: Db) {
        let surface = Surface::new(db).await;
        let id = surface.house.user("owner", Role::User).await;
        let mut tx = surface.house.db.begin_write().await.expect("begun");
        let none: Option<&str> = None;
        let done = qm_db::exec!(&mut tx, ENABLE_TOTP, &id, true, none, "[]").await;
        done.expect("updated").exactly(1).expect("one row");
        tx.commit().await.expect("committed");
        let (status, body) =
            surface.post("/api/auth/login", json!({ "username": "owner", "password": PASSWORD })).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED);
        assert_eq!(
            body,
            json!({
                "statusCode": 401,
                "error": "TwoFactorRequired",
                "message": "Two-factor authentication code required",
                "twoFactorRequired": true,
            })
        );
    }

    async fn logins_and_refreshes_have_budgets_of_their_own(db: Db) {
        let surface = Surface::new(db).await;
        for (path, limit) in [("/api/auth/login", 5), ("/api/auth/refresh", 20)] {
            for _ in 0..limit {
                assert_eq!(surface.post(path, json!({})).await.0, StatusCode::BAD_REQUEST, "{path}");
            }
            assert_eq!(surface.post(path, json!({})).await.0, StatusCode::TOO_MANY_REQUESTS, "{path}");
        }
    }
}
