//! Identity of a server's data directory on its machine, and a lock in it. The holder of the lock knows that no other server
//! works there: a server that was killed and comes back need not wait for the end of its own lease.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

const FILE: &str = "node.lock";
/// File with an id that is new after each start of the machine.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Place where a server works: its data directory on its machine.
pub struct Place {
    /// Text that is equal for two processes exactly if they would take the same lock; empty if unknown.
    identity: String,
    file: Option<File>,
    locked: bool,
}

impl Place {
    /// Unknown place.
    pub fn none() -> Self {
        Self {
            identity: String::new(),
            file: None,
            locked: false,
        }
    }

    /// Place of a data directory; unknown if no lock is possible there.
    pub fn for_data_dir(data_dir: &Path) -> Self {
        let Some((identity, file)) = identify(data_dir) else {
            return Self::none();
        };
        let mut place = Self {
            identity,
            file: Some(file),
            locked: false,
        };
        place.lock();
        place
    }

    /// Entry for the lease: the identity of the place if this server has its lock, else empty (another server works there).
    pub fn entry(&self) -> String {
        if self.locked {
            self.identity.clone()
        } else {
            String::new()
        }
    }

    /// True if the server that entered `other` worked here and is gone.
    pub fn was_left_by(&mut self, other: &str) -> bool {
        !self.identity.is_empty() && self.identity == other && self.lock()
    }

    fn lock(&mut self) -> bool {
        self.locked = self.locked || self.file.as_ref().is_some_and(|file| file.try_lock().is_ok());
        self.locked
    }
}

fn identify(data_dir: &Path) -> Option<(String, File)> {
    let boot = std::fs::read_to_string(BOOT_ID).ok()?;
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(data_dir.join(FILE))
        .ok()?;
    let about = file.metadata().ok()?;
    Some((format!("{}:{}:{}", boot.trim(), about.dev(), about.ino()), file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_has_a_place_and_the_next_one_knows_when_it_was_left() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let elsewhere = tempfile::tempdir().expect("a temporary directory");
        let first = Place::for_data_dir(folder.path());
        let entered = first.entry();
        assert!(!entered.is_empty(), "it has the lock");

        let mut second = Place::for_data_dir(folder.path());
        assert_eq!(second.entry(), "", "it works beside the first one");
        assert!(!second.was_left_by(&entered), "the first one lives");
        let mut other = Place::for_data_dir(elsewhere.path());
        assert!(!other.was_left_by(&entered), "another directory");

        drop(first);
        assert!(!second.was_left_by("") && second.was_left_by(&entered));
        assert_eq!(second.entry(), entered, "it has taken the place");
        assert!(
            !Place::none().was_left_by(""),
            "what is not known was left by nobody"
        );
    }
}
