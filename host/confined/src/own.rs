//! Places of the server's own: its data, its plugins, its database. No root may overlap one when the server starts, and should
//! it come to lie below one later (renamed, mounted there), it is hidden by identity, whatever path leads to it.
//!
//! The directories and the database are held open, so that they are known wherever they are moved to and their inode
//! numbers are given to nothing else meanwhile; what stands at their paths now, and the files beside a database, are looked
//! at again for each request.
//!
//! Bounds: four handles and a dozen stats an [`OwnPlace`]; [`MAX_DEPTH`] steps up from each.

use std::ffi::OsString;
use std::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

use qm_lanes::IgnorePoison;
use rustix::fs::{self, AtFlags, Mode, OFlags};

use super::{Identity, Meta};

/// No kernel path is deeper.
const MAX_DEPTH: usize = 4096;

/// Endings of the names of a database's files: of the database itself, and of what SQLite keeps beside it.
const BESIDE_DATABASE: &[&str] = &["", "-wal", "-shm", "-journal"];

/// Entries of the data directory that are hidden by name too, in case one of them is mounted or linked elsewhere.
const IN_DATA: &[&str] = &["secrets.json", "backups", "cache", "cache/plugins"];

const PATH_ONLY: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// A place of the server's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnPlace {
    /// The variable that says where it is.
    pub variable: &'static str,
    /// Relative ones are taken from the working directory. It does not have to exist yet.
    pub path: PathBuf,
    pub kind: OwnKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnKind {
    /// A directory; all in it is the server's own.
    Directory,
    /// An SQLite file, and what SQLite keeps beside it.
    Database,
}

/// Directories that an area is told at the start of the server.
#[derive(Clone, Debug, Default)]
pub struct ServerPlaces {
    /// `FILE_MANAGER_ROOTS`
    pub roots: Vec<String>,
    /// Places of the server's own, hidden from users' files.
    pub own: Vec<OwnPlace>,
    /// `DATA_DIR`
    pub data_dir: PathBuf,
}

/// Identities that are hidden. Cheap to clone.
pub type Hidden = Arc<[Identity]>;

/// The server's own places, held open.
#[derive(Default)]
pub(super) struct Own {
    places: Vec<Held>,
    now: RwLock<Hidden>,
}

struct Held {
    path: PathBuf,
    /// The place as it was at start; none where nothing was.
    at_start: Option<OwnedFd>,
    /// The directory whose entries `names` are: the place itself, or of a database the one above it.
    around: Option<OwnedFd>,
    names: Vec<OsString>,
}

impl Held {
    fn open(place: &OwnPlace) -> Self {
        let open = |path: &Path| fs::openat(fs::CWD, path, PATH_ONLY, Mode::empty()).ok();
        let path = std::path::absolute(&place.path).unwrap_or_else(|_| place.path.clone());
        let (around, names) = match place.kind {
            OwnKind::Directory => (open(&path), IN_DATA.iter().map(OsString::from).collect()),
            OwnKind::Database => {
                let real = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
                let own = real.file_name().unwrap_or_default();
                let names = BESIDE_DATABASE.iter().map(|suffix| {
                    let mut name = own.to_owned();
                    name.push(suffix);
                    name
                });
                (real.parent().and_then(open), names.collect())
            }
        };
        Self {
            at_start: open(&path),
            around,
            names,
            path,
        }
    }

    fn identities(&self, found: &mut Vec<Identity>) {
        let held = self.at_start.as_ref().and_then(|fd| fs::fstat(fd).ok());
        let now = fs::stat(&self.path).ok();
        let around = self.around.iter().flat_map(|dir| {
            let within = move |name| fs::statat(dir, name, AtFlags::empty()).ok();
            self.names.iter().map(OsString::as_os_str).filter_map(within)
        });
        found.extend(
            held.into_iter()
                .chain(now)
                .chain(around)
                .map(|stat| Meta::from_stat(&stat).identity),
        );
    }
}

impl Own {
    pub fn hold(places: &[OwnPlace]) -> Self {
        let own = Self {
            places: places.iter().map(Held::open).collect(),
            now: RwLock::default(),
        };
        own.refresh();
        own
    }

