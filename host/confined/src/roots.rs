//! The hard roots and the base within them.
//!
//! A root's canonical path is settled once, at start; a root that is a link works and is shown by what it points to. From
//! then on it is opened by that path without following a link, at each use: a root that is missing, or whose disk is
//! mounted later, needs no restart, and a link that turns up in its place later is refused.

use std::collections::BTreeSet;
use std::path::{Component as Part, Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;

use super::own::{Own, OwnPlace};
use super::path::{Located, Place};
use super::walk::{self, End, Last, Walked};
use super::{Component, Dir, FsError, Identity, MAX_PATH_BYTES, RelPath};

/// Never deleted, renamed or moved themselves, nor a Default Root Path. Their contents are ordinary.
pub const SYSTEM_DIRECTORIES: &[&str] = &[
    "/", "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/root", "/run", "/sbin",
    "/srv", "/sys", "/usr", "/var", "/home", "/opt", "/mnt", "/media",
];

#[derive(Clone, Debug)]
pub(super) struct Root {
    /// The path as configured: absolute, lexically normalised.
    pub configured: PathBuf,
    /// Without links.
    pub canonical: PathBuf,
    /// The server's own places, which are hidden below it.
    pub own: Arc<Own>,
}

impl Root {
    fn settle(configured: PathBuf, own: &Arc<Own>) -> Self {
        let canonical = canonical(&configured);
        Self {
            configured,
            canonical,
            own: Arc::clone(own),
        }
    }

    /// A handle, and the identities of `/` and every directory down to it.
    pub fn open(&self) -> Result<(Dir, Vec<Identity>), FsError> {
        Dir::open_at(&self.canonical, self.own.hidden()).map_err(|e| FsError::os(e, self.canonical.display()))
    }

    pub fn is_at(&self, absolute: &Path) -> bool {
        self.canonical == absolute || self.configured == absolute
    }

    /// Components of `absolute` below this root, by either of its paths; `None` when it lies elsewhere.
    pub fn below(&self, absolute: &Path) -> Option<Vec<Component>> {
        let rest = absolute
            .strip_prefix(&self.canonical)
            .or_else(|_| absolute.strip_prefix(&self.configured))
            .ok()?;
        rest.iter().map(Component::new).collect()
    }
}

/// Path with the links of its existing part resolved; the missing rest is added as it is.
pub(super) fn canonical(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let Ok(real) = std::fs::canonicalize(ancestor) {
            let rest = path.strip_prefix(ancestor).unwrap_or(Path::new(""));
            return if rest.as_os_str().is_empty() {
                real
            } else {
                real.join(rest)
            };
        }
    }
    path.to_path_buf()
}

/// Lexically normalised; `None` when it is not absolute or has a NUL.
fn absolute(path: &str) -> Option<PathBuf> {
    if path.contains('\0') {
        return None;
    }
    let mut whole = PathBuf::new();
    for part in Path::new(path).components() {
        match part {
            Part::RootDir => whole.push("/"),
            Part::Normal(name) => whole.push(name),
            Part::ParentDir => {
                whole.pop();
            }
            Part::CurDir | Part::Prefix(_) => {}
        }
    }
    whole.is_absolute().then_some(whole)
}

/// Same as [`absolute`], for a path in a request.
fn sent(path: &str) -> Result<PathBuf, FsError> {
    if path.len() > MAX_PATH_BYTES {
        return Err(FsError::NameTooLong(format!("a path of {} bytes", path.len())));
    }
    absolute(path).ok_or(FsError::InvalidPath)
}

/// True when the whole path is that of a system directory.
pub fn is_system(path: &Path) -> bool {
    SYSTEM_DIRECTORIES.iter().any(|system| Path::new(system) == path)
}

/// The outer boundary, never widened while the server runs. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Roots {
    hard: Arc<[Root]>,
    own: Arc<Own>,
}

/// Reason why a directory cannot be the Default Root Path.
#[derive(Debug, thiserror::Error)]
pub enum BaseError {
    #[error("The root path must be an absolute path")]
    NotAbsolute,
    #[error("{0} is a system directory")]
    SystemDirectory(String),
    #[error("{0} is outside the allowed roots")]
    Outside(String),
    #[error("{0} does not exist")]
    Missing(String),
    #[error("{0} is not a directory")]
    NotADirectory(String),
    #[error("{0} is not readable")]
    NotReadable(String),
}

/// A look at an absolute path. Outside the hard roots the disk is not touched, and everything below is false.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathInspection {
    /// Lexically normalised.
    pub path: String,
    pub within_hard_roots: bool,
    pub is_system_dir: bool,
    pub exists: bool,
    pub is_directory: bool,
    pub writable: bool,
}

