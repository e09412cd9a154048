//! Confirming the address of a channel that sends letters.
//!
//! The operator's mail server must not write to strangers on behalf of a user. So an unconfirmed address
//! receives only one letter, with a code and a fixed text; notifications and test messages follow once the
//! code was entered.

use qm_kernel::{Permission, Principal, Secret};
use qm_ports::channel::{ChannelConfig, ChannelKind, Destination};
use serde_json::Value;

use super::Notifications;
use super::connect::failed;
use crate::error::NotificationsError;
use crate::model::channel::Seen;
use crate::model::proof::{DAY, HOUR, OF_ADDRESS, OF_PERSON, Refused};
use crate::repo;
use crate::repo::channels::Stored;

impl Notifications {
    /// Stores an address, and sends a code there.
    pub(super) async fn connect_letters(
        &self,
        caller: &Principal,
        kind: &ChannelKind,
        config: ChannelConfig,
        found: &Destination,
    ) -> Result<Seen, NotificationsError> {
        let owner = (&*caller.user_id, &*kind.id);
        let address = match config.0.get("address").and_then(Value::as_str) {
            Some(address) => address.to_owned(),
            None => Value::Object(config.0.clone()).to_string(),
        };
        // Checked before anything is stored: a user over the limit keeps the present connection.
        let code = self.issue(owner, &address)?;
        let stored = self.store(caller, kind, &config, found).await?;
        self.proofs().bind(owner, &code, stored.which().version);
        let letterhead = {
            let mut tx = self.db.begin_read().await?;
            self.letterhead(&mut tx).await?
        };
        let letter = letterhead.proof(self.ctx.id(), &code);
        let sent = self.channels.send(&kind.id, config, &found.state, letter).await;
        let refusal = sent.err().map(|source| failed(kind, source));
        let connection = self.note_letter(&stored, refusal.as_ref()).await?;
        match refusal {
            Some(refusal) => Err(refusal),
            None => Ok(Seen {
                channel: kind.id.clone(),
                connection: connection.and_then(|stored| self.readable(stored)),
            }),
        }
    }

    fn issue(&self, owner: (&str, &str), address: &str) -> Result<Secret, NotificationsError> {
        let (bytes, now) = (self.ctx.bytes(), self.ctx.now());
        let too_many = |refused| {
            let (most, within) = match refused {
                Refused::Person => (OF_PERSON, HOUR),
                Refused::Address => (OF_ADDRESS, DAY),
            };
            NotificationsError::TooManyCodes {
                most,
                minutes: within.as_secs() / 60,
            }
        };
        self.proofs().issue(owner, address, bytes, now).map_err(too_many)
    }

    /// Records the result of the letter. Acceptance by the mail server proves nothing.
    async fn note_letter(
        &self,
        stored: &Stored,
        refusal: Option<&NotificationsError>,
    ) -> Result<Option<Stored>, NotificationsError> {
        let told = refusal.map(ToString::to_string);
        let (which, now) = (stored.which(), self.ctx.now());
        let mut tx = self.db.begin_write().await?;
        let outcome = told.as_deref().map_or(Ok(()), Err);
        repo::channels::note(&mut tx, which, outcome, now).await?;
        repo::channels::note_test(&mut tx, which, false, now).await?;
        let stored = repo::channels::find(&mut tx, which.user_id, which.channel).await?;
        tx.commit().await?;
        Ok(stored)
    }

    /// Checks the code of the newest letter; from then on notifications go to its address.
    pub(super) async fn confirm_letters(
        &self,
        caller: &Principal,
        kind: &ChannelKind,
        code: Option<&str>,
    ) -> Result<Seen, NotificationsError> {
        let needed = Permission::NotificationsChannelsManageOwn;
        let gone = || NotificationsError::NotConfigured(kind.id.clone());
        let mut tx = self.db.begin_write().await?;
        self.judge(&mut tx, caller, needed).await?;
        let stored = repo::channels::find(&mut tx, &caller.user_id, &kind.id).await?;
        let stored = stored.ok_or_else(gone)?;
        let which = stored.which();
        let code = code.unwrap_or_default();
        let now = self.ctx.now();
        let is_theirs = self
            .proofs()
            .redeem((which.user_id, which.channel), which.version, code, now);
        if !is_theirs {
            return Err(NotificationsError::WrongCode);
        }
        if !repo::channels::prove(&mut tx, which, now).await? {
            return Err(gone());
        }
        let proven = repo::channels::find(&mut tx, which.user_id, which.channel).await?;
        tx.commit().await?;
        Ok(Seen {
            channel: kind.id.clone(),
            connection: proven.and_then(|stored| self.readable(stored)),
        })
    }
}
