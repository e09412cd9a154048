//! Paths that callers name: inside a storage root, whatever links lead elsewhere.

use std::path::{Component, Path, PathBuf};

use crate::error::LibraryError;

const PROTECTED: &[&str] = &[
    "/", "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/root", "/run", "/sbin",
    "/srv", "/sys", "/usr", "/var", "/home", "/opt", "/mnt", "/media",
];

/// The directory that `path` names, links resolved as far as it exists. It need not be there.
pub fn guarded(path: &str, roots: &[String], own: &[PathBuf]) -> Result<String, LibraryError> {
    let path = path.trim();
    if path.is_empty() {
        return Err(LibraryError::NoPath);
    }
    let outside = || LibraryError::Outside(roots.join(", "));
    let named = Path::new(path);
    let is_plain = named.is_absolute()
        && !path.contains('\0')
        && named
            .components()
            .all(|part| !matches!(part, Component::ParentDir));
    if !is_plain {
        return Err(outside());
    }
    let resolved = resolve(named);
    if PROTECTED.iter().any(|protected| resolved == Path::new(protected)) {
        return Err(LibraryError::Protected);
    }
    let is_inside = roots
        .iter()
        .any(|root| resolved.starts_with(resolve(Path::new(root))));
    let is_own = own.iter().any(|own| resolved.starts_with(resolve(own)));
    if !is_inside || is_own {
        return Err(outside());
    }
    // A name that is not UTF-8 can be resolved to, and cannot be stored.
    resolved.to_str().map(str::to_owned).ok_or_else(outside)
}

/// The path with the links of what exists of it resolved.
pub fn resolve(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for ancestor in path.ancestors() {
        if let Ok(real) = ancestor.canonicalize() {
            let rest = path.strip_prefix(ancestor).unwrap_or(Path::new(""));
            return if rest.as_os_str().is_empty() {
                real
            } else {
                real.join(rest)
            };
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_inside_the_roots_may_be_named() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        let (media, own) = (root.join("media"), root.join("media/data"));
        std::fs::create_dir_all(&own).unwrap();
        std::os::unix::fs::symlink("/etc", media.join("out")).unwrap();
        std::os::unix::fs::symlink(&media, root.join("in")).unwrap();
        let roots = [media.to_str().unwrap().to_owned()];
        let of = |path: &str| guarded(path, &roots, std::slice::from_ref(&own));
        let inside = |tail: &str| format!("{}/{tail}", roots[0]);
        assert_eq!(of(&inside("tv/")).unwrap(), inside("tv"));
        assert_eq!(of(root.join("in/tv").to_str().unwrap()).unwrap(), inside("tv"));
        assert!(matches!(of(" "), Err(LibraryError::NoPath)));
        assert!(matches!(of("/etc/"), Err(LibraryError::Protected)));
        assert!(matches!(of(&inside("out")), Err(LibraryError::Protected)));
        for path in [
            "tv",
            "/nowhere",
            &inside("../x"),
            &inside("out/ssl"),
            &inside("data/x"),
            "/\0",
        ] {
            assert!(matches!(of(path), Err(LibraryError::Outside(_))), "{path}");
        }
    }
}
