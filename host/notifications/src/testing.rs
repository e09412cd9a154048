//! The area with fake channels and users, for its own tests.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use qm_db::{Db, DbError, Tx, all, exec, sql};
use qm_kernel::event::{Cause, DomainEvent};
use qm_kernel::{Permission, Principal, Role, Secret};
use qm_platform::notification::{
    Audience, CardBuilder, Category, NotificationCatalogue, NotificationSpec, Severity,
};
use qm_platform::outbox::{Consumer, StoredEvent};
use qm_platform::testing::Claims;
use qm_platform::{Cipher, Ground, People, Person, Settings};
use qm_ports::channel::{ChannelConfig, ChannelError, ChannelKind, Channels, Destination, Message, Receipt};
use qm_realtime::{Hub, HubConfig};
use qm_test_base::{Hands as Clock, NoTokens, START_MS, principal};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use crate::model::catalogue::NOTICE;
use crate::model::channel::Seen;
use crate::service::dispatch::Dispatch;
use crate::service::{Notifications, NotificationsDeps};
use crate::settings::{INBOX_DAYS, MAIL};

sql! {
    ADD_USER = "INSERT INTO users (id, username, email, password_hash, is_active, is_system, failed_login_attempts, \
        totp_enabled, recovery_codes, created_at, updated_at, email_folded, timezone) \
        VALUES ($1, $1, $1, '', $2, $3, 0, $3, '[]', 0, 0, $1, $4)";
    SET_ACTIVE = "UPDATE users SET is_active = $2 WHERE id = $1";
    USERS = "SELECT id, timezone FROM users WHERE is_active ORDER BY id";
    STORED = "SELECT COALESCE(config, '') || COALESCE(state, '') || COALESCE(label, '') || COALESCE(account, '') || \
        COALESCE(last_error, '') FROM notification_channels";
    DELIVERIES = "SELECT user_id || ' ' || channel || ' ' || status || ' ' || CAST(attempts AS TEXT) || ' ' || \
        COALESCE(suppressed_reason, '-') FROM notification_deliveries ORDER BY user_id, channel, created_at, id";
    CUT_OFF = "UPDATE notification_deliveries SET status = 'sending', next_attempt_at = NULL, attempts = 1, \
        is_repeatable = $1 WHERE status = 'pending'";
}

qm_kernel::events! {
    struct Anything: "test.anything" about "torrent" {
        torrent_name: String,
    }
}

/// Key of a notification that has a consumer of its own.
pub const LATER: &str = "test.later";
const LIVE: Audience = Audience::holders(Permission::MediaServerAnalyticsViewLiveActivity);
const CONNECTIONS: Audience = Audience::holders(Permission::MediaServerAnalyticsManageConnections);
const TORRENTS: Audience = Audience::owner_or_holders(Permission::TorrentsView);
const SYSTEM: Audience = Audience::holders(Permission::SystemView);
const USERS_OF: Audience = Audience::holders(Permission::UsersManage);

/// Notifications as the areas of a server bring them, in another order, and one more.
pub static CATALOGUE: [NotificationSpec; 18] = {
    use Audience as A;
    use CardBuilder as B;
    use Category as C;
    use NotificationSpec as N;
    use Severity as S;
    [
        N::new((LATER, 180), (C::Users, S::Info), USERS_OF, B::User),
        NOTICE,
        N::new(("user.created", 150), (C::Users, S::Info), USERS_OF, B::User),
        N::new(
            ("user.role_changed", 160),
            (C::Users, S::Warning),
            USERS_OF,
            B::User,
        ),
        N::new(
            ("security.password_changed", 110),
            (C::Security, S::Warning),
            A::AFFECTED,
            B::Security,
        ),
        N::new(
            ("security.two_factor_disabled", 120),
            (C::Security, S::Warning),
            A::AFFECTED,
            B::Security,
        ),
        N::new(
            ("security.api_key_created", 130),
            (C::Security, S::Warning),
            A::AFFECTED,
            B::Security,
        ),
        N::new(
            ("security.login_failed", 140),
            (C::Security, S::Warning),
            A::AFFECTED,
            B::Security,
        ),
        N::new(
            ("system.storage_warning", 60),
            (C::Storage, S::Warning),
            SYSTEM,
            B::Storage,
        ),
        N::new(
            ("system.storage_critical", 70),
            (C::Storage, S::Error),
            SYSTEM,
            B::Storage,
        ),
        N::new(
            ("system.storage_recovered", 80),
            (C::Storage, S::Success),
            SYSTEM,
            B::Storage,
        ),
        N::new(
            ("provider.offline", 90),
            (C::Providers, S::Error),
            SYSTEM,
            B::Provider,
        ),
        N::new(
            ("provider.recovered", 100),
            (C::Providers, S::Success),
            SYSTEM,
            B::Provider,
        ),
        N::new(
            ("torrent.completed", 40),
            (C::Downloads, S::Success),
            TORRENTS,
            B::Torrent,
        ),
        N::new(
            ("torrent.failed", 50),
            (C::Downloads, S::Error),
            TORRENTS,
            B::Torrent,
        ),
        N::new(
            ("media_server.user_started_watching", 10),
            (C::Playback, S::Info),
            LIVE,
            B::Playback,
        )
        .on_request(),
        N::new(
            ("media_server.user_stopped_watching", 20),
            (C::Playback, S::Info),
            LIVE,
            B::Playback,
        )
        .on_request(),
        N::new(
            ("media_server.refresh_failed", 30),
            (C::Providers, S::Warning),
            CONNECTIONS,
            B::Provider,
        ),
    ]
};

