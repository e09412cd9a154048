//! Operations on confined paths. Blocking functions: run them through [`Workers`]. Who may ask for one, and what is recorded
//! of it, is the affair of the area of files.
//!
//! Every change leaves the old state or the new one. What takes long is prepared under a temporary name
//! ([`TEMP_PREFIX`](qm_confined::TEMP_PREFIX)) beside its place, synced and renamed into place; what is to vanish is
//! renamed away first. A temporary never holds the only copy of anything, and where one is made is noted before
//! ([`Notes`]), so that [`sweep`](mod@sweep) finds and removes those of a killed process. Trees are walked with a bounded
//! number of handles, at any depth, without recursion and without following links.
//!
//! Progress and cancellation: [`Control`].

mod attributes;
mod change;
mod compare;
mod control;
mod copy;
mod data;
mod erase;
mod link;
mod list;
mod measure;
mod name;
mod notes;
mod place;
mod remains;
mod sight;
mod stage;
mod sweep;
mod temp;
mod transfer;
mod trash;
mod tree;
mod visit;
mod workers;

pub use change::{Renamed, create_dir, remove, remove_empty, rename};
pub use control::{Control, OnProgress, Progress};
pub use data::{check_move, find_told, is_one_file_system, missing, remove_copied};
pub use link::{link_hard, link_soft};
pub use list::{Entry, Listing, MAX_ENTRIES, Page, list};
pub use measure::{Usage, measure, measure_all};
pub use name::shown_name;
pub use notes::Notes;
pub use remains::{count_remains, remove_remains, see};
pub use sight::sight;
pub use stage::{Staged, must_copy, stage};
pub use sweep::{Swept, sweep};
pub use transfer::{Transfer, Transferred, copy, move_to};
pub use trash::{TrashPlace, purge, stray, trash, untrash};
pub use visit::{Found, Visit, visit};
pub use workers::{Lane, Workers};
