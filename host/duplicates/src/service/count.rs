//! Number of groups, for the health of the libraries.

use async_trait::async_trait;
use qm_db::DbError;
use qm_ports::beside::{BesideUnread, MediaGroups};

use super::Duplicates;
use crate::repo::groups;

#[async_trait]
impl MediaGroups for Duplicates {
    async fn count_groups(&self) -> Result<i64, BesideUnread> {
        let unread = |error: DbError| BesideUnread(error.to_string());
        let mut tx = self.ground.db.begin_read().await.map_err(unread)?;
        groups::count_all(&mut tx).await.map_err(unread)
    }
}
