//! Finds what of a folder may go, and removes what is chosen, and nothing that lies in it.
//! Bounds: a folder of at most [`MAX_ENTRIES`] entries is looked through, [`MAX_DEPTH`] deep; what is found takes at most
//! [`MAX_FOUND_BYTES`].

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use serde_json::json;

use super::browse::sha256;
use super::delete::{Deleted, Manner};
use super::operations::{Operation, Outcome, Subject};
use super::tell::Fact;
use super::{Files, Looker};
use crate::dto::choices::{CleanupRun, CleanupScan};
use crate::dto::requests::WirePath;
use crate::dto::reviews::{CleanupGroup, CleanupItem, CleanupPreview, CleanupResult};
use crate::error::FilesError;
use crate::model::cleanup::{Category, after_duplicates, before_duplicates, is_video};
use qm_confined::{Base, Component, ConfinedPath, FsError, Intent, Kind, RelPath};
use qm_file_operations::{self as ops, Control, Lane, Visit};
use qm_kernel::Requester;

const MAX_ENTRIES: usize = 1_000_000;
/// Deeper than honest trees are; what lies below stays, and so do the folders above it.
const MAX_DEPTH: usize = 256;
/// Every finding carries its whole path, however long.
const MAX_FOUND_BYTES: usize = 512 * 1024 * 1024;
/// Approximate memory of one path component besides its text, in bytes.
const COMPONENT_BYTES: usize = 48;
const REASON: &str = "cleanup";
/// Reason shown for a folder that holds nothing but items found by the cleanup.
const EMPTY_THEN: &str = "Empty once all that is listed in it has been removed";

impl Files {
    pub async fn cleanup_preview(
        &self,
        body: CleanupScan,
        looker: &Looker,
    ) -> Result<CleanupPreview, FilesError> {
        let rel = body.path.rel()?;
        let wanted: HashSet<Category> = match body.categories {
            Some(categories) => categories.into_iter().collect(),
            None => Category::ALL.into_iter().collect(),
        };
        self.look(Lane::Walk(looker.user()), looker, move |base, control| {
            let root = folder(base, &rel)?;
            let mut tree = Tree::read(&root, control)?;
            let mut found = Findings::default();
            tree.judge_files(base, &wanted, &mut found, control)?;
            if wanted.contains(&Category::EmptyFolders) {
                tree.empty_folders(base, &mut found, control)?;
            }
            Ok(preview(rel.text(), found.items))
        })
        .await
    }

    pub async fn cleanup(&self, caller: &Requester, body: CleanupRun) -> Result<CleanupResult, FilesError> {
        let rel = body.path.rel()?;
        let shown = rel.text();
        let within = self
            .on_disk(Lane::Quick, move |base| Ok(folder(base, &rel)?.absolute()))
            .await?;
        let subject = Subject {
            operation: "cleanup",
            source: Some(shown.clone()),
            destination: None,
        };
        let operation = self.operations.begin(caller, subject).await?;
        let mut result = CleanupResult {
            removed: 0,
            failed: 0,
            bytes_reclaimed: 0,
            mode: if body.permanent { "permanent" } else { "trash" },
        };
        let mut paths: Vec<&WirePath> = body.paths.iter().collect();
        // What lies in a folder goes before the folder.
        paths
            .sort_by_cached_key(|path| std::cmp::Reverse(path.rel().map_or(0, |rel| rel.components().len())));
        for path in paths {
            match self
                .clean(caller, path, &within, body.permanent, &operation)
                .await
            {
                Ok(deleted) => {
                    result.removed += 1;
                    result.bytes_reclaimed += deleted.bytes;
                }
                Err(error) => {
                    let error = error.to_string();
                    tracing::debug!(path = path.as_given(), error, "an item was not cleaned up");
                    result.failed += 1;
                }
            }
        }
        let metadata = json!({
            "removed": result.removed,
            "failed": result.failed,
            "bytesReclaimed": result.bytes_reclaimed,
            "mode": result.mode,
            "requested": body.paths.len(),
        });
        let fact = Fact {
            object_type: Some("folder"),
            ..Fact::file("file.cleanup_execute", shown.clone(), metadata)
        };
        self.audit_alone(caller, fact.failure_if(result.failed > 0), None)
            .await;
        if result.removed > 0 && !body.permanent {
            self.trash_swept("added", result.removed);
        }
        operation.end_batch(&Outcome {
            item_count: Some(result.removed),
            bytes: Some(result.bytes_reclaimed),
            failure: (result.failed > 0).then(|| format!("{} of {} failed", result.failed, body.paths.len())),
            code: None,
        });
        self.cleaned_up(&shown, &result);
        Ok(result)
    }

