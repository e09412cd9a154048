//! Grabs: hands decided torrents to a client, outside of any transaction, and stores the result.
//!
//! A grab that is found pending after a crash may be with its client already: adding a torrent again changes nothing, so it
//! is added again. Bounds: [`AT_ONCE`] adds at once, [`READ`] grabs a round; a client that does not answer ends its round.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt as _;
use futures_util::stream;
use qm_db::Db;
use qm_kernel::{Timestamp, as_error};
use qm_lanes::IgnorePoison;
use qm_platform::ActingError;
use qm_ports::intake::{HashJudge, IntakeError, NewTorrent, TakenTorrent};
use tokio_util::sync::CancellationToken;

use super::{GRABS, Rss};
use crate::error::RssError;
use crate::model::evaluation::Action;
use crate::model::grab::{Grab, GrabState, Setback};
use crate::repo;
use crate::repo::grabs::End;
use crate::repo::holds::NewHold;

/// Interval between two rounds while nothing wakes the loop.
const INTERVAL: Duration = Duration::from_secs(15);
/// Number of concurrent adds.
const AT_ONCE: usize = 4;
/// Number of grabs per round.
const READ: usize = 100;
/// Number of replaced torrents removed per round.
const RETIRED: usize = 20;
/// Time that a caller waits for grabs; slower ones go on in the background.
const WAITED_FOR: Duration = Duration::from_secs(30);

/// Result of one attempt on a grab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// A client has the torrent, with this info-hash.
    Done(String),
    /// Failed finally; no automatic retry.
    Failed(String),
    /// Retried later, with the reason; `true` when the client did not answer.
    Later(String, bool),
    /// Another task is settling it, or already has.
    Elsewhere,
}

/// Origin of a torrent that a client has.
struct How {
    /// True when this grab added it. If the first attempt finds the torrent there, it is foreign; a later
    /// attempt may find its own.
    is_ours: bool,
    /// True when it was grabbed before, and no client was asked.
    is_known: bool,
    began: Timestamp,
}

/// Checks the info-hash behind a link against earlier grabs: a torrent that was removed since must not come
/// back by another link.
struct Before<'a> {
    db: &'a Db,
    grab_id: &'a str,
}

#[async_trait]
impl HashJudge for Before<'_> {
    async fn is_wanted(&self, hashes: &[String]) -> Result<bool, IntakeError> {
        let known = async {
            let mut tx = self.db.begin_read().await?;
            for hash in hashes.iter().map(|hash| hash.to_ascii_lowercase()) {
                if repo::history::is_downloaded(&mut tx, &hash).await?
                    || repo::grabs::is_brought(&mut tx, self.grab_id, &hash).await?
                {
                    return Ok(true);
                }
            }
            Ok::<_, qm_db::DbError>(false)
        };
        let is_known = known
            .await
            .map_err(|error| IntakeError::Engine(error.to_string()))?;
        Ok(!is_known)
    }
}

/// Marks a grab as being settled, until it is dropped.
struct Claim<'a>(&'a Rss, String);

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut settling = self.0.settling.lock().ignore_poison();
        settling.remove(&self.1);
    }
}

impl Rss {
    pub const GRABS: (&'static str, Duration) = ("rss_grabs", INTERVAL);

    /// Adds decided torrents until stopped. An add in progress then ends by itself, and the next start checks
    /// it.
    pub async fn grabs_loop(self: Arc<Self>, stop: CancellationToken) {
        let mut changes = self.db.changes();
        loop {
            match stop.run_until_cancelled(self.settle_due()).await {
                None | Some(Ok(false)) => {}
                // Pending grabs are retried although nothing was written.
                Some(Ok(true)) => changes.forget(),
                Some(Err(error)) => {
                    changes.forget();
                    tracing::warn!(error = as_error(&error), "what was decided cannot be read");
                }
            }
            // While no grab is open, an unchanged database is not queried.
            loop {
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return,
                    () = self.decided.notified() => break,
                    () = tokio::time::sleep(INTERVAL) => {}
                }
                if changes.any() {
                    break;
                }
            }
        }
    }

