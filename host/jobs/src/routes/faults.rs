//! Errors that each operation may answer, for the OpenAPI document. Answers common to every guarded operation
//! are added elsewhere.

use qm_kernel::Permission;
use qm_web::faults;

use crate::error::JobsError as E;

faults! {
    /// Reading one job.
    Read => [E::NotFound];
    Events => [E::NotFound, E::MissingPermission(Permission::JobsViewEvents.key())];
    /// Acting on one job.
    Act => [E::NotFound, E::Requires(Permission::JobsAdmin.key().to_owned())];
    Cancel => [E::NotFound, E::Requires(Permission::JobsAdmin.key().to_owned()), E::NotCancellable];
    Retry => [
        E::NotFound, E::Requires(Permission::JobsAdmin.key().to_owned()), E::KeyInUse("the job's id".to_owned()),
    ];
    Rerun => [E::NotFound, E::Requires(Permission::JobsAdmin.key().to_owned()), E::NotRerunnable];
}
