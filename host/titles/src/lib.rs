//! Titles of films and shows as they are compared: their normal form, how like two are, and how well one answers a question.
//!
//! Pure: no I/O, no clock; nothing panics on any text. Of a title the first [`MAX_NAME`] characters count.

mod name;
mod pick;
mod score;

pub use name::{MAX_NAME, key, normalise, similarity};
pub use pick::{Candidate, Picked, film};
pub use score::{score, sequel};
