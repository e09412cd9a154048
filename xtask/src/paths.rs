//! Paths of the workspace, and of the cache that outlives a checkout.

use std::path::{Path, PathBuf};

/// The root of the checkout this was called in. Cargo says so at run time; what was true when this was built may be
/// another checkout that shares the target directory.
pub fn root() -> PathBuf {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest
        .parent()
        .map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// Cache of built plugins and guest objects: beside the target directory when one is set, else in the user's cache, so that a
/// fresh clone does not build them again.
pub fn cache() -> PathBuf {
    if let Some(target) = std::env::var_os("CARGO_TARGET_DIR") {
        let target = PathBuf::from(target);
        if let Some(parent) = target.parent().filter(|parent| parent.is_absolute()) {
            return parent.to_path_buf();
        }
    }
    let home = std::env::var_os("HOME").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    home.join(".cache/quartermaster")
}

/// The components `cargo xtask plugins` makes for the server.
pub fn plugins() -> PathBuf {
    cache().join("plugins")
}

/// Names the file that a build of the server reads [`first_party`] from.
pub const FIRST_PARTY: &str = "QM_FIRST_PARTY";

/// SHA-256 of those components, one a line.
pub fn first_party() -> PathBuf {
    cache().join("first-party.txt")
}

/// The misbehaving guests the tests load.
pub fn fixtures() -> PathBuf {
    cache().join("plugins-fixtures")
}

/// The examples in other languages, which tests load too.
pub fn examples() -> PathBuf {
    cache().join("plugins-examples")
}

/// A program on the PATH, or in the places a user's PATH often lacks.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/usr/local/sbin", "/sbin"].map(PathBuf::from))
        .map(|dir| dir.join(name))
        .find(|candidate| candidate.is_file())
}
