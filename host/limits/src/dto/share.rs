//! Limits on sharing.

use qm_kernel::Timestamp;
use qm_ports::engine::{Limit, ShareAction, ShareLimits};
use qm_web::{Fields, FromBody, FromQuery};
use serde::Serialize;
use serde_json::{Number, Value};
use utoipa::ToSchema;

use crate::model::ledger::{Entry, State};
use crate::model::share::{ACTIONS, Effective, Found, Scope, action_word, read_action};
use crate::model::views::{ShareView, TorrentShare};

/// The largest ratio, and the longest time in seconds: a hundred years.
const MAX_RATIO: f64 = 10_000.0;
const MAX_SECONDS: u64 = 100 * 366 * 86_400;
/// The word that ends inheritance.
const NONE: &str = "none";
const MAX_ID: usize = 200;

/// The engine of a torrent.
#[derive(FromQuery)]
pub struct EngineQuery {
    /// Absent: the default engine.
    #[field(max = MAX_ID)]
    pub engine_id: Option<String>,
}

/// Limits on sharing. What is left out, or null, is inherited: by a torrent from its category, then from its engine. `"none"` is no
/// limit, whatever the others say. The limit that is reached first counts.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = ShareLimitsInput)]
pub struct ShareInput {
    /// uploaded / downloaded, from 0 to 10000, or `"none"`; 1.5 is 150 %.
    #[field(with = read_ratio)]
    #[schema(value_type = Option<Value>, example = 1.5)]
    pub ratio: Limit<f64>,
    /// Seconds seeded in all, or `"none"`.
    #[field(with = read_time)]
    #[schema(value_type = Option<Value>, example = 604800)]
    pub seeding_time: Limit<u64>,
    /// Seconds seeded since content last moved, or `"none"`.
    #[field(with = read_time)]
    #[schema(value_type = Option<Value>, example = 86400)]
    pub inactive_seeding_time: Limit<u64>,
    /// `stop`, which is the default where nobody chose another one, `remove`, `removeWithData` or `superSeed`.
    #[field(one_of = ACTIONS)]
    pub action: Option<String>,
    /// Lifts the limits that the client itself has on the torrent, so that it does not act before or after. For a torrent only.
    #[field(default)]
    pub clear_client: bool,
}

impl ShareInput {
    /// The limits.
    pub fn limits(&self) -> ShareLimits {
        ShareLimits {
            ratio: self.ratio,
            seeding_time: self.seeding_time,
            inactive_time: self.inactive_seeding_time,
            action: read_action(self.action.as_deref().unwrap_or_default()),
        }
    }
}

fn read_ratio(f: &mut Fields<'_>, name: &'static str) -> Limit<f64> {
    read_limit(f, name, &format!("a number from 0 to {MAX_RATIO}"), |given| {
        given.as_f64().filter(|ratio| (0.0..=MAX_RATIO).contains(ratio))
    })
}

fn read_time(f: &mut Fields<'_>, name: &'static str) -> Limit<u64> {
    let wanted = format!("a whole number of seconds from 0 to {MAX_SECONDS}");
    read_limit(f, name, &wanted, |given| {
        given.as_u64().filter(|seconds| *seconds <= MAX_SECONDS)
    })
}

/// Reads a number, which is `wanted`, or the word for none.
fn read_limit<T>(
    f: &mut Fields<'_>,
    name: &'static str,
    wanted: &str,
    read: impl Fn(&Value) -> Option<T>,
) -> Limit<T> {
    let Some(given) = f.any(name).optional() else {
        return Limit::Inherit;
    };
    if given.as_str() == Some(NONE) {
        return Limit::Unlimited;
    }
    read(&given).map_or_else(
        || {
            f.broken(format!("{name} must be {wanted}, or \"{NONE}\""));
            Limit::Inherit
        },
        Limit::At,
    )
}

/// Limits as they are set on one thing: null is inherited, `"none"` is no limit.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ShareLimitsSet)]
pub struct SetView {
    /// A number, `"none"` or null.
    #[schema(value_type = Option<Value>)]
    pub ratio: Value,
    /// Seconds, `"none"` or null.
    #[schema(value_type = Option<Value>)]
    pub seeding_time: Value,
    /// Seconds, `"none"` or null.
    #[schema(value_type = Option<Value>)]
    pub inactive_seeding_time: Value,
    /// Null is inherited.
    pub action: Option<&'static str>,
}

fn show_limit<T>(limit: Limit<T>, show: impl Fn(T) -> Option<Number>) -> Value {
    match limit {
        Limit::Inherit => Value::Null,
        Limit::Unlimited => NONE.into(),
        Limit::At(value) => show(value).map_or(Value::Null, Value::Number),
    }
}

fn show_ratio(limit: Limit<f64>) -> Value {
    show_limit(limit, Number::from_f64)
}

fn show_time(limit: Limit<u64>) -> Value {
    show_limit(limit, |seconds| Some(seconds.into()))
}

