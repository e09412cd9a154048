//! Tests of API keys: creation, listing, revocation, and refusal as a credential.

use argon2::password_hash::PasswordHash;
use argon2::{Argon2, PasswordVerifier as _};
use http::{Method, StatusCode};
use qm_kernel::Role;
use serde_json::json;

use super::surface::{Surface, text};
use super::*;

const KEYS: &str = "/api/api-keys";

sql! {
    HASHES = "SELECT prefix, key_hash FROM api_keys ORDER BY prefix";
}

qm_db::db_test! {
    async fn a_key_is_shown_once_and_opens_nothing(db: Db) {
        let surface = Surface::new(db).await;
        let id = surface.house.user("chief", Role::Administrator).await;
        let token = surface.token(&id).await;
        let body = json!({ "name": "backup", "scopes": ["torrents.view"] });
        let (status, made) = surface.call(Method::POST, KEYS, Some(&token), body).await;
        assert_eq!(status, StatusCode::CREATED);
        let (prefix, key) = (text(&made["prefix"]), text(&made["key"]));
        assert_eq!(made, json!({ "prefix": prefix, "key": key, "name": "backup" }));
        let digits = prefix.strip_prefix("key_").expect("the prefix of keys");
        assert!(digits.len() == 12 && digits.bytes().all(|b| b.is_ascii_hexdigit()));
        let secret = key.strip_prefix(&format!("{prefix}.")).expect("prefix first");
        assert_eq!(secret.len(), 32);

        let mut tx = surface.house.db.begin_read().await.expect("begun");
        let (_, hash) = qm_db::one!(&mut tx, (String, String), HASHES).await.expect("read");
        drop(tx);
        let hash = PasswordHash::new(&hash).expect("a PHC text");
        assert!(Argon2::default().verify_password(secret.as_bytes(), &hash).is_ok());

        surface.house.clock.advance(Duration::from_secs(1));
        surface.call(Method::POST, KEYS, Some(&token), json!({ "name": "second" })).await;
        let (status, list) = surface.call(Method::GET, KEYS, Some(&token), Value::Null).await;
        assert_eq!(status, StatusCode::OK);
        assert_eq!(list[0]["name"], "second");
        assert_eq!(list[0]["scopes"], json!([]));
        assert_eq!(list[1], json!({
            "id": list[1]["id"],
            "name": "backup",
            "prefix": prefix,
            "scopes": ["torrents.view"],
            "lastUsedAt": null,
            "revokedAt": null,
            "createdAt": "2031-03-30T09:15:00.000Z",
        }));
        assert!(!list.to_string().contains(secret));

        let bare = (StatusCode::UNAUTHORIZED, json!({ "message": "Unauthorized", "statusCode": 401 }));
        for path in [KEYS, "/api/auth/me", "/api/users", "/api/account/profile"] {
            assert_eq!(surface.call(Method::GET, path, Some(key), Value::Null).await, bare, "{path}");
        }
        let heard = surface.house.heard.take();
        let [first, _] = &heard[..] else { panic!("{} events", heard.len()) };
        assert_eq!((&*first.event_key, &first.payload), ("security.api_key_created", &json!({ "keyName": "backup" })));
        assert_eq!(first.correlation_id.as_deref().map(str::len), Some(16), "the request's id");
        assert_eq!(first.subject_user_id.as_deref(), Some(&*id));
        for row in surface.house.audited("apikeys.create").await {
            assert_eq!(row.object_type.as_deref(), Some("api_key"));
            assert!(!row.metadata().to_string().contains(secret));
        }
    }

    async fn only_the_owner_revokes_a_key(db: Db) {
        let surface = Surface::new(db).await;
        let (one, two) = (
            surface.house.user("one", Role::Administrator).await,
            surface.house.user("two", Role::Administrator).await,
        );
        let (one, two) = (surface.token(&one).await, surface.token(&two).await);
        surface.call(Method::POST, KEYS, Some(&one), json!({ "name": "mine" })).await;
        let list = surface.call(Method::GET, KEYS, Some(&one), Value::Null).await.1;
        let id = text(&list[0]["id"]);
        assert_eq!(surface.call(Method::GET, KEYS, Some(&two), Value::Null).await.1, json!([]));

        let revoke = |token, id: String| {
            let surface = &surface;
            async move {
                let (status, body) = surface.call(Method::DELETE, &format!("{KEYS}/{id}"), Some(token), Value::Null).await;
                assert_eq!(status, StatusCode::OK);
                body
            }
        };
        let revoked_at = || async { surface.call(Method::GET, KEYS, Some(&one), Value::Null).await.1[0]["revokedAt"].clone() };
        assert_eq!(revoke(&two, id.to_owned()).await, json!({ "id": id }));
        assert_eq!(revoke(&one, "nobody's".to_owned()).await, json!({ "id": "nobody's" }));
        assert_eq!(revoked_at().await, Value::Null);
        assert!(surface.house.audited("apikeys.revoke").await.is_empty(), "nothing was revoked");
        revoke(&one, id.to_owned()).await;
        assert_eq!(revoked_at().await, "2031-03-30T09:15:00.000Z");
        surface.house.clock.advance(Duration::from_secs(1));
        revoke(&one, id.to_owned()).await;
        assert_eq!(revoked_at().await, "2031-03-30T09:15:01.000Z");
        assert_eq!(surface.house.audited("apikeys.revoke").await.len(), 2);
    }

    async fn bad_keys_and_callers_are_refused(db: Db) {
        let surface = Surface::new(db).await;
        let admin = surface.token_claiming("00000000-0000-4000-8000-000000000000", &[Role::Administrator]);
        let (status, body) =
            surface.call(Method::POST, KEYS, Some(&admin), json!({ "scopes": "all", "expiresAt": 1 })).await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
        let messages = body["message"].to_string();
        for part in ["property expiresAt should not exist", "name must be a string", "scopes must be an array"] {
            assert!(messages.contains(part), "{messages}");
        }
        let user = surface.token_claiming("00000000-0000-4000-8000-000000000000", &[Role::PowerUser]);
        let (status, body) = surface.call(Method::POST, KEYS, Some(&user), json!({})).await;
        assert_eq!((status, &body["message"]), (StatusCode::FORBIDDEN, &json!("Missing permission(s): apikeys.manage")));
    }
}
