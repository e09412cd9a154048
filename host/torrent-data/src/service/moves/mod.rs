//! Moves of torrents to another directory, with their data.
//!
//! A client that moves data itself is told to. For the others the server does it: the torrent lets go of its files, the
//! file manager moves them, the torrent is pointed at them and runs as it did before. A row of `torrent_moves`, written
//! before the client is told anything, is there until the torrent points at its data again; so whatever is cut short (a
//! crash of ours, of the client, a client that is away) is settled later by looking where the data is: still at its old
//! place, and the torrent stays there; at its new one, and the torrent follows.
//!
//! Meanwhile nothing else is done to the torrent: started at the wrong moment, a client would make its files anew where
//! they were. Several processes on one database: a row has an owner, who says every [`BEAT`] that it works on it; one that
//! was silent for `SILENCE` is taken over.
//! Bounds: one move a torrent; as many at once as the file manager runs long operations, the others wait there and are
//! refused after a while; an answer waits for the data for [`PATIENCE`].

mod act;
mod plan;
mod settle;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::time::Duration;

use qm_engines::{Engine, TorrentsError};
use qm_kernel::{Caller, Permission, Requester, Timestamp, as_error};
use qm_lanes::IgnorePoison;
use qm_platform::Beats;
use qm_ports::carry::{DataMove, DataMover};
use qm_ports::engine::{Command, capability};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::plan::Plan;
use super::TorrentData;
use super::audited::{checked_hash, told_of};
use super::claims::Claim;
use crate::repo::moves::MoveRow;

/// Time that a request waits for its move; a longer one goes on without it.
const PATIENCE: Duration = Duration::from_secs(20);
/// Interval between two signs of life of a move.
const BEAT: Duration = Duration::from_secs(2);
/// Interval between two looks for moves that were abandoned.
const LOOK: Duration = qm_kernel::BEAT.saturating_mul(5);
/// Shortest time between two warnings of one move that waits, for one reason.
const AGAIN: Duration = Duration::from_hours(1);
/// Time that a shutdown waits for moves to be undone.
const CLOSE: Duration = Duration::from_secs(5);

/// Engine and hash.
type Key = (String, String);

/// The moves of this process.
pub struct Moves {
    /// The id of this process in the rows.
    owner: String,
    /// Weak, because the file manager refers to this area too.
    mover: OnceLock<Weak<dyn DataMover>>,
    busy: Arc<Mutex<Busy>>,
    /// By the row's id: the reason why it waits, and when that was last logged.
    complaints: Mutex<HashMap<String, (String, Timestamp)>>,
    tasks: TaskTracker,
}

/// Torrents to which nothing else may be done.
#[derive(Default)]
struct Busy {
    /// This process moves their data.
    working: HashSet<Key>,
    /// They have a row, and wait for their client, or for another process.
    waiting: HashSet<Key>,
}

/// A torrent that this move has for itself, for as long as this lives.
struct Hold {
    key: Key,
    busy: Arc<Mutex<Busy>>,
    /// The move is not over: its row stays.
    unfinished: bool,
}

/// The origin of a move.
#[derive(Clone, Copy)]
enum By<'a> {
    Person(&'a Requester),
    /// A rule, whose run is audited; the move is not.
    Rule,
    /// An earlier process began it.
    Recovered,
}

impl Moves {
    pub fn new(owner: String) -> Self {
        Self {
            owner,
            mover: OnceLock::new(),
            busy: Arc::default(),
            complaints: Mutex::default(),
            tasks: TaskTracker::new(),
        }
    }

    pub fn mover(&self) -> Option<Arc<dyn DataMover>> {
        self.mover.get().and_then(Weak::upgrade)
    }

