//! Moves that were cut short, settled by where their data is found.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use qm_db::DbError;
use qm_engines::Engine;
use qm_engines::model::silence::silent_since;
use qm_ports::carry::{CarryError, DataMover, Whereabouts};
use tokio_util::sync::CancellationToken;

use super::{By, Key, job_of};
use crate::repo;
use crate::repo::moves::MoveRow;
use crate::service::TorrentData;

/// Moves that are settled at the same time.
const AT_ONCE: usize = 8;

fn key(row: &MoveRow) -> Key {
    (row.engine_id.clone(), row.hash.clone())
}

impl TorrentData {
    /// Loads the moves that have a row, so that their torrents count as busy. To be called before the first request.
    pub async fn load_moves(&self) -> Result<Vec<MoveRow>, DbError> {
        let mut tx = self.db.begin_read().await?;
        let rows = repo::moves::list(&mut tx).await?;
        drop(tx);
        let mut busy = self.moves.busy();
        let waiting: HashSet<Key> = rows.iter().map(key).collect();
        busy.waiting = waiting;
        Ok(rows)
    }

    /// Settles the interrupted moves that have a row. True if there was a row; some may still be there.
    pub async fn settle_moves(&self, stop: &CancellationToken) -> Result<bool, DbError> {
        let rows = self.load_moves().await?;
        let some = !rows.is_empty();
        let Some(mover) = self.moves.mover() else {
            return Ok(some);
        };
        self.moves.forget_complaints(&rows);
        // Side by side: one client that hangs keeps nobody else's torrents waiting.
        let mover = &mover;
        let settled = stream::iter(rows).map(|row| async move {
            if stop.is_cancelled() {
                return Ok(());
            }
            self.settle_one(&row, mover).await
        });
        let settled: Vec<_> = settled.buffer_unordered(AT_ONCE).collect().await;
        settled.into_iter().collect::<Result<(), DbError>>()?;
        Ok(some)
    }

    async fn settle_one(&self, row: &MoveRow, mover: &Arc<dyn DataMover>) -> Result<(), DbError> {
        // None: it is being moved at this moment.
        let Some(mut hold) = self.moves.hold(&row.engine_id, &row.hash) else {
            return Ok(());
        };
        hold.unfinished = true;
        let Some(engine) = self.engines.get(&row.engine_id) else {
            return Ok(());
        };
        if !self.claim(row).await? {
            return Ok(());
        }
        match self.beating(row, self.settle(&engine, row, mover)).await {
            Ok(()) => engine.poke(),
            Err(reason) => {
                let (id, hash, reason) = (&*engine.id, &row.hash, reason.message);
                // Tried every few seconds, perhaps for days.
                if self.moves.is_new_complaint(&row.id, &reason, self.ctx.now()) {
                    tracing::warn!(
                        engine.id = id,
                        hash,
                        reason,
                        "an interrupted move of a torrent waits"
                    );
                } else {
                    tracing::debug!(
                        engine.id = id,
                        hash,
                        reason,
                        "an interrupted move of a torrent still waits"
                    );
                }
            }
        }
        hold.unfinished = self.rests(row).await;
        Ok(())
    }

    async fn claim(&self, row: &MoveRow) -> Result<bool, DbError> {
        let now = self.ctx.now();
        let mut tx = self.db.begin_write().await?;
        let claimed = repo::moves::claim(&mut tx, &row.id, &self.moves.owner, now, silent_since(now)).await?;
        tx.commit().await?;
        Ok(claimed.rows() > 0)
    }

    async fn settle(
        &self,
        engine: &Engine,
        row: &MoveRow,
        mover: &Arc<dyn DataMover>,
    ) -> Result<(), CarryError> {
        let job = job_of(row);
        let is_there = match mover.whereabouts(&job).await? {
            Whereabouts::Source => false,
            Whereabouts::Destination => true,
            // The copy was put into place, and then the original was to go.
            Whereabouts::Both => mover.remove_original(&job).await?,
            Whereabouts::Neither => {
                let message = format!(
                    "the data is neither at {} nor in {}: check that the disks are mounted",
                    row.source, row.destination
                );
                let kind = qm_kernel::ErrorKind::Conflict;
                let code = kind.code();
                return Err(CarryError { kind, code, message });
            }
        };
        let settled = if is_there {
            self.arrive(engine, row, By::Recovered, mover).await
        } else {
            self.stay(engine, row).await
        };
        settled.map_err(|error| CarryError {
            kind: qm_kernel::ErrorKind::Upstream,
            code: error.code(),
            message: error.to_string(),
        })
    }
}
