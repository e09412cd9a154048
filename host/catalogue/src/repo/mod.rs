//! Tables that this crate reads.

pub mod catalog;
pub mod episodes;
pub mod owned;
