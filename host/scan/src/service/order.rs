//! Order of a library's files after a scan that a person asked for.

use qm_jobs::{JobContext, JobError, Progress};
use qm_media::model::library::MediaLibrary;
use qm_media::service::jobs::attend;

use super::Scanner;
use super::scan::{Reason, SCANNED, SCANNED_ALONE};

impl Scanner {
    /// Names the loose episodes of a library, if it is set to do that, for the person who asked for the scan. Returns the number
    /// of files that were named. Faults are warnings: the scan itself is done.
    pub(super) async fn put_in_order(
        &self,
        job: &JobContext,
        of: &MediaLibrary,
        reason: Reason,
        is_followed: bool,
    ) -> Result<u64, JobError> {
        let Some(naming) = self
            .helpers
            .naming()
            .filter(|_| reason.organizes() && of.auto_organize)
        else {
            return Ok(0);
        };
        let percent = if is_followed { SCANNED } else { SCANNED_ALONE };
        job.progress(Progress::percent(percent).phase("organize")).await?;
        let mut tx = self.db.begin_read().await?;
        let who = self
            .rights
            .find_person(&mut tx, job.created_by(), job.id())
            .await?;
        drop(tx);
        let Some(who) = who else {
            let why = "Its files were not put in order: the account of whoever asked for the scan is gone or deactivated";
            job.warning(why).await?;
            return Ok(0);
        };
        let ordered = match attend(job, naming.put_in_order(&who, &of.id)).await? {
            Ok(ordered) => ordered,
            Err(error) => {
                job.warning(&format!("Its files were not put in order: {error}"))
                    .await?;
                return Ok(0);
            }
        };
        if ordered.failed > 0 {
            let failed = format!("{} files could not be put in order", ordered.failed);
            job.warning(&failed).await?;
        }
        if ordered.needs_review > 0 {
            let left = format!(
                "{} files would come to another show, and were left: rename them by hand",
                ordered.needs_review
            );
            job.warning(&left).await?;
        }
        // What follows reads the new places.
        self.catch_up().await?;
        Ok(ordered.named)
    }
}