impl Roots {
    /// Settles the roots. Relative ones are taken from the working directory. None of them has to exist yet.
    pub fn open<S: AsRef<str>>(configured: &[S]) -> Self {
        Self::hiding(configured, &[])
    }

    /// The same; what is the server's own is not there, should it come to lie below one of them.
    pub fn hiding<S: AsRef<str>>(configured: &[S], own: &[OwnPlace]) -> Self {
        let own = Arc::new(Own::hold(own));
        let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        let hard = configured
            .iter()
            .map(|root| root.as_ref().trim())
            .filter(|root| !root.is_empty())
            .filter_map(|root| absolute(&here.join(root).to_string_lossy()))
            .map(|path| Root::settle(path, &own))
            .collect();
        Self { hard, own }
    }

    /// Canonical paths, in the configured order.
    pub fn paths(&self) -> Vec<String> {
        self.hard
            .iter()
            .map(|root| root.canonical.to_string_lossy().into_owned())
            .collect()
    }

    /// The hard roots and those of `others` in them that are there: canonical path and handle.
    pub fn handles(&self, others: &BTreeSet<String>) -> Vec<(String, Dir)> {
        let all: BTreeSet<String> = self.paths().into_iter().chain(others.iter().cloned()).collect();
        all.into_iter()
            .filter_map(|path| {
                let (dir, _) = self.storage(&path).ok()?.roots[0].open().ok()?;
                Some((path, dir))
            })
            .collect()
    }

    /// Hard roots that were configured by another path than the one they have: both, the configured one first. To be
    /// compared with what other programs say, never opened.
    pub fn aliases(&self) -> Vec<(PathBuf, PathBuf)> {
        let linked = self.hard.iter().filter(|root| root.configured != root.canonical);
        linked
            .map(|root| (root.configured.clone(), root.canonical.clone()))
            .collect()
    }

    /// Boundary for requests: `default_root` when that is set and usable, else the hard roots. The error tells why a set value
    /// was not used.
    pub fn base(&self, default_root: Option<&str>) -> (Base, Option<BaseError>) {
        match default_root.map(|path| self.narrow(path)) {
            None => (self.whole(), None),
            Some(Ok(base)) => (base, None),
            Some(Err(error)) => (self.whole(), Some(error)),
        }
    }

    /// The base of the hard roots: relative paths begin at the first.
    pub fn whole(&self) -> Base {
        self.own.refresh();
        Base {
            hard: self.hard.clone(),
            roots: self.hard.clone(),
        }
    }

    /// The base of a Default Root Path.
    pub fn narrow(&self, default_root: &str) -> Result<Base, BaseError> {
        let path = absolute(default_root).ok_or(BaseError::NotAbsolute)?;
        let shown = path.to_string_lossy().into_owned();
        if is_system(&path) {
            return Err(BaseError::SystemDirectory(shown));
        }
        let walked = self.walk(&path, Last::Follow).map_err(|error| match error {
            FsError::NotFound(_) => BaseError::Missing(shown.clone()),
            FsError::NotADirectory(_) => BaseError::NotADirectory(shown.clone()),
            FsError::Denied(_) => BaseError::NotReadable(shown.clone()),
            _ => BaseError::Outside(shown.clone()),
        })?;
        let canonical = self.real(&walked);
        let dir = match walked.end {
            End::Missing(..) => return Err(BaseError::Missing(shown)),
            End::Root(dir) => dir,
            End::Entry(dir) => match walked.real.last().map(|name| dir.child(name)) {
                Some(Ok(dir)) => dir,
                _ => return Err(BaseError::NotADirectory(shown)),
            },
        };
        if is_system(&canonical) {
            return Err(BaseError::SystemDirectory(shown));
        }
        if walked.real.iter().any(Component::is_hidden) {
            return Err(BaseError::Missing(shown));
        }
        if !dir.access().0 {
            return Err(BaseError::NotReadable(shown));
        }
        Ok(self.base_at(path, canonical))
    }

    /// The base an item was trashed under, whatever the Default Root Path is now: a hard root or a directory in one.
    pub(super) fn storage(&self, root: &str) -> Result<Base, FsError> {
        self.own.refresh();
        let path = absolute(root).ok_or(FsError::InvalidPath)?;
        if !self.hard.iter().any(|hard| hard.below(&path).is_some()) {
            return Err(FsError::Outside);
        }
        let canonical = path.clone();
        Ok(self.base_at(path, canonical))
    }

