//! Debian releases, and the directories of their roots.

use std::path::PathBuf;

/// A Debian release with its generation of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Suite {
    Bookworm,
    Trixie,
    /// It moves: its present version may be newer than the proven one.
    Sid,
}

impl Suite {
    pub const ALL: [Suite; 3] = [Suite::Bookworm, Suite::Trixie, Suite::Sid];

    /// Name in the archive, in `tests/clients.toml`, and of the root.
    pub const fn name(self) -> &'static str {
        match self {
            Suite::Bookworm => "bookworm",
            Suite::Trixie => "trixie",
            Suite::Sid => "sid",
        }
    }

    /// True when this machine runs it: then its clients are installed, and no root is needed.
    pub fn is_this_machine(self) -> bool {
        let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
        codename(&release) == Some(self.name())
    }

    /// Path of its root, existing or not.
    pub fn root(self) -> PathBuf {
        suites().join(self.name())
    }
}

fn codename(os_release: &str) -> Option<&str> {
    let mut lines = os_release.lines();
    let value = lines.find_map(|line| line.strip_prefix("VERSION_CODENAME="))?;
    Some(value.trim_matches('"'))
}

/// The directory of all roots: `QM_SUITES_DIR`, or `suites` in the cache of `cargo xtask`, which lies beside the target
/// directory when one is set.
pub fn suites() -> PathBuf {
    if let Some(directory) = std::env::var_os("QM_SUITES_DIR") {
        return directory.into();
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let beside = target.as_deref().and_then(std::path::Path::parent);
    if let Some(cache) = beside.filter(|cache| cache.is_absolute()) {
        return cache.join("suites");
    }
    let home = std::env::var_os("HOME").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    home.join(".cache/quartermaster/suites")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_says_its_release() {
        assert_eq!(
            codename("ID=debian\nVERSION_CODENAME=bookworm\n"),
            Some("bookworm")
        );
        assert_eq!(codename("VERSION_CODENAME=\"trixie\"\n"), Some("trixie"));
        assert_eq!(codename("ID=alpine\n"), None);
    }
}
