//! The plan of a move, made before anything is changed: can the torrent be moved in the client, on disk, in the
//! database?

use std::sync::Arc;

use qm_engines::model::paths::{PathError, normalised};
use qm_engines::{Engine, TorrentsError};
use qm_kernel::Caller;
use qm_ports::carry::{DataCheck, DataFile};
use qm_ports::engine::{Torrent, TorrentState};

use super::job_of;
use crate::repo::moves::MoveRow;
use crate::service::TorrentData;
use crate::service::claims::Claim;

/// The steps that a move takes.
pub(super) enum Plan {
    /// It is there already.
    Nothing,
    /// The torrent has no data, or it is there already: its client is told where to save it.
    Pointer,
    Data(Box<MoveRow>, Claim),
}

impl TorrentData {
    pub(super) async fn plan_move(
        &self,
        caller: Option<Caller<'_>>,
        engine: &Arc<Engine>,
        hash: &str,
        destination: &str,
    ) -> Result<Plan, TorrentsError> {
        // What no client may be told: found out before its data lies in such a place.
        if destination.contains(char::is_control) {
            return Err(PathError::IllegalCharacters("destination").into());
        }
        self.moves.refuse_busy(engine, hash)?;
        let torrent = engine.driver.get(hash).await;
        let torrent = torrent.map_err(TorrentsError::blame_engine(&engine.name()))?;
        let torrent = torrent.ok_or(TorrentsError::NoSuchTorrent)?;
        if self.is_same_place(&torrent.save_path, destination).await {
            return Ok(Plan::Nothing);
        }
        let source = normalised(&torrent.content_path).into_owned();
        if source == normalised(&torrent.save_path) {
            return match torrent.downloaded {
                0 => Ok(Plan::Pointer),
                _ => Err(TorrentsError::NoFolderOfItsOwn(source)),
            };
        }
        let mover = self.moves.mover().ok_or(TorrentsError::NoMover)?;
        let row = MoveRow {
            id: self.ctx.id(),
            engine_id: engine.id.to_string(),
            hash: hash.to_owned(),
            name: torrent.name.clone(),
            source,
            save_path: torrent.save_path.clone(),
            destination: destination.to_owned(),
            ran: !matches!(torrent.state, TorrentState::Stopped | TorrentState::Paused),
            user_id: caller.map_or_else(String::new, |caller| caller.principal.user_id.to_string()),
        };
        let whole = whole_files(engine, hash, &torrent).await?;
        match mover.check(&job_of(&row), &whole).await? {
            // What is there is checked by the client.
            DataCheck::Moved => Ok(Plan::Pointer),
            DataCheck::Absent if torrent.downloaded == 0 => Ok(Plan::Pointer),
            DataCheck::Absent => Err(TorrentsError::DataNotSeen(row.source)),
            DataCheck::Ready => {
                let claim = self.claims.take([row.source.clone()]).await;
                let claim = claim.ok_or(TorrentsError::DataBusy)?;
                self.refuse_shared(&(engine.clone(), row.hash.clone()), true)
                    .await?;
                Ok(Plan::Data(Box::new(row), claim))
            }
        }
    }
}

/// The files that have to be there, of a torrent that has them all. One that is not wanted may be missing.
async fn whole_files(engine: &Engine, hash: &str, torrent: &Torrent) -> Result<Vec<DataFile>, TorrentsError> {
    if torrent.progress < 1.0 || torrent.state == TorrentState::Checking {
        return Ok(Vec::new());
    }
    let files = engine.driver.files(hash).await;
    let files = files.map_err(TorrentsError::blame_engine(&engine.name()))?;
    let whole = files
        .into_iter()
        .filter(|file| file.priority > 0 && file.progress >= 1.0);
    let whole = whole.map(|file| DataFile {
        path: file.path,
        size: file.size,
    });
    Ok(whole.collect())
}
