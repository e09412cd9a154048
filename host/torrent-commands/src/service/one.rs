//! Commands for one torrent.
//!
//! A change is audited once the client has made it. The change is the client's and no row of ours, so its audit row stands alone. A
//! client that refused changed nothing.

use std::sync::Arc;

use qm_engines::model::abilities::Ability;
use qm_engines::{Engine, TorrentsError};
use qm_kernel::Caller;
use qm_ports::action::{ActionError, TorrentRef};
use qm_ports::engine::{Command, capability};
use qm_torrent_data::{How, OwnData, checked_hash, may_move, told_of};
use serde_json::Value;

use super::TorrentCommands;
use crate::error::CommandsError;
use crate::model::act::{Act, Order, TagChange};

/// Refuses what an engine cannot, before its client is asked. A torrent that its list lacks is told of first.
pub(super) fn check_able(
    engine: &Engine,
    hash: Option<&str>,
    ability: Option<&'static Ability>,
) -> Result<(), CommandsError> {
    let Some(ability) = ability.filter(|ability| !engine.driver.has(ability.word)) else {
        return Ok(());
    };
    let snapshot = engine.snapshot();
    if let (Some(snapshot), Some(hash)) = (snapshot, hash)
        && snapshot.get(hash).is_none()
    {
        return Err(TorrentsError::NoSuchTorrent.into());
    }
    Err(engine.lacks(ability).into())
}

impl TorrentCommands {
    /// Does an order to one torrent and audits it as the action of its permission. `None`: for a rule, whose run is audited.
    pub async fn do_one(
        &self,
        caller: Option<Caller<'_>>,
        engine_id: Option<&str>,
        hash: &str,
        order: &Order,
    ) -> Result<(), CommandsError> {
        let engine = self.engines.resolve(engine_id)?;
        let hash = checked_hash(hash)?;
        check_able(&engine, Some(&hash), order.kind.ability)?;
        let metadata = metadata_of(&engine, &hash, order);
        self.act(caller, &engine, &hash, order).await?;
        // A move audits itself, for it may go on after the request.
        if let Some(caller) = caller.filter(|_| !matches!(order.act, Act::Move { .. })) {
            let action = order.kind.permission.key();
            self.data.audit_torrent(caller, action, &hash, metadata).await;
        }
        engine.show_change(is_shown_at_once(order)).await;
        Ok(())
    }

    /// Carries out an order for one torrent.
    pub(super) async fn act(
        &self,
        caller: Option<Caller<'_>>,
        engine: &Arc<Engine>,
        hash: &str,
        order: &Order,
    ) -> Result<(), CommandsError> {
        match &order.act {
            Act::Plain(command @ (Command::SetLabel { .. } | Command::AutoManage(_))) => {
                let done = self.data.follow_category(caller, engine, hash, command).await;
                done.map_err(CommandsError::from)
            }
            Act::Plain(command) => self.tell_plain(engine, hash, order, command).await,
            Act::Tags(change) => self.retag(engine, hash, change).await,
            Act::RenameFile { index, name } => self.rename_file(engine, hash, order, *index, name).await,
            Act::RenameFolder { path, new_path } => {
                self.rename_folder(engine, hash, order, (path, new_path)).await
            }
            Act::ReplaceHost(change) => self.replace_host(engine, hash, order, change).await,
            Act::Move { destination } => {
                let moving = self.data.relocate_by(caller, Some(&engine.id), hash, destination);
                // One that takes long goes on as a file operation.
                moving.await.map(drop).map_err(CommandsError::from)
            }
            Act::RemoveData { keep_shared } => {
                let how = How {
                    keep_shared: *keep_shared,
                    along: &[],
                    user_id: caller.map_or("", Caller::user_id),
                };
                let subject = (engine.clone(), hash.to_owned());
                let mut done = self.data.remove_with_data(&[subject], how).await;
                let done = done.pop().unwrap_or(Err(TorrentsError::NoSuchTorrent));
                done.map_err(CommandsError::from)
            }
        }
    }