    /// Settles the due grabs and removes replaced torrents. `true` when something was left for later.
    pub(super) async fn settle_due(&self) -> Result<bool, RssError> {
        if !self.db.mandate().holds() {
            return Ok(true);
        }
        let mut tx = self.db.begin_read().await?;
        if !repo::grabs::any_open(&mut tx).await? {
            return Ok(false);
        }
        let due = repo::grabs::due(&mut tx, self.ctx.now(), READ).await?;
        drop(tx);
        let is_silent = &AtomicBool::new(false);
        stream::iter(due)
            .for_each_concurrent(AT_ONCE, |grab| async move {
                if is_silent.load(Ordering::Relaxed) {
                    return;
                }
                if let Ok(Settled::Later(_, true)) = self.settle(&grab.id).await {
                    // The other grabs would wait for the same client.
                    is_silent.store(true, Ordering::Relaxed);
                }
            })
            .await;
        self.retire().await?;
        Ok(true)
    }

    /// Settles grabs while a caller waits; returns the number of torrents in a client.
    pub(super) async fn settle_all(self: &Arc<Self>, ids: Vec<String>) -> u64 {
        if ids.is_empty() {
            return 0;
        }
        let rss = self.clone();
        // The caller may hang up; the grabs go on.
        let settling = tokio::spawn(async move {
            let settled = stream::iter(ids).map(|id| {
                let rss = rss.clone();
                async move {
                    match rss.settle(&id).await {
                        Ok(Settled::Elsewhere) => rss.wait_for(&id).await,
                        Ok(settled) => matches!(settled, Settled::Done(_)),
                        Err(_) => false,
                    }
                }
            });
            let done = settled.buffer_unordered(AT_ONCE).collect::<Vec<bool>>().await;
            done.into_iter().filter(|done| *done).count() as u64
        });
        match tokio::time::timeout(WAITED_FOR, settling).await {
            Ok(Ok(done)) => done,
            Ok(Err(_)) | Err(_) => 0,
        }
    }

    /// Waits until a grab that the loop took first is settled; `true` when a client has it.
    async fn wait_for(&self, id: &str) -> bool {
        loop {
            let Ok(mut tx) = self.db.begin_read().await else {
                return false;
            };
            let grab = repo::grabs::find(&mut tx, id).await.ok().flatten();
            drop(tx);
            match grab.map(|grab| (grab.state, grab.error.is_some())) {
                Some((GrabState::Done, _)) => return true,
                Some((GrabState::Pending, false)) => tokio::time::sleep(Duration::from_millis(100)).await,
                _ => return false,
            }
        }
    }

