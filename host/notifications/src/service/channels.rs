//! Listing and disconnecting a user's channels.

use std::collections::BTreeMap;

use qm_kernel::{Permission, Principal, Secret};
use qm_ports::channel::{ChannelConfig, ChannelKind};
use serde_json::{Map, Value};

use super::Notifications;
use crate::error::NotificationsError;
use crate::model::channel::{Connection, EMAIL, KNOWN, MAX_ID, Open, Overview, Seen};
use crate::model::presentation::cut;
use crate::repo;
use crate::repo::channels::Stored;

impl Notifications {
    /// The caller's connections: channels known by name, further channels of plugins, and connections whose
    /// plugin is gone.
    pub async fn overview(&self, caller: &Principal) -> Result<Overview, NotificationsError> {
        let mut tx = self.db.begin_read().await?;
        self.still_there(&mut tx, caller).await?;
        let stored = repo::channels::of_user(&mut tx, &caller.user_id).await?;
        let can_mail = self.can_mail(&mut tx).await?;
        drop(tx);
        let kinds = self.channels.channels();
        let connected = stored.into_iter().filter_map(|stored| self.readable(stored));
        let mut connected: BTreeMap<String, Connection> = connected
            .map(|connection| (connection.channel.clone(), connection))
            .collect();
        let mut ids: Vec<String> = KNOWN.map(str::to_owned).into();
        let others = kinds.iter().map(|kind| &kind.id).chain(connected.keys());
        let mut others: Vec<String> = others
            .filter(|id| !KNOWN.contains(&id.as_str()))
            .cloned()
            .collect();
        others.sort_unstable();
        others.dedup();
        ids.extend(others);
        let channels = ids.into_iter().map(|channel| Seen {
            connection: connected.remove(&channel),
            channel,
        });
        Ok(Overview {
            channels: channels.collect(),
            email_ready: can_mail && kinds.iter().any(|kind| kind.id == EMAIL),
            kinds,
        })
    }

    /// Deletes a connection with its secrets. Its waiting messages are not sent.
    pub async fn disconnect(&self, caller: &Principal, channel: &str) -> Result<(), NotificationsError> {
        let mut tx = self.db.begin_write().await?;
        self.judge(&mut tx, caller, Permission::NotificationsChannelsManageOwn)
            .await?;
        if !repo::channels::disconnect(&mut tx, &caller.user_id, channel, self.ctx.now()).await? {
            return Err(NotificationsError::NoSuchConnection);
        }
        tx.commit().await?;
        self.codes().cancel(&caller.user_id, channel);
        self.proofs().cancel(&caller.user_id, channel);
        Ok(())
    }

    /// Finds a channel that is installed now.
    pub(super) async fn usable(&self, channel: &str) -> Result<ChannelKind, NotificationsError> {
        // Asked before the lookup, so that a plugin that becomes ready in between is found.
        let settling = self.channels.settling(channel);
        let kind = self.kind(channel);
        if let Some(settling) = settling.filter(|_| kind.is_none()) {
            return Err(settling.into());
        }
        if channel == EMAIL {
            let mut tx = self.db.begin_read().await?;
            let can_mail = self.can_mail(&mut tx).await?;
            return kind
                .filter(|_| can_mail)
                .ok_or(NotificationsError::EmailNotConfigured);
        }
        kind.ok_or_else(|| {
            if KNOWN.contains(&channel) {
                NotificationsError::NotInstalled(channel.to_owned())
            } else {
                unknown(channel)
            }
        })
    }

    /// Decrypts the secrets of a connection; `None` where that fails.
    pub(super) fn open(&self, stored: &Stored) -> Option<Open> {
        let config = self.cipher.decrypt(stored.config.as_deref()?)?;
        let config: Map<String, Value> = serde_json::from_str(config.expose()).ok()?;
        let state: Option<Secret> = match stored.state.as_deref() {
            Some(sealed) => Some(self.cipher.decrypt(sealed)?),
            None => None,
        };
        Some(Open {
            config: ChannelConfig(config),
            state,
        })
    }

    /// The connection, unless its secrets cannot be decrypted: then it counts as none.
    pub(super) fn readable(&self, stored: Stored) -> Option<Connection> {
        self.open(&stored).map(|_| stored.connection)
    }
}

/// Error for an unknown channel, with its shortened name.
pub(super) fn unknown(channel: &str) -> NotificationsError {
    NotificationsError::UnknownChannel(cut(channel, MAX_ID))
}
