//! Results of the walk: an item, a destination, an item in the trash. Each holds the handle it was checked with.

use std::fs::File;
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use rustix::io::Errno;

use super::roots::{Base, Root, Roots, is_system};
use super::walk::{self, End, Last, Walked};
use super::{Component, Dir, FsError, Identity, Meta, RelPath, TRASH_DIR};

/// Directories that are created at once at most: a handle is held of each until all of them are there.
const MAX_MISSING: usize = 128;

/// Use that the caller has for the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// Read it. A link is followed, inside the roots. It must exist.
    Read,
    /// Change the entry itself: a link, not its target. It must exist and not be protected.
    Change,
}

/// An item inside the roots: the open directory that holds it, and its name there. Only [`Base::resolve`] makes one.
#[derive(Debug)]
pub struct ConfinedPath {
    pub parent: Dir,
    /// None: the root itself, and `parent` is its handle.
    pub entry: Option<Component>,
    rel: RelPath,
    base: Base,
    root: Root,
    /// Below the root, links resolved, the entry included.
    real: Vec<Component>,
}

/// A directory that exists or is to be created, to put something into. Only [`Base::destination`] makes one.
#[derive(Debug)]
pub struct Destination {
    /// The deepest directory that exists.
    dir: Dir,
    missing: Vec<Component>,
    rel: RelPath,
    base: Base,
    root: Root,
    real: Vec<Component>,
}

/// An item in a trash directory, named by its record. Only [`Roots::trashed`] makes one.
#[derive(Debug)]
pub struct TrashedItem {
    pub base: Base,
    pub trash: Dir,
    pub name: Component,
}

/// A directory by its root and its real path below that: to be written down, and found again by [`Roots::reopen`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Canonical.
    pub root: String,
    pub directory: RelPath,
}

impl Place {
    fn from_directory(root: &Root, directory: Vec<Component>) -> Self {
        Self {
            root: root.canonical.to_string_lossy().into_owned(),
            directory: RelPath::from_components(directory),
        }
    }

    /// A directory in this one.
    pub fn below(&self, name: &Component) -> Self {
        Self {
            root: self.root.clone(),
            directory: self.directory.join(name),
        }
    }
}

/// A finished walk with the path that was asked for.
pub(super) struct Located {
    walked: Walked,
    rel: RelPath,
    base: Base,
    root: Root,
}

impl Located {
    pub fn new(base: &Base, walked: Walked, rel: RelPath) -> Self {
        let root = base.roots[walked.root].clone();
        Self {
            walked,
            rel,
            base: base.clone(),
            root,
        }
    }

    fn is_hidden(&self) -> bool {
        let missing = match &self.walked.end {
            End::Missing(_, missing) => missing.as_slice(),
            _ => &[],
        };
        self.walked.real.iter().chain(missing).any(Component::is_hidden)
    }

    fn into_item(self) -> Result<ConfinedPath, FsError> {
        let (parent, entry) = match self.walked.end {
            End::Root(dir) => (dir, None),
            End::Entry(dir) => (dir, self.walked.real.last().cloned()),
            End::Missing(..) => return Err(FsError::NotFound(self.rel.text())),
        };
        Ok(ConfinedPath {
            parent,
            entry,
            rel: self.rel,
            base: self.base,
            root: self.root,
            real: self.walked.real,
        })
    }

    pub fn into_destination(self) -> Result<Destination, FsError> {
        let shown = self.rel.text();
        if self.is_hidden() {
            return Err(FsError::Reserved(shown));
        }
        let (dir, missing) = match self.walked.end {
            End::Root(dir) => (dir, Vec::new()),
            End::Missing(_, missing) if missing.len() > MAX_MISSING => {
                return Err(FsError::TooManyMissing(shown));
            }
            End::Missing(dir, missing) => (dir, missing),
            End::Entry(above) => match self.walked.real.last() {
                Some(name) => (above.child(name).map_err(|e| FsError::os(e, &shown))?, Vec::new()),
                None => return Err(FsError::NotFound(shown)),
            },
        };
        Ok(Destination {
            dir,
            missing,
            rel: self.rel,
            base: self.base,
            root: self.root,
            real: self.walked.real,
        })
    }
}

