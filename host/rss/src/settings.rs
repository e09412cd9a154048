//! Settings of RSS.

use qm_platform::settings;

settings! {
    of "rss";

    /// Days to keep evaluations of items by rules with candidates; per rule at most the newest 5,000.
    pub EVALUATION_DAYS: f64 = "rss.evaluationRetentionDays", || 30.0, accepts(|days| *days >= 1.0);

    /// Days to keep an item in the history after its feed stopped listing it. Items still listed stay.
    pub HISTORY_DAYS: f64 = "rss.historyRetentionDays", || 365.0, accepts(|days| *days >= 1.0);
}
