//! Failures in the document: those every guarded route can answer, and those an operation names as errors of its area.

use std::collections::BTreeMap;

use http::StatusCode;
use serde_json::Value;
use utoipa::openapi::path::{Operation, ParameterIn};
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Type};
use utoipa::openapi::{
    Components, Content, ContentBuilder, OneOfBuilder, Ref, RefOr, Response, ResponseBuilder, Schema,
};

use crate::error::ApiError;
use crate::routes::{Access, GuardedLine, Limit};

/// Shared responses: status, name, meaning.
const RESPONSES: &[(u16, &str, &str)] = &[
    (
        304,
        "NotModified",
        "Nothing has changed since the answer with the `ETag` in `If-None-Match`.",
    ),
    (
        400,
        "BadRequest",
        "The body or the query is wrong; every broken rule is listed.",
    ),
    (
        401,
        "Unauthorized",
        "No token, or one that is expired or not valid.",
    ),
    (403, "Forbidden", "The caller may not do this, or no longer."),
    (404, "NotFound", "No such thing."),
    (409, "Conflict", "It exists already, or has changed meanwhile."),
    (408, "RequestTimeout", "The body did not come in time."),
    (
        413,
        "PayloadTooLarge",
        "The body is over its limit, `x-body-limit` bytes.",
    ),
    (
        415,
        "UnsupportedMediaType",
        "The body's `Content-Type` is none that is read here.",
    ),
    (
        429,
        "TooManyRequests",
        "Too many requests from this address; `Retry-After` says when to come back.",
    ),
    (
        500,
        "InternalError",
        "A fault of the server; its log has the details.",
    ),
    (
        502,
        "Upstream",
        "An engine or another upstream cannot be reached or makes no sense.",
    ),
    (
        503,
        "Unavailable",
        "Busy, or with the code `standby` another server is the active one; trying again helps.",
    ),
    (
        504,
        "UpstreamTimeout",
        "An engine or another upstream did not answer in time.",
    ),
];

/// On a response: what the caller is told, one text a fault.
const TEXTS: &str = "x-texts";

/// The answers of errors, through the same conversion that answers them; see [`crate::faults!`].
pub fn refusals<E: Into<ApiError>>(errors: impl IntoIterator<Item = E>) -> BTreeMap<String, RefOr<Response>> {
    let mut texts: BTreeMap<u16, Vec<Value>> = BTreeMap::new();
    for error in errors {
        let error: ApiError = error.into();
        let said = texts.entry(error.status().as_u16()).or_default();
        said.extend(error.text().map(Value::from).filter(|text| !said.contains(text)));
    }
    let response = |(status, texts): (u16, Vec<Value>)| {
        let mut response = Response::default();
        let extensions = response.extensions.get_or_insert_default();
        extensions.insert(TEXTS.to_owned(), texts.into());
        (status.to_string(), RefOr::T(response))
    };
    texts.into_iter().map(response).collect()
}

/// Adds every failure the operation can answer.
pub(super) fn complete(operation: &mut Operation, method: &str, line: &GuardedLine<()>, has_parameter: bool) {
    let general = general(operation, method, line, has_parameter);
    let given = &mut operation.responses.responses;
    for (status, response) in given.iter_mut() {
        let (Ok(status), RefOr::T(own)) = (status.parse::<u16>(), &mut *response) else {
            continue;
        };
        let texts = own
            .extensions
            .as_mut()
            .and_then(|extensions| extensions.remove(TEXTS));
        if let Some(texts) = texts {
            let meaning = if general.contains(&status) {
                meaning(status)
            } else {
                reason(status)
            };
            *own = failure(status, meaning, &texts);
        } else if status >= 400 && own.content.is_empty() && status != RANGE {
            // A handler names a status alone; the body is the same everywhere.
            *own = failure(status, &own.description, &Value::Null);
        }
    }
    for status in general {
        given
            .entry(status.to_string())
            .or_insert_with(|| RefOr::Ref(Ref::from_response_name(entry(status).1)));
    }
}

/// 416, which has no body: the size is in a header.
const RANGE: u16 = 416;