    /// Looks at the places again.
    pub fn refresh(&self) {
        if self.places.is_empty() {
            return;
        }
        let mut found = Vec::new();
        for place in &self.places {
            place.identities(&mut found);
        }
        found.sort_unstable();
        found.dedup();
        if *self.hidden() != *found {
            *self.now.write().ignore_poison() = found.into();
        }
    }

    /// Identities that are hidden, as of the last look.
    pub fn hidden(&self) -> Hidden {
        Arc::clone(&self.now.read().ignore_poison())
    }

    /// The directories above the places, wherever those are now: whoever moved or removed one would take them along.
    pub fn above(&self) -> Vec<Identity> {
        let mut found = Vec::new();
        for place in self.places.iter().filter_map(|place| place.around.as_ref()) {
            climb(place, &mut found);
        }
        found
    }
}

/// The identity of a directory and of those above it.
fn climb(from: &OwnedFd, found: &mut Vec<Identity>) {
    let up = |dir: &dyn AsFd| fs::openat(dir, "..", PATH_ONLY, Mode::empty());
    let mut next = fs::openat(from, ".", PATH_ONLY, Mode::empty());
    for _ in 0..MAX_DEPTH {
        let Ok(dir) = next else { return };
        let Ok(stat) = fs::fstat(&dir) else { return };
        let identity = Meta::from_stat(&stat).identity;
        // `/` is above itself.
        if found.last() == Some(&identity) {
            return;
        }
        found.push(identity);
        next = up(&dir);
    }
}

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let paths = self.places.iter().map(|place| place.path.as_path());
        f.debug_list().entries(paths).finish()
    }
}

/// The reason why the roots cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum RootRefused {
    #[error(
        "FILE_MANAGER_ROOTS names `{}`, which is the whole file system; name the directories that downloads lie in",
        .0.display()
    )]
    Everything(PathBuf),
    #[error(
        "`{}` of FILE_MANAGER_ROOTS {how} `{}` ({variable}): whoever may see files there could read or replace what is the \
         server's own; move one of the two, or name other directories in FILE_MANAGER_ROOTS",
        .root.display(), .own.display()
    )]
    Overlap {
        root: PathBuf,
        /// `is`, `contains` or `lies in`.
        how: &'static str,
        own: PathBuf,
        variable: &'static str,
    },
}

/// Refuses roots that overlap a place of the server's own, or are `/`: by canonical path, and by the identity of every
/// directory on the way, so that links, second mounts and folded case are seen through.
pub fn check_roots<S: AsRef<str>>(configured: &[S], own: &[OwnPlace]) -> Result<(), RootRefused> {
    let own: Vec<(&OwnPlace, Way)> = own.iter().map(|place| (place, Way::to(&place.path))).collect();
    let everything = Way::to(Path::new("/"));
    for root in configured {
        let root = PathBuf::from(root.as_ref().trim());
        let way = Way::to(&root);
        if way.is_same(&everything) {
            return Err(RootRefused::Everything(root));
        }
        for (place, there) in &own {
            let how = match place.kind {
                _ if way.is_same(there) => "is",
                _ if there.passes(&way) => "contains",
                OwnKind::Directory if way.passes(there) => "lies in",
                OwnKind::Directory | OwnKind::Database => continue,
            };
            return Err(RootRefused::Overlap {
                root,
                how,
                own: place.path.clone(),
                variable: place.variable,
            });
        }
    }
    Ok(())
}

/// A path without links, and the identities of what exists of it, `/` last.
struct Way {
    canonical: PathBuf,
    identities: Vec<Identity>,
    /// Identity of the path itself, if it exists.
    own: Option<Identity>,
}

impl Way {
    fn to(path: &Path) -> Self {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let canonical = super::roots::canonical(&absolute);
        let identity = |path: &Path| Some(Meta::from_stat(&fs::stat(path).ok()?).identity);
        Self {
            identities: canonical.ancestors().filter_map(identity).collect(),
            own: identity(&canonical),
            canonical,
        }
    }

    fn is_same(&self, other: &Way) -> bool {
        self.canonical == other.canonical || (self.own.is_some() && self.own == other.own)
    }

