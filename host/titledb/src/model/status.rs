//! Status of the area.

use super::import::Import;
use super::options::Mode;

/// Availability and source of titles.
#[derive(Clone, Debug)]
pub struct Status {
    pub mode: Mode,
    pub available: bool,
    /// Titles of the data set.
    pub titles: u64,
    pub api_configured: bool,
    pub detail: String,
    /// Kinds of rows that an import by the settings of now leaves out.
    pub left_out: Vec<String>,
    pub last_import: Option<Import>,
}
