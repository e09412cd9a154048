//! Recipients of messages: users as the database has them at that moment, whatever their tokens claim.

use async_trait::async_trait;
use qm_db::{DbError, Tx};
use qm_kernel::Permission;

/// An active user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    pub id: String,
    /// IANA time zone; `None`: that of the server.
    pub timezone: Option<String>,
}

/// Finds active users. Implemented by `identity`, supplied by the server.
#[async_trait]
pub trait People: Send + Sync {
    /// The active user with this id; `None` otherwise.
    async fn find(&self, tx: &mut Tx, id: &str) -> Result<Option<Person>, DbError>;

    /// Active users whose roles hold the permission, or every permission; by id.
    async fn holders(&self, tx: &mut Tx, permission: Permission) -> Result<Vec<Person>, DbError>;
}
