//! Commands of users for torrents that exist: for one at a time or for many.
//!
//! A change is audited once the client has made it, and it is shown at once: the sync loop is asked for an early read.
//! The change is the client's and no row of ours, so its audit row stands alone. A client that refused changed nothing.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use qm_kernel::Permission;
use qm_metainfo::info_hash::is_info_hash;
use qm_platform::{AuditEntry, AuditResult};
use qm_ports::Removal;
use qm_ports::engine::{Command, EngineError, capability};
use serde_json::{Map, Value, json};

use super::moves::Moves;
use super::removals::How;
use super::shared_data::Subject;
use super::{Caller, Torrents, audit_entry};
use crate::error::{TorrentsError, describe};
use crate::model::answers::{BulkAction, BulkResult};
use crate::sync::engine::Engine;

const OBJECT: &str = "torrent";

/// Time limit on waiting for the list to show a torrent that was added, or no longer one that was removed.
const SHOW_LIMIT: Duration = Duration::from_secs(1);

/// Hashes in one call to a driver.
const BULK_CHUNK: usize = 50;

/// The results of a bulk action.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BulkOutcome {
    pub succeeded: usize,
    pub failed: usize,
    /// One result for each hash that was given, in that order.
    pub results: Vec<BulkResult>,
}

impl Torrents {
    /// Does `command` to one torrent and audits it as `permission`'s action.
    pub async fn command(
        &self,
        caller: Caller<'_>,
        engine_id: Option<&str>,
        hash: &str,
        permission: Permission,
        command: Command,
    ) -> Result<(), TorrentsError> {
        let engine = self.resolve(engine_id)?;
        if matches!(command, Command::Rename { .. }) && !engine.driver.has(capability::RENAME) {
            let refusal = EngineError::Unsupported("This engine cannot rename torrents".into());
            return Err(TorrentsError::of(&engine.name())(refusal));
        }
        let removes = matches!(command, Command::Remove { .. });
        let hash = checked_hash(hash)?;
        // Told of now: afterwards it may be gone, or be called otherwise.
        let metadata = told_of(&engine, &hash, &command);
        self.obey(&engine, &hash, command).await?;
        self.audit_torrent(caller, permission.key(), &hash, metadata)
            .await;
        show(&engine, removes).await;
        Ok(())
    }

    /// Does `command`, which takes no data, to a torrent, unless its data is under way.
    pub(super) async fn obey(
        &self,
        engine: &Engine,
        hash: &str,
        command: Command,
    ) -> Result<(), TorrentsError> {
        self.moves.refuse_busy(engine, hash)?;
        let command = self.places.judge_command(command).await?;
        let done = engine.order_one(hash, command, None).await;
        done.map_err(TorrentsError::of(&engine.name()))
    }

    /// Removes one torrent, with its data when asked; for a caller it is audited.
    pub async fn remove_by(
        &self,
        caller: Option<Caller<'_>>,
        engine_id: Option<&str>,
        hash: &str,
        removal: Removal<'_>,
    ) -> Result<(), TorrentsError> {
        let engine = self.resolve(engine_id)?;
        let hash = checked_hash(hash)?;
        let with_data = removal.with_data;
        // Told of now: afterwards it is gone.
        let mut metadata = told_of(&engine, &hash, &Command::Remove { with_data });
        let user_id = caller.map_or_else(String::new, |caller| caller.principal.user_id.to_string());
        let done = if with_data {
            let how = How {
                keep_shared: removal.keep_shared,
                along: removal.along,
                user_id: &user_id,
            };
            let mut done = self
                .remove_with_data(&[(engine.clone(), hash.clone())], how)
                .await;
            done.pop().unwrap_or(Err(TorrentsError::NoSuchTorrent))
        } else {
            self.obey(&engine, &hash, Command::Remove { with_data }).await
        };
        let stayed = done.as_ref().err().filter(|error| error.left_data());
        if let (Some(caller), true) = (caller, done.is_ok() || stayed.is_some()) {
            let permission = if with_data {
                Permission::TorrentsDeleteData
            } else {
                Permission::TorrentsDelete
            };
            if removal.keep_shared {
                metadata["keepShared"] = true.into();
            }
            let mut entry = audit_entry(caller, permission.key(), Some((OBJECT, &hash)), None);
            if let Some(error) = stayed {
                metadata["stayed"] = error.to_string().into();
                entry.result = AuditResult::Failure;
            }
            entry.metadata = Some(metadata);
            self.audit.record_alone(&self.db, entry).await;
        }
        if done.is_ok() || stayed.is_some() {
            show(&engine, true).await;
        }
        done
    }

