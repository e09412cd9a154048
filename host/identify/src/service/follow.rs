//! Identification after a scan, when the lock of scans is free again.
//!
//! A job that was cut off starts it again: identified items are not read again, and described ones not asked about again. A
//! download, whose rules run for each item, goes through the same stages item by item.

use qm_jobs::{JobContext, Progress};
use qm_media::model::library::MediaLibrary;
use qm_media::service::jobs::Stop;

use super::Identification;

/// Progress of a scan's job, in percent, at which names are read, and at which the data set of titles is asked.
const STAGES: [f64; 2] = [70.0, 75.0];

impl Identification {
    /// Identifies unmatched items of a library, and asks providers within the limits of a scan. Returns the number of items
    /// about which something new is known.
    pub async fn follow_scan(&self, of: &MediaLibrary, job: &JobContext) -> Result<u64, Stop> {
        let [names, titles] = STAGES.map(|percent| Progress::percent(percent).phase("enrich"));
        job.progress(names).await?;
        let identified = self.identify_all(of, job).await?;
        job.progress(titles).await?;
        self.ask_titles(of, job).await?;
        let described = self.describe_found(of, job, &identified).await?;
        Ok(identified.len() as u64 + described)
    }
}
