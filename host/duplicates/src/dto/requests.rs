//! Requests, and the schedule.

use std::collections::HashMap;

use qm_kernel::{PageQuery, Timestamp};
use qm_web::{Fields, FromBody, FromQuery};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::model::{Filter, HOURS, Sort, Status};
use qm_duplicate_groups::Reason;

const MAX_ID: usize = 64;
const MAX_SEARCH: usize = 200;
const MAX_TYPE: usize = 32;
const MAX_REASON: usize = 500;
/// Most groups or plans of one request.
const MOST: usize = 100;
const STATUSES: &[&str] = &Status::WORDS;
const TYPES: &[&str] = &["file", "show_folder"];
const REASONS: &[&str] = &Reason::WORDS;
const SORTS: &[&str] = &Sort::WORDS;
const DEFAULT_PAGE: u64 = 25;
const MAX_PAGE: u64 = 200;

/// Filter and order of a list of groups.
#[derive(FromQuery)]
pub struct GroupsQuery {
    #[field(page(DEFAULT_PAGE, MAX_PAGE))]
    pub page: PageQuery,
    /// Part of a title or of a path, in any case.
    #[field(given, max = MAX_SEARCH)]
    pub q: Option<String>,
    #[field(given, max = MAX_ID)]
    pub library_id: Option<String>,
    #[field(given, max = MAX_TYPE)]
    pub media_type: Option<String>,
    #[field(given, one_of = STATUSES)]
    pub status: Option<String>,
    #[field(given, one_of = TYPES)]
    pub group_type: Option<String>,
    #[field(given, one_of = REASONS)]
    pub reason: Option<String>,
    #[field(given, one_of = SORTS)]
    pub sort: Option<String>,
    /// `true`: groups that need review only; anything else is no filter.
    #[field(max = MAX_TYPE)]
    pub requires_review: Option<String>,
}

impl GroupsQuery {
    pub fn into_filter(self) -> Filter {
        Filter {
            search: self.q,
            library_id: self.library_id,
            media_type: self.media_type,
            status: self.status.unwrap_or_else(|| Status::Open.as_str().to_owned()),
            group_type: self.group_type,
            reason: self.reason,
            needs_review: self.requires_review.as_deref() == Some("true"),
            sort: self.sort.as_deref().map(Sort::from_word).unwrap_or_default(),
        }
    }
}

/// Reason for which a group is ignored.
#[derive(ToSchema, FromBody)]
#[fields(optional)]
#[schema(as = IgnoreDuplicates)]
pub struct IgnoreInput {
    /// Up to 500 characters.
    #[field(max = MAX_REASON)]
    pub reason: Option<String>,
}

/// Member of a group to keep.
#[derive(ToSchema, FromBody)]
#[fields(optional)]
#[schema(rename_all = "camelCase", as = KeepDuplicate)]
pub struct KeepInput {
    /// Id of an item; absent: the recommended one.
    #[field(max = MAX_ID)]
    pub keep_item_id: Option<String>,
}

/// Member of a group to delete.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = DeleteDuplicate)]
pub struct DeleteInput {
    /// Id of an item.
    #[field(not_empty, max = MAX_ID)]
    pub delete_item_id: String,
}

/// Options of a plan that is carried out.
#[derive(ToSchema, FromBody)]
#[fields(optional)]
#[schema(as = ResolveDuplicates)]
pub struct ResolveInput {
    /// Refused when it is true: files go into the trash only.
    #[field(default)]
    pub permanent: bool,
}

/// Groups to plan for.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = PreviewDuplicateGroups)]
pub struct BulkPreviewInput {
    /// 1 to 100.
    #[field(min_items = 1, max_items = MOST, each_max = MAX_ID)]
    pub group_ids: Vec<String>,
    /// Items to keep, by the ids of their groups; for other groups the recommended ones.
    #[field(with = keepers)]
    #[schema(value_type = Option<std::collections::BTreeMap<String, String>>)]
    pub keep_by_group: HashMap<String, String>,
}

fn keepers(fields: &mut Fields<'_>, name: &'static str) -> HashMap<String, String> {
    let sent: Map<String, Value> = fields.object(name).optional().unwrap_or_default();
    let mut keep = HashMap::new();
    for (group, item) in sent {
        match item {
            Value::String(item) if item.len() <= MAX_ID => {
                keep.insert(group, item);
            }
            _ => fields.broken(format!("each value in {name} must be the id of an item")),
        }
    }
    keep
}

/// Plans to carry out.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = ResolveDuplicateGroups)]
pub struct BulkResolveInput {
    /// 1 to 100.
    #[field(min_items = 1, max_items = MOST, each_max = MAX_ID)]
    pub resolution_ids: Vec<String>,
    /// Refused when it is true: files go into the trash only.
    #[field(default)]
    pub permanent: bool,
}

/// Manner of a repair of names.
#[derive(FromQuery)]
pub struct RepairQuery {
    /// `true`: names are only told; anything else renames.
    #[field(max = MAX_TYPE)]
    pub dry_run: Option<String>,
}

/// Change of the schedule of detections.
#[derive(ToSchema, FromBody)]
#[fields(optional)]
#[schema(rename_all = "camelCase", as = DuplicateScheduleInput)]
pub struct ScheduleInput {
    pub enabled: Option<bool>,
    /// 6, 12, 24 or 168; another one counts as 24.
    pub interval_hours: Option<i64>,
}

/// Schedule of detections.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DuplicateSchedule)]
pub struct ScheduleShown {
    pub enabled: bool,
    /// 6, 12, 24 or 168.
    #[schema(example = json!(HOURS[2]))]
    pub interval_hours: i64,
    /// End of the last detection, by schedule or by hand.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_run_at: Option<Timestamp>,
    /// Null when the schedule is off, or no detection ever ran.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub next_run_at: Option<Timestamp>,
}

/// A job that was started.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DuplicateDetectionJob)]
pub struct JobView {
    pub job_id: String,
}
