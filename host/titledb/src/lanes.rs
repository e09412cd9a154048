//! Lanes of the work of this area that blocks.
//!
//! Bounds: [`VALIDATIONS`]: four directories are examined at once, one for one user, and one more waits for them;
//! [`LOOKS`]: four paths of callers are looked at, 64 wait; [`IMPORTS`]: two files are read, for one import runs at a time;
//! [`DOWNLOADS`] and [`FILES`]: four steps each; [`COMPUTE`]: four lists are put together, 256 wait.

use qm_lanes::{Bounds, Lane};

/// The files of a directory are examined.
pub static VALIDATIONS: Lane = Lane::new("titledb.validations", Bounds::new(4, 16).of_one(1, 1));
/// Paths that callers name are looked at.
pub static LOOKS: Lane = Lane::new("titledb.looks", Bounds::new(4, 64));
/// Files are read for an import.
pub static IMPORTS: Lane = Lane::new("titledb.imports", Bounds::new(2, 4));
/// Files that are downloaded are written.
pub static DOWNLOADS: Lane = Lane::new("titledb.downloads", Bounds::new(4, 64));
/// Stores, which are files of the service's own, are given their names, or removed.
pub static FILES: Lane = Lane::new("titledb.files", Bounds::new(4, 64));
/// Names are put on lists, and found by them.
pub static COMPUTE: Lane = Lane::new("titledb.compute", Bounds::new(4, 256));
