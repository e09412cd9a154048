//! Listing a directory: sorted as people sort, one stat an entry shown.
//!
//! Bounds: [`MAX_ENTRIES`] entries an answer; while reading, names and sort keys of twice offset and limit together, however
//! many entries the directory has.

use icu_collator::options::{CollatorOptions, Strength};
use icu_collator::{Collator, CollatorBorrowed};
use qm_kernel::Timestamp;
use rustix::io::Errno;

use super::Control;
use super::tree::{Failed, each};
use qm_confined::{Component, ConfinedPath, Dir, FsError, Kind, Meta};

/// More entries than a caller can want in one answer; the rest comes with an offset.
pub const MAX_ENTRIES: usize = 200_000;

/// The part of the sorted listing that is wanted. `limit` none: all of it, up to [`MAX_ENTRIES`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Page {
    pub offset: usize,
    pub limit: Option<usize>,
}

#[derive(Debug)]
pub struct Listing {
    /// Entries of the directory, hidden ones not counted.
    pub total: usize,
    pub items: Vec<Entry>,
}

#[derive(Debug)]
pub struct Entry {
    pub name: Component,
    /// The entry's own: a link is a link.
    pub kind: Kind,
    /// Size in bytes. A directory's is that of its own inode; a link's is its target's, 0 when that is missing or outside.
    pub size: u64,
    /// None when a link's target is missing or outside.
    pub modified: Option<Timestamp>,
}

/// Sort key of an entry, with its name. Ordered as the list is.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    is_file: bool,
    /// Empty for names that are not text: by their bytes, after all others.
    is_raw: bool,
    key: Box<[u8]>,
    name: Component,
}

/// Directories first, then by name as people sort. Links are resolved in the base of `dir`.
pub fn list(dir: &ConfinedPath, page: Page, control: &Control) -> Result<Listing, FsError> {
    let handle = dir.open_dir()?;
    let limit = page.limit.unwrap_or(MAX_ENTRIES).min(MAX_ENTRIES);
    let wanted = page.offset.saturating_add(limit);
    let (total, places) = first_places(&handle, wanted, control).map_err(|failed| match failed {
        Failed::Read(errno) => FsError::os(errno, dir.rel()),
        Failed::Caller(error) => error,
    })?;
    let mut items = Vec::with_capacity(places.len().saturating_sub(page.offset));
    for place in places.into_iter().skip(page.offset) {
        control.check()?;
        match entry(dir, &handle, place.name) {
            Ok(entry) => items.push(entry),
            // Removed while the directory was read.
            Err(FsError::NotFound(_)) => {}
            Err(other) => return Err(other),
        }
    }
    Ok(Listing { total, items })
}

/// The number of entries, and the first `wanted` of them in order.
fn first_places(dir: &Dir, wanted: usize, control: &Control) -> Result<(usize, Vec<Place>), Failed> {
    let collator = collator().map_err(Failed::Caller)?;
    let mut total = 0;
    let mut places: Vec<Place> = Vec::new();
    // Sorted down to the wanted ones each time twice as many have gathered: memory follows what is shown.
    let keep = |places: &mut Vec<Place>| {
        places.sort_unstable();
        places.truncate(wanted);
    };
    each(dir, |name, kind| {
        control.check()?;
        if name.is_hidden() {
            return Ok(());
        }
        let kind = match kind {
            Some(kind) => kind,
            None => match dir.find(&name) {
                Ok(Some(meta)) => meta.kind,
                Ok(None) => return Ok(()),
                Err(errno) => return Err(FsError::os(errno, name.text())),
            },
        };
        total += 1;
        places.push(place(&collator, name, kind));
        if places.len() >= wanted.saturating_mul(2).max(1024) {
            keep(&mut places);
        }
        Ok(())
    })?;
    keep(&mut places);
    Ok((total, places))
}

fn collator() -> Result<CollatorBorrowed<'static>, FsError> {
    let mut options = CollatorOptions::default();
    options.strength = Some(Strength::Tertiary);
    Collator::try_new(Default::default(), options).map_err(|error| FsError::Io {
        path: "the sort order of names".into(),
        source: std::io::Error::other(error),
    })
}

fn place(collator: &CollatorBorrowed<'static>, name: Component, kind: Kind) -> Place {
    let mut key = Vec::new();
    let text = name.as_os().to_str();
    if let Some(text) = text {
        // Writing to memory does not fail.
        let _ = collator.write_sort_key_to(text, &mut key);
    }
    Place {
        is_file: kind != Kind::Directory,
        is_raw: text.is_none(),
        key: key.into_boxed_slice(),
        name,
    }
}

fn entry(dir: &ConfinedPath, handle: &Dir, name: Component) -> Result<Entry, FsError> {
    let meta = match handle.stat(&name) {
        Ok(stat) => Meta::from_stat(&stat),
        Err(Errno::NOENT) => return Err(FsError::NotFound(name.text())),
        Err(errno) => return Err(FsError::os(errno, dir.rel().join(&name))),
    };
    let (size, modified) = if meta.kind == Kind::Link {
        let target = dir.below(&name).and_then(|target| target.meta());
        target.map_or((0, None), |target| (target.size, Some(target.modified)))
    } else {
        (meta.size, Some(meta.modified))
    };
    Ok(Entry {
        name,
        kind: meta.kind,
        size,
        modified,
    })
}
