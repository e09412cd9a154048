//! Looks at the directories of items and shows, for pictures and subtitles beside media. Through handles alone; nothing is opened but
//! directories.
//!
//! Bounds: [`MAX_DIRECTORIES`] directories a look, [`MAX_NAMES`] names a directory, [`MAX_FOUND`] pictures.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use qm_confined::{FsError, Intent, Roots};
use qm_lanes::Cancel;
use qm_media_names::place;

use crate::model::ArtKind;
use crate::model::local::{self, Found, Look};
use crate::model::subtitle::{self, Tag};

/// Most directories of one look.
const MAX_DIRECTORIES: usize = 128;
/// Most names that are read of a directory.
const MAX_NAMES: usize = 20_000;
/// Most pictures of one look.
const MAX_FOUND: usize = 200;
/// Folder of further pictures behind a film or show.
const MORE_FANART: &str = "extrafanart";
/// Folder in which pictures have the names of their videos.
const OF_VIDEOS: &str = "metadata";

/// Path of a place below a library's directory.
pub fn path_of(library: &str, at: &str) -> PathBuf {
    let below = place::decode(at);
    if below.is_empty() {
        PathBuf::from(library)
    } else {
        Path::new(library).join(OsStr::from_bytes(&below))
    }
}

/// Looks for the pictures of an item: in the directories of its files, and in those above them.
pub fn look_for_item(
    roots: &Roots,
    library: &str,
    places: &[String],
    is_episode: bool,
    cancel: &Cancel,
) -> Look {
    let mut looking = Looking::new(roots, library, cancel);
    let mut own: Vec<(String, Vec<String>)> = Vec::new();
    for at in places {
        let above = place::parent(at).unwrap_or_default();
        let stem = local::stem_of(&name_of(at));
        match own.iter_mut().find(|(directory, _)| *directory == above) {
            Some((_, stems)) => stems.push(stem),
            None => own.push((above, vec![stem])),
        }
    }
    for (directory, stems) in &mut own {
        // The longest first: one may begin with another.
        stems.sort_by_key(|stem| std::cmp::Reverse(stem.len()));
        let names = looking.read(directory);
        looking.take(directory, &names, |name| {
            local::read_name(name, stems, is_episode)
        });
        looking.take_folder(directory, &names, MORE_FANART, |name| {
            let (stem, ending) = local::split(name)?;
            Some((ArtKind::Fanart, None, format!("{MORE_FANART}/{stem}{ending}")))
        });
        looking.take_folder(directory, &names, OF_VIDEOS, |name| {
            let (stem, ending) = local::split(name)?;
            local::read_own(&stem, &ending, stems, is_episode)
        });
    }
    let mut above: Vec<String> = Vec::new();
    for (directory, _) in &own {
        let mut next = place::parent(directory);
        while let Some(directory) = next.filter(|directory| !directory.is_empty()) {
            next = place::parent(&directory);
            let is_known = above.contains(&directory) || own.iter().any(|(own, _)| *own == directory);
            if !is_known {
                above.push(directory);
            }
        }
    }
    for directory in &above {
        let names = looking.read(directory);
        looking.take(directory, &names, general);
    }
    looking.look
}

/// Looks for the pictures of a show: in its folder, and in the folders of its seasons.
pub fn look_for_show(roots: &Roots, library: &str, folder: &str, cancel: &Cancel) -> Look {
    let mut looking = Looking::new(roots, library, cancel);
    let names = looking.read(folder);
    looking.take(folder, &names, general);
    looking.take_folder(folder, &names, MORE_FANART, |name| {
        let (stem, ending) = local::split(name)?;
        Some((ArtKind::Fanart, None, format!("{MORE_FANART}/{stem}{ending}")))
    });
    for name in &names {
        let shown = String::from_utf8_lossy(name).into_owned();
        let Some(season) = local::season_of_folder(&shown) else {
            continue;
        };
        let directory = join(folder, name);
        let inner = looking.read(&directory);
        looking.take(&directory, &inner, |name| {
            let (kind, own, slot) = general(name)?;
            let kind = if kind == ArtKind::Poster {
                ArtKind::SeasonPoster
            } else {
                kind
            };
            Some((kind, own.or(Some(season)), format!("{season}/{slot}")))
        });
    }
    looking.look
}

