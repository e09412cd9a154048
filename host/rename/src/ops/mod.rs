//! Steps of a rename on the disk, and the ways back. Blocking functions: they run in lanes.
//!
//! Every path goes through `qm_confined`, every change through `qm_file_operations`. Nothing that is there is replaced.

pub mod back;
pub mod between;
pub mod fault;
pub mod leftovers;
pub mod library;
pub mod step;
