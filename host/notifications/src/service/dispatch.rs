//! Consuming events: recipients and channels are decided and stored in the transaction that consumes the
//! event, so exactly once per event, even across a crash. The worker sends the outgoing messages.
//!
//! Permissions and preferences are read at that moment. A thousand recipients take about thirty statements: a
//! card is made once per time zone, and rows are inserted 64 at a time.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use async_trait::async_trait;
use qm_db::{DbError, Tx};
use qm_kernel::event::DomainEvent;
use qm_kernel::{Permission, Timestamp, timezone};
use qm_platform::Person;
use qm_platform::notification::{NotificationSpec, Recipients};
use qm_platform::outbox::{ConsumeError, Consumer, StoredEvent};
use qm_platform::settings::TIMEZONE;
use qm_realtime::Room;
use serde::Serialize;

use super::Notifications;
use crate::model::catalogue::NOTICE;
use crate::model::preference::Preference;
use crate::model::render::{Reader, render};
use crate::repo;
use crate::repo::deliveries::NewDelivery;
use crate::repo::inbox::NewNotification;

/// Name and keys of the first consumer, fixed for ever. A later notification has a consumer of its own, named as its event.
const FIRST: (&str, &[&str]) = (
    "notifications.dispatch",
    &[
        "media_server.user_started_watching",
        "media_server.user_stopped_watching",
        "media_server.refresh_failed",
        "torrent.completed",
        "torrent.failed",
        "system.storage_warning",
        "system.storage_critical",
        "system.storage_recovered",
        "provider.offline",
        "provider.recovered",
        "security.password_changed",
        "security.two_factor_disabled",
        "security.api_key_created",
        "security.login_failed",
        "user.created",
        "user.role_changed",
    ],
);
/// Permission to know which user watches what.
const SEES_PEOPLE: Permission = Permission::MediaServerAnalyticsViewLiveActivity;

/// Consumer that notifies users of events.
pub struct Dispatch {
    notifications: Arc<Notifications>,
    name: &'static str,
    keys: &'static [&'static str],
}

impl Dispatch {
    /// Consumers of all events of the catalogue.
    pub fn for_catalogue(notifications: &Arc<Notifications>) -> Vec<Self> {
        let later = notifications
            .catalogue
            .iter()
            .filter(|spec| !FIRST.1.contains(&spec.key) && spec.key != NOTICE.key)
            .map(|spec| (spec.key, std::slice::from_ref(&spec.key)));
        std::iter::once(FIRST)
            .chain(later)
            .map(|(name, keys)| Self {
                notifications: notifications.clone(),
                name,
                keys,
            })
            .collect()
    }
}

#[async_trait]
impl Consumer for Dispatch {
    fn name(&self) -> &'static str {
        self.name
    }

    fn keys(&self) -> &'static [&'static str] {
        self.keys
    }

    async fn handle(&self, tx: &mut Tx, stored: &StoredEvent) -> Result<(), ConsumeError> {
        if let Some(def) = self.notifications.catalogue.find(&stored.event.event_key) {
            self.notifications.tell(tx, def, &stored.event).await?;
        }
        Ok(())
    }
}

/// Realtime message about a new notification.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct News {
    id: String,
    event_key: &'static str,
    category: &'static str,
    severity: &'static str,
    title: Arc<str>,
    created_at: Timestamp,
}

/// A recipient and their preference.
struct Recipient {
    person: Person,
    preference: Preference,
}

/// Texts for all recipients of one time zone.
struct RenderedTexts {
    title: Arc<str>,
    /// JSON of the card.
    card: Option<String>,
    deep_link: Option<String>,
}

impl Notifications {
    /// Notifies the users whom an event concerns, each once.
    pub(super) async fn tell(
        self: &Arc<Self>,
        tx: &mut Tx,
        def: &'static NotificationSpec,
        event: &DomainEvent,
    ) -> Result<(), DbError> {
        let people = self.concerned(tx, def, event).await?;
        self.tell_people(tx, def, event, people).await
    }

    /// Notifies these users of an event, each once.
    pub(super) async fn tell_people(
        self: &Arc<Self>,
        tx: &mut Tx,
        def: &'static NotificationSpec,
        event: &DomainEvent,
        people: Vec<Person>,
    ) -> Result<(), DbError> {
        let recipients = self.recipients(tx, def, event, people).await?;
        if recipients.is_empty() {
            return Ok(());
        }
        let now = self.ctx.now();
        let told = self.words(tx, def, event, &recipients, now).await?;
        let notifications: Vec<NewNotification<'_>> = recipients
            .iter()
            .map(|recipient| {
                let told = &told[&recipient.person.timezone];
                NewNotification {
                    id: self.ctx.id(),
                    user_id: &recipient.person.id,
                    event_id: &event.id,
                    event_key: def.key,
                    category: def.category.as_str(),
                    severity: def.severity.as_str(),
                    title: &told.title,
                    deep_link: told.deep_link.as_deref(),
                    resource_type: event.resource_type.as_deref(),
                    resource_id: event.resource_id.as_deref(),
                    presentation: told.card.as_deref(),
                    surfaced: recipient.preference.in_app,
                    at: now,
                }
            })
            .collect();
        repo::inbox::add(tx, &notifications).await?;
        let deliveries = self.outgoing(&recipients, &notifications);
        repo::deliveries::add(tx, &deliveries).await?;
        let created = notifications.iter().filter(|new| new.surfaced).map(|new| {
            let news = News {
                id: new.id.clone(),
                event_key: def.key,
                category: new.category,
                severity: new.severity,
                title: new.title.into(),
                created_at: now,
            };
            (Arc::<str>::from(new.user_id), news)
        });
        self.after_commit(tx, created.collect(), !deliveries.is_empty());
        Ok(())
    }

