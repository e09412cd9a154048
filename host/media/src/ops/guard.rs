//! Paths that callers name: checked to lie inside a storage root, whatever links lead elsewhere.

use std::path::{Component, Path, PathBuf};

use qm_confined::{is_system, resolve};

use crate::LibraryError;

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
    // A path that cannot be resolved is inside of no root.
    let resolved = resolve(named).map_err(|_| outside())?;
    if is_system(&resolved) {
        return Err(LibraryError::Protected);
    }
    let is_inside = roots
        .iter()
        .any(|root| resolved.starts_with(place_of(Path::new(root))));
    let is_own = own.iter().any(|own| resolved.starts_with(place_of(own)));
    if !is_inside || is_own {
        return Err(outside());
    }
    // A link may lead to a name that is not UTF-8, which cannot be stored.
    resolved.to_str().map(str::to_owned).ok_or_else(outside)
}

/// Real path of a directory that may not exist; the path as it is named if it cannot be read.
pub fn place_of(path: &Path) -> PathBuf {
    resolve(path).unwrap_or_else(|_| path.to_owned())
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
        std::os::unix::fs::symlink(root.join("beside"), media.join("dangling")).unwrap();
        std::os::unix::fs::symlink("round", media.join("round")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, media.join("fifo"), rustix::fs::Mode::RUSR).unwrap();
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
            &inside("dangling"),
            &inside("round/x"),
            &inside("fifo/x"),
            "/\0",
        ] {
            assert!(matches!(of(path), Err(LibraryError::Outside(_))), "{path}");
        }
    }
}
