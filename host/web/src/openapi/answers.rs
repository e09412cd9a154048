//! Failures in the document: those common to guarded routes, and those that an operation names as errors of
//! its area.

use std::collections::{BTreeMap, BTreeSet};

use http::StatusCode;
use serde_json::Value;
use utoipa::openapi::path::{Operation, ParameterIn};
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Type};
use utoipa::openapi::{
    Components, Content, ContentBuilder, OneOfBuilder, Ref, RefOr, Response, ResponseBuilder, Schema,
};

use crate::error::{ApiError, code_of};
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
        414,
        "UriTooLong",
        "The path with its query is too long. Without a body.",
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
        431,
        "HeadTooLarge",
        "The header fields are too many or too long. Without a body.",
    ),
    (
        500,
        "InternalError",
        "A fault of the server; its log has the details.",
    ),
    (
        501,
        "Unsupported",
        "The engine has no such ability; `code` names it.",
    ),
    (
        502,
        "Upstream",
        "An engine or another upstream cannot be reached or makes no sense.",
    ),
    (
        503,
        "Unavailable",
        "Busy, or with the code `standby` another server is the active one; `Retry-After` says when to try again.",
    ),
    (
        504,
        "UpstreamTimeout",
        "An engine or another upstream did not answer in time.",
    ),
];

/// Words of `code` that the web layer itself uses for a status, beside the default word.
const CODES: &[(u16, &[&str])] = &[
    (
        400,
        &[
            "bad_request.body_cut",
            "bad_request.json",
            "bad_request.no_body",
            "bad_request.rules",
            "bad_request.too_many_fields",
        ],
    ),
    (401, &["unauthorized.token_type"]),
    (
        403,
        &[
            "forbidden.account_gone",
            "forbidden.account_inactive",
            "forbidden.permission",
        ],
    ),
    (503, &["standby", "unavailable.busy", "unavailable.stopping"]),
];
/// The same for a route with a file upload.
const UPLOAD_CODES: &[(u16, &[&str])] = &[
    (400, &["bad_request.multipart"]),
    (413, &["payload_too_large.file"]),
];

/// Extension of a response: texts for the caller, one per fault.
const TEXTS: &str = "x-texts";
/// Extension of a response, also in the document: possible words in `code`.
const CODES_OF: &str = "x-codes";

/// Responses for errors, by the same conversion that answers them; see [`crate::faults!`].
pub fn refusals<E: Into<ApiError>>(errors: impl IntoIterator<Item = E>) -> BTreeMap<String, RefOr<Response>> {
    let mut said: BTreeMap<u16, (Vec<Value>, BTreeSet<&str>)> = BTreeMap::new();
    for error in errors {
        let error: ApiError = error.into();
        let (texts, codes) = said.entry(error.status().as_u16()).or_default();
        texts.extend(error.text().map(Value::from).filter(|text| !texts.contains(text)));
        codes.insert(error.code());
    }
    let response = |(status, (texts, codes)): (u16, (Vec<Value>, BTreeSet<&str>))| {
        let mut response = Response::default();
        let extensions = response.extensions.get_or_insert_default();
        extensions.insert(TEXTS.to_owned(), texts.into());
        extensions.insert(CODES_OF.to_owned(), codes.into_iter().collect());
        (status.to_string(), RefOr::T(response))
    };
    said.into_iter().map(response).collect()
}

/// Adds every possible failure of the operation.
pub(super) fn complete(operation: &mut Operation, method: &str, line: &GuardedLine<()>, has_parameter: bool) {
    let general = general(operation, method, line, has_parameter);
    let sends_file = sends_file(operation);
    let given = &mut operation.responses.responses;
    for (status, response) in given.iter_mut() {
        let (Ok(status), RefOr::T(own)) = (status.parse::<u16>(), &mut *response) else {
            continue;
        };
        let mut take = |name| own.extensions.as_mut().and_then(|all| all.remove(name));
        let (texts, own_codes) = (take(TEXTS), take(CODES_OF));
        let is_general = general.contains(&status);
        let mut codes = own_codes.iter().flat_map(strings).collect();
        if is_general || own_codes.is_none() {
            add_general(&mut codes, status, sends_file);
        }
        if let Some(texts) = texts {
            let meaning = if is_general {
                meaning(status)
            } else {
                reason(status)
            };
            *own = failure(status, meaning, strings(&texts), &codes);
        } else if status >= 400 && status != RANGE {
            if own.content.is_empty() {
                // A handler names only a status; the body is always the same.
                *own = failure(status, &own.description, [], &codes);
            } else {
                let extensions = own.extensions.get_or_insert_default();
                extensions.insert(CODES_OF.to_owned(), codes.iter().copied().collect());
            }
        }
    }
    for status in general {
        let response = || {
            if sends_file && UPLOAD_CODES.iter().any(|(of, _)| *of == status) {
                return RefOr::T(shared(status, sends_file));
            }
            RefOr::Ref(Ref::from_response_name(entry(status).1))
        };
        given.entry(status.to_string()).or_insert_with(response);
    }
}

fn strings(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn sends_file(operation: &Operation) -> bool {
    let body = operation.request_body.as_ref();
    body.is_some_and(|body| body.content.contains_key("multipart/form-data"))
}

/// Adds the general codes of an answer.
fn add_general(codes: &mut BTreeSet<&str>, status: u16, sends_file: bool) {
    codes.insert(StatusCode::from_u16(status).map_or("error", code_of));
    let upload = if sends_file { UPLOAD_CODES } else { &[] };
    let of_status = CODES.iter().chain(upload).filter(|(of, _)| *of == status);
    codes.extend(of_status.flat_map(|(_, codes)| *codes));
}

/// An answer of the web layer.
fn shared(status: u16, sends_file: bool) -> Response {
    let mut codes = BTreeSet::new();
    add_general(&mut codes, status, sends_file);
    failure(status, meaning(status), [], &codes)
}

/// Answers of the connection before the request is known: they have no body.
const BARE: [u16; 2] = [414, 431];

/// 416 has no body: the size is in a header.
const RANGE: u16 = 416;

fn general(operation: &Operation, method: &str, line: &GuardedLine<()>, has_parameter: bool) -> Vec<u16> {
    let mut possible = vec![414, 431, 500, 503];
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
        // A route with changes may check its caller again, whose token outlives a change of the account.
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

fn failure<'a>(
    status: u16,
    meaning: &str,
    texts: impl IntoIterator<Item = &'a str>,
    codes: &BTreeSet<&str>,
) -> Response {
    let mut description = meaning.to_owned();
    for text in texts {
        description.push_str("\n* `");
        description.push_str(&text.replace('`', "'"));
        description.push('`');
    }
    let mut response: Response = ResponseBuilder::new().description(description).build();
    if status >= 400 && !BARE.contains(&status) {
        response
            .content
            .insert("application/json".to_owned(), error_content(status == 400));
        let extensions = response.extensions.get_or_insert_default();
        extensions.insert(CODES_OF.to_owned(), codes.iter().copied().collect());
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

/// Schemas and responses shared by all operations.
pub(super) fn components() -> Components {
    let mut components = Components::new();
    components
        .schemas
        .insert("Error".to_owned(), RefOr::T(error_schema()));
    components
        .schemas
        .insert("ValidationError".to_owned(), RefOr::T(validation_schema()));
    for (status, name, _) in RESPONSES {
        let response = RefOr::T(shared(*status, false));
        components.responses.insert((*name).to_owned(), response);
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

const CODE: &str = "What it is, for programs: a word that never changes, one of `x-codes` of the response, e.g. `not_found.torrent`.";

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
