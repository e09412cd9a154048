//! Naming of items by the rules of their library: for the rules of automation, and for the library itself.

use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use qm_kernel::Requester;
use qm_ports::shelves::{Shelf, ShelfItem};
use qm_rename_plan::{KnownShow, Mode};

use super::apply::{Order, list_tasks};
use super::organize::{MAX_ITEMS, is_release, top_folder};
use super::{RENAME_JOB, Rename};
use crate::error::RenameError;
use crate::model::request::{Named, Prepared};
use crate::model::run::{MAX_PROBLEMS, Outcome, Status, Task};
use crate::ops::step::AT_DESTINATION;

/// Manner in which items are named.
#[derive(Clone, Debug, Default)]
pub struct Manner {
    /// Mode in place of the library's.
    pub mode: Option<Mode>,
    /// Torrent that the files come from, for the history.
    pub torrent_hash: Option<String>,
}

impl Rename {
    /// Names one item.
    pub async fn rename_item(
        self: &Arc<Self>,
        requester: &Requester,
        item_id: &str,
        manner: Manner,
    ) -> Result<Named, RenameError> {
        self.check_caller(requester).await?;
        let mut found = self.shelves.find_items(&[item_id.to_owned()]).await?;
        let found = found.pop().ok_or(RenameError::NoSuchItem)?;
        if found.is_locked {
            return Err(RenameError::ItemLocked);
        }
        let shelf = self.find_shelf(&found.library_id).await?;
        self.rename_some(requester, &shelf, vec![found.item], manner)
            .await
    }

    /// Names the unlocked ones of these items of a library, as one run.
    pub async fn rename_items(
        self: &Arc<Self>,
        requester: &Requester,
        library_id: &str,
        item_ids: &[String],
        manner: Manner,
    ) -> Result<Named, RenameError> {
        self.check_caller(requester).await?;
        let shelf = self.find_shelf(library_id).await?;
        let found = self.shelves.find_items(item_ids).await?.into_iter();
        let free = found.filter(|found| !found.is_locked && found.library_id == shelf.id);
        let items = free.map(|found| found.item).collect();
        self.rename_some(requester, &shelf, items, manner).await
    }

    /// Names all unlocked items of a library: [`MAX_ITEMS`] a run.
    pub async fn rename_library(
        self: &Arc<Self>,
        requester: &Requester,
        library_id: &str,
        manner: Manner,
    ) -> Result<Named, RenameError> {
        self.check_caller(requester).await?;
        let shelf = self.find_shelf(library_id).await?;
        let (mut named, mut after) = (Named::default(), None::<String>);
        loop {
            let items = self
                .shelves
                .list_items(&shelf.id, after.as_deref(), MAX_ITEMS)
                .await?;
            let Some(last) = items.last() else {
                return Ok(named);
            };
            after = Some(last.id.clone());
            let is_last = items.len() < MAX_ITEMS;
            named.add(self.rename_some(requester, &shelf, items, manner.clone()).await?);
            if is_last || named.is_cancelled {
                return Ok(named);
            }
        }
    }

    async fn find_shelf(&self, library_id: &str) -> Result<Shelf, RenameError> {
        let shelf = self.shelves.find_shelf_by_id(library_id).await?;
        shelf.ok_or(RenameError::NoSuchLibrary)
    }

    /// Names items of a library, as one run.
    async fn rename_some(
        self: &Arc<Self>,
        requester: &Requester,
        shelf: &Shelf,
        mut items: Vec<ShelfItem>,
        manner: Manner,
    ) -> Result<Named, RenameError> {
        let mode = manner.mode.or_else(|| Mode::from_word(&shelf.mode));
        let mode = mode
            .filter(|mode| *mode != Mode::Preview)
            .unwrap_or(Mode::Hardlink);
        let (base, shows) = self.find_wish(shelf, mode).await?;
        // A download right in the library looks like a show of its own.
        let is_own = |folder: &str| !is_release(folder);
        let all = shows.iter().filter(|(folder, _)| is_own(folder));
        let mut all: Vec<KnownShow> = all.flat_map(|(_, shows)| shows).cloned().collect();
        all.sort_by(|one, other| one.folder.cmp(&other.folder));
        // A file that may travel with two of them travels with the one whose name says more of it.
        items.sort_by_key(|item| Reverse(item.path.len()));
        let (mut collected, mut library) = (Collected::default(), shelf.path.clone());
        for item in &items {
            let own = top_folder(shelf, &item.path).filter(|folder| is_own(folder));
            let own = own.and_then(|folder| shows.get(&folder));
            let known = own.unwrap_or(&all).clone();
            let planned = self.plan_item(shelf, &base, known, item).await?;
            let prepared = planned.map(|(prepared, real)| {
                library = real;
                prepared
            });
            collected.add(item, prepared);
        }
        if collected.tasks.is_empty() {
            return Ok(collected.into_named(&items, None));
        }
        let only = match items.as_slice() {
            [only] => Some(only.id.clone()),
            _ => None,
        };
        let order = Order {
            library,
            mode,
            tasks: std::mem::take(&mut collected.tasks),
            outcome: std::mem::take(&mut collected.outcome),
            given: None,
            torrent_hash: manner.torrent_hash.map(|hash| hash.to_ascii_lowercase()),
            label: None,
            job: RENAME_JOB,
            about: (Some(shelf.id.clone()), only),
        };
        let (_, outcome) = self.run(requester, order).await?;
        Ok(collected.into_named(&items, Some(&outcome)))
    }
}

