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
use crate::testing::House;

async fn ask(router: &Router, role: &str, path: &str, body: Option<Value>) -> (u16, Value) {
    let mut request = Request::builder()
        .method(if body.is_some() { "POST" } else { "GET" })
        .uri(format!("/api/rss/show-status{path}"))
        .header(header::AUTHORIZATION, format!("Bearer {role}"));
    let body = match body {
        Some(body) => {
            request = request.header(header::CONTENT_TYPE, "application/json");
            Body::from(body.to_string())
        }
        None => Body::empty(),
    };
    let response = router.clone().oneshot(request.body(body).unwrap()).await.unwrap();
    let status = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap_or_default())
}

fn router(house: &House) -> Router {
    let config = WebConfig {
        throttle_limit: 0,
        docs: Docs::Hidden,
        ..WebConfig::default()
    };
    let state = routes().with_state(house.app.clone());
    qm_web::finish(state, config, Arc::new(RoleTokens), Ctx::system())
}

db_test! {
    async fn a_show_is_looked_up(db: Db) {
        let house = House::new(&db).await;
        let site = router(&house);
        house.first.show("81123", "Harbor Nine", "Returning Series");
        let (status, told) = ask(&site, "READ_ONLY", "/lookup?title=harbor%20nine&year=2023", None).await;
        assert_eq!(status, 200, "{told}");
        assert_eq!(told, json!({
            "title": "Harbor Nine", "normalizedTitle": "harbor nine", "provider": "provider_a", "providerShowId": "81123",
            "originalStatus": "Returning Series", "normalizedStatus": "returning", "recommendation": "recommended",
            "confidence": 0.95, "firstAirDate": null, "lastAirDate": "2031-03-01", "nextEpisodeAirDate": "2031-09-01",
            "lastEpisodeTitle": null, "nextEpisodeTitle": null, "totalSeasons": 3, "totalEpisodes": null, "overview": null,
            "posterUrl": null, "warnings": [],
        }));
        let (status, told) = ask(&site, "READ_ONLY", "/lookup?title=other&provider=provider_a", None).await;
        assert_eq!((status, &told["normalizedStatus"], &told["provider"]), (200, &json!("unknown"), &json!("none")));
        for path in ["/lookup", "/lookup?title=", "/lookup?title=%20"] {
            let (status, refused) = ask(&site, "READ_ONLY", path, None).await;
            assert_eq!(status, 400);
            assert!(refused["message"].to_string().contains("title is required"), "{refused}");
        }
        let long = format!("/lookup?title={}", "x".repeat(301));
        assert_eq!(ask(&site, "READ_ONLY", &long, None).await.0, 400);
    }

    async fn fifty_shows_are_looked_up_in_their_order(db: Db) {
        let house = House::new(&db).await;
        let site = router(&house);
        house.first.show("1", "Harbor Nine", "Ended");
        let mut queries = vec![json!({ "title": " " }), json!({}), json!(7), json!({ "title": "Nobody", "year": "x" })];
        queries.extend((0..60).map(|_| json!({ "title": "Harbor Nine", "year": "2023", "provider": "" })));
        let (status, told) = ask(&site, "USER", "/lookup-batch", Some(json!({ "queries": queries }))).await;
        assert_eq!(status, 201, "{told}");
        let told = told.as_array().unwrap();
        assert_eq!(told.len(), 50);
        assert_eq!((&told[0]["title"], &told[0]["normalizedStatus"]), (&json!("Nobody"), &json!("unknown")));
        assert!(told[1..].iter().all(|told| told["normalizedStatus"] == "ended"));
        for body in [json!({}), json!({ "queries": "Harbor Nine" })] {
            assert_eq!(ask(&site, "USER", "/lookup-batch", Some(body)).await.0, 400);
        }
        assert_eq!(ask(&site, "USER", "/lookup-batch", Some(json!({ "queries": [] }))).await, (201, json!([])));
    }
}
