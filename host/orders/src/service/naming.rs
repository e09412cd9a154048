//! Names for items that an order or a download brought, when another rename in their library is over.

use std::time::Duration;

use qm_jobs::{JobContext, JobError};
use qm_kernel::Requester;
use qm_media::service::jobs::{attend, stopped};
use qm_ports::helpers::{HelpError, MediaNaming, NamedItems, NamingOrder};
use tokio::time::Instant;

use super::Orders;

/// Longest wait for another rename in the library.
const PATIENCE: Duration = Duration::from_mins(10);
/// Pause between two tries.
const PAUSE: Duration = Duration::from_secs(2);

impl Orders {
    /// Names items for a job. A rename that has begun goes on by itself when the job is cancelled.
    pub(super) async fn name_patiently(
        &self,
        job: &JobContext,
        naming: &dyn MediaNaming,
        who: &Requester,
        order: NamingOrder<'_>,
    ) -> Result<Result<NamedItems, HelpError>, JobError> {
        let until = Instant::now() + PATIENCE;
        loop {
            let done = attend(job, naming.name_items(who, order)).await?;
            let is_busy = matches!(done, Err(HelpError::Busy(_)));
            if !is_busy || Instant::now() > until {
                return Ok(done);
            }
            job.heartbeat().await?;
            tokio::select! {
                () = job.cancelled() => return Err(stopped()),
                () = tokio::time::sleep(PAUSE) => {}
            }
        }
    }
}
