//! Titles of films and shows as they are compared: their normal form, how like two are, and how well one answers a question; what
//! an id of one looks like.
//!
//! Pure: no I/O, no clock; nothing panics on any text. Of a title the first [`MAX_NAME`] characters count.

mod id;
mod name;
mod pick;
mod qualified;
mod score;

pub use id::is_titledb_id;
pub use name::{MAX_NAME, canonical, folded, folded_by, key, normalise, similarity, turned};
pub use pick::{Candidate, Picked, Wanted, film, show};
pub use qualified::Qualified;
pub use score::{score, sequel};
