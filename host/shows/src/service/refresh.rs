//! Refreshing shows: by the loop, for stored rules, and on request.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use qm_db::DbError;
use qm_kernel::{Timestamp, as_error};
use qm_platform::Beats;
use qm_ports::shows::{AiringStatus, ShowError, ShowSnapshot, ShowStatuses};
use tokio_util::sync::CancellationToken;

use super::{Shows, details};
use crate::model::report::{ShowStatus, UNCONFIRMED, holds_for};
use crate::repo::{self, Kept};

const INTERVAL: Duration = Duration::from_hours(1);
/// Shows examined per run, the longest unasked first.
const LOOKED_AT: i64 = 500;
/// Shows requested from providers per run.
const ASKED_FOR: usize = 100;
/// Time after which a show without requests and rules is deleted.
const FORGOTTEN_AFTER: Duration = Duration::from_hours(180 * 24);

/// Reason why a show is unknown.
#[derive(Debug, thiserror::Error)]
enum Unanswered {
    /// No provider, or none has the show.
    #[error(transparent)]
    Unknown(ShowError),
    #[error(transparent)]
    Failed(ShowError),
}

/// Counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refreshed {
    pub answered: usize,
    pub failed: usize,
    pub forgotten: usize,
}

impl Shows {
    /// Name and interval of the loop.
    pub const REFRESH: (&'static str, Duration) = ("shows.refresh", INTERVAL);

    /// Refreshes due shows hourly until stopped.
    pub async fn refresh_loop(self: Arc<Self>, stop: CancellationToken) {
        let mut beats = Beats::every(INTERVAL);
        while stop.run_until_cancelled(beats.next()).await.is_some() {
            if let Err(error) = self.refresh_due(&stop).await {
                tracing::warn!(error = as_error(&error), "shows could not be asked anew");
            }
        }
    }

    /// One run, one show after the other.
    pub async fn refresh_due(&self, stop: &CancellationToken) -> Result<Refreshed, DbError> {
        let mut done = Refreshed::default();
        if self.providers.is_empty() {
            return Ok(done);
        }
        let mut tx = self.db.begin_read().await?;
        let oldest = repo::oldest(&mut tx, LOOKED_AT).await?;
        drop(tx);
        let now = self.ctx.now();
        let due = oldest.iter().filter(|kept| is_due(kept, now)).take(ASKED_FOR);
        for kept in due {
            let asking = self.ask_again(&kept.provider, &kept.id, false);
            match stop.run_until_cancelled(asking).await {
                None => return Ok(done),
                Some(Ok(_)) => done.answered += 1,
                Some(Err(error)) => {
                    done.failed += 1;
                    tracing::debug!(show = kept.id, provider = kept.provider, %error, "a show was not asked anew");
                    let mut tx = self.db.begin_write().await?;
                    repo::tried(&mut tx, (&kept.provider, &kept.id), self.ctx.now()).await?;
                    tx.commit().await?;
                }
            }
        }
        done.forgotten = self.forget().await?;
        Ok(done)
    }

    /// Asks a show's provider now and stores the answer.
    async fn ask_again(&self, provider: &str, id: &str, is_asked: bool) -> Result<ShowStatus, Unanswered> {
        let source = self.provider(provider).await.ok_or_else(|| {
            Unanswered::Unknown(ShowError(format!("the provider \"{provider}\" is not set up")))
        })?;
        let told = details(source.as_ref(), id)
            .await
            .map_err(Unanswered::Failed)?
            .ok_or_else(|| Unanswered::Unknown(ShowError(format!("{provider} has no show \"{id}\""))))?;
        let status = ShowStatus::known((provider, id), source.confidence(), id, told, self.ctx.now());
        self.keep((provider, id), &status, is_asked)
            .await
            .map_err(|error| Unanswered::Failed(ShowError(error.to_string())))?;
        Ok(status)
    }

    async fn forget(&self) -> Result<usize, DbError> {
        let since = self.ctx.now().minus(FORGOTTEN_AFTER);
        let mut tx = self.db.begin_read().await?;
        let unasked = repo::unasked(&mut tx, since, LOOKED_AT).await?;
        drop(tx);
        if unasked.is_empty() {
            return Ok(0);
        }
        let watched = match self.rules() {
            None => Ok(Vec::new()),
            Some(rules) => rules.watched().await,
        };
        let watched: HashSet<(String, String)> = match watched {
            Ok(watched) => watched.into_iter().collect(),
            Err(error) => {
                tracing::warn!(%error, "no show is forgotten: what rules are about is not known");
                return Ok(0);
            }
        };
        let mut tx = self.db.begin_write().await?;
        let mut forgotten = 0;
        for kept in unasked {
            let show = (kept.provider, kept.id);
            if watched.contains(&show) {
                // Recorded, so that it does not delay others.
                repo::asked(&mut tx, (&show.0, &show.1), self.ctx.now()).await?;
            } else {
                repo::forget(&mut tx, (&show.0, &show.1)).await?;
                forgotten += 1;
            }
        }
        tx.commit().await?;
        Ok(forgotten)
    }

    async fn kept(&self, provider: &str, id: &str) -> Result<Option<Kept>, DbError> {
        let mut tx = self.db.begin_read().await?;
        repo::find(&mut tx, provider, id).await
    }
}

fn is_due(kept: &Kept, now: Timestamp) -> bool {
    let status = kept
        .status
        .as_ref()
        .map_or(AiringStatus::Unknown, |status| status.normalized_status);
    now.since(kept.checked_at) >= holds_for(status)
}

#[async_trait]
impl ShowStatuses for Shows {
    async fn snapshot(&self, provider: &str, provider_show_id: &str) -> ShowSnapshot {
        let kept = self
            .kept(provider, provider_show_id)
            .await
            .unwrap_or_else(|error| {
                tracing::warn!(
                    error = as_error(&error),
                    "what is known of a show could not be read"
                );
                None
            });
        let old = kept.as_ref().and_then(|kept| {
            let status = kept.status.as_ref()?;
            Some(status.snapshot(provider, provider_show_id, kept.checked_at))
        });
        let now = self.ctx.now();
        if let Some(fresh) = old
            .clone()
            .filter(|_| kept.is_some_and(|kept| !is_due(&kept, now)))
        {
            return fresh;
        }
        match self.ask_again(provider, provider_show_id, true).await {
            Ok(status) => status.snapshot(provider, provider_show_id, now),
            // The old status is better than none.
            Err(_) => old.unwrap_or_else(|| {
                ShowStatus::unknown("", UNCONFIRMED).snapshot(provider, provider_show_id, now)
            }),
        }
    }

    async fn refresh(
        &self,
        provider: &str,
        provider_show_id: &str,
    ) -> Result<Option<ShowSnapshot>, ShowError> {
        match self.ask_again(provider, provider_show_id, true).await {
            Ok(status) => Ok(Some(status.snapshot(provider, provider_show_id, self.ctx.now()))),
            Err(Unanswered::Unknown(_)) => Ok(None),
            Err(Unanswered::Failed(error)) => Err(error),
        }
    }
}
