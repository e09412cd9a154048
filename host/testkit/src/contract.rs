//! The promises of the documents, checked against everything a test receives. A test fails when it gets an answer whose
//! status its operation does not document, an answer of another shape, or a realtime message that `docs/realtime.md`
//! does not describe.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

use crate::http::Reply;

/// The API document, as the server makes it of its routes.
static API: LazyLock<Value> = LazyLock::new(|| {
    let text = qm_server::api::document().expect("the document is JSON");
    serde_json::from_str(&text).expect("the document is JSON")
});

/// Largest body whose shape is looked at, in bytes: longer ones repeat what a short one shows.
const MAX_SHAPED: usize = 1024 * 1024;

/// The sections of the page, by event.
static EVENTS: LazyLock<BTreeMap<&str, &str>> = LazyLock::new(|| {
    let page = include_str!("../../../docs/realtime.md");
    let sections = page.split("\n### `").skip(1);
    sections.filter_map(|section| section.split_once("`\n")).collect()
});

/// Holds an answer against the document. What no operation stands for (an unknown path, another method) is not in it.
///
/// # Panics
/// When the document does not promise it.
pub fn answer(method: &str, path: &str, reply: &Reply) {
    if let Err(wrong) = check_answer(method, path, reply) {
        panic!(
            "{method} {path} answered {} which the API document does not say: {wrong}\n{}\n\
             Name the error in the operation's `responses(…)`, or the field in its type.",
            reply.status,
            reply.text()
        );
    }
}

/// Holds a realtime message against `docs/realtime.md`, but for those that tests emit themselves, named `…for-…`.
///
/// # Panics
/// When the page has no section for the event, or the section lacks one of its fields.
pub fn message(event: &str, data: &Value) {
    if event.contains("for-") {
        return;
    }
    let section = EVENTS
        .get(event)
        .unwrap_or_else(|| panic!("docs/realtime.md has no section for the event `{event}`"));
    for field in data.as_object().into_iter().flat_map(|fields| fields.keys()) {
        assert!(
            section.contains(&format!("`{field}`")),
            "docs/realtime.md does not mention the field `{field}` of `{event}`"
        );
    }
}

fn check_answer(method: &str, path: &str, reply: &Reply) -> Result<(), String> {
    let Some(operation) = operation(method, path) else {
        return Ok(());
    };
    let response = &operation["responses"][reply.status.to_string()];
    if response.is_null() {
        return Err("no such status".to_owned());
    }
    let response = resolved(response);
    let is_json = reply
        .header("content-type")
        .is_some_and(|kind| kind.starts_with("application/json"));
    if !is_json || reply.body.is_empty() || reply.body.len() > MAX_SHAPED {
        return Ok(());
    }
    match &response["content"]["application/json"]["schema"] {
        Value::Null => return Err("no JSON is documented".to_owned()),
        schema => check(schema, &reply.json(), "the body", true)?,
    }
    if reply.status < 400 {
        return Ok(());
    }
    let code = &reply.json()["code"];
    let is_listed = list(&response["x-codes"]).any(|listed| listed == code);
    is_listed
        .then_some(())
        .ok_or_else(|| format!("the code {code} is not in `x-codes`"))
}

/// The operation that answers a request; of two whose paths fit, the one that says more of them.
fn operation(method: &str, path: &str) -> Option<&'static Value> {
    let path = path.split('?').next().unwrap_or_default();
    let method = match method {
        "HEAD" => "get".to_owned(),
        other => other.to_lowercase(),
    };
    let fitting = API["paths"]
        .as_object()?
        .iter()
        .filter(|(pattern, _)| fits(pattern, path));
    let (_, item) = fitting
        .max_by_key(|(pattern, _)| pattern.split('/').filter(|part| !part.starts_with('{')).count())?;
    item.get(&method)
}

fn fits(pattern: &str, path: &str) -> bool {
    let (mut wanted, mut given) = (pattern.split('/'), path.split('/'));
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return true,
            (Some(wanted), Some(given)) if wanted == given => {}
            (Some(wanted), Some(given)) if wanted.starts_with('{') && !given.is_empty() => {}
            _ => return false,
        }
    }
}

fn resolved(item: &'static Value) -> &'static Value {
    match item["$ref"].as_str() {
        Some(reference) => {
            let target = API.pointer(reference.trim_start_matches('#'));
            resolved(target.unwrap_or_else(|| panic!("{reference} leads nowhere")))
        }
        None => item,
    }
}

/// JSON Schema, as far as our documents use it; and where `whole`, a property that no part of it names is wrong.
fn check(schema: &'static Value, value: &Value, at: &str, whole: bool) -> Result<(), String> {
    let schema = resolved(schema);
    for part in list(&schema["allOf"]) {
        check(part, value, at, false)?;
    }
    for alternatives in ["oneOf", "anyOf"] {
        let tried: Vec<_> = list(&schema[alternatives])
            .map(|one| check(one, value, at, whole))
            .collect();
        if let Some(Err(wrong)) = tried.first()
            && tried.iter().all(Result::is_err)
        {
            return Err(wrong.clone());
        }
    }
    check_type(schema, value, at)?;
    if let Value::Array(allowed) = &schema["enum"]
        && !allowed.contains(value)
    {
        return Err(format!("{at}: {value} is none of {}", schema["enum"]));
    }
    match value {
        Value::Object(fields) => {
            if whole {
                check_names(schema, fields, at)?;
            }
            check_object(schema, fields, at)
        }
        Value::Array(items) if !schema["items"].is_null() => items
            .iter()
            .enumerate()
            .try_for_each(|(index, item)| check(&schema["items"], item, &format!("{at}[{index}]"), true)),
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or_default();
            let low = schema["minimum"].as_f64().is_some_and(|least| number < least);
            let high = schema["maximum"].as_f64().is_some_and(|most| number > most);
            if low || high {
                return Err(format!("{at}: {number} is out of its bounds"));
            }
            Ok(())
        }
        Value::String(text) if schema["format"] == "date-time" && !text.ends_with('Z') => {
            Err(format!("{at}: {text:?} is no time"))
        }
        _ => Ok(()),
    }
}

