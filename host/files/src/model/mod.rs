//! Pure rules of the area: the better of two releases, entries that may be cleaned up.

pub mod cleanup;
pub mod conflict;
