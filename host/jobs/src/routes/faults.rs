//! With which errors of this area each operation may refuse, for the document. What every guarded operation may answer
//! is known without them.

use qm_kernel::Permission;
use qm_web::faults;

use crate::error::JobsError as E;

faults! {
    /// One job that is looked at.
    Read => [E::NotFound];
    Events => [E::NotFound, E::MissingPermission(Permission::JobsViewEvents.key())];
    /// One job that is controlled.
    Act => [E::NotFound, E::Requires(Permission::JobsAdmin.key().to_owned())];
    Cancel => [E::NotFound, E::Requires(Permission::JobsAdmin.key().to_owned()), E::NotCancellable];
    Retry => [
        E::NotFound, E::Requires(Permission::JobsAdmin.key().to_owned()), E::KeyInUse("the job's id".to_owned()),
    ];
    Rerun => [E::NotFound, E::Requires(Permission::JobsAdmin.key().to_owned()), E::NotRerunnable];
}
