//! Reading and changing a user's preferences.

use std::collections::{BTreeSet, HashMap};

use qm_kernel::{Permission, Principal};
use qm_platform::notification::NotificationSpec;

use super::Notifications;
use crate::error::NotificationsError;
use crate::model::preference::{Preference, PreferenceChange};
use crate::repo;

/// Event, the user's preference, and true if they have set it themselves.
pub type Chosen = (&'static NotificationSpec, Preference, bool);

impl Notifications {
    /// The caller's preferences, in the order of the catalogue.
    pub async fn preferences(&self, caller: &Principal) -> Result<Vec<Chosen>, NotificationsError> {
        let mut tx = self.db.begin_read().await?;
        self.still_there(&mut tx, caller).await?;
        let mut stored: HashMap<String, Preference> =
            repo::preferences::of_user(&mut tx, &caller.user_id).await?;
        let chosen = self.catalogue.iter().map(|event| match stored.remove(event.key) {
            Some(preference) => (event, preference, true),
            None => (event, Preference::default_for(event), false),
        });
        Ok(chosen.collect())
    }

    /// Changes one preference, and returns it.
    pub async fn prefer(
        &self,
        caller: &Principal,
        key: &str,
        change: &PreferenceChange,
    ) -> Result<Chosen, NotificationsError> {
        let mut changed = self
            .change(caller, self.catalogue.find(key).as_slice(), change)
            .await?;
        changed.pop().ok_or(NotificationsError::UnknownEvent)
    }

    /// Applies one change to several preferences: number of changed ones, and the unknown keys.
    pub async fn prefer_all(
        &self,
        caller: &Principal,
        keys: Vec<String>,
        change: &PreferenceChange,
    ) -> Result<(usize, Vec<String>), NotificationsError> {
        let (known, skipped): (BTreeSet<String>, BTreeSet<String>) = keys
            .into_iter()
            .partition(|key| self.catalogue.find(key).is_some());
        let events: Vec<&NotificationSpec> =
            known.iter().filter_map(|key| self.catalogue.find(key)).collect();
        let changed = self.change(caller, &events, change).await?;
        Ok((changed.len(), skipped.into_iter().collect()))
    }

    async fn change(
        &self,
        caller: &Principal,
        events: &[&'static NotificationSpec],
        change: &PreferenceChange,
    ) -> Result<Vec<Chosen>, NotificationsError> {
        let mut tx = self.db.begin_write().await?;
        // The caller is checked first, before the answer shows if the event exists.
        self.judge(&mut tx, caller, Permission::NotificationsManageOwn)
            .await?;
        let mut stored: HashMap<String, Preference> =
            repo::preferences::of_user(&mut tx, &caller.user_id).await?;
        let mut changed = Vec::with_capacity(events.len());
        for &event in events {
            let mut preference = stored
                .remove(event.key)
                .unwrap_or_else(|| Preference::default_for(event));
            change.apply(&mut preference);
            repo::preferences::put(&mut tx, &caller.user_id, event.key, &preference, self.ctx.now()).await?;
            changed.push((event, preference, true));
        }
        tx.commit().await?;
        Ok(changed)
    }
}