impl Base {
    /// The item at `path`. Hidden names do not exist, for reading; for changing they are in the trash or protected.
    pub fn resolve(&self, path: &RelPath, intent: Intent) -> Result<ConfinedPath, FsError> {
        let last = match intent {
            Intent::Read => Last::Follow,
            Intent::Change => Last::Keep,
        };
        let located = self.locate(path, last)?;
        if path.is_hidden() || located.is_hidden() {
            return Err(hidden(path, &located.walked.real, intent));
        }
        let item = located.into_item()?;
        if intent == Intent::Change {
            self.refuse_protected(&item.absolute(), &item.meta()?, path)?;
        }
        Ok(item)
    }

    /// The directory at `path`, to put things into. What is missing of it is created by the operation that uses it, after
    /// that has checked everything else.
    pub fn destination(&self, path: &RelPath) -> Result<Destination, FsError> {
        if path.is_hidden() {
            return Err(FsError::Reserved(path.text()));
        }
        self.locate(path, Last::Follow)?.into_destination()
    }

    fn locate(&self, path: &RelPath, last: Last) -> Result<Located, FsError> {
        let walked = walk::walk(&self.roots, 0, path.components(), last, path)?;
        Ok(Located::new(self, walked, path.clone()))
    }

    /// Roots, their ancestors, those of what is the server's own, and system directories stay, under whatever name they
    /// were reached.
    fn refuse_protected(&self, at: &Path, meta: &Meta, shown: &RelPath) -> Result<(), FsError> {
        let roots = || self.hard.iter().chain(self.roots.iter());
        let is_root_or_above =
            |root: &Root| root.canonical.starts_with(at) || root.configured.starts_with(at);
        // By identity too: a second mount or another spelling of the same directory.
        let is_one_of_them = || {
            roots()
                .filter_map(|root| root.open().ok())
                .any(|(_, lineage)| lineage.contains(&meta.identity))
        };
        let holds_own = || {
            roots()
                .next()
                .is_some_and(|root| root.own.above().contains(&meta.identity))
        };
        if is_system(at)
            || roots().any(is_root_or_above)
            || (meta.is_dir() && (is_one_of_them() || holds_own()))
        {
            return Err(FsError::Protected(shown.text()));
        }
        Ok(())
    }
}

fn hidden(path: &RelPath, real: &[Component], intent: Intent) -> FsError {
    let is_trash_itself = |names: &[Component]| names.last().is_some_and(Component::is_trash);
    let in_trash = path.components().iter().chain(real).any(Component::is_trash);
    match intent {
        Intent::Read => FsError::NotFound(path.text()),
        Intent::Change if is_trash_itself(path.components()) || is_trash_itself(real) => {
            FsError::Protected(path.text())
        }
        Intent::Change if in_trash => FsError::InTrash,
        Intent::Change => FsError::NotFound(path.text()),
    }
}

impl ConfinedPath {
    /// The path as it was asked for.
    pub fn rel(&self) -> &RelPath {
        &self.rel
    }

    /// The last name as it was asked for; none at the root.
    pub fn name(&self) -> Option<&Component> {
        self.rel.name()
    }

    /// Absolute, without links: of the item itself, or with [`Intent::Read`] of what it leads to.
    pub fn absolute(&self) -> PathBuf {
        absolute(&self.root, &self.real)
    }

    /// The canonical path of the root that holds it: where its trash is.
    pub fn storage_root(&self) -> &Path {
        &self.root.canonical
    }

    /// Path below [`storage_root`](Self::storage_root).
    pub fn within_root(&self) -> RelPath {
        RelPath::from_components(self.real.clone())
    }

    /// The place of [`parent`](Self::parent).
    pub fn place(&self) -> Place {
        let above = self.real.split_last().map_or(&[][..], |(_, above)| above);
        Place::from_directory(&self.root, above.to_vec())
    }

    /// The place of the trash directory of its root.
    pub fn trash_place(&self) -> Place {
        Place::from_directory(&self.root, vec![Component::trusted(TRASH_DIR.to_owned())])
    }

    /// The base it was resolved in.
    pub fn base(&self) -> &Base {
        &self.base
    }

