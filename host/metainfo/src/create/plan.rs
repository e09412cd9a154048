//! Everything about a torrent but its hashes, from names and sizes.

use super::names::{check_name, check_path, refuse_clashes, show_path};
use super::write::{Hashes, write_torrent};
use super::{CreateError, Format, MAX_PIECE_BYTES, MIN_PIECE_BYTES, Options};
use crate::MAX_TORRENT_BYTES;

/// Files of one torrent at most.
pub const MAX_FILES: usize = 100_000;
/// Folder of padding files, in every client's spelling.
pub(super) const PADDING: &str = ".pad";
/// Pieces to aim at, up to pieces of [`USUAL_PIECE_BYTES`].
const USUAL_PIECES: u64 = 4096;
/// The largest piece that is chosen while there are no more than [`MANY_PIECES`].
const USUAL_PIECE_BYTES: u64 = 16 * 1024 * 1024;
const MANY_PIECES: u64 = 65_536;
/// Padding that is never refused, because it is hashed within a minute.
const HARMLESS_PADDING: u64 = 64 * 1024 * 1024 * 1024;

/// A file of the torrent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlannedFile {
    /// Names from the torrent's own folder down. Empty when the torrent is this one file.
    pub path: Vec<String>,
    /// In bytes.
    pub size: u64,
}

/// A torrent that lacks its hashes.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(super) name: String,
    /// Sorted by path, name by name: the order of a v2 tree, and so of a hybrid's list.
    pub(super) files: Vec<PlannedFile>,
    pub(super) options: Options,
    pub(super) piece_size: u64,
    /// Bytes without padding.
    total: u64,
}

impl Plan {
    /// A torrent of one file.
    pub fn of_file(name: &str, size: u64, options: Options) -> Result<Self, CreateError> {
        let path = Vec::new();
        Self::new(name, vec![PlannedFile { path, size }], options)
    }

    /// A torrent of a folder, whose files come in any order.
    pub fn of_folder(name: &str, mut files: Vec<PlannedFile>, options: Options) -> Result<Self, CreateError> {
        if files.len() > MAX_FILES {
            return Err(CreateError::TooManyFiles);
        }
        for file in &files {
            check_path(&file.path)?;
            if options.format == Format::Hybrid && file.path[0].eq_ignore_ascii_case(PADDING) {
                return Err(CreateError::Padding(show_path(&file.path)));
            }
        }
        refuse_clashes(files.iter().map(|file| file.path.as_slice()))?;
        files.sort_unstable();
        Self::new(name, files, options)
    }

    fn new(name: &str, files: Vec<PlannedFile>, options: Options) -> Result<Self, CreateError> {
        check_name(name, &[name.to_owned()])?;
        options.check_choices()?;
        let total = files
            .iter()
            .try_fold(0u64, |sum, file| sum.checked_add(file.size))
            // The padding counts too, and is less than a piece a file.
            .filter(|total| *total < i64::MAX as u64 - MAX_FILES as u64 * MAX_PIECE_BYTES)
            .ok_or(CreateError::TooMuch)?;
        if total == 0 {
            return Err(CreateError::Empty);
        }
        let mut plan = Self {
            name: name.to_owned(),
            files,
            piece_size: options.piece_size.unwrap_or_else(|| usual_piece_size(total)),
            options,
            total,
        };
        if plan.options.piece_size.is_none() {
            // Many small files: rather more pieces than more padding than content.
            while plan.piece_size > MIN_PIECE_BYTES && plan.padding() > total {
                plan.piece_size /= 2;
            }
        }
        plan.refuse_excess()?;
        Ok(plan)
    }

