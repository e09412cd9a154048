//! Events of a job: numbered rows of its history.

use qm_kernel::Timestamp;
use serde_json::Value;

macro_rules! words {
    ($(#[$meta:meta])* $kind:ident { $($name:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(dead_code, reason = "the agreed words; clients know some that nothing here tells yet")]
        pub enum $kind { $(#[doc = $word] $name,)+ }

        impl $kind {
            #[allow(dead_code, reason = "not every list of words is asked for by a query")]
            pub const WORDS: &'static [&'static str] = &[$($word,)+];

            pub const fn as_str(self) -> &'static str {
                match self { $($kind::$name => $word,)+ }
            }
        }
    };
}

words! {
    /// Severity of an event.
    Level {
        Debug = "debug",
        Info = "info",
        Warning = "warning",
        Error = "error",
        Success = "success",
    }
}

words! {
    /// Kind of change that an event records.
    EventType {
        Created = "created",
        Scheduled = "scheduled",
        Queued = "queued",
        Started = "started",
        Heartbeat = "heartbeat",
        Progress = "progress",
        PhaseChanged = "phase_changed",
        ChildCreated = "child_created",
        DependencyWait = "dependency_wait",
        Warning = "warning",
        RetryScheduled = "retry_scheduled",
        Pausing = "pausing",
        Paused = "paused",
        Resumed = "resumed",
        Cancelling = "cancelling",
        Cancelled = "cancelled",
        Failed = "failed",
        Completed = "completed",
        OutputAvailable = "output_available",
        Stalled = "stalled",
    }
}

words! {
    /// The origin of a job.
    Source {
        Manual = "manual",
        Scheduled = "scheduled",
        Event = "event",
        Automation = "automation",
        Workflow = "workflow",
        System = "system",
    }
}

/// An event before it is stored.
#[derive(Clone, Debug)]
pub struct NewEvent {
    pub kind: EventType,
    pub level: Level,
    pub message_key: Option<String>,
    pub message_params: Option<Value>,
    /// A sentence without secrets.
    pub message: Option<String>,
    pub progress: Option<i64>,
    pub metadata: Option<Value>,
}

impl NewEvent {
    pub fn new(kind: EventType, level: Level) -> Self {
        Self {
            kind,
            level,
            message_key: None,
            message_params: None,
            message: None,
            progress: None,
            metadata: None,
        }
    }

    pub fn info(kind: EventType) -> Self {
        Self::new(kind, Level::Info)
    }

    pub fn message(self, text: impl Into<String>) -> Self {
        Self {
            message: Some(text.into()),
            ..self
        }
    }

    pub fn metadata(self, metadata: Value) -> Self {
        Self {
            metadata: Some(metadata),
            ..self
        }
    }
}

/// A stored event.
#[derive(Clone, Debug, PartialEq)]
pub struct JobEvent {
    pub id: String,
    pub job_id: String,
    /// From 1, without gaps.
    pub sequence: i64,
    pub level: String,
    pub event_type: String,
    pub message_key: Option<String>,
    pub message_params: Option<Value>,
    pub message: Option<String>,
    pub progress: Option<i64>,
    pub metadata: Option<Value>,
    pub created_at: Timestamp,
}
