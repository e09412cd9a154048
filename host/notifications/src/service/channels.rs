//! People's ways out of the house: what there is, and giving one up.

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
    /// The caller's connections: with the channels known by name, with what plugins provide beside them, and with what one
    /// provided once.
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

    /// Takes a connection away, with its secrets. What waits to be sent by it is not sent.
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

    /// A channel that can be used now.
    pub(super) async fn usable(&self, channel: &str) -> Result<ChannelKind, NotificationsError> {
        // Asked first: what settles in between is found.
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

    /// The secrets of a connection in clear; none where no key opens them.
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

    /// The connection, unless its secrets cannot be read any more: it is as good as none.
    pub(super) fn readable(&self, stored: Stored) -> Option<Connection> {
        self.open(&stored).map(|_| stored.connection)
    }
}

/// No channel that anybody knows, by as much of its name as is worth repeating.
pub(super) fn unknown(channel: &str) -> NotificationsError {
    NotificationsError::UnknownChannel(cut(channel, MAX_ID))
}
