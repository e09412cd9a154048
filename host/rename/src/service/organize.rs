//! Naming of the episodes of a library that lie in no folder of a season.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use qm_kernel::Requester;
use qm_media_names::Kind;
use qm_media_names::naming::season::season;
use qm_ports::shelves::{Shelf, ShelfItem};
use qm_rename_plan::{Action, KnownShow, Mode, Wish};

use super::apply::{Order, list_tasks};
use super::{ORGANIZE_JOB, Rename};
use crate::error::RenameError;
use crate::model::request::{Going, Organized, Prepared};
use crate::model::run::{Outcome, moves};

/// Most items that are looked at.
pub(super) const MAX_ITEMS: usize = 20_000;

impl Rename {
    /// Names the episodes of a library, or tells how they would be named.
    pub async fn organize(
        self: &Arc<Self>,
        requester: &Requester,
        library_id: &str,
        is_dry: bool,
    ) -> Result<Organized, RenameError> {
        self.check_caller(requester).await?;
        let shelf = self.shelves.find_shelf_by_id(library_id).await?;
        let shelf = shelf.ok_or(RenameError::NoSuchLibrary)?;
        let mode = Mode::from_word(&shelf.mode).unwrap_or_default();
        let mut organized = Organized {
            library_id: shelf.id.clone(),
            mode: shelf.mode.clone(),
            is_eligible: shelf.auto_organize && moves(mode),
            is_dry,
            ..Organized::default()
        };
        if !organized.is_eligible {
            return Ok(organized);
        }
        let items = self.shelves.list_episodes(&shelf.id, MAX_ITEMS).await?;
        let (base, shows) = self.find_wish(&shelf, mode).await?;
        let (mut tasks, mut outcome) = (Vec::new(), Outcome::default());
        // As plans have it.
        let mut library = shelf.path.clone();
        for item in items.iter().filter(|item| !is_in_season(&shelf, &item.path)) {
            // A file that would come to another show stays, so that no other one has to be known.
            let known = top_folder(&shelf, &item.path)
                .and_then(|folder| shows.get(&folder).cloned())
                .unwrap_or_default();
            let Some((prepared, real)) = self.plan_item(&shelf, &base, known, item).await? else {
                outcome.skipped += 1;
                continue;
            };
            library = real;
            let (planned, counted) = list_tasks(&prepared);
            let is_reviewed = planned.iter().any(|task| {
                let to = task.step.destination.as_deref();
                to.is_some_and(|to| changes_show(&shelf, &task.step.source, to))
            });
            for task in &planned {
                let text = |path: &Path| path.to_string_lossy().into_owned();
                let going = Going {
                    item_id: item.id.clone(),
                    from: text(&task.step.source),
                    to: task.step.destination.as_deref().map(text),
                };
                match (is_reviewed, task.step.action) {
                    (true, _) => organized.needs_review.push(going),
                    (false, Action::Delete) => organized.deletes.push(going),
                    (false, _) => organized.moves.push(going),
                }
            }
            if is_reviewed {
                outcome.skipped += planned.len() as u64;
            } else {
                tasks.extend(planned);
                outcome.skipped += counted.skipped;
            }
        }
        organized.outcome = outcome;
        if is_dry || tasks.is_empty() {
            return Ok(organized);
        }
        let order = Order {
            library,
            mode,
            tasks,
            outcome: std::mem::take(&mut organized.outcome),
            given: None,
            torrent_hash: None,
            label: None,
            job: ORGANIZE_JOB,
            about: (Some(shelf.id.clone()), None),
        };
        let (run_id, outcome) = self.run(requester, order).await?;
        organized.run_id = Some(run_id);
        organized.outcome = outcome;
        Ok(organized)
    }
}

/// Shows of a library by their first folders.
pub(super) type Shows = HashMap<String, Vec<KnownShow>>;

