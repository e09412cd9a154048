//! Users as recipients of notifications.

use async_trait::async_trait;
use qm_db::{DbError, Tx};
use qm_kernel::Permission;
use qm_platform::{People, Person};

use crate::repo;
use crate::service::Identity;

fn person((id, timezone): (String, Option<String>)) -> Person {
    Person { id, timezone }
}

#[async_trait]
impl People for Identity {
    async fn find(&self, tx: &mut Tx, id: &str) -> Result<Option<Person>, DbError> {
        Ok(repo::users::active(tx, id).await?.map(person))
    }

    async fn holders(&self, tx: &mut Tx, permission: Permission) -> Result<Vec<Person>, DbError> {
        let holders = repo::users::holders(tx, permission).await?;
        Ok(holders.into_iter().map(person).collect())
    }
}
