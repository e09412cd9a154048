//! The domain events of shows. Each is about a show, `provider:id`, and says the same of it; what differs is what happened.

use qm_kernel::Timestamp;
use qm_kernel::event::EventSpec;
use qm_ports::shows::{AiringStatus, Recommendation};

qm_kernel::events! {
    /// The status of a show is another one.
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

    /// No more episodes will come: the story is told.
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

    /// No more episodes will come: it was given up.
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

    /// A show that was over goes on.
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

/// To be registered with the bus.
pub const EVENTS: &[EventSpec] = &[
    EventSpec::of::<StatusChanged>(),
    EventSpec::of::<Ended>(),
    EventSpec::of::<Canceled>(),
    EventSpec::of::<BecameActive>(),
];
