//! Notifications over a whole server: the people who get a message, the channels it takes, and the effect of a kill.

mod crash;
mod everywhere;
mod hostile;
mod told;

use std::sync::Arc;

use async_trait::async_trait;
use qm_ports::channel::{ChannelConfig, ChannelError, ChannelKind, Channels, Destination, Message, Receipt};
use serde_json::json;

/// Two channels that only report their messages: `careful` can tell that it was given a message before, `plain` cannot.
pub struct Telling {
    tell: Box<dyn Fn(&str) -> bool + Send + Sync>,
}

impl Telling {
    /// Each message reports `channel id subject` once it has arrived. If `tell` answers false, the message is never
    /// answered.
    pub fn new(tell: impl Fn(&str) -> bool + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { tell: Box::new(tell) })
    }
}

#[async_trait]
impl Channels for Telling {
    fn channels(&self) -> Vec<ChannelKind> {
        ["careful", "plain"]
            .map(|id| ChannelKind {
                id: id.to_owned(),
                label: id.to_owned(),
                version: "1".to_owned(),
                config_schema: json!({ "type": "object" }),
                capabilities: (id == "careful")
                    .then(|| "idempotent".to_owned())
                    .into_iter()
                    .collect(),
                text_limit: None,
                caption_limit: None,
                links_by_code: false,
            })
            .to_vec()
    }

    async fn verify(&self, channel: &str, _config: ChannelConfig) -> Result<Destination, ChannelError> {
        Ok(Destination {
            label: format!("masked {channel}"),
            state: "somewhere".to_owned(),
        })
    }

    async fn link(
        &self,
        _channel: &str,
        _config: ChannelConfig,
        _code: &str,
    ) -> Result<Option<Destination>, ChannelError> {
        Err(ChannelError::Unsupported("there are no codes".to_owned()))
    }

    async fn send(
        &self,
        channel: &str,
        _config: ChannelConfig,
        _state: &str,
        message: Message,
    ) -> Result<Receipt, ChannelError> {
        if !(self.tell)(&format!("{channel} {} {}", message.id, message.subject)) {
            std::future::pending::<()>().await;
        }
        Ok(Receipt::default())
    }
}