/// Steps of many items, and whose they are.
#[derive(Default)]
struct Collected {
    tasks: Vec<Task>,
    outcome: Outcome,
    /// Ids of items by the sources of their steps.
    owners: HashMap<String, String>,
    /// Reasons by the ids of items that keep a name.
    failed: BTreeMap<String, String>,
}

impl Collected {
    fn add(&mut self, item: &ShelfItem, prepared: Option<Prepared>) {
        let Some(prepared) = prepared else {
            self.outcome.skipped += 1;
            self.fail(&item.id, "its file is not there, or cannot be read");
            return;
        };
        let name = Path::new(&item.path).file_name();
        let mut planned = prepared.planned.plan.items.iter();
        let own = planned.find(|one| Path::new(&one.source).file_name() == name);
        if let Some(own) = own.filter(|own| own.is_skipped()) {
            self.fail(&item.id, &own.reason);
        }
        let (tasks, counted) = list_tasks(&prepared);
        self.outcome.skipped += counted.skipped;
        for problem in counted.problems {
            self.fail(&item.id, &problem.message);
            if self.outcome.problems.len() < MAX_PROBLEMS {
                self.outcome.problems.push(problem);
            }
        }
        for task in tasks {
            let source = task.step.source.to_string_lossy().into_owned();
            if let Entry::Vacant(free) = self.owners.entry(source) {
                free.insert(item.id.clone());
                self.tasks.push(task);
            }
        }
    }

    fn fail(&mut self, id: &str, why: &str) {
        self.failed.entry(id.to_owned()).or_insert_with(|| why.to_owned());
    }

    /// Result for each item. `outcome`: that of the run, if there was anything to do.
    fn into_named(mut self, items: &[ShelfItem], outcome: Option<&Outcome>) -> Named {
        let mut renamed = BTreeSet::new();
        if let Some(outcome) = outcome {
            // Those with something to do, of which nothing else is told.
            renamed.extend(self.owners.values().cloned());
            for problem in &outcome.problems {
                if let Some(owner) = self.owners.get(&problem.source) {
                    renamed.remove(owner);
                }
            }
            for (from, _) in &outcome.moved {
                renamed.extend(self.owners.get(&*from.to_string_lossy()).cloned());
            }
            for problem in &outcome.problems {
                let is_there = problem.status == Status::Skipped && problem.message == AT_DESTINATION;
                if let Some(owner) = self.owners.get(&problem.source).filter(|_| !is_there).cloned() {
                    self.fail(&owner, &problem.message);
                }
            }
            // Not every file that stays is named then.
            let unsure = match (outcome.is_cancelled, outcome.problems.len() >= MAX_PROBLEMS) {
                (true, _) => Some("the rename was cancelled"),
                (false, true) => Some("too many files could not be renamed"),
                (false, false) => None,
            };
            if let Some(why) = unsure {
                let moved = outcome.moved.iter();
                let moved = moved.filter_map(|(from, _)| self.owners.get(&*from.to_string_lossy()));
                let moved: BTreeSet<String> = moved.cloned().collect();
                for item in items.iter().filter(|item| !moved.contains(&item.id)) {
                    self.fail(&item.id, why);
                }
                renamed = moved;
            }
        }
        let ids = items.iter().map(|item| &item.id);
        Named {
            items: items.len() as u64,
            applied: outcome.map_or(0, |outcome| outcome.applied),
            settled: ids.filter(|id| !self.failed.contains_key(*id)).cloned().collect(),
            renamed: renamed.into_iter().collect(),
            failed: self.failed.into_iter().collect(),
            is_cancelled: outcome.is_some_and(|outcome| outcome.is_cancelled),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancelled_run_names_no_further_item() {
        let items = [ShelfItem {
            id: "a".to_owned(),
            ..ShelfItem::default()
        }];
        let cancelled = Outcome {
            is_cancelled: true,
            ..Outcome::default()
        };
        let mut named = Named::default();
        named.add(Collected::default().into_named(&items, Some(&cancelled)));
        named.add(Collected::default().into_named(&items, None));
        assert!(named.is_cancelled, "the run of the next items would go on");
        assert_eq!((named.settled.len(), named.failed.len()), (1, 1), "{named:?}");
    }
}
