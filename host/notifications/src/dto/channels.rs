//! Queries and answers about a user's channels.

use qm_kernel::{Secret, Timestamp};
use qm_ports::channel::ChannelKind;
use qm_web::{Fields, FromBody};
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::model::address::{self, MAX_ADDRESS};
use crate::model::channel::{CHAT_APP_A, Connection, Health, Overview, Seen, links_by_code};

const MAX_TOKEN: usize = 256;
const MAX_URL: usize = 2048;
const MAX_CODE: usize = 20;

/// A channel as the caller has it. Where they are not connected, all is false, null and 0.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NotificationChannel)]
pub struct ChannelView {
    /// Id of the channel.
    #[schema(example = "email")]
    pub r#type: String,
    pub connected: bool,
    pub enabled: bool,
    /// A message, or the code, has reached the destination; of an address that letters go to, the code was entered that was sent
    /// there.
    pub verified: bool,
    /// The destination, told so that nobody else can use it.
    pub masked_destination: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_tested_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_success_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_failure_at: Option<Timestamp>,
    pub last_error: Option<String>,
    /// Since the last message that went well.
    pub consecutive_failures: i64,
    /// `disabled`, `unverified`, `failing` or `healthy`. One that fails is used all the same.
    pub health: &'static str,
}

impl From<Seen> for ChannelView {
    fn from(seen: Seen) -> Self {
        let is_connected = seen.connection.is_some();
        let connection = seen.connection.unwrap_or_default();
        let health = if is_connected {
            connection.health()
        } else {
            Health::Disabled
        };
        let Connection {
            enabled,
            verified,
            label,
            last_tested_at,
            last_success_at,
            last_failure_at,
            last_error,
            consecutive_failures,
            ..
        } = connection;
        Self {
            r#type: seen.channel,
            connected: is_connected,
            enabled,
            verified,
            masked_destination: label,
            last_tested_at,
            last_success_at,
            last_failure_at,
            last_error,
            consecutive_failures,
            health: health.as_str(),
        }
    }
}

/// A channel that an installed plugin provides.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NotificationChannelKind)]
pub struct KindView {
    pub id: String,
    /// The product's name.
    pub label: String,
    /// JSON Schema of what a person enters.
    #[schema(value_type = Object)]
    pub config_schema: Value,
    /// The destination is found by a code that is sent to the product.
    pub links_by_code: bool,
}

impl From<ChannelKind> for KindView {
    fn from(kind: ChannelKind) -> Self {
        Self {
            links_by_code: links_by_code(&kind),
            id: kind.id,
            label: kind.label,
            config_schema: kind.config_schema,
        }
    }
}

/// The caller's bot.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NotificationBot)]
pub struct BotView {
    /// There is one.
    pub configured: bool,
    /// Blank without one.
    pub bot_username: String,
}

/// Everything the caller sees of channels.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NotificationChannels)]
pub struct ChannelsView {
    /// `email`, `chat_app_a`, `chat_app_b`; then what plugins provide beside them, or did.
    pub channels: Vec<ChannelView>,
    /// Mail can be sent.
    pub platform_email_ready: bool,
    #[serde(rename = "chat_app_a")]
    pub chat_app_a: BotView,
    /// Channels that can be connected now.
    pub kinds: Vec<KindView>,
}

impl From<Overview> for ChannelsView {
    fn from(overview: Overview) -> Self {
        let bot = overview
            .channels
            .iter()
            .find(|seen| seen.channel == CHAT_APP_A)
            .and_then(|seen| seen.connection.as_ref());
        Self {
            chat_app_a: BotView {
                configured: bot.is_some(),
                bot_username: bot.map(Connection::bot_username).unwrap_or_default().to_owned(),
            },
            channels: overview.channels.into_iter().map(ChannelView::from).collect(),
            platform_email_ready: overview.email_ready,
            kinds: overview.kinds.into_iter().map(KindView::from).collect(),
        }
    }
}

/// A code to be sent to the bot. It is shown this once.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NotificationCode)]
pub struct CodeView {
    #[schema(example = "482913")]
    pub code: String,
    pub expires_in_seconds: u64,
    /// Blank where the product names no account.
    pub bot_username: String,
}

/// It is gone.
#[derive(Serialize, ToSchema)]
#[schema(as = NotificationChannelGone)]
pub struct GoneView {
    /// Always true.
    pub ok: bool,
}

/// The token of a bot.
#[derive(ToSchema)]
#[schema(as = NotificationBotToken)]
pub struct BotToken {
    #[schema(value_type = String, max_length = 256)]
    pub token: Secret,
}

impl FromBody for BotToken {
    fn from_body(f: &mut Fields<'_>) -> Self {
        let token = f.string("token").required().max(MAX_TOKEN).get();
        let token = token.trim();
        if token.is_empty() {
            f.broken("A bot token is required.");
        }
        Self {
            token: Secret::new(token),
        }
    }
}

impl BotToken {
    pub fn config(&self) -> Map<String, Value> {
        single_field("token", self.token.expose())
    }
}

/// Where mail goes.
#[derive(ToSchema, FromBody)]
#[schema(as = NotificationAddress)]
pub struct Mailbox {
    #[field(trim, max = MAX_ADDRESS, check(is_address, address::RULE))]
    #[schema(example = "jo@example.org")]
    pub address: String,
}

fn is_address(text: &str) -> bool {
    address::is_address(text.trim())
}

impl Mailbox {
    pub fn config(&self) -> Map<String, Value> {
        single_field("address", &self.address)
    }
}

/// Proof that a channel's destination is the caller's.
#[derive(ToSchema, FromBody)]
#[schema(as = NotificationConfirmation, rename_all = "camelCase")]
#[fields(optional)]
pub struct Confirmation {
    /// The code of the newest letter; absent for a channel whose code is sent to its product.
    #[field(max = MAX_CODE)]
    #[schema(example = "482913")]
    pub code: Option<String>,
}

/// An incoming webhook of a chat.
#[derive(ToSchema, FromBody)]
#[schema(as = NotificationWebhook, rename_all = "camelCase")]
pub struct ChatWebhook {
    /// A secret: whoever has it can write there.
    #[field(trim, max = MAX_URL, check(|text| !text.trim().is_empty(), "should not be empty"))]
    #[schema(value_type = String)]
    pub webhook_url: Secret,
}

impl ChatWebhook {
    pub fn config(&self) -> Map<String, Value> {
        single_field("webhookUrl", self.webhook_url.expose())
    }
}

/// Configuration of a channel by its schema.
#[derive(ToSchema, FromBody)]
#[schema(as = NotificationChannelConfig)]
pub struct ChannelSettings {
    #[schema(value_type = Object)]
    pub config: Map<String, Value>,
}

fn single_field(name: &str, value: &str) -> Map<String, Value> {
    Map::from_iter([(name.to_owned(), json!(value))])
}
