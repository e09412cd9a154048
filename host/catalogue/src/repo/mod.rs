//! Tables as this room reads them.

pub mod catalog;
pub mod owned;
