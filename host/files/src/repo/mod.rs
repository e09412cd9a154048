//! The tables of this area: `file_trash`, `file_temporaries`.

pub mod notes;
pub mod trash;