fn general(operation: &Operation, method: &str, line: &GuardedLine<()>, has_parameter: bool) -> Vec<u16> {
    let mut possible = vec![500, 503];
    if line.limit != Limit::None {
        possible.push(429);
    }
    let parameters = operation.parameters.iter().flatten();
    if operation.request_body.is_some() {
        possible.extend([400, 408, 413, 415]);
    } else if parameters
        .clone()
        .any(|one| one.parameter_in == ParameterIn::Query)
    {
        possible.push(400);
    }
    match line.access {
        Access::Public => {}
        Access::Authenticated if method == "GET" => possible.push(401),
        // What changes something may judge its caller anew, whose token lives on after the account has changed.
        Access::Authenticated => possible.extend([401, 403]),
        Access::Ticket(_) | Access::All(_) => possible.extend([401, 403]),
    }
    if has_parameter {
        possible.push(404);
    }
    let is_tagged = |response: &RefOr<Response>| match response {
        RefOr::T(own) => own.content.contains_key("application/json"),
        RefOr::Ref(_) => false,
    };
    if method == "GET" && operation.responses.responses.get("200").is_some_and(is_tagged) {
        possible.push(304);
    }
    possible
}

fn failure(status: u16, meaning: &str, texts: &Value) -> Response {
    let mut description = meaning.to_owned();
    for text in texts.as_array().into_iter().flatten().filter_map(Value::as_str) {
        description.push_str("\n* `");
        description.push_str(&text.replace('`', "'"));
        description.push('`');
    }
    let mut response: Response = ResponseBuilder::new().description(description).build();
    if status >= 400 {
        response
            .content
            .insert("application/json".to_owned(), error_content(status == 400));
    }
    response
}

fn meaning(status: u16) -> &'static str {
    entry(status).2
}

fn reason(status: u16) -> &'static str {
    let status = StatusCode::from_u16(status).unwrap_or_default();
    status.canonical_reason().unwrap_or("Refused")
}

fn entry(status: u16) -> (u16, &'static str, &'static str) {
    let known = RESPONSES.iter().find(|(code, ..)| *code == status).copied();
    known.unwrap_or((status, "Refused", "The request is refused."))
}

/// The shapes and the answers that all operations share.
pub(super) fn components() -> Components {
    let mut components = Components::new();
    components
        .schemas
        .insert("Error".to_owned(), RefOr::T(error_schema()));
    components
        .schemas
        .insert("ValidationError".to_owned(), RefOr::T(validation_schema()));
    for (status, name, meaning) in RESPONSES {
        components.responses.insert(
            (*name).to_owned(),
            RefOr::T(failure(*status, meaning, &Value::Null)),
        );
    }
    components
}

fn error_content(may_list: bool) -> Content {
    let error = Ref::from_schema_name("Error");
    let schema: RefOr<Schema> = if may_list {
        OneOfBuilder::new()
            .item(Ref::from_schema_name("ValidationError"))
            .item(error)
            .into()
    } else {
        error.into()
    };
    ContentBuilder::new().schema(Some(schema)).build()
}

const CODE: &str =
    "What it is, for programs: a word that never changes, e.g. `throttled` or `not_found.torrent`.";

fn error_schema() -> Schema {
    let text = |description: &str| {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some(description))
    };
    ObjectBuilder::new()
        .description(Some("How every failure is answered."))
        .property("message", text("What went wrong."))
        .property(
            "error",
            text("The reason phrase of the status; absent where nothing more can be said."),
        )
        .property("statusCode", ObjectBuilder::new().schema_type(Type::Integer))
        .property("code", text(CODE))
        .property(
            "twoFactorRequired",
            ObjectBuilder::new().schema_type(Type::Boolean).description(Some(
                "Only at login: the account wants a code of its authenticator too.",
            )),
        )
        .required("message")
        .required("statusCode")
        .required("code")
        .into()
}

fn validation_schema() -> Schema {
    let texts = ArrayBuilder::new().items(ObjectBuilder::new().schema_type(Type::String));
    ObjectBuilder::new()
        .description(Some("A body or query that broke rules."))
        .property(
            "message",
            texts.description(Some("Every broken rule, unknown properties first.")),
        )
        .property("error", ObjectBuilder::new().schema_type(Type::String))
        .property("statusCode", ObjectBuilder::new().schema_type(Type::Integer))
        .property(
            "code",
            ObjectBuilder::new()
                .schema_type(Type::String)
                .description(Some(CODE)),
        )
        .required("message")
        .required("error")
        .required("statusCode")
        .required("code")
        .into()
}
