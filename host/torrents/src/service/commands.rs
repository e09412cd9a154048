//! Commands of users for one torrent. For many, and for what is beyond these: `qm-torrent-commands`.
//!
//! A change is audited once the client has made it, and it is shown at once: the sync loop is asked for an early read.
//! The change is the client's and no row of ours, so its audit row stands alone. A client that refused changed nothing.

use qm_engines::{Engine, TorrentsError, audit_entry};
use qm_kernel::Permission;
use qm_platform::AuditResult;
use qm_ports::Removal;
use qm_ports::engine::{Command, EngineError, capability};
use qm_torrent_data::{How, checked_hash, told_of};

use super::{Caller, Torrents};

const OBJECT: &str = "torrent";

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
            return Err(TorrentsError::blame_engine(&engine.name())(refusal));
        }
        let removes = matches!(command, Command::Remove { .. });
        let hash = checked_hash(hash)?;
        // Told of now: afterwards it may be gone, or be called otherwise.
        let metadata = told_of(&engine, &hash, &command);
        self.obey(&engine, &hash, command).await?;
        self.data
            .audit_torrent(caller, permission.key(), &hash, metadata)
            .await;
        engine.show_change(removes).await;
        Ok(())
    }

    /// Does `command`, which takes no data, to a torrent, unless its data is under way.
    pub(super) async fn obey(
        &self,
        engine: &Engine,
        hash: &str,
        command: Command,
    ) -> Result<(), TorrentsError> {
        self.data.refuse_busy(engine, hash)?;
        let command = self.data.places().judge_command(command).await?;
        let done = engine.order_one(hash, command, None).await;
        done.map_err(TorrentsError::blame_engine(&engine.name()))
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
                .data
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
            engine.show_change(true).await;
        }
        done
    }
}
