//! The part of the area that needs no database, client or socket: pure types and rules, each with its tests.

pub mod activity;
pub mod answers;
pub mod groups;
pub mod stored;
