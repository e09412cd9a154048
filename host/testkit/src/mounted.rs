//! Torrent clients that see their directories under other paths than the test: each in a mount namespace of its own.
//!
//! Bounds: a client's own mounts, which go with its process. As root it takes `unshare` of util-linux; for other users the kernel has to
//! allow user namespaces, or the client does not start and the test fails.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Directories of a client as the test sees them, and where the client sees them instead.
#[derive(Clone, Debug, Default)]
pub struct Mounts(Vec<(PathBuf, &'static str)>);

/// Paths at which a client sees its downloads and its other directory.
pub const DOWNLOADS: &str = "/srv";
pub const OTHER: &str = "/media";

impl Mounts {
    /// The downloads and the other directory of a client, elsewhere. Under their own paths it sees empty directories.
    pub fn elsewhere(downloads: &Path, other: &Path) -> Mounts {
        Mounts(vec![(downloads.to_owned(), DOWNLOADS), (other.to_owned(), OTHER)])
    }

    /// The directory as the client sees it.
    pub fn seen(&self, directory: &Path) -> PathBuf {
        let mount = self.0.iter().find(|(local, _)| local == directory);
        mount.map_or_else(|| directory.to_owned(), |(_, remote)| PathBuf::from(remote))
    }

    /// The command, with the mounts around it.
    pub fn around(&self, command: Command) -> Command {
        if self.0.is_empty() {
            return command;
        }
        let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
        let mut wrapped = Command::new("unshare");
        wrapped.arg(if is_root { "-m" } else { "-rm" });
        let mounts = (1..=self.0.len()).map(|number| {
            let (local, remote) = (number * 2 - 1, number * 2);
            format!("mount --bind \"${local}\" \"${remote}\" && mount -t tmpfs none \"${local}\" && ")
        });
        let run = format!("shift {} && exec \"$@\"", self.0.len() * 2);
        let script: String = mounts.chain([run]).collect();
        wrapped.args(["sh", "-c", &script, "sh"]);
        for (local, remote) in &self.0 {
            wrapped.arg(local).arg(remote);
        }
        wrapped.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => wrapped.env(name, value),
                None => wrapped.env_remove(name),
            };
        }
        if let Some(dir) = command.get_current_dir() {
            wrapped.current_dir(dir);
        }
        wrapped
    }
}
