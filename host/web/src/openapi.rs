//! The OpenAPI 3.1 document. Handlers describe themselves; what the guard knows (who may call, which failures every
//! guarded route can answer) is added here, so the document cannot disagree with the server.

use std::collections::BTreeSet;

use serde_json::json;
use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Type};
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{
    Components, ContentBuilder, InfoBuilder, OneOfBuilder, OpenApi, OpenApiBuilder, PathItem, Paths, Ref,
    RefOr, Response, ResponseBuilder, Schema,
};

use crate::WebConfig;
use crate::routes::{Access, Routes};

const BEARER: &str = "bearer";
const TICKET: &str = "ticket";

/// The document as it is served and committed: sorted keys, so that equal routes give equal text.
pub fn document(api: &OpenApi) -> Result<String, serde_json::Error> {
    let value = serde_json::to_value(api)?;
    serde_json::to_string_pretty(&value).map(|text| text + "\n")
}

/// The document of `routes`; see [`Routes::described`].
pub fn describe(config: &WebConfig, routes: &Routes) -> OpenApi {
    let lines = &routes.lines;
    let mut paths = Paths::new();
    let mut components = common_components();
    for line in lines {
        if let Access::Ticket(parameter) = line.access {
            components
                .security_schemes
                .insert(TICKET.to_owned(), ticket_scheme(parameter));
        }
        let (schemas, described, _) = &line.described;
        components.schemas.extend(schemas.iter().cloned());
        let mut described = described.clone();
        for (path, item) in &mut described.paths {
            let has_id = path.contains('{');
            for operation in operations(item) {
                complete(operation, &line.access, has_id);
                if operation.request_body.is_some() {
                    let extensions = operation.extensions.get_or_insert_default();
                    extensions.insert("x-body-limit".to_owned(), json!(line.body_bounds().limit));
                }
            }
        }
        paths.merge(described);
    }
    let info = InfoBuilder::new()
        .title(config.product.clone())
        .version(config.version.clone())
        .description(Some(INTRODUCTION))
        .build();
    let mut api = OpenApiBuilder::new()
        .info(info)
        .paths(paths)
        .components(Some(components))
        .build();
    make_ids_unique(&mut api);
    api
}

const INTRODUCTION: &str = "Times are ISO 8601 in UTC with milliseconds, sizes are bytes, rates are bytes per second. \
Every POST that succeeds answers 201, every other method 200. `x-access` says who may call an operation and \
`x-permissions` which permissions a caller must hold, all of them; SUPER_ADMIN holds every one.";

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem {
        get,
        put,
        post,
        delete,
        options,
        head,
        patch,
        trace,
        ..
    } = item;
    [get, put, post, delete, options, head, patch, trace]
        .into_iter()
        .filter_map(Option::as_mut)
}

fn complete(operation: &mut Operation, access: &Access, has_id: bool) {
    let (word, permissions) = match access {
        Access::Public => ("public", Vec::new()),
        Access::Authenticated | Access::Ticket(_) => ("authenticated", Vec::new()),
        Access::All(permissions) => ("permissions", permissions.iter().map(|p| p.key()).collect()),
    };
    let extensions = operation.extensions.get_or_insert_default();
    extensions.insert("x-access".to_owned(), json!(word));
    extensions.insert("x-permissions".to_owned(), json!(permissions));
    let by = |scheme: &str| vec![SecurityRequirement::new(scheme, Vec::<String>::new())];
    operation.security = Some(match access {
        Access::Public => Vec::new(),
        Access::Ticket(_) => by(TICKET),
        Access::Authenticated | Access::All(_) => by(BEARER),
    });

    let mut possible = vec!["429", "500"];
    if operation.request_body.is_some() {
        possible.extend(["400", "413", "415"]);
    } else if operation
        .parameters
        .iter()
        .flatten()
        .any(|parameter| parameter.name != "id")
    {
        possible.push("400");
    }
    match access {
        Access::Public => {}
        Access::Authenticated => possible.push("401"),
        Access::Ticket(_) | Access::All(_) => possible.extend(["401", "403"]),
    }
    if has_id {
        possible.push("404");
    }
    for status in possible {
        let missing = || RefOr::Ref(Ref::from_response_name(response_name(status)));
        operation
            .responses
            .responses
            .entry(status.to_owned())
            .or_insert_with(missing);
    }
    // A handler names 502 and the like by status alone; the body is the same everywhere.
    for (status, response) in &mut operation.responses.responses {
        let RefOr::T(own) = response else { continue };
        let is_error = status.starts_with('4') || status.starts_with('5');
        if is_error && own.content.is_empty() {
            own.content
                .insert("application/json".to_owned(), error_content(status == "400"));
        }
    }
}

