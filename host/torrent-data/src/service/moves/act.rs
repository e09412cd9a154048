//! The move itself: note it, have the client let go, carry, point the client at what was carried, strike the note.

use std::convert::Infallible;
use std::sync::Arc;

use qm_db::{DbError, Tx};
use qm_engines::repo::engines;
use qm_engines::{Engine, TorrentsError, describe, is_loaded_as};
use qm_kernel::{Caller, Permission, as_error};
use qm_platform::{AuditEntry, AuditResult};
use qm_ports::carry::{DataMove, DataMover};
use qm_ports::engine::{Command, EngineError, capability};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::MissedTickBehavior;

use super::{BEAT, By, Hold, job_of};
use crate::repo;
use crate::repo::moves::MoveRow;
use crate::service::TorrentData;

impl<'a> By<'a> {
    /// The person who asked, from where; none when nobody did, or nobody knows any more.
    fn person(self) -> Option<Caller<'a>> {
        match self {
            By::Person(who) => Some(who.caller()),
            By::Rule | By::Recovered => None,
        }
    }
}

/// The end of a move.
#[derive(Clone, Copy)]
enum End<'a> {
    /// The torrent is where it was.
    Stayed,
    /// It is where it was to be.
    Moved(By<'a>),
}

impl TorrentData {
    pub(super) async fn carry_out(
        &self,
        engine: &Engine,
        row: &MoveRow,
        by: By<'_>,
        mut hold: Hold,
        begun: oneshot::Sender<()>,
    ) -> Result<(), TorrentsError> {
        let mover = self.moves.mover().ok_or(TorrentsError::NoMover)?;
        if let Err(error) = self.note_move(engine, row).await {
            if matches!(error, TorrentsError::EngineChanged) {
                // Another process may have changed it.
                self.engines.reload().await?;
            }
            return Err(error);
        }
        let result = self
            .beating(row, self.steps(engine, row, by, &mover, begun))
            .await;
        // Whatever happened: as long as there is a row, it is not over.
        hold.unfinished = self.rests(row).await;
        if let Err(error) = &result {
            let (id, hash) = (&*engine.id, &row.hash);
            tracing::warn!(engine.id = id, hash, %error, unfinished = hold.unfinished, "a torrent was not moved");
        }
        drop(hold);
        engine.poke();
        result
    }

    async fn steps(
        &self,
        engine: &Engine,
        row: &MoveRow,
        by: By<'_>,
        mover: &Arc<dyn DataMover>,
        begun: oneshot::Sender<()>,
    ) -> Result<(), TorrentsError> {
        if let Err(error) = let_go(engine, row).await {
            // It may have done it nevertheless.
            self.try_stay(engine, row).await;
            return Err(TorrentsError::blame_engine(&engine.name())(error));
        }
        // Whoever asked may have hung up.
        let _ = begun.send(());
        let carried = mover.carry(&job_of(row), by.person()).await;
        if !self.is_ours(row).await {
            return Err(TorrentsError::Moving);
        }
        match carried {
            Ok(()) => self.arrive(engine, row, by, mover).await,
            Err(error) => {
                self.try_stay(engine, row).await;
                Err(error.into())
            }
        }
    }

    /// Ends a move whose data is at its new place: the torrent is pointed at it. If its client refuses that, the data
    /// comes back.
    pub(super) async fn arrive(
        &self,
        engine: &Engine,
        row: &MoveRow,
        by: By<'_>,
        mover: &Arc<dyn DataMover>,
    ) -> Result<(), TorrentsError> {
        let name = engine.name();
        let failed = TorrentsError::blame_engine(&name);
        match self.point_anew(engine, row).await {
            Ok(()) => {
                self.end_move(row, End::Moved(by)).await;
                Ok(())
            }
            Err(error @ EngineError::NotFound(_)) => {
                tracing::warn!(engine.id = %engine.id, hash = row.hash, destination = row.destination,
                    "a torrent was removed while its data was moved; the data is at the new place");
                self.end_move(row, End::Stayed).await;
                Err(failed(error))
            }
            // It will be told again.
            Err(error) if error.is_transport() || matches!(error, EngineError::Busy) => Err(failed(error)),
            Err(error) => {
                if !matches!(by, By::Recovered)
                    && let Some(back) = way_back(row)
                    && mover.carry(&back, by.person()).await.is_ok()
                {
                    self.try_stay(engine, row).await;
                }
                Err(failed(error))
            }
        }
    }

