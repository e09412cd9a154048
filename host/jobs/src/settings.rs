//! Settings of the jobs.

use qm_platform::settings;

settings! {
    of "jobs";

    /// Number of jobs that one server runs at once, 1 to 64. A change applies to jobs that begin after it.
    pub WORKER_PLACES: i64 = "jobs.workerPlaces", || 4, accepts(|places| (1..=64).contains(places));
}
