//! Groups, plans and the schedule, as they are stored.

mod group;
mod plan;
mod schedule;
mod suffix;

pub use group::{Candidate, Filter, MOST_LISTED, Overview, Sort, Status, StoredGroup};
pub use plan::{Action, Kept, Plan, PlanStatus, Removed, Scope, StepStatus, StoredPlan, count_freed};
pub use schedule::{HOURS, Schedule};
pub use suffix::{MARK, plain_stem};
