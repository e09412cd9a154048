//! Lanes for the blocking work of this area.
//!
//! Bounds: [`VALIDATIONS`]: four directories are examined at once, one per user, and one more per user waits;
//! [`LOOKS`]: four paths of callers are resolved at once, 64 wait; [`IMPORTS`]: two files are read at once,
//! for one import at a time; [`DOWNLOADS`] and [`FILES`]: four steps each; [`COMPUTE`]: four posting lists
//! are built at once, 256 wait.

use qm_lanes::{Bounds, Lane};

/// Examining the files of a directory.
pub static VALIDATIONS: Lane = Lane::new("titledb.validations", Bounds::new(4, 16).of_one(1, 1));
/// Resolving paths of callers.
pub static LOOKS: Lane = Lane::new("titledb.looks", Bounds::new(4, 64));
/// Reading files for an import.
pub static IMPORTS: Lane = Lane::new("titledb.imports", Bounds::new(2, 4));
/// Writing downloaded files.
pub static DOWNLOADS: Lane = Lane::new("titledb.downloads", Bounds::new(4, 64));
/// Renaming and removing stores, which are files of the service.
pub static FILES: Lane = Lane::new("titledb.files", Bounds::new(4, 64));
/// Building posting lists of names, and searching them.
pub static COMPUTE: Lane = Lane::new("titledb.compute", Bounds::new(4, 256));
