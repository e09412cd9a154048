//! Reports on a directory of files, and on a reset.

use std::path::PathBuf;

use super::file::Source;

/// A file in the directory.
#[derive(Clone, Debug)]
pub struct Examined {
    pub source: &'static Source,
    pub size: Option<u64>,
    pub gzip_ok: bool,
    pub header_ok: bool,
    /// Fault of the file; `None` for a missing one.
    pub error: Option<String>,
}

/// Report on a directory.
#[derive(Clone, Debug)]
pub struct Report {
    pub directory: PathBuf,
    pub files: Vec<Examined>,
}

impl Report {
    /// The titles are there.
    pub fn has_minimum(&self) -> bool {
        self.files.first().is_some_and(|titles| titles.header_ok)
    }

    /// The titles are there, and nothing that is there is unfit.
    pub fn is_valid(&self) -> bool {
        self.has_minimum()
            && self
                .files
                .iter()
                .all(|file| file.size.is_none() || file.header_ok)
    }
}

/// Result of a reset.
#[derive(Clone, Debug)]
pub struct Cleared {
    pub titles: u64,
    /// If a new import was requested: true when it has begun, and its directory.
    pub reimport: Option<(bool, Option<PathBuf>)>,
}