    /// The process, as rows name it.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    fn busy(&self) -> MutexGuard<'_, Busy> {
        lock(&self.busy)
    }

    /// Refuses an operation on a torrent whose data is being moved.
    pub fn refuse_busy(&self, engine: &Engine, hash: &str) -> Result<(), TorrentsError> {
        let key = (engine.id.to_string(), hash.to_owned());
        let busy = self.busy();
        if busy.working.contains(&key) || busy.waiting.contains(&key) {
            return Err(TorrentsError::Moving);
        }
        Ok(())
    }

    fn hold(&self, engine_id: &str, hash: &str) -> Option<Hold> {
        let key = (engine_id.to_owned(), hash.to_owned());
        let is_new = self.busy().working.insert(key.clone());
        is_new.then(|| Hold {
            key,
            busy: self.busy.clone(),
            unfinished: false,
        })
    }

    /// True if a move waits for another reason than the one last logged, or if that was logged `AGAIN` ago or earlier. It is
    /// then noted as logged now.
    fn is_new_complaint(&self, id: &str, reason: &str, now: Timestamp) -> bool {
        let mut complaints = lock(&self.complaints);
        let said = complaints.get(id).filter(|(before, _)| before == reason);
        let again_ms = i64::try_from(AGAIN.as_millis()).unwrap_or(i64::MAX);
        if said.is_some_and(|(_, at)| now.ms().saturating_sub(at.ms()) < again_ms) {
            return false;
        }
        complaints.insert(id.to_owned(), (reason.to_owned(), now));
        true
    }

    /// Drops the complaints of moves that are over; `rows` are the moves that are not.
    fn forget_complaints(&self, rows: &[MoveRow]) {
        lock(&self.complaints).retain(|id, _| rows.iter().any(|row| row.id == *id));
    }

    /// Waits until the moves that run have come to an end, for `CLOSE` at most.
    pub async fn close(&self) {
        self.tasks.close();
        if tokio::time::timeout(CLOSE, self.tasks.wait()).await.is_err() {
            tracing::warn!("moves of torrents are left to be settled by the next start");
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().ignore_poison()
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut busy = lock(&self.busy);
        if self.unfinished {
            busy.waiting.insert(self.key.clone());
        } else {
            busy.waiting.remove(&self.key);
        }
        busy.working.remove(&self.key);
    }
}

fn job_of(row: &MoveRow) -> DataMove {
    DataMove {
        id: row.id.clone(),
        source: row.source.clone(),
        directory: row.destination.clone(),
    }
}

impl TorrentData {
    /// Sets the mover of data. Until then, only clients that move data themselves can move a torrent.
    pub fn use_mover(&self, mover: &Arc<dyn DataMover>) {
        // Wired once.
        let _ = self.moves.mover.set(Arc::downgrade(mover));
    }

    /// Moves a torrent with its data. `Some`: it takes long and goes on as the file operation of this id.
    pub async fn relocate(
        self: &Arc<Self>,
        caller: Caller<'_>,
        engine_id: Option<&str>,
        hash: &str,
        destination: &str,
    ) -> Result<Option<String>, TorrentsError> {
        self.relocate_by(Some(caller), engine_id, hash, destination).await
    }

    /// Moves a torrent with its data for `caller`; `None`: for a rule, whose run is audited instead. Its category no longer chooses
    /// its directory.
    pub async fn relocate_by(
        self: &Arc<Self>,
        caller: Option<Caller<'_>>,
        engine_id: Option<&str>,
        hash: &str,
        destination: &str,
    ) -> Result<Option<String>, TorrentsError> {
        let moved = self.carry_to(caller, engine_id, hash, destination).await?;
        let engine = self.engines.resolve(engine_id)?;
        self.end_auto_managed(&engine, &checked_hash(hash)?).await?;
        Ok(moved)
    }

