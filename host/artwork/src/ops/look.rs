//! Looks at the directories of items and shows, for pictures and subtitles beside media. Through handles alone; nothing is opened but
//! directories.
//!
//! Bounds: [`MAX_DIRECTORIES`] directories a look, [`MAX_NAMES`] names a directory, [`MAX_FOUND`] pictures. Looks that share
//! [`Listings`] read a directory once, and an item's own names are found by their beginnings: a directory of 10,000 videos costs
//! no more for each of them than one of ten. Kept names: [`MAX_KEPT`].

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use qm_confined::{FsError, Intent, Roots};
use qm_lanes::Cancel;
use qm_media_names::place;

use crate::model::ArtKind;
use crate::model::local::{self, Found, Look};
use crate::model::subtitle::{self, Tag};

/// Most directories of one look.
const MAX_DIRECTORIES: usize = 128;
/// Most names that are read of a directory.
const MAX_NAMES: usize = 50_000;
/// Most names that looks share.
const MAX_KEPT: usize = 100_000;
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
    listings: &mut Listings,
    cancel: &Cancel,
) -> Look {
    let mut looking = Looking::new(roots, library, listings, cancel);
    let mut videos = Vec::new();
    let mut own: Vec<(String, Vec<String>)> = Vec::new();
    for (directory, names) in by_directory(places) {
        let shown = names
            .iter()
            .map(|name| String::from_utf8_lossy(name).into_owned());
        own.push((directory, shown.map(|name| local::stem_of(&name)).collect()));
        videos.push(names);
    }
    for ((directory, stems), videos) in own.iter_mut().zip(videos) {
        // The longest first: one may begin with another.
        stems.sort_by_key(|stem| std::cmp::Reverse(stem.len()));
        let stems = &**stems;
        let listing = looking.read_beside(directory, &videos);
        let which = listing.find_own(stems);
        looking.take(directory, &listing, &which, |name| {
            local::read_name(name, stems, is_episode)
        });
        looking.take_folder(directory, &listing, (MORE_FANART, Listing::find_all), |name| {
            let (stem, ending) = local::split(name)?;
            Some((ArtKind::Fanart, None, format!("{MORE_FANART}/{stem}{ending}")))
        });
        looking.take_folder(
            directory,
            &listing,
            (OF_VIDEOS, |inner: &Listing| inner.find_own(stems)),
            |name| {
                let (stem, ending) = local::split(name)?;
                local::read_own(&stem, &ending, stems, is_episode)
            },
        );
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
    let is_sure = looking.look.unread.is_empty();
    for directory in &above {
        let listing = looking.read(directory);
        if !is_sure {
            looking.look.unread.insert(directory.clone());
        }
        looking.take(directory, &listing, &listing.general, general);
    }
    looking.look
}

/// Looks for the pictures of a show: in its folder, and in the folders of its seasons.
pub fn look_for_show(
    roots: &Roots,
    library: &str,
    folder: &str,
    listings: &mut Listings,
    cancel: &Cancel,
) -> Look {
    let mut looking = Looking::new(roots, library, listings, cancel);
    let listing = looking.read(folder);
    looking.take(folder, &listing, &listing.general, general);
    looking.take_folder(folder, &listing, (MORE_FANART, Listing::find_all), |name| {
        let (stem, ending) = local::split(name)?;
        Some((ArtKind::Fanart, None, format!("{MORE_FANART}/{stem}{ending}")))
    });
    for name in &listing.names {
        let shown = String::from_utf8_lossy(name).into_owned();
        let Some(season) = local::season_of_folder(&shown) else {
            continue;
        };
        let directory = join(folder, name);
        let inner = looking.read(&directory);
        looking.take(&directory, &inner, &inner.general, |name| {
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
    listings: &mut Listings,
    cancel: &Cancel,
) -> (Vec<(String, Tag)>, BTreeSet<String>) {
    let mut looking = Looking::new(roots, library, listings, cancel);
    let mut found = Vec::new();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for (directory, names) in &by_directory(places) {
        let listing = looking.read_beside(directory, names);
        let shown = names.iter().map(|name| String::from_utf8_lossy(name));
        let own: BTreeSet<String> = shown.map(|name| local::stem_of(&name)).collect();
        // Another video can have a file for itself only if its own name begins with that of ours, or ours with its.
        for stem in &own {
            let near = listing.with_beginning(stem);
            let videos = near.iter().filter(|(name, _)| subtitle::is_video(name));
            let mut videos: HashSet<String> = videos.map(|(name, _)| local::stem_of(name)).collect();
            videos.extend(own.iter().cloned());
            for (shown, at) in near {
                let Some(video) = video_of(shown, &videos) else {
                    continue;
                };
                let Some((_, tag)) = subtitle::read_name(shown, std::slice::from_ref(video)) else {
                    continue;
                };
                let at = join(directory, &listing.names[*at]);
                if own.contains(video) && found.len() < MAX_FOUND && seen.insert(at.clone()) {
                    found.push((at, tag));
                }
            }
        }
    }
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    (found, looking.look.unread)
}

/// Names of the pictures in a directory that need no video; `None`: it cannot be read to its end.
pub fn list_general(
    roots: &Roots,
    library: &str,
    directory: &str,
    listings: &mut Listings,
    cancel: &Cancel,
) -> Option<Vec<Vec<u8>>> {
    let mut looking = Looking::new(roots, library, listings, cancel);
    let listing = looking.read(directory);
    let names = listing.general.iter().map(|at| listing.names[*at].clone());
    looking.look.unread.is_empty().then(|| names.collect())
}

/// The video with the longest stem that a name begins with, up to a letter or digit. A directory may have thousands of videos
/// whose names begin alike, so they are looked up by each beginning of the name.
fn video_of<'a>(name: &str, videos: &'a HashSet<String>) -> Option<&'a String> {
    let (stem, _) = name.rsplit_once('.')?;
    let ends = stem.char_indices().rev();
    let ends = ends
        .filter(|(_, letter)| !letter.is_alphanumeric())
        .map(|(at, _)| at);
    std::iter::once(stem.len())
        .chain(ends)
        .find_map(|end| videos.get(&stem[..end]))
}

/// Meaning of a name that needs no video.
fn general(name: &str) -> Option<local::Meaning> {
    let (stem, ending) = local::split(name)?;
    local::read_general(&stem, &ending)
}

/// Directories of places, each with the names there, in the order of the places.
fn by_directory(places: &[String]) -> Vec<(String, Vec<Vec<u8>>)> {
    let mut found: Vec<(String, Vec<Vec<u8>>)> = Vec::new();
    for at in places {
        let above = place::parent(at).unwrap_or_default();
        let path = place::decode(at);
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        match found.iter_mut().find(|(directory, _)| *directory == above) {
            Some((_, names)) => names.push(name.to_vec()),
            None => found.push((above, vec![name.to_vec()])),
        }
    }
    found
}

fn join(directory: &str, name: &[u8]) -> String {
    place::encode(&place::join(&place::decode(directory), OsStr::from_bytes(name)))
}

/// Directories that looks have read.
#[derive(Default)]
pub struct Listings {
    /// By library and directory; `None`: it cannot be read.
    read: HashMap<(String, String), Option<Arc<Listing>>>,
    names: usize,
    /// Number of directories that were read from the disk.
    #[cfg(test)]
    reads: usize,
}

/// Names in a directory.
#[derive(Default)]
struct Listing {
    /// In the order of their bytes.
    names: Vec<Vec<u8>>,
    /// False where there are more.
    is_whole: bool,
    /// Names in small letters, sorted, with their positions among the names.
    small: Vec<(String, usize)>,
    /// Positions of pictures that need no video.
    general: Vec<usize>,
}

impl Listing {
    fn new(names: Vec<Vec<u8>>, is_whole: bool) -> Self {
        let shown: Vec<String> = names
            .iter()
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect();
        let is_general = |at: &usize| general(&shown[*at]).is_some();
        let general = (0..shown.len()).filter(is_general).collect();
        let mut small: Vec<(String, usize)> = shown
            .iter()
            .enumerate()
            .map(|(at, name)| (name.to_lowercase(), at))
            .collect();
        small.sort_unstable();
        Self {
            names,
            is_whole,
            small,
            general,
        }
    }

    /// Names in small letters that begin with a text in small letters, with their positions.
    fn with_beginning(&self, text: &str) -> &[(String, usize)] {
        let from = self.small.partition_point(|(name, _)| name.as_str() < text);
        let behind = &self.small[from..];
        let count = behind.partition_point(|(name, _)| name.starts_with(text));
        &behind[..count]
    }

    fn find_all(&self) -> Vec<usize> {
        (0..self.names.len()).collect()
    }

    /// Positions of names that need no video, or begin with that of a video with one of these stems, in their order.
    fn find_own(&self, stems: &[String]) -> Vec<usize> {
        let own = stems.iter().flat_map(|stem| self.with_beginning(stem));
        let mut which: Vec<usize> = own
            .map(|(_, at)| *at)
            .chain(self.general.iter().copied())
            .collect();
        which.sort_unstable();
        which.dedup();
        which
    }
}

/// A look that goes on.
struct Looking<'a> {
    roots: &'a Roots,
    library: &'a str,
    listings: &'a mut Listings,
    cancel: &'a Cancel,
    read: usize,
    seen: BTreeSet<String>,
    look: Look,
}

impl<'a> Looking<'a> {
    fn new(roots: &'a Roots, library: &'a str, listings: &'a mut Listings, cancel: &'a Cancel) -> Self {
        Self {
            roots,
            library,
            listings,
            cancel,
            read: 0,
            seen: BTreeSet::new(),
            look: Look::default(),
        }
    }

    /// Names in a directory.
    fn read(&mut self, directory: &str) -> Arc<Listing> {
        self.read += 1;
        let listing = if self.read <= MAX_DIRECTORIES && !self.cancel.is_set() {
            self.list(directory)
        } else {
            None
        };
        if listing.as_ref().is_none_or(|listing| !listing.is_whole) {
            // A mount that is not there looks like a directory that is gone.
            self.look.unread.insert(directory.to_owned());
        }
        listing.unwrap_or_default()
    }

    /// Names in the directory of some videos. Where none of them is there, nothing is known: a disk that is not there leaves an
    /// empty directory.
    fn read_beside(&mut self, directory: &str, videos: &[Vec<u8>]) -> Arc<Listing> {
        let listing = self.read(directory);
        if !videos
            .iter()
            .any(|name| listing.names.binary_search(name).is_ok())
        {
            self.look.unread.insert(directory.to_owned());
        }
        listing
    }

    /// Names in a directory, as they were read for this look or an earlier one; `None`: it cannot be read.
    fn list(&mut self, directory: &str) -> Option<Arc<Listing>> {
        let key = (self.library.to_owned(), directory.to_owned());
        if let Some(known) = self.listings.read.get(&key) {
            return known.clone();
        }
        #[cfg(test)]
        {
            self.listings.reads += 1;
        }
        let read = read_names(self.roots, &path_of(self.library, directory)).ok();
        let listing = read.map(|(names, is_whole)| Arc::new(Listing::new(names, is_whole)));
        self.listings.names += listing.as_ref().map_or(1, |listing| listing.names.len() + 1);
        if self.listings.names > MAX_KEPT {
            *self.listings = Listings::default();
        }
        self.listings.read.insert(key, listing.clone());
        listing
    }

    /// Takes the pictures among those names of a directory that stand at these positions.
    fn take(
        &mut self,
        directory: &str,
        listing: &Listing,
        which: &[usize],
        read: impl Fn(&str) -> Option<local::Meaning>,
    ) {
        let mut found = Vec::new();
        for name in which.iter().map(|at| &listing.names[*at]) {
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

    /// Takes the chosen pictures in a folder of this name, in whatever letters, if there is one.
    fn take_folder(
        &mut self,
        directory: &str,
        listing: &Listing,
        (folder, choose): (&str, impl Fn(&Listing) -> Vec<usize>),
        read: impl Fn(&str) -> Option<local::Meaning>,
    ) {
        let near = listing.with_beginning(folder);
        if let Some((_, at)) = near.first().filter(|(name, _)| name == folder) {
            let directory = join(directory, &listing.names[*at]);
            let inner = self.read(&directory);
            self.take(&directory, &inner, &choose(&inner), read);
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_flat_directory_of_many_films_is_read_once() {
        const FILMS: usize = 10_000;
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().canonicalize().unwrap().join("films");
        fs::create_dir(&library).unwrap();
        for film in 0..FILMS {
            for ending in ["mkv", "en.srt"] {
                fs::write(library.join(format!("Film {film}.{ending}")), "").unwrap();
            }
        }
        fs::write(library.join("Film 7-poster.jpg"), "").unwrap();
        let library = library.to_str().unwrap();
        let (roots, cancel) = (Roots::open(&[library]), Cancel::default());
        let mut listings = Listings::default();
        for film in 0..FILMS {
            let places = [format!("Film {film}.mkv")];
            let (subtitles, unread) = look_for_subtitles(&roots, library, &places, &mut listings, &cancel);
            let found: Vec<&str> = subtitles.iter().map(|(at, _)| &**at).collect();
            assert_eq!(found, [format!("Film {film}.en.srt")]);
            assert!(unread.is_empty());
            let pictures = look_for_item(&roots, library, &places, false, &mut listings, &cancel);
            assert_eq!(pictures.found.len(), usize::from(film == 7));
        }
        assert_eq!((listings.read.len(), listings.reads), (1, 1));
    }

    #[test]
    fn a_subtitle_is_that_of_the_longest_name_it_begins_with() {
        let videos: HashSet<String> = ["tide", "tide 2", "ebb.", "\u{e9}t\u{e9}"]
            .map(str::to_owned)
            .into();
        for (name, video) in [
            ("tide.srt", Some("tide")),
            ("tide.en.srt", Some("tide")),
            ("tide 2.en.srt", Some("tide 2")),
            ("tide 3.srt", Some("tide")),
            ("tides.srt", None),
            ("ebb..srt", Some("ebb.")),
            ("\u{e9}t\u{e9}.fr.srt", Some("\u{e9}t\u{e9}")),
            ("srt", None),
            (".srt", None),
        ] {
            assert_eq!(video_of(name, &videos).map(String::as_str), video, "{name}");
        }
    }
}
