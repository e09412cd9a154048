//! Content of the API document for every operation.

use std::collections::BTreeSet;

use qm_kernel::Permission;
use serde_json::Value;

/// Permissions in a text, each by itself.
fn named(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !(c.is_ascii_lowercase() || matches!(c, '.' | '_')));
    words
        .filter(|word| Permission::from_key(word).is_some())
        .collect()
}

/// An operation that a value of its body makes refuse for a permission tells which, beside those it always asks for.
#[test]
fn permissions_by_body_are_in_the_document() {
    let document: Value = serde_json::from_str(&qm_server::api::document().unwrap()).unwrap();
    let (mut judging, mut silent) = (0, Vec::new());
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let refused = operation["responses"]["403"]["description"].as_str();
            let by_body = &operation["x-permissions-by-body"];
            judging += usize::from(by_body.is_object());
            // Of what has no body it is the thing itself that decides.
            if operation.get("requestBody").is_none() {
                continue;
            }
            let told = format!("{} {by_body}", operation["x-permissions"]);
            let told = named(&told);
            for permission in named(refused.unwrap_or_default()) {
                if !told.contains(permission) {
                    silent.push(format!("{method} {path}: {permission}"));
                }
            }
        }
    }
    assert!(
        silent.is_empty(),
        "say it with `needs_by` on the route line: {silent:#?}"
    );
    assert_eq!(judging, 8, "they are found at all");
    let bulk = &document["paths"]["/api/torrents/bulk"]["post"]["x-permissions-by-body"]["action"];
    assert_eq!(
        bulk["removeData"],
        serde_json::json!(["torrents.delete_data"]),
        "{bulk}"
    );
    assert_eq!(bulk.as_object().unwrap().len(), 32, "{bulk}");
}

/// Answer of the connection before it knows the operation.
#[test]
fn every_operation_may_be_asked_for_with_too_long_a_head() {
    let document: Value = serde_json::from_str(&qm_server::api::document().unwrap()).unwrap();
    for methods in document["paths"].as_object().unwrap().values() {
        for operation in methods
            .as_object()
            .unwrap()
            .values()
            .filter(|one| one["x-access"].is_string())
        {
            for status in ["414", "431"] {
                assert!(operation["responses"].get(status).is_some(), "{operation}");
            }
        }
    }
}