    /// True when `other` is on this way.
    fn passes(&self, other: &Way) -> bool {
        self.canonical.starts_with(&other.canonical)
            || other
                .own
                .is_some_and(|identity| self.identities.contains(&identity))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn place(path: PathBuf, kind: OwnKind) -> OwnPlace {
        OwnPlace {
            variable: "SOMEWHERE",
            path,
            kind,
        }
    }

    #[test]
    fn roots_that_overlap_are_refused_both_ways_and_through_links() {
        let dir = tempfile::tempdir().expect("a directory");
        let at = |path: &str| dir.path().join(path);
        for path in ["srv/data/backups", "srv/downloads", "srv/db/films"] {
            std::fs::create_dir_all(at(path)).expect("a folder");
        }
        std::fs::write(at("srv/db/own.db"), "").expect("a file");
        symlink(at("srv/data"), at("way in")).expect("a link");
        symlink(at("srv"), at("way around")).expect("a link");
        let own = [
            place(at("srv/data"), OwnKind::Directory),
            place(at("plugins not there yet"), OwnKind::Directory),
            place(at("srv/db/own.db"), OwnKind::Database),
        ];
        let how = |root: &str| match check_roots(&[at(root).to_str().expect("text")], &own) {
            Ok(()) => None,
            Err(RootRefused::Overlap { how, own, .. }) => {
                Some((how, own.strip_prefix(dir.path()).expect("ours").to_owned()))
            }
            Err(other) => panic!("{other}"),
        };
        for (root, expected) in [
            ("srv/downloads", None),
            ("srv/data2", None),
            ("srv/db/films", None),
            ("nowhere", None),
            ("srv/data", Some(("is", "srv/data"))),
            ("way in", Some(("is", "srv/data"))),
            ("srv", Some(("contains", "srv/data"))),
            ("way around", Some(("contains", "srv/data"))),
            ("srv/downloads/..", Some(("contains", "srv/data"))),
            ("srv/data/backups", Some(("lies in", "srv/data"))),
            ("way around/data/backups", Some(("lies in", "srv/data"))),
            ("srv/data/not there yet", Some(("lies in", "srv/data"))),
            (
                "plugins not there yet/x",
                Some(("lies in", "plugins not there yet")),
            ),
            ("srv/db", Some(("contains", "srv/db/own.db"))),
        ] {
            let expected = expected.map(|(how, own)| (how, PathBuf::from(own)));
            assert_eq!(how(root), expected, "{root}");
        }
        symlink("/", at("everything")).expect("a link");
        for root in [Path::new("/"), Path::new("/tmp/.."), &at("everything")] {
            let refused = check_roots(&[root.to_str().expect("text")], &[]);
            assert_eq!(refused, Err(RootRefused::Everything(root.to_owned())));
        }
    }

    #[test]
    fn what_is_held_stays_known_wherever_it_is_moved_to() {
        let dir = tempfile::tempdir().expect("a directory");
        let at = |path: &str| dir.path().join(path);
        std::fs::create_dir_all(at("data/backups")).expect("a folder");
        std::fs::create_dir_all(at("db")).expect("a folder");
        std::fs::write(at("db/own.db"), "").expect("a file");
        let own = Own::hold(&[
            place(at("data"), OwnKind::Directory),
            place(at("db/own.db"), OwnKind::Database),
        ]);
        let id = |path: &str| Meta::from_stat(&fs::stat(at(path)).expect("a stat")).identity;
        std::fs::create_dir_all(at("root/deep")).expect("a folder");
        std::fs::rename(at("data"), at("root/deep/data")).expect("moved");
        std::fs::rename(at("db"), at("root/db")).expect("moved");
        std::fs::write(at("root/db/own.db-wal"), "").expect("a file");
        std::fs::write(at("root/db/film"), "").expect("a file");
        std::fs::create_dir(at("data")).expect("another one");
        own.refresh();
        let hidden = own.hidden();
        for path in [
            "root/deep/data",
            "root/deep/data/backups",
            "root/db/own.db",
            "root/db/own.db-wal",
            "data",
        ] {
            assert!(hidden.contains(&id(path)), "{path}");
        }
        assert!(!hidden.contains(&id("root/db/film")) && !hidden.contains(&id("root/deep")));
        let above = own.above();
        assert!(above.contains(&id("root/deep")) && above.contains(&id("root/db")));
    }
}
