//! Health of the libraries: counts of their items, and problems that keep them from working in full.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use qm_media::LibraryError;
use qm_media::lanes::LOOKS;
use qm_media::model::library::MediaLibrary;
use qm_media::model::view::Health;
use qm_media::ops::reach::Reach;
use qm_media::repo;

use super::Scanner;

/// Age up to which an item counts as recent.
const RECENT: Duration = Duration::from_hours(7 * 24);

/// Most libraries that are named in one list of problems.
const MOST_NAMED: usize = 50;
/// Time limit on looking at the directories of libraries.
const PATIENCE: Duration = Duration::from_secs(3);

impl Scanner {
    pub async fn health(&self) -> Result<Health, LibraryError> {
        let mut problems: Vec<String> = self.probing.problem().into_iter().collect();
        problems.extend(self.places_missing().await?);
        problems.extend(self.watches_degraded().await?);
        let duplicate_groups = match self.catalogue.beside().groups() {
            Some(groups) => groups.count_groups().await?,
            None => 0,
        };
        let mut tx = self.db.begin_read().await?;
        Ok(Health {
            duplicate_groups,
            counts: repo::lists::counts(&mut tx, self.ctx.now().minus(RECENT)).await?,
            failed_jobs: self.jobs.failed(&mut tx, "media_manager").await?,
            problems,
        })
    }

    /// Problems of libraries whose directories are missing, each with the way out.
    async fn places_missing(&self) -> Result<Vec<String>, LibraryError> {
        let libraries = self.list().await?;
        let looked: Vec<(String, String)> = libraries
            .into_iter()
            .filter(|library| library.is_enabled)
            .map(|library| (library.name, library.path))
            .collect();
        if looked.is_empty() {
            return Ok(Vec::new());
        }
        let looking = LOOKS.run(move |cancel| {
            let missing = looked.into_iter().take_while(|_| !cancel.is_set());
            let missing = missing.filter(|(_, path)| Reach::open(Path::new(path)).is_err());
            let told = missing.map(|(name, path)| {
                format!(
                    "The directory {path} of library `{name}` cannot be opened: mount its disk, or name another directory"
                )
            });
            told.take(MOST_NAMED).collect::<Vec<_>>()
        });
        // A disk that hangs must not block the health report.
        match tokio::time::timeout(PATIENCE, looking).await {
            Ok(told) => Ok(told?),
            Err(_) => Ok(vec![
                "The directories of libraries do not answer: a disk of theirs may hang".to_owned(),
            ]),
        }
    }

    /// Libraries that should be watched and are not, each with the reason.
    async fn watches_degraded(&self) -> Result<Vec<String>, LibraryError> {
        let states = self.watch_status().await?;
        let degraded = states.into_iter().filter_map(|(library, state)| {
            let why = state.degraded?;
            Some(format!("Library `{}` is not watched: {why}", library.name))
        });
        Ok(degraded.take(MOST_NAMED).collect())
    }

    /// Every library with the number of its items, the oldest first.
    pub async fn counted(&self) -> Result<Vec<(MediaLibrary, i64)>, LibraryError> {
        let mut tx = self.db.begin_read().await?;
        let counts: HashMap<String, i64> = repo::libraries::item_counts(&mut tx).await?.into_iter().collect();
        let libraries = repo::libraries::all(&mut tx).await?.into_iter().map(|library| {
            let count = counts.get(&library.id).copied().unwrap_or(0);
            (library, count)
        });
        Ok(libraries.collect())
    }
}
