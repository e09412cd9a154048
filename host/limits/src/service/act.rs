//! Acting on a torrent that has reached a limit: by the powers of whoever set the limit, noted before it begins.

use std::sync::Arc;
use std::time::Duration;

use qm_db::Tx;
use qm_engines::Engine;
use qm_kernel::Permission;
use qm_kernel::event::{Cause, DomainEvent, EventSpec};
use qm_platform::{ActingError, AuditEntry, AuditResult};
use qm_ports::Removal;
use qm_ports::action::{ActionError, TorrentRef};
use qm_ports::engine::{Command, EngineError, ShareAction, Torrent};
use qm_realtime::Room;
use serde::Serialize;
use serde_json::json;

use super::Limits;
use super::watch::{Due, Held, Watch};
use crate::error::LimitsError;
use crate::model::ledger::{Entry, State};
use crate::model::share::{
    Facts, Layer, Scope, Verdict, action_word, is_sharing, judge, permission_of, read_action,
};
use crate::repo;

/// Pause after a failure, doubled each time.
const FIRST_PAUSE: Duration = Duration::from_secs(4);
const LONGEST_PAUSE: Duration = Duration::from_hours(1);
/// Failure in a row from which people are told that a client does not answer.
const TOLD_FROM: u32 = 3;

qm_kernel::events! {
    /// A limit on sharing was reached, and its action was done.
    pub struct TorrentLimitReached: "torrent.limit_reached" about "torrent" {
        torrent_name: String,
        hash: String,
        /// A number as text.
        size_bytes: String,
        save_path: String,
        content_path: String,
        engine_id: String,
        /// `ratio`, `seedingTime` or `inactiveSeedingTime`.
        limit: String,
        /// `stop`, `remove`, `removeWithData` or `superSeed`.
        action: String,
    }

    /// A limit on sharing was reached, and its action failed or is not allowed.
    pub struct TorrentLimitFailed: "torrent.limit_failed" about "torrent" {
        torrent_name: String,
        hash: String,
        engine_id: String,
        limit: String,
        action: String,
        reason: String,
    }
}

/// Events of this area.
pub const EVENTS: &[EventSpec] = &[
    EventSpec::for_event::<TorrentLimitReached>(),
    EventSpec::for_event::<TorrentLimitFailed>(),
];

/// Realtime message `torrents:limit`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LimitMessage<'a> {
    engine_id: &'a str,
    hash: &'a str,
    name: &'a str,
    limit: &'a str,
    action: &'a str,
    /// Null when the action was done.
    error: Option<&'a str>,
    at: qm_kernel::Timestamp,
}

/// Reason why an action was not done.
enum Setback {
    /// The client, or what is between, may do it later.
    Transient(String),
    Refused(String),
    /// The limits are not reached any more, or the torrent is gone.
    Void,
}

impl From<ActionError> for Setback {
    fn from(error: ActionError) -> Self {
        let text = error.to_string();
        match error {
            ActionError::Unreachable(_)
            | ActionError::Timeout(_)
            | ActionError::Throttled(_)
            | ActionError::Busy => Self::Transient(text),
            ActionError::NotFound(_) => Self::Void,
            _ => Self::Refused(text),
        }
    }
}

impl From<EngineError> for Setback {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::NotFound(_) => Self::Void,
            error if error.is_transport() || error == EngineError::Busy => Self::Transient(error.to_string()),
            error => Self::Refused(error.to_string()),
        }
    }
}

impl Limits {
    /// Does what the limits say, unless their authors may not.
    pub(super) async fn act(
        &self,
        engine: &Arc<Engine>,
        watch: &mut Watch,
        due: Due,
    ) -> Result<(), LimitsError> {
        let torrent = &due.entry.torrent;
        let action = due.effective.action();
        let before = watch.held(&torrent.hash, &due.limits, torrent.added_at);
        let mut entry = Entry {
            hash: torrent.hash.to_string(),
            limits: due.limits.clone(),
            added_at: torrent.added_at,
            reached: due.reached.word().to_owned(),
            action: action_word(action).unwrap_or_default().to_owned(),
            state: State::Acting,
            attempts: before.map_or(0, |held| held.entry.attempts) + 1,
            error: None,
            told: before.and_then(|held| held.entry.told.clone()),
            next_at: None,
            at: self.ground.ctx.now(),
        };
        let layers = due.effective.layers_behind(due.reached);
        let mut tx = self.ground.db.begin_write().await?;
        if !repo::share::has_engine(&mut tx, &engine.id).await? {
            return Ok(());
        }
        if let Some(refusal) = self.find_refusal(&mut tx, &layers, action).await? {
            let refused = Setback::Refused(refusal);
            return self
                .note_failure(tx, engine, watch, (entry, &layers), &due, refused)
                .await;
        }
        repo::ledger::put(&mut tx, &engine.id, &entry).await?;
        tx.commit().await?;
        match self.perform(engine, watch, &due, &layers).await {
            Ok(()) => {
                entry.state = State::Done;
                self.note_done(engine, watch, entry, torrent, &layers).await
            }
            Err(setback) => {
                let tx = self.ground.db.begin_write().await?;
                self.note_failure(tx, engine, watch, (entry, &layers), &due, setback)
                    .await
            }
        }
    }

