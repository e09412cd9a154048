//! The tables of this area.

pub mod configurations;
pub mod pins;
pub mod values;
