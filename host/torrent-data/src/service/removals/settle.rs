//! Removals with data that were cut short, finished by the next process.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use qm_db::DbError;
use qm_kernel::Permission;
use qm_platform::{AuditEntry, AuditResult, Beats};
use qm_ports::TorrentPayload;
use qm_ports::carry::{DataMover, DataSeen};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::remove_seen;
use crate::repo;
use crate::repo::removals::RemovalRow;
use crate::service::TorrentData;

impl TorrentData {
    /// Name and interval of [`TorrentData::removals_loop`].
    pub const REMOVALS: (&'static str, Duration) = ("torrent_removals", qm_kernel::BEAT.saturating_mul(5));

    /// Settles removals that were cut short, until none is left.
    pub async fn removals_loop(self: Arc<Self>, stop: CancellationToken) {
        let mut looks = Beats::every(Self::REMOVALS.1);
        let mut changes = self.db.changes();
        let mut waiting = true;
        while stop.run_until_cancelled(looks.next()).await.is_some() {
            if !changes.any() && !waiting {
                continue;
            }
            match self.settle_removals(&stop).await {
                Ok(left) => waiting = left,
                Err(error) => {
                    changes.forget();
                    tracing::warn!(%error, "interrupted removals of torrents cannot be looked for");
                }
            }
        }
    }

    /// True if something is left to settle.
    pub async fn settle_removals(&self, stop: &CancellationToken) -> Result<bool, DbError> {
        let mut tx = self.db.begin_read().await?;
        let rows = repo::removals::left_behind(&mut tx, self.moves.owner()).await?;
        drop(tx);
        let mut left = false;
        for row in rows {
            if stop.is_cancelled() {
                return Ok(true);
            }
            left |= !self.settle_removal(row).await?;
        }
        Ok(left)
    }

    /// Settles what another process left. False: its client does not say whether the torrent is gone.
    async fn settle_removal(&self, mut row: RemovalRow) -> Result<bool, DbError> {
        let (Some(engine), Some(mover)) = (self.engines.get(&row.engine_id), self.moves.mover()) else {
            return Ok(false);
        };
        let Ok(listed) = engine.driver.get(&row.hash).await else {
            return Ok(false);
        };
        let before = std::mem::replace(&mut row.owner, self.moves.owner().to_owned());
        let mut tx = self.db.begin_write().await?;
        let claimed = repo::removals::claim(&mut tx, &row.id, &row.owner, &before).await?;
        tx.commit().await?;
        if claimed.rows() == 0 {
            return Ok(true);
        }
        // It was not told, or it refused: whoever asked heard nothing of a success.
        let stayed = match listed {
            Some(_) => None,
            None => Some(self.finish_removal(&row, &mover).await),
        };
        let mut tx = self.db.begin_write().await?;
        let removed = repo::removals::remove(&mut tx, &row.id, &row.owner).await?;
        if let Some(stayed) = stayed
            && removed.rows() > 0
        {
            let mut metadata = json!({ "engineId": row.engine_id, "name": row.name, "recovered": true });
            let is_whole = stayed == 0;
            if !is_whole {
                metadata["stayed"] = stayed.into();
                tracing::warn!(
                    hash = row.hash,
                    stayed,
                    "files of a torrent that was removed with its data stayed"
                );
            }
            let entry = AuditEntry {
                user_id: (!row.user_id.is_empty()).then(|| row.user_id.clone()),
                action: Permission::TorrentsDeleteData.key(),
                object_type: Some("torrent"),
                object_id: Some(row.hash.clone()),
                result: if is_whole {
                    AuditResult::Success
                } else {
                    AuditResult::Failure
                },
                client: None,
                metadata: Some(metadata),
            };
            self.audit.record(&mut tx, entry).await?;
        }
        tx.commit().await?;
        Ok(true)
    }

    /// Removes what a removal that was cut short left, unless somebody uses it by now. Answers the number of files that
    /// stayed.
    async fn finish_removal(&self, row: &RemovalRow, mover: &Arc<dyn DataMover>) -> usize {
        let seen: Vec<DataSeen> = serde_json::from_str(&row.seen).unwrap_or_default();
        let paths: Vec<String> = seen
            .iter()
            .map(|seen| String::from_utf8_lossy(&seen.top).into_owned())
            .collect();
        // With fresh lists.
        drop(self.gather(&[]).await);
        let Some(_claim) = self.claims.take(paths.iter().cloned()).await else {
            return count(mover, &seen).await;
        };
        let places: Vec<&Path> = paths.iter().map(Path::new).collect();
        let is_it = |user: &TorrentPayload| user.engine_id == row.engine_id && user.hash == row.hash;
        if self.touching(&places).iter().any(|user| !is_it(user)) {
            return count(mover, &seen).await;
        }
        remove_seen(mover, &seen, Duration::ZERO).await.len()
    }
}

async fn count(mover: &Arc<dyn DataMover>, seen: &[DataSeen]) -> usize {
    let mut left = 0;
    for seen in seen {
        left += mover.count_remains(seen).await.unwrap_or(seen.files.len());
    }
    left
}
