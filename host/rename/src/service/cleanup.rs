//! Files that a run deletes, and folders that it leaves empty.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use qm_file_operations::Control;
use qm_rename_plan::Action;

use super::Rename;
use super::carry::{Broken, Carrier};
use super::seeding::Removed;
use crate::error::RenameError;
use crate::lanes::{LOOKS, MOVES};
use crate::model::Cleanup;
use crate::model::run::{Outcome, Step, Task};
use crate::ops::leftovers::{find_leftovers, is_release_folder, prune};

/// Most folders that are searched after a run.
const MAX_FOLDERS: usize = 500;

impl Carrier<'_> {
    /// Deletes what the plan says and what is of no use any more, except for what torrents use.
    pub async fn clean_up(
        &mut self,
        deletions: Vec<Task>,
        wishes: &Cleanup,
        removed: &[Removed],
        outcome: &mut Outcome,
    ) -> Result<(), Broken> {
        let planned: HashSet<PathBuf> = deletions.iter().map(|task| task.step.source.clone()).collect();
        let deletions = self.app.spare_used(deletions, removed, outcome);
        self.carry(deletions, outcome).await?;
        if !wishes.enabled || outcome.is_cancelled || outcome.moved.is_empty() {
            return Ok(());
        }
        let folders = self.app.find_left_folders(outcome).await?;
        let (roots, patterns, token) = (self.app.roots.clone(), wishes.clone(), self.token.clone());
        let searched = folders.clone();
        let searching = LOOKS.run(move |_| {
            let control = Control::quiet(token);
            let found = searched
                .iter()
                .filter_map(|folder| find_leftovers(&roots, folder, &patterns, &control).ok());
            found.flatten().collect::<Vec<_>>()
        });
        let leftovers = searching.await.map_err(RenameError::from)?;
        // What the plan named is deleted, or was spared.
        let leftovers = leftovers.into_iter().filter(|(path, _)| !planned.contains(path));
        let tasks = leftovers.map(|(source, fact)| Task {
            step: Step {
                action: Action::Delete,
                source,
                destination: None,
                fact,
            },
            kind: "general",
        });
        let tasks = self.app.spare_used(tasks.collect(), removed, outcome);
        self.carry(tasks, outcome).await?;
        if wishes.prune_empty_dirs && !outcome.is_cancelled {
            let (roots, token) = (self.app.roots.clone(), self.token.clone());
            let pruning = MOVES.run(move |_| {
                let control = Control::quiet(token);
                for folder in &folders {
                    // A folder that is gone, or cannot be read, stays as it is.
                    let _ = prune(&roots, folder, &control);
                }
            });
            pruning.await.map_err(RenameError::from)?;
        }
        Ok(())
    }
}

impl Rename {
    /// Folders of releases that files have left; never a root, and never a library.
    async fn find_left_folders(&self, outcome: &Outcome) -> Result<Vec<PathBuf>, RenameError> {
        let roots = self.roots.paths();
        let mut folders: Vec<PathBuf> = Self::folders_of(outcome)
            .into_iter()
            .filter(|folder| is_release_folder(folder))
            .filter(|folder| !roots.iter().any(|root| Path::new(root).starts_with(folder)))
            .take(MAX_FOLDERS)
            .collect();
        folders.sort();
        let mut found = Vec::with_capacity(folders.len());
        for folder in folders {
            let shelf = self.shelves.find_shelf(&folder.to_string_lossy()).await?;
            if shelf.is_none() {
                found.push(folder);
            }
        }
        Ok(found)
    }
}
