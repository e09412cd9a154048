//! New names of files and folders of a torrent.
//!
//! The client renames on its disk, and would replace what has the new name. So nobody else may use the torrent's data, which is held
//! meanwhile; what has the new name already, as the server sees it or as another torrent claims it, stays; and the new name may not
//! lead out of the allowed roots by way of a link.

use std::path::Path;
use std::sync::Arc;

use qm_engines::model::paths::PathError;
use qm_engines::{Engine, TorrentsError};
use qm_ports::carry::DataPlace;
use qm_ports::engine::{Command, File, Torrent};
use qm_torrent_data::OwnData;

use super::TorrentCommands;
use crate::error::CommandsError;
use crate::model::act::Order;
use crate::model::names::{below, place_file};

/// Files that are looked for at a new name; of more only the lists of other torrents are asked.
const LOOKED_FOR: usize = 100_000;

impl TorrentCommands {
    pub(super) async fn rename_file(
        &self,
        engine: &Arc<Engine>,
        hash: &str,
        order: &Order,
        index: u32,
        name: &str,
    ) -> Result<(), CommandsError> {
        let held = self.hold(engine, hash).await?;
        let (torrent, files) = ask(engine, hash).await?;
        let file = files.iter().find(|file| file.index == index);
        let file = file.ok_or_else(|| {
            let missing = qm_ports::engine::EngineError::NotFound(qm_ports::engine::Subject::File);
            TorrentsError::blame_engine(&engine.name())(missing)
        })?;
        let old = file.path.trim_matches('/');
        let new = place_file(old, name);
        if new == old {
            return Ok(());
        }
        self.check_free(engine, &torrent, &new, Vec::new()).await?;
        let name = name.to_owned();
        self.tell(
            engine,
            hash,
            order,
            Command::RenameFile { index, name },
            Some(&held),
        )
        .await
    }

    pub(super) async fn rename_folder(
        &self,
        engine: &Arc<Engine>,
        hash: &str,
        order: &Order,
        (path, new_path): (&str, &str),
    ) -> Result<(), CommandsError> {
        let held = self.hold(engine, hash).await?;
        let (torrent, files) = ask(engine, hash).await?;
        let inside = files
            .iter()
            .filter_map(|file| below(path, file.path.trim_matches('/')));
        let inside: Vec<String> = inside.map(str::to_owned).collect();
        if inside.is_empty() {
            return Err(CommandsError::NoSuchFolder(path.to_owned()));
        }
        self.check_free(engine, &torrent, new_path, inside).await?;
        let command = Command::RenameFolder {
            old_path: path.to_owned(),
            new_path: new_path.to_owned(),
        };
        self.tell(engine, hash, order, command, Some(&held)).await
    }

    async fn hold(&self, engine: &Arc<Engine>, hash: &str) -> Result<OwnData, CommandsError> {
        let held = self.data.hold_own(&(engine.clone(), hash.to_owned())).await;
        held.map_err(|error| match error {
            TorrentsError::SharedData(names) => CommandsError::SharedNames(names),
            error => error.into(),
        })
    }

    /// Refuses a new name, below the torrent's directory, at which there is something. `inside`: the files below a folder; none: a file.
    async fn check_free(
        &self,
        engine: &Engine,
        torrent: &Torrent,
        new: &str,
        inside: Vec<String>,
    ) -> Result<(), CommandsError> {
        let base = base_of(torrent);
        let top = format!("{}/{new}", base.trim_end_matches('/'));
        self.check_way(base, &top).await?;
        let is_mine =
            |other: &qm_ports::TorrentPayload| other.engine_id == *engine.id && other.hash == *torrent.hash;
        let below_top = format!("{top}/");
        let others = self.data.touching(&[Path::new(&top)]);
        let is_claimed = others
            .iter()
            .any(|other| !is_mine(other) && (other.path == top || other.path.starts_with(&below_top)));
        if is_claimed {
            return Err(CommandsError::NameTaken(top));
        }
        if inside.len() > LOOKED_FOR {
            return Ok(());
        }
        let place = DataPlace {
            top: top.clone().into_bytes(),
            files: inside.into_iter().map(String::into_bytes).collect(),
            sizes: Vec::new(),
            is_told: false,
        };
        match self.mover.see(&place).await? {
            Some(seen) if !seen.files.is_empty() => Err(CommandsError::NameTaken(top)),
            // Nothing is there, or the server does not see the place: then the client alone knows.
            _ => Ok(()),
        }
    }

    /// Refuses a new name that a link leads out of the roots. What lies outside of them anyway is judged by the text alone.
    async fn check_way(&self, base: &str, top: &str) -> Result<(), CommandsError> {
        const LABEL: &str = "new name";
        let places = self.data.places();
        match places.judge(base, LABEL).await {
            Ok(_) => {}
            Err(PathError::OutsideRoots(_) | PathError::SystemDirectory | PathError::Blank) => return Ok(()),
            Err(error) => return Err(TorrentsError::from(error).into()),
        }
        let folder = top.rsplit_once('/').map_or(base, |(folder, _)| folder);
        let judged = places.judge(folder, LABEL).await;
        judged
            .map(drop)
            .map_err(|error| TorrentsError::from(error).into())
    }
}

/// Directory that paths of files are relative to.
fn base_of(torrent: &Torrent) -> &str {
    let apart = torrent.download_path.as_deref().filter(|path| !path.is_empty());
    match apart {
        Some(path) if torrent.progress < 1.0 => path,
        _ => &torrent.save_path,
    }
}

async fn ask(engine: &Engine, hash: &str) -> Result<(Torrent, Vec<File>), CommandsError> {
    let name = engine.name();
    let blame = || TorrentsError::blame_engine(&name);
    let torrent = engine.driver.get(hash).await.map_err(blame())?;
    let torrent = torrent.ok_or(TorrentsError::NoSuchTorrent)?;
    let files = engine.driver.files(hash).await.map_err(blame())?;
    Ok((torrent, files))
}
