//! Results of the actions that users perform on jobs.

/// Result of one action on one job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acted {
    pub ok: bool,
    /// The affected job; after a rerun, the new one.
    pub job_id: Option<String>,
    /// Machine-readable reason why nothing was done.
    pub reason: Option<&'static str>,
}

impl Acted {
    pub fn done(id: &str) -> Self {
        Self {
            ok: true,
            job_id: Some(id.to_owned()),
            reason: None,
        }
    }

    pub const fn no(reason: Option<&'static str>) -> Self {
        Self {
            ok: false,
            job_id: None,
            reason,
        }
    }
}

/// Result of one action on many jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BulkOutcome {
    /// Number of ids in the request.
    pub total: usize,
    pub succeeded: Vec<String>,
    /// Ids of the jobs that were left unchanged, each with the reason.
    pub failed: Vec<(String, &'static str)>,
}
