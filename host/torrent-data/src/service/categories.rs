//! Categories that choose where the data of their torrents lies.
//!
//! A torrent is auto-managed when its category chooses its directory. A client that knows this itself (qBittorrent) keeps the mark and
//! moves the data; its own category gets the directory of the server's list right before. For every other client the mark is kept
//! here, and the data is moved as by an order to move it. Either way other torrents' data is not taken along, and a move by
//! hand ends it.
//! Bounds: a client is asked for its categories once an order, for [`ANSWER`].

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use qm_engines::repo::intake;
use qm_engines::{Engine, TorrentsError};
use qm_kernel::Caller;
use qm_ports::engine::{Category, Command, EngineError, Torrent, capability};

use super::TorrentData;
use crate::repo;

/// Time limit on a client's answer about its categories.
const ANSWER: Duration = Duration::from_secs(10);

/// True if the client may move the data of a torrent at this command: to the directory of incomplete data, or where the category says.
pub fn may_move(engine: &Engine, hash: &str, command: &Command) -> bool {
    let can_move = engine.driver.has(capability::MOVES_DATA);
    match command {
        Command::DownloadPath(_) | Command::AutoManage(_) => can_move,
        Command::SetLabel { .. } => can_move && is_auto_managed(engine, hash),
        _ => false,
    }
}

/// True if the server has to carry out a command, because the client does not know that a category chooses directories.
pub fn is_carried_out_here(engine: &Engine, hash: &str, command: &Command) -> bool {
    let is_about = match command {
        Command::AutoManage(_) => true,
        Command::SetLabel { .. } => is_auto_managed(engine, hash),
        _ => false,
    };
    is_about && !engine.driver.has(capability::AUTO_MANAGE)
}

fn is_auto_managed(engine: &Engine, hash: &str) -> bool {
    if !engine.driver.has(capability::AUTO_MANAGE) {
        let intake = engine.intakes.get(hash);
        return intake.is_some_and(|intake| intake.auto_managed == Some(true));
    }
    let snapshot = engine.snapshot();
    let entry = snapshot.as_ref().and_then(|list| list.get(hash));
    entry.is_some_and(|entry| entry.torrent.auto_managed == Some(true))
}

impl TorrentData {
    /// Does a command about the category of a torrent, or about whether that chooses its directory, for `caller`; none: for a rule.
    pub async fn follow_category(
        self: &Arc<Self>,
        caller: Option<Caller<'_>>,
        engine: &Arc<Engine>,
        hash: &str,
        command: &Command,
    ) -> Result<(), TorrentsError> {
        self.refuse_busy(engine, hash)?;
        if is_carried_out_here(engine, hash, command) {
            return self.carry_out_here(caller, engine, hash, command).await;
        }
        let held = if may_move(engine, hash, command) {
            self.align_categories(engine, &[hash.to_owned()], command).await?;
            let held = self.hold_own(&(engine.clone(), hash.to_owned())).await;
            Some(held.map_err(TorrentsError::of_move)?)
        } else {
            None
        };
        let proof = held.as_ref().map(super::OwnData::proof);
        let done = engine.order_one(hash, command.clone(), proof).await;
        done.map_err(TorrentsError::blame_engine(&engine.name()))
    }

    async fn carry_out_here(
        self: &Arc<Self>,
        caller: Option<Caller<'_>>,
        engine: &Arc<Engine>,
        hash: &str,
        command: &Command,
    ) -> Result<(), TorrentsError> {
        // Of the client, for its category may have been set a moment ago.
        let torrent = find(engine, hash).await?;
        match command {
            Command::AutoManage(false) => self.mark_auto_managed(engine, hash, false).await,
            Command::AutoManage(true) => {
                // First where it belongs: one that cannot go there is not marked.
                if let Some(path) = self.path_of(torrent.label.as_deref().unwrap_or_default()).await? {
                    self.move_as_chosen(caller, engine, &torrent, &path).await?;
                }
                self.mark_auto_managed(engine, hash, true).await
            }
            Command::SetLabel { label } => {
                let path = self.path_of(label).await?;
                let tell = async |label: &str| {
                    let label = label.to_owned();
                    let told = engine.order_one(hash, Command::SetLabel { label }, None).await;
                    told.map_err(TorrentsError::blame_engine(&engine.name()))
                };
                tell(label).await?;
                let Some(path) = path else { return Ok(()) };
                let moved = self.move_as_chosen(caller, engine, &torrent, &path).await;
                if moved.is_err() {
                    // A category that it could not follow is not its category. A client that is away now keeps the new one.
                    let _ = tell(torrent.label.as_deref().unwrap_or_default()).await;
                }
                moved
            }
            _ => Ok(()),
        }
    }

    async fn move_as_chosen(
        self: &Arc<Self>,
        caller: Option<Caller<'_>>,
        engine: &Engine,
        torrent: &Torrent,
        path: &str,
    ) -> Result<(), TorrentsError> {
        if torrent.save_path.trim_end_matches('/') == path.trim_end_matches('/') {
            return Ok(());
        }
        // One that takes long goes on as a file operation.
        let moving = self.carry_to(caller, Some(&engine.id), &torrent.hash, path);
        moving.await.map(drop)
    }