/// Looks for the subtitles of an item in the directories of its files: places with what their names say, and the directories
/// that could not be read.
pub fn look_for_subtitles(
    roots: &Roots,
    library: &str,
    places: &[String],
    cancel: &Cancel,
) -> (Vec<(String, Tag)>, BTreeSet<String>) {
    let mut looking = Looking::new(roots, library, cancel);
    let directories: BTreeSet<String> = places
        .iter()
        .map(|at| place::parent(at).unwrap_or_default())
        .collect();
    let mut found = Vec::new();
    for directory in &directories {
        let names = looking.read(directory);
        let shown: Vec<String> = names
            .iter()
            .map(|name| String::from_utf8_lossy(name).to_lowercase())
            .collect();
        let mut videos: Vec<String> = shown
            .iter()
            .filter(|name| subtitle::is_video(name))
            .map(|name| local::stem_of(name))
            .collect();
        let is_here = |at: &&String| place::parent(at).unwrap_or_default() == *directory;
        let own: BTreeSet<String> = places
            .iter()
            .filter(is_here)
            .map(|at| local::stem_of(&name_of(at)))
            .collect();
        videos.extend(own.iter().cloned());
        // The longest first: one may begin with another.
        videos.sort_by_key(|stem| std::cmp::Reverse(stem.len()));
        videos.dedup();
        for (name, shown) in names.iter().zip(&shown) {
            let Some((stem, tag)) = subtitle::read_name(shown, &videos) else {
                continue;
            };
            if own.contains(stem) && found.len() < MAX_FOUND {
                found.push((join(directory, name), tag));
            }
        }
    }
    (found, looking.look.unread)
}

/// Meaning of a name that needs no video.
fn general(name: &str) -> Option<local::Meaning> {
    let (stem, ending) = local::split(name)?;
    local::read_general(&stem, &ending)
}

/// Last name of a place, as people see it.
fn name_of(at: &str) -> String {
    let path = place::decode(at);
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    String::from_utf8_lossy(name).into_owned()
}

fn join(directory: &str, name: &[u8]) -> String {
    place::encode(&place::join(&place::decode(directory), OsStr::from_bytes(name)))
}

/// A look that goes on.
struct Looking<'a> {
    roots: &'a Roots,
    library: &'a str,
    cancel: &'a Cancel,
    read: usize,
    seen: BTreeSet<String>,
    look: Look,
}

impl<'a> Looking<'a> {
    fn new(roots: &'a Roots, library: &'a str, cancel: &'a Cancel) -> Self {
        Self {
            roots,
            library,
            cancel,
            read: 0,
            seen: BTreeSet::new(),
            look: Look::default(),
        }
    }

    /// Names in a directory, in the order of their bytes.
    fn read(&mut self, directory: &str) -> Vec<Vec<u8>> {
        self.read += 1;
        if self.read <= MAX_DIRECTORIES
            && !self.cancel.is_set()
            && let Ok((names, is_whole)) = read_names(self.roots, &path_of(self.library, directory))
        {
            if !is_whole {
                self.look.unread.insert(directory.to_owned());
            }
            return names;
        }
        // A mount that is not there looks like a directory that is gone.
        self.look.unread.insert(directory.to_owned());
        Vec::new()
    }

    /// Takes the pictures among the names of a directory.
    fn take(&mut self, directory: &str, names: &[Vec<u8>], read: impl Fn(&str) -> Option<local::Meaning>) {
        let mut found = Vec::new();
        for name in names {
            let shown = String::from_utf8_lossy(name);
            let Some((kind, season, slot)) = read(&shown) else {
                continue;
            };
            let at = join(directory, name);
            if self.seen.insert(at.clone()) {
                found.push(Found {
                    place: at,
                    kind,
                    season,
                    slot,
                });
            }
        }
        found.sort_by_cached_key(|found| (local::rank(&found.slot), found.place.clone()));
        let room = MAX_FOUND.saturating_sub(self.look.found.len());
        self.look.found.extend(found.into_iter().take(room));
    }

    /// Takes the pictures in a folder of this name, in whatever letters, if there is one.
    fn take_folder(
        &mut self,
        directory: &str,
        names: &[Vec<u8>],
        folder: &str,
        read: impl Fn(&str) -> Option<local::Meaning>,
    ) {
        let is_it = |name: &&Vec<u8>| name.eq_ignore_ascii_case(folder.as_bytes());
        if let Some(name) = names.iter().find(is_it) {
            let directory = join(directory, name);
            let names = self.read(&directory);
            self.take(&directory, &names, read);
        }
    }
}

/// Names in a directory, and false where there are more.
fn read_names(roots: &Roots, path: &Path) -> Result<(Vec<Vec<u8>>, bool), FsError> {
    let directory = roots.item(path, Intent::Read)?.open_dir()?;
    let shown = path.display();
    let mut names = Vec::new();
    for entry in directory.entries().map_err(|errno| FsError::os(errno, &shown))? {
        let entry = entry.map_err(|errno| FsError::os(errno, &shown))?;
        let name = entry.file_name().to_bytes();
        if name.starts_with(b".") {
            continue;
        }
        if names.len() >= MAX_NAMES {
            names.sort_unstable();
            return Ok((names, false));
        }
        names.push(name.to_vec());
    }
    names.sort_unstable();
    Ok((names, true))
}
