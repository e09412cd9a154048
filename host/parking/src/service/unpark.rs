//! Lists of parked torrents, and their end at somebody's request.

use async_trait::async_trait;
use qm_engines::{Engine, TorrentsError, audit_entry};
use qm_kernel::Caller;
use qm_ports::engine::{Command, EngineError};
use qm_ports::parking::{ParkedTorrent, Parking, ParkingUnread};
use qm_torrent_data::checked_hash;
use serde_json::json;

use super::ParkingLot;
use crate::error::ParkingError;
use crate::model::row::Row;
use crate::repo;

const OBJECT: &str = "torrent";

impl ParkingLot {
    /// Parked torrents of an engine, or of all, those parked last first; each with the id of its engine.
    pub async fn list(&self, engine_id: Option<&str>) -> Result<Vec<(String, Row)>, ParkingError> {
        let mut tx = self.ground.db.begin_read().await?;
        let Some(engine_id) = engine_id.filter(|id| !id.is_empty()) else {
            return Ok(repo::list_parked(&mut tx).await?);
        };
        if !repo::has_engine(&mut tx, engine_id).await? {
            return Err(ParkingError::NoSuchEngine);
        }
        let mut rows = repo::list_of(&mut tx, engine_id).await?;
        rows.retain(Row::is_parked);
        Ok(rows.into_iter().map(|row| (engine_id.to_owned(), row)).collect())
    }

    /// Has a parked torrent run as before. One that is not parked stays as it is.
    pub async fn unpark(&self, caller: Caller<'_>, engine_id: &str, hash: &str) -> Result<(), ParkingError> {
        let hash = checked_hash(hash)?;
        let engine = self.engines.resolve(Some(engine_id))?;
        let turn = self.turn_of(&engine.id);
        let _turn = turn.lock().await;
        let mut tx = self.ground.db.begin_read().await?;
        let row = repo::find(&mut tx, &engine.id, &hash).await?;
        drop(tx);
        let Some(mut row) = row.filter(Row::is_parked) else {
            return Ok(());
        };
        self.data.refuse_busy(&engine, &hash)?;
        let is_there = resume(&engine, &row)
            .await
            .map_err(TorrentsError::blame_engine(&engine.name()))?;
        let now = self.ground.ctx.now();
        let metadata = json!({ "engineId": *engine.id, "name": row.name });
        let entry = audit_entry(
            caller,
            "torrents.parking.unparked",
            Some((OBJECT, &hash)),
            Some(metadata),
        );
        let mut tx = self.ground.db.begin_write().await?;
        if is_there {
            row.release(now);
            row.updated_at = now;
            repo::put(&mut tx, &engine.id, &[row]).await?;
        } else {
            repo::delete(&mut tx, &engine.id, &hash).await?;
        }
        self.ground.audit.record(&mut tx, entry).await?;
        tx.commit().await?;
        self.read_engine(&engine.id).await?;
        engine.show_change(true).await;
        Ok(())
    }
}

/// Has a torrent run as before; false: its client does not have it.
async fn resume(engine: &Engine, row: &Row) -> Result<bool, EngineError> {
    if row.is_probing() {
        match engine
            .order_one(&row.hash, Command::ForceStart(false), None)
            .await
        {
            // A client that cannot force a start has not done so.
            Ok(()) | Err(EngineError::Unsupported(_)) => {}
            Err(EngineError::NotFound(_)) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    match engine.order_one(&row.hash, Command::Resume, None).await {
        Ok(()) => Ok(true),
        Err(EngineError::NotFound(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

#[async_trait]
impl Parking for ParkingLot {
    async fn parked(&self) -> Result<Vec<ParkedTorrent>, ParkingUnread> {
        let parked = self.list(None).await;
        let parked = parked.map_err(|error| ParkingUnread(error.to_string()))?;
        let parked = parked.into_iter().filter_map(|(engine_id, row)| {
            Some(ParkedTorrent {
                engine_id,
                parked: row.mark()?,
                hash: row.hash,
                name: row.name,
            })
        });
        Ok(parked.collect())
    }
}