/// The notification with this key.
pub fn find_spec(key: &str) -> Option<&'static NotificationSpec> {
    CATALOGUE.iter().find(|spec| spec.key == key)
}

/// Users of the database with the permissions that the test sets.
#[derive(Default)]
pub struct FakePeople(pub Mutex<BTreeMap<String, BTreeSet<&'static str>>>);

#[async_trait]
impl People for FakePeople {
    async fn find(&self, tx: &mut Tx, id: &str) -> Result<Option<Person>, DbError> {
        let people = users(tx).await?;
        Ok(people.into_iter().find(|person| person.id == id))
    }

    async fn holders(&self, tx: &mut Tx, permission: Permission) -> Result<Vec<Person>, DbError> {
        let mut people = users(tx).await?;
        let held = self.0.lock().unwrap();
        people.retain(|person| {
            held.get(&person.id)
                .is_some_and(|held| held.contains(permission.key()))
        });
        Ok(people)
    }
}

async fn users(tx: &mut Tx) -> Result<Vec<Person>, DbError> {
    let rows = all!(tx, (String, Option<String>), USERS).await?;
    Ok(rows
        .into_iter()
        .map(|(id, timezone)| Person { id, timezone })
        .collect())
}

/// A sent message.
#[derive(Clone, Debug)]
pub struct Sent {
    pub channel: String,
    pub state: String,
    pub message: Message,
}

/// Fake channels: those known by name, and `push`, which detects repetitions.
#[derive(Default)]
pub struct FakeChannels {
    gone: Mutex<BTreeSet<String>>,
    sent: Mutex<Vec<Sent>>,
    /// Error that a channel answers to every call.
    failures: Mutex<HashMap<String, ChannelError>>,
    /// Arrived codes, with the chat each came from.
    pub arrived: Mutex<HashMap<String, String>>,
    /// Destinations at which a message hangs until released.
    pub hanging: Mutex<BTreeSet<String>>,
    pub go: Notify,
}

impl FakeChannels {
    /// Messages sent since the last call.
    pub fn sent(&self) -> Vec<Sent> {
        std::mem::take(&mut *self.sent.lock().unwrap())
    }

    /// Code of the only letter sent since the last call.
    pub fn code(&self) -> String {
        let sent = self.sent();
        assert_eq!(sent.len(), 1, "{sent:?}");
        let digits = sent[0].message.text.split_whitespace().next().unwrap();
        assert!(digits.len() == 6 && digits.bytes().all(|digit| digit.is_ascii_digit()));
        digits.to_owned()
    }

    /// Channel and subject of the messages sent since the last call.
    pub fn subjects(&self) -> Vec<String> {
        let sent = self.sent();
        sent.iter()
            .map(|sent| format!("{} {}", sent.channel, sent.message.subject))
            .collect()
    }

    pub fn fail(&self, channel: &str, error: Option<ChannelError>) {
        let mut failures = self.failures.lock().unwrap();
        match error {
            Some(error) => failures.insert(channel.to_owned(), error),
            None => failures.remove(channel),
        };
    }

    /// Removes the plugin of a channel.
    pub fn unload(&self, channel: &str) {
        self.gone.lock().unwrap().insert(channel.to_owned());
    }

    fn answer(&self, channel: &str) -> Result<(), ChannelError> {
        if self.gone.lock().unwrap().contains(channel) {
            return Err(ChannelError::Missing(format!("no {channel}")));
        }
        let failures = self.failures.lock().unwrap();
        failures.get(channel).cloned().map_or(Ok(()), Err)
    }
}

fn kind(id: &str, property: &str) -> ChannelKind {
    ChannelKind {
        id: id.into(),
        label: format!("The {id}"),
        version: "1".into(),
        config_schema: json!({
            "type": "object", "required": [property], "additionalProperties": false,
            "properties": { property: { "type": "string", "maxLength": 200 } },
        }),
        capabilities: if id == "push" {
            vec!["idempotent".into()]
        } else {
            Vec::new()
        },
        text_limit: None,
        caption_limit: None,
        links_by_code: id == "chat_app_a",
    }
}

fn value(config: &ChannelConfig) -> String {
    let value = config.0.values().next().and_then(Value::as_str);
    value.unwrap_or_default().to_owned()
}

#[async_trait]
impl Channels for FakeChannels {
    fn channels(&self) -> Vec<ChannelKind> {
        let mut kinds = vec![
            kind("chat_app_a", "token"),
            kind("chat_app_b", "webhookUrl"),
            kind("email", "address"),
            kind("push", "topic"),
        ];
        let gone = self.gone.lock().unwrap();
        kinds.retain(|kind| !gone.contains(&kind.id));
        kinds
    }

    async fn verify(&self, channel: &str, config: ChannelConfig) -> Result<Destination, ChannelError> {
        self.answer(channel)?;
        let label = if channel == "chat_app_a" {
            "@house_bot"
        } else {
            "masked"
        };
        Ok(Destination {
            label: label.to_owned(),
            state: format!("to {}", value(&config)),
        })
    }

    async fn link(
        &self,
        channel: &str,
        _config: ChannelConfig,
        code: &str,
    ) -> Result<Option<Destination>, ChannelError> {
        self.answer(channel)?;
        let chat = self.arrived.lock().unwrap().get(code).cloned();
        Ok(chat.map(|chat| Destination {
            label: format!("@{chat}"),
            state: format!("chat {chat}"),
        }))
    }

    async fn send(
        &self,
        channel: &str,
        _config: ChannelConfig,
        state: &str,
        message: Message,
    ) -> Result<Receipt, ChannelError> {
        let hangs = self.hanging.lock().unwrap().contains(state);
        if hangs {
            self.go.notified().await;
        }
        self.answer(channel)?;
        self.sent.lock().unwrap().push(Sent {
            channel: channel.to_owned(),
            state: state.to_owned(),
            message,
        });
        Ok(Receipt::default())
    }
}

/// The area without background loops.
pub struct House {
    pub app: Arc<Notifications>,
    pub db: Db,
    pub clock: Arc<Clock>,
    pub channels: Arc<FakeChannels>,
    pub people: Arc<FakePeople>,
    settings: Settings,
}

const KEY: &str = "an encryption key of no fewer than 32 characters";

impl House {
    /// Creates the users `ada` and `bob`, who may see torrents; mail can be sent.
    pub async fn new(db: &Db) -> Self {
        let house = Self::over(
            db,
            KEY,
            Clock::starting_at(START_MS),
            Arc::default(),
            Arc::default(),
        );
        for name in ["ada", "bob"] {
            house.user(name, &["torrents.view"]).await;
        }
        let mail = json!({ "host": "mail.example.org", "fromAddress": "qm@example.org" });
        house.mail(mail.as_object().unwrap()).await;
        house
    }

    fn over(
        db: &Db,
        key: &str,
        clock: Arc<Clock>,
        channels: Arc<FakeChannels>,
        people: Arc<FakePeople>,
    ) -> Self {
        let ctx = clock.ctx();
        let cipher = Cipher::new(&Secret::new(key), ctx.clone());
        let ground = Ground::new(db.clone(), ctx.clone(), cipher, Arc::new(Claims)).unwrap();
        let settings = ground.settings.clone();
        let hub = Hub::new(HubConfig::default(), Arc::new(NoTokens), ctx);
        let app = Notifications::new(NotificationsDeps {
            ground,
            people: people.clone(),
            hub,
            channels: channels.clone(),
            catalogue: NotificationCatalogue::new(&CATALOGUE),
        });
        Self {
            app: app.unwrap(),
            db: db.clone(),
            clock,
            channels,
            people,
            settings,
        }
    }

    /// The same area after a restart with another key: encrypted values cannot be read.
    pub fn with_another_key(&self) -> Self {
        let key = "another encryption key of no fewer than 32 characters";
        Self::over(
            &self.db,
            key,
            self.clock.clone(),
            self.channels.clone(),
            self.people.clone(),
        )
    }

    pub async fn mail(&self, mail: &Map<String, Value>) {
        let mut tx = self.db.begin_write().await.unwrap();
        self.settings.put(&mut tx, &MAIL, mail).await.unwrap();
        tx.commit().await.unwrap();
    }

    /// Sets the number of days to keep notifications.
    pub async fn keep(&self, days: i64) {
        let mut tx = self.db.begin_write().await.unwrap();
        self.settings.put(&mut tx, &INBOX_DAYS, &days).await.unwrap();
        tx.commit().await.unwrap();
    }

    pub async fn user(&self, name: &str, held: &[&'static str]) {
        self.user_in(name, held, None).await;
    }

    pub async fn user_in(&self, name: &str, held: &[&'static str], zone: Option<&str>) {
        let mut tx = self.db.begin_write().await.unwrap();
        exec!(&mut tx, ADD_USER, name, true, false, zone)
            .await
            .unwrap()
            .exactly(1)
            .unwrap();
        tx.commit().await.unwrap();
        let held = held.iter().copied().collect();
        self.people.0.lock().unwrap().insert(name.to_owned(), held);
    }

    pub async fn set_active(&self, name: &str, active: bool) {
        let mut tx = self.db.begin_write().await.unwrap();
        exec!(&mut tx, SET_ACTIVE, name, active)
            .await
            .unwrap()
            .exactly(1)
            .unwrap();
        tx.commit().await.unwrap();
    }

    /// An event about the torrent `t`.
    pub fn event(&self, key: &'static str, payload: Value) -> DomainEvent {
        let any = Anything {
            torrent_name: String::new(),
        };
        DomainEvent {
            event_key: key.into(),
            payload,
            ..DomainEvent::new(&self.clock.ctx(), Cause::NONE, "t", &any)
        }
    }

    /// Event that a torrent of this name was completed.
    pub fn completed(&self, name: &str) -> DomainEvent {
        self.event("torrent.completed", json!({ "torrentName": name, "hash": "t" }))
    }

    /// Passes an event to the consumer.
    pub async fn dispatch(&self, event: &DomainEvent) {
        let mut tx = self.db.begin_write().await.unwrap();
        let stored = StoredEvent {
            position: 1,
            event: event.clone(),
        };
        Dispatch::for_catalogue(&self.app)[0]
            .handle(&mut tx, &stored)
            .await
            .unwrap();
        tx.commit().await.unwrap();
    }

    /// Connects an address, and confirms it with the code sent there.
    pub async fn mailbox(&self, name: &str, address: &str) -> Seen {
        let mut config = Map::new();
        config.insert("address".to_owned(), json!(address));
        self.channels.sent();
        self.app.connect(&caller(name), "email", config).await.unwrap();
        let code = self.channels.code();
        let confirmed = self.app.confirm(&caller(name), "email", Some(&code)).await;
        confirmed.unwrap()
    }

    /// All stored connections as text.
    pub async fn stored(&self) -> String {
        let mut tx = self.db.begin_read().await.unwrap();
        let rows = all!(&mut tx, (String,), STORED).await.unwrap();
        rows.into_iter().map(|(row,)| row).collect()
    }

    /// `user channel status attempts reason` of each delivery.
    pub async fn deliveries(&self) -> Vec<String> {
        let mut tx = self.db.begin_read().await.unwrap();
        let rows = all!(&mut tx, (String,), DELIVERIES).await.unwrap();
        rows.into_iter().map(|(row,)| row).collect()
    }

    /// Simulates a crash of the server while it sends the waiting messages.
    pub async fn cut_off(&self, is_repeatable: bool) {
        let mut tx = self.db.begin_write().await.unwrap();
        let _ = exec!(&mut tx, CUT_OFF, is_repeatable).await.unwrap();
        tx.commit().await.unwrap();
    }
}

/// User of this name, with a token of the reader role.
pub fn caller(name: &str) -> Principal {
    Principal {
        user_id: name.into(),
        ..principal(Role::ReadOnly)
    }
}