    async fn clean(
        &self,
        caller: &Requester,
        path: &WirePath,
        within: &std::path::Path,
        permanent: bool,
        operation: &Operation,
    ) -> Result<Deleted, FilesError> {
        if operation.is_cancelled() {
            return Err(FsError::Cancelled.into());
        }
        let (rel, within) = (path.rel()?, within.to_path_buf());
        let item = self
            .on_disk(Lane::Quick, move |base| {
                let item = base.resolve(&rel, Intent::Change)?;
                if !item.absolute().starts_with(&within) {
                    return Err(FilesError::OutsideCleanup);
                }
                // Exactly what was chosen goes: of a folder nothing but itself.
                if item.meta()?.is_dir() && entries(&item) != Some(0) {
                    return Err(FsError::NotEmpty(item.rel().text()).into());
                }
                Ok(item)
            })
            .await?;
        let manner = Manner {
            permanent,
            reason: Some(REASON),
            only_empty: true,
            ..Manner::default()
        };
        self.delete_resolved(caller, item, manner, operation).await
    }
}

fn folder(base: &Base, rel: &RelPath) -> Result<ConfinedPath, FilesError> {
    let item = match base.resolve(rel, Intent::Read) {
        Ok(item) => item,
        Err(FsError::NotFound(_) | FsError::NotADirectory(_)) => return Err(FilesError::CleansNoDirectory),
        Err(other) => return Err(other.into()),
    };
    if item.meta()?.is_dir() {
        Ok(item)
    } else {
        Err(FilesError::CleansNoDirectory)
    }
}

/// Something that may go.
struct Finding {
    rel: RelPath,
    category: Category,
    is_directory: bool,
    size: u64,
    reason: String,
}

#[derive(Default)]
struct Findings {
    items: Vec<Finding>,
    bytes: usize,
}

impl Findings {
    fn add(&mut self, finding: Finding, root: &RelPath) -> Result<(), FilesError> {
        let names = finding.rel.components().iter();
        let path: usize = names.map(|name| name.as_bytes().len() + COMPONENT_BYTES).sum();
        self.bytes += path + finding.reason.len();
        if self.bytes > MAX_FOUND_BYTES {
            return Err(FilesError::TooLarge(root.text()));
        }
        self.items.push(finding);
        Ok(())
    }
}

/// A folder, read.
struct Tree {
    root: RelPath,
    /// The folder itself first, each before what is in it.
    dirs: Vec<Directory>,
    files: Vec<Leaf>,
    /// The walk was given up.
    too_large: bool,
}

struct Directory {
    /// Index of the parent directory, and the name; `None` for the folder itself. Whole paths are built only when needed: kept
    /// for all, those of a deep tree would take more memory than there is.
    place: Option<(usize, Component)>,
    /// Below the folder itself.
    depth: usize,
    /// Entries seen in it, and how many of them may go.
    entries: usize,
    may_go: usize,
    /// True when all its contents were walked.
    complete: bool,
    has_video: bool,
}

struct Leaf {
    directory: usize,
    name: Component,
    size: u64,
}

impl Tree {
    fn read(root: &ConfinedPath, control: &Control) -> Result<Self, FilesError> {
        let mut tree = Tree {
            root: root.rel().clone(),
            dirs: vec![Directory::new(None, 0)],
            files: Vec::new(),
            too_large: false,
        };
        let mut way = vec![0];
        let mut look = |visit: Visit<'_>| tree.note(&mut way, &visit);
        let walked = ops::visit(root, control, &mut look);
        if tree.too_large {
            return Err(FilesError::TooLarge(root.rel().text()));
        }
        walked?;
        // The order of a walk is the file system's; that of a preview is not to change from one to the next.
        let ranks = tree.ranks();
        tree.files
            .sort_by(|a, b| (ranks[a.directory], &a.name).cmp(&(ranks[b.directory], &b.name)));
        Ok(tree)
    }