    /// Does one action to many torrents; one that fails stops no other.
    pub async fn bulk(
        &self,
        caller: Caller<'_>,
        engine_id: Option<&str>,
        action: BulkAction,
        hashes: &[String],
        keep_shared: bool,
    ) -> Result<BulkOutcome, TorrentsError> {
        let name = action.audited_as();
        let needed = action.permission();
        if !caller.principal.may(needed) {
            let metadata = json!({ "count": hashes.len(), "reason": "forbidden", "required": needed.key() });
            let entry = AuditEntry {
                result: AuditResult::Failure,
                ..audit_entry(caller, name, None, Some(metadata))
            };
            self.audit.record_alone(&self.db, entry).await;
            return Err(TorrentsError::MissingPermission(needed.key()));
        }
        let engine = self.resolve(engine_id)?;
        if hashes.is_empty() {
            return Ok(BulkOutcome::default());
        }
        let results = if action == BulkAction::RemoveData {
            self.remove_all(caller, &engine, hashes, keep_shared).await
        } else {
            run_all(&engine, &self.moves, action, hashes).await
        };
        let succeeded = results.iter().filter(|result| result.error.is_none()).count();
        let metadata = json!({
            "engineId": &*engine.id,
            "count": hashes.len(),
            "succeeded": succeeded,
            "failed": hashes.len() - succeeded,
            "libraryItemsRemoved": 0,
        });
        let entry = audit_entry(caller, name, None, Some(metadata));
        self.audit.record_alone(&self.db, entry).await;
        if succeeded > 0 {
            show(&engine, action.removes()).await;
        }
        Ok(BulkOutcome {
            succeeded,
            failed: hashes.len() - succeeded,
            results,
        })
    }

    /// Removes many torrents with their data, as one order.
    async fn remove_all(
        &self,
        caller: Caller<'_>,
        engine: &Arc<Engine>,
        hashes: &[String],
        keep_shared: bool,
    ) -> Vec<BulkResult> {
        let asked = distinct(hashes);
        let subjects: Vec<Subject> = asked.iter().map(|hash| (engine.clone(), hash.clone())).collect();
        let user_id = caller.principal.user_id.to_string();
        let how = How {
            keep_shared,
            along: &[],
            user_id: &user_id,
        };
        let done = self.remove_with_data(&subjects, how).await;
        let done = done
            .into_iter()
            .map(|done| done.err().map(|error| error.to_string()));
        results_of(
            &engine.name(),
            hashes,
            &asked.into_iter().zip(done).collect(),
            None,
        )
    }

    pub(super) async fn audit_torrent(
        &self,
        caller: Caller<'_>,
        action: &'static str,
        hash: &str,
        metadata: Value,
    ) {
        let entry = audit_entry(caller, action, Some((OBJECT, hash)), Some(metadata));
        self.audit.record_alone(&self.db, entry).await;
    }
}

/// The metadata of a command's audit row: the engine, the torrent's name if it is known, and the parameters. A
/// tracker's address is left out: private trackers put the user's key there.
pub(super) fn told_of(engine: &Engine, hash: &str, command: &Command) -> Value {
    let mut told = Map::new();
    told.insert("engineId".into(), (*engine.id).into());
    if let Some(entry) = engine.snapshot().and_then(|list| list.get(hash).cloned()) {
        told.insert("name".into(), entry.torrent.name.as_str().into());
    }
    match command {
        Command::Move { destination } => {
            told.insert("destination".into(), destination.as_str().into());
        }
        Command::Rename { name } => {
            told.insert("newName".into(), name.as_str().into());
        }
        Command::UploadLimit(rate) => {
            told.insert("uploadBytesPerSec".into(), (*rate).into());
        }
        Command::DownloadLimit(rate) => {
            told.insert("downloadBytesPerSec".into(), (*rate).into());
        }
        Command::FilePriority { indexes, priority } => {
            let index = indexes.first().copied().filter(|_| indexes.len() == 1);
            told.insert("fileIndex".into(), index.into());
            told.insert("priority".into(), (*priority).into());
        }
        Command::AddTracker { .. } => {
            told.insert("change".into(), "added".into());
        }
        Command::RemoveTracker { .. } => {
            told.insert("change".into(), "removed".into());
        }
        Command::ReplaceTracker { .. } => {
            told.insert("change".into(), "replaced".into());
        }
        Command::DownloadPath(path) => {
            told.insert("downloadPath".into(), path.as_deref().into());
        }
        Command::RenameFolder { old_path, new_path } => {
            told.insert("oldPath".into(), old_path.as_str().into());
            told.insert("newPath".into(), new_path.as_str().into());
        }
        Command::Sequential(on)
        | Command::FirstLastPiece(on)
        | Command::SuperSeeding(on)
        | Command::AutoManage(on) => {
            told.insert("on".into(), (*on).into());
        }
        Command::BanPeers { peers } => {
            told.insert("peers".into(), peers.as_slice().into());
        }
        Command::SetLabel { label } => {
            told.insert("label".into(), label.as_str().into());
        }
        Command::AddTags { tags } => {
            told.insert("addedTags".into(), tags.as_slice().into());
        }
        Command::RemoveTags { tags } => {
            told.insert("removedTags".into(), tags.as_slice().into());
        }
        Command::Start
        | Command::Stop
        | Command::Pause
        | Command::Resume
        | Command::ForceStart(_)
        | Command::Recheck
        | Command::Reannounce
        | Command::Queue(_)
        | Command::ShareLimits(_)
        | Command::Remove { .. }
        | Command::RenameFile { .. }
        | Command::Detach
        | Command::Attach { .. }
        | Command::Priority(_) => {}
    }
    Value::Object(told)
}

