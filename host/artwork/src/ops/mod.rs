//! Work that blocks: the disk, and the decoding of pictures. It runs in the lanes of this crate.

pub mod cache;
pub mod look;
pub mod render;
pub mod store;
