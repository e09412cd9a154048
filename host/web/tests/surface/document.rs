//! Tests of the API document and its page.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use qm_web::{Docs, WebConfig, document};
use serde_json::{Value, json};

use crate::support::{server, start};

#[tokio::test]
async fn the_document_says_who_may_call_and_what_can_fail() {
    let server = server().await;
    let served = server.get("/api/docs/openapi.json").await;
    assert_eq!(
        served.body,
        document(&server.api).unwrap(),
        "what is served is what is committed"
    );
    let api = served.json();
    assert_eq!(api["openapi"], "3.1.0");
    assert_eq!(api["info"]["title"], "Quartermaster");
    assert_eq!(api["components"]["securitySchemes"]["bearer"]["scheme"], "bearer");

    for (path, method, access, permissions, codes) in [
        (
            "/api/things",
            "get",
            "public",
            vec![],
            "200 304 400 414 429 431 500 503",
        ),
        (
            "/api/things/{id}",
            "get",
            "authenticated",
            vec![],
            "200 401 404 414 429 431 500 502 503",
        ),
        (
            "/api/things/{id}",
            "delete",
            "permissions",
            vec!["torrents.view"],
            "200 401 403 404 414 429 431 500 503",
        ),
        (
            "/api/account",
            "post",
            "public",
            vec![],
            "201 400 408 413 414 415 429 431 500 503",
        ),
        (
            "/api/strict",
            "post",
            "permissions",
            vec!["torrents.view", "torrents.add"],
            "201 400 401 403 408 413 414 415 429 431 500 503",
        ),
    ] {
        let operation = &api["paths"][path][method];
        assert_eq!(operation["x-access"], access, "{method} {path}");
        assert_eq!(operation["x-permissions"], json!(permissions), "{method} {path}");
        let security = if access == "public" {
            json!([])
        } else {
            json!([{ "bearer": [] }])
        };
        assert_eq!(operation["security"], security, "{method} {path}");
        let responses: Vec<&str> = operation["responses"]
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(responses.join(" "), codes, "{method} {path}");
        assert_eq!(operation["tags"], json!(["test"]));
    }
    for (path, limit) in [
        ("/api/account", json!(16 * 1024)),
        ("/api/large", json!(1024 * 1024)),
        ("/api/steps", json!(null)),
    ] {
        assert_eq!(api["paths"][path]["post"]["x-body-limit"], limit, "{path}");
    }
    let ticketed = &api["paths"]["/api/unlimited"]["get"];
    assert_eq!(ticketed["x-access"], "authenticated");
    assert_eq!(ticketed["security"], json!([{ "ticket": [] }]));
    let scheme = &api["components"]["securitySchemes"]["ticket"];
    assert_eq!(
        (&scheme["in"], &scheme["name"]),
        (&json!("query"), &json!("pass"))
    );
    let upstream = &api["paths"]["/api/things/{id}"]["get"]["responses"]["502"];
    assert_eq!(
        upstream["content"]["application/json"]["schema"]["$ref"],
        "#/components/schemas/Error"
    );
}

#[tokio::test]
async fn every_reference_leads_somewhere_and_ids_are_unique() {
    let api = server().await.get("/api/docs/openapi.json").await.json();
    let mut ids = BTreeSet::new();
    for operation in api["paths"]
        .as_object()
        .unwrap()
        .values()
        .flat_map(|item| item.as_object().unwrap().values())
    {
        assert!(
            ids.insert(operation["operationId"].as_str().unwrap().to_owned()),
            "{}",
            operation["operationId"]
        );
    }
    let mut references = Vec::new();
    collect(&api, &mut references);
    assert!(!references.is_empty());
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(api.pointer(pointer).is_some(), "{reference} leads nowhere");
    }
}

fn collect(value: &Value, references: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            references.extend(map.get("$ref").and_then(Value::as_str).map(str::to_owned));
            map.values().for_each(|value| collect(value, references));
        }
        Value::Array(items) => items.iter().for_each(|value| collect(value, references)),
        _ => {}
    }
}

#[tokio::test]
async fn the_page_needs_no_other_host_and_no_inline_script() {
    let server = server().await;
    for (path, kind) in [
        ("/api/docs", "text/html; charset=utf-8"),
        ("/api/docs/page.js", "text/javascript; charset=utf-8"),
        ("/api/docs/page.css", "text/css; charset=utf-8"),
    ] {
        let answer = server.get(path).await;
        assert_eq!(
            (answer.status, answer.header("content-type").as_deref()),
            (200, Some(kind)),
            "{path}"
        );
        assert!(!answer.body.contains("://"), "{path} names another host");
        let policy = answer.header("content-security-policy").unwrap();
        assert!(
            policy.contains("script-src 'self'") && !policy.contains("unsafe"),
            "{policy}"
        );
    }
    let page = server.get("/api/docs").await.body;
    assert_eq!(
        page.matches("<script").count(),
        page.matches("<script src=").count(),
        "an inline script"
    );
    assert!(
        !page.contains("style=") && !page.contains("onclick"),
        "inline style or handler"
    );
}

#[tokio::test]
async fn the_page_is_there_only_when_asked_for() {
    let server = start(WebConfig {
        docs: Docs::Hidden,
        ..WebConfig::default()
    })
    .await;
    for path in ["/api/docs", "/api/docs/openapi.json", "/api/docs/page.js"] {
        assert_eq!(server.get(path).await.status, 404, "{path}");
    }
    assert!(!server.api.paths.paths.is_empty());
}

#[tokio::test]
async fn a_document_is_made_when_somebody_asks_and_once() {
    let made = Arc::new(AtomicU32::new(0));
    let count = made.clone();
    let maker = move || match count.fetch_add(1, Ordering::SeqCst) {
        0 => Err(serde_json::Error::io(std::io::Error::other("no room"))),
        _ => Ok("{}\n".to_owned()),
    };
    let server = start(WebConfig {
        docs: Docs::Later(Arc::new(maker)),
        ..WebConfig::default()
    })
    .await;
    assert_eq!(made.load(Ordering::SeqCst), 0);
    assert_eq!(server.get("/api/docs").await.status, 200);
    assert_eq!(made.load(Ordering::SeqCst), 0, "the page asks for it by itself");
    let failed = server.get("/api/docs/openapi.json").await;
    assert_eq!(failed.status, 500);
    assert!(!failed.body.contains("no room"), "{}", failed.body);
    for _ in 0..3 {
        assert_eq!(server.get("/api/docs/openapi.json").await.body, "{}\n");
    }
    assert_eq!(made.load(Ordering::SeqCst), 2);
}
