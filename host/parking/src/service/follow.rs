//! Torrents that somebody starts by hand though they are parked: they are parked no longer.

use super::ParkingLot;
use crate::error::ParkingError;
use crate::model::judge::is_taken_up;
use crate::model::row::Row;
use crate::repo;

impl ParkingLot {
    /// Lets go of torrents that run though they rest here, as the last lists say; no client is asked.
    pub async fn follow_hands(&self) -> Result<(), ParkingError> {
        self.show_marks();
        for engine in self.engines.all() {
            let Some(standing) = self.standing(&engine.id).filter(|_| !engine.is_down()) else {
                continue;
            };
            let (Some(list), Some(confirmed_at)) = (engine.snapshot(), engine.confirmed_at()) else {
                continue;
            };
            let is_taken = |row: &Row| {
                let entry = list.get(&row.hash);
                entry.is_some_and(|entry| is_taken_up(row, &entry.torrent, confirmed_at))
            };
            let taken: Vec<&str> = standing
                .rows
                .iter()
                .filter(|row| is_taken(row))
                .map(|row| &*row.hash)
                .collect();
            if !taken.is_empty() {
                self.release_taken(&engine.id, &taken).await?;
            }
        }
        Ok(())
    }

    /// Lets go of these, unless a sweep or a request has them in its hands: that one sees it too, or the next look does.
    async fn release_taken(&self, engine_id: &str, hashes: &[&str]) -> Result<(), ParkingError> {
        let turn = self.turn_of(engine_id);
        let Ok(_turn) = turn.try_lock() else {
            return Ok(());
        };
        let now = self.ground.ctx.now();
        let mut tx = self.ground.db.begin_write().await?;
        let mut released = Vec::new();
        for hash in hashes {
            let row = repo::find(&mut tx, engine_id, hash).await?;
            if let Some(mut row) = row.filter(Row::is_resting) {
                row.release(now);
                row.updated_at = now;
                released.push(row);
            }
        }
        repo::put(&mut tx, engine_id, &released).await?;
        tx.commit().await?;
        self.read_engine(engine_id).await
    }
}
