//! Tests that bodies, queries and failures in the document equal those of the code.

use std::panic::{AssertUnwindSafe, catch_unwind};

use qm_kernel::ErrorKind;
use qm_web::{
    ApiError, Body, Created, Fields, FromBody, FromQuery, Json, Params, Routes, WebConfig, describe, faults,
    routes,
};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::support::server;

fn document(routes: Routes) -> Value {
    serde_json::to_value(describe(&WebConfig::default(), &routes)).unwrap()
}

/// The mistakes of `routes`.
fn mistakes(routes: Routes) -> String {
    let described = catch_unwind(AssertUnwindSafe(|| describe(&WebConfig::default(), &routes)));
    match described {
        Ok(_) => String::new(),
        Err(panic) => panic.downcast_ref::<String>().cloned().unwrap_or_default(),
    }
}

#[tokio::test]
async fn a_body_is_described_by_what_reads_it() {
    let api = server().await.get("/api/docs/openapi.json").await.json();
    let body = &api["components"]["schemas"]["Account"];
    assert_eq!(body["additionalProperties"], false);
    assert_eq!(body["required"], json!(["username", "password"]));
    for (name, schema) in [
        ("username", json!({ "type": "string", "maxLength": 8 })),
        (
            "password",
            json!({ "type": "string", "minLength": 2, "maxLength": 8 }),
        ),
        ("totp", json!({ "type": ["string", "null"], "maxLength": 4 })),
        (
            "age",
            json!({ "type": ["integer", "null"], "minimum": 0, "maximum": 99 }),
        ),
        ("share", json!({ "type": ["number", "null"], "minimum": 0 })),
        ("active", json!({ "type": ["boolean", "null"] })),
        (
            "role",
            json!({ "type": ["string", "null"], "enum": ["a", "b", null] }),
        ),
        ("mail", json!({ "type": ["string", "null"], "format": "email" })),
        (
            "tags",
            json!({ "type": ["array", "null"], "maxItems": 3, "items": { "type": "string", "maxLength": 5 } }),
        ),
        (
            "config",
            json!({ "type": ["object", "null"], "additionalProperties": true }),
        ),
    ] {
        assert_eq!(body["properties"][name], schema, "{name}");
    }
    let request = &api["paths"]["/api/account"]["post"]["requestBody"];
    assert_eq!(
        request["content"]["application/json"]["schema"]["$ref"],
        "#/components/schemas/Account"
    );
    let upload = &api["components"]["schemas"]["AccountUpload"];
    assert_eq!(upload["properties"]["file"]["format"], "binary");
    assert_eq!(upload["required"], json!(["file", "username", "password"]));
    assert_eq!(
        api["components"]["schemas"]["Loose"]["additionalProperties"],
        json!({})
    );
}

#[tokio::test]
async fn a_query_is_described_by_what_reads_it() {
    let api = server().await.get("/api/docs/openapi.json").await.json();
    let parameters = &api["paths"]["/api/things"]["get"]["parameters"];
    assert_eq!(
        parameters,
        &json!([
            { "name": "search", "in": "query", "required": false, "description": "Part of a name.",
              "schema": { "type": "string", "maxLength": 10 } },
            { "name": "page", "in": "query", "required": false,
              "schema": { "type": "integer", "minimum": 1, "default": 1 } },
            { "name": "pageSize", "in": "query", "required": false,
              "schema": { "type": "integer", "minimum": 1, "maximum": 500, "default": 50 } },
            { "name": "limit", "in": "query", "required": false,
              "schema": { "type": "integer", "minimum": 1 } },
        ])
    );
}

#[tokio::test]
async fn limits_stand_beside_the_operation() {
    let api = server().await.get("/api/docs/openapi.json").await.json();
    let paths = &api["paths"];
    assert_eq!(paths["/api/limited"]["get"]["x-rate-limit"], 3);
    assert_eq!(paths["/api/unlimited"]["get"]["x-rate-limit"], Value::Null);
    assert!(paths["/api/account"]["post"]["x-body-limit"].as_u64().unwrap() > 0);
    assert!(paths["/api/limited"]["get"].get("x-body-limit").is_none());
}