impl Rename {
    /// Plan for the file of an item, as if it were named alone, and the path of its library as the plan has it; `None`: the file
    /// went away, or cannot be read.
    pub(super) async fn plan_item(
        &self,
        shelf: &Shelf,
        base: &Wish,
        shows: Vec<KnownShow>,
        item: &ShelfItem,
    ) -> Result<Option<(Prepared, String)>, RenameError> {
        let found = match self.find_at(item.path.clone(), shelf.path.clone()).await {
            Ok(found) => found,
            Err(
                RenameError::NoSuchPath | RenameError::Path(_) | RenameError::Outside | RenameError::Base(_),
            ) => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut wish = base.clone();
        let library = found.library.clone();
        wish.library.clone_from(&library);
        wish.source_name = Some(source_name(item));
        wish.shows = shows;
        let (planned, known) = self.plan_found(wish, found, shelf.preset.clone()).await?;
        let prepared = Prepared {
            planned,
            known,
            given: None,
        };
        Ok(Some((prepared, library)))
    }

    /// Wish of a library without its shows, and these.
    pub(super) async fn find_wish(&self, shelf: &Shelf, mode: Mode) -> Result<(Wish, Shows), RenameError> {
        let mut wish = self.new_wish(&shelf.preset, shelf.template.as_deref()).await?;
        wish.mode = mode;
        wish.kind = Kind::from_word(&shelf.kind);
        wish.cleanup = self.find_cleanup().await?.to_plan();
        let mut shows = Shows::new();
        for show in self.shelves.list_shows(&shelf.id).await? {
            let top = show.folder.split('/').next().unwrap_or_default().to_owned();
            shows.entry(top).or_default().push(KnownShow {
                title: show.title,
                year: show.year,
                folder: show.folder,
            });
        }
        Ok((wish, shows))
    }
}

/// Name that says what an item is.
fn source_name(item: &ShelfItem) -> String {
    let name = item.path.rsplit('/').next().unwrap_or_default();
    match item.year {
        Some(year) => format!("{} ({year}) {name}", item.title),
        None => format!("{} {name}", item.title),
    }
}

/// First folder of a file below its library.
pub(super) fn top_folder(shelf: &Shelf, path: &str) -> Option<String> {
    let below = Path::new(path).strip_prefix(&shelf.path).ok()?;
    Some(below.iter().next()?.to_string_lossy().into_owned())
}

/// True if the folder of a file names a season. One that is a release besides holds what is to be named.
fn is_in_season(shelf: &Shelf, path: &str) -> bool {
    let below = Path::new(path).strip_prefix(&shelf.path).ok();
    let folder = below.and_then(Path::parent).and_then(Path::file_name);
    folder.is_some_and(|folder| {
        let name = folder.to_string_lossy();
        !is_release(&name) && season(&name).is_some()
    })
}

/// True for the name of a folder as releases have it.
pub(super) fn is_release(name: &str) -> bool {
    let read = qm_release::parse(name);
    read.resolution.is_some() || read.source.is_some() || read.codec.is_some()
}

/// True if a file would go to another first folder of the library, or lies in none.
fn changes_show(shelf: &Shelf, from: &Path, to: &Path) -> bool {
    let top = |path: &Path| {
        let below = path.strip_prefix(&shelf.path).ok()?.to_owned();
        let mut names = below.iter();
        let first = names.next()?.to_owned();
        names.next().map(|_| first)
    };
    match (top(from), top(to)) {
        (Some(from), Some(to)) => from != to,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loose_episodes_that_keep_their_show_go_by_themselves() {
        let shelf = Shelf {
            path: "/m/tv".to_owned(),
            ..Shelf::default()
        };
        assert!(is_in_season(&shelf, "/m/tv/Show/Season 1/a.mkv"));
        assert!(!is_in_season(&shelf, "/m/tv/Show/a.mkv") && !is_in_season(&shelf, "/m/tv/a.mkv"));
        assert!(!is_in_season(&shelf, "/m/tv/Show/Show.S01.1080p.WEB-DL/a.mkv"));
        let changes = |from: &str, to: &str| changes_show(&shelf, Path::new(from), Path::new(to));
        assert!(!changes("/m/tv/Show/a.mkv", "/m/tv/Show/Season 1/a.mkv"));
        assert!(changes("/m/tv/show/a.mkv", "/m/tv/Show/Season 1/a.mkv"));
        assert!(changes("/m/tv/a.mkv", "/m/tv/Show/Season 1/a.mkv"));
    }
}
