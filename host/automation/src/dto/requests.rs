//! Queries and request bodies of the routes.

use qm_conditions::leaves;
use qm_jobs::Cron;
use qm_kernel::PageQuery;
use qm_web::{Fields, FromBody, FromQuery};
use serde_json::Value;
use utoipa::ToSchema;

use crate::model::rule::{MAX_BYTES, MAX_ITEMS, MAX_STALLED_HOURS, RuleChange};

const MAX_PAGE: u64 = 200;
const MAX_ID: usize = 200;
/// Bytes of a time table.
const MAX_SCHEDULE: usize = 200;

/// A rule to make, or to try. What stands in its lists is stored as it comes: what is no condition never holds, an action
/// that nobody provides fails when the rule runs.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
pub struct NewRule {
    pub name: String,
    pub description: Option<String>,
    /// One of the catalogue; any other never fires.
    pub trigger: String,
    /// `{field, op, value}`, or groups of them, `{all: […]}` and `{any: […]}`, up to 5 inside each other; all have to hold. At most
    /// 100, those in groups included, in 64 KiB.
    #[field(with = conditions)]
    #[schema(value_type = Vec<Object>)]
    pub conditions: Option<Vec<Value>>,
    /// `{type, params?}`, in the order in which they run. At most 100, in 64 KiB.
    #[field(with = list)]
    #[schema(value_type = Vec<Object>)]
    pub actions: Option<Vec<Value>>,
    #[field(default = true)]
    pub is_enabled: bool,
    /// The higher, the earlier.
    #[field(default = 0)]
    pub priority: i64,
    /// Time table of the trigger `schedule`: minute, hour, day of the month, month and day of the week (0 or 7 is Sunday), as cron
    /// has them, in the time zone of the setting `app.timezone`.
    #[field(with = schedule)]
    #[schema(example = "30 4 * * 1-5")]
    pub schedule: Option<String>,
    /// Hours without data after which the trigger `torrent.stalled` fires, 1 to 8784.
    #[field(with = stalled_hours)]
    #[schema(value_type = Option<u32>)]
    pub stalled_hours: Option<u32>,
}

impl From<NewRule> for RuleChange {
    fn from(new: NewRule) -> Self {
        Self {
            name: Some(new.name),
            description: Some(new.description),
            trigger: Some(new.trigger),
            conditions: Some(new.conditions.unwrap_or_default()),
            actions: Some(new.actions.unwrap_or_default()),
            is_enabled: Some(new.is_enabled),
            priority: Some(new.priority),
            schedule: Some(new.schedule),
            stalled_hours: Some(new.stalled_hours),
        }
    }
}

/// Changes of a rule; absent fields stay.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
#[expect(clippy::option_option, reason = "absent, null and a value are three things")]
pub struct ChangedRule {
    pub name: Option<String>,
    /// Null takes it away.
    #[schema(value_type = Option<String>)]
    pub description: Option<Option<String>>,
    pub trigger: Option<String>,
    #[field(with = conditions)]
    #[schema(value_type = Option<Vec<Object>>)]
    pub conditions: Option<Vec<Value>>,
    #[field(with = list)]
    #[schema(value_type = Option<Vec<Object>>)]
    pub actions: Option<Vec<Value>>,
    pub is_enabled: Option<bool>,
    pub priority: Option<i64>,
    /// Time table of the trigger `schedule`; its due times count from this change on. Null takes it away.
    #[field(with = schedule_change)]
    #[schema(value_type = Option<String>)]
    pub schedule: Option<Option<String>>,
    /// Hours without data of the trigger `torrent.stalled`, 1 to 8784. Null takes them away.
    #[field(with = stalled_hours_change)]
    #[schema(value_type = Option<u32>)]
    pub stalled_hours: Option<Option<u32>>,
}

impl From<ChangedRule> for RuleChange {
    fn from(changed: ChangedRule) -> Self {
        Self {
            name: changed.name,
            description: changed.description,
            trigger: changed.trigger,
            conditions: changed.conditions,
            actions: changed.actions,
            is_enabled: changed.is_enabled,
            priority: changed.priority,
            schedule: changed.schedule,
            stalled_hours: changed.stalled_hours,
        }
    }
}

/// A time table, with single spaces.
fn schedule(f: &mut Fields<'_>, name: &'static str) -> Option<String> {
    let text = f.string(name).max(MAX_SCHEDULE).optional()?;
    match Cron::parse(&text) {
        Ok(cron) => Some(cron.text().to_owned()),
        Err(error) => {
            f.broken(format!("{name}: {error}"));
            None
        }
    }
}

/// The same, where null takes it away.
#[expect(clippy::option_option, reason = "absent, null and a text are three things")]
fn schedule_change(f: &mut Fields<'_>, name: &'static str) -> Option<Option<String>> {
    if f.is_null(name) {
        let _ = f.string(name).optional();
        return Some(None);
    }
    schedule(f, name).map(Some)
}

/// Hours without data.
fn stalled_hours(f: &mut Fields<'_>, name: &'static str) -> Option<u32> {
    let hours = f.integer(name).min(1).max(MAX_STALLED_HOURS.into()).optional()?;
    u32::try_from(hours).ok()
}

/// The same, where null takes them away.
#[expect(clippy::option_option, reason = "absent, null and a number are three things")]
fn stalled_hours_change(f: &mut Fields<'_>, name: &'static str) -> Option<Option<u32>> {
    if f.is_null(name) {
        let _ = f.integer(name).optional();
        return Some(None);
    }
    stalled_hours(f, name).map(Some)
}

/// A list of any values, with a size limit that counts what is in groups of conditions.
fn conditions(f: &mut Fields<'_>, name: &'static str) -> Option<Vec<Value>> {
    let items = list(f, name)?;
    if items.len() <= MAX_ITEMS && leaves(&items).len() > MAX_ITEMS {
        f.broken(format!(
            "{name} must contain no more than {MAX_ITEMS} conditions, those in groups included"
        ));
    }
    Some(items)
}

/// A list of any values, with a size limit.
fn list(f: &mut Fields<'_>, name: &'static str) -> Option<Vec<Value>> {
    match f.any(name).optional()? {
        Value::Array(items) => {
            if items.len() > MAX_ITEMS {
                f.broken(format!("{name} must contain no more than {MAX_ITEMS} elements"));
            } else if Value::from(items.clone()).to_string().len() > MAX_BYTES {
                f.broken(format!("{name} must take no more than {MAX_BYTES} bytes"));
            }
            Some(items)
        }
        _ => {
            f.broken(format!("{name} must be an array"));
            None
        }
    }
}

/// Page of a log.
#[derive(FromQuery)]
pub struct LogsQuery(#[field(page = MAX_PAGE)] pub PageQuery);

/// Torrent for which a rule is explained.
#[derive(FromQuery)]
pub struct ExplainQuery {
    #[field(min = 1, max = MAX_ID)]
    pub hash: String,
    /// Absent: any engine that has the torrent.
    #[field(given, max = MAX_ID)]
    pub engine_id: Option<String>,
}
