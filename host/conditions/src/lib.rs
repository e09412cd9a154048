//! Conditions `{field, op, value}` on a record: what a rule asks of a torrent or an event, and what a list is filtered by.
//!
//! A list of conditions is compiled once ([`Conditions`]) and then asked of as many records as there are; a record hands out
//! its fields ([`Record`]) and is never made into JSON for that. All conditions of a list have to hold; an empty list does.
//! Comparisons follow ECMAScript, whose clients wrote the first rules: see [`Seen`] for what a value is as a number and as a
//! text, and [`pattern`] for regular expressions. What is unknown (null, or no field at all) is equal to nothing and different
//! from nothing: no condition on it holds, but `eq` null, which asks just that.
//! Pure: no I/O, no clock; nothing panics on any JSON.
//! Bounds: a pattern has [`pattern::MAX_CHARS`] characters and [`pattern::MAX_COMPILED`] bytes when compiled, and matches in
//! time linear in the text, of which the first [`pattern::MAX_TEXT`] bytes are looked at.

mod condition;
mod filter;
pub mod pattern;
mod value;

pub use condition::{Conditions, Explained, Operator};
pub use filter::{Filter, FilterError, MAX_CONDITIONS};
pub use value::{Record, Seen};