    /// Those of the users who want the event and were not notified yet.
    async fn recipients(
        &self,
        tx: &mut Tx,
        def: &NotificationSpec,
        event: &DomainEvent,
        people: Vec<Person>,
    ) -> Result<Vec<Recipient>, DbError> {
        if people.is_empty() {
            return Ok(Vec::new());
        }
        let told = repo::inbox::notified_users(tx, &event.id).await?;
        let mut preferences: HashMap<String, Preference> = repo::preferences::of_event(tx, def.key).await?;
        let wanted = people.into_iter().filter_map(|person| {
            let preference = preferences
                .remove(&person.id)
                .unwrap_or_else(|| Preference::default_for(def));
            let is_wanted = !preference.is_silent() && !told.contains(&person.id);
            is_wanted.then_some(Recipient { person, preference })
        });
        Ok(wanted.collect())
    }

    /// The active users whom the event concerns.
    async fn concerned(
        &self,
        tx: &mut Tx,
        def: &NotificationSpec,
        event: &DomainEvent,
    ) -> Result<Vec<Person>, DbError> {
        let affected = event
            .subject_user_id
            .as_deref()
            .or(event.actor_user_id.as_deref());
        let affected = match (def.audience.recipients, affected) {
            (Recipients::AffectedUser | Recipients::ResourceOwner, Some(id)) => {
                self.people.find(tx, id).await?
            }
            (_, _) => None,
        };
        match (def.audience.recipients, affected, def.audience.permission) {
            (Recipients::AffectedUser, person, _) => Ok(person.into_iter().collect()),
            (Recipients::ResourceOwner, Some(person), _) => Ok(vec![person]),
            (Recipients::ResourceOwner | Recipients::PermissionHolders, _, Some(permission)) => {
                self.people.holders(tx, permission).await
            }
            (Recipients::ResourceOwner | Recipients::PermissionHolders, _, None) => Ok(Vec::new()),
        }
    }

    /// Title and card for each time zone of the recipients.
    async fn words(
        &self,
        tx: &mut Tx,
        def: &NotificationSpec,
        event: &DomainEvent,
        recipients: &[Recipient],
        now: Timestamp,
    ) -> Result<BTreeMap<Option<String>, RenderedTexts>, DbError> {
        let house: Option<String> = self.settings.get(tx, &TIMEZONE).await?;
        let mut words = BTreeMap::new();
        for recipient in recipients {
            let zone = &recipient.person.timezone;
            if words.contains_key(zone) {
                continue;
            }
            let reader = Reader {
                zone: timezone::zone(zone.as_deref().or(house.as_deref())),
                // Events of playback are sent to holders of this permission only.
                sees_people: def.audience.permission == Some(SEES_PEOPLE),
                now,
            };
            let rendered = render(def, event, &reader);
            let deep_link = rendered
                .card
                .as_ref()
                .and_then(|card| card.action.as_ref())
                .map(|action| action.href.clone());
            let told = RenderedTexts {
                title: rendered.title.into(),
                // A card of texts and numbers always has a JSON form.
                card: rendered.card.and_then(|card| serde_json::to_string(&card).ok()),
                deep_link,
            };
            words.insert(zone.clone(), told);
        }
        Ok(words)
    }

    /// One message for each channel of the recipient's preference.
    fn outgoing<'a>(
        &self,
        recipients: &[Recipient],
        notifications: &'a [NewNotification<'_>],
    ) -> Vec<NewDelivery<'a>> {
        let pairs = recipients.iter().zip(notifications);
        let outgoing = pairs.flat_map(|(recipient, new)| {
            recipient
                .preference
                .channels
                .iter()
                .map(move |channel| NewDelivery {
                    id: self.ctx.id(),
                    user_id: new.user_id,
                    notification_id: &new.id,
                    event_key: new.event_key,
                    channel: channel.clone(),
                    at: new.at,
                })
        });
        outgoing.collect()
    }

    /// After the commit: notifies open inboxes and wakes the worker.
    fn after_commit(self: &Arc<Self>, tx: &mut Tx, created: Vec<(Arc<str>, News)>, has_outgoing: bool) {
        let notifications = self.clone();
        tx.after_commit(move || {
            for (user_id, message) in created {
                notifications
                    .hub
                    .emit_json(Room::User(user_id), "account.notification.created", &message);
            }
            if has_outgoing {
                notifications.work.notify_one();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use qm_db::{Db, db_test};

    use super::*;
    use crate::testing::{House, LATER};

    db_test! {
        async fn every_event_of_the_catalogue_has_one_consumer(db: Db) {
            let house = House::new(&db).await;
            let consumers = Dispatch::for_catalogue(&house.app);
            let names: Vec<&str> = consumers.iter().map(Consumer::name).collect();
            assert_eq!(names, ["notifications.dispatch", LATER]);
            let consumed: Vec<&str> = consumers.iter().flat_map(qm_platform::outbox::Consumer::keys).copied().collect();
            let events = house.app.catalogue.iter().filter(|spec| **spec != NOTICE);
            let known: BTreeSet<&str> = events.map(|spec| spec.key).collect();
            assert_eq!((consumed.len(), consumed.into_iter().collect()), (known.len(), known));
        }
    }
}
