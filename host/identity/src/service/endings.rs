//! Ended sessions: who is deactivated or deleted, or changes the password, loses the open sockets.
//!
//! The change notes it in its own transaction, and every server on the database looks for notes, so that it does not
//! matter which one made the change, or whether it was the operator's command line. Its own changes wake a server at once. A
//! server that was down reads the notes when it starts.
//! Bounds: one query every [`EVERY`] and after each change, where anything was written meanwhile, of the last [`OVERLAP`] only once it has read the rest; notes go after
//! [`KEPT`]. Clocks of several servers are taken to agree within that overlap.

use std::time::Duration;

use qm_db::{DbError, Tx};
use qm_kernel::{BEAT, Timestamp};
use qm_platform::Beats;
use qm_realtime::{Hub, SessionsEnded};
use tokio_util::sync::CancellationToken;

use crate::error::IdentityError;
use crate::repo;
use crate::service::Identity;

/// Sockets close within a second of the change.
const EVERY: Duration = BEAT;
/// Read again each time: a transaction that began earlier may commit later, and clocks differ a little.
const OVERLAP: Duration = Duration::from_mins(5);
/// Longer than the longest access token that is not warned of.
pub(super) const KEPT: Duration = Duration::from_hours(8 * 24);

impl Identity {
    /// Name and interval of [`Identity::end_sockets_loop`].
    pub const ENDINGS: (&'static str, Duration) = ("session_end_watch", EVERY);

    /// Notes, with the change that does it, that the user's sessions end. The caller holds the user's row.
    pub(super) async fn end_sessions(
        &self,
        tx: &mut Tx,
        user_id: &str,
        now: Timestamp,
    ) -> Result<(), DbError> {
        repo::endings::note(tx, self.inner.ctx.id(), user_id, now).await?;
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
                    // Said once: a database that is away is away for many rounds.
                    if !std::mem::replace(&mut failing, true) {
                        let error = &error as &dyn std::error::Error;
                        tracing::warn!(error, "it is not known whose sessions have ended");
                    }
                }
            }
        }
    }

    /// Tells the hub of everybody whose sessions ended after `after`.
    pub async fn end_sockets(&self, hub: &Hub, after: Timestamp) -> Result<(), IdentityError> {
        let ended = {
            let mut tx = self.inner.db.begin_read().await?;
            repo::endings::since(&mut tx, after).await?
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
