//! Ended sessions: deactivation, deletion and a change of the password close a user's open sockets.
//!
//! The change records the end in its own transaction, and every server on the database polls for records, so
//! it does not matter which server or command line made the change. A server's own changes wake it at once. A
//! server that was down reads the records when it starts. Bounds: one query every [`EVERY`] and after each
//! change, if anything was written meanwhile; the last [`OVERLAP`] is read again each time; records are
//! deleted after [`KEPT`]. The clocks of the servers must agree within that overlap.

use std::time::Duration;

use qm_db::{DbError, Tx};
use qm_kernel::{BEAT, Timestamp, as_error};
use qm_platform::Beats;
use qm_realtime::{Hub, SessionsEnded};
use tokio_util::sync::CancellationToken;

use crate::error::IdentityError;
use crate::repo;
use crate::service::Identity;

/// Sockets close within a second of the change.
const EVERY: Duration = BEAT;
/// Period read again each time: a transaction that began earlier may commit later, and clocks differ a
/// little.
const OVERLAP: Duration = Duration::from_mins(5);
/// Longer than the longest access token lifetime that causes no warning.
pub(super) const KEPT: Duration = Duration::from_hours(8 * 24);

impl Identity {
    /// Name and interval of [`Identity::end_sockets_loop`].
    pub const ENDINGS: (&'static str, Duration) = ("session_end_watch", EVERY);

    /// Records the end of the user's sessions, in the transaction that causes it. The caller has locked the
    /// user's row.
    pub(super) async fn end_sessions(
        &self,
        tx: &mut Tx,
        user_id: &str,
        now: Timestamp,
    ) -> Result<(), DbError> {
        repo::session_ends::note(tx, self.inner.ctx.id(), user_id, now).await?;
        let ended = self.inner.sessions_ended.clone();
        tx.after_commit(move || ended.notify_one());
        Ok(())
    }

    /// Closes the sockets of users whose sessions have ended; ends when `stop` is cancelled.
    pub async fn end_sockets_loop(self, hub: Hub, stop: CancellationToken) {
        let mut beats = Beats::every(EVERY);
        let mut read_until = Timestamp::from_ms(0);
        let mut changes = self.inner.db.changes();
        let mut failing = false;
        loop {
            let next = async {
                tokio::select! {
                    () = beats.next() => changes.any(),
                    () = self.inner.sessions_ended.notified() => true,
                }
            };
            match stop.run_until_cancelled(next).await {
                None => return,
                Some(false) => continue,
                Some(true) => {}
            }
            let began = self.inner.ctx.now();
            match self.end_sockets(&hub, read_until).await {
                Ok(()) => {
                    read_until = Timestamp::from_ms(began.ms() - OVERLAP.as_millis() as i64);
                    failing = false;
                }
                Err(error) => {
                    changes.forget();
                    // Logged once: an outage of the database lasts for many rounds.
                    if !std::mem::replace(&mut failing, true) {
                        let error = as_error(&error);
                        tracing::warn!(error, "it is not known whose sessions have ended");
                    }
                }
            }
        }
    }

    /// Closes the sockets of users whose sessions ended after `after`.
    pub async fn end_sockets(&self, hub: &Hub, after: Timestamp) -> Result<(), IdentityError> {
        let ended = {
            let mut tx = self.inner.db.begin_read().await?;
            repo::session_ends::since(&mut tx, after).await?
        };
        for row in ended {
            let ended = SessionsEnded {
                at: Timestamp::from_ms(row.ended_at),
                for_good: row.active == 0,
            };
            hub.end_sessions(&row.user_id, ended);
        }
        Ok(())
    }
}
