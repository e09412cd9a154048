//! Answer bodies of the routes.

use qm_conditions::{Explained, members};
use qm_kernel::{Permission, Principal, Timestamp};
use qm_platform::masked;
use qm_ports::action::Occasion;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::model::action::KnownAction;
use crate::model::answers::{Explanation, Preview, PreviewedAction, PreviewedTorrent, ShownRule};
use crate::model::log::LogLine;
use crate::model::trigger::Trigger;
use qm_ports::action::ActionKind;

/// True when the reader may see parameters unmasked.
fn manages(reader: &Principal) -> bool {
    reader.has_permission(Permission::AutomationManage)
}

/// A rule.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AutomationRule)]
pub struct RuleView {
    pub id: String,
    pub name: String,
    pub description: Option<String>,
    pub trigger: String,
    /// As they were stored; normally `{field, op, value}`, or groups `{all: […]}` and `{any: […]}`.
    #[schema(value_type = Vec<Value>)]
    pub conditions: Vec<Value>,
    /// As they were stored; normally `{type, params?}`.
    #[schema(value_type = Vec<Value>)]
    pub actions: Vec<Value>,
    pub is_enabled: bool,
    /// The higher, the earlier.
    pub priority: i64,
    /// Id of the user who last said what it does, or turned it on: it does what they may. Null where that is not known.
    pub author: Option<String>,
    /// Why it would not run now, whatever happens: its author may not do what it does. Null: they may.
    pub problem: Option<String>,
    /// Parts of it that do nothing: a trigger that nothing fires, a condition that is never true (of an enabled rule), an action or a parameter that
    /// there is not. Left out while there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub warnings: Vec<String>,
    /// Time table of the trigger `schedule`. Left out where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// Next due time of an enabled rule with the trigger `schedule`; left out for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub next_run_at: Option<Timestamp>,
    /// Hours without data of the trigger `torrent.stalled`. Left out where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stalled_hours: Option<u32>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

impl RuleView {
    /// The rule as `reader` may see it: parameters of actions hold addresses with keys, and headers.
    pub fn seen_by(shown: ShownRule, reader: &Principal) -> Self {
        let mut view = Self::from(shown);
        if !manages(reader) {
            view.actions = view.actions.iter().map(masked::value).collect();
        }
        view
    }
}

impl From<ShownRule> for RuleView {
    fn from(shown: ShownRule) -> Self {
        let ShownRule {
            rule,
            problem,
            warnings,
            next_run_at,
        } = shown;
        Self {
            warnings,
            next_run_at,
            schedule: rule.schedule,
            stalled_hours: rule.stalled_hours,
            id: rule.id,
            name: rule.name,
            description: rule.description,
            trigger: rule.trigger,
            conditions: rule.conditions,
            actions: rule.actions,
            is_enabled: rule.is_enabled,
            priority: rule.priority,
            author: rule.author,
            problem,
            created_at: rule.created_at,
            updated_at: rule.updated_at,
        }
    }
}

/// A line of a rule's log. The same failure of a rule for a torrent, one time after the other, is one line.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AutomationLog)]
pub struct LogView {
    pub id: String,
    pub rule_id: String,
    /// `success` or `failed`
    pub status: String,
    /// Context: `hash` and `name` of a torrent, or the whole event; `attempts` and `lastAt` after
    /// repetitions.
    #[schema(value_type = Object)]
    pub context: Map<String, Value>,
    /// Why it failed.
    pub message: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

impl LogView {
    /// The log line as `reader` may see it.
    pub fn seen_by(line: LogLine, reader: &Principal) -> Self {
        let mut view = Self::from(line);
        if !manages(reader) {
            view.message = view.message.map(|message| masked::sentence(&message));
        }
        view
    }
}

impl From<LogLine> for LogView {
    fn from(line: LogLine) -> Self {
        Self {
            id: line.id,
            rule_id: line.rule_id,
            status: line.status,
            context: line.context,
            message: line.message,
            created_at: line.created_at,
        }
    }
}

/// A page of a rule's log.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AutomationLogPage)]
pub struct LogPage {
    /// The newest first.
    pub items: Vec<LogView>,
    /// Lines over all pages.
    pub total: u64,
    pub page: u64,
    pub page_size: u64,
}

/// Available triggers and actions.
#[derive(Serialize, ToSchema)]
#[schema(as = AutomationCatalogue)]
pub struct CatalogueView {
    pub triggers: Vec<TriggerView>,
    pub actions: Vec<ActionView>,
}

/// A trigger.
#[derive(Serialize, ToSchema)]
#[schema(as = AutomationTrigger)]
pub struct TriggerView {
    pub id: &'static str,
    pub label: &'static str,
    /// `torrent`, `media`, `rss`, `time` or `system`.
    pub category: &'static str,
}

impl From<&Trigger> for TriggerView {
    fn from(trigger: &Trigger) -> Self {
        Self {
            id: trigger.id,
            label: trigger.label,
            category: trigger.category,
        }
    }
}

/// An action that a plugin provides, or that a rule uses and nobody provides any more.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AutomationAction)]
pub struct ActionView {
    pub id: String,
    pub label: String,
    pub category: String,
    /// Id of the plugin that provides it, or did.
    pub plugin: String,
    /// Its plugin is not loaded: a rule that uses it fails.
    pub missing: bool,
    /// The kinds of triggers it may follow: `torrent`, `media`, `event`. Empty where its plugin is not loaded.
    pub occasions: Vec<&'static str>,
    /// JSON Schema of its parameters; null where its plugin is not loaded.
    #[schema(value_type = Option<Object>)]
    pub params_schema: Option<Value>,
    /// Running it twice does no more than running it once, so that it is run again when the server died while it ran.
    pub idempotent: bool,
    /// Permissions that it stands for: who stores a rule with it holds them, and goes on holding them for it to run. Empty
    /// where its plugin is not loaded.
    pub permissions: Vec<&'static str>,
}

impl ActionView {
    pub fn new(action: KnownAction, kind: Option<ActionKind>) -> Self {
        let word = |occasion: &Occasion| match occasion {
            Occasion::Torrent => "torrent",
            Occasion::Media => "media",
            Occasion::Event => "event",
        };
        Self {
            id: action.id,
            label: action.label,
            category: action.category,
            plugin: action.plugin,
            missing: kind.is_none(),
            occasions: kind
                .iter()
                .flat_map(|kind| kind.occasions.iter().map(word))
                .collect(),
            idempotent: kind.as_ref().is_some_and(|kind| kind.idempotent),
            permissions: kind
                .iter()
                .flat_map(|kind| kind.needs.iter().map(|need| need.key()))
                .collect(),
            params_schema: kind.map(|kind| kind.params_schema),
        }
    }
}

/// Result of a preview. Nothing was done.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AutomationPreview)]
pub struct PreviewView {
    /// Something fires the trigger.
    pub is_known_trigger: bool,
    /// The torrents whose conditions hold, the first 200.
    pub torrents: Vec<PreviewTorrentView>,
    /// Torrents whose conditions hold.
    pub matched: usize,
    /// Torrents for which the rule would run with the next pass, were it stored.
    pub would_fire: usize,
    /// Torrents that were judged: fewer than `total` where judging took too long.
    pub judged: usize,
    pub total: usize,
    /// In the order in which they would run.
    pub actions: Vec<PreviewActionView>,
}

/// A torrent whose conditions hold.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AutomationPreviewTorrent)]
pub struct PreviewTorrentView {
    pub engine_id: String,
    pub hash: String,
    pub name: String,
    pub would_fire: bool,
    /// `fires`, `incomplete`, `waits_for_ratio` (it fires when the ratio rises to where the conditions hold), `waits_for_event`,
    /// `waits_for_time`.
    pub standing: &'static str,
}

/// An action that would run.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AutomationPreviewAction)]
pub struct PreviewActionView {
    pub r#type: String,
    /// Null where no loaded plugin provides it.
    pub label: Option<String>,
    pub plugin: Option<String>,
    /// Why it would fail before it begins; null: it would begin.
    pub problem: Option<String>,
}

impl From<Preview> for PreviewView {
    fn from(preview: Preview) -> Self {
        Self {
            is_known_trigger: preview.is_known_trigger,
            torrents: preview
                .torrents
                .into_iter()
                .map(PreviewTorrentView::from)
                .collect(),
            matched: preview.matched,
            would_fire: preview.would_fire,
            judged: preview.judged,
            total: preview.total,
            actions: preview.actions.into_iter().map(PreviewActionView::from).collect(),
        }
    }
}

impl From<PreviewedTorrent> for PreviewTorrentView {
    fn from(torrent: PreviewedTorrent) -> Self {
        let standing = torrent.standing.as_str();
        Self {
            engine_id: torrent.engine_id,
            hash: torrent.hash,
            name: torrent.name,
            would_fire: standing == "fires",
            standing,
        }
    }
}

impl From<PreviewedAction> for PreviewActionView {
    fn from(action: PreviewedAction) -> Self {
        Self {
            r#type: action.kind,
            label: action.label,
            plugin: action.plugin,
            problem: action.problem,
        }
    }
}

/// Evaluation of a rule for a torrent.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AutomationExplanation)]
pub struct ExplanationView {
    pub rule_id: String,
    pub is_enabled: bool,
    pub engine_id: String,
    pub hash: String,
    pub name: String,
    pub conditions: Vec<ConditionView>,
    /// True when all conditions match.
    pub holds: bool,
    /// State of the rule for the torrent: `fires`, `done` (the rule has run for it), `incomplete`,
    /// `waits_for_ratio`, `waits_for_event`, `waits_for_time`; null where the conditions do not match.
    pub standing: Option<&'static str>,
}

/// Evaluation of a condition.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AutomationCondition)]
pub struct ConditionView {
    /// The condition as it is stored.
    #[schema(value_type = Value)]
    pub condition: Value,
    /// The field's value; null also where there is no such field, see `isMissing`.
    #[schema(value_type = Option<Value>)]
    pub seen: Option<Value>,
    /// There is no such field.
    pub is_missing: bool,
    /// `value` (equal in type and value), `number`, `text`, `pattern`; `nothing` where it never holds; `all` or `any` for a group.
    pub compared_as: &'static str,
    /// The field's side of the comparison, as it was compared; of a group the number of members that hold.
    pub left: String,
    /// The value's side; of a group the number of members.
    pub right: String,
    pub holds: bool,
    /// Why it cannot hold, where there is more to say than the two sides.
    pub reason: Option<String>,
    /// Members of a group, in order. Left out for a condition.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(no_recursion, required = false)]
    pub members: Vec<ConditionView>,
}

impl From<Explanation> for ExplanationView {
    fn from(explanation: Explanation) -> Self {
        let conditions = explanation.conditions.into_iter();
        Self {
            rule_id: explanation.rule_id,
            is_enabled: explanation.is_enabled,
            engine_id: explanation.engine_id,
            hash: explanation.hash,
            name: explanation.name,
            conditions: conditions
                .map(|(source, explained)| ConditionView::new(source, explained))
                .collect(),
            holds: explanation.holds,
            standing: explanation.standing.map(crate::model::answers::Standing::as_str),
        }
    }
}

impl ConditionView {
    fn new(condition: Value, explained: Explained) -> Self {
        let sources = members(&condition).to_vec();
        let members = sources.into_iter().zip(explained.members);
        Self {
            members: members
                .map(|(source, explained)| ConditionView::new(source, explained))
                .collect(),
            condition,
            is_missing: explained.seen.is_none(),
            seen: explained.seen,
            compared_as: explained.compared_as,
            left: explained.left,
            right: explained.right,
            holds: explained.holds,
            reason: explained.reason,
        }
    }
}
