//! Check of the caller's present permissions before a sensitive change.
//!
//! A principal is made from the claims of a token alone, and a token outlives its claims: its user may have
//! been deactivated, demoted or deleted a second ago. Reads may rely on the claims. A change of accounts,
//! roles, keys, stored secrets, plugins or settings asks [`Acting`] first, in the transaction of the change:
//! the caller's row stays locked, so that a demotion is either seen here or waits until the change is done.
//!
//! The result is an [`Actor`], from which the audit row of the change is made.

use async_trait::async_trait;
use qm_db::{Db, DbError, Tx};
use qm_kernel::{ClientInfo, ErrorKind, Permission, PermissionSet, Principal, Role};

use crate::audit::AuditEntry;

/// Reads the present state of a user. Implemented by `identity`, supplied by the server.
#[async_trait]
pub trait Acting: Send + Sync {
    /// Locks the row of the principal's user until `tx` ends, and fails unless the user exists, is active and
    /// holds all of `needed` by the stored roles. For the user's own account, `needed` is empty.
    async fn judge(
        &self,
        tx: &mut Tx,
        principal: &Principal,
        needed: &[Permission],
    ) -> Result<Actor, ActingError>;

    /// Present permissions of a user without a token: the author of something that acts later by itself.
    /// Locks no row. A deleted or deactivated user is an error.
    async fn powers(&self, tx: &mut Tx, user_id: &str) -> Result<PermissionSet, ActingError>;
}

/// A checked caller, whose row the transaction has locked.
#[derive(Clone, Debug)]
pub struct Actor {
    user_id: String,
    /// Roles that the token names and the database still has.
    roles: Vec<Role>,
}

impl Actor {
    /// Only [`Acting::judge`] calls this.
    pub fn new(user_id: String, roles: Vec<Role>) -> Self {
        Self { user_id, roles }
    }

    pub fn user_id(&self) -> &str {
        &self.user_id
    }

    /// True when both the stored roles and the token say so.
    pub fn is_super_admin(&self) -> bool {
        self.roles.contains(&Role::SuperAdmin)
    }

    /// An audit row for a change by this user.
    pub fn entry<'a>(&self, action: &'static str, client: &'a ClientInfo) -> AuditEntry<'a> {
        AuditEntry {
            user_id: Some(self.user_id.clone()),
            action,
            client: Some(client),
            ..AuditEntry::default()
        }
    }
}

/// Reason why a caller may not do what their token allows.
#[derive(Debug, thiserror::Error)]
pub enum ActingError {
    #[error("Your account no longer exists")]
    Gone,
    #[error("Your account is deactivated")]
    Inactive,
    /// Same sentence as the guard's, which reads the token.
    #[error("Missing permission(s): {0}")]
    Lacks(String),
    #[error(transparent)]
    Database(#[from] DbError),
}

impl ActingError {
    pub const fn kind(&self) -> ErrorKind {
        match self {
            ActingError::Gone | ActingError::Inactive | ActingError::Lacks(_) => ErrorKind::Forbidden,
            ActingError::Database(error) => error.kind(),
        }
    }

    /// Stable machine-readable word in `code` of the answer; never changes.
    pub const fn code(&self) -> &'static str {
        match self {
            ActingError::Gone => "forbidden.account_gone",
            ActingError::Inactive => "forbidden.account_inactive",
            ActingError::Lacks(_) => "forbidden.permission",
            ActingError::Database(error) => error.kind().code(),
        }
    }

    /// Refusals of a caller whose token is still valid, for the document of the answers.
    pub fn list_refusals() -> [Self; 3] {
        [
            ActingError::Gone,
            ActingError::Inactive,
            ActingError::Lacks("…".to_owned()),
        ]
    }

    /// Fails unless `held` contains `needed`, or the roles hold every permission.
    pub fn check(roles: &[Role], held: PermissionSet, needed: &[Permission]) -> Result<(), ActingError> {
        let lacking: Vec<&str> = needed
            .iter()
            .filter(|permission| !held.contains(**permission))
            .map(|permission| permission.key())
            .collect();
        if lacking.is_empty() || roles.contains(&Role::SuperAdmin) {
            Ok(())
        } else {
            Err(ActingError::Lacks(lacking.join(", ")))
        }
    }
}

/// Checks a caller before work that fits no transaction, e.g. loading a plugin. A change of the user during
/// that work comes too late to stop it.
pub async fn judge_alone(
    acting: &dyn Acting,
    db: &Db,
    principal: &Principal,
    needed: &[Permission],
) -> Result<Actor, ActingError> {
    let mut tx = db.begin_write().await?;
    let actor = acting.judge(&mut tx, principal, needed).await?;
    tx.commit().await?;
    Ok(actor)
}
