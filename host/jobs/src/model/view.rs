//! Filters, sorting and results of the lists of jobs.

use std::collections::BTreeMap;

use qm_kernel::Timestamp;

use super::status::Status;

/// Sort column of the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    #[default]
    Created,
    Queued,
    Started,
    Completed,
    Priority,
    Status,
}

impl Sort {
    pub const WORDS: &'static [&'static str] = &[
        "createdAt",
        "queuedAt",
        "startedAt",
        "completedAt",
        "priority",
        "status",
    ];

    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "createdAt" => Some(Sort::Created),
            "queuedAt" => Some(Sort::Queued),
            "startedAt" => Some(Sort::Started),
            "completedAt" => Some(Sort::Completed),
            "priority" => Some(Sort::Priority),
            "status" => Some(Sort::Status),
            _ => None,
        }
    }
}

/// Filters of the list; `None` matches every job.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    pub status: Option<String>,
    pub active: Option<bool>,
    pub module_key: Option<String>,
    pub workspace_key: Option<String>,
    pub type_key: Option<String>,
    pub source: Option<String>,
    pub created_by_id: Option<String>,
    pub correlation_id: Option<String>,
    pub library_id: Option<String>,
    pub resource_id: Option<String>,
    pub search: Option<String>,
    pub sort: Sort,
    pub ascending: bool,
}

/// Filters of the simple list.
#[derive(Clone, Debug, Default)]
pub struct Simple {
    /// Name of the one subsystem to list.
    pub subsystem: Option<String>,
    /// One of the five words of [`Status::folded`].
    pub status: Option<String>,
    /// True to list only queued and running jobs.
    pub active: bool,
    pub limit: usize,
}

/// Number of jobs in each state and results of today, of the jobs that the caller may see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overview {
    /// Number of jobs in each state; states without jobs are listed with 0.
    pub by_status: BTreeMap<&'static str, u64>,
    pub completed_today: u64,
    pub failed_today: u64,
    pub cancelled_today: u64,
}

impl Overview {
    pub fn count(&self, status: Status) -> u64 {
        self.by_status.get(status.as_str()).copied().unwrap_or(0)
    }

    pub fn active(&self) -> u64 {
        Status::ALL
            .iter()
            .filter(|status| status.is_active())
            .map(|status| self.count(*status))
            .sum()
    }

    /// Percentage of the jobs that ended today which completed; `None` when none ended.
    pub fn success_rate(&self) -> Option<u64> {
        let ended = self.completed_today + self.failed_today;
        (ended > 0).then(|| (self.completed_today as f64 * 100.0 / ended as f64).round() as u64)
    }
}

/// This process as a worker.
#[derive(Clone, Debug)]
pub struct WorkerView {
    pub id: String,
    pub host: String,
    pub is_draining: bool,
    pub started_at: Timestamp,
    pub version: &'static str,
    pub running: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_of_what_ended() {
        let rate = |completed_today, failed_today| {
            Overview {
                completed_today,
                failed_today,
                cancelled_today: 9,
                ..Overview::default()
            }
            .success_rate()
        };
        assert_eq!(rate(0, 0), None);
        assert_eq!(rate(2, 1), Some(67));
        assert_eq!(rate(0, 1), Some(0));
        assert_eq!(rate(200, 1), Some(100));
    }
}
