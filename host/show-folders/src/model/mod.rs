//! Folders of shows and what is in them; families; plans. Pure.

mod contents;
mod draft;
mod family;
mod names;
mod plan;
mod sides;
#[cfg(test)]
mod tests;

pub use contents::{Contents, FileKind, FolderFile, stem_of};
pub use draft::{Order, draft};
pub use family::{Family, find_families};
pub use plan::{
    Action, Collision, Move, Plan, PlanShow, PlanStatus, Rescued, Step, StepStatus, StoredPlan, count_freed,
};

/// Most files in the folders of one merge.
pub const MOST_FILES: usize = 10_000;
/// Most folders that one merge puts into another.
pub const MOST_DUPLICATES: usize = 50;
