//! Parts that the proofs of the file manager share: a root with a canary beside it that nobody may touch or read, and
//! trees as values that can be compared.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use qm_testkit::http::Reply;
use tempfile::TempDir;

/// The content of every file of the canary; nothing inside the root holds it.
pub const SECRET: &str = "the canary sings 5d1c0a97";
/// A file of the canary that no request names: only a server that lists the canary can know of it.
pub const UNSEEN: &str = "unseen-3f0b62ee";

/// A root with nothing in it, and the canary.
pub struct Site {
    dir: TempDir,
    pub root: PathBuf,
    /// Its path begins like the root's, without lying in it.
    pub canary: PathBuf,
}

impl Site {
    pub fn new() -> Site {
        Site::below(&std::env::temp_dir())
    }

    /// In memory: quick with many files, and another file system than [`Site::new`]'s.
    pub fn in_memory() -> Site {
        Site::below(Path::new("/dev/shm"))
    }

    fn below(place: &Path) -> Site {
        let dir = tempfile::Builder::new()
            .prefix("quartermaster-test-")
            .tempdir_in(place)
            .expect("a temporary directory");
        let here = dir.path().canonicalize().expect("it is there");
        let (root, canary) = (here.join("root"), here.join("root-canary"));
        std::fs::create_dir(&root).expect("our own directory");
        std::fs::create_dir_all(canary.join("folder/deep")).expect("our own directory");
        for file in ["secret", UNSEEN, "folder/secret", "folder/deep/secret"] {
            std::fs::write(canary.join(file), SECRET).expect("our own directory");
        }
        symlink("../secret", canary.join("folder/link")).expect("our own directory");
        std::fs::set_permissions(canary.join("secret"), std::fs::Permissions::from_mode(0o640))
            .expect("our own file");
        Site { dir, root, canary }
    }

    /// Where a path below the root really is.
    pub fn path_of(&self, rel: impl AsRef<Path>) -> PathBuf {
        self.root.join(rel)
    }

    /// A path beside root and canary.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Makes a file with the directories above it.
    pub fn write(&self, rel: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.path_of(rel);
        let above = path.parent().expect("a path below the root");
        std::fs::create_dir_all(above).expect("our own directory");
        std::fs::write(path, content).expect("our own directory");
    }

    pub fn folder(&self, rel: &str) {
        std::fs::create_dir_all(self.path_of(rel)).expect("our own directory");
    }

    pub fn read(&self, rel: impl AsRef<Path>) -> Option<String> {
        std::fs::read_to_string(self.path_of(rel)).ok()
    }

    /// For `FILE_MANAGER_ROOTS`.
    pub fn roots(&self) -> String {
        self.root.display().to_string()
    }
}

/// Everything below `dir`, itself included: kind and mode, inode, time of change and content. Equal trees were not touched.
pub fn tree(dir: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![dir.to_path_buf()];
    while let Some(path) = open.pop() {
        let meta = path
            .symlink_metadata()
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let content = if meta.is_file() {
            std::fs::read(&path).unwrap_or_default()
        } else if meta.is_symlink() {
            let target = std::fs::read_link(&path).unwrap_or_default();
            target.into_os_string().into_vec()
        } else {
            Vec::new()
        };
        if meta.is_dir() {
            let entries = std::fs::read_dir(&path).expect("a directory");
            open.extend(entries.map(|entry| entry.expect("an entry").path()));
        }
        let (mode, inode) = (meta.mode(), meta.ino());
        let state = format!(
            "{mode:o} {inode} {}.{:09} {}",
            meta.mtime(),
            meta.mtime_nsec(),
            content.escape_ascii()
        );
        found.insert(path, state);
    }
    found
}

/// Names of unfinished copies anywhere below `dir`.
pub fn temporaries(dir: &Path) -> Vec<PathBuf> {
    let ours = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name.as_bytes().starts_with(b".quartermaster-tmp-")
    };
    walk(dir).into_iter().filter(ours).collect()
}

/// A file, or a folder with everything in it.
pub fn remove(path: &Path) {
    let is_dir = path.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    let removed = if is_dir {
        std::fs::remove_dir_all(path)
    } else {
        std::fs::remove_file(path)
    };
    removed.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// Every path below `dir`. What vanishes meanwhile is left out.
fn walk(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(entry.path());
            }
            found.push(entry.path());
        }
    }
    found
}

/// All bytes but letters and digits as `%XX`: a raw path, and also what a query may hold.
pub fn percent(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        if byte.is_ascii_alphanumeric() {
            text.push(char::from(*byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
        text
    })
}

/// A name of these bytes.
pub fn raw_name(bytes: &[u8]) -> OsString {
    OsString::from_vec(bytes.to_vec())
}

/// A complaint about an answer that gives something of the canary away; `None` if it gives nothing away.
pub fn sung(reply: &Reply) -> Option<String> {
    let mut said = reply.text();
    for (name, value) in &reply.headers {
        let _ = write!(said, "\n{name}: {}", String::from_utf8_lossy(value.as_bytes()));
    }
    let found = [SECRET, UNSEEN, "root:x:0:0"]
        .into_iter()
        .find(|word| said.contains(word))?;
    Some(format!("{found:?} is in the answer {}: {said}", reply.status))
}

/// The message that an error must have: not empty, in the API's own form. `Err`: the answer has none.
pub fn complaint(reply: &Reply) -> Result<String, String> {
    let bad = || format!("{} {}", reply.status, reply.text());
    let body: serde_json::Value = serde_json::from_slice(&reply.body).map_err(|_| bad())?;
    let message = match &body["message"] {
        serde_json::Value::Array(rules) => rules.first().and_then(|rule| rule.as_str()),
        message => message.as_str(),
    };
    match message.filter(|text| !text.is_empty() && body["statusCode"] == reply.status) {
        Some(message) => Ok(message.to_owned()),
        None => Err(bad()),
    }
}
