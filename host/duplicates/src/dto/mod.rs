//! Request and response types.

mod groups;
mod plans;
mod requests;

pub use groups::{GroupDetail, GroupRow, GroupsPage, Listing, OverviewView};
pub use plans::{
    BulkPreview, BulkResolved, ClearGroup, ClearView, DeletePlanView, KeepPlanView, RepairDetail, RepairView,
    ResolvedView, RestorableView, ResultView,
};
pub use requests::{
    BulkPreviewInput, BulkResolveInput, DeleteInput, GroupsQuery, IgnoreInput, JobView, KeepInput,
    RepairQuery, ResolveInput, ScheduleInput, ScheduleShown,
};