    /// As [`TorrentData::relocate_by`], for a torrent whose category may go on choosing.
    pub(super) async fn carry_to(
        self: &Arc<Self>,
        caller: Option<Caller<'_>>,
        engine_id: Option<&str>,
        hash: &str,
        destination: &str,
    ) -> Result<Option<String>, TorrentsError> {
        let destination = self.places.judge(destination, "destination").await?;
        let engine = self.engines.resolve(engine_id)?;
        let hash = checked_hash(hash)?;
        let proof = if engine.driver.has(capability::MOVES_DATA) {
            self.moves.refuse_busy(&engine, &hash)?;
            Some(self.refuse_shared(&(engine.clone(), hash.clone()), false).await?)
        } else {
            let plan = self.plan_move(caller, &engine, &hash, &destination).await?;
            match plan {
                Plan::Nothing => {
                    if let Some(caller) = caller {
                        let metadata = told_of(&engine, &hash, &Command::Move { destination });
                        self.audit_torrent(caller, Permission::TorrentsMove.key(), &hash, metadata)
                            .await;
                    }
                    return Ok(None);
                }
                Plan::Data(row, claim) => return self.move_data(caller, engine, *row, claim).await,
                // Its client moves nothing.
                Plan::Pointer => None,
            }
        };
        let command = Command::Move { destination };
        let metadata = told_of(&engine, &hash, &command);
        let told = engine.order_one(&hash, command, proof.as_ref()).await;
        told.map_err(TorrentsError::blame_engine(&engine.name()))?;
        if let Some(caller) = caller {
            self.audit_torrent(caller, Permission::TorrentsMove.key(), &hash, metadata)
                .await;
        }
        engine.poke();
        Ok(None)
    }

    /// Moves as planned, and waits for it as long as a request may.
    async fn move_data(
        self: &Arc<Self>,
        caller: Option<Caller<'_>>,
        engine: Arc<Engine>,
        row: MoveRow,
        claim: Claim,
    ) -> Result<Option<String>, TorrentsError> {
        let hold = self.moves.hold(&row.engine_id, &row.hash);
        let hold = hold.ok_or(TorrentsError::Moving)?;
        let who = caller.map(Caller::to_requester);
        let id = row.id.clone();
        let torrents = self.clone();
        // It does not depend on the request: a caller that hangs up leaves nothing half done.
        let (begun, carrying) = oneshot::channel();
        let work = async move {
            let by = who.as_ref().map_or(By::Rule, By::Person);
            let _claim = claim;
            torrents.carry_out(&engine, &row, by, hold, begun).await
        };
        let mut task = self.moves.tasks.spawn(work);
        // Until the client has let go the request is as any other: what goes wrong with the client is its answer.
        let is_carrying = carrying.await.is_ok();
        let ended = if is_carrying {
            match tokio::time::timeout(PATIENCE, &mut task).await {
                Err(_) => return Ok(Some(id)),
                Ok(ended) => ended,
            }
        } else {
            task.await
        };
        ended.map_err(TorrentsError::MoveFailed)?.map(|()| None)
    }

    /// Name and interval of [`TorrentData::moves_loop`].
    pub const MOVES: (&'static str, Duration) = ("torrent_moves", LOOK);

    /// Settles interrupted moves, now and whenever there is something to settle.
    pub async fn moves_loop(self: Arc<Self>, stop: CancellationToken) {
        let mut looks = Beats::every(LOOK);
        let mut changes = self.db.changes();
        // What waits is tried again, though nothing was written.
        let mut waiting = false;
        while stop.run_until_cancelled(looks.next()).await.is_some() {
            if !changes.any() && !waiting {
                continue;
            }
            match self.settle_moves(&stop).await {
                Ok(some) => waiting = some,
                Err(error) => {
                    changes.forget();
                    let error = as_error(&error);
                    tracing::warn!(error, "interrupted moves of torrents cannot be looked for");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_a_move_waits_is_said_once_and_then_rarely() {
        let moves = Moves::new("us".into());
        let said = |id: &str, reason: &str, minute: i64| {
            moves.is_new_complaint(id, reason, Timestamp::from_ms(minute * 60_000))
        };
        assert!(said("a", "no disk", 0));
        assert!(!said("a", "no disk", 0) && !said("a", "no disk", 59));
        assert!(said("b", "no disk", 1), "another move");
        assert!(said("a", "no client", 2), "another reason");
        assert!(!said("a", "no client", 61));
        assert!(said("a", "no client", 62));
        moves.forget_complaints(&[]);
        assert!(said("a", "no client", 63), "another move of that torrent");
    }
}
