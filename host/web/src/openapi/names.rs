//! Names of schemas: one shape per name, no dangling reference, no unused schema.

use std::collections::BTreeSet;

use serde_json::Value;
use utoipa::openapi::{Components, Content, OpenApi, Ref, RefOr, Schema};

use super::input;

const PREFIX: &str = "#/components/schemas/";

/// Adds the schemas of a line. Two shapes under one name are a mistake.
pub(super) fn register(
    components: &mut Components,
    schemas: &[(String, RefOr<Schema>)],
    mistakes: &mut Vec<String>,
) {
    for (given, schema) in schemas {
        // The type inside `Body<…>` is listed too; the version of `Body` wins.
        let is_read = |(other, _): &(String, _)| other != given && read_as(other) == Some(given);
        if schemas.iter().any(is_read) {
            continue;
        }
        let name = plain(given);
        if let Some(unread) = input::unread(schema) {
            mistakes.push(format!("schema `{name}` declares {unread}, which nothing reads"));
        }
        match components.schemas.get(&name) {
            None => {
                components.schemas.insert(name, schema.clone());
            }
            Some(known) if known == schema => {}
            Some(_) => mistakes.push(format!(
                "two schemas are named `{name}`: give one of them a name of its area, `#[schema(as = …)]`"
            )),
        }
    }
}

/// The type behind a schema name of an extractor.
fn read_as(name: &str) -> Option<&str> {
    name.strip_prefix(input::BODY)
        .or_else(|| name.strip_prefix(input::UPLOAD))
}

/// `Body_NewTag` becomes `NewTag`, because the body is its only use; `Upload_AddTorrent` has a file too.
fn plain(name: &str) -> String {
    match (name.strip_prefix(input::BODY), name.strip_prefix(input::UPLOAD)) {
        (Some(body), _) => body.to_owned(),
        (None, Some(upload)) => format!("{upload}Upload"),
        (None, None) => name.to_owned(),
    }
}

/// Gives a request body its plain name; returns true if it is required. `None`: it is not named by its
/// reader.
pub(super) fn name_body(content: &mut Content, components: &Components) -> Option<bool> {
    let Some(RefOr::Ref(reference)) = &mut content.schema else {
        return None;
    };
    let name = reference.ref_location.strip_prefix(PREFIX)?;
    let plain = plain(name);
    if plain == name {
        return None;
    }
    let schema = components.schemas.get(&plain)?;
    *reference = Ref::from_schema_name(plain);
    Some(input::marked(schema, input::OPTIONAL).is_none())
}

/// Removes unused schemas, and reports dangling references.
pub(super) fn prune(api: &mut OpenApi, mistakes: &mut Vec<String>) {
    let Ok(whole) = serde_json::to_value(&*api) else {
        mistakes.push("the document is not JSON".to_owned());
        return;
    };
    let mut reached = BTreeSet::new();
    let mut next = Vec::new();
    references(&whole["paths"], &mut next);
    references(&whole["components"]["responses"], &mut next);
    while let Some(reference) = next.pop() {
        let Some(target) = whole.pointer(reference.trim_start_matches('#')) else {
            mistakes.push(format!("{reference} leads nowhere"));
            continue;
        };
        if reached.insert(reference) {
            references(target, &mut next);
        }
    }
    if let Some(components) = &mut api.components {
        components
            .schemas
            .retain(|name, _| reached.contains(&format!("{PREFIX}{name}")));
    }
}

fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            found.extend(map.get("$ref").and_then(Value::as_str).map(str::to_owned));
            map.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
