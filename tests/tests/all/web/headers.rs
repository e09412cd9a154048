//! The headers every answer carries, whatever route it is of and however it ends: security, cross-origin, budget.

use qm_kernel::Role;
use qm_test_base::engine::FakeKinds;
use qm_testkit::http::Reply;
use qm_testkit::{TestServer, both_databases};
use serde_json::json;

use crate::document::{fresh, operations};

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
];

const LISTED: &str = "https://ui.example.org";
const UNLISTED: &str = "https://ui.example.org.evil.example";

fn secured(reply: &Reply, what: &str) {
    for (name, value) in SECURITY {
        assert_eq!(reply.header(name), Some(*value), "{name} of {what}");
        assert_eq!(reply.headers.get_all(*name).iter().count(), 1, "{name} of {what}");
    }
    assert!(reply.header("x-powered-by").is_none(), "{what}");
    let id = reply.header("x-request-id").unwrap_or_default();
    assert!(
        id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "{what}: {id}"
    );
    assert_eq!(
        reply.header("access-control-allow-credentials"),
        Some("true"),
        "{what}"
    );
    let vary: Vec<String> = reply
        .headers
        .get_all("vary")
        .iter()
        .map(|value| String::from_utf8_lossy(value.as_bytes()).to_lowercase())
        .collect();
    assert!(
        vary.iter().any(|value| value.contains("origin")),
        "{what}: {vary:?}"
    );
}

async fn start(db: &qm_testkit::TestDb, root: &tempfile::TempDir) -> TestServer {
    TestServer::builder(db)
        .kinds(FakeKinds::first_party())
        .env("CORS_ORIGIN", format!("http://localhost:5173,{LISTED}"))
        .env("FILE_MANAGER_ROOTS", root.path().display().to_string())
        .start()
        .await
}

/// Requests a minute of the routes that have a budget of their own.
const BUDGETS: &[(&str, u32)] = &[
    ("POST /api/auth/login", 5),
    ("POST /api/auth/refresh", 20),
    ("POST /api/account/notifications/channels/chat_app_a/bot", 10),
    ("POST /api/account/notifications/channels/chat_app_a/confirm", 30),
    ("POST /api/account/notifications/channels/chat_app_b", 10),
    ("POST /api/account/notifications/channels/email", 10),
    ("POST /api/account/notifications/channels/{type}", 10),
    ("POST /api/account/notifications/channels/{type}/confirm", 30),
    ("POST /api/account/notifications/channels/{type}/test", 10),
    ("POST /api/media-server-analytics/settings/email/test", 10),
    ("GET /api/media/artwork/{artworkId}/image", 1200),
    ("POST /api/media/items/{id}/artwork/import", 30),
    ("POST /api/media/shows/{id}/artwork/import", 30),
    ("POST /api/media/server-integrations/{id}/test", 60),
    ("POST /api/media/server-integrations/{id}/refresh", 60),
    ("POST /api/media/providers/provider_a/test", 20),
    ("POST /api/media/providers/provider_b/test", 20),
    ("POST /api/indexers/search", 60),
    ("POST /api/indexers/{id}/test", 60),
    ("GET /api/indexers/{id}/search", 60),
    ("POST /api/integrations/indexer_proxy/test", 60),
    ("GET /api/integrations/indexer_proxy/status", 60),
    ("POST /api/integrations/indexer_proxy/import", 10),
    ("POST /api/rss/feeds/{id}/refresh", 60),
    ("GET /api/rss/show-status/lookup", 60),
    ("POST /api/rss/show-status/lookup-batch", 6),
    ("GET /api/media/providers/titledb/search", 30),
];

