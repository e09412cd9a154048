//! Tests of access: throttle, bearer token, permission, and the order of these checks.

use std::time::Duration;

use axum::response::IntoResponse as _;
use http::Method;
use qm_kernel::ErrorKind;
use qm_web::{ApiError, Doorkeeper, WebConfig};
use serde_json::json;

use crate::support::{server, start};

const WRONG_TYPE: &str = r#"{"message":"Invalid token type","error":"Unauthorized","statusCode":401,"code":"unauthorized.token_type"}"#;
const UNAUTHORIZED: &str = r#"{"message":"Unauthorized","statusCode":401,"code":"unauthorized"}"#;

fn missing(text: &str) -> String {
    format!(
        r#"{{"message":"Missing permission(s): {text}","error":"Forbidden","statusCode":403,"code":"forbidden.permission"}}"#
    )
}

#[tokio::test]
async fn bearer_and_permission() {
    let server = server().await;
    for (method, target, authorization, status, body) in [
        ("GET", "/api/things/1", None, 401, Some(UNAUTHORIZED.to_owned())),
        (
            "GET",
            "/api/things/1",
            Some("Bearer wrong"),
            401,
            Some(UNAUTHORIZED.to_owned()),
        ),
        (
            "GET",
            "/api/things/1",
            Some("Basic viewer"),
            401,
            Some(UNAUTHORIZED.to_owned()),
        ),
        (
            "GET",
            "/api/things/1",
            Some("Bearer"),
            401,
            Some(UNAUTHORIZED.to_owned()),
        ),
        (
            "GET",
            "/api/things/1",
            Some("Bearer  "),
            401,
            Some(UNAUTHORIZED.to_owned()),
        ),
        (
            "GET",
            "/api/things/1",
            Some("key_0123456789"),
            401,
            Some(UNAUTHORIZED.to_owned()),
        ),
        (
            "GET",
            "/api/things/1",
            Some("Bearer refresh"),
            401,
            Some(WRONG_TYPE.to_owned()),
        ),
        ("GET", "/api/things/1", Some("Bearer nobody"), 200, None),
        ("GET", "/api/things/1", Some("bearer nobody"), 200, None),
        (
            "DELETE",
            "/api/things/1",
            Some("Bearer nobody"),
            403,
            Some(missing("torrents.view")),
        ),
        ("DELETE", "/api/things/1", Some("Bearer viewer"), 200, None),
        ("DELETE", "/api/things/1", Some("Bearer root"), 200, None),
        (
            "POST",
            "/api/strict",
            Some("Bearer nobody"),
            403,
            Some(missing("torrents.view, torrents.add")),
        ),
        (
            "POST",
            "/api/strict",
            Some("Bearer viewer"),
            403,
            Some(missing("torrents.add")),
        ),
        ("POST", "/api/strict", Some("Bearer adder"), 400, None),
        ("POST", "/api/strict", None, 401, Some(UNAUTHORIZED.to_owned())),
        ("GET", "/api/things", None, 200, None),
    ] {
        let headers: Vec<_> = authorization
            .into_iter()
            .map(|value| ("Authorization", value))
            .collect();
        let answer = server.ask(method, target, &headers, b"").await;
        assert_eq!(
            answer.status, status,
            "{method} {target} {authorization:?}: {answer:?}"
        );
        if let Some(body) = body {
            assert_eq!(answer.body, body, "{method} {target} {authorization:?}");
        }
    }
}

#[tokio::test]
async fn a_token_is_refused_from_the_instant_it_expires() {
    let server = server().await;
    assert_eq!(server.get_as("viewer", "/api/things/1").await.status, 200);
    server.clock.advance(Duration::from_secs(15 * 60 - 1));
    assert_eq!(server.get_as("viewer", "/api/things/1").await.status, 200);
    server.clock.advance(Duration::from_secs(1));
    assert_eq!(server.get_as("viewer", "/api/things/1").await.status, 401);
}

#[tokio::test]
async fn the_throttle_counts_by_method_route_and_address() {
    let server = server().await;
    let hit = |forwarded: &'static str| {
        let server = &server;
        async move {
            server
                .ask("GET", "/api/limited", &[("X-Forwarded-For", forwarded)], b"")
                .await
        }
    };
    for remaining in ["2", "1", "0"] {
        let answer = hit("198.51.100.7").await;
        assert_eq!(answer.status, 200);
        let show = |name| answer.header(name).unwrap();
        assert_eq!(
            (
                show("x-ratelimit-limit"),
                show("x-ratelimit-remaining"),
                show("x-ratelimit-reset")
            ),
            ("3".to_owned(), remaining.to_owned(), "60".to_owned())
        );
    }
    let blocked = hit("203.0.113.9, 198.51.100.7").await;
    assert_eq!(blocked.status, 429, "only the last forwarded entry counts");
    assert_eq!(
        blocked.body,
        r#"{"message":"ThrottlerException: Too Many Requests","statusCode":429,"code":"throttled"}"#
    );
    assert_eq!(blocked.header("retry-after").as_deref(), Some("60"));
    assert_eq!(blocked.header("x-ratelimit-limit"), None);
    assert_eq!(hit("198.51.100.8").await.status, 200, "another address");
    assert_eq!(
        hit("198.51.100.7, 198.51.100.8").await.status,
        200,
        "the entry before is the caller's own claim"
    );

    server.clock.advance(Duration::from_millis(59_001));
    let blocked = hit("198.51.100.7").await;
    assert_eq!(
        (blocked.status, blocked.header("retry-after").as_deref()),
        (429, Some("1"))
    );
    server.clock.advance(Duration::from_secs(1));
    assert_eq!(hit("198.51.100.7").await.status, 200);
}

