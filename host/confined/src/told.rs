//! Paths that are told to another program, which opens them later: a torrent client, on this machine or on another one.
//!
//! Such a path need not exist here. As far as it does, its links are resolved by the walk, so that what is told leads where
//! it was judged to lead; what is told begins with the root as it is configured, for that is how the other program knows it.
//! Of a root that is not here at all nothing can be seen, and its paths are told as they are.

use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::roots::Roots;
use super::walk::{End, Last};
use super::{Component, FsError};

impl Roots {
    /// The directory that an absolute, normalised path means, as it may be told to another program: below a root, by the
    /// path that this is configured by, without links as far as it exists here.
    pub fn outward_path(&self, path: &Path) -> Result<PathBuf, FsError> {
        let shown = || path.display().to_string();
        if !self.is_here(path)? {
            return Ok(path.to_owned());
        }
        let walked = self.walk(path, Last::Follow)?;
        let missing = match walked.end {
            End::Root(_) => Vec::new(),
            End::Entry(above) => {
                let name = walked.real.last().ok_or(FsError::Outside)?;
                above.child(name).map_err(|errno| FsError::os(errno, shown()))?;
                Vec::new()
            }
            End::Missing(above, missing) => {
                match missing.first().map(|name| above.find(name)) {
                    None | Some(Ok(None)) => {}
                    // It is there and hidden: the server's own.
                    Some(Err(Errno::EXIST)) => return Err(FsError::Reserved(shown())),
                    Some(Ok(Some(_))) => return Err(FsError::Changed(shown())),
                    Some(Err(errno)) => return Err(FsError::os(errno, shown())),
                }
                missing
            }
        };
        let names = || walked.real.iter().chain(&missing);
        if names().any(Component::is_hidden) {
            return Err(FsError::Reserved(shown()));
        }
        let root = self.configured(walked.root).ok_or(FsError::NoRoot)?;
        Ok(names().fold(root.to_owned(), |path, name| path.join(name.as_os())))
    }

    /// True when the root that a path lies below is on this machine. Errors: the path is outside all roots, or a root cannot be
    /// opened for another reason.
    fn is_here(&self, path: &Path) -> Result<bool, FsError> {
        let opened = self.open_root_of(path).ok_or(FsError::Outside)?;
        match opened {
            Ok(()) => Ok(true),
            Err(FsError::NotFound(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::{OwnKind, OwnPlace};

    #[test]
    fn what_is_told_lies_below_a_root_whatever_links_say() {
        let home = tempfile::tempdir().expect("a directory");
        let home = home.path().canonicalize().expect("a path");
        let at = |path: &str| home.join(path);
        for folder in ["disk/films/old", "disk/data", "second/x", "outside"] {
            std::fs::create_dir_all(at(folder)).expect("a folder");
        }
        std::fs::write(at("disk/file"), "").expect("a file");
        // The root is known to clients by its link.
        symlink(at("disk"), at("root")).expect("a link");
        for (target, link) in [
            (at("outside"), "disk/out"),
            (at("outside/new"), "disk/dangling"),
            (PathBuf::from("../outside"), "disk/up"),
            (PathBuf::from("films"), "disk/in"),
            (at("disk/films"), "disk/by its real path"),
            (at("root/films"), "disk/by its other path"),
            (at("second/x"), "disk/second"),
            (PathBuf::from("round"), "disk/round"),
        ] {
            symlink(target, at(link)).expect("a link");
        }
        rustix::fs::mkfifoat(rustix::fs::CWD, at("disk/fifo"), rustix::fs::Mode::RUSR).expect("a FIFO");
        let _socket = std::os::unix::net::UnixListener::bind(at("disk/socket")).expect("a socket");
        let own = OwnPlace {
            variable: "DATA_DIR",
            path: at("disk/data"),
            kind: OwnKind::Directory,
        };
        let absent = "/nowhere that is here";
        let named = [at("root"), at("second"), PathBuf::from(absent)].map(|root| root.display().to_string());
        let roots = Roots::hiding(&named, &[own]);
        for (path, told) in [
            ("root", "root"),
            ("root/films", "root/films"),
            ("root/films/new/er", "root/films/new/er"),
            ("root/in/new", "root/films/new"),
            ("root/by its real path/old", "root/films/old"),
            ("root/by its other path", "root/films"),
            ("root/second/y", "second/x/y"),
            ("disk/films", "root/films"),
        ] {
            assert_eq!(roots.outward_path(&at(path)).expect(path), at(told), "{path}");
        }
        let elsewhere = Path::new(absent).join("a/b");
        assert_eq!(roots.outward_path(&elsewhere).expect("as it is"), elsewhere);
        for (path, code) in [
            ("root/out", "forbidden.outside_roots"),
            ("root/out/x", "forbidden.outside_roots"),
            ("root/dangling", "forbidden.outside_roots"),
            ("root/up/x", "forbidden.outside_roots"),
            ("outside", "forbidden.outside_roots"),
            ("root/round/x", "bad_request.too_many_links"),
            ("root/file", "bad_request.not_a_directory"),
            ("root/file/x", "bad_request.not_a_directory"),
            ("root/fifo", "bad_request.not_a_directory"),
            ("root/socket", "bad_request.not_a_directory"),
            ("root/data", "forbidden.reserved"),
            ("root/data/x", "forbidden.reserved"),
            ("root/.quartermaster-trash/x", "forbidden.reserved"),
        ] {
            assert_eq!(
                roots.outward_path(&at(path)).expect_err(path).code(),
                code,
                "{path}"
            );
        }
        // Somebody puts a link in the root's place while the server runs.
        std::fs::rename(at("second"), at("third")).expect("moved");
        symlink(at("outside"), at("second")).expect("a link");
        assert!(roots.outward_path(&at("second/x")).is_err());
    }
}
