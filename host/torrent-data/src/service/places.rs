//! Directories that clients are told, or that are kept to be told later: judged as text, then by where they lead.
//!
//! A client opens the path itself, later and perhaps elsewhere, so what it is told has no link in it as far as the path exists
//! here. It is judged when it is chosen, and again right before a client hears of it, for a link may have been put there
//! meanwhile. A root that is not on this machine is judged as text alone.
//! Bounds: those of [`PLACES`], and [`PATIENCE`] for each path; a disk that hangs refuses what comes after.

use std::path::PathBuf;
use std::time::Duration;

use qm_confined::{FsError, OwnPlace};
use qm_engines::TorrentsError;
use qm_engines::model::mappings::{PathMapping, PathMappings};
use qm_engines::model::paths::{PathError, Roots, check_directory, normalised};
use qm_kernel::ErrorKind;
use qm_ports::engine::Command;

use super::TorrentData;
use crate::lanes::PLACES;

/// Time limit on a look at a path, waiting for its turn included.
const PATIENCE: Duration = Duration::from_secs(10);

/// The directories that clients may be told.
pub struct Places {
    /// The roots as texts.
    named: Roots,
    /// The roots as they lie on this machine.
    here: qm_confined::Roots,
}

impl Places {
    pub fn new(roots: &[String], own: &[OwnPlace]) -> Self {
        Self {
            named: Roots::new(roots),
            here: qm_confined::Roots::hiding(roots, own),
        }
    }

    /// Judges a directory that somebody chose, and says what a client is told of it. `label` names the field in messages.
    pub async fn judge(&self, path: &str, label: &'static str) -> Result<String, PathError> {
        let named = check_directory(path, label, &self.named)?;
        let (here, shown) = (self.here.clone(), named.clone());
        let look = PLACES.run(move |_| here.outward_path(&PathBuf::from(named)));
        let looked = tokio::time::timeout(PATIENCE, look).await;
        let led = match looked.ok().and_then(Result::ok).unwrap_or(Err(FsError::Busy)) {
            Ok(led) => led,
            Err(FsError::Outside | FsError::Escapes) => return Err(self.named.leads_out(shown)),
            Err(error) => return Err(PathError::of_place(shown, &error)),
        };
        // A link may lead to a name that no client may be told.
        let led = led.to_str().ok_or(PathError::IllegalCharacters(label))?;
        check_directory(led, label, &self.named)
    }

    /// The roots as they lie on this machine.
    pub(super) fn here(&self) -> qm_confined::Roots {
        self.here.clone()
    }

    /// Judges the local directories of mappings, which are kept as they lead. Faults of the mappings are found first.
    pub async fn judge_mappings(
        &self,
        mappings: Vec<PathMapping>,
    ) -> Result<Vec<PathMapping>, TorrentsError> {
        PathMappings::read(&mappings).map_err(TorrentsError::Fields)?;
        let mut judged = Vec::with_capacity(mappings.len());
        let mut faults = Vec::new();
        for (number, mapping) in mappings.into_iter().enumerate() {
            match self.judge(&mapping.local, "local path").await {
                Ok(local) => judged.push(PathMapping { local, ..mapping }),
                Err(error) if error.kind() == ErrorKind::Unavailable => return Err(error.into()),
                Err(error) => faults.push(format!("pathMappings.{number}.local: {error}")),
            }
        }
        if faults.is_empty() {
            // Two of them may lead to one directory.
            PathMappings::read(&judged).map_err(TorrentsError::Fields)?;
            Ok(judged)
        } else {
            Err(TorrentsError::Fields(faults))
        }
    }

    /// Judges again what a client is about to be told.
    pub async fn judge_command(&self, command: Command) -> Result<Command, PathError> {
        Ok(match command {
            Command::Move { destination } => Command::Move {
                destination: self.judge(&destination, "destination").await?,
            },
            Command::Attach { save_path } => Command::Attach {
                save_path: self.judge(&save_path, "save path").await?,
            },
            Command::DownloadPath(Some(path)) => {
                Command::DownloadPath(Some(self.judge(&path, "download path").await?))
            }
            other => other,
        })
    }
}

impl TorrentData {
    /// True if two paths mean one directory: a client that saves to one of them saves to the other.
    pub(super) async fn is_same_place(&self, path: &str, judged: &str) -> bool {
        normalised(path) == judged
            || (self.places.judge(path, "save path").await).is_ok_and(|meant| meant == judged)
    }
}