#[tokio::test]
async fn the_general_limit_is_one_budget_a_method_and_pattern() {
    let server = start(WebConfig {
        throttle_limit: 2,
        ..WebConfig::default()
    })
    .await;
    assert_eq!(server.get("/api/things/1").await.status, 401);
    assert_eq!(server.get("/api/things/2").await.status, 401);
    assert_eq!(
        server.get_as("viewer", "/api/things/3").await.status,
        429,
        "path parameters do not split it"
    );
    assert_eq!(
        server.ask("DELETE", "/api/things/1", &[], b"").await.status,
        401,
        "another method"
    );
    assert_eq!(
        server.post("/api/strict", "{not json").await.status,
        401,
        "401 comes before 400"
    );
    for _ in 0..5 {
        assert_eq!(
            server.get("/api/nope").await.status,
            404,
            "an unknown route is not limited"
        );
        assert_eq!(server.get("/api/unlimited").await.status, 200);
    }
    assert_eq!(
        server.get("/api/unlimited").await.header("x-ratelimit-limit"),
        None
    );
    for status in [200, 200, 429] {
        assert_eq!(server.get("/api/docs").await.status, status);
    }
}

#[tokio::test]
async fn the_client_is_one_trusted_hop_away() {
    let agent = ("User-Agent", "curl/8");
    let server_ = server().await;
    let answer = server_
        .ask(
            "GET",
            "/api/client",
            &[("X-Forwarded-For", "a, 198.51.100.7"), agent],
            b"",
        )
        .await;
    let id = answer.header("x-request-id").unwrap();
    let expected =
        json!({ "ip": "198.51.100.7", "forwarded": "a, 198.51.100.7", "userAgent": "curl/8", "id": id });
    assert_eq!(answer.json(), expected);
    assert_eq!(server_.get("/api/client").await.json()["forwarded"], "127.0.0.1");
    let long = "9".repeat(600);
    let long_end = format!("{}, 198.51.100.7", &long[..498]);
    for (sent, ip, forwarded) in [
        (
            vec!["203.0.113.9", "198.51.100.7"],
            "198.51.100.7",
            "203.0.113.9, 198.51.100.7",
        ),
        (
            vec!["203.0.113.9, nonsense"],
            "127.0.0.1",
            "203.0.113.9, nonsense",
        ),
        (vec![" "], "127.0.0.1", "127.0.0.1"),
        (vec![&long, "198.51.100.7"], "198.51.100.7", &long_end),
    ] {
        let headers: Vec<_> = sent.iter().map(|value| ("X-Forwarded-For", *value)).collect();
        let answer = server_.ask("GET", "/api/client", &headers, b"").await.json();
        assert_eq!(
            (&answer["ip"], &answer["forwarded"]),
            (&json!(ip), &json!(forwarded)),
            "{sent:?}"
        );
    }

    let direct = start(WebConfig {
        trusted_proxies: 0,
        ..WebConfig::default()
    })
    .await;
    let answer = direct
        .ask("GET", "/api/client", &[("X-Forwarded-For", "198.51.100.7")], b"")
        .await;
    assert_eq!(answer.json()["ip"], "127.0.0.1");
    assert_eq!(answer.json()["forwarded"], "127.0.0.1", "nobody vouches for it");
}

#[tokio::test]
async fn a_doorkeeper_turns_away_before_anybody_is_counted_or_known() {
    let server = start(WebConfig {
        throttle_limit: 1,
        doorkeeper: Some(Doorkeeper::new(|method, path| {
            let closed = *method != Method::GET || path == "/api/closed";
            closed.then(|| ApiError::new(ErrorKind::Unavailable, "closed").into_response())
        })),
        ..WebConfig::default()
    })
    .await;
    for (method, target, status) in [
        ("POST", "/api/steps", 503),
        ("POST", "/api/steps", 503),
        ("GET", "/api/closed", 503),
        ("GET", "/api/nope", 404),
        ("OPTIONS", "/api/things", 204),
        ("GET", "/api/things", 200),
        ("GET", "/api/things", 429),
    ] {
        let answer = server.ask(method, target, &[], b"").await;
        assert_eq!(answer.status, status, "{method} {target}");
        assert!(answer.header("x-request-id").is_some(), "{method} {target}");
        assert_eq!(
            answer.header("x-content-type-options").as_deref(),
            Some("nosniff")
        );
    }
}
