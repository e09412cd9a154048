//! Periodic check of the enabled media servers.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use qm_db::DbError;
use qm_kernel::as_error;
use qm_platform::Beats;
use tokio_util::sync::CancellationToken;

use super::Integrations;
use crate::model::{Integration, Status};
use crate::repo;

impl Integrations {
    /// Name and interval of the loop.
    pub const HEALTH: (&'static str, Duration) = ("media_server_health_check", Duration::from_mins(5));

    /// Checks every enabled server until stopped. Only the active node of a database runs it.
    pub async fn health_loop(self: Arc<Self>, stop: CancellationToken) {
        let mut beats = Beats::every(Self::HEALTH.1);
        while stop.run_until_cancelled(beats.next()).await.is_some() {
            match stop.run_until_cancelled(self.look_after()).await {
                None => return,
                Some(Ok(())) => {}
                Some(Err(error)) => tracing::warn!(
                    error = as_error(&error),
                    "media servers could not be looked after"
                ),
            }
        }
    }

    /// One run.
    pub async fn look_after(&self) -> Result<(), DbError> {
        let all = repo::integrations::all(&mut self.db.begin_read().await?).await?;
        let enabled = all.iter().filter(|one| one.is_enabled);
        let asked = join_all(enabled.map(|one| self.look_at(one))).await;
        asked.into_iter().collect()
    }

    async fn look_at(&self, integration: &Integration) -> Result<(), DbError> {
        let answer = self.probe(integration).await?;
        let (id, name) = (integration.id.as_str(), integration.name.as_str());
        // Only changes are logged.
        match answer {
            Ok(_) if integration.status == Status::Offline => {
                tracing::info!(id, name, "a media server answers again");
            }
            Err(error) if integration.status != Status::Offline => {
                tracing::warn!(id, name, %error, "a media server does not answer");
            }
            _ => {}
        }
        Ok(())
    }
}
