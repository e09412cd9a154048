//! Settings of the jobs.

use qm_platform::settings;

settings! {
    of "jobs";

    /// Jobs that one server runs at once; a change holds for what is begun from then on. 1 to 64.
    pub WORKER_PLACES: i64 = "jobs.workerPlaces", || 4, accepts(|places| (1..=64).contains(places));
}