    /// Keeps for a torrent, whose client does not, whether its category chooses its directory.
    async fn mark_auto_managed(&self, engine: &Engine, hash: &str, on: bool) -> Result<(), TorrentsError> {
        let now = self.ctx.now();
        let mut tx = self.db.begin_write().await?;
        intake::mark_auto_managed(&mut tx, &engine.id, hash, on, now).await?;
        tx.commit().await?;
        engine.intakes.mark_auto_managed(hash, on, now);
        Ok(())
    }

    /// Notes that somebody moved a torrent by hand: its category no longer chooses, as clients have it that know this themselves.
    pub(super) async fn end_auto_managed(&self, engine: &Engine, hash: &str) -> Result<(), TorrentsError> {
        if engine.driver.has(capability::AUTO_MANAGE) || !is_auto_managed(engine, hash) {
            return Ok(());
        }
        self.mark_auto_managed(engine, hash, false).await
    }

    /// Directory of a category in the server's list, judged like every other.
    pub async fn path_of(&self, category: &str) -> Result<Option<String>, TorrentsError> {
        // No stored text holds a NUL.
        if category.is_empty() || category.contains('\0') {
            return Ok(None);
        }
        let stored = repo::categories::find_path(&mut self.db.begin_read().await?, category).await?;
        let Some(path) = stored else { return Ok(None) };
        let judged = self.places.judge(&path, "save path").await;
        judged.map(Some).map_err(TorrentsError::CategoryPath)
    }

    /// Gives the client's own categories, which are about to choose the directories of these torrents, those of the server's list.
    pub async fn align_categories(
        &self,
        engine: &Engine,
        hashes: &[String],
        command: &Command,
    ) -> Result<(), TorrentsError> {
        let names: BTreeSet<String> = match command {
            Command::SetLabel { label } => BTreeSet::from([label.clone()]),
            Command::AutoManage(true) => {
                // A category may have been set a moment ago.
                engine.show_change(true).await;
                let snapshot = engine.snapshot();
                let listed = hashes.iter().filter_map(|hash| snapshot.as_ref()?.get(hash));
                listed.filter_map(|entry| entry.torrent.label.clone()).collect()
            }
            _ => return Ok(()),
        };
        if !engine.driver.has(capability::CATEGORIES) {
            return Ok(());
        }
        let mut wanted = Vec::new();
        for name in names {
            if let Some(path) = self.path_of(&name).await? {
                wanted.push((name, path));
            }
        }
        if wanted.is_empty() {
            return Ok(());
        }
        let blame = |error| TorrentsError::blame_engine(&engine.name())(error);
        let late = || EngineError::Timeout("it did not tell its categories in time".into());
        let told = tokio::time::timeout(ANSWER, engine.driver.categories()).await;
        let known = told.map_err(|_| blame(late()))?.map_err(blame)?;
        for (name, path) in wanted {
            align(engine, known.iter().find(|known| known.name == name), name, path).await?;
        }
        Ok(())
    }
}

/// Gives one category of a client its directory. Data of torrents that it chose another directory for would move: it is refused.
async fn align(
    engine: &Engine,
    known: Option<&Category>,
    name: String,
    path: String,
) -> Result<(), TorrentsError> {
    let engine_name = engine.name();
    let blame = TorrentsError::blame_engine(&engine_name);
    let Some(known) = known else {
        let new = Category {
            name,
            save_path: Some(path),
            download_path: None,
        };
        return engine.driver.create_category(new).await.map_err(blame);
    };
    let theirs = known.save_path.as_deref().unwrap_or_default();
    if theirs.trim_end_matches('/') == path.trim_end_matches('/') {
        return Ok(());
    }
    let used = count_auto_managed(engine, &name);
    if used > 0 {
        return Err(TorrentsError::CategoryElsewhere {
            engine: engine.name().to_string(),
            category: name,
            theirs: theirs.to_owned(),
            ours: path,
            used,
        });
    }
    let edited = Category {
        save_path: Some(path),
        ..known.clone()
    };
    engine.driver.edit_category(edited).await.map_err(blame)
}

/// Number of torrents of an engine whose directory a category chooses.
pub fn count_auto_managed(engine: &Engine, category: &str) -> usize {
    let snapshot = engine.snapshot();
    let torrents = snapshot.iter().flat_map(|snapshot| snapshot.torrents());
    torrents
        .filter(|torrent| torrent.label.as_deref() == Some(category) && torrent.auto_managed == Some(true))
        .count()
}

async fn find(engine: &Engine, hash: &str) -> Result<Torrent, TorrentsError> {
    let told = engine.driver.get(hash).await;
    let told = told.map_err(TorrentsError::blame_engine(&engine.name()))?;
    told.ok_or(TorrentsError::NoSuchTorrent)
}
