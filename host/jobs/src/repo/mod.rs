//! The tables of this area: `platform_jobs`, `platform_job_events`, `platform_job_schedules`.

pub mod events;
mod item;
pub mod jobs;
pub mod lists;
pub mod moves;
pub mod retention;
pub(crate) mod row;
#[cfg(any(test, feature = "testing"))]
pub mod sample_rows;
pub mod schedules;
#[cfg(test)]
mod tests;
