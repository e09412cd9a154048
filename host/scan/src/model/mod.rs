//! Doubt in what a walk did not see, and files that were renamed. Pure.

pub mod doubt;
pub mod renames;
