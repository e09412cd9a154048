//! Scans without a request: when the server starts, and at intervals.

use std::sync::Arc;
use std::time::Duration;

use qm_kernel::as_error;
use qm_media::LibraryError;
use qm_media::repo;
use qm_platform::Beats;
use tokio_util::sync::CancellationToken;

use super::Scanner;
use super::scan::Reason;
use super::scan::scan_asked;

const INTERVAL: Duration = Duration::from_mins(5);

impl Scanner {
    /// Name and interval of the loop.
    pub const SCANS: (&'static str, Duration) = ("media.library_scans", INTERVAL);

    /// Asks for due scans until it is told to stop. Of several servers on a database only the active one has loops.
    pub async fn scans_loop(self: Arc<Self>, stop: CancellationToken) {
        let mut beats = Beats::every(INTERVAL);
        let mut is_first = true;
        while stop.run_until_cancelled(beats.next()).await.is_some() {
            self.catalogue.tidy();
            match self.ask_for_due(is_first).await {
                Ok(_) => is_first = false,
                Err(error) => {
                    tracing::warn!(
                        error = as_error(&error),
                        "scans of libraries could not be asked for"
                    );
                }
            }
        }
    }

    /// Asks for a scan of each library whose interval has passed; at the start, also of those set to be scanned then.
    /// Returns the number of scans.
    pub async fn ask_for_due(&self, is_start: bool) -> Result<usize, LibraryError> {
        let libraries = self.list().await?;
        let now = self.ctx.now();
        let mut asked = 0;
        for library in libraries {
            let reason = if library.is_due(now) {
                Reason::Periodic
            } else if is_start && library.is_enabled && library.scan_on_startup {
                Reason::Startup
            } else {
                continue;
            };
            let mut tx = self.db.begin_write().await?;
            if repo::libraries::find(&mut tx, &library.id).await?.is_none() {
                continue;
            }
            let job = self
                .jobs
                .enqueue(&mut tx, scan_asked(&library, reason, None))
                .await?;
            tx.commit().await?;
            self.jobs.announce(&job);
            asked += usize::from(job.is_fresh());
        }
        Ok(asked)
    }
}
