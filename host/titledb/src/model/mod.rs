//! Data types and pure rules of this area.

pub mod batch;
pub mod file;
pub mod ids;
pub mod import;
pub mod options;
pub mod plan;
pub mod postings;
pub mod report;
pub mod score;
pub mod status;
pub mod titles;
pub mod trigrams;
