//! A rule as it is stored, and made ready to be asked.

use qm_conditions::Conditions;
use qm_kernel::Timestamp;
use qm_ports::list::AGES;
use serde_json::Value;

/// Conditions, and actions, of one rule.
pub const MAX_ITEMS: usize = 100;
/// Bytes of a rule's conditions, and of its actions, as JSON.
pub const MAX_BYTES: usize = 64 * 1024;
/// Rules of a server.
pub const MAX_RULES: u64 = 500;

/// Patterns of all rules of a server: each may take 256 KiB while it is in use.
pub const MAX_PATTERNS: usize = 1000;

/// A rule. What its lists hold may be anything.
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
    /// Id of the user who last said what it does, or turned it on: it does what they may. None: that is not known.
    pub author: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// What a change says of a rule; what is `None` stays.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(clippy::option_option, reason = "absent, null and a text are three things")]
pub struct RuleChange {
    pub name: Option<String>,
    /// `Some(None)` takes it away.
    pub description: Option<Option<String>>,
    pub trigger: Option<String>,
    pub conditions: Option<Vec<Value>>,
    pub actions: Option<Vec<Value>>,
    pub is_enabled: Option<bool>,
    pub priority: Option<i64>,
}

impl RuleChange {
    /// Says what the rule does, or turns it on: whoever does that stands for it.
    pub const fn takes_over(&self) -> bool {
        self.trigger.is_some()
            || self.conditions.is_some()
            || self.actions.is_some()
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
    }
}

/// An enabled rule, its conditions compiled once.
#[derive(Debug)]
pub struct ReadyRule {
    pub id: String,
    pub trigger: String,
    pub conditions: Conditions,
    /// It holds or not by how long ago something was: it may come to hold while nothing happens.
    pub ages: bool,
    /// What the rule is known by in memory, as long as the process lives.
    pub number: u32,
}

impl ReadyRule {
    pub fn new(rule: &Rule, number: u32) -> Self {
        let conditions = Conditions::compile(&rule.conditions);
        Self {
            id: rule.id.clone(),
            trigger: rule.trigger.clone(),
            ages: conditions.involve_any(AGES),
            conditions,
            number,
        }
    }
}

/// Conditions of a rule that hold a pattern.
pub fn patterns(conditions: &[Value]) -> usize {
    let is_pattern = |condition: &&Value| condition.get("op").and_then(Value::as_str) == Some("matches");
    conditions.iter().filter(is_pattern).count()
}

/// The type of an action in a rule, as text; an action that is none has no type.
pub fn type_of(action: &Value) -> &str {
    action.get("type").and_then(Value::as_str).unwrap_or("undefined")
}

/// The types of a rule's actions, in order.
pub fn types_of(actions: &[Value]) -> Vec<&str> {
    actions.iter().map(type_of).collect()
}
