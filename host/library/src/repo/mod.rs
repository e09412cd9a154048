//! The tables of this area.

pub mod directories;
pub mod enrich;
pub mod moves;
pub mod repair;
#[cfg(test)]
pub mod testing;