    /// A handle of the root that holds it.
    pub fn open_root(&self) -> Result<Dir, FsError> {
        Ok(self.root.open()?.0)
    }

    /// Name in [`parent`](Self::parent); the root has none and is protected.
    pub fn entry(&self) -> Result<&Component, FsError> {
        self.entry
            .as_ref()
            .ok_or_else(|| FsError::Protected(self.rel.text()))
    }

    /// Refuses to replace what is at the absolute path `at`, when that is a root or the like.
    pub fn refuse_protected(&self, at: &Path, there: &Meta, shown: &RelPath) -> Result<(), FsError> {
        self.base.refuse_protected(at, there, shown)
    }

    /// One stat. Not following: with [`Intent::Read`] links are already resolved.
    pub fn meta(&self) -> Result<Meta, FsError> {
        match &self.entry {
            None => self.parent.meta(),
            Some(name) => self.parent.stat(name).map(|stat| Meta::from_stat(&stat)),
        }
        .map_err(|e| FsError::os(e, &self.rel))
    }

    /// The content of a regular file, and its stat by the same handle. Anything else is refused unopened.
    pub fn open_file(&self) -> Result<(File, Meta), FsError> {
        let Some(name) = &self.entry else {
            return Err(FsError::IsADirectory(self.rel.text()));
        };
        self.parent.read(name).map_err(|errno| match errno {
            Errno::NOTSUP => FsError::Special(self.rel.text()),
            other => FsError::os(other, &self.rel),
        })
    }

    /// A handle of the directory this is.
    pub fn open_dir(&self) -> Result<Dir, FsError> {
        match &self.entry {
            None => self.parent.try_clone(),
            Some(name) => self.parent.child(name),
        }
        .map_err(|e| FsError::os(e, &self.rel))
    }

    /// The item `name` in this directory, for reading: a link is followed inside the roots.
    pub fn below(&self, name: &Component) -> Result<ConfinedPath, FsError> {
        self.base.resolve(&self.rel.join(name), Intent::Read)
    }
}

impl TrashedItem {
    /// The place of the directory it lies in.
    pub fn place(&self) -> Place {
        Place::from_directory(
            &self.base.roots[0],
            vec![Component::trusted(TRASH_DIR.to_owned())],
        )
    }

    /// Absolute.
    pub fn absolute(&self) -> PathBuf {
        self.base.roots[0]
            .canonical
            .join(TRASH_DIR)
            .join(self.name.as_os())
    }
}

impl Destination {
    pub fn rel(&self) -> &RelPath {
        &self.rel
    }

    /// Absolute, without links.
    pub fn absolute(&self) -> PathBuf {
        let existing = absolute(&self.root, &self.real);
        self.missing
            .iter()
            .fold(existing, |path, name| path.join(name.as_os()))
    }

    pub fn place(&self) -> Place {
        let names = self.real.iter().chain(&self.missing);
        Place::from_directory(&self.root, names.cloned().collect())
    }

    pub fn exists(&self) -> bool {
        self.missing.is_empty()
    }

    /// Bytes that the server's user may still write there; `None` where the file system does not tell.
    pub fn free_bytes(&self) -> Result<Option<u64>, FsError> {
        let failed = |errno| FsError::os(errno, &self.rel);
        let volume = rustix::fs::fstatvfs(self.dir.readable().map_err(failed)?).map_err(failed)?;
        Ok((volume.f_blocks > 0).then(|| volume.f_bavail.saturating_mul(volume.f_frsize)))
    }

    /// The deepest directory of it that exists.
    pub fn existing(&self) -> &Dir {
        &self.dir
    }

    /// The identities of every directory from `/` to [`existing`](Self::existing), as they are now.
    pub fn lineage(&self) -> Result<Vec<Identity>, FsError> {
        let (_, lineage) = Dir::open_at(&absolute(&self.root, &self.real), self.root.own.hidden())
            .map_err(|e| FsError::os(e, &self.rel))?;
        Ok(lineage)
    }

    /// Refuses to replace what is at the absolute path `at`, when that is a root or the like.
    pub fn refuse_protected(&self, at: &Path, there: &Meta, shown: &RelPath) -> Result<(), FsError> {
        self.base.refuse_protected(at, there, shown)
    }

