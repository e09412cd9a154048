//! Comparison of titles of films and shows: their normal form, the likeness of two, and the score of one for a question;
//! also the form of ids in the data set.
//!
//! Pure: no I/O, no clock; nothing panics on any text. Only the first [`MAX_NAME`] characters of a title count.

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
