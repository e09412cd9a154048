//! State of an import.

use qm_kernel::Timestamp;
use serde_json::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Pending,
    Running,
    Completed,
    Failed,
    Cancelled,
}

impl Status {
    pub fn from_word(word: &str) -> Self {
        match word {
            "pending" => Status::Pending,
            "running" => Status::Running,
            "completed" => Status::Completed,
            "cancelled" => Status::Cancelled,
            _ => Status::Failed,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::Running => "running",
            Status::Completed => "completed",
            Status::Failed => "failed",
            Status::Cancelled => "cancelled",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Import {
    pub id: String,
    pub status: Status,
    /// The directory of the files.
    pub source_path: String,
    pub job_id: Option<String>,
    /// True when a user has asked it to stop.
    pub stop_requested: bool,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    pub failed_at: Option<Timestamp>,
    pub error_message: Option<String>,
    /// Names of files.
    pub files_imported: Vec<String>,
    pub records_imported: u64,
    pub stats: Option<Value>,
    pub strategy: Option<String>,
    pub dataset_date: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}
