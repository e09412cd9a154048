//! Queries and request bodies of the routes.

use qm_kernel::PageQuery;
use qm_web::{Fields, FromBody, FromQuery};
use serde_json::Value;
use utoipa::ToSchema;

use crate::model::rule::{MAX_BYTES, MAX_ITEMS, RuleChange};

const MAX_PAGE: u64 = 200;
const MAX_ID: usize = 200;

/// A rule to make, or to try. What stands in its lists is stored as it comes: what is no condition never holds, an action
/// that nobody provides fails when the rule runs.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct NewRule {
    pub name: String,
    pub description: Option<String>,
    /// One of the catalogue; any other never fires.
    pub trigger: String,
    /// `{field, op, value}`; all have to hold. At most 100, in 64 KiB.
    #[schema(required = false, value_type = Vec<Object>)]
    pub conditions: Vec<Value>,
    /// `{type, params?}`, in the order in which they run. At most 100, in 64 KiB.
    #[schema(required = false, value_type = Vec<Object>)]
    pub actions: Vec<Value>,
    #[schema(required = false, default = true)]
    pub is_enabled: bool,
    /// The higher, the earlier.
    #[schema(required = false, default = 0)]
    pub priority: i64,
}

impl FromBody for NewRule {
    fn from_body(f: &mut Fields<'_>) -> Self {
        Self {
            name: f.string("name").required().get(),
            description: f.string("description").optional(),
            trigger: f.string("trigger").required().get(),
            conditions: list(f, "conditions").unwrap_or_default(),
            actions: list(f, "actions").unwrap_or_default(),
            is_enabled: f.boolean("isEnabled").or(true),
            priority: f.integer("priority").or(0),
        }
    }
}

impl From<NewRule> for RuleChange {
    fn from(new: NewRule) -> Self {
        Self {
            name: Some(new.name),
            description: Some(new.description),
            trigger: Some(new.trigger),
            conditions: Some(new.conditions),
            actions: Some(new.actions),
            is_enabled: Some(new.is_enabled),
            priority: Some(new.priority),
        }
    }
}

/// Changes of a rule; absent fields stay.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct ChangedRule {
    pub name: Option<String>,
    /// Null takes it away.
    pub description: Option<String>,
    pub trigger: Option<String>,
    #[schema(value_type = Option<Vec<Object>>)]
    pub conditions: Option<Vec<Value>>,
    #[schema(value_type = Option<Vec<Object>>)]
    pub actions: Option<Vec<Value>>,
    pub is_enabled: Option<bool>,
    pub priority: Option<i64>,
    #[schema(ignore)]
    clears_description: bool,
}

impl FromBody for ChangedRule {
    fn from_body(f: &mut Fields<'_>) -> Self {
        Self {
            clears_description: f.is_null("description"),
            name: f.string("name").optional(),
            description: f.string("description").optional(),
            trigger: f.string("trigger").optional(),
            conditions: list(f, "conditions"),
            actions: list(f, "actions"),
            is_enabled: f.boolean("isEnabled").optional(),
            priority: f.integer("priority").optional(),
        }
    }
}

impl From<ChangedRule> for RuleChange {
    fn from(changed: ChangedRule) -> Self {
        Self {
            name: changed.name,
            description: match changed.description {
                None if changed.clears_description => Some(None),
                description => description.map(Some),
            },
            trigger: changed.trigger,
            conditions: changed.conditions,
            actions: changed.actions,
            is_enabled: changed.is_enabled,
            priority: changed.priority,
        }
    }
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
pub struct LogsQuery(pub PageQuery);

impl FromQuery for LogsQuery {
    fn from_query(f: &mut Fields<'_>) -> Self {
        Self(f.page(MAX_PAGE))
    }
}

/// Torrent for which a rule is explained.
pub struct ExplainQuery {
    pub hash: String,
    /// Absent: any engine that has the torrent.
    pub engine_id: Option<String>,
}

impl FromQuery for ExplainQuery {
    fn from_query(f: &mut Fields<'_>) -> Self {
        Self {
            hash: f.string("hash").required().min(1).max(MAX_ID).get(),
            engine_id: f.string("engineId").given().max(MAX_ID).optional(),
        }
    }
}
