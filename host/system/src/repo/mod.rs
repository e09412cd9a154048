//! The tables of this area.

pub mod pins;
pub mod values;
