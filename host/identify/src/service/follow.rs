//! Identification that follows a scan, once the scan has ended and others may scan.
//!
//! A job that is cut off begins it anew: what is identified already is not looked at again, and what providers told of is not asked
//! about again. A download, which tells rules of each of its items, goes through the same stages item by item.

use qm_jobs::{JobContext, Progress};
use qm_media::model::library::MediaLibrary;
use qm_media::service::jobs::Stop;

use super::Identification;

/// Percent of a scan's job at which names are read, and at which the data set of titles is asked.
const STAGES: [f64; 2] = [70.0, 75.0];

impl Identification {
    /// Identifies what nobody knows in a library, and has providers tell of it as far as a scan may; of how many items something is
    /// known by now.
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