impl From<ShareLimits> for SetView {
    fn from(limits: ShareLimits) -> Self {
        Self {
            ratio: show_ratio(limits.ratio),
            seeding_time: show_time(limits.seeding_time),
            inactive_seeding_time: show_time(limits.inactive_time),
            action: action_word(limits.action),
        }
    }
}

/// A value in force and where it comes from.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ShareLimitInForce)]
pub struct InForceView {
    /// A number, or the word of an action; null is no limit.
    #[schema(value_type = Option<Value>)]
    pub value: Value,
    /// `torrent`, `category`, `engine`, or `default` where nobody set it.
    pub source: &'static str,
    /// Id of the user who set it, by whose permissions the action is done.
    pub set_by: Option<String>,
}

/// Limits in force.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ShareLimitsInForce)]
pub struct EffectiveView {
    pub ratio: InForceView,
    pub seeding_time: InForceView,
    pub inactive_seeding_time: InForceView,
    pub action: InForceView,
}

fn in_force<T: Copy>(found: Option<&Found<T>>, absent: Value, show: impl Fn(T) -> Value) -> InForceView {
    match found {
        None => InForceView {
            value: absent,
            source: "default",
            set_by: None,
        },
        Some(found) => InForceView {
            value: match show(found.value) {
                Value::String(word) if word == NONE => Value::Null,
                value => value,
            },
            source: found.layer.scope.word(),
            set_by: Some(found.layer.set_by.clone()),
        },
    }
}

impl From<&Effective> for EffectiveView {
    fn from(effective: &Effective) -> Self {
        let word = |action: ShareAction| action_word(action).into();
        Self {
            ratio: in_force(effective.ratio.as_ref(), Value::Null, show_ratio),
            seeding_time: in_force(effective.seeding.as_ref(), Value::Null, show_time),
            inactive_seeding_time: in_force(effective.inactive.as_ref(), Value::Null, show_time),
            action: in_force(effective.action.as_ref(), word(effective.action()), word),
        }
    }
}

/// A limit that a torrent reached, and what became of the action.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ShareLimitReached)]
pub struct ReachedView {
    /// `ratio`, `seedingTime` or `inactiveSeedingTime`.
    pub limit: String,
    pub action: String,
    /// `acting`, `done` or `failed`.
    pub state: &'static str,
    /// Why it failed.
    pub error: Option<String>,
    /// When it is tried again.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub next_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
}

impl From<Entry> for ReachedView {
    fn from(entry: Entry) -> Self {
        Self {
            limit: entry.reached,
            action: entry.action,
            state: entry.state.as_str(),
            next_at: entry.next_at.filter(|_| entry.state == State::Failed),
            error: entry.error,
            at: entry.at,
        }
    }
}

/// Standing of a torrent with its limits.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TorrentShareStanding)]
pub struct StandingView {
    /// True while limits are held against it: it is complete and seeds, or waits in a queue to seed, and nobody started it past all
    /// limits.
    pub is_judged: bool,
    pub ratio: f64,
    /// Seconds seeded in all, as the client tells or as the server counted since a limit of time is in force; null when nobody knows.
    pub seconds_seeded: Option<u64>,
    /// Seconds seeded since content last moved; null when nobody knows.
    pub seconds_inactive: Option<u64>,
    /// The limit that it reached last; null when it reached none, or when the limits were changed since.
    pub reached: Option<ReachedView>,
    /// Limits that the client itself has on it; the client acts on them by itself. Null where it has none or does not tell.
    pub client: Option<SetView>,
}

impl From<TorrentShare> for StandingView {
    fn from(share: TorrentShare) -> Self {
        Self {
            is_judged: share.is_judged,
            ratio: share.facts.ratio,
            seconds_seeded: share.facts.seeded,
            seconds_inactive: share.facts.idle,
            reached: share.entry.map(ReachedView::from),
            client: share.client.map(SetView::from),
        }
    }
}

/// Limits on a torrent, a category or an engine.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ShareLimits)]
pub struct ShareLimitsView {
    /// `torrent`, `category` or `engine`.
    pub scope: &'static str,
    /// The engine, of a torrent and of an engine.
    pub engine_id: Option<String>,
    /// Null where nothing is set on it.
    pub set: Option<SetView>,
    /// Id of the user who set it.
    pub set_by: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub set_at: Option<Timestamp>,
    pub effective: EffectiveView,
    /// Standing of a torrent; null for others.
    pub standing: Option<StandingView>,
}

impl From<ShareView> for ShareLimitsView {
    fn from(view: ShareView) -> Self {
        let engine_id = match &view.scope {
            Scope::Torrent { engine_id, .. } | Scope::Engine(engine_id) => Some(engine_id.clone()),
            Scope::Category(_) => None,
        };
        Self {
            scope: view.scope.word(),
            engine_id,
            effective: EffectiveView::from(&view.effective),
            set_by: view.own.as_ref().map(|own| own.set_by.clone()),
            set_at: view.own.as_ref().map(|own| own.set_at),
            set: view.own.map(|own| own.limits.into()),
            standing: view.torrent.map(StandingView::from),
        }
    }
}