    /// A sentence why the authors of these layers may not have it done; none if they may.
    async fn find_refusal(
        &self,
        tx: &mut Tx,
        layers: &[Arc<Layer>],
        action: ShareAction,
    ) -> Result<Option<String>, LimitsError> {
        for layer in layers {
            let scope = layer.scope.word();
            let held = match self.ground.acting.powers(tx, &layer.set_by).await {
                Ok(held) => held,
                Err(ActingError::Database(error)) => return Err(error.into()),
                Err(_) => {
                    return Ok(Some(format!(
                        "The limits of the {scope} were set by a user who is gone or deactivated: save them again"
                    )));
                }
            };
            let needed: Vec<Permission> = [permission_of(action)]
                .into_iter()
                .chain(layer.scope.permissions().iter().copied())
                .collect();
            if let Some(lacking) = needed.into_iter().find(|needed| !held.contains(*needed)) {
                return Ok(Some(format!(
                    "The limits of the {scope} were set by a user who lacks the permission {} now: somebody who has it must \
                     save them again",
                    lacking.key()
                )));
            }
        }
        Ok(None)
    }

    /// Looks at the torrent as it is now, and does the action. `layers`: those whose authors were judged.
    async fn perform(
        &self,
        engine: &Arc<Engine>,
        watch: &Watch,
        due: &Due,
        layers: &[Arc<Layer>],
    ) -> Result<(), Setback> {
        let hash = &*due.entry.torrent.hash;
        let now = engine.driver.get(hash).await?.ok_or(Setback::Void)?;
        let effective = self
            .book
            .layers()
            .merge_for(&engine.id, now.label.as_deref(), hash);
        // qBittorrent tells the seeding time of a torrent at rest as it was when something last happened to it: each of the two is a time
        // that passed at least.
        let at = self.ground.ctx.now();
        let (told, listed) = (watch.facts_of(&now, at), watch.facts_of(&due.entry.torrent, at));
        let facts = Facts {
            seeded: told.seeded.max(listed.seeded),
            ..told
        };
        // The same limits may be those of somebody else by now, as in another category.
        let may = |reached| {
            let behind = effective.layers_behind(reached);
            behind.iter().all(|layer| layers.contains(layer))
        };
        let holds = is_sharing(&now)
            && effective.fingerprint() == due.limits
            && matches!(judge(&effective, &facts), Verdict::Reached(reached) if may(reached));
        if !holds {
            return Err(Setback::Void);
        }
        let torrent = TorrentRef {
            engine_id: engine.id.to_string(),
            hash: hash.to_owned(),
        };
        match effective.action() {
            ShareAction::Inherit | ShareAction::Stop => self.hands.stop(&torrent).await?,
            ShareAction::Remove => self.hands.remove(&torrent, Removal::default()).await?,
            ShareAction::RemoveWithData => {
                let removal = Removal {
                    with_data: true,
                    ..Removal::default()
                };
                self.hands.remove(&torrent, removal).await?;
            }
            ShareAction::SuperSeed => engine.order_one(hash, Command::SuperSeeding(true), None).await?,
        }
        Ok(())
    }

    /// Stores that an action was done, with its audit row and event.
    async fn note_done(
        &self,
        engine: &Engine,
        watch: &mut Watch,
        entry: Entry,
        torrent: &Torrent,
        layers: &[Arc<Layer>],
    ) -> Result<(), LimitsError> {
        let author = layers.last().map(|layer| layer.set_by.clone());
        let payload = TorrentLimitReached {
            torrent_name: torrent.name.clone(),
            hash: entry.hash.clone(),
            size_bytes: torrent.size.to_string(),
            save_path: torrent.save_path.clone(),
            content_path: torrent.content_path.clone(),
            engine_id: engine.id.to_string(),
            limit: entry.reached.clone(),
            action: entry.action.clone(),
        };
        let event = DomainEvent::new(&self.ground.ctx, Cause::NONE, &*entry.hash, &payload);
        let removes = matches!(
            read_action(&entry.action),
            ShareAction::Remove | ShareAction::RemoveWithData
        );
        let mut tx = self.ground.db.begin_write().await?;
        if removes {
            let scope = Scope::Torrent {
                engine_id: engine.id.to_string(),
                hash: entry.hash.clone(),
            };
            repo::share::delete(&mut tx, &scope).await?;
            repo::ledger::delete(&mut tx, &engine.id, &entry.hash).await?;
            repo::ledger::delete_count(&mut tx, &engine.id, &entry.hash).await?;
        } else {
            repo::ledger::put(&mut tx, &engine.id, &entry).await?;
        }
        let audited = audit_entry(engine, &entry, (&torrent.name, layers), author.clone());
        self.ground.audit.record(&mut tx, audited).await?;
        tx.publish(event.by(author.as_deref()));
        tx.commit().await?;
        self.show(engine, &entry, &torrent.name);
        if removes {
            watch.ledger.remove(&entry.hash);
            watch.counts.remove(&*entry.hash);
            watch.dirty.remove(&*entry.hash);
            // Read once, at the end of the pass.
            watch.is_reread |= self.book.layers().has_torrent(&engine.id, &entry.hash);
            Ok(())
        } else {
            let version = self.book.layers().version;
            watch.ledger.insert(entry.hash.clone(), Held { entry, version });
            Ok(())
        }
    }