both_databases! {
    async fn every_answer_carries_them(db: &TestDb) {
        let root = tempfile::tempdir().expect("a temporary directory");
        let server = start(db, &root).await;
        let (anonymous, reader, admin) = (server.anonymous(), server.user(Role::ReadOnly), server.admin());
        for operation in operations(&anonymous).await {
            for api in [&anonymous, &reader, &admin] {
                for (origin, echoed) in [(None, None), (Some(LISTED), Some(LISTED)), (Some(UNLISTED), None), (Some("null"), None)] {
                    let request = fresh(api, &operation.method, &operation.target());
                    let request = match origin {
                        Some(origin) => request.header("origin", origin),
                        None => request,
                    };
                    let reply = request.send().await.expect("an answer");
                    let what = format!("{} ({}) from {origin:?}", operation.name(), reply.status);
                    secured(&reply, &what);
                    assert_eq!(reply.header("access-control-allow-origin"), echoed, "{what}");
                    if operation.path != "/api/files/stream" {
                        let limit: Option<u32> = reply.header("x-ratelimit-limit").and_then(|text| text.parse().ok());
                        assert!(limit.is_some_and(|limit| limit > 0), "{what}: {limit:?}");
                        assert!(reply.header("x-ratelimit-remaining").is_some(), "{what}");
                        assert!(reply.header("x-ratelimit-reset").is_some(), "{what}");
                    }
                    let json = reply.header("content-type").is_some_and(|kind| kind.starts_with("application/json"));
                    if operation.method == "GET" && reply.status == 200 && json {
                        assert!(reply.header("etag").is_some_and(|tag| tag.starts_with("W/\"")), "{what}");
                    }
                }
            }
        }
    }

    /// Except the pages of the API documentation, whose policy is a stricter one of their own.
    async fn answers_of_no_route_carry_them_too(db: &TestDb) {
        let root = tempfile::tempdir().expect("a temporary directory");
        let server = start(db, &root).await;
        let anonymous = server.anonymous();
        for (method, path, status) in [("GET", "/", 404), ("GET", "/api/nope", 404), ("PUT", "/api/torrents", 405)] {
            let reply = anonymous.send(method, path, None).await;
            let what = format!("{method} {path}");
            assert_eq!(reply.status, status, "{what}");
            secured(&reply, &what);
        }
        let preflight = anonymous
            .request("OPTIONS", "/api/torrents")
            .header("origin", LISTED)
            .header("access-control-request-method", "PATCH")
            .header("access-control-request-headers", "authorization,content-type,x-of-mine");
        let reply = preflight.send().await.expect("an answer");
        assert_eq!((reply.status, reply.body.len()), (204, 0));
        secured(&reply, "a preflight");
        for (name, value) in [
            ("access-control-allow-origin", LISTED),
            ("access-control-allow-methods", "GET,HEAD,PUT,PATCH,POST,DELETE"),
            ("access-control-allow-headers", "authorization,content-type,x-of-mine"),
        ] {
            assert_eq!(reply.header(name), Some(value), "{name}");
        }
    }

    async fn a_throttled_answer_says_when_to_come_back_and_nothing_else(db: &TestDb) {
        let server = TestServer::builder(db).kinds(FakeKinds::first_party()).env("THROTTLE_LIMIT", "1").start().await;
        let admin = server.admin();
        // The document itself is one hit of its own route.
        for operation in operations(&server.anonymous()).await {
            let budget = BUDGETS.iter().find(|(name, _)| *name == operation.name());
            let limit = budget.map_or(1, |(_, limit)| *limit);
            let ask = async || admin.request(&operation.method, &operation.target()).send().await.expect("an answer");
            if operation.path == "/api/files/stream" {
                assert_ne!((ask().await.status, ask().await.status), (429, 429), "a player asks as often as it likes");
                continue;
            }
            for _ in 0..limit {
                assert_ne!(ask().await.status, 429, "{}", operation.name());
            }
            let reply = ask().await;
            assert_eq!(reply.status, 429, "{}", operation.name());
            assert_eq!(reply.json(), json!({ "statusCode": 429, "message": "ThrottlerException: Too Many Requests", "code": "throttled" }));
            secured(&reply, &operation.name());
            let wait: Option<u32> = reply.header("retry-after").and_then(|text| text.parse().ok());
            assert!(wait.is_some_and(|seconds| (1..=60).contains(&seconds)), "{}: {wait:?}", operation.name());
            assert!(reply.header("x-ratelimit-limit").is_none(), "{}", operation.name());
        }
    }
}
