//! Rights of those who change libraries and their items.

use std::sync::Arc;

use qm_db::{DbError, Tx};
use qm_jobs::{JobContext, JobError};
use qm_kernel::{Caller, Permission, Requester};
use qm_platform::{Acting, ActingError, Actor};
use qm_ports::Holders;

use crate::LibraryError;

/// Judge of those who act, and of those for whom jobs act.
#[derive(Clone)]
pub struct Rights {
    /// Judge of callers.
    pub acting: Arc<dyn Acting>,
    /// Judge of those who gave an order, while its job runs.
    pub holders: Arc<dyn Holders>,
}

impl Rights {
    /// Checks a permission of the caller, in the transaction of the action.
    pub async fn judge(
        &self,
        tx: &mut Tx,
        caller: Caller<'_>,
        needed: Permission,
    ) -> Result<Actor, LibraryError> {
        self.judge_all(tx, caller, &[needed]).await
    }

    /// Checks several permissions of the caller.
    pub async fn judge_all(
        &self,
        tx: &mut Tx,
        caller: Caller<'_>,
        needed: &[Permission],
    ) -> Result<Actor, LibraryError> {
        Ok(self.acting.judge(tx, caller.principal, needed).await?)
    }

    /// Person for whom the server works by itself, with their present permissions; `None`: nobody is known, or their account is
    /// gone or deactivated. `work` is the id of the work.
    pub async fn find_person(
        &self,
        tx: &mut Tx,
        user_id: Option<&str>,
        work: &str,
    ) -> Result<Option<Requester>, DbError> {
        let Some(user_id) = user_id else {
            return Ok(None);
        };
        match self.acting.powers(tx, user_id).await {
            Ok(powers) => Ok(Some(Requester::absent(user_id, powers, work))),
            Err(ActingError::Database(error)) => Err(error),
            Err(ActingError::Gone | ActingError::Inactive | ActingError::Lacks(_)) => Ok(None),
        }
    }

    /// Ends a job whose user lost a permission, or no longer exists.
    pub async fn check_order(&self, job: &JobContext, needed: &[Permission]) -> Result<(), JobError> {
        let Some(user) = job.created_by() else {
            return Err(JobError::new("forbidden.account_gone", "Your account no longer exists").permanent());
        };
        for permission in needed {
            let holds = self.holders.holds(user, *permission).await;
            if !holds.map_err(|error| JobError::new("unavailable.accounts", error))? {
                let message = format!("Missing permission(s): {}", permission.key());
                return Err(JobError::new("forbidden.permission", message).permanent());
            }
        }
        Ok(())
    }
}
