//! Notification of this area itself; the others are brought by the areas whose events they are.

use qm_platform::notification::{Audience, CardBuilder, Category, NotificationSpec, Severity};

/// Notice sent by an automation rule. It is no event of the bus: the automation area calls the notifier.
pub const NOTICE: NotificationSpec = NotificationSpec::new(
    ("automation.notice", 170),
    (Category::Workflows, Severity::Info),
    Audience::AFFECTED,
    CardBuilder::Notice,
);