/// Does an action to each hash and answers the results. Once the engine itself is gone, the rest is not tried.
async fn run_all(engine: &Engine, moves: &Moves, action: BulkAction, hashes: &[String]) -> Vec<BulkResult> {
    let asked = distinct(hashes);
    let name = engine.name();
    let mut outcomes: HashMap<String, Option<String>> = HashMap::with_capacity(asked.len());
    let (asked, moving): (Vec<String>, Vec<String>) = asked
        .into_iter()
        .partition(|hash| moves.refuse_busy(engine, hash).is_ok());
    let is_moving = |hash: String| (hash, Some(TorrentsError::Moving.to_string()));
    outcomes.extend(moving.into_iter().map(is_moving));
    let mut gone = None;
    for chunk in asked.chunks(BULK_CHUNK) {
        match engine.order(chunk, action.command()).await {
            Ok(told) => outcomes.extend(told.into_iter().map(|outcome| {
                let error = outcome.result.err().map(|error| describe(&name, &error));
                (outcome.hash, error)
            })),
            Err(error) => {
                tracing::warn!(engine.id = %engine.id, %error, action = action.name(), "a bulk action was not done");
                let text = describe(&name, &error);
                if error.is_transport() {
                    gone = Some(text);
                    break;
                }
                outcomes.extend(chunk.iter().map(|hash| (hash.clone(), Some(text.clone()))));
            }
        }
    }
    results_of(&name, hashes, &outcomes, gone.as_deref())
}

/// The torrents that are meant, each once.
fn distinct(hashes: &[String]) -> Vec<String> {
    let mut seen = HashSet::new();
    let asked = hashes.iter().filter_map(|hash| checked_hash(hash).ok());
    asked.filter(|hash| seen.insert(hash.clone())).collect()
}

/// One result for each hash that was given. `gone`: why the rest was not tried.
fn results_of(
    name: &str,
    hashes: &[String],
    outcomes: &HashMap<String, Option<String>>,
    gone: Option<&str>,
) -> Vec<BulkResult> {
    let result = |hash: &String| BulkResult {
        hash: hash.clone(),
        error: match (checked_hash(hash), gone) {
            (Err(error), _) => Some(error.to_string()),
            (Ok(asked), gone) => match (outcomes.get(&asked), gone) {
                (Some(outcome), _) => outcome.clone(),
                (None, Some(gone)) => Some(gone.to_owned()),
                (None, None) => Some(format!("{name} did not tell what became of it")),
            },
        },
    };
    hashes.iter().map(result).collect()
}

/// Has the list read again. `wait`: returns only when the new list is there, or after `SHOW_LIMIT`, so that the next
/// request sees the change.
pub(super) async fn show(engine: &Engine, wait: bool) {
    if wait {
        engine.refresh(SHOW_LIMIT).await;
    } else {
        engine.poke();
    }
}

/// Reads a hash as clients list it. A text that is no hash belongs to no torrent.
pub(super) fn checked_hash(hash: &str) -> Result<String, TorrentsError> {
    if is_info_hash(hash) {
        Ok(hash.to_ascii_lowercase())
    } else {
        Err(TorrentsError::NoSuchTorrent)
    }
}
