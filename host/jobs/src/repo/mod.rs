//! The tables of this area: `platform_jobs`, `platform_job_events`.

pub mod events;
#[cfg(any(test, feature = "testing"))]
pub mod filled;
pub mod jobs;
pub mod lists;
pub mod moves;
pub mod retention;
pub(crate) mod row;
#[cfg(test)]
mod tests;
