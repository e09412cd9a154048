//! The channel `chat_app_a`: Telegram, by a bot of each person's own. The bot's token stands in every URL, so no error names one.

mod api;
mod photo;
mod text;

use sdk_channel::card::Card;
use sdk_channel::{
    Channel, Config, Description, Descriptor, Destination, HttpRequest, Message, Picture, PluginError,
    Receipt, plugin_error,
};
use serde_json::{Value, json};

use crate::api::{ORIGIN, Refusal};
use crate::text::{CAPTION, TEXT, html};

const SCHEMA: &str = r#"{
  "type": "object",
  "required": ["token"],
  "properties": {
    "token": {"type": "string", "title": "Bot token", "writeOnly": true, "maxLength": 256}
  },
  "additionalProperties": false
}"#;

/// Silence that is waited for, in milliseconds. The host waits for 15 s at most, counted from the last byte that moved.
const IDLE_MS: u32 = 10_000;
const PHOTO_IDLE_MS: u32 = 15_000;
/// Bytes of an answer that are read: a hundred messages of 4,096 characters, and what is around them.
const MAX_ANSWER: u64 = 4 << 20;
/// Messages that are looked through for a code: the newest ones. Telegram forgets those before them.
const NEWEST: i32 = 100;
/// Characters of the words on a button.
const MAX_LABEL: usize = 64;

struct Plugin;

/// A bot.
struct Bot {
    token: String,
}

impl Bot {
    fn from_config(config: &str) -> Result<Self, PluginError> {
        let config = Config::parse(config)?;
        Ok(Self {
            token: api::token(config.text("token"))?.to_owned(),
        })
    }

    fn call(&self, method: &str, params: &Value) -> Result<Value, Refusal> {
        let body = params.to_string().into_bytes();
        self.post(method, "application/json", body, IDLE_MS)
    }

    fn post(&self, method: &str, media_type: &str, body: Vec<u8>, idle_ms: u32) -> Result<Value, Refusal> {
        let failed = |error| Refusal::Failed(plugin_error("Telegram", error));
        let answer = HttpRequest::new("POST", &api::url(&self.token, method), idle_ms)
            .body(media_type, body)
            .max_body(MAX_ANSWER)
            .send_raw()
            .map_err(|(_, error)| failed(error))?;
        let status = answer.status();
        if (300..400).contains(&status) {
            let why = "Telegram sent a redirect, which is not followed".to_owned();
            return Err(Refusal::Failed(PluginError::Rejected(why)));
        }
        api::result(status, &answer.read_to_end().map_err(failed)?)
    }

    /// Sends to a chat; where a group has moved, to where it is now.
    fn send(&self, chat: i64, message: &Message) -> Result<Receipt, PluginError> {
        match self.send_to(chat, message) {
            Err(Refusal::Moved(now)) => Ok(self.send_to(now, message)?),
            sent => Ok(sent?),
        }
    }

    fn send_to(&self, chat: i64, message: &Message) -> Result<Receipt, Refusal> {
        let card = Card::parse(&message.presentation);
        let keyboard = message.button.as_ref().map(|button| {
            let label: String = button.label.chars().take(MAX_LABEL).collect();
            json!({ "inline_keyboard": [[{ "text": label, "url": button.url }]] })
        });
        let mut reduced = None;
        if let Some(picture) = &message.picture {
            let caption = html(card.as_ref(), &message.text, CAPTION);
            match self.send_photo(chat, picture, &caption, keyboard.as_ref()) {
                Ok(sent) => return Ok(receipt(&sent, None)),
                // As good without it: unless nothing at all gets through.
                Err(Refusal::Failed(PluginError::Rejected(why))) => {
                    reduced = Some(format!("the picture was left out: {why}"));
                }
                Err(other) => return Err(other),
            }
        }
        let mut params = json!({
            "chat_id": chat,
            "text": html(card.as_ref(), &message.text, TEXT),
            "parse_mode": "HTML",
            "link_preview_options": { "is_disabled": true },
        });
        if let Some(keyboard) = keyboard {
            params["reply_markup"] = keyboard;
        }
        Ok(receipt(&self.call("sendMessage", &params)?, reduced))
    }

    fn send_photo(
        &self,
        chat: i64,
        picture: &Picture,
        caption: &str,
        keyboard: Option<&Value>,
    ) -> Result<Value, Refusal> {
        let chat = chat.to_string();
        let keyboard = keyboard.map(Value::to_string);
        let mut fields = vec![("chat_id", &*chat), ("caption", caption), ("parse_mode", "HTML")];
        fields.extend(keyboard.as_deref().map(|keyboard| ("reply_markup", keyboard)));
        let form = photo::form(&fields, &picture.bytes).ok_or_else(|| {
            let why = "it is no PNG, JPEG or WebP of at most 8 MiB".to_owned();
            Refusal::Failed(PluginError::Rejected(why))
        })?;
        self.post("sendPhoto", &photo::content_type(), form, PHOTO_IDLE_MS)
    }
}

fn receipt(sent: &Value, reduced: Option<String>) -> Receipt {
    let id = sent.get("message_id").map(Value::to_string);
    Receipt {
        id: id.unwrap_or_default(),
        reduced,
        extra: Vec::new(),
    }
}

impl Channel for Plugin {
    fn describe() -> Description {
        sdk_channel::install_panic_hook();
        Description {
            about: Descriptor {
                id: "chat_app_a".to_owned(),
                label: "Telegram".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                config_schema: SCHEMA.to_owned(),
                capabilities: Vec::new(),
                hosts: vec![ORIGIN.to_owned()],
                extra: Vec::new(),
            },
            text_limit: TEXT as u32,
            caption_limit: CAPTION as u32,
            links_by_code: true,
            extra: Vec::new(),
        }
    }

    /// Checks the token; the label is the name of its bot.
    fn verify(config: String) -> Result<Destination, PluginError> {
        sdk_channel::install_panic_hook();
        let me = Bot::from_config(&config)?.call("getMe", &json!({}))?;
        let name = api::username(&me)
            .ok_or_else(|| PluginError::Rejected("Telegram does not know a bot of this token".to_owned()))?;
        Ok(Destination {
            label: format!("@{name}"),
            state: String::new(),
            extra: Vec::new(),
        })
    }

    /// Looks through the newest messages to the bot. A code is good once and for a short time, which the host sees to: so
    /// nothing has to be kept of what was looked through before.
    fn link(config: String, code: String) -> Result<Option<Destination>, PluginError> {
        sdk_channel::install_panic_hook();
        let params = json!({
            "offset": -NEWEST, "limit": NEWEST, "timeout": 0, "allowed_updates": ["message"],
        });
        let updates = Bot::from_config(&config)?.call("getUpdates", &params)?;
        Ok(api::sender(&updates, &code).map(|chat| Destination {
            label: chat.label,
            state: chat.id.to_string(),
            extra: Vec::new(),
        }))
    }

    fn send(config: String, state: String, message: Message) -> Result<Receipt, PluginError> {
        sdk_channel::install_panic_hook();
        Bot::from_config(&config)?.send(api::chat(&state)?, &message)
    }
}

sdk_channel::export_channel!(Plugin);
