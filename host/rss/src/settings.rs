//! Settings of RSS.

use qm_platform::settings;

settings! {
    of "rss";

    /// Days for which it is kept what rules with candidates made of items; of a rule the newest 5,000 at most.
    pub EVALUATION_DAYS: f64 = "rss.evaluationRetentionDays", || 30.0, accepts(|days| *days >= 1.0);

    /// Days for which an item that its feed no longer shows stays in the history. What a feed still shows stays.
    pub HISTORY_DAYS: f64 = "rss.historyRetentionDays", || 365.0, accepts(|days| *days >= 1.0);
}
