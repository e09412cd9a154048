//! Power is judged where it is handed out.
//!
//! A principal is made of its token's claims alone, and a token outlives what it says: a second ago its user may have
//! been deactivated, demoted or deleted. Reading may rest on the claims. Whoever gives or changes accounts, roles, keys,
//! stored secrets, plugins or settings asks [`Acting`] first, in the transaction of the change: from then on the
//! caller's row is held, so that a demotion is either seen here or waits until the change is done.
//!
//! The answer is an [`Actor`], which is also what an audit row of such a change is made from.

use async_trait::async_trait;
use qm_db::{Db, DbError, Tx};
use qm_kernel::{ClientInfo, ErrorKind, Permission, PermissionSet, Principal, Role};

use crate::audit::AuditEntry;

/// Who asks, from where: as their token says, which [`Acting`] judges.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'a> {
    pub principal: &'a Principal,
    pub client: &'a ClientInfo,
}

/// Re-reads who acts. Implemented by `identity`, wired by the server.
#[async_trait]
pub trait Acting: Send + Sync {
    /// Holds the row of the principal's user until `tx` ends. They exist, are active and hold all of `needed` by the
    /// roles that are stored, or the change is refused. For what concerns one's own account only, `needed` is empty.
    async fn judge(
        &self,
        tx: &mut Tx,
        principal: &Principal,
        needed: &[Permission],
    ) -> Result<Actor, ActingError>;

    /// Permissions that somebody has now who is not there to show a token: the author of what acts later, by itself. Holds
    /// no row. Whoever is gone or deactivated has none, and the error says which it is.
    async fn powers(&self, tx: &mut Tx, user_id: &str) -> Result<PermissionSet, ActingError>;
}

/// A caller as the database knows them, whose row the transaction holds.
#[derive(Clone, Debug)]
pub struct Actor {
    user_id: String,
    /// Those that the token names and the database still has.
    roles: Vec<Role>,
}

impl Actor {
    /// To be made by [`Acting::judge`] alone.
    pub fn new(user_id: String, roles: Vec<Role>) -> Self {
        Self { user_id, roles }
    }

    pub fn user_id(&self) -> &str {
        &self.user_id
    }

    /// By the roles that are stored and by the token too.
    pub fn is_super_admin(&self) -> bool {
        self.roles.contains(&Role::SuperAdmin)
    }

    /// An audit row of what they did.
    pub fn entry<'a>(&self, action: &'static str, client: &'a ClientInfo) -> AuditEntry<'a> {
        AuditEntry {
            user_id: Some(self.user_id.clone()),
            action,
            client: Some(client),
            ..AuditEntry::default()
        }
    }
}

/// Why a caller may not do what their token allows.
#[derive(Debug, thiserror::Error)]
pub enum ActingError {
    #[error("Your account no longer exists")]
    Gone,
    #[error("Your account is deactivated")]
    Inactive,
    /// In the words of the guard, which reads the token.
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

    /// What stands in `code` of the answer; never changes.
    pub const fn code(&self) -> &'static str {
        match self {
            ActingError::Gone => "forbidden.account_gone",
            ActingError::Inactive => "forbidden.account_inactive",
            ActingError::Lacks(_) => "forbidden.permission",
            ActingError::Database(error) => error.kind().code(),
        }
    }

    /// Refuses unless `needed` is among `held`, or the roles hold everything.
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

/// Judges a caller before work that no transaction can hold: a plugin is loaded, an engine is asked. What happens to
/// them while it runs comes too late to stop it.
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