enum ShelfError {
    Full,
    NoSuchShelf,
    Taken(&'static str),
    Broken,
}

impl From<ShelfError> for ApiError {
    fn from(error: ShelfError) -> Self {
        match error {
            ShelfError::Full => ApiError::new(ErrorKind::Conflict, "The shelf is full"),
            ShelfError::NoSuchShelf => ApiError::new(ErrorKind::NotFound, "Shelf not found"),
            ShelfError::Taken(name) => ApiError::new(ErrorKind::Conflict, format!("{name} is taken")),
            ShelfError::Broken => ApiError::new(ErrorKind::Internal, "a secret text"),
        }
    }
}

mod shelf {
    use super::{ShelfError, faults};

    faults! {
        /// Adding a thing to the shelf.
        Put => [ShelfError::Full, ShelfError::Taken("…"), ShelfError::NoSuchShelf, ShelfError::Broken];
    }
}

#[derive(Serialize, ToSchema)]
struct Thing {
    name: String,
}

impl FromBody for Thing {
    fn from_body(f: &mut Fields<'_>) -> Self {
        Self {
            name: f.string("name").required().get(),
        }
    }
}

#[utoipa::path(post, path = "/api/shelf", request_body = Body<Thing>, responses((status = 201, body = Thing), shelf::Put))]
async fn put_thing(Body(thing): Body<Thing>) -> Created<Thing> {
    Created(thing)
}

#[test]
fn statuses_come_from_the_errors_of_the_area() {
    let api = document(Routes::new().add(routes!(put_thing).public()));
    let responses = &api["paths"]["/api/shelf"]["post"]["responses"];
    assert_eq!(
        responses["409"]["description"],
        "Conflict\n* `The shelf is full`\n* `… is taken`"
    );
    assert_eq!(responses["404"]["description"], "Not Found\n* `Shelf not found`");
    let text = responses.to_string();
    assert!(
        responses.get("500").is_some() && !text.contains("secret") && !text.contains("x-texts"),
        "{text}"
    );
    let schema = &responses["409"]["content"]["application/json"]["schema"];
    assert_eq!(schema["$ref"], "#/components/schemas/Error");
}

mod other {
    use super::{Json, Serialize, ToSchema};

    /// Another shape with a used name.
    #[derive(Serialize, ToSchema)]
    pub struct Thing {
        number: u64,
    }

    #[utoipa::path(get, path = "/api/other", responses((status = 200, body = Thing)))]
    pub async fn other_thing() -> Json<Thing> {
        Json(Thing { number: 1 })
    }
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "declares more than is read")]
struct Wordy {
    name: String,
    more: String,
}

impl FromBody for Wordy {
    fn from_body(f: &mut Fields<'_>) -> Self {
        Self {
            name: f.string("name").required().get(),
            more: String::new(),
        }
    }
}

#[utoipa::path(post, path = "/api/wordy", request_body = Body<Wordy>, responses((status = 201)))]
async fn wordy(Body(_): Body<Wordy>) -> Created<()> {
    Created(())
}

#[utoipa::path(post, path = "/api/bare", request_body = Thing, responses((status = 201)))]
async fn bare(Body(_): Body<Thing>) -> Created<()> {
    Created(())
}

struct Query;

impl FromQuery for Query {
    fn from_query(f: &mut Fields<'_>) -> Self {
        f.string("name").optional();
        Self
    }
}

#[utoipa::path(get, path = "/api/stray", params(("nmae" = String, Query), Params::<Query>), responses((status = 200)))]
async fn stray(Params(_): Params<Query>) -> Json<()> {
    Json(())
}

#[test]
fn a_document_that_would_lie_is_not_made() {
    let cases: [(Routes, &str); 4] = [
        (
            Routes::new()
                .add(routes!(put_thing).public())
                .add(routes!(other::other_thing).public()),
            "two schemas are named `Thing`",
        ),
        (
            Routes::new().add(routes!(wordy).public()),
            "schema `Wordy` declares [\"more\"], which nothing reads",
        ),
        (
            Routes::new().add(routes!(bare).public()),
            "POST /api/bare: its annotation names a type as request body",
        ),
        (
            Routes::new().add(routes!(stray).public()),
            "GET /api/stray: no `Params` of its annotation reads the query parameter `nmae`",
        ),
    ];
    for (routes, mistake) in cases {
        let found = mistakes(routes);
        assert!(found.contains(mistake), "{found:?} does not say {mistake:?}");
    }
}
