//! Linking a chat: the user sends a code to their bot, and the bot's service reports the sender.

use qm_kernel::{Permission, Principal, Secret};
use qm_ports::channel::{ChannelConfig, ChannelKind, Destination};

use super::Notifications;
use super::connect::failed;
use crate::error::NotificationsError;
use crate::model::channel::{Open, Seen, links_by_code, sends_letters};
use crate::model::code::{LIFE, MOST};
use crate::repo;
use crate::repo::channels::Stored;

/// A new code, shown once.
#[derive(Debug)]
pub struct LinkCode {
    pub code: Secret,
    pub expires_in_seconds: u64,
    /// Blank where the product names no account.
    pub bot_username: String,
}

impl Notifications {
    /// Issues a code for the bot of the caller's connection; the previous one becomes invalid.
    pub async fn link(&self, caller: &Principal, channel: &str) -> Result<LinkCode, NotificationsError> {
        self.admit(caller).await?;
        let (stored, ..) = self.linkable(caller, channel).await?;
        let bytes = self.ctx.bytes();
        let issued = self
            .codes()
            .issue((&caller.user_id, channel), bytes, self.ctx.now());
        let code = issued.map_err(|_| NotificationsError::TooManyCodes {
            most: MOST,
            minutes: LIFE.as_secs() / 60,
        })?;
        Ok(LinkCode {
            code,
            expires_in_seconds: LIFE.as_secs(),
            bot_username: stored.connection.bot_username().to_owned(),
        })
    }

    /// Asks for the arrived code, and stores the chat it came from. A channel that sends letters takes the
    /// code itself.
    pub async fn confirm(
        &self,
        caller: &Principal,
        channel: &str,
        code: Option<&str>,
    ) -> Result<Seen, NotificationsError> {
        self.admit(caller).await?;
        if let Some(kind) = self.kind(channel).filter(sends_letters) {
            return self.confirm_letters(caller, &kind, code).await;
        }
        let (stored, config, kind) = self.linkable(caller, channel).await?;
        let code = self.codes().live(&caller.user_id, channel, self.ctx.now());
        let code = code.ok_or(NotificationsError::NoCodeReceived)?;
        let found = self.channels.link(channel, config.clone(), code.expose()).await;
        let found = found
            .map_err(|source| failed(&kind, source))?
            .ok_or(NotificationsError::NoCodeReceived)?;
        let connection = self.store_link(caller, &stored, &found, &code).await?;
        self.greet(channel, config, &found.state).await;
        Ok(Seen {
            channel: channel.to_owned(),
            connection: self.readable(connection),
        })
    }

    /// The caller's connection with a channel that is linked by codes.
    async fn linkable(
        &self,
        caller: &Principal,
        channel: &str,
    ) -> Result<(Stored, ChannelConfig, ChannelKind), NotificationsError> {
        let stored = {
            let mut tx = self.db.begin_read().await?;
            repo::channels::find(&mut tx, &caller.user_id, channel).await?
        };
        let opened = stored.and_then(|stored| Some((self.open(&stored)?, stored)));
        let (Open { config, .. }, stored) =
            opened.ok_or_else(|| NotificationsError::NotConfigured(channel.to_owned()))?;
        let kind = self.usable(channel).await?;
        if !links_by_code(&kind) {
            return Err(NotificationsError::NoCodes(channel.to_owned()));
        }
        Ok((stored, config, kind))
    }

    async fn store_link(
        &self,
        caller: &Principal,
        stored: &Stored,
        found: &Destination,
        code: &Secret,
    ) -> Result<Stored, NotificationsError> {
        let which = stored.which();
        let gone = || NotificationsError::NotConfigured(which.channel.to_owned());
        let mut tx = self.db.begin_write().await?;
        self.judge(&mut tx, caller, Permission::NotificationsChannelsManageOwn)
            .await?;
        let others = repo::channels::other_states(&mut tx, which.channel, which.user_id).await?;
        let is_theirs = |sealed: &String| {
            self.cipher
                .decrypt(sealed)
                .is_some_and(|state| state.expose() == found.state)
        };
        if others.iter().any(is_theirs) {
            return Err(NotificationsError::ChatTaken);
        }
        if !self.codes().spend((which.user_id, which.channel), code) {
            return Err(NotificationsError::NoCodeReceived);
        }
        let sealed = self.cipher.encrypt(&found.state);
        if !repo::channels::link(&mut tx, which, (&sealed, &found.label), self.ctx.now()).await? {
            return Err(gone());
        }
        let linked = repo::channels::find(&mut tx, which.user_id, which.channel).await?;
        tx.commit().await?;
        linked.ok_or_else(gone)
    }

    /// Sends a greeting to the linked chat. A failure is ignored: it will show with the first message.
    async fn greet(&self, channel: &str, config: ChannelConfig, state: &str) {
        let letterhead = async {
            let mut tx = self.db.begin_read().await?;
            self.letterhead(&mut tx).await
        };
        let Ok(letterhead) = letterhead.await else {
            return;
        };
        let message = letterhead.greeting(self.ctx.id());
        if let Err(error) = self.channels.send(channel, config, state, message).await {
            tracing::debug!(channel, %error, "a chat that was linked was not greeted");
        }
    }
}