    fn claim(&self, id: &str) -> Option<Claim<'_>> {
        let mut settling = self.settling.lock().ignore_poison();
        settling.insert(id.to_owned()).then(|| Claim(self, id.to_owned()))
    }

    /// Hands a grab to its client, and stores the result.
    pub(super) async fn settle(&self, id: &str) -> Result<Settled, RssError> {
        let Some(_claim) = self.claim(id) else {
            return Ok(Settled::Elsewhere);
        };
        let mut tx = self.db.begin_write().await?;
        let grab = repo::grabs::find(&mut tx, id).await?;
        let Some(mut grab) = grab.filter(|grab| grab.state == GrabState::Pending) else {
            return Ok(Settled::Elsewhere);
        };
        if let (Some(rule_id), Some(identity)) = (&grab.rule_id, &grab.identity) {
            let held = repo::holds::find(&mut tx, rule_id, identity).await?;
            if held.is_some_and(|hold| hold.priority_order <= grab.priority_order) {
                let reason = "A better release was grabbed first";
                self.end_in_vain(&mut tx, &grab, GrabState::Superseded, reason)
                    .await?;
                tx.commit().await?;
                return Ok(Settled::Elsewhere);
            }
        }
        if let Some(why) = self.unlent(&mut tx, &grab).await? {
            return self.leave_unlent(tx, &grab, why).await;
        }
        let engine = self.torrents.engine(grab.engine_id.as_deref());
        let is_first = grab.attempts == 0;
        if !repo::grabs::begin(&mut tx, id, engine.as_deref()).await? {
            return Ok(Settled::Elsewhere);
        }
        // From here on a crash leaves a pending grab that may be in its client already.
        tx.commit().await?;
        let began = self.ctx.now();
        grab.attempts += 1;
        let torrent = NewTorrent {
            source: grab.source.clone(),
            engine_id: engine,
            save_path: grab.save_path.clone(),
        };
        let before = Before {
            db: &self.db,
            grab_id: id,
        };
        // A user's own request is not checked.
        let judge: Option<&dyn HashJudge> = grab.rule_id.as_ref().map(|_| &before as _);
        match self.torrents.take_in(torrent, judge).await {
            Ok(taken) => {
                let how = How {
                    is_ours: !taken.existed || !is_first,
                    is_known: false,
                    began,
                };
                self.store_done(&grab, &taken, how).await
            }
            Err(IntakeError::Unwanted { hash }) => {
                let taken = TakenTorrent { hash, existed: true };
                let how = How {
                    is_ours: false,
                    is_known: true,
                    began,
                };
                self.store_done(&grab, &taken, how).await
            }
            Err(error) => self.store_setback(&grab, &error).await,
        }
    }

    /// Reason why the rule's author may not grab now (account or permission is gone). Rules from before
    /// authors were recorded, and users' own grabs, are not checked.
    async fn unlent(&self, tx: &mut qm_db::Tx, grab: &Grab) -> Result<Option<&'static str>, RssError> {
        let Some(rule_id) = &grab.rule_id else {
            return Ok(None);
        };
        let Some(author) = repo::rules::author(tx, rule_id).await? else {
            return Ok(None);
        };
        match self.acting.powers(tx, &author).await {
            Ok(held) if GRABS.iter().all(|need| held.contains(*need)) => Ok(None),
            Ok(_) => Ok(Some("who saved it last may not have it add torrents any more")),
            Err(ActingError::Gone) => Ok(Some("the account of who saved it last no longer exists")),
            Err(ActingError::Inactive) => Ok(Some("the account of who saved it last is deactivated")),
            Err(error) => Err(error.into()),
        }
    }

    /// Postpones a grab whose author lacks the permission, as long as one whose client does not answer: the
    /// permission may come back.
    async fn leave_unlent(
        &self,
        mut tx: qm_db::Tx,
        grab: &Grab,
        why: &'static str,
    ) -> Result<Settled, RssError> {
        let reason = format!("The rule does not grab: {why}. It does so again for whoever saves it");
        let settled = match grab.again(Setback::Engine, self.ctx.now()) {
            Some(at) => {
                repo::grabs::again(&mut tx, &grab.id, at, &reason).await?;
                Settled::Later(reason, false)
            }
            None => {
                self.end_in_vain(&mut tx, grab, GrabState::Failed, &reason)
                    .await?;
                Settled::Failed(reason)
            }
        };
        tx.commit().await?;
        Ok(settled)
    }

    /// Stores a success: the item is downloaded, the rule holds the release, and the torrent it held before
    /// is to be removed. Where another item has brought the same torrent, by a link without info-hash, this
    /// item is its duplicate and was not downloaded.
    async fn store_done(&self, grab: &Grab, taken: &TakenTorrent, how: How) -> Result<Settled, RssError> {
        let now = self.ctx.now();
        let hash = taken.hash.to_ascii_lowercase();
        let _turn = self.deciding.lock().await;
        let mut tx = self.db.begin_write().await?;
        let retires = self.hold(&mut tx, grab, &hash, &how).await?;
        let is_known =
            grab.info_hash.as_ref() == Some(&hash) || repo::grabs::has_hash(&mut tx, &hash).await?;
        // The real info-hash replaces the one that the feed stated.
        let info_hash = if is_known {
            grab.info_hash.as_deref()
        } else {
            Some(&*hash)
        };
        // A user's own request is not checked.
        let is_twin = grab.rule_id.is_some()
            && (how.is_known
                || repo::grabs::has_twin(&mut tx, &grab.id, &hash, taken.existed, how.began).await?);
        let (state, error) = if is_twin {
            (
                GrabState::Superseded,
                Some("Another item has brought the same torrent"),
            )
        } else {
            (GrabState::Done, None)
        };
        let end = End {
            state,
            error,
            torrent_hash: Some(&hash),
            retires: retires.as_deref(),
            info_hash,
            at: now,
        };
        // If the rule was deleted meanwhile, the grab is gone; the torrent is there, and the item records it.
        repo::grabs::end(&mut tx, &grab.id, &end).await?;
        match &grab.history_id {
            Some(item) if is_twin => repo::history::set_hash(&mut tx, item, &hash).await?,
            Some(item) => repo::history::set_downloaded(&mut tx, item, &hash).await?,
            None => {}
        }
        repo::evaluations::grabbed(&mut tx, &grab.id, &hash).await?;
        if is_twin {
            repo::evaluations::failed(&mut tx, &grab.id, Action::SkippedDuplicate.as_str()).await?;
        }
        tx.commit().await?;
        tracing::info!(grab = grab.id, hash, existed = taken.existed, is_twin, "grabbed");
        Ok(if is_twin {
            Settled::Elsewhere
        } else {
            Settled::Done(hash)
        })
    }

    /// Stores the rule's hold on the release; returns the replaced torrent that is to be removed.
    async fn hold(
        &self,
        tx: &mut qm_db::Tx,
        grab: &Grab,
        hash: &str,
        how: &How,
    ) -> Result<Option<String>, RssError> {
        let (Some(rule_id), Some(identity)) = (&grab.rule_id, &grab.identity) else {
            return Ok(None);
        };
        if repo::rules::find(tx, rule_id).await?.is_none() {
            return Ok(None);
        }
        let before = repo::holds::find(tx, rule_id, identity).await?;
        // A torrent that no client has replaces nothing.
        if before.is_some() && how.is_known && self.torrents.engines_with(hash).is_empty() {
            return Ok(None);
        }
        let hold = NewHold {
            rule_id,
            identity,
            priority_order: grab.priority_order,
            title: &grab.title,
            hash,
            is_ours: how.is_ours,
            at: self.ctx.now(),
        };
        repo::holds::put(tx, &hold).await?;
        let old = before.filter(|hold| hold.is_ours);
        match old.and_then(|hold| hold.torrent_hash).filter(|old| old != hash) {
            Some(old) if !repo::holds::is_held(tx, &old).await? => Ok(Some(old)),
            _ => Ok(None),
        }
    }

    async fn store_setback(&self, grab: &Grab, error: &IntakeError) -> Result<Settled, RssError> {
        let setback = match error {
            // The user sees the answer and can ask again.
            _ if grab.rule_id.is_none() => Setback::Final,
            IntakeError::Refused(_) | IntakeError::Unwanted { .. } => Setback::Final,
            IntakeError::Source(_) => Setback::Link,
            IntakeError::Engine(_) => Setback::Engine,
        };
        let now = self.ctx.now();
        let reason = error.to_string();
        let mut tx = self.db.begin_write().await?;
        let settled = match grab.again(setback, now) {
            Some(at) => {
                repo::grabs::again(&mut tx, &grab.id, at, &reason).await?;
                Settled::Later(reason, setback == Setback::Engine)
            }
            None => {
                self.end_in_vain(&mut tx, grab, GrabState::Failed, &reason)
                    .await?;
                Settled::Failed(reason)
            }
        };
        tx.commit().await?;
        tracing::info!(grab = grab.id, attempts = grab.attempts, %error, "a torrent was not grabbed");
        Ok(settled)
    }

    async fn end_in_vain(
        &self,
        tx: &mut qm_db::Tx,
        grab: &Grab,
        state: GrabState,
        reason: &str,
    ) -> Result<(), RssError> {
        let end = End {
            state,
            error: Some(reason),
            torrent_hash: None,
            retires: None,
            info_hash: grab.info_hash.as_deref(),
            at: self.ctx.now(),
        };
        repo::grabs::end(tx, &grab.id, &end).await?;
        let action = if state == GrabState::Superseded {
            Action::SkippedDuplicate
        } else {
            Action::None
        };
        Ok(repo::evaluations::failed(tx, &grab.id, action.as_str()).await?)
    }

    /// Removes replaced torrents with their data. Copies in a library come with the media area: they are to
    /// be removed first, and keep the torrent if they cannot.
    async fn retire(&self) -> Result<(), RssError> {
        let mut tx = self.db.begin_read().await?;
        let retiring = repo::grabs::retiring(&mut tx, RETIRED).await?;
        drop(tx);
        for (grab_id, hash) in retiring {
            let mut is_gone = true;
            for engine in self.torrents.engines_with(&hash) {
                if let Err(error) = self.torrents.remove(&engine, &hash).await {
                    tracing::warn!(hash, %error, "a torrent that was replaced is still there");
                    is_gone = matches!(error, IntakeError::Refused(_));
                }
            }
            if is_gone {
                let mut tx = self.db.begin_write().await?;
                repo::grabs::retired(&mut tx, &grab_id).await?;
                tx.commit().await?;
            }
        }
        Ok(())
    }
}
