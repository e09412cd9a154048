//! The channel `email`: letters by the mail server that the operator set up for the service.

mod page;

use sdk_channel::card::Card;
use sdk_channel::mail::{self, Letter};
use sdk_channel::{Channel, Config, Description, Descriptor, Destination, Message, PluginError, Receipt};

const SCHEMA: &str = r#"{
  "type": "object",
  "required": ["address"],
  "properties": {
    "address": {"type": "string", "title": "Address", "format": "email", "writeOnly": true, "maxLength": 254}
  },
  "additionalProperties": false
}"#;

/// Bytes of a text that the host takes.
const MAX_TEXT: usize = 64 << 10;

struct Plugin;

fn address(config: &str) -> Result<String, PluginError> {
    let config = Config::parse(config)?;
    let address = page::address(config.text("address").unwrap_or_default());
    address
        .map(str::to_owned)
        .map_err(|why| PluginError::InvalidConfig(why.to_owned()))
}

impl Channel for Plugin {
    fn describe() -> Description {
        sdk_channel::install_panic_hook();
        Description {
            about: Descriptor {
                id: "email".to_owned(),
                label: "Email".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                config_schema: SCHEMA.to_owned(),
                capabilities: vec!["mail".to_owned()],
                hosts: Vec::new(),
                extra: Vec::new(),
            },
            text_limit: 0,
            caption_limit: 0,
            links_by_code: false,
            extra: Vec::new(),
        }
    }

    /// Checks the form of the address. Only a sent message proves that mail arrives there.
    fn verify(config: String) -> Result<Destination, PluginError> {
        sdk_channel::install_panic_hook();
        Ok(Destination {
            label: page::label(&address(&config)?),
            state: String::new(),
            extra: Vec::new(),
        })
    }

    fn link(_config: String, _code: String) -> Result<Option<Destination>, PluginError> {
        Err(PluginError::Unsupported(
            "A mailbox is not linked by a code".to_owned(),
        ))
    }

    fn send(config: String, _state: String, message: Message) -> Result<Receipt, PluginError> {
        sdk_channel::install_panic_hook();
        let mut text = message.text;
        text.truncate(text.floor_char_boundary(MAX_TEXT));
        mail::send(&Letter {
            id: message.id,
            to: address(&config)?,
            subject: page::subject(&message.subject),
            text,
            html: Card::parse(&message.presentation).as_ref().and_then(page::page),
            extra: Vec::new(),
        })?;
        Ok(Receipt {
            id: String::new(),
            reduced: message.picture.map(|_| "the picture was left out".to_owned()),
            extra: Vec::new(),
        })
    }
}

sdk_channel::export_channel!(Plugin);
