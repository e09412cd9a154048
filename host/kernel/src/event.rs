//! Domain events: what areas tell each other. The bus that carries them is `platform`'s.

use serde::Serialize;
use serde_json::Value;

use crate::time::Timestamp;

/// An event as subscribers see it. `key` and the required payload fields are registered with the bus.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DomainEvent {
    /// UUID v4; the same id twice is delivered once.
    pub id: String,
    /// Dotted name, e.g. `torrent.completed`.
    pub event_key: &'static str,
    pub occurred_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_user_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject_user_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_id: Option<String>,
    pub payload: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub causation_id: Option<String>,
}

/// A registered kind of event: required payload fields and the window within which an equal one is dropped.
#[derive(Clone, Copy, Debug)]
pub struct EventSpec {
    pub key: &'static str,
    pub required: &'static [&'static str],
    /// Seconds in which the same (key, resource type, resource id) is dropped; 0 = never.
    pub window_secs: u32,
}

/// Takes events after the transaction that caused them has committed. Implemented by `platform`'s bus.
pub trait EventSink: Send + Sync {
    /// Never blocks and never fails the caller: an event with an unknown key or a missing field is logged and dropped.
    fn publish(&self, event: DomainEvent);
}