    fn note(&mut self, way: &mut Vec<usize>, visit: &Visit<'_>) -> Result<ControlFlow<()>, FsError> {
        let (Visit::Enter(found) | Visit::Item(found) | Visit::Leave(found)) = visit;
        let depth = found.directory().components().len() - self.root.components().len();
        if let Visit::Leave(_) = visit {
            while let Some(index) = way.pop() {
                if self.dirs[index].depth == depth + 1 {
                    self.dirs[index].complete = true;
                    break;
                }
            }
            return Ok(ControlFlow::Continue(()));
        }
        // A directory that could not be entered after all is never left.
        while way.last().is_some_and(|index| self.dirs[*index].depth > depth) {
            way.pop();
        }
        let Some(&here) = way.last() else {
            return Ok(ControlFlow::Continue(()));
        };
        if self.dirs.len() + self.files.len() >= MAX_ENTRIES {
            self.too_large = true;
            return Err(FsError::Cancelled);
        }
        self.dirs[here].entries += 1;
        if let Visit::Enter(_) = visit {
            if depth >= MAX_DEPTH {
                return Ok(ControlFlow::Break(()));
            }
            way.push(self.dirs.len());
            let place = (here, found.name().clone());
            self.dirs.push(Directory::new(Some(place), depth + 1));
        } else if found.kind == Kind::File
            && let Ok(meta) = found.meta()
        {
            self.dirs[here].has_video |= is_video(&found.name().text());
            self.files.push(Leaf {
                directory: here,
                name: found.name().clone(),
                size: meta.size,
            });
        }
        Ok(ControlFlow::Continue(()))
    }

    fn rel(&self, directory: usize) -> RelPath {
        let mut names = Vec::new();
        let mut at = directory;
        while let Some((above, name)) = &self.dirs[at].place {
            names.push(name);
            at = *above;
        }
        names.into_iter().rev().fold(self.root.clone(), |mut rel, name| {
            rel.push(name.clone());
            rel
        })
    }

    fn file(&self, index: usize) -> RelPath {
        let leaf = &self.files[index];
        self.rel(leaf.directory).join(&leaf.name)
    }

    /// The place of each directory in the order of their paths.
    fn ranks(&self) -> Vec<usize> {
        let mut inside: Vec<Vec<(&Component, usize)>> = vec![Vec::new(); self.dirs.len()];
        for (index, directory) in self.dirs.iter().enumerate() {
            if let Some((above, name)) = &directory.place {
                inside[*above].push((name, index));
            }
        }
        let mut ranks = vec![0; self.dirs.len()];
        let (mut waiting, mut next) = (vec![0], 0);
        while let Some(index) = waiting.pop() {
            ranks[index] = next;
            next += 1;
            inside[index].sort_unstable();
            waiting.extend(inside[index].iter().rev().map(|(_, below)| *below));
        }
        ranks
    }

    fn judge_files(
        &mut self,
        base: &Base,
        wanted: &HashSet<Category>,
        found: &mut Findings,
        control: &Control,
    ) -> Result<(), FilesError> {
        let mut duplicates = Duplicates::among(&self.files, wanted.contains(&Category::DuplicateFiles));
        for index in 0..self.files.len() {
            control.check()?;
            let leaf = &self.files[index];
            let name = leaf.name.text();
            let early = before_duplicates(&name, leaf.size);
            let original = match early {
                Some(_) => None,
                None => duplicates.original_of(base, self, index, control),
            };
            let category = early
                .or(original.map(|_| Category::DuplicateFiles))
                .or_else(|| after_duplicates(&name, self.dirs[leaf.directory].has_video));
            let Some(category) = category.filter(|category| wanted.contains(category)) else {
                continue;
            };
            let finding = Finding {
                rel: self.file(index),
                category,
                is_directory: false,
                size: leaf.size,
                reason: original.map_or_else(
                    || category.reason().to_owned(),
                    |original| format!("The same content as {}", self.file(original)),
                ),
            };
            found.add(finding, &self.root)?;
            let directory = self.files[index].directory;
            self.dirs[directory].may_go += 1;
        }
        Ok(())
    }