    /// Points the torrent at its new place. The row may be days old, and a link may stand in the way by now.
    async fn point_anew(&self, engine: &Engine, row: &MoveRow) -> Result<(), EngineError> {
        let judged = self.places.judge(&row.destination, "destination").await;
        let destination = judged.map_err(|error| EngineError::Rejected(error.to_string()))?;
        point(engine, row, &destination).await
    }

    /// Ends a move whose data is at its old place: the torrent stays there. If its client cannot be told now, the move
    /// is not over.
    pub(super) async fn stay(&self, engine: &Engine, row: &MoveRow) -> Result<(), TorrentsError> {
        match point(engine, row, &row.save_path).await {
            Ok(()) | Err(EngineError::NotFound(_)) => self.end_move(row, End::Stayed).await,
            Err(error) if error.is_transport() || matches!(error, EngineError::Busy) => {
                return Err(TorrentsError::blame_engine(&engine.name())(error));
            }
            Err(error) => {
                let reason = describe(&engine.name(), &error);
                tracing::warn!(engine.id = %engine.id, hash = row.hash, reason, "a torrent does not run as before");
                self.end_move(row, End::Stayed).await;
            }
        }
        Ok(())
    }

    /// Ends a move where it began, after something went wrong; only logs what fails here, for the first error is what
    /// matters to whoever asked.
    async fn try_stay(&self, engine: &Engine, row: &MoveRow) {
        if let Err(error) = self.stay(engine, row).await {
            tracing::info!(engine.id = %engine.id, hash = row.hash, %error, "a torrent waits to run as before");
        }
    }

    async fn note_move(&self, engine: &Engine, row: &MoveRow) -> Result<(), TorrentsError> {
        let now = self.ctx.now();
        let mut tx = self.db.begin_write().await?;
        self.judge_engine(&mut tx, engine).await?;
        let noted = repo::moves::insert(&mut tx, row, &self.moves.owner, now).await?;
        tx.commit().await?;
        // Another process moves it.
        if noted.rows() == 0 {
            return Err(TorrentsError::Moving);
        }
        Ok(())
    }

    /// From now on, until the move is over, the engine is not deleted and not changed; nor was it since it was loaded.
    async fn judge_engine(&self, tx: &mut Tx, engine: &Engine) -> Result<(), TorrentsError> {
        let held = engines::hold(tx, &engine.id).await?;
        let row = match held.rows() {
            0 => None,
            _ => engines::find(tx, &engine.id).await?,
        };
        match row.filter(|row| row.is_enabled) {
            Some(row) if is_loaded_as(engine, &row) => Ok(()),
            Some(_) => Err(TorrentsError::EngineChanged),
            None => Err(TorrentsError::EngineUnavailable(engine.id.to_string())),
        }
    }

    /// Strikes the note, and audits what was done.
    async fn end_move(&self, row: &MoveRow, end: End<'_>) {
        if let Err(error) = self.try_end(row, end).await {
            // The row is settled again, which finds nothing to do and ends here once more.
            let error = as_error(&error);
            tracing::warn!(
                hash = row.hash,
                error,
                "a move of a torrent is over and still noted"
            );
        }
    }

