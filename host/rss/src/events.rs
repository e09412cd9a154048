//! The domain events of RSS.

use qm_kernel::event::EventSpec;
use qm_ports::shows::{AiringStatus, Recommendation};

qm_kernel::events! {
    /// A user with the override permission stored a rule although its show has ended.
    pub struct RuleOfInactiveShow: "rss.rule.created_for_inactive_show" about "rss_rule" {
        rule_name: String,
        title: String,
        normalized_status: AiringStatus,
        recommendation: Recommendation,
        provider: String,
        provider_show_id: String,
    }
}

/// Events to register with the event bus.
pub const EVENTS: &[EventSpec] = &[EventSpec::for_event::<RuleOfInactiveShow>()];
