//! Tables that this crate reads.

pub mod beside;
pub mod catalog;
pub mod episodes;
pub mod owned;
