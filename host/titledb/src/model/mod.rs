//! Words and rules of the area, without I/O.

pub mod batch;
pub mod file;
pub mod grams;
pub mod import;
pub mod name;
pub mod options;

pub mod plan;
pub mod score;
pub mod titles;
