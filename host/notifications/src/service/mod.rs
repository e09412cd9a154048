//! Use cases of the area. The server constructs [`Notifications`].

mod channels;
mod connect;
mod deliver;
pub mod dispatch;
mod inbox;
mod link;
mod notice;
mod preferences;
mod prove;
#[cfg(test)]
mod tests;
mod upkeep;
pub mod worker;

use std::sync::{Arc, Mutex, MutexGuard, Weak};

use prometheus::{IntCounterVec, Opts};
use qm_db::{Db, DbError, Tx};
use qm_kernel::{Ctx, Permission, Principal};
use qm_lanes::IgnorePoison;
use qm_platform::notification::NotificationCatalogue;
use qm_platform::settings::PRODUCT_NAME;
use qm_platform::{Acting, ActingError, Actor, Cipher, Ground, People, Settings};
use qm_ports::channel::{ChannelKind, Channels};
use qm_realtime::Hub;
use tokio::sync::Notify;

pub use self::link::LinkCode;
use crate::error::NotificationsError;
use crate::model::code::Codes;
use crate::model::message::Letterhead;
use crate::model::proof::Proofs;
use crate::settings::{MAIL, PUBLIC_URL, can_mail};

/// Dependencies of the area, supplied by the server.
pub struct NotificationsDeps {
    pub ground: Ground,
    /// Finds the recipients.
    pub people: Arc<dyn People>,
    pub hub: Hub,
    pub channels: Arc<dyn Channels>,
    /// Notifications of all areas.
    pub catalogue: NotificationCatalogue,
}

/// Service of all notifications.
pub struct Notifications {
    /// Reference to itself, for tasks that outlive a call.
    me: Weak<Notifications>,
    db: Db,
    ctx: Ctx,
    acting: Arc<dyn Acting>,
    people: Arc<dyn People>,
    cipher: Cipher,
    settings: Settings,
    hub: Hub,
    channels: Arc<dyn Channels>,
    catalogue: NotificationCatalogue,
    codes: Mutex<Codes>,
    proofs: Mutex<Proofs>,
    /// Wakes the worker: a message is to be sent.
    work: Notify,
    deliveries: IntCounterVec,
}

impl Notifications {
    /// Creates the area; the loop sends the waiting messages.
    ///
    /// When another metric has the same name.
    pub fn new(deps: NotificationsDeps) -> Result<Arc<Self>, prometheus::Error> {
        let help = Opts::new(
            "quartermaster_notification_deliveries_total",
            "Attempts at messages of notifications that have ended.",
        );
        let deliveries = IntCounterVec::new(help, &["outcome"])?;
        deps.ground.metrics.register(Box::new(deliveries.clone()))?;
        Ok(Arc::new_cyclic(|me| Self {
            me: me.clone(),
            db: deps.ground.db,
            ctx: deps.ground.ctx,
            acting: deps.ground.acting,
            people: deps.people,
            cipher: deps.ground.cipher,
            settings: deps.ground.settings,
            hub: deps.hub,
            channels: deps.channels,
            catalogue: deps.catalogue,
            codes: Mutex::new(Codes::default()),
            proofs: Mutex::new(Proofs::default()),
            work: Notify::new(),
            deliveries,
        }))
    }

    /// Notifications of all areas, in the order in which clients list them.
    pub fn catalogue(&self) -> &NotificationCatalogue {
        &self.catalogue
    }

    /// Checks the caller and locks their row; see [`Acting::judge`].
    async fn judge(
        &self,
        tx: &mut Tx,
        caller: &Principal,
        needed: Permission,
    ) -> Result<Actor, NotificationsError> {
        Ok(self.acting.judge(tx, caller, &[needed]).await?)
    }

    /// Refuses a reader whose account is gone or deactivated.
    async fn still_there(&self, tx: &mut Tx, caller: &Principal) -> Result<(), NotificationsError> {
        match self.people.find(tx, &caller.user_id).await? {
            Some(_) => Ok(()),
            None => Err(ActingError::Inactive.into()),
        }
    }

    /// The channel of an installed plugin.
    fn kind(&self, channel: &str) -> Option<ChannelKind> {
        self.channels
            .channels()
            .into_iter()
            .find(|kind| kind.id == channel)
    }

    async fn can_mail(&self, tx: &mut Tx) -> Result<bool, DbError> {
        Ok(can_mail(&self.settings.get(tx, &MAIL).await?))
    }

    /// The present values that all messages share.
    async fn letterhead(&self, tx: &mut Tx) -> Result<Letterhead, DbError> {
        Ok(Letterhead {
            product: self.settings.get(tx, &PRODUCT_NAME).await?,
            public_url: self.settings.get(tx, &PUBLIC_URL).await?,
        })
    }

    fn proofs(&self) -> MutexGuard<'_, Proofs> {
        // No holder of the lock can leave the data half changed.
        self.proofs.lock().ignore_poison()
    }

    fn codes(&self) -> MutexGuard<'_, Codes> {
        // No holder of the lock can leave the data half changed.
        self.codes.lock().ignore_poison()
    }
}
