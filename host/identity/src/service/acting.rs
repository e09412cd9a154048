//! Present permissions of a caller by the database, checked by every sensitive change.
//!
//! Lock order of rows: the role that a change may empty, the caller, the user to change.

use async_trait::async_trait;
use qm_db::Tx;
use qm_kernel::{Caller, Permission, PermissionSet, Principal, Role};
use qm_platform::{Acting, ActingError, Actor};

use crate::error::IdentityError;
use crate::repo;
use crate::repo::users::UserRow;
use crate::service::Identity;

#[async_trait]
impl Acting for Identity {
    async fn judge(
        &self,
        tx: &mut Tx,
        principal: &Principal,
        needed: &[Permission],
    ) -> Result<Actor, ActingError> {
        let (actor, _) = judge(tx, principal, needed).await?;
        Ok(actor)
    }

    async fn powers(&self, tx: &mut Tx, user_id: &str) -> Result<PermissionSet, ActingError> {
        let user = repo::users::find(tx, user_id).await?.ok_or(ActingError::Gone)?;
        if !user.is_active {
            return Err(ActingError::Inactive);
        }
        let (roles, held) = repo::roles::granted_to(tx, user_id).await?;
        if roles.contains(&Role::SuperAdmin) {
            return Ok(PermissionSet::all());
        }
        Ok(held)
    }
}

/// The caller, who must still hold `needed`; see [`Acting::judge`].
pub(super) async fn judge_caller(
    tx: &mut Tx,
    caller: Caller<'_>,
    needed: Permission,
) -> Result<Actor, IdentityError> {
    let (actor, _) = judge(tx, caller.principal, &[needed]).await?;
    Ok(actor)
}

/// The caller with their own row, for changes of their own account.
pub(super) async fn lock_caller(tx: &mut Tx, caller: Caller<'_>) -> Result<(Actor, UserRow), IdentityError> {
    Ok(judge(tx, caller.principal, &[]).await?)
}

async fn judge(
    tx: &mut Tx,
    principal: &Principal,
    needed: &[Permission],
) -> Result<(Actor, UserRow), ActingError> {
    let user = repo::users::lock(tx, &principal.user_id)
        .await?
        .ok_or(ActingError::Gone)?;
    if !user.is_active {
        return Err(ActingError::Inactive);
    }
    let (mut roles, held) = repo::roles::granted_to(tx, &user.id).await?;
    ActingError::check(&roles, held, needed)?;
    // A role granted after the token was issued counts only in the next token.
    roles.retain(|role| principal.roles.contains(role));
    Ok((Actor::new(user.id.clone(), roles), user))
}