fn response_name(status: &str) -> &'static str {
    RESPONSES
        .iter()
        .find(|(code, ..)| *code == status)
        .map_or("InternalError", |(_, name, _)| name)
}

/// Shared responses: status, name, meaning.
const RESPONSES: &[(&str, &str, &str)] = &[
    (
        "400",
        "BadRequest",
        "The body or the query is wrong; every broken rule is listed.",
    ),
    (
        "401",
        "Unauthorized",
        "No token, or one that is expired or not valid.",
    ),
    ("403", "Forbidden", "The caller lacks a permission."),
    ("404", "NotFound", "No such thing."),
    ("409", "Conflict", "It exists already."),
    (
        "413",
        "PayloadTooLarge",
        "The body is over its limit, `x-body-limit` bytes.",
    ),
    (
        "415",
        "UnsupportedMediaType",
        "The body's `Content-Type` is none that is read here.",
    ),
    (
        "429",
        "TooManyRequests",
        "Too many requests from this address; `Retry-After` says when to come back.",
    ),
    (
        "500",
        "InternalError",
        "A fault of the server; its log has the details.",
    ),
    (
        "502",
        "Upstream",
        "An engine or another upstream cannot be reached or makes no sense.",
    ),
    ("503", "Unavailable", "Busy; trying again helps."),
    (
        "504",
        "UpstreamTimeout",
        "An engine or another upstream did not answer in time.",
    ),
];

fn common_components() -> Components {
    let mut components = Components::new();
    components
        .schemas
        .insert("Error".to_owned(), RefOr::T(error_schema()));
    components
        .schemas
        .insert("ValidationError".to_owned(), RefOr::T(validation_schema()));
    for (status, name, meaning) in RESPONSES {
        let mut response: Response = ResponseBuilder::new().description(*meaning).build();
        response
            .content
            .insert("application/json".to_owned(), error_content(*status == "400"));
        components
            .responses
            .insert((*name).to_owned(), RefOr::T(response));
    }
    let scheme = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .bearer_format("JWT")
        .description(Some("The access token of `POST /api/auth/login`."))
        .build();
    components
        .security_schemes
        .insert(BEARER.to_owned(), SecurityScheme::Http(scheme));
    components
}

fn ticket_scheme(parameter: &str) -> SecurityScheme {
    SecurityScheme::ApiKey(ApiKey::Query(ApiKeyValue::with_description(
        parameter,
        "A ticket for one thing and a short time, issued to a caller with a token.",
    )))
}

fn error_content(may_list: bool) -> utoipa::openapi::Content {
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

/// An operation id is its handler's name. Where two areas use the same one, the later in path order gets its tag in front.
fn make_ids_unique(api: &mut OpenApi) {
    let mut taken = BTreeSet::new();
    for operation in api.paths.paths.values_mut().flat_map(operations) {
        let Some(id) = operation.operation_id.clone() else {
            continue;
        };
        let tag = operation
            .tags
            .as_ref()
            .and_then(|tags| tags.first())
            .map_or("other", String::as_str);
        let tagged = format!(
            "{}_{id}",
            tag.to_lowercase()
                .replace(|c: char| !c.is_ascii_alphanumeric(), "_")
        );
        let unique = [id, tagged.clone()]
            .into_iter()
            .chain((2..100).map(|number| format!("{tagged}_{number}")))
            .find(|candidate| !taken.contains(candidate));
        taken.extend(unique.clone());
        operation.operation_id = unique;
    }
}
