//! OpenAPI 3.1 document. Handlers describe themselves; access, limits and errors are added here from the
//! guards, so the document cannot disagree with the server. An impossible description (two shapes with one
//! name, an unread body) is a programming error and panics at start.

mod answers;
mod input;
mod names;

use std::collections::BTreeSet;

use serde_json::json;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{Components, InfoBuilder, OpenApi, OpenApiBuilder, PathItem, Paths, Required};

pub use answers::refusals;

use crate::WebConfig;
use crate::routes::{Access, GuardedLine, Limit, Routes};

const BEARER: &str = "bearer";
const TICKET: &str = "ticket";

/// The document as it is served and committed: with sorted keys, so that equal routes give equal text.
pub fn document(api: &OpenApi) -> Result<String, serde_json::Error> {
    let value = serde_json::to_value(api)?;
    serde_json::to_string_pretty(&value).map(|text| text + "\n")
}

/// The document of `routes`; see [`Routes::described`].
///
/// # Panics
/// When the descriptions of the routes are impossible; all mistakes are listed.
pub fn describe(config: &WebConfig, routes: &Routes) -> OpenApi {
    let mut mistakes = Vec::new();
    let mut paths = Paths::new();
    let mut components = answers::components();
    components
        .security_schemes
        .insert(BEARER.to_owned(), bearer_scheme());
    for line in &routes.lines {
        if let Access::Ticket(parameter) = line.access {
            components
                .security_schemes
                .insert(TICKET.to_owned(), ticket_scheme(parameter));
        }
        let (schemas, mut described) = line.describe();
        names::register(&mut components, &schemas, &mut mistakes);
        for (path, item) in &mut described.paths {
            let has_parameter = path.contains('{');
            for (method, operation) in operations(item) {
                let name = format!("{method} {path}");
                complete(&name, operation, line, config, &components, &mut mistakes);
                answers::complete(operation, method, line, has_parameter);
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
    names::prune(&mut api, &mut mistakes);
    assert!(
        mistakes.is_empty(),
        "the API document would not tell the truth:\n{}",
        mistakes.join("\n")
    );
    api
}

const INTRODUCTION: &str = "Times are ISO 8601 in UTC with milliseconds, sizes are bytes, rates are bytes per second. \
Every POST that succeeds answers 201, every other method 200. `x-access` says who may call an operation and \
`x-permissions` which permissions a caller must hold, all of them; SUPER_ADMIN holds every one. `x-permissions-by-body` says which more it must hold for a value of a property of the body. `x-rate-limit` is how many \
requests an address may make in 60 seconds, `x-body-limit` how many bytes a body may have, and `x-codes` of a failure which words \
may stand in `code` of its body. The live channel `/ws/` is \
described in `docs/realtime.md`.\n\n\
To sign in, send `POST /api/auth/login` with a user name and a password, and the `accessToken` of its answer with every \
other request: `Authorization: Bearer <accessToken>`. When it has expired, `POST /api/auth/refresh` gives another one. In a \
body a number may come as its text and `null` is the same as absence, unless a field says otherwise.";

fn operations(item: &mut PathItem) -> impl Iterator<Item = (&'static str, &mut Operation)> {
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
    [
        ("GET", get),
        ("PUT", put),
        ("POST", post),
        ("DELETE", delete),
        ("OPTIONS", options),
        ("HEAD", head),
        ("PATCH", patch),
        ("TRACE", trace),
    ]
    .into_iter()
    .filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}

/// Adds access, limits and body rules to an operation.
fn complete(
    name: &str,
    operation: &mut Operation,
    line: &GuardedLine<()>,
    config: &WebConfig,
    components: &Components,
    mistakes: &mut Vec<String>,
) {
    let (word, permissions) = match &line.access {
        Access::Public => ("public", Vec::new()),
        Access::Authenticated | Access::Ticket(_) => ("authenticated", Vec::new()),
        Access::All(permissions) => ("permissions", permissions.iter().map(|p| p.key()).collect()),
    };
    let extensions = operation.extensions.get_or_insert_default();
    extensions.insert("x-access".to_owned(), json!(word));
    extensions.insert("x-permissions".to_owned(), json!(permissions));
    let limit = match line.limit {
        Limit::Default => (config.throttle_limit > 0).then_some(config.throttle_limit),
        Limit::Of(hits) => Some(hits),
        Limit::None => None,
    };
    extensions.insert("x-rate-limit".to_owned(), json!(limit));
    if !line.by_body.is_empty() {
        extensions.insert("x-permissions-by-body".to_owned(), by_body(line));
    }
    if operation.request_body.is_some() {
        extensions.insert("x-body-limit".to_owned(), json!(line.body_bounds().limit));
    }
    let by = |scheme: &str| vec![SecurityRequirement::new(scheme, Vec::<String>::new())];
    operation.security = Some(match line.access {
        Access::Public => Vec::new(),
        Access::Ticket(_) => by(TICKET),
        Access::Authenticated | Access::All(_) => by(BEARER),
    });
    for parameter in input::join_parameters(operation) {
        mistakes.push(format!(
            "{name}: no `Params` of its annotation reads the query parameter `{parameter}`"
        ));
    }
    let Some(body) = &mut operation.request_body else {
        return;
    };
    for content in body.content.values_mut() {
        match names::name_body(content, components) {
            Some(true) => body.required = Some(Required::True),
            Some(false) => body.required = Some(Required::False),
            None => mistakes.push(format!(
                "{name}: its annotation names a type as request body, not what reads it: `Body<…>` or `Upload<…>`"
            )),
        }
    }
}

/// Permissions needed beside those of `x-permissions`, by body property and value.
fn by_body(line: &GuardedLine<()>) -> serde_json::Value {
    let properties = line.by_body.iter().map(|one| {
        let values = one.needed.iter();
        let values = values.map(|(value, permission)| ((*value).to_owned(), json!([permission.key()])));
        let values: serde_json::Map<_, _> = values.collect();
        (one.property.to_owned(), values.into())
    });
    serde_json::Value::Object(properties.collect())
}

fn bearer_scheme() -> SecurityScheme {
    let scheme = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .bearer_format("JWT")
        .description(Some("The access token of `POST /api/auth/login`."))
        .build();
    SecurityScheme::Http(scheme)
}

fn ticket_scheme(parameter: &str) -> SecurityScheme {
    SecurityScheme::ApiKey(ApiKey::Query(ApiKeyValue::with_description(
        parameter,
        "A ticket for one thing and a short time, issued to a caller with a token.",
    )))
}

/// An operation id is its handler's name. If two areas share one, the later in path order gets its tag as a
/// prefix.
fn make_ids_unique(api: &mut OpenApi) {
    let mut taken = BTreeSet::new();
    for (_, operation) in api.paths.paths.values_mut().flat_map(operations) {
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

/// Names sets of an area's errors for `responses(…)` of `#[utoipa::path]`: an operation that names one documents the
/// status and the text of each error, through the conversion that answers it.
///
/// ```text
/// faults! {
///     /// Whoever makes a tag.
///     NewTag => [TagError::Taken, TagError::Blank];
/// }
/// #[utoipa::path(post, path = "/api/tags", responses((status = 201, body = Tag), faults::NewTag))]
/// ```
#[macro_export]
macro_rules! faults {
    ($($(#[$meta:meta])* $name:ident => $errors:expr;)+) => {$(
        $(#[$meta])*
        pub struct $name;

        impl $crate::utoipa::IntoResponses for $name {
            fn responses() -> std::collections::BTreeMap<
                String,
                $crate::utoipa::openapi::RefOr<$crate::utoipa::openapi::Response>,
            > {
                $crate::refusals($errors)
            }
        }
    )+};
}
