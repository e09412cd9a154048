//! Tests of all answers: headers, CORS, error bodies, validators.

use qm_web::WebConfig;

use crate::support::{Answer, server, start};

const SECURITY: &[(&str, &str)] = &[
    ("strict-transport-security", "max-age=31536000; includeSubDomains"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "SAMEORIGIN"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "cross-origin"),
    (
        "content-security-policy",
        "default-src 'self';base-uri 'self';font-src 'self' https: data:;form-action 'self';frame-ancestors 'self';\
         img-src 'self' data:;object-src 'none';script-src 'self';script-src-attr 'none';\
         style-src 'self' https: 'unsafe-inline';upgrade-insecure-requests",
    ),
    ("origin-agent-cluster", "?1"),
    ("referrer-policy", "no-referrer"),
    ("x-dns-prefetch-control", "off"),
    ("x-download-options", "noopen"),
    ("x-permitted-cross-domain-policies", "none"),
    ("x-xss-protection", "0"),
    ("access-control-allow-credentials", "true"),
];

fn assert_secure(answer: &Answer, what: &str) {
    for (name, value) in SECURITY {
        assert_eq!(answer.header(name).as_deref(), Some(*value), "{name} of {what}");
    }
    assert!(answer.header("vary").unwrap().contains("Origin"), "{what}");
    assert_eq!(answer.header("x-powered-by"), None);
    assert_eq!(answer.header("x-request-id").unwrap().len(), 16, "{what}");
}

#[tokio::test]
async fn security_headers_are_on_every_answer() {
    let server = start(WebConfig {
        throttle_limit: 1,
        ..WebConfig::default()
    })
    .await;
    for (method, target, status) in [
        ("GET", "/api/things", 200),
        ("GET", "/api/things", 429),
        ("GET", "/api/nope", 404),
        ("PUT", "/api/things", 405),
        ("GET", "/api/things/1", 401),
        ("POST", "/api/account", 400),
        ("GET", "/api/failing/panic", 500),
        ("GET", "/api/framework", 422),
        ("OPTIONS", "/api/things", 204),
    ] {
        let answer = server.ask(method, target, &[], b"").await;
        assert_eq!(answer.status, status, "{method} {target}");
        assert_secure(&answer, &format!("{method} {target} {status}"));
    }
}

#[tokio::test]
async fn error_bodies_are_those_of_the_contract() {
    let server = server().await;
    for (target, body) in [
        (
            "/api/failing/panic",
            r#"{"message":"Internal server error","statusCode":500,"code":"internal"}"#,
        ),
        (
            "/api/failing/internal",
            r#"{"message":"Internal server error","statusCode":500,"code":"internal"}"#,
        ),
        (
            "/api/failing/upstream",
            r#"{"message":"Engine `a` cannot be reached","error":"Bad Gateway","statusCode":502,"code":"upstream"}"#,
        ),
        (
            "/api/failing/timeout",
            r#"{"message":"Engine `a` did not answer","error":"Gateway Timeout","statusCode":504,"code":"upstream_timeout"}"#,
        ),
        (
            "/api/failing/conflict",
            r#"{"message":"It exists","error":"Conflict","statusCode":409,"code":"conflict.thing"}"#,
        ),
        (
            "/api/failing/bare",
            r#"{"message":"Unauthorized","statusCode":401,"code":"unauthorized"}"#,
        ),
        (
            "/api/failing/custom",
            r#"{"code":"unauthorized","error":"TwoFactorRequired","message":"Two","statusCode":401,"twoFactorRequired":true}"#,
        ),
        (
            "/api/framework",
            r#"{"message":"Unprocessable Entity","error":"Unprocessable Entity","statusCode":422,"code":"unprocessable"}"#,
        ),
    ] {
        let answer = server.get(target).await;
        assert_eq!(answer.body, body, "{target}");
        assert_eq!(answer.json()["statusCode"], answer.status, "{target}");
        assert_eq!(
            answer.header("content-type").as_deref(),
            Some("application/json; charset=utf-8"),
            "{target}"
        );
    }
}

#[tokio::test]
async fn an_unknown_path_is_a_404_and_an_unknown_method_a_405_that_names_the_known_ones() {
    let server = server().await;
    for (method, target, allowed) in [
        ("GET", "/", None),
        ("GET", "/api/nope", None),
        ("PUT", "/api/things", Some("GET,HEAD")),
        ("DELETE", "/api/failing/x", Some("GET,HEAD")),
        ("PUT", "/api/things/1", Some("GET,HEAD,DELETE")),
        ("GET", "/api/account", Some("POST")),
        ("GET", "/api/failing/%FF", None),
    ] {
        let answer = server.ask(method, &format!("{target}?token=x"), &[], b"").await;
        let (status, error, code) = match allowed {
            Some(_) => (405, "Method Not Allowed", "method_not_allowed"),
            None => (404, "Not Found", "not_found"),
        };
        let body = format!(
            r#"{{"message":"Cannot {method} {target}","error":"{error}","statusCode":{status},"code":"{code}"}}"#
        );
        assert_eq!((answer.status, &answer.body), (status, &body));
        assert_eq!(answer.header("allow").as_deref(), allowed, "{method} {target}");
    }
}

