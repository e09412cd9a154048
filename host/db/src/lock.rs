//! Lock of a database file for one server: an advisory lock on a small file beside it, released however the
//! process ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::error::DbError;
use crate::open::file_refusal;

/// Held until dropped. The file stays: removing it would let two processes lock two files of the same name.
pub(crate) struct FileLock {
    file: File,
    path: PathBuf,
    /// True when this lock's file was newly created.
    made: bool,
}

impl FileLock {
    /// Locks the database at `database`, which need not exist yet, against every other process that does the
    /// same.
    pub(crate) fn take(database: &Path) -> Result<Self, DbError> {
        // A link to the file is the same database.
        let real = std::fs::canonicalize(database).unwrap_or_else(|_| database.to_owned());
        let path = beside(&real, ".lock");
        loop {
            let mut lock = Self::open(path.clone()).map_err(|error| file_refusal(database, &error))?;
            match lock.file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(held(database, &mut lock.file)),
                Err(TryLockError::Error(error)) => return Err(file_refusal(database, &error)),
            }
            // A failed start of another process may have removed its file between our opening and our
            // locking.
            if lock.is_in_place() {
                lock.sign();
                return Ok(lock);
            }
        }
    }

    fn open(path: PathBuf) -> io::Result<Self> {
        let options = || {
            let mut options = OpenOptions::new();
            options.read(true).write(true).mode(0o600);
            options
        };
        let (file, made) = match options().create_new(true).open(&path) {
            Ok(file) => (file, true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                (options().create(true).truncate(false).open(&path)?, false)
            }
            Err(error) => return Err(error),
        };
        Ok(Self { file, path, made })
    }

    fn is_in_place(&self) -> bool {
        let ours = self.file.metadata().map(|ours| (ours.dev(), ours.ino()));
        let there = std::fs::metadata(&self.path).map(|there| (there.dev(), there.ino()));
        matches!((ours, there), (Ok(ours), Ok(there)) if ours == there)
    }

    /// Writes the holder into the file, for the next one's error message. Only the lock itself counts.
    fn sign(&mut self) {
        let signed = self
            .file
            .set_len(0)
            .and_then(|()| writeln!(self.file, "{}", std::process::id()));
        drop(signed);
    }

    /// Releases the lock and removes files that it created.
    pub(crate) fn discard(self) {
        if self.made {
            drop(std::fs::remove_file(&self.path));
        }
    }
}

fn held(database: &Path, file: &mut File) -> DbError {
    let mut signature = String::new();
    let holder = match file.take(32).read_to_string(&mut signature) {
        Ok(_) if signature.trim().parse::<u32>().is_ok() => format!(" (process {})", signature.trim()),
        _ => String::new(),
    };
    DbError::Open(format!(
        "the database `{}` is in use by another Quartermaster{holder}; stop that first",
        database.display()
    ))
}

/// `path` with something added to its name.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// Takes a released lock. A process that a neighbour starts holds it too, from its fork to its exec.
    fn take_again(database: &Path) -> FileLock {
        let begun = Instant::now();
        loop {
            match FileLock::take(database) {
                Ok(lock) => return lock,
                Err(error) => assert!(begun.elapsed() < Duration::from_mins(1), "{error}"),
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    #[test]
    fn one_holder_at_a_time_and_nothing_left_of_one_that_is_discarded() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("x.db");
        let first = FileLock::take(&database).unwrap();
        let line = FileLock::take(&database).err().unwrap().to_string();
        let holder = format!("(process {})", std::process::id());
        assert!(line.contains("in use") && line.contains(&holder), "{line}");

        std::fs::write(&database, "").unwrap();
        let link = folder.path().join("link.db");
        std::os::unix::fs::symlink(&database, &link).unwrap();
        assert!(FileLock::take(&link).is_err(), "a link is the same database");

        drop(first);
        take_again(&database).discard();
        assert!(folder.path().join("x.db.lock").exists(), "it was there before");
        let other = folder.path().join("y.db");
        FileLock::take(&other).unwrap().discard();
        assert!(!folder.path().join("y.db.lock").exists());
    }
}
