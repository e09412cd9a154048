//! Lists as they are asked for and answered.

pub mod items;
pub mod series;
pub mod shows;
