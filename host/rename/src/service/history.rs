//! History of renames.

use std::collections::BTreeSet;
use std::path::Path;

use qm_kernel::PageQuery;

use super::Rename;
use crate::error::RenameError;
use crate::model::run::{Operation, Undoable};
use crate::repo::history as repo;

/// Newest steps among which runs are looked for.
const NEWEST: i64 = 4_000;
const MAX_RUNS: i64 = 20;
const MAX_OPERATIONS: i64 = 500;
/// Most files of an item whose history is looked for.
const MAX_FILES: usize = 16;
/// Most steps about one file.
const MAX_ABOUT: i64 = 2_000;

impl Rename {
    /// The newest runs with something to undo.
    pub async fn list_undoable(&self) -> Result<Vec<Undoable>, RenameError> {
        let mut tx = self.ground.db.begin_read().await?;
        Ok(repo::undoable(&mut tx, NEWEST, MAX_RUNS).await?)
    }

    /// The first steps of a run, and the number of all.
    pub async fn list_steps(&self, run_id: &str) -> Result<(Vec<Operation>, u64), RenameError> {
        let mut tx = self.ground.db.begin_read().await?;
        Ok(repo::of_run(&mut tx, run_id, MAX_OPERATIONS).await?)
    }

    /// A page of all steps, or of those about an item's files and their folders, the newest first.
    pub async fn list_history(
        &self,
        item_id: Option<&str>,
        page: PageQuery,
    ) -> Result<(Vec<Operation>, u64), RenameError> {
        let Some(item_id) = item_id else {
            let mut tx = self.ground.db.begin_read().await?;
            return Ok(repo::page(&mut tx, page).await?);
        };
        let files = self.shelves.list_item_files(item_id).await?.unwrap_or_default();
        let mut tx = self.ground.db.begin_read().await?;
        let mut ids: BTreeSet<String> = BTreeSet::new();
        for file in files.iter().take(MAX_FILES) {
            let path = Path::new(file);
            let (Some(folder), Some(stem)) = (path.parent(), path.file_stem()) else {
                continue;
            };
            // The file, and what travels with it: their paths begin with its path without the ending.
            let first = folder.join(stem).to_string_lossy().into_owned();
            ids.extend(repo::about(&mut tx, &first, &behind(&first), MAX_ABOUT).await?);
            ids.extend(repo::about_path(&mut tx, &folder.to_string_lossy(), MAX_ABOUT).await?);
        }
        let total = ids.len() as u64;
        let skipped = usize::try_from(page.offset()).unwrap_or(usize::MAX);
        let most = usize::try_from(page.page_size).unwrap_or(usize::MAX);
        let ids: Vec<String> = ids.into_iter().rev().skip(skipped).take(most).collect();
        Ok((repo::named(&mut tx, &ids).await?, total))
    }
}

/// A text behind every text that begins so.
fn behind(text: &str) -> String {
    format!("{text}\u{10ffff}")
}
