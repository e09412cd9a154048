//! Domain events of shows. Each is about a show, `provider:id`, and has the same fields.

use qm_kernel::Timestamp;
use qm_kernel::event::EventSpec;
use qm_ports::shows::{AiringStatus, Recommendation};

qm_kernel::events! {
    /// The status of a show has changed.
    pub struct StatusChanged: "rss.show_status.changed" about "show" {
        provider: String,
        provider_show_id: String,
        title: String,
        from: AiringStatus,
        to: AiringStatus,
        recommendation: Recommendation,
        rules_affected: u64,
        at: Timestamp,
    }

    /// No more episodes will come: the story has ended.
    pub struct Ended: "rss.show.ended" about "show" {
        provider: String,
        provider_show_id: String,
        title: String,
        from: AiringStatus,
        to: AiringStatus,
        recommendation: Recommendation,
        rules_affected: u64,
        at: Timestamp,
    }

    /// No more episodes will come: the show was canceled.
    pub struct Canceled: "rss.show.canceled" about "show" {
        provider: String,
        provider_show_id: String,
        title: String,
        from: AiringStatus,
        to: AiringStatus,
        recommendation: Recommendation,
        rules_affected: u64,
        at: Timestamp,
    }

    /// A finished show continues.
    pub struct BecameActive: "rss.show.became_active" about "show" {
        provider: String,
        provider_show_id: String,
        title: String,
        from: AiringStatus,
        to: AiringStatus,
        recommendation: Recommendation,
        rules_affected: u64,
        at: Timestamp,
    }
}

/// Events to register with the event bus.
pub const EVENTS: &[EventSpec] = &[
    EventSpec::for_event::<StatusChanged>(),
    EventSpec::for_event::<Ended>(),
    EventSpec::for_event::<Canceled>(),
    EventSpec::for_event::<BecameActive>(),
];
