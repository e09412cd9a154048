//! The files of one torrent: seen before its client removes them, counted afterwards, and removed here where the client left
//! them. Every step goes through handles and follows no link; a file that took the place of one that was seen stays.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use qm_ports::carry::{DataPlace, DataSeen, SeenFile, Stayed};
use rustix::io::Errno;

use super::tree::each;
use qm_confined::{Component, Dir, FsError, Intent, Kind, Meta, Roots};

/// Ending that qBittorrent puts behind the name of a file that is not complete.
const PARTIAL: &[u8] = b".!qB";

fn path_of(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

fn name_of(bytes: &[u8]) -> Option<Component> {
    Component::new(OsStr::from_bytes(bytes)).filter(|name| !name.is_hidden())
}

/// The names of a path below a folder; none for one that leads out of it.
fn names(path: &[u8]) -> Option<Vec<Component>> {
    path.split(|byte| *byte == b'/').map(name_of).collect()
}

/// The directory that the torrent's file or folder lies in, if the server sees it.
fn open_above(roots: &Roots, top: &[u8]) -> Result<Option<Dir>, FsError> {
    let Some(above) = path_of(top).parent() else {
        return Ok(None);
    };
    match roots.item(above, Intent::Read) {
        Ok(above) => above.open_dir().map(Some),
        Err(
            FsError::NotFound(_)
            | FsError::Outside
            | FsError::Escapes
            | FsError::NoRoot
            | FsError::NotADirectory(_),
        ) => Ok(None),
        Err(other) => Err(other),
    }
}

/// The files of a torrent that are there, each by its inode; none: the server does not see the place.
pub fn see(roots: &Roots, place: &DataPlace) -> Result<Option<DataSeen>, FsError> {
    let Some(above) = open_above(roots, &place.top)? else {
        return Ok(None);
    };
    let size = |at: usize| place.sizes.get(at).copied();
    let told = path_of(&place.top).file_name().map(OsStrExt::as_bytes);
    let size_of_top = if place.files.is_empty() { size(0) } else { None };
    let kind = if place.files.is_empty() {
        Kind::File
    } else {
        Kind::Directory
    };
    let top = told.and_then(|told| find(&above, told, kind, size_of_top, place.is_told));
    let Some((name, meta)) = top else {
        return Ok(Some(DataSeen {
            top: place.top.clone(),
            files: Vec::new(),
            missing: place.files.len().max(1),
        }));
    };
    let parent = path_of(&place.top).parent().unwrap_or(Path::new("/"));
    let mut seen = DataSeen {
        top: parent.join(name.as_os()).as_os_str().as_bytes().to_vec(),
        ..DataSeen::default()
    };
    if place.files.is_empty() {
        seen.files.push(SeenFile {
            path: Vec::new(),
            inode: meta.identity.inode,
        });
        return Ok(Some(seen));
    }
    let folder = above
        .child(&name)
        .map_err(|errno| FsError::os(errno, parent.join(name.as_os()).display()))?;
    for (at, path) in place.files.iter().enumerate() {
        match find_below(&folder, path, size(at), place.is_told) {
            Some(file) => seen.files.push(file),
            None => seen.missing += 1,
        }
    }
    Ok(Some(seen))
}

fn find_below(folder: &Dir, path: &[u8], size: Option<u64>, is_told: bool) -> Option<SeenFile> {
    let mut parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    let last = parts.pop()?;
    let mut dir = folder.try_clone().ok()?;
    let mut found: Vec<Component> = Vec::new();
    for part in parts {
        let (name, _) = find(&dir, part, Kind::Directory, None, is_told)?;
        dir = dir.child(&name).ok()?;
        found.push(name);
    }
    let (name, meta) = find(&dir, last, Kind::File, size, is_told)?;
    found.push(name);
    let names: Vec<&[u8]> = found.iter().map(Component::as_bytes).collect();
    Some(SeenFile {
        path: names.join(&b'/'),
        inode: meta.identity.inode,
    })
}

/// The entry of that name. One that a client told with stand-ins is the only entry that it may stand for.
fn find(dir: &Dir, told: &[u8], kind: Kind, size: Option<u64>, is_told: bool) -> Option<(Component, Meta)> {
    let is_kind = |meta: &Meta| meta.kind == kind;
    let plain = |bytes: &[u8]| {
        let name = name_of(bytes)?;
        let meta = dir.find(&name).ok().flatten().filter(is_kind)?;
        Some((name, meta))
    };
    let partial = || {
        let name = [told, PARTIAL].concat();
        (kind == Kind::File).then(|| plain(&name)).flatten()
    };
    if let Some(found) = plain(told).or_else(partial) {
        return Some(found);
    }
    if !is_told || !is_garbled(told) {
        return None;
    }
    let wanted = folded(told);
    let mut alike = Vec::new();
    let read = each(dir, |name, _| {
        let stem = name.as_bytes().strip_suffix(PARTIAL).unwrap_or(name.as_bytes());
        if folded(stem) == wanted
            && let Ok(Some(meta)) = dir.find(&name)
            && is_kind(&meta)
            && size.is_none_or(|size| size == meta.size)
        {
            alike.push((name, meta));
        }
        Ok(())
    });
    match (read, alike.len()) {
        (Ok(()), 1) => alike.pop(),
        _ => None,
    }
}

/// True if a client may have written the name in place of characters that it could not write.
fn is_garbled(name: &[u8]) -> bool {
    name.contains(&b'?') || String::from_utf8_lossy(name).contains('\u{fffd}')
}

/// Name with each run of characters that a client may be unable to write as one `?`.
fn folded(name: &[u8]) -> Vec<u8> {
    let mut folded: Vec<u8> = Vec::with_capacity(name.len());
    for byte in name {
        let byte = if byte.is_ascii() { *byte } else { b'?' };
        if byte != b'?' || folded.last() != Some(&b'?') {
            folded.push(byte);
        }
    }
    folded
}

/// Fate of a file that was seen.
enum Became {
    Gone,
    /// The directory it is in, and its name there.
    Same(Dir, Component),
    /// Something else is at its place.
    Other,
}

fn look(above: &Dir, top: &Component, file: &SeenFile) -> Result<Became, Errno> {
    let is_gone = |errno| match errno {
        Errno::NOENT | Errno::NOTDIR => Ok(Became::Gone),
        other => Err(other),
    };
    let (dir, name) = if file.path.is_empty() {
        (above.try_clone()?, top.clone())
    } else {
        let mut names = names(&file.path).ok_or(Errno::INVAL)?;
        let name = names.pop().ok_or(Errno::INVAL)?;
        let mut dir = match above.child(top) {
            Ok(dir) => dir,
            Err(errno) => return is_gone(errno),
        };
        for name in names {
            dir = match dir.child(&name) {
                Ok(dir) => dir,
                Err(errno) => return is_gone(errno),
            };
        }
        (dir, name)
    };
    Ok(match dir.find(&name)? {
        None => Became::Gone,
        Some(meta) if meta.identity.inode == file.inode && !meta.is_dir() => Became::Same(dir, name),
        Some(_) => Became::Other,
    })
}

/// The files that are still those that were seen.
pub fn count_remains(roots: &Roots, seen: &DataSeen) -> Result<usize, FsError> {
    let Some((above, top)) = place_of(roots, seen)? else {
        return Ok(0);
    };
    let is_there = |file: &&SeenFile| !matches!(look(&above, &top, file), Ok(Became::Gone | Became::Other));
    Ok(seen.files.iter().filter(is_there).count())
}

fn place_of(roots: &Roots, seen: &DataSeen) -> Result<Option<(Dir, Component)>, FsError> {
    let name = path_of(&seen.top)
        .file_name()
        .and_then(|name| name_of(name.as_bytes()));
    Ok(open_above(roots, &seen.top)?.zip(name))
}

/// Removes the files that are still those that were seen, and then the folders of theirs in which nothing is left.
pub fn remove_remains(roots: &Roots, seen: &DataSeen) -> Result<Vec<Stayed>, FsError> {
    let Some((above, top)) = place_of(roots, seen)? else {
        return Ok(Vec::new());
    };
    let mut stayed = Vec::new();
    for file in &seen.files {
        let removed = match look(&above, &top, file) {
            Ok(Became::Gone | Became::Other) => Ok(()),
            Ok(Became::Same(dir, name)) => match dir.remove_file(&name) {
                Ok(()) | Err(Errno::NOENT) => Ok(()),
                Err(errno) => Err(errno),
            },
            Err(errno) => Err(errno),
        };
        if let Err(errno) = removed {
            let path = path_of(&seen.top).join(path_of(&file.path));
            stayed.push(Stayed {
                path: path.to_string_lossy().trim_end_matches('/').to_owned(),
                why: FsError::os(errno, path.display()).to_string(),
            });
        }
    }
    if !seen.files.iter().all(|file| file.path.is_empty()) {
        remove_folders(&above, &top, seen);
    }
    // A file system that cannot keep that across a power cut keeps the files: nothing is lost.
    let _ = above.sync();
    Ok(stayed)
}

/// Removes the torrent's folders that are empty, the deepest first; the others stay.
fn remove_folders(above: &Dir, top: &Component, seen: &DataSeen) {
    let mut folders: Vec<Vec<Component>> = Vec::new();
    for file in &seen.files {
        let mut names = names(&file.path).unwrap_or_default();
        while names.pop().is_some() && !names.is_empty() {
            folders.push(names.clone());
        }
    }
    folders.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    folders.dedup();
    for mut folder in folders {
        let Some(name) = folder.pop() else { continue };
        let dir = above
            .child(top)
            .and_then(|top| folder.iter().try_fold(top, |dir, name| dir.child(name)));
        // One that has something in it is not ours to remove.
        let _ = dir.and_then(|dir| dir.remove_dir(&name));
    }
    let _ = above.remove_dir(top);
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    struct Site {
        dir: tempfile::TempDir,
        roots: Roots,
    }

    impl Site {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let roots = Roots::open(&[dir.path().to_str().unwrap()]);
            Self { dir, roots }
        }

        fn path_to(&self, path: &[u8]) -> std::path::PathBuf {
            self.dir.path().join(path_of(path))
        }

        fn put(&self, path: &[u8]) {
            fs::create_dir_all(self.path_to(path).parent().unwrap()).unwrap();
            fs::write(self.path_to(path), "12345").unwrap();
        }

        fn place(&self, top: &[u8], files: &[&[u8]], is_told: bool) -> DataPlace {
            DataPlace {
                top: self.path_to(top).as_os_str().as_bytes().to_vec(),
                files: files.iter().map(|file| file.to_vec()).collect(),
                sizes: vec![5; files.len().max(1)],
                is_told,
            }
        }

        fn see(&self, top: &[u8], files: &[&[u8]], is_told: bool) -> DataSeen {
            see(&self.roots, &self.place(top, files, is_told))
                .unwrap()
                .expect("the place is seen")
        }
    }

    #[test]
    fn names_of_any_bytes_go_and_nothing_else() {
        let site = Site::new();
        let (emoji, latin) = ("\u{1f3ac} e1".as_bytes(), b"sub/caf\xe9".as_slice());
        for file in [emoji, latin] {
            site.put(&[b"Show/", file].concat());
        }
        site.put(b"Show/notes.txt");
        site.put(b"Show/part.mkv.!qB");
        let seen = site.see(b"Show", &[emoji, latin, b"part.mkv", b"never"], false);
        assert_eq!((seen.files.len(), seen.missing), (3, 1));
        assert_eq!(count_remains(&site.roots, &seen).unwrap(), 3);
        assert_eq!(remove_remains(&site.roots, &seen).unwrap(), []);
        assert_eq!(count_remains(&site.roots, &seen).unwrap(), 0);
        assert!(site.path_to(b"Show/notes.txt").exists() && !site.path_to(b"Show/sub").exists());
        site.put(b"film");
        let seen = site.see(b"film", &[], false);
        assert_eq!(remove_remains(&site.roots, &seen).unwrap(), []);
        assert!(!site.path_to(b"film").exists());
    }

    #[test]
    fn a_name_with_stand_ins_is_the_only_one_that_it_may_stand_for() {
        let site = Site::new();
        site.put("\u{1f3ac}\u{1f3ac}.bin".as_bytes());
        let told = site.see(b"?.bin", &[], true);
        assert_eq!(told.files.len(), 1);
        assert_eq!(
            site.see(b"?.bin", &[], false).files,
            [],
            "a name by its bytes stands for itself"
        );
        site.put(b"caf\xe9.bin");
        assert_eq!(site.see(b"caf?.bin", &[], true).files.len(), 1);
        site.put("\u{e9}.bin".as_bytes());
        assert_eq!(site.see(b"?.bin", &[], true).files, [], "it may be either");
    }

    #[test]
    fn links_are_not_followed_and_what_took_a_file_s_place_stays() {
        let site = Site::new();
        site.put(b"other/e1");
        fs::create_dir(site.path_to(b"Show")).unwrap();
        std::os::unix::fs::symlink(site.path_to(b"other"), site.path_to(b"Show/sub")).unwrap();
        assert_eq!(
            site.see(b"Show", &[b"sub/e1", b"../other/e1", b"/e1"], true)
                .files,
            []
        );
        site.put(b"Show/e2");
        let seen = site.see(b"Show", &[b"e2"], false);
        fs::rename(site.path_to(b"Show/e2"), site.path_to(b"Show/kept")).unwrap();
        site.put(b"Show/e2");
        assert_eq!(count_remains(&site.roots, &seen).unwrap(), 0);
        assert_eq!(remove_remains(&site.roots, &seen).unwrap(), []);
        assert!(site.path_to(b"Show/e2").exists() && site.path_to(b"other/e1").exists());
        let outside = tempfile::tempdir().unwrap();
        let place = DataPlace {
            top: outside.path().join("x").as_os_str().as_bytes().to_vec(),
            ..DataPlace::default()
        };
        assert_eq!(see(&site.roots, &place).unwrap(), None);
    }
}
