//! What the media library is handed of automation: the rules of its triggers.

use std::sync::Arc;

use async_trait::async_trait;
use qm_automation::Automation;
use qm_db::{DbError, Tx};
use qm_library::Triggers;
use serde_json::{Map, Value};

/// Runs the rules of the media triggers.
pub struct MediaTriggers {
    automation: Arc<Automation>,
}

impl MediaTriggers {
    pub fn new(automation: Arc<Automation>) -> Self {
        Self { automation }
    }
}

#[async_trait]
impl Triggers for MediaTriggers {
    async fn fire(&self, tx: &mut Tx, trigger: &str, context: &Map<String, Value>) -> Result<(), DbError> {
        self.automation.fire(tx, trigger, None, context).await
    }
}
