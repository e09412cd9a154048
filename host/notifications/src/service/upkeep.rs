//! Removal of ended messages and, if the operator wants it, of old notifications, in transactions of a
//! thousand rows, so that other writers wait only briefly.

use std::time::Duration;

use qm_db::DbError;
use qm_kernel::Timestamp;

use super::Notifications;
use crate::repo;
use crate::settings::INBOX_DAYS;

/// Age at which ended messages are removed.
const MESSAGES: Duration = Duration::from_hours(30 * 24);
/// Rows removed in one transaction.
const AT_ONCE: usize = if cfg!(test) { 10 } else { 1000 };

impl Notifications {
    /// Removes what is too old.
    pub(super) async fn remove_old(&self, now: Timestamp) -> Result<(), DbError> {
        let before = now.minus(MESSAGES);
        loop {
            let mut tx = self.db.begin_write().await?;
            let removed = repo::deliveries::prune(&mut tx, before, AT_ONCE).await?;
            tx.commit().await?;
            if removed < AT_ONCE as u64 {
                break;
            }
        }
        let days = {
            let mut tx = self.db.begin_read().await?;
            self.settings.get(&mut tx, &INBOX_DAYS).await?
        };
        let Some(days) = u64::try_from(days).ok().filter(|days| *days > 0) else {
            return Ok(());
        };
        let before = now.minus(Duration::from_hours(days.saturating_mul(24)));
        let mut all = 0;
        loop {
            let mut tx = self.db.begin_write().await?;
            let removed = repo::inbox::prune(&mut tx, before, AT_ONCE).await?;
            tx.commit().await?;
            all += removed;
            if removed < AT_ONCE as u64 {
                break;
            }
        }
        if all > 0 {
            tracing::info!(
                notifications = all,
                days,
                "notifications were removed: they are older than the setting says"
            );
        }
        Ok(())
    }
}
