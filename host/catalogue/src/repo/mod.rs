//! Tables that this crate reads.

pub mod catalog;
pub mod owned;
