//! The file manager: browses and changes the download folders, confined to their roots.

pub mod confined;
pub mod ops;