    fn refuse_excess(&self) -> Result<(), CreateError> {
        let (padding, content) = (self.padding(), self.total);
        if padding > HARMLESS_PADDING.max(content) {
            return Err(CreateError::TooMuchPadding { padding, content });
        }
        // Hashes alone first: they may be too many to reserve room for.
        let least = self.piece_count().saturating_mul(20);
        let least = least.saturating_add(self.layered_pieces().saturating_mul(32));
        if least > MAX_TORRENT_BYTES as u64 {
            return Err(CreateError::TooLarge(least));
        }
        let whole = write_torrent(self, &Hashes::blank(self)).len();
        if whole > MAX_TORRENT_BYTES {
            return Err(CreateError::TooLarge(whole as u64));
        }
        Ok(())
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The files in the order in which the hasher takes their bytes.
    pub fn files(&self) -> &[PlannedFile] {
        &self.files
    }

    /// Bytes of all files.
    pub const fn total_bytes(&self) -> u64 {
        self.total
    }

    /// Bytes of a piece.
    pub const fn piece_size(&self) -> u64 {
        self.piece_size
    }

    /// Pieces as version 1 counts them, with those of padding.
    pub fn piece_count(&self) -> u64 {
        (self.total + self.padding()).div_ceil(self.piece_size)
    }

    /// Pieces whose roots are listed: those of files that have more than one, of a hybrid.
    fn layered_pieces(&self) -> u64 {
        let large = self
            .files
            .iter()
            .filter(|file| self.is_hybrid() && file.size > self.piece_size);
        large.map(|file| file.size.div_ceil(self.piece_size)).sum()
    }

    pub(super) fn is_hybrid(&self) -> bool {
        self.options.format == Format::Hybrid
    }

    pub(super) fn is_one_file(&self) -> bool {
        matches!(self.files.as_slice(), [file] if file.path.is_empty())
    }

    /// Bytes of padding before a file, so that it begins at a piece. Empty files begin nowhere, and nothing needs padding
    /// behind the last file.
    pub(super) fn padding_before(&self, at: usize) -> u64 {
        let is_padded = self.is_hybrid() && self.files.get(at).is_some_and(|file| file.size > 0);
        // Nothing is looked for where nothing is needed: many empty files would each look at all those before it.
        if !is_padded {
            return 0;
        }
        let before = self.files.iter().take(at).rev().find(|file| file.size > 0);
        match before.map(|file| file.size % self.piece_size) {
            None | Some(0) => 0,
            Some(over) => self.piece_size - over,
        }
    }

    fn padding(&self) -> u64 {
        (0..self.files.len()).map(|at| self.padding_before(at)).sum()
    }
}

/// The smallest power of two that gives a few thousand pieces: peers share what they have early, and the file stays small.
fn usual_piece_size(total: u64) -> u64 {
    let of = |pieces: u64, most: u64| {
        let size = total.div_ceil(pieces).clamp(MIN_PIECE_BYTES, most);
        size.checked_next_power_of_two().unwrap_or(most).min(most)
    };
    of(USUAL_PIECES, USUAL_PIECE_BYTES).max(of(MANY_PIECES, MAX_PIECE_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1024;
    const MIB: u64 = 1024 * KIB;
    const GIB: u64 = 1024 * MIB;

    #[test]
    fn pieces_grow_with_the_content() {
        for (total, size) in [
            (1, 16 * KIB),
            (64 * MIB, 16 * KIB),
            (64 * MIB + 1, 32 * KIB),
            (700 * MIB, 256 * KIB),
            (4 * GIB, MIB),
            (20 * GIB, 8 * MIB),
            (64 * GIB, 16 * MIB),
            (1024 * GIB, 16 * MIB),
            (1024 * GIB + 1, 32 * MIB),
            (4096 * GIB, 64 * MIB),
            (40_960 * GIB, 64 * MIB),
        ] {
            assert_eq!(usual_piece_size(total), size, "{total}");
        }
    }

    #[test]
    fn many_small_files_get_small_pieces_in_a_hybrid() {
        let files = |format| {
            let file = |n: u64| PlannedFile {
                path: vec![format!("{n:05}")],
                size: 650 * KIB,
            };
            let options = Options {
                format,
                ..Options::default()
            };
            Plan::of_folder("pack", (0..20_000).map(file).collect(), options).expect("a plan")
        };
        let (v1, hybrid) = (files(Format::V1), files(Format::Hybrid));
        assert_eq!((v1.piece_size(), hybrid.piece_size()), (4 * MIB, MIB));
        assert!(hybrid.padding() < hybrid.total_bytes() && v1.padding() == 0);
    }

    /// A search from each empty file back to the first one would take minutes.
    #[test]
    fn empty_files_cost_nothing() {
        let last = MAX_FILES - 1;
        let file = |n: usize| PlannedFile {
            path: vec![format!("{n:06}")],
            size: u64::from(n == 0 || n == last),
        };
        let options = Options {
            format: Format::Hybrid,
            ..Options::default()
        };
        let plan = Plan::of_folder("pack", (0..=last).map(file).collect(), options).expect("a plan");
        assert_eq!(plan.padding(), MIN_PIECE_BYTES - 1);
        assert_eq!(
            (plan.padding_before(1), plan.padding_before(last)),
            (0, MIN_PIECE_BYTES - 1)
        );
    }
}
