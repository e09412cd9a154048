//! Consumer of events about files and downloads.

use std::sync::Arc;

use async_trait::async_trait;
use qm_db::Tx;
use qm_platform::outbox::{ConsumeError, Consumer, StoredEvent};
use qm_scan::{FILE_EVENTS, FILE_KEYS};

use super::Library;

/// Consumer of the events: a complete download starts a job, anything else starts scans.
pub struct FileEvents(pub Arc<Library>);

#[async_trait]
impl Consumer for FileEvents {
    fn name(&self) -> &'static str {
        FILE_EVENTS
    }

    fn keys(&self) -> &'static [&'static str] {
        FILE_KEYS
    }

    async fn handle(&self, tx: &mut Tx, stored: &StoredEvent) -> Result<(), ConsumeError> {
        if stored.event.event_key == "torrent.completed" {
            return self.0.orders.follows(tx, &stored.event.payload).await;
        }
        self.0.scanner.follow_event(tx, stored).await
    }
}
