//! Check that a copy is complete, made before its source is removed: every entry, its kind and size, and that it was not
//! changed meanwhile; on demand the content, by BLAKE3.

use std::fs::File;
use std::io::Read;

use rustix::fs::{Advice, fadvise};

use super::Control;
use super::tree::{At, Descent, Visitor};
use qm_confined::{Component, Dir, FsError, Kind, Meta};

/// File systems keep times to two seconds at worst.
const COARSEST_SECONDS: i64 = 2;
/// Steps in which some file systems keep the parts of a second, in nanoseconds: NTFS and network shares; others; exFAT.
const STEPS: [u32; 4] = [100, 1_000, 1_000_000, 10_000_000];

pub(super) struct Comparer<'a> {
    copy: Descent,
    by_content: bool,
    control: &'a Control,
}

impl<'a> Comparer<'a> {
    pub fn new(copy: Dir, by_content: bool, control: &'a Control) -> rustix::io::Result<Self> {
        Ok(Self {
            copy: Descent::new(copy)?,
            by_content,
            control,
        })
    }
}

/// Compares the entry `name` in `copy` with `at`: `Changed` for another kind, size or time, `Mismatch` for other content.
pub(super) fn compare_item(
    at: &At<'_>,
    copy: &Dir,
    name: &Component,
    by_content: bool,
    control: &Control,
) -> Result<(), FsError> {
    let shown = || at.rel.join(at.name).text();
    let source = at.meta()?;
    let Some(made) = copy.find(name).map_err(|e| at.failed(e))? else {
        return Err(FsError::Changed(shown()));
    };
    if source.kind != made.kind {
        return Err(FsError::Changed(shown()));
    }
    if source.kind != Kind::File {
        return Ok(());
    }
    if source.size != made.size || was_touched(source.times.modified, made.times.modified) {
        return Err(FsError::Changed(shown()));
    }
    if by_content && hash(at, at.dir, at.name, control)? != hash(at, copy, name, control)? {
        return Err(FsError::Mismatch(shown()));
    }
    Ok(())
}

/// The copy has its source's time of the moment it was read: exactly, or as a coarse file system keeps it. Where it could
/// not be set it has the time of the copying, which is later.
fn was_touched(source: (i64, u32), made: (i64, u32)) -> bool {
    let is_coarse = made.1 == 0 && source.0 - made.0 <= COARSEST_SECONDS;
    let is_kept_in = |step: &u32| {
        made.1.is_multiple_of(*step) && source.1.checked_sub(made.1).is_some_and(|gap| gap < *step)
    };
    let is_stepped = source.0 == made.0 && STEPS.iter().any(is_kept_in);
    source > made && !is_coarse && !is_stepped
}

/// BLAKE3 of a file, read from the disk instead of the page cache where the system allows it.
fn hash(at: &At<'_>, dir: &Dir, name: &Component, control: &Control) -> Result<blake3::Hash, FsError> {
    let (mut file, _): (File, Meta) = dir.read(name).map_err(|e| at.failed(e))?;
    let _ = fadvise(&file, 0, None, Advice::DontNeed);
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        control.check()?;
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hasher.finalize()),
            Ok(read) => {
                hasher.update(&buffer[..read]);
            }
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(FsError::io(e, at.rel.join(name))),
        }
    }
}

impl Visitor for Comparer<'_> {
    fn item(&mut self, at: &At<'_>, _: Kind) -> Result<(), FsError> {
        compare_item(at, self.copy.current(), at.name, self.by_content, self.control)
    }

    fn enter(&mut self, at: &At<'_>) -> Result<bool, FsError> {
        self.copy
            .down(at.name)
            .map_err(|_| FsError::Changed(at.rel.join(at.name).text()))?;
        Ok(true)
    }

    fn leave(&mut self, at: &At<'_>) -> Result<(), FsError> {
        self.copy.up().map_err(|e| at.failed(e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_compared_as_file_systems_keep_them() {
        let source = (1_700_000_000, 123_456_789);
        for kept in [123_456_789, 123_456_700, 123_456_000, 123_000_000, 120_000_000, 0] {
            assert!(!was_touched(source, (source.0, kept)), "{kept}");
        }
        // FAT keeps every second second.
        assert!(!was_touched(source, (source.0 - 1, 0)) && !was_touched(source, (source.0 - 2, 0)));
        // It could not be set.
        assert!(!was_touched(source, (source.0 + 5, 1)));
        for touched in [
            (source.0, 123_456_788),
            (source.0, 123_456_600),
            (source.0, 110_000_000),
            (source.0 - 1, 123_456_789),
            (source.0 - 9, 0),
        ] {
            assert!(was_touched(source, touched), "{touched:?}");
        }
    }
}