#[tokio::test]
async fn listed_origins_are_echoed_and_preflights_answered() {
    let cors_origins = vec!["https://a.example".to_owned(), " https://b.example ".to_owned()];
    let server = start(WebConfig {
        cors_origins,
        ..WebConfig::default()
    })
    .await;
    for (origin, echoed) in [
        ("https://a.example", true),
        ("https://b.example", true),
        ("https://c.example", false),
        ("https://a.example.evil.test", false),
        ("null", false),
    ] {
        for method in ["GET", "OPTIONS"] {
            let asked = [
                ("Origin", origin),
                ("Access-Control-Request-Headers", "authorization,x-a"),
            ];
            let answer = server.ask(method, "/api/things", &asked, b"").await;
            let allowed = answer.header("access-control-allow-origin");
            assert_eq!(allowed.as_deref(), echoed.then_some(origin), "{method} {origin}");
            assert_eq!(
                answer.status,
                if method == "GET" { 200 } else { 204 },
                "the request itself runs"
            );
            if method == "OPTIONS" {
                assert_eq!(
                    answer.header("access-control-allow-methods").as_deref(),
                    Some("GET,HEAD,PUT,PATCH,POST,DELETE")
                );
                assert_eq!(
                    answer.header("access-control-allow-headers").as_deref(),
                    Some("authorization,x-a")
                );
                assert_eq!(
                    answer.header("vary").as_deref(),
                    Some("Origin, Access-Control-Request-Headers")
                );
                assert_eq!(answer.body, "");
            }
        }
    }
}

#[tokio::test]
async fn json_answers_carry_a_validator() {
    let server = server().await;
    let first = server.get("/api/things?search=a").await;
    let tag = first.header("etag").unwrap();
    assert!(tag.starts_with("W/\""), "{tag}");
    assert_ne!(
        server.get("/api/things?search=b").await.header("etag").unwrap(),
        tag
    );
    for (asked, status) in [
        (tag.as_str(), 304),
        (tag.trim_start_matches("W/"), 304),
        (&format!("\"other\", {tag}"), 304),
        ("*", 304),
        ("\"other\"", 200),
        ("", 200),
    ] {
        let again = server
            .ask("GET", "/api/things?search=a", &[("If-None-Match", asked)], b"")
            .await;
        assert_eq!(again.status, status, "{asked}");
        assert_eq!(again.header("etag").as_deref(), Some(tag.as_str()));
        assert_eq!(again.body.is_empty(), status == 304);
    }
    let prepared = server.get("/api/prepared").await;
    assert_eq!(
        (prepared.header("etag").as_deref(), prepared.body.as_str()),
        (Some("W/\"own-1\""), "{\"prepared\":true}")
    );
    assert_eq!(prepared.header("x-snapshot-at").as_deref(), Some("now"));
    let again = server
        .ask("GET", "/api/prepared", &[("If-None-Match", "W/\"own-1\"")], b"")
        .await;
    assert_eq!((again.status, again.body.as_str()), (304, ""));
    assert_eq!(server.get("/api/nope").await.header("etag"), None);
    assert_eq!(
        server
            .post("/api/account", r#"{"username":"a","password":"ab"}"#)
            .await
            .header("etag"),
        None
    );
}

#[tokio::test]
async fn the_request_id_is_ours_whatever_the_caller_sends() {
    let server = server().await;
    let mut seen = std::collections::HashSet::new();
    for sent in ["0123456789abcdef", "", "a\"b", &"x".repeat(5000)] {
        let answer = server
            .ask("GET", "/api/client", &[("X-Request-Id", sent)], b"")
            .await;
        let id = answer.header("x-request-id").unwrap();
        assert!(
            id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{id}"
        );
        assert_eq!(answer.json()["id"], id);
        assert!(id != sent && seen.insert(id), "{sent}");
    }
}

#[tokio::test]
async fn a_preflight_asks_for_no_more_than_it_needs() {
    let server = start(WebConfig {
        throttle_limit: 1,
        ..WebConfig::default()
    })
    .await;
    for target in ["/api/things", "/api/things", "/api/nope"] {
        let answer = server
            .ask("OPTIONS", target, &[("Origin", "http://localhost:5173")], b"")
            .await;
        assert_eq!(
            answer.status, 204,
            "it is neither throttled nor asked for a token"
        );
        assert_eq!(
            answer.header("access-control-allow-headers"),
            None,
            "none were asked for"
        );
        assert_eq!(
            answer.header("access-control-allow-origin").as_deref(),
            Some("http://localhost:5173")
        );
        assert_eq!(answer.header("x-ratelimit-limit"), None);
    }
}

#[tokio::test]
async fn a_head_request_is_a_get_without_its_body() {
    let server = server().await;
    let answer = server.ask("HEAD", "/api/things", &[], b"").await;
    assert_eq!((answer.status, answer.body.as_str()), (200, ""));
    assert!(answer.header("etag").is_some());
}
