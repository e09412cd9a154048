//! Tests of the routes.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{Request, header};
use http_body_util::BodyExt;
use qm_db::{Db, db_test};
use qm_kernel::Secret;
use qm_kernel::secret::MASK;
use qm_ports::metadata::ProviderError;
use qm_test_base::RoleTokens;
use qm_web::{Docs, WebConfig};
use serde_json::{Value, json};
use tower::ServiceExt;

use super::routes;
use crate::EnvironmentKeys;
use crate::settings::{PROVIDER_A_API_KEY, UNIVERSAL_SCRAPER};
use crate::testing::House;

async fn ask(house: &House, role: &str, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
    let config = WebConfig {
        throttle_limit: 0,
        docs: Docs::Hidden,
        ..WebConfig::default()
    };
    let state = routes().with_state(house.app.clone());
    let router = qm_web::finish(state, config, Arc::new(RoleTokens), house.clock.ctx());
    let mut request = Request::builder()
        .method(method)
        .uri(format!("/api/media/providers{path}"))
        .header(header::AUTHORIZATION, format!("Bearer {role}"));
    let body = match body {
        Some(body) => {
            request = request.header(header::CONTENT_TYPE, "application/json");
            Body::from(body.to_string())
        }
        None => Body::empty(),
    };
    let response = router.oneshot(request.body(body).unwrap()).await.unwrap();
    let status = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap_or_default())
}

db_test! {
    async fn who_is_asked_is_listed(db: Db) {
        let house = House::new(&db, EnvironmentKeys::default());
        let (status, none) = ask(&house, "READ_ONLY", "GET", "", None).await;
        assert_eq!((status, &none["configured"], &none["chains"]), (200, &json!([]), &json!({ "tv": [], "movie": [] })));
        let house = House::with_keys(&db);
        house.providers.dropped_in.lock().unwrap().push("archive".into());
        let (_, told) = ask(&house, "READ_ONLY", "GET", "", None).await;
        assert_eq!(told["configured"], json!(["provider_b", "provider_a", "archive"]));
        assert_eq!(told["chains"], json!({
            "tv": ["provider_b", "provider_a", "archive"], "movie": ["provider_a", "provider_b", "archive"],
        }));
        assert_eq!(told["universal"]["composableFields"].as_array().unwrap().len(), 15);
        assert!(!told.to_string().contains("key-of"), "{told}");
        let mut tx = db.begin_write().await.unwrap();
        house.settings.put(&mut tx, &UNIVERSAL_SCRAPER, &true).await.unwrap();
        tx.commit().await.unwrap();
        let (_, told) = ask(&house, "READ_ONLY", "GET", "", None).await;
        assert_eq!(told["chains"], json!({ "tv": ["universal"], "movie": ["universal"] }));
        assert_eq!((&told["universal"]["enabled"], &told["universal"]["active"]), (&json!(true), &json!(true)));
    }

    async fn a_key_is_tested_and_told_to_nobody(db: Db) {
        let house = House::new(&db, EnvironmentKeys { provider_b: Some(Secret::new("of-the-environment")), ..EnvironmentKeys::default() });
        let test = async |path: &str, body: Option<Value>| {
            let (status, told) = ask(&house, "ADMINISTRATOR", "POST", path, body).await;
            assert_eq!(status, 201, "{told}");
            (told["ok"].as_bool().unwrap(), told["message"].as_str().unwrap().to_owned())
        };
        let used = || house.providers.keys.lock().unwrap().pop().flatten();
        let (a, b) = ("/provider_a/test", "/provider_b/test");
        assert_eq!(test(a, None).await, (false, "No API key is set.".into()));
        assert_eq!(test(a, Some(json!({ "apiKey": "  " }))).await, (false, "No API key is set.".into()));
        assert_eq!(house.providers.asked(), [""; 0], "nobody is asked without a key");
        assert_eq!(test(a, Some(json!({ "apiKey": " s3cret " }))).await, (true, "The key is valid.".into()));
        assert_eq!(used().as_deref(), Some("s3cret"));
        assert!(test(b, Some(json!({ "apiKey": "", "pin": null }))).await.0);
        assert_eq!(used().as_deref(), Some("of-the-environment"));
        let mut tx = db.begin_write().await.unwrap();
        house.settings.put_secret(&mut tx, &PROVIDER_A_API_KEY, &Secret::new("stored")).await.unwrap();
        tx.commit().await.unwrap();
        assert!(test(a, Some(json!({ "apiKey": MASK }))).await.0);
        assert_eq!(used().as_deref(), Some("stored"), "what a client was shown is no key");
        for (error, message) in [
            (ProviderError::Auth("Invalid API key".into()), "The key was rejected (401)."),
            (ProviderError::Status { status: 503, message: "x".into() }, "Unexpected response (HTTP 503)."),
            (ProviderError::Unreachable("nobody listens".into()), "Could not reach the provider: nobody listens"),
            (ProviderError::Timeout("late".into()), "Could not reach the provider: timed out (8 s)."),
        ] {
            house.providers.fail("provider_a", "verify", Some(error));
            assert_eq!(test(a, None).await, (false, message.to_owned()));
        }
        let audited = house.audited().await;
        assert_eq!(audited.len(), 9);
        assert!(audited.iter().any(|line| line.starts_with("media.provider_a.key_tested success media.providerAApiKey")), "{audited:?}");
        assert!(audited.iter().all(|line| !line.contains("s3cret") && !line.contains("stored")), "{audited:?}");
        for (body, status) in [(json!({ "apiKey": "k".repeat(2000) }), 400), (json!({ "apiKey": false }), 400)] {
            let (seen, told) = ask(&house, "ADMINISTRATOR", "POST", a, Some(body)).await;
            assert_eq!(seen, status, "{told}");
        }
        assert_eq!(ask(&house, "READ_ONLY", "POST", a, None).await.0, 403);
    }
}
