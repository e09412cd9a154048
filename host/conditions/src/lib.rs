//! Conditions `{field, op, value}` on a record: for rules on torrents and events, and for filters of lists.
//!
//! A list of conditions is compiled once ([`Conditions`]) and evaluated on any number of records; a record
//! returns its fields ([`Record`]) without conversion to JSON. All conditions of a list must be true; an
//! empty list is true. In place of a condition may stand a group: `{"all": […]}`, or `{"any": […]}` of which one
//! must be true, up to [`MAX_DEPTH`] inside each other. Comparisons follow ECMAScript, whose clients wrote the first rules: see [`Seen`] for
//! conversions to number and text, and [`pattern`] for regular expressions. An unknown value (null, or a
//! missing field) is neither equal to nor different from anything: only `eq` null, which tests for it, is
//! true. Pure: no I/O, no clock; no JSON causes a panic. Bounds: a pattern has [`pattern::MAX_CHARS`]
//! characters and [`pattern::MAX_COMPILED`] bytes when compiled, and matches in time linear in the text, of
//! which the first [`pattern::MAX_TEXT`] bytes are used.

mod condition;
mod filter;
mod group;
pub mod pattern;
mod value;

pub use condition::{Conditions, Explained, Operator};
pub use filter::{Filter, FilterError, MAX_CONDITIONS};
pub use group::{MAX_DEPTH, leaves, members};
pub use value::{Record, Seen};
