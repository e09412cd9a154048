//! The domain events of RSS.

use qm_kernel::event::EventSpec;
use qm_ports::shows::{AiringStatus, Recommendation};

qm_kernel::events! {
    /// A rule was stored although no more episodes of its show will come: whoever stored it wanted it all the same.
    pub struct RuleOfInactiveShow: "rss.rule.created_for_inactive_show" about "rss_rule" {
        rule_name: String,
        title: String,
        normalized_status: AiringStatus,
        recommendation: Recommendation,
        provider: String,
        provider_show_id: String,
    }
}

/// To be registered with the bus.
pub const EVENTS: &[EventSpec] = &[EventSpec::of::<RuleOfInactiveShow>()];
