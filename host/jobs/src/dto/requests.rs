//! Queries and request bodies of the routes.

use qm_kernel::PageQuery;
use qm_web::{Fields, FromBody, FromQuery};
use utoipa::ToSchema;

use crate::model::event::{Level, Source};
use crate::model::status::Status;
use crate::model::view::{Simple, Sort, Wanted};

const MAX_PAGE: i64 = 200;
const MAX_IDS: usize = 200;
const MAX_KEY: usize = 64;
const MAX_LONG_KEY: usize = 128;
const MAX_SEARCH: usize = 200;

/// Largest page number accepted, so that no offset overflows.
const MAX_NUMBER: i64 = i32::MAX as i64;

/// Query of the simple list. Read leniently: an unknown filter word finds nothing, an invalid number becomes
/// the default.
pub struct SimpleQuery(pub Simple);

impl FromQuery for SimpleQuery {
    fn from_query(f: &mut Fields<'_>) -> Self {
        let mut text = |name| f.string(name).given().optional();
        let (subsystem, status) = (text("subsystem"), text("status"));
        let active = text("active").is_some_and(|active| matches!(active.as_str(), "true" | "1"));
        let limit = text("limit")
            .and_then(|limit| limit.trim().parse::<f64>().ok())
            .filter(|limit| limit.is_finite())
            .map_or(50, |limit| limit.clamp(1.0, 200.0) as usize);
        Self(Simple {
            subsystem,
            status,
            active,
            limit,
        })
    }
}

/// Query of the filtered list of jobs.
pub struct ListQuery {
    pub wanted: Wanted,
    pub page: PageQuery,
}

/// Replaces NUL characters, which PostgreSQL's TEXT cannot hold, so a filter with one matches no row.
fn clean(text: String) -> String {
    text.replace('\0', "\u{fffd}")
}

impl FromQuery for ListQuery {
    fn from_query(f: &mut Fields<'_>) -> Self {
        let page = f.integer("page").min(1).max(MAX_NUMBER).or(1);
        let page_size = f.integer("pageSize").min(1).max(MAX_PAGE).or(25);
        let status = f.string("status").given().one_of(Status::WORDS).optional();
        let active = f.boolean("active").optional();
        let mut text = |name, most| f.string(name).given().max(most).optional().map(clean);
        let wanted = Wanted {
            status,
            active,
            module_key: text("moduleKey", MAX_KEY),
            workspace_key: text("workspaceKey", MAX_KEY),
            type_key: text("type", MAX_LONG_KEY),
            created_by_id: text("createdById", MAX_KEY),
            correlation_id: text("correlationId", MAX_LONG_KEY),
            library_id: text("libraryId", MAX_KEY),
            resource_id: text("resourceId", MAX_KEY),
            search: text("search", MAX_SEARCH),
            source: f.string("source").given().one_of(Source::WORDS).optional(),
            sort: f
                .string("sort")
                .given()
                .one_of(Sort::WORDS)
                .optional()
                .and_then(|word| Sort::from_word(&word))
                .unwrap_or_default(),
            ascending: f
                .string("order")
                .given()
                .one_of(&["asc", "desc"])
                .optional()
                .is_some_and(|order| order == "asc"),
        };
        let page = PageQuery {
            page: page.clamp(1, MAX_NUMBER) as u64,
            page_size: page_size.clamp(1, MAX_PAGE) as u64,
        };
        Self { wanted, page }
    }
}

/// Query of the events of a job.
#[derive(FromQuery)]
pub struct EventsQuery {
    #[field(page = MAX_PAGE as u64)]
    pub page: PageQuery,
    #[field(given, one_of = Level::WORDS)]
    pub level: Option<String>,
}

/// Several jobs.
#[derive(ToSchema, FromBody)]
pub struct JobIds {
    /// At most 200.
    #[field(max_items = MAX_IDS)]
    #[schema(rename = "jobIds")]
    pub job_ids: Vec<String>,
}
