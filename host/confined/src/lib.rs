//! Confinement by construction: the only way from a request's path to the disk.
//!
//! [`Roots`] are the hard roots, fixed at start. [`Base`] is where a request may go: a hard root, or the Default Root Path
//! within one. [`Base::resolve`] walks a [`RelPath`] one component at a time through directory handles, each opened without
//! following links, and answers a [`ConfinedPath`]: the open handle of the directory above and the last name. What is
//! checked and what is used are the same handle, so a directory swapped for a link in between changes nothing. Nobody else
//! makes a `ConfinedPath`, and no other function takes one to the disk but [`resolve`] and [`open_directory`], for areas that walk by themselves.
//!
//! Symbolic links are read and resolved by the same walk (at most 40), so a link may lead anywhere inside the roots and
//! nowhere else. An absolute target counts as inside when it names a root by its configured or its canonical path; a target
//! that leaves the roots and would come back through another link outside them is refused. With a Default Root Path, a link
//! must stay below that; without one it may lead into another hard root.
//!
//! Paths for another program go the same way ([`Roots::outward_path`]): each is judged where it leads, not as it reads.
//!
//! Places of the server's own are hidden from all of this, wherever they come to lie ([`OwnPlace`]).
//!
//! Never: joins strings to open them; opens the content of anything but a regular file.
//!
//! Bounds: 40 links a path, 64 KiB a path, two handles open while walking, 128 directories created at once.

mod dir;
mod error;
mod meta;
mod names;
mod open;
mod own;
mod path;
mod roots;
mod told;
mod walk;

pub use dir::Dir;
pub use error::FsError;
pub use meta::{Identity, Kind, Meta};
pub use names::{Component, MAX_NAME_BYTES, MAX_PATH_BYTES, RelPath, TEMP_PREFIX, TRASH_DIR};
pub use open::{
    make_directory, open_child, open_content, open_content_at, open_directory, open_listing, resolve,
};
pub use own::{OwnKind, OwnPlace, RootRefused, ServerPlaces, check_roots};
pub use path::Created;
pub use path::{ConfinedPath, Destination, Intent, Place, TrashedItem};
pub use roots::{Base, BaseError, PathInspection, Roots, SYSTEM_DIRECTORIES, is_system};
