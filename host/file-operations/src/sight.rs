//! Identities of places: the directory that a path really leads into, so that two spellings of one place (a link on the way, a
//! second mount) are found to be one. Places outside the roots are not looked at, unless a link leads there from within:
//! two links to one place outside are one place too, which the walk below the roots would refuse to see.
//!
//! Paths are resolved by handles ([`qm_confined::resolve`]), and directories are opened through no link: what is told of a
//! directory and of its entries is of one handle, whatever is swapped meanwhile. No content is opened.
//! Bounds: two directories open at once, the one being looked at and the last one that a link led into.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use qm_confined::{Roots, open_child, open_directory, resolve};
use qm_ports::carry::{DirectoryId, Sighting};
use rustix::fs::{AtFlags, FileType, Stat, fstat, statat};

/// One answer a path, which is absolute and has no `..` in it; none for what is outside the roots, or lies in a directory that
/// is not there.
pub fn sight(roots: &Roots, paths: &[String]) -> Vec<Option<Sighting>> {
    let configured: Vec<PathBuf> = roots.paths().into_iter().map(PathBuf::from).collect();
    let aliases = roots.aliases().into_iter().map(|(alias, _)| alias);
    let within: Vec<PathBuf> = configured.into_iter().chain(aliases).collect();
    let mut wanted: Vec<(&Path, &OsStr, usize)> = paths
        .iter()
        .enumerate()
        .filter(|(_, path)| within.iter().any(|root| Path::new(path).starts_with(root)))
        .filter_map(|(number, path)| Some((Path::new(path).parent()?, Path::new(path).file_name()?, number)))
        .collect();
    // Entries of one directory are looked up while that is open.
    wanted.sort_unstable();
    let mut seen = vec![None; paths.len()];
    let mut last = None;
    for group in wanted.chunk_by(|(above, ..), (next, ..)| above == next) {
        let Some(directory) = group.first().and_then(|(above, ..)| Directory::open(above)) else {
            continue;
        };
        for (_, name, number) in group {
            seen[*number] = Some(directory.sight_entry(name, &mut last));
        }
    }
    seen
}

/// Open directory.
struct Directory {
    handle: OwnedFd,
    /// Its path, which has no link in it.
    real: PathBuf,
    /// Identities of it and of those above it, nearest first.
    chain: Arc<[DirectoryId]>,
}

impl Directory {
    /// Directory that a path leads to; `None` when none is there.
    fn open(path: &Path) -> Option<Self> {
        let real = resolve(path).ok()?;
        let mut handle = open_directory(Path::new("/")).ok()?;
        let mut chain = vec![id(&fstat(&handle).ok()?)];
        for part in real.components() {
            if let Component::Normal(name) = part {
                handle = open_child(&handle, name).ok()?;
                chain.push(id(&fstat(&handle).ok()?));
            }
        }
        chain.reverse();
        Some(Self {
            handle,
            real,
            chain: chain.into(),
        })
    }

    /// Sighting of an entry, of which nothing needs to be there. One that is a link is sighted where it leads to, as far as
    /// something is there.
    fn sight_entry(&self, name: &OsStr, last: &mut Option<Self>) -> Sighting {
        let own = stat(&self.handle, name);
        if own.is_some_and(|own| file_type(&own) == FileType::Symlink)
            && let Some(target) = self.sight_target(name, last)
        {
            return target;
        }
        self.sighting(name, own.as_ref())
    }

    /// Sighting of the place that a link leads to. Thousands of links lead into one directory often, so that the `last` one
    /// stays open.
    fn sight_target(&self, link: &OsStr, last: &mut Option<Self>) -> Option<Sighting> {
        let target = resolve(&self.real.join(link)).ok()?;
        let (above, name) = (target.parent()?, target.file_name()?);
        if last.as_ref().is_none_or(|last| last.real != above) {
            *last = Some(Self::open(above)?);
        }
        let above = last.as_ref()?;
        let own = stat(&above.handle, name)?;
        Some(above.sighting(name, Some(&own)))
    }

    fn sighting(&self, name: &OsStr, own: Option<&Stat>) -> Sighting {
        Sighting {
            above: Arc::clone(&self.chain),
            name: name.as_bytes().to_vec(),
            own: own.filter(|own| file_type(own) == FileType::Directory).map(id),
        }
    }
}

/// State of an entry itself, not of what a link leads to.
fn stat(directory: impl AsFd, name: &OsStr) -> Option<Stat> {
    statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()
}

fn file_type(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

fn id(stat: &Stat) -> DirectoryId {
    (stat.st_dev, stat.st_ino)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, symlink};

    use super::*;

    fn id_of(path: &Path) -> DirectoryId {
        let meta = fs::metadata(path).unwrap();
        (meta.dev(), meta.ino())
    }

    /// Identities of a directory and of all above it, as its canonical path tells them.
    fn chain_of(path: &Path) -> Vec<DirectoryId> {
        path.canonicalize().unwrap().ancestors().map(id_of).collect()
    }

    #[test]
    fn spellings_of_one_place_have_one_identity() {
        let home = tempfile::tempdir().unwrap();
        let at = |path: &str| home.path().join(path);
        for folder in ["root/films/show", "root/other", "outside/data"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        fs::write(at("root/films/film.mkv"), "x").unwrap();
        for (target, link) in [
            (at("root/films"), "root/link"),
            (at("root/films/film.mkv"), "root/other/film.mkv"),
            (at("root/films/show"), "root/other/show"),
            (at("outside"), "root/away"),
            (at("outside"), "root/off"),
            (at("nowhere/x"), "root/other/dangling"),
            (at("root/other/loop"), "root/other/loop"),
            (at("root"), "alias"),
        ] {
            symlink(target, at(link)).unwrap();
        }
        let roots = Roots::open(&[at("alias").to_str().unwrap()]);
        let told = |path: &str| at(path).display().to_string();
        let cases = [
            // Path, the directory it really lies in, its name there, whether it is a directory.
            ("root/films/film.mkv", Some(("root/films", "film.mkv", false))),
            ("alias/films/film.mkv", Some(("root/films", "film.mkv", false))),
            ("root/link/film.mkv", Some(("root/films", "film.mkv", false))),
            ("root/other/film.mkv", Some(("root/films", "film.mkv", false))),
            ("root/link/show", Some(("root/films", "show", true))),
            ("root/other/show", Some(("root/films", "show", true))),
            ("root/link", Some(("root", "films", true))),
            ("root/films/none", Some(("root/films", "none", false))),
            ("root/away/data", Some(("outside", "data", true))),
            ("root/off/data", Some(("outside", "data", true))),
            ("root/other/dangling", Some(("root/other", "dangling", false))),
            ("root/other/loop", Some(("root/other", "loop", false))),
            ("root/none/x", None),
            ("root/films/film.mkv/x", None),
            ("root/other/loop/x", None),
            ("outside/data", None),
        ];
        let paths: Vec<String> = cases.iter().map(|(path, _)| told(path)).collect();
        let seen = sight(&roots, &paths);
        for ((path, expected), seen) in cases.iter().zip(seen) {
            let expected = expected.map(|(above, name, is_directory)| Sighting {
                above: chain_of(&at(above)).into(),
                name: name.into(),
                own: is_directory.then(|| id_of(&at(above).join(name))),
            });
            assert_eq!(seen, expected, "{path}");
        }
        assert_eq!(sight(&roots, &[]), []);
        assert!(sight(&roots, &[told("root")])[0].is_some(), "a root itself");
    }
}
