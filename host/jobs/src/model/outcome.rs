//! What came of what people do with jobs.

/// What came of one action on a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acted {
    pub ok: bool,
    /// The job it is about now, which of a rerun is the new one.
    pub job_id: Option<String>,
    /// Why it was not done, in a word.
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

/// What came of one action on many jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BulkOutcome {
    /// How many ids were given.
    pub total: usize,
    pub succeeded: Vec<String>,
    /// The ids of those that nothing was done to, each with the reason.
    pub failed: Vec<(String, &'static str)>,
}
