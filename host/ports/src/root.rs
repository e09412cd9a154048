//! The Default Root Path, for areas whose requests name files as those of the file manager do.

use async_trait::async_trait;

/// Knows where paths of requests begin.
#[async_trait]
pub trait DefaultRoot: Send + Sync {
    /// The directory that is set, as it is stored; none: paths begin at the first of the hard roots. It has to be judged by
    /// `qm_confined` before each use. The error is a sentence for the log.
    async fn find_default_root(&self) -> Result<Option<String>, String>;
}
