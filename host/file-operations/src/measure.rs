//! Size of a tree, and bytes that its removal would free.
//!
//! Bounds: [`MAX_SHARED`] files with several names are remembered; further ones count as not freed.

use std::collections::HashMap;

use super::Control;
use super::tree::{At, Visitor, walk};
use qm_confined::{Component, ConfinedPath, Dir, FsError, Identity, Kind, Meta, RelPath};

const MAX_SHARED: usize = 1_000_000;

/// Sums of a tree. Links are not followed and count as items of no size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Entries below the item; 0 for anything but a directory.
    pub items: u64,
    pub files: u64,
    /// Sizes of its regular files; one with several names inside counts once.
    pub bytes: u64,
    /// Bytes that removing it would free: files that have a name outside count nothing.
    pub frees: u64,
    /// Hard links of the item itself; 1 for a directory.
    pub links: u64,
}

pub fn measure(item: &ConfinedPath, control: &Control) -> Result<Usage, FsError> {
    let mut sum = Sum::default();
    sum.take(&item.meta()?, || item.open_dir(), item.rel(), control)?;
    Ok(sum.usage)
}

/// Several items as one: a file with names in two of them counts once, and is freed when all its names lie in them.
/// They must not lie in one another. Each is let go of before the next is taken: there may be more of them than handles.
pub fn measure_all(
    items: impl IntoIterator<Item = ConfinedPath>,
    control: &Control,
) -> Result<Usage, FsError> {
    let mut sum = Sum::default();
    for item in items {
        control.check()?;
        sum.take(&item.meta()?, || item.open_dir(), item.rel(), control)?;
    }
    Ok(sum.usage)
}

/// Same as [`measure`], for an entry that is not a confined path: one in the trash.
pub(super) fn measure_entry(
    dir: &Dir,
    name: &Component,
    rel: &RelPath,
    control: &Control,
) -> Result<Usage, FsError> {
    let failed = |errno| FsError::os(errno, rel);
    let meta = Meta::from_stat(&dir.stat(name).map_err(failed)?);
    let mut sum = Sum::default();
    sum.take(&meta, || dir.child(name).map_err(failed), rel, control)?;
    Ok(sum.usage)
}

/// Same as [`measure`], refused when something is mounted in the tree: the mount would be emptied too.
pub(super) fn measure_for_removal(item: &ConfinedPath, control: &Control) -> Result<Usage, FsError> {
    let meta = item.meta()?;
    let mut sum = Sum {
        device: Some(meta.identity.device),
        ..Sum::default()
    };
    sum.take(&meta, || item.open_dir(), item.rel(), control)?;
    Ok(sum.usage)
}

#[derive(Default)]
struct Sum {
    usage: Usage,
    /// The only device directories may lie on; none: any.
    device: Option<u64>,
    /// Files with several names: how many of them were not seen yet.
    shared: HashMap<Identity, u64>,
}

impl Sum {
    fn take(
        &mut self,
        meta: &Meta,
        open: impl FnOnce() -> Result<Dir, FsError>,
        rel: &RelPath,
        control: &Control,
    ) -> Result<(), FsError> {
        self.usage.links = if meta.is_dir() { 1 } else { meta.links };
        if meta.is_dir() {
            return walk(open()?, rel, self, control);
        }
        self.add(meta);
        Ok(())
    }

    fn add(&mut self, meta: &Meta) {
        if meta.kind != Kind::File {
            return;
        }
        self.usage.files += 1;
        if meta.links <= 1 {
            self.usage.bytes += meta.size;
            self.usage.frees += meta.size;
            return;
        }
        if let Some(unseen) = self.shared.get_mut(&meta.identity) {
            *unseen = unseen.saturating_sub(1);
            if *unseen == 0 {
                self.usage.frees += meta.size;
                // A name that turns up later must not free it again.
                *unseen = u64::MAX;
            }
            return;
        }
        self.usage.bytes += meta.size;
        if self.shared.len() < MAX_SHARED {
            self.shared.insert(meta.identity, meta.links - 1);
        }
    }
}

impl Visitor for Sum {
    fn item(&mut self, at: &At<'_>, kind: Kind) -> Result<(), FsError> {
        self.usage.items += 1;
        if kind != Kind::File {
            return Ok(());
        }
        match at.meta() {
            Ok(meta) => self.add(&meta),
            // Gone since its directory was read.
            Err(FsError::NotFound(_)) => self.usage.items -= 1,
            Err(other) => return Err(other),
        }
        Ok(())
    }

    fn enter(&mut self, at: &At<'_>) -> Result<bool, FsError> {
        self.usage.items += 1;
        if let Some(device) = self.device
            && at.meta()?.identity.device != device
        {
            return Err(FsError::InUse(at.rel.join(at.name).text()));
        }
        Ok(true)
    }

    fn leave(&mut self, _: &At<'_>) -> Result<(), FsError> {
        Ok(())
    }

    fn wants_hidden(&self) -> bool {
        false
    }

    fn is_lenient(&self) -> bool {
        true
    }
}
