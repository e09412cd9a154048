//! The channel `chat_app_b`: Discord, by incoming webhooks. Each person brings one of their own, whose URL is a secret.

mod embed;
mod hook;

use sdk_channel::card::Card;
use sdk_channel::{
    Channel, Config, Description, Descriptor, Destination, HttpRequest, Message, PluginError, Receipt,
    header, http, plugin_error,
};
use serde_json::Value;

use crate::embed::{DESCRIPTION, embed};
use crate::hook::{HOSTS, Hook, failure};

const SCHEMA: &str = r#"{
  "type": "object",
  "required": ["webhookUrl"],
  "properties": {
    "webhookUrl": {"type": "string", "title": "Webhook URL", "format": "uri", "writeOnly": true, "maxLength": 2048}
  },
  "additionalProperties": false
}"#;

/// Silence that is waited for, in milliseconds.
const IDLE_MS: u32 = 10_000;
/// Bytes of an answer that are read.
const MAX_ANSWER: u64 = 64 << 10;

struct Plugin;

/// An answer: its status, its pause, and as much of its body as came.
struct Answer {
    status: u16,
    retry_after: Option<String>,
    body: Result<Vec<u8>, PluginError>,
}

/// Asks Discord. No error names the URL, which is a secret.
fn ask(request: HttpRequest) -> Result<Answer, PluginError> {
    let answer = request
        .max_body(MAX_ANSWER)
        .send_raw()
        .map_err(|(_, error)| plugin_error("Discord", error))?;
    let headers: Vec<http::Header> = answer.headers();
    Ok(Answer {
        status: answer.status(),
        retry_after: header(&headers, "retry-after").map(str::to_owned),
        body: answer
            .read_to_end()
            .map_err(|error| plugin_error("Discord", error)),
    })
}

impl Answer {
    /// JSON of an answer with a status of 2xx; `None` for a body that is cut off, too long or not JSON. Other statuses are errors.
    fn success(self) -> Result<Option<Value>, PluginError> {
        match self.status {
            200..=299 => Ok(self.body.ok().and_then(|body| serde_json::from_slice(&body).ok())),
            status => {
                let body = self.body.unwrap_or_default();
                Err(failure(status, self.retry_after.as_deref(), &body))
            }
        }
    }
}

fn hook(config: &str) -> Result<Hook, PluginError> {
    let config = Config::parse(config)?;
    let url = config.text("webhookUrl").unwrap_or_default();
    Hook::parse(url).map_err(|why| PluginError::InvalidConfig(why.to_owned()))
}

impl Channel for Plugin {
    fn describe() -> Description {
        sdk_channel::install_panic_hook();
        Description {
            about: Descriptor {
                id: "chat_app_b".to_owned(),
                label: "Discord".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                config_schema: SCHEMA.to_owned(),
                capabilities: Vec::new(),
                hosts: HOSTS.map(|host| format!("https://{host}")).to_vec(),
                extra: Vec::new(),
            },
            text_limit: DESCRIPTION as u32,
            caption_limit: 0,
            links_by_code: false,
            extra: Vec::new(),
        }
    }

    fn verify(config: String) -> Result<Destination, PluginError> {
        sdk_channel::install_panic_hook();
        let hook = hook(&config)?;
        let said = ask(HttpRequest::new("GET", &hook.url, IDLE_MS))?.success()?;
        let said =
            said.ok_or_else(|| PluginError::Protocol("Discord did not describe the webhook".to_owned()))?;
        Ok(Destination {
            label: hook.label(said.get("name").and_then(Value::as_str)),
            state: hook.id,
            extra: Vec::new(),
        })
    }

    fn link(_config: String, _code: String) -> Result<Option<Destination>, PluginError> {
        Err(PluginError::Unsupported(
            "A webhook is not linked by a code".to_owned(),
        ))
    }

    fn send(config: String, _state: String, message: Message) -> Result<Receipt, PluginError> {
        sdk_channel::install_panic_hook();
        let hook = hook(&config)?;
        let made = embed(
            Card::parse(&message.presentation).as_ref(),
            &message.subject,
            &message.text,
        );
        // With `wait` Discord says whether it has kept the message, and its id.
        let request = HttpRequest::new("POST", &format!("{}?wait=true", hook.url), IDLE_MS);
        let request = request.body("application/json", made.body.to_string().into_bytes());
        let said = ask(request)?.success()?;
        let id = said.as_ref().and_then(|said| said.get("id")?.as_str());
        Ok(Receipt {
            id: id.unwrap_or_default().to_owned(),
            reduced: (made.left_out > 0).then(|| format!("{} facts had no room", made.left_out)),
            extra: Vec::new(),
        })
    }
}

sdk_channel::export_channel!(Plugin);
