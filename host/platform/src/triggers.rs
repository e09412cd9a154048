//! Triggers of rules, for areas in which things happen that rules wait for.

use async_trait::async_trait;
use qm_db::{DbError, Tx};
use serde_json::{Map, Value};

/// Runs the rules of a trigger. Automation offers it.
#[async_trait]
pub trait Triggers: Send + Sync {
    /// Stores the runs of matching rules in the transaction of what happened; they begin after its commit.
    async fn fire(&self, tx: &mut Tx, trigger: &str, context: &Map<String, Value>) -> Result<(), DbError>;
}
