//! Rules as stored, and compiled for evaluation.

use std::time::Duration;

use qm_conditions::{Conditions, leaves};
use qm_jobs::Cron;
use qm_kernel::Timestamp;
use qm_ports::list::{AGES, FIELDS, FREE_BYTES};
use serde_json::Value;

use super::moment::TIMES;
use super::trigger::{SCHEDULE, STALLED};

/// Largest number of conditions, those in groups included, and of actions, per rule.
pub const MAX_ITEMS: usize = 100;
/// Largest size of a rule's conditions, and of its actions, in bytes of JSON.
pub const MAX_BYTES: usize = 64 * 1024;
/// Largest number of hours of the trigger `torrent.stalled`: a year.
pub const MAX_STALLED_HOURS: u32 = 8784;
/// Largest number of rules.
pub const MAX_RULES: u64 = 500;

/// Largest number of patterns over all rules: each may take 256 KiB in use.
pub const MAX_PATTERNS: usize = 1000;

/// A rule. Its lists may contain any JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    pub id: String,
    pub name: String,
    pub description: Option<String>,
    pub trigger: String,
    pub conditions: Vec<Value>,
    pub actions: Vec<Value>,
    pub is_enabled: bool,
    /// The higher, the earlier.
    pub priority: i64,
    /// Id of the author: the user who last changed what it does, or enabled it. It runs with the author's
    /// permissions. `None`: unknown.
    pub author: Option<String>,
    /// Time table of the trigger `schedule`: five fields of cron.
    pub schedule: Option<String>,
    /// The next due time is the first after this.
    pub scheduled_from: Option<Timestamp>,
    /// Hours without data after which the trigger `torrent.stalled` fires.
    pub stalled_hours: Option<u32>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Change of a rule; `None` leaves a field as it is.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(clippy::option_option, reason = "absent, null and a text are three things")]
pub struct RuleChange {
    pub name: Option<String>,
    /// `Some(None)` clears it.
    pub description: Option<Option<String>>,
    pub trigger: Option<String>,
    pub conditions: Option<Vec<Value>>,
    pub actions: Option<Vec<Value>>,
    pub is_enabled: Option<bool>,
    pub priority: Option<i64>,
    /// `Some(None)` clears it.
    pub schedule: Option<Option<String>>,
    /// `Some(None)` clears it.
    pub stalled_hours: Option<Option<u32>>,
}

impl RuleChange {
    /// True when the change makes the caller the author: it changes what the rule does, or enables it.
    pub const fn takes_over(&self) -> bool {
        self.trigger.is_some()
            || self.conditions.is_some()
            || self.actions.is_some()
            || self.schedule.is_some()
            || self.stalled_hours.is_some()
            || matches!(self.is_enabled, Some(true))
    }

    pub fn apply(self, rule: &mut Rule) {
        fn set<T>(place: &mut T, value: Option<T>) {
            if let Some(value) = value {
                *place = value;
            }
        }
        set(&mut rule.name, self.name);
        set(&mut rule.description, self.description);
        set(&mut rule.trigger, self.trigger);
        set(&mut rule.conditions, self.conditions);
        set(&mut rule.actions, self.actions);
        set(&mut rule.is_enabled, self.is_enabled);
        set(&mut rule.priority, self.priority);
        set(&mut rule.schedule, self.schedule);
        set(&mut rule.stalled_hours, self.stalled_hours);
    }
}

impl Rule {
    /// True when the rule waits for its time table.
    pub fn is_scheduled(&self) -> bool {
        self.is_enabled && self.trigger == SCHEDULE && self.schedule.is_some()
    }

    /// The time table, if it can be read.
    pub fn cron(&self) -> Option<Cron> {
        self.schedule.as_deref().and_then(|text| Cron::parse(text).ok())
    }

    /// True when a condition asks for a field of torrents.
    pub fn asks_torrents(&self) -> bool {
        let fields = leaves(&self.conditions);
        let mut fields = fields.iter().filter_map(|leaf| leaf.get("field")?.as_str());
        fields.any(|field| FIELDS.contains(&field) || field == FREE_BYTES)
    }
}

/// An enabled rule with compiled conditions.
#[derive(Debug)]
pub struct ReadyRule {
    pub id: String,
    pub trigger: String,
    pub conditions: Conditions,
    /// True when a condition depends on an age or the time of day: it may become true without any event.
    pub ages: bool,
    /// True when it runs, or is judged, by the clock of the operator.
    pub needs_zone: bool,
    /// Time table of the trigger `schedule`.
    pub cron: Option<Cron>,
    /// Time without data after which the trigger `torrent.stalled` fires.
    pub stalls_after: Option<Duration>,
    /// Types of its actions.
    pub actions: Vec<String>,
    /// True when a condition asks for a field of torrents.
    pub asks_torrents: bool,
    /// Sentences about conditions that are never true.
    pub never_true: Vec<String>,
    /// Number of the rule in memory, for the life of the process.
    pub number: u32,
    pub name: String,
    /// Id of the author, with whose permissions it runs.
    pub author: Option<String>,
    /// Version of the rule: time of its last change.
    pub updated_at: Timestamp,
}

impl ReadyRule {
    pub fn new(rule: &Rule, number: u32) -> Self {
        let conditions = Conditions::compile(&rule.conditions);
        Self {
            id: rule.id.clone(),
            trigger: rule.trigger.clone(),
            ages: conditions.involve_any(AGES)
                || conditions.involve_any(TIMES)
                || conditions.involve(FREE_BYTES),
            needs_zone: rule.trigger == SCHEDULE || conditions.involve_any(TIMES),
            stalls_after: rule
                .stalled_hours
                .filter(|_| rule.trigger == STALLED)
                .map(|hours| Duration::from_hours(hours.into())),
            cron: rule.cron().filter(|_| rule.trigger == SCHEDULE),
            actions: types_of(&rule.actions).into_iter().map(str::to_owned).collect(),
            asks_torrents: rule.asks_torrents(),
            never_true: conditions
                .never_true()
                .into_iter()
                .map(|(place, why)| format!("conditions{place} is never true: {why}"))
                .collect(),
            conditions,
            number,
            name: rule.name.clone(),
            author: rule.author.clone(),
            updated_at: rule.updated_at,
        }
    }
}

/// Number of conditions with a pattern, those in groups included.
pub fn patterns(conditions: &[Value]) -> usize {
    let is_pattern = |condition: &&&Value| condition.get("op").and_then(Value::as_str) == Some("matches");
    leaves(conditions).iter().filter(is_pattern).count()
}

/// Type of an action in a rule; empty for an invalid one.
pub fn type_of(action: &Value) -> &str {
    action.get("type").and_then(Value::as_str).unwrap_or("undefined")
}

/// Types of a rule's actions, in order.
pub fn types_of(actions: &[Value]) -> Vec<&str> {
    actions.iter().map(type_of).collect()
}