    /// Tells the client a command, with a hold on the data where the client may move that.
    async fn tell_plain(
        &self,
        engine: &Arc<Engine>,
        hash: &str,
        order: &Order,
        command: &Command,
    ) -> Result<(), CommandsError> {
        let held = if may_move(engine, hash, command) {
            let subject = (engine.clone(), hash.to_owned());
            Some(self.data.hold_own(&subject).await.map_err(unmoved)?)
        } else {
            None
        };
        self.tell(engine, hash, order, command.clone(), held.as_ref())
            .await
    }

    /// Tells the client a command, unless the torrent's data is under way. One that takes data needs a hold on it.
    pub(super) async fn tell(
        &self,
        engine: &Engine,
        hash: &str,
        order: &Order,
        command: Command,
        held: Option<&OwnData>,
    ) -> Result<(), CommandsError> {
        self.data.refuse_busy(engine, hash)?;
        let command = self.judge(command).await?;
        let done = engine.order_one(hash, command, held.map(OwnData::proof)).await;
        done.map_err(|error| CommandsError::of_engine(&engine.name(), order.kind.ability, error))
    }

    /// Judges the directory of a command, right before a client hears of it.
    pub(super) async fn judge(&self, command: Command) -> Result<Command, CommandsError> {
        let judged = self.data.places().judge_command(command).await;
        judged.map_err(|error| TorrentsError::from(error).into())
    }

    async fn retag(&self, engine: &Engine, hash: &str, change: &TagChange) -> Result<(), CommandsError> {
        let has_tags = engine.driver.has(capability::TAGS);
        let (add, remove) = match &change.set {
            Some(wanted) => {
                let now = current_tags(engine, hash, has_tags).await?;
                let gone = now.into_iter().filter(|tag| !wanted.contains(tag));
                (wanted.clone(), gone.collect())
            }
            None => (change.add.clone(), change.remove.clone()),
        };
        if !has_tags {
            let torrent = TorrentRef {
                engine_id: engine.id.to_string(),
                hash: hash.to_owned(),
            };
            let kept = self.tags.keep_tags(&torrent, &add, &remove).await;
            return kept.map_err(|error| match error {
                ActionError::NotFound(_) => TorrentsError::NoSuchTorrent.into(),
                error => error.into(),
            });
        }
        // No matter whether its data is under way: the client keeps them beside it.
        let commands = [
            (!remove.is_empty()).then_some(Command::RemoveTags { tags: remove }),
            (!add.is_empty()).then_some(Command::AddTags { tags: add }),
        ];
        for command in commands.into_iter().flatten() {
            engine
                .order_one(hash, command, None)
                .await
                .map_err(TorrentsError::blame_engine(&engine.name()))?;
        }
        Ok(())
    }
}

/// Refusal to have data moved that others use.
pub(super) fn unmoved(error: TorrentsError) -> CommandsError {
    error.of_move().into()
}

async fn current_tags(engine: &Engine, hash: &str, has_tags: bool) -> Result<Vec<String>, CommandsError> {
    if !has_tags {
        let kept = engine.intakes.get(hash);
        return Ok(kept.map(|intake| intake.tags.clone()).unwrap_or_default());
    }
    let torrent = engine.driver.get(hash).await;
    let torrent = torrent.map_err(TorrentsError::blame_engine(&engine.name()))?;
    let torrent = torrent.ok_or(TorrentsError::NoSuchTorrent)?;
    Ok(torrent.tags)
}

/// The metadata of an order's audit row, told of before it is carried out: afterwards the torrent may be called otherwise.
fn metadata_of(engine: &Engine, hash: &str, order: &Order) -> Value {
    // Of the others only engine and name are told there.
    let told = match &order.act {
        Act::Plain(command) => told_of(engine, hash, command),
        _ => told_of(engine, hash, &Command::Reannounce),
    };
    match told {
        Value::Object(mut told) => {
            told.extend(order.facts());
            Value::Object(told)
        }
        other => other,
    }
}

/// True for a change that the next request, or a rule's next action, should see.
pub(super) const fn is_shown_at_once(order: &Order) -> bool {
    matches!(
        order.act,
        Act::Tags(_) | Act::RemoveData { .. } | Act::Plain(Command::Remove { .. } | Command::AutoManage(_))
    )
}
