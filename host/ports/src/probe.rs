//! Checks that the configured engines answer, for an area that does not know the torrents area.

use std::time::Duration;

use async_trait::async_trait;
use qm_kernel::Timestamp;

/// The answer of one engine, or the reason why there was none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineProbe {
    pub engine_id: String,
    /// As the operator calls it.
    pub name: String,
    pub kind: String,
    pub online: bool,
    /// Time until the answer, in milliseconds; `None` when there was none.
    pub latency_ms: Option<u64>,
    /// The client's version.
    pub version: Option<String>,
    /// Why it is not online: a sentence that names the engine and no secret.
    pub error: Option<String>,
    pub checked_at: Timestamp,
}

/// Asks engines for a sign of life.
#[async_trait]
pub trait EngineProbes: Send + Sync {
    /// Asks every enabled engine at once, in the order of their configuration. Answers within `patience`: an engine
    /// that has not answered by then is offline, and so is one that nothing installed can drive.
    async fn probe_all(&self, patience: Duration) -> Vec<EngineProbe>;
}
