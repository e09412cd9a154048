//! Groups of media items that may be the same film or episode, and the verdict on their members.
//!
//! [`Keys`] of an item say what it could have in common with others; a [`Grouping`] takes the keys of all items, one after
//! another, and forms the groups; [`judge`] scores the members of a group and says which one is best, or why somebody has to
//! choose. All of it is pure: the same items give the same groups, whatever their order.
//!
//! Bounds: of an item a grouping keeps its id and its keys; a group has at most [`MOST_MEMBERS`] members.

mod digest;
mod facts;
mod grouping;
mod keys;
mod score;
mod sequel;

pub use digest::Digest;
pub use facts::{Evidence, Facts};
pub use grouping::{Group, Grouping, MOST_MEMBERS};
pub use keys::{Keys, Reason};
pub use score::{Judgement, Verdict, Warning, judge, quality};
