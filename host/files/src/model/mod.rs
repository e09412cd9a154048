//! Pure rules of the area: kinds of files by their names, the better of two releases, entries that may be cleaned up.

pub mod cleanup;
pub mod conflict;
pub mod kind;