    async fn try_end(&self, row: &MoveRow, end: End<'_>) -> Result<(), DbError> {
        let mut tx = self.db.begin_write().await?;
        let removed = repo::moves::remove(&mut tx, &row.id, &self.moves.owner).await?;
        // The run of a rule is audited by whoever runs it.
        let of_rule = row.user_id.is_empty();
        if let End::Moved(by) = end
            && removed.rows() > 0
            && !of_rule
        {
            let mut metadata = json!({
                "engineId": row.engine_id,
                "name": row.name,
                "destination": row.destination,
                "dataMoved": true,
            });
            if matches!(by, By::Recovered) {
                metadata["recovered"] = true.into();
            }
            let entry = AuditEntry {
                user_id: Some(row.user_id.clone()),
                action: Permission::TorrentsMove.key(),
                object_type: Some("torrent"),
                object_id: Some(row.hash.clone()),
                result: AuditResult::Success,
                client: by.person().map(|caller| caller.client),
                metadata: Some(metadata),
            };
            self.audit.record(&mut tx, entry).await?;
        }
        tx.commit().await
    }

    /// Does `work`, and notes all the while that this process works on the move. Both run side by side: each may wait
    /// for the other's transaction.
    pub(super) async fn beating<T>(&self, row: &MoveRow, work: impl Future<Output = T>) -> T {
        tokio::select! {
            biased;
            done = work => done,
            never = self.beat(row) => match never {},
        }
    }

    /// Notes again and again that this process works on the move.
    async fn beat(&self, row: &MoveRow) -> Infallible {
        let mut beats = tokio::time::interval(BEAT);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            beats.tick().await;
            let _ = self.is_ours(row).await;
        }
    }

    /// Notes that this process works on the move. False: another one has taken it over.
    async fn is_ours(&self, row: &MoveRow) -> bool {
        let beat = async {
            let mut tx = self.db.begin_write().await?;
            let beat = repo::moves::beat(&mut tx, &row.id, &self.moves.owner, self.ctx.now()).await?;
            tx.commit().await?;
            Ok::<_, DbError>(beat.rows() > 0)
        };
        // Without a database nobody can take it over either.
        beat.await.unwrap_or(true)
    }

    /// True if the move is not over; it is then marked as waiting, and nothing is done about it for now.
    pub(super) async fn rests(&self, row: &MoveRow) -> bool {
        let rests = async {
            let mut tx = self.db.begin_write().await?;
            let mine = repo::moves::rest(&mut tx, &row.id, &self.moves.owner).await?;
            let noted = mine.rows() > 0 || repo::moves::is_noted(&mut tx, &row.id).await?;
            tx.commit().await?;
            Ok::<_, DbError>(noted)
        };
        rests.await.unwrap_or(true)
    }
}

/// The data as it would be carried back.
fn way_back(row: &MoveRow) -> Option<DataMove> {
    let (directory, name) = row.source.rsplit_once('/')?;
    Some(DataMove {
        id: format!("{}-back", row.id),
        source: format!("{}/{name}", row.destination),
        directory: if directory.is_empty() { "/" } else { directory }.to_owned(),
    })
}

async fn let_go(engine: &Engine, row: &MoveRow) -> Result<(), EngineError> {
    let command = if engine.driver.has(capability::FOLLOWS_DATA) {
        Command::Detach
    } else {
        Command::Stop
    };
    engine.order_one(&row.hash, command, None).await
}

/// Has the torrent save where its data is, and run as it did.
async fn point(engine: &Engine, row: &MoveRow, save_path: &str) -> Result<(), EngineError> {
    let save_path = save_path.to_owned();
    if engine.driver.has(capability::FOLLOWS_DATA) {
        return engine
            .order_one(&row.hash, Command::Attach { save_path }, None)
            .await;
    }
    let torrent = engine.driver.get(&row.hash).await?;
    let torrent = torrent.ok_or(EngineError::NotFound(qm_ports::engine::Subject::Torrent))?;
    if torrent.save_path != save_path {
        let destination = save_path;
        engine
            .order_one(&row.hash, Command::Move { destination }, None)
            .await?;
    }
    if row.ran {
        engine.order_one(&row.hash, Command::Start, None).await?;
    }
    Ok(())
}
