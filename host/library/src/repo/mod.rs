//! The tables of this area.

pub mod directories;
pub mod moves;
#[cfg(test)]
pub mod testing;