    /// Creates missing directories and returns the directory. On failure those it created are removed again.
    pub fn create(&self) -> Result<Created, FsError> {
        let failed = |errno| FsError::os(errno, &self.rel);
        let mut created = Created {
            dir: self.dir.try_clone().map_err(failed)?,
            made: Vec::new(),
        };
        for name in &self.missing {
            if let Err(errno) = created.step(name) {
                created.undo();
                return Err(failed(errno));
            }
        }
        Ok(created)
    }
}

/// Destination that exists, and the directories that were created for it.
pub struct Created {
    dir: Dir,
    /// Directories created, from the top: where, and under which name.
    made: Vec<(Dir, Component)>,
}

impl Created {
    fn step(&mut self, name: &Component) -> rustix::io::Result<()> {
        let is_ours = match self.dir.create_dir(name, Mode::from_raw_mode(0o777)) {
            Ok(()) => true,
            // Somebody was quicker: as good, if it is a directory.
            Err(Errno::EXIST) => false,
            Err(other) => return Err(other),
        };
        let next = self.dir.child(name)?;
        let above = std::mem::replace(&mut self.dir, next);
        if is_ours {
            above.sync()?;
            self.made.push((above, name.clone()));
        }
        Ok(())
    }

    pub fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Removes the created directories that are still empty.
    pub fn undo(&self) {
        for (dir, name) in self.made.iter().rev() {
            if dir.remove_dir(name).is_err() {
                return;
            }
        }
    }
}

impl Roots {
    /// The item at an absolute path, wherever in the hard roots; see [`Base::resolve`]. Messages name it by that path.
    pub fn item(&self, path: &Path, intent: Intent) -> Result<ConfinedPath, FsError> {
        let last = match intent {
            Intent::Read => Last::Follow,
            Intent::Change => Last::Keep,
        };
        let located = self.located(path, last)?;
        let rel = located.rel.clone();
        if located.is_hidden() {
            return Err(hidden(&rel, &located.walked.real, intent));
        }
        let item = located.into_item()?;
        if intent == Intent::Change {
            item.base
                .refuse_protected(&item.absolute(), &item.meta()?, &rel)?;
        }
        Ok(item)
    }

    /// The directory at an absolute path, to put things into; see [`Base::destination`].
    pub fn directory(&self, path: &Path) -> Result<Destination, FsError> {
        self.located(path, Last::Follow)?.into_destination()
    }

    fn located(&self, path: &Path, last: Last) -> Result<Located, FsError> {
        let rel = RelPath::from_text(&path.to_string_lossy())?;
        let walked = self.walk(path, last)?;
        Ok(Located::new(&self.whole(), walked, rel))
    }

    /// The item of a trash record. `trash_path` is what the trash said when it was trashed.
    pub fn trashed(&self, storage_root: &str, trash_path: &str) -> Result<TrashedItem, FsError> {
        let base = self.storage(storage_root)?;
        let inside = Path::new(storage_root).join(TRASH_DIR);
        let name = Path::new(trash_path)
            .strip_prefix(&inside)
            .ok()
            .and_then(|rest| Component::new(rest.as_os_str()))
            .ok_or(FsError::Outside)?;
        let gone = |errno| match errno {
            Errno::NOENT => FsError::NotFound(name.text()),
            other => FsError::os(other, trash_path),
        };
        // A disk that is not mounted is no news of what lies on it.
        let absent = || FsError::TrashUnusable(storage_root.to_owned());
        let (root, _) = base.roots[0].open().map_err(|_| absent())?;
        let trash = root
            .child(&Component::trusted(TRASH_DIR.to_owned()))
            .map_err(|errno| match errno {
                Errno::NOENT | Errno::NOTDIR | Errno::LOOP => absent(),
                other => FsError::os(other, storage_root),
            })?;
        trash.stat(&name).map_err(gone)?;
        Ok(TrashedItem { base, trash, name })
    }
}

fn absolute(root: &Root, real: &[Component]) -> PathBuf {
    real.iter()
        .fold(root.canonical.clone(), |path, name| path.join(name.as_os()))
}