fn check_type(schema: &'static Value, value: &Value, at: &str) -> Result<(), String> {
    let fits = |kind: &str| match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("a schema of type {other}"),
    };
    let fine = match &schema["type"] {
        Value::String(kind) => fits(kind),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).any(fits),
        _ => true,
    };
    if fine {
        Ok(())
    } else {
        Err(format!("{at}: {value} is not of type {}", schema["type"]))
    }
}

fn check_object(
    schema: &'static Value,
    fields: &serde_json::Map<String, Value>,
    at: &str,
) -> Result<(), String> {
    for name in list(&schema["required"]).filter_map(Value::as_str) {
        if !fields.contains_key(name) {
            return Err(format!("{at}: `{name}` is missing"));
        }
    }
    let Value::Object(properties) = &schema["properties"] else {
        return Ok(());
    };
    for (name, value) in fields {
        match (properties.get(name), &schema["additionalProperties"]) {
            (Some(property), _) => check(property, value, &format!("{at}.{name}"), true)?,
            (None, extra @ Value::Object(_)) => check(extra, value, &format!("{at}.{name}"), true)?,
            (None, _) => {}
        }
    }
    Ok(())
}

fn check_names(
    schema: &'static Value,
    fields: &serde_json::Map<String, Value>,
    at: &str,
) -> Result<(), String> {
    let mut known = Vec::new();
    let is_closed = collect_names(schema, &mut known);
    match fields.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) if is_closed => Err(format!("{at}: `{name}` is not documented")),
        Some(_) | None => Ok(()),
    }
}

/// The properties of a schema and of all its parts. False: there may be others.
fn collect_names(schema: &'static Value, into: &mut Vec<&'static str>) -> bool {
    let schema = resolved(schema);
    let mut is_closed = matches!(schema["additionalProperties"], Value::Null | Value::Bool(false));
    let mut has_any = false;
    if let Value::Object(properties) = &schema["properties"] {
        has_any = true;
        into.extend(properties.keys().map(String::as_str));
    }
    for part in list(&schema["allOf"]) {
        has_any = true;
        is_closed &= collect_names(part, into);
    }
    is_closed && has_any
}

fn list(value: &'static Value) -> impl Iterator<Item = &'static Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderMap;
    use serde_json::json;

    use super::*;

    fn reply(status: u16, body: &Value) -> Reply {
        let mut headers = HeaderMap::new();
        headers.insert(
            "content-type",
            "application/json; charset=utf-8".parse().expect("a value"),
        );
        Reply {
            status,
            headers,
            body: body.to_string().into(),
        }
    }

    #[test]
    fn what_is_not_documented_is_found() {
        let live = json!({ "status": "ok", "uptime": 1.5 });
        let no_torrent =
            |code| json!({ "message": "", "error": "Not Found", "statusCode": 404, "code": code });
        for (path, status, body, wrong) in [
            ("/api/system/live", 200, live.clone(), None),
            ("/api/system/live?x=1", 200, live, None),
            ("/api/nowhere", 418, json!({}), None),
            ("/api/system/live", 418, json!({}), Some("no such status")),
            (
                "/api/system/live",
                200,
                json!({ "status": "ok" }),
                Some("`uptime` is missing"),
            ),
            (
                "/api/system/live",
                200,
                json!({ "status": 1, "uptime": 1 }),
                Some("not of type"),
            ),
            (
                "/api/system/live",
                200,
                json!({ "status": "ok", "uptime": 1, "more": 1 }),
                Some("`more` is not documented"),
            ),
            ("/api/torrents/ff", 404, no_torrent("not_found.torrent"), None),
            (
                "/api/torrents/ff",
                404,
                no_torrent("not_found.elephant"),
                Some("not in `x-codes`"),
            ),
        ] {
            let found = check_answer("GET", path, &reply(status, &body));
            match wrong {
                None => assert_eq!(found, Ok(()), "{path} {status} {body}"),
                Some(wrong) => assert!(
                    found.clone().is_err_and(|text| text.contains(wrong)),
                    "{path} {status} {body}: {found:?}"
                ),
            }
        }
    }

    #[test]
    fn paths_that_say_more_go_first() {
        let id = |path| operation("POST", path).map(|operation| operation["operationId"].clone());
        assert_eq!(id("/api/torrents/bulk"), Some(json!("bulk")));
        assert_eq!(id("/api/torrents/ff/start"), Some(json!("start_torrent")));
        assert_eq!(id("/api/torrents/ff/start/again"), None);
    }
}
