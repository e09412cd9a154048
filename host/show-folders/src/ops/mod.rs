//! Looks at the disk: nothing is changed here.

mod walk;

pub use walk::{identify_folder, walk};