    /// Ends an action that was begun before a restart and is seen to be done.
    pub(super) async fn note_settled(
        &self,
        engine: &Engine,
        watch: &mut Watch,
        mut entry: Entry,
    ) -> Result<(), LimitsError> {
        entry.state = State::Done;
        let listed = engine.snapshot().and_then(|list| list.get(&entry.hash).cloned());
        let torrent = listed.map_or_else(
            || Torrent {
                hash: entry.hash.as_str().into(),
                name: entry.hash.clone(),
                ..Torrent::default()
            },
            |listed| listed.torrent.clone(),
        );
        self.note_done(engine, watch, entry, &torrent, &[]).await
    }

    /// Stores a failure, tells people of it once, and has it tried again later.
    async fn note_failure(
        &self,
        mut tx: Tx,
        engine: &Engine,
        watch: &mut Watch,
        (mut entry, layers): (Entry, &[Arc<Layer>]),
        due: &Due,
        setback: Setback,
    ) -> Result<(), LimitsError> {
        let torrent = &due.entry.torrent;
        let (reason, is_told) = match setback {
            Setback::Void => {
                repo::ledger::delete(&mut tx, &engine.id, &entry.hash).await?;
                tx.commit().await?;
                watch.ledger.remove(&entry.hash);
                // The list follows within seconds.
                let soon = self.ground.ctx.now().plus(FIRST_PAUSE);
                watch.due.schedule(&torrent.hash, soon);
                return Ok(());
            }
            Setback::Transient(reason) => (reason, entry.attempts >= TOLD_FROM),
            Setback::Refused(reason) => (reason, true),
        };
        let is_told = is_told && entry.told.as_ref() != Some(&reason);
        let doublings = entry.attempts.saturating_sub(1).min(12);
        let pause = FIRST_PAUSE.saturating_mul(1 << doublings).min(LONGEST_PAUSE);
        let next = self.ground.ctx.now().plus(pause);
        entry.state = State::Failed;
        entry.next_at = Some(next);
        if is_told {
            entry.told = Some(reason.clone());
        }
        entry.error = Some(reason);
        let author = layers.last().map(|layer| layer.set_by.clone());
        repo::ledger::put(&mut tx, &engine.id, &entry).await?;
        if is_told {
            let payload = TorrentLimitFailed {
                torrent_name: torrent.name.clone(),
                hash: entry.hash.clone(),
                engine_id: engine.id.to_string(),
                limit: entry.reached.clone(),
                action: entry.action.clone(),
                reason: entry.error.clone().unwrap_or_default(),
            };
            let event = DomainEvent::new(&self.ground.ctx, Cause::NONE, &*entry.hash, &payload);
            let audited = audit_entry(engine, &entry, (&torrent.name, layers), author.clone());
            self.ground.audit.record(&mut tx, audited).await?;
            tx.publish(event.by(author.as_deref()));
        }
        tx.commit().await?;
        if is_told {
            self.show(engine, &entry, &torrent.name);
        }
        watch.due.schedule(&torrent.hash, next);
        let version = self.book.layers().version;
        watch.ledger.insert(entry.hash.clone(), Held { entry, version });
        Ok(())
    }

    fn show(&self, engine: &Engine, entry: &Entry, name: &str) {
        let message = LimitMessage {
            engine_id: &engine.id,
            hash: &entry.hash,
            name,
            limit: &entry.reached,
            action: &entry.action,
            error: entry.error.as_deref(),
            at: self.ground.ctx.now(),
        };
        let room = Room::Perm(Permission::TorrentsView);
        self.hub.emit_json(room, "torrents:limit", &message);
    }
}

/// Audit row of an action; its user is the author of the limits.
fn audit_entry(
    engine: &Engine,
    entry: &Entry,
    (name, layers): (&str, &[Arc<Layer>]),
    author: Option<String>,
) -> AuditEntry<'static> {
    let scopes: Vec<&str> = layers.iter().map(|layer| layer.scope.word()).collect();
    let result = match entry.error {
        Some(_) => AuditResult::Failure,
        None => AuditResult::Success,
    };
    AuditEntry {
        user_id: author,
        action: "torrents.limits.act",
        object_type: Some("torrent"),
        object_id: Some(entry.hash.clone()),
        result,
        metadata: Some(json!({
            "name": name, "engineId": &*engine.id, "limit": entry.reached, "limits": entry.limits,
            "action": entry.action, "setOn": scopes, "error": entry.error,
        })),
        ..AuditEntry::default()
    }
}