    /// The directory of a place, by its real path and through no link; or the deepest one above it that is there, and false.
    pub fn reopen(&self, place: &Place) -> Result<(Dir, bool), FsError> {
        let (mut dir, _) = self.storage(&place.root)?.roots[0].open()?;
        for name in place.directory.components() {
            match dir.child(name) {
                Ok(next) => dir = next,
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok((dir, false)),
                Err(other) => return Err(FsError::os(other, &place.directory)),
            }
        }
        Ok((dir, true))
    }

    fn base_at(&self, configured: PathBuf, canonical: PathBuf) -> Base {
        Base {
            hard: self.hard.clone(),
            roots: Arc::new([Root {
                configured,
                canonical,
                own: Arc::clone(&self.own),
            }]),
        }
    }

    /// Looks at an absolute path.
    pub fn inspect(&self, path: &str) -> Result<PathInspection, FsError> {
        let path = sent(path)?;
        let mut seen = PathInspection {
            path: path.to_string_lossy().into_owned(),
            within_hard_roots: self.hard.iter().any(|root| root.below(&path).is_some()),
            is_system_dir: is_system(&path),
            exists: false,
            is_directory: false,
            writable: false,
        };
        // Whatever cannot be reached inside the roots is not there for us.
        let Ok(walked) = self.walk(&path, Last::Follow) else {
            return Ok(seen);
        };
        if walked.real.iter().any(Component::is_hidden) {
            return Ok(seen);
        }
        match walked.end {
            End::Missing(..) => {}
            End::Root(dir) => seen.found(Some(&dir), false),
            End::Entry(above) => {
                if let Some(name) = walked.real.last() {
                    let dir = above.child(name).ok();
                    seen.found(dir.as_ref(), above.may_write(name));
                }
            }
        }
        Ok(seen)
    }

    /// `mkdir -p` of an absolute path. Answers the path's inspection afterwards.
    pub fn ensure_dir(&self, path: &str) -> Result<PathInspection, FsError> {
        let whole = sent(path)?;
        let shown = whole.to_string_lossy();
        if is_system(&whole) {
            return Err(FsError::SystemDirectory(shown.into_owned()));
        }
        let walked = self.walk(&whole, Last::Follow)?;
        let base = self.whole();
        // For messages, which name the path as it was sent: absolute.
        let rel = RelPath::from_text(&shown)?;
        Located::new(&base, walked, rel).into_destination()?.create()?;
        self.inspect(path)
    }

    /// Walks an absolute path from the hard root it names.
    pub(super) fn walk(&self, path: &Path, last: Last) -> Result<Walked, FsError> {
        self.own.refresh();
        let (root, below) = self
            .hard
            .iter()
            .enumerate()
            .find_map(|(index, root)| Some((index, root.below(path)?)))
            .ok_or(FsError::Outside)?;
        walk::walk(&self.hard, root, &below, last, &path.display())
    }

    /// The path that a root is configured by.
    pub(super) fn configured(&self, root: usize) -> Option<&Path> {
        self.hard.get(root).map(|root| root.configured.as_path())
    }

    /// Opens the root that an absolute path names, and lets it go again.
    pub(super) fn open_root_of(&self, path: &Path) -> Option<Result<(), FsError>> {
        let root = self.hard.iter().find(|root| root.below(path).is_some())?;
        Some(root.open().map(drop))
    }

    fn real(&self, walked: &Walked) -> PathBuf {
        let root = &self.hard[walked.root].canonical;
        walked
            .real
            .iter()
            .fold(root.clone(), |path, name| path.join(name.as_os()))
    }
}

impl PathInspection {
    fn found(&mut self, dir: Option<&Dir>, writable_entry: bool) {
        self.exists = true;
        self.is_directory = dir.is_some();
        self.writable = dir.map_or(writable_entry, |dir| dir.access().1);
    }
}

/// Boundary of one request, as of one moment. Made for a request and dropped with it.
#[derive(Clone, Debug)]
pub struct Base {
    pub(super) hard: Arc<[Root]>,
    /// Roots that links may lead into; paths begin at the first.
    pub(super) roots: Arc<[Root]>,
}

impl Base {
    /// The canonical path relative paths begin at; none when no root is configured.
    pub fn root(&self) -> Option<String> {
        let first = self.roots.first()?;
        Some(first.canonical.to_string_lossy().into_owned())
    }

    /// Canonical paths of the roots in effect.
    pub fn paths(&self) -> Vec<String> {
        self.roots
            .iter()
            .map(|root| root.canonical.to_string_lossy().into_owned())
            .collect()
    }

    /// (exists, readable, writable) of the root that relative paths begin at.
    pub fn access(&self) -> (bool, bool, bool) {
        match self.roots.first().map(Root::open) {
            Some(Ok((dir, _))) => {
                let (readable, writable) = dir.access();
                (true, readable, writable)
            }
            _ => (false, false, false),
        }
    }
}
