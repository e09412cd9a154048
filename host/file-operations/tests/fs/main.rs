//! The confined file system layer on real file systems: hostile paths, races, kills, full disks, huge trees.

#![allow(clippy::unwrap_used, reason = "the whole crate is tests")]

mod crash;
mod faults;
mod hostile;
mod huge;
mod model;
mod operations;
mod own;
mod race;

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use qm_confined::{Base, Component, ConfinedPath, Destination, FsError, Intent, RelPath, Roots};
use qm_file_operations::Control;
use tokio_util::sync::CancellationToken;

/// A root with nothing in it, beside a canary nobody may touch or read.
pub struct Scratch {
    _dir: tempfile::TempDir,
    pub root: PathBuf,
    pub canary: PathBuf,
    pub roots: Roots,
}

impl Scratch {
    pub fn on_disk() -> Self {
        Self::below(&std::env::temp_dir())
    }

    /// Scratch directory in memory: quick for many files, and another file system than the temporary directory.
    pub fn in_memory() -> Self {
        Self::below(Path::new("/dev/shm"))
    }

    fn below(place: &Path) -> Self {
        let dir = tempfile::Builder::new()
            .prefix("quartermaster-test-")
            .tempdir_in(place)
            .unwrap();
        let here = dir.path().canonicalize().unwrap();
        let (root, canary) = (here.join("root"), here.join("canary"));
        std::fs::create_dir(&root).unwrap();
        std::fs::create_dir_all(canary.join("folder/deep")).unwrap();
        std::fs::write(canary.join("secret"), "secret").unwrap();
        std::fs::write(canary.join("folder/secret"), "secret").unwrap();
        symlink("../secret", canary.join("folder/link")).unwrap();
        let roots = Roots::open(&[root.to_str().unwrap()]);
        Self {
            _dir: dir,
            root,
            canary,
            roots,
        }
    }

    pub fn base(&self) -> Base {
        self.roots.whole()
    }

    pub fn path(&self, rel: &str) -> PathBuf {
        self.root.join(rel)
    }

    pub fn write(&self, rel: &str, content: impl AsRef<[u8]>) {
        let path = self.path(rel);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub fn read(&self, rel: &str) -> Option<String> {
        std::fs::read_to_string(self.path(rel)).ok()
    }

    pub fn folder(&self, rel: &str) {
        std::fs::create_dir_all(self.path(rel)).unwrap();
    }

    pub fn item(&self, rel: &str) -> Result<ConfinedPath, FsError> {
        self.base().resolve(&rel_path(rel), Intent::Change)
    }

    pub fn look(&self, rel: &str) -> Result<ConfinedPath, FsError> {
        self.base().resolve(&rel_path(rel), Intent::Read)
    }

    pub fn to(&self, rel: &str) -> Result<Destination, FsError> {
        self.base().destination(&rel_path(rel))
    }

    /// Names at the top of the root, ours included.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(&self.root)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// Temporaries anywhere below the root.
    pub fn temporaries(&self) -> Vec<String> {
        tree(&self.root)
            .into_keys()
            .filter(|path| path.contains(".quartermaster-tmp-"))
            .collect()
    }
}

pub fn rel_path(text: &str) -> RelPath {
    RelPath::from_text(text).unwrap()
}

pub fn name(text: &str) -> Component {
    Component::file(text).unwrap()
}

pub fn quiet() -> Control {
    Control::quiet(CancellationToken::new())
}

/// Entries below `dir`: path, then identity and state. Equal trees are untouched trees.
pub fn tree(dir: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![dir.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            let meta = path.symlink_metadata().unwrap();
            let content = if meta.is_file() {
                hex(&std::fs::read(&path).unwrap())
            } else if meta.is_symlink() {
                std::fs::read_link(&path).unwrap().to_string_lossy().into_owned()
            } else {
                String::new()
            };
            let shown = path.strip_prefix(dir).unwrap().to_string_lossy().into_owned();
            found.insert(
                shown,
                format!("{:o} {} {} {content}", meta.mode(), meta.ino(), meta.mtime_nsec()),
            );
            if meta.is_dir() {
                open.push(path);
            }
        }
    }
    found
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
