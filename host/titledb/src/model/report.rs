//! What was found in a directory of files, and what was removed.

use std::path::PathBuf;

use super::file::Source;

/// A file as it lies there.
#[derive(Clone, Debug)]
pub struct Examined {
    pub source: &'static Source,
    pub size: Option<u64>,
    /// Milliseconds since 1970.
    pub modified: Option<i64>,
    pub gzip_ok: bool,
    pub header_ok: bool,
    /// What is wrong with it; none for one that is not there.
    pub error: Option<String>,
}

/// What was found in a directory.
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

/// What a reset removed, and what it began.
#[derive(Clone, Debug)]
pub struct Cleared {
    pub titles: u64,
    /// Whether an import was asked for and has begun, and of which directory.
    pub reimport: Option<(bool, Option<PathBuf>)>,
}
