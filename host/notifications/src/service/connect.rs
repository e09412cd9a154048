//! Connecting and testing a channel.
//!
//! A configuration is checked by the plugin's schema, then by the service behind the channel, and stored only
//! then, if the user still has the permission. The connection is verified once a message was accepted; an
//! address for letters once the user has entered the code that was sent there ([`super::prove`]).

use qm_kernel::{Permission, Principal};
use qm_platform::{config_schema, judge_alone};
use qm_ports::channel::{ChannelConfig, ChannelError, ChannelKind, Destination};
use serde_json::{Map, Value};

use super::Notifications;
use super::channels::unknown;
use crate::error::NotificationsError;
use crate::model::channel::{KNOWN, Open, Seen, links_by_code, sends_letters};
use crate::repo;
use crate::repo::channels::{NewConnection, Stored};

impl Notifications {
    /// Refuses callers without the permission before any request leaves the server.
    pub(super) async fn admit(&self, caller: &Principal) -> Result<(), NotificationsError> {
        let needed = &[Permission::NotificationsChannelsManageOwn];
        judge_alone(&*self.acting, &self.db, caller, needed).await?;
        Ok(())
    }

    /// Stores a configuration in place of the present one. Unless a code will find the destination, a message
    /// is sent there at once; if that fails the connection stays, unverified. An address for letters only
    /// receives a code.
    pub async fn connect(
        &self,
        caller: &Principal,
        channel: &str,
        config: Map<String, Value>,
    ) -> Result<Seen, NotificationsError> {
        self.admit(caller).await?;
        let kind = self.usable(channel).await?;
        judge_config(&kind, &config)?;
        let config = ChannelConfig(config);
        let found = self.channels.verify(channel, config.clone()).await;
        let found = found.map_err(|source| failed(&kind, source))?;
        if sends_letters(&kind) {
            return self.connect_letters(caller, &kind, config, &found).await;
        }
        let stored = self.store(caller, &kind, &config, &found).await?;
        if links_by_code(&kind) {
            return Ok(Seen {
                channel: channel.to_owned(),
                connection: Some(stored.connection),
            });
        }
        self.try_out(&kind, &stored, config, &found.state).await
    }

    pub(super) async fn store(
        &self,
        caller: &Principal,
        kind: &ChannelKind,
        config: &ChannelConfig,
        found: &Destination,
    ) -> Result<Stored, NotificationsError> {
        let (user_id, now) = (&*caller.user_id, self.ctx.now());
        // While a code is expected, the plugin has found the account and not the destination.
        let (account, state) = if links_by_code(kind) {
            (Some(&*found.label), None)
        } else {
            (None, Some(self.cipher.encrypt(&found.state)))
        };
        let new = NewConnection {
            id: self.ctx.id(),
            user_id,
            channel: &kind.id,
            config: self.cipher.encrypt(&Value::Object(config.0.clone()).to_string()),
            state,
            account,
            label: &found.label,
        };
        let mut tx = self.db.begin_write().await?;
        self.judge(&mut tx, caller, Permission::NotificationsChannelsManageOwn)
            .await?;
        repo::channels::connect(&mut tx, &new, now).await?;
        let stored = repo::channels::find(&mut tx, user_id, &kind.id).await?;
        let stored = stored.ok_or(NotificationsError::NoSuchConnection)?;
        tx.commit().await?;
        self.codes().cancel(user_id, &kind.id);
        Ok(stored)
    }

    /// Sends a test message by a connection.
    pub async fn test(&self, caller: &Principal, channel: &str) -> Result<Seen, NotificationsError> {
        self.admit(caller).await?;
        let stored = {
            let mut tx = self.db.begin_read().await?;
            repo::channels::find(&mut tx, &caller.user_id, channel).await?
        };
        let Some(stored) = stored else {
            if !KNOWN.contains(&channel) && self.kind(channel).is_none() {
                let settling = self.channels.settling(channel);
                return Err(settling.map_or_else(|| unknown(channel), Into::into));
            }
            return Err(NotificationsError::NoSuchConnection);
        };
        let open = self.open(&stored).ok_or(NotificationsError::NoSuchConnection)?;
        let Open {
            config,
            state: Some(state),
        } = open
        else {
            return Err(NotificationsError::NoSuchConnection);
        };
        let kind = self.usable(channel).await?;
        if sends_letters(&kind) && !stored.connection.verified {
            return Err(NotificationsError::Unconfirmed);
        }
        self.try_out(&kind, &stored, config, state.expose()).await
    }

    /// Sends a message and records the result.
    async fn try_out(
        &self,
        kind: &ChannelKind,
        stored: &Stored,
        config: ChannelConfig,
        state: &str,
    ) -> Result<Seen, NotificationsError> {
        let letterhead = {
            let mut tx = self.db.begin_read().await?;
            self.letterhead(&mut tx).await?
        };
        let message = letterhead.trial(self.ctx.id());
        let sent = self.channels.send(&kind.id, config, state, message).await;
        let refusal = sent.err().map(|source| failed(kind, source));
        let told = refusal.as_ref().map(ToString::to_string);
        let (which, now) = (stored.which(), self.ctx.now());
        let mut tx = self.db.begin_write().await?;
        let outcome = told.as_deref().map_or(Ok(()), Err);
        repo::channels::note(&mut tx, which, outcome, now).await?;
        repo::channels::note_test(&mut tx, which, outcome.is_ok(), now).await?;
        let now_stored = repo::channels::find(&mut tx, which.user_id, which.channel).await?;
        tx.commit().await?;
        match refusal {
            Some(refusal) => Err(refusal),
            None => Ok(Seen {
                channel: kind.id.clone(),
                connection: now_stored.and_then(|stored| self.readable(stored)),
            }),
        }
    }
}

/// Refuses a configuration that the plugin's schema does not allow.
fn judge_config(kind: &ChannelKind, config: &Map<String, Value>) -> Result<(), NotificationsError> {
    let broken = config_schema::broken_rules(&kind.config_schema, config)
        .map_err(|error| failed(kind, ChannelError::Plugin(error.to_string())))?;
    if broken.is_empty() {
        return Ok(());
    }
    let messages = broken.iter().map(config_schema::BrokenRule::message);
    Err(NotificationsError::Config(messages.collect()))
}

/// Error of the service behind a channel, with the channel's name.
pub(super) fn failed(kind: &ChannelKind, source: ChannelError) -> NotificationsError {
    NotificationsError::Channel {
        channel: kind.label.clone(),
        source,
    }
}
