//! Triggers of automation, as libraries pull them.

use async_trait::async_trait;
use qm_db::{DbError, Tx};
use serde_json::{Map, Value};

/// Runner of the rules of a trigger. Offered by automation, wired by the server.
#[async_trait]
pub trait Triggers: Send + Sync {
    /// In the transaction of what happened.
    async fn fire(&self, tx: &mut Tx, trigger: &str, context: &Map<String, Value>) -> Result<(), DbError>;
}

/// Where nobody has rules.
pub struct NoTriggers;

#[async_trait]
impl Triggers for NoTriggers {
    async fn fire(&self, _: &mut Tx, _: &str, _: &Map<String, Value>) -> Result<(), DbError> {
        Ok(())
    }
}
