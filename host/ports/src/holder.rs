//! A check that a user still has the rights that a paper of theirs grants. For papers that outlive an access token,
//! such as media tickets.

use async_trait::async_trait;
use qm_kernel::Permission;

/// Knows the users as they are at this moment.
#[async_trait]
pub trait Holders: Send + Sync {
    /// True if the user exists, is active and holds `permission`. The error is a sentence for the log.
    async fn holds(&self, user_id: &str, permission: Permission) -> Result<bool, String>;
}
