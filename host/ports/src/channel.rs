//! Notification channels as the host sees them: one trait, [`Channels`], whatever the product behind a channel and whatever
//! the version of the plugin API its component was written against.

use async_trait::async_trait;
use qm_kernel::ErrorKind;
use serde_json::{Map, Value};

use crate::settling::Settling;

/// A channel that an installed plugin provides.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelKind {
    /// The neutral id that users store, e.g. `chat_app_a`.
    pub id: String,
    /// The product's name.
    pub label: String,
    /// The plugin's own version.
    pub version: String,
    /// JSON Schema of a configuration.
    pub config_schema: Value,
    /// Words for what it offers beyond the common ground.
    pub capabilities: Vec<String>,
    /// Characters of a text at most; none without a limit.
    pub text_limit: Option<u32>,
    /// Characters of a text beside a picture at most; none when it takes no pictures.
    pub caption_limit: Option<u32>,
    /// A destination is found by a code that its owner sends to the product.
    pub links_by_code: bool,
}

/// The configuration of one person's channel, secrets in clear: handed to the plugin and nowhere else.
#[derive(Clone, Default)]
pub struct ChannelConfig(pub Map<String, Value>);

impl std::fmt::Debug for ChannelConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

/// A link for the reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Button {
    pub label: String,
    /// Absolute, http or https.
    pub url: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// A name with the proper ending.
    pub name: String,
    /// `image/png`, `image/jpeg` or `image/webp`.
    pub media_type: String,
    pub bytes: Vec<u8>,
}

/// One message, the same for all channels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message {
    /// The same for the same message, however often it is tried.
    pub id: String,
    /// One line, plain text.
    pub subject: String,
    /// All of it as plain text.
    pub text: String,
    /// The message in parts, for a richer form; none when the text says everything.
    pub presentation: Option<Value>,
    pub button: Option<Button>,
    pub picture: Option<Picture>,
}

/// The place that a configuration leads to, e.g. a chat or an address.
#[derive(Clone, PartialEq, Eq)]
pub struct Destination {
    /// For people, without anything secret.
    pub label: String,
    /// State that the plugin wants back with each later call; a secret.
    pub state: String,
}

impl std::fmt::Debug for Destination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Destination")
            .field("label", &self.label)
            .finish_non_exhaustive()
    }
}

/// The outcome for a message that the product took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Receipt {
    /// The product's own id of it, if it gives one.
    pub id: Option<String>,
    /// A sentence that names the parts of the message that were left out.
    pub reduced: Option<String>,
}

/// Why a call to a channel failed. None of them is a bug of the host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChannelError {
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    #[error("did not answer in time: {0}")]
    Timeout(String),
    /// The product asks to come back after so many seconds, when it says so.
    #[error("asks to be left alone for a while")]
    Throttled(Option<u32>),
    #[error("refused the credentials: {0}")]
    Auth(String),
    #[error("is not configured right: {0}")]
    InvalidConfig(String),
    /// The destination does not exist (any more).
    #[error("does not know {0}")]
    NotFound(String),
    #[error("{0}")]
    Unsupported(String),
    /// The product examined the message and refused it.
    #[error("refused it: {0}")]
    Rejected(String),
    #[error("gave an answer that makes no sense: {0}")]
    Protocol(String),
    /// The plugin asked for something nobody granted it.
    #[error("its plugin may not do that: {0}")]
    Denied(String),
    /// Too many messages wait for this channel.
    #[error("is busy")]
    Busy,
    /// No installed plugin provides it.
    #[error("{0}")]
    Missing(String),
    /// The plugin trapped, ran out of its budget or is parked after too many strikes.
    #[error("its plugin failed: {0}")]
    Plugin(String),
}

impl ChannelError {
    pub const fn kind(&self) -> ErrorKind {
        match self {
            ChannelError::Unreachable(_)
            | ChannelError::Auth(_)
            | ChannelError::Protocol(_)
            | ChannelError::Denied(_)
            | ChannelError::Plugin(_) => ErrorKind::Upstream,
            ChannelError::Timeout(_) => ErrorKind::UpstreamTimeout,
            ChannelError::NotFound(_) | ChannelError::Missing(_) => ErrorKind::NotFound,
            ChannelError::InvalidConfig(_) | ChannelError::Unsupported(_) | ChannelError::Rejected(_) => {
                ErrorKind::BadRequest
            }
            ChannelError::Throttled(_) | ChannelError::Busy => ErrorKind::Unavailable,
        }
    }

    /// True if trying the same again later may help.
    pub const fn is_passing(&self) -> bool {
        matches!(
            self,
            ChannelError::Unreachable(_)
                | ChannelError::Timeout(_)
                | ChannelError::Throttled(_)
                | ChannelError::Protocol(_)
                | ChannelError::Busy
                | ChannelError::Plugin(_)
        )
    }
}

/// The channels that installed plugins provide. Calls never panic and never block a thread; every one ends.
#[async_trait]
pub trait Channels: Send + Sync {
    /// Every channel, sorted by id.
    fn channels(&self) -> Vec<ChannelKind>;
    /// A notice that a plugin which may provide this channel is still being loaded; `None` once there is no such
    /// plugin.
    fn settling(&self, _channel: &str) -> Option<Settling> {
        None
    }
    /// Checks a configuration against the product, without sending anything to anybody.
    async fn verify(&self, channel: &str, config: ChannelConfig) -> Result<Destination, ChannelError>;
    /// Looks for the person who sent `code` to the product; `None` as long as nobody has.
    async fn link(
        &self,
        channel: &str,
        config: ChannelConfig,
        code: &str,
    ) -> Result<Option<Destination>, ChannelError>;
    /// Sends one message to the destination whose state is given.
    async fn send(
        &self,
        channel: &str,
        config: ChannelConfig,
        state: &str,
        message: Message,
    ) -> Result<Receipt, ChannelError>;
}
