//! The tables of this area.

pub mod catalog;
pub mod directories;
pub mod enrich;
pub mod moves;
pub mod owned;
pub mod repair;
#[cfg(test)]
pub mod testing;
