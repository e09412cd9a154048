//! The table of this area: `file_trash`.

pub mod trash;
