//! Reading and marking a user's inbox.

use qm_kernel::{PageQuery, Permission, Principal};

use super::Notifications;
use crate::error::NotificationsError;
use crate::model::inbox::{Item, Mark, Wanted};
use crate::repo;

impl Notifications {
    /// One page of the caller's inbox, the newest first, and the number of matching notifications.
    pub async fn inbox(
        &self,
        caller: &Principal,
        wanted: &Wanted,
        page: PageQuery,
    ) -> Result<(Vec<Item>, u64), NotificationsError> {
        let mut tx = self.db.begin_read().await?;
        Ok(repo::inbox::page(&mut tx, &caller.user_id, wanted, page).await?)
    }

    /// Number of the caller's unread, unarchived notifications.
    pub async fn unread(&self, caller: &Principal) -> Result<u64, NotificationsError> {
        let mut tx = self.db.begin_read().await?;
        Ok(repo::inbox::unread(&mut tx, &caller.user_id).await?)
    }

    /// Marks all unarchived notifications as read; returns the number of changed ones.
    pub async fn read_all(&self, caller: &Principal) -> Result<u64, NotificationsError> {
        let mut tx = self.db.begin_write().await?;
        self.judge(&mut tx, caller, Permission::NotificationsManageOwn)
            .await?;
        let marked = repo::inbox::mark_all(&mut tx, &caller.user_id, self.ctx.now()).await?;
        tx.commit().await?;
        Ok(marked)
    }

    /// Marks one of the caller's notifications.
    pub async fn mark(&self, caller: &Principal, id: &str, mark: Mark) -> Result<Item, NotificationsError> {
        let mut tx = self.db.begin_write().await?;
        self.judge(&mut tx, caller, Permission::NotificationsManageOwn)
            .await?;
        let marked = repo::inbox::mark(&mut tx, &caller.user_id, id, mark, self.ctx.now()).await?;
        let item = marked.ok_or(NotificationsError::NoSuchNotification)?;
        tx.commit().await?;
        Ok(item)
    }
}
