//! Whom the house writes to: users as the database knows them at that moment, whatever their tokens say.

use async_trait::async_trait;
use qm_db::{DbError, Tx};
use qm_kernel::Permission;

/// An active user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    pub id: String,
    /// IANA zone; none: that of the server.
    pub timezone: Option<String>,
}

/// Knows the active users. Implemented by `identity`, wired by the server.
#[async_trait]
pub trait People: Send + Sync {
    /// The user with this id; none: they do not exist, or are not active.
    async fn find(&self, tx: &mut Tx, id: &str) -> Result<Option<Person>, DbError>;

    /// Everybody whose roles hold the permission, or hold everything; by id.
    async fn holders(&self, tx: &mut Tx, permission: Permission) -> Result<Vec<Person>, DbError>;
}
