//! One event for 1,000 recipients, on both databases: time until all are notified, and rate of outgoing
//! messages with a channel that accepts each at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use qm_db::{Backend, Db, exec, sql, value};
use qm_kernel::{Ctx, Secret};
use qm_platform::Cipher;
use qm_ports::channel::{ChannelConfig, ChannelError, ChannelKind, Channels, Destination, Message, Receipt};
use qm_testkit::server::PASSWORD;
use qm_testkit::token::ENCRYPTION_KEY;
use qm_testkit::{TestDb, TestServer};
use serde_json::json;

use crate::report::{Report, median};

const PEOPLE: u64 = 1000;
const EVENTS: u64 = 5;
const CHANNEL: &str = "counting";

sql! {
    PERSON = "INSERT INTO users (id, username, email, password_hash, is_active, is_system, failed_login_attempts, \
        totp_enabled, recovery_codes, created_at, updated_at, email_folded) \
        VALUES ($1, $1, $1, '', $2, $3, 0, $3, '[]', 0, 0, $1)";
    ROLE = "INSERT INTO user_roles (user_id, role_id) SELECT $1, id FROM roles WHERE name = 'ADMINISTRATOR'";
    CONNECTION = "INSERT INTO notification_channels (id, user_id, channel, config, state, is_enabled, is_verified, \
        consecutive_failures, created_at, updated_at, version) VALUES ($1, $1, $2, $3, $4, $5, $5, 0, 0, 0, 1)";
    WISH = "INSERT INTO notification_preferences (user_id, event_key, is_enabled, in_app, channels, updated_at) \
        VALUES ($1, 'user.created', $2, $2, $3, 0)";
    TOLD = "SELECT COUNT(*) FROM notifications";
}

/// Counts the accepted messages.
#[derive(Default)]
struct Counting(AtomicU64);

#[async_trait]
impl Channels for Counting {
    fn channels(&self) -> Vec<ChannelKind> {
        vec![ChannelKind {
            id: CHANNEL.to_owned(),
            label: CHANNEL.to_owned(),
            version: "1".to_owned(),
            config_schema: json!({ "type": "object" }),
            capabilities: Vec::new(),
            text_limit: None,
            caption_limit: None,
            links_by_code: false,
        }]
    }

    async fn verify(&self, _channel: &str, _config: ChannelConfig) -> Result<Destination, ChannelError> {
        Err(ChannelError::Unsupported("nobody connects here".to_owned()))
    }

    async fn link(
        &self,
        _channel: &str,
        _config: ChannelConfig,
        _code: &str,
    ) -> Result<Option<Destination>, ChannelError> {
        Ok(None)
    }

    async fn send(
        &self,
        _channel: &str,
        _config: ChannelConfig,
        _state: &str,
        _message: Message,
    ) -> Result<Receipt, ChannelError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(Receipt::default())
    }
}

pub async fn measure(report: &mut Report) {
    for backend in [Backend::Sqlite, Backend::Postgres] {
        match TestDb::fresh(backend).await {
            Some(db) => {
                measure_database(report, &db).await;
                db.remove().await;
            }
            None => report.add(
                format!("fan-out, {backend:?}"),
                "no such server on this machine",
                "",
            ),
        }
    }
}

async fn measure_database(report: &mut Report, db: &TestDb) {
    let channel = Arc::new(Counting::default());
    let server = TestServer::builder(db).channels(channel.clone()).start().await;
    people(server.db()).await;
    let admin = server.admin();
    let (mut told, mut sent) = (Vec::new(), Vec::new());
    for event in 1..=EVENTS {
        let before = notifications(server.db()).await;
        let user = json!({
            "username": format!("new{event}"), "email": format!("new{event}@example.org"), "password": PASSWORD,
            "roleNames": ["USER"],
        });
        admin.post("/api/users", user).await;
        let begun = Instant::now();
        // All are stored in one transaction.
        while notifications(server.db()).await == before {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        told.push(begun.elapsed().as_secs_f64() * 1000.0);
        while channel.0.load(Ordering::SeqCst) < event * PEOPLE {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        sent.push(begun.elapsed().as_secs_f64());
    }
    server.end().await;
    let (told, sent) = (median(told), median(sent));
    report.add(
        format!(
            "fan-out, {:?}: an event until {PEOPLE} people have it in their inboxes",
            db.backend
        ),
        format!("{told:.0} ms"),
        "",
    );
    report.add(
        format!(
            "fan-out, {:?}: until {PEOPLE} messages of it were taken by a channel",
            db.backend
        ),
        format!("{sent:.1} s, {:.0}/s", PEOPLE as f64 / sent),
        "",
    );
}

async fn notifications(db: &Db) -> i64 {
    let mut tx = db.begin_read().await.expect("a read");
    value!(&mut tx, i64, TOLD).await.expect("a count")
}

/// Recipients who manage users and want new ones reported, in the inbox and by the channel.
async fn people(db: &Db) {
    let cipher = Cipher::new(&Secret::new(ENCRYPTION_KEY), Ctx::system());
    let (config, state) = (cipher.encrypt("{}"), cipher.encrypt("somewhere"));
    let wish = json!([CHANNEL]).to_string();
    let mut tx = db.begin_write().await.expect("a write");
    let told = "a row is written";
    for number in 0..PEOPLE {
        let id = format!("person-{number:04}");
        let _ = exec!(&mut tx, PERSON, &id, true, false).await.expect(told);
        let _ = exec!(&mut tx, ROLE, &id).await.expect(told);
        let _ = exec!(&mut tx, CONNECTION, &id, CHANNEL, &config, &state, true)
            .await
            .expect(told);
        let _ = exec!(&mut tx, WISH, &id, true, &wish).await.expect(told);
    }
    tx.commit().await.expect("a commit");
}