    /// Folders in which nothing is that would stay, the deepest first.
    fn empty_folders(
        &mut self,
        base: &Base,
        found: &mut Findings,
        control: &Control,
    ) -> Result<(), FilesError> {
        for index in (1..self.dirs.len()).rev() {
            control.check()?;
            let directory = &self.dirs[index];
            if !directory.complete || directory.may_go != directory.entries {
                continue;
            }
            let rel = self.rel(index);
            // Counted once more, hidden entries too: a folder that could not be read only looks empty.
            if count(base, &rel) != Some(directory.entries) {
                continue;
            }
            let reason = match directory.entries {
                0 => Category::EmptyFolders.reason(),
                _ => EMPTY_THEN,
            };
            if let Some((above, _)) = directory.place {
                self.dirs[above].may_go += 1;
            }
            let finding = Finding {
                rel,
                category: Category::EmptyFolders,
                is_directory: true,
                size: 0,
                reason: reason.to_owned(),
            };
            found.add(finding, &self.root)?;
        }
        Ok(())
    }
}

impl Directory {
    fn new(place: Option<(usize, Component)>, depth: usize) -> Self {
        Self {
            place,
            depth,
            entries: 0,
            may_go: 0,
            complete: false,
            has_video: false,
        }
    }
}

fn count(base: &Base, rel: &RelPath) -> Option<usize> {
    entries(&base.resolve(rel, Intent::Read).ok()?)
}

/// Entries of a directory, ours too; `None` when it cannot be read.
fn entries(directory: &ConfinedPath) -> Option<usize> {
    let directory = directory.open_dir().ok()?;
    let mut count = 0;
    for entry in directory.entries().ok()? {
        if !matches!(entry.ok()?.file_name().to_bytes(), b"." | b"..") {
            count += 1;
        }
    }
    Some(count)
}

/// Finds files of equal content; only those that share their size with another are read.
struct Duplicates {
    /// Sizes that several files have.
    shared: HashSet<u64>,
    /// The first file of each size and hash.
    first: HashMap<(u64, String), usize>,
}

impl Duplicates {
    fn among(files: &[Leaf], wanted: bool) -> Self {
        let mut sizes: HashMap<u64, usize> = HashMap::new();
        if wanted {
            for leaf in files {
                if before_duplicates(&leaf.name.text(), leaf.size).is_none() {
                    *sizes.entry(leaf.size).or_default() += 1;
                }
            }
        }
        let shared = sizes.into_iter().filter(|(_, files)| *files > 1);
        Self {
            shared: shared.map(|(size, _)| size).collect(),
            first: HashMap::new(),
        }
    }

    /// The file that has the same content and came before.
    fn original_of(&mut self, base: &Base, tree: &Tree, file: usize, control: &Control) -> Option<usize> {
        let size = tree.files[file].size;
        if !self.shared.contains(&size) {
            return None;
        }
        // What cannot be read is like nothing.
        let item = base.resolve(&tree.file(file), Intent::Read).ok()?;
        let hash = sha256(&item, control).ok()?;
        match self.first.entry((size, hash)) {
            std::collections::hash_map::Entry::Occupied(first) => Some(*first.get()),
            std::collections::hash_map::Entry::Vacant(vacant) => {
                vacant.insert(file);
                None
            }
        }
    }
}

fn preview(root: String, found: Vec<Finding>) -> CleanupPreview {
    let mut by_category: HashMap<Category, Vec<Finding>> = HashMap::new();
    for finding in found {
        by_category.entry(finding.category).or_default().push(finding);
    }
    let groups = Category::ALL
        .into_iter()
        .filter_map(|category| Some(group(category, by_category.remove(&category)?)));
    let categories: Vec<CleanupGroup> = groups.collect();
    let total_size = categories.iter().map(|group| group.total_size).sum();
    CleanupPreview {
        root,
        total_items: categories.iter().map(|group| group.item_count).sum(),
        total_size,
        estimated_space_saved: total_size,
        categories,
    }
}

fn group(category: Category, findings: Vec<Finding>) -> CleanupGroup {
    CleanupGroup {
        category: category.as_str(),
        label: category.label(),
        item_count: findings.len() as u64,
        total_size: findings.iter().map(|finding| finding.size).sum(),
        items: findings.into_iter().map(CleanupItem::from).collect(),
    }
}

impl From<Finding> for CleanupItem {
    fn from(finding: Finding) -> Self {
        Self {
            path: finding.rel.text(),
            path_raw: finding.rel.raw(),
            name: finding.rel.name().map(Component::text).unwrap_or_default(),
            is_directory: finding.is_directory,
            size: finding.size,
            category: finding.category.as_str(),
            reason: finding.reason,
        }
    }
}
