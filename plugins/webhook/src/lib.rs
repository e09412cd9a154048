//! One action: posts the context of a rule's run to a URL of the rule's author.

mod chats;
mod post;

use sdk_actions::{
    Action, Actions, Call, Description, Descriptor, Done, HttpRequest, NO_PROPERTIES, Occasion, PluginError,
    done,
};

use crate::post::{About, PARAMS, body, url, verdict};

const ID: &str = "webhook";
/// Time limit until the head of the answer, in milliseconds. The rest of it is not waited for.
const TOTAL_MS: u32 = 10_000;

struct Webhook;

impl Actions for Webhook {
    fn describe() -> Description {
        sdk_actions::install_panic_hook();
        Description {
            about: Descriptor {
                id: ID.to_owned(),
                label: "Webhook".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                config_schema: NO_PROPERTIES.to_owned(),
                capabilities: vec!["http-guarded".to_owned()],
                hosts: Vec::new(),
                extra: Vec::new(),
            },
            actions: vec![Action {
                id: ID.to_owned(),
                label: "Call a webhook".to_owned(),
                category: "torrent".to_owned(),
                occasions: vec![Occasion::Torrent, Occasion::Media, Occasion::Event],
                params_schema: PARAMS.to_owned(),
                // Two posts are two.
                idempotent: false,
                extra: Vec::new(),
            }],
            extra: Vec::new(),
        }
    }

    fn run(action: String, _config: String, call: Call) -> Result<Done, PluginError> {
        sdk_actions::install_panic_hook();
        if action != ID {
            return Err(PluginError::Unsupported(format!("Unknown action type: {action}")));
        }
        let about = match call.occasion {
            Occasion::Torrent | Occasion::Media => About::Torrent,
            Occasion::Event | Occasion::Other(_) => About::Event,
        };
        let url = url(&call.params).map_err(PluginError::InvalidConfig)?;
        let body = body(about, &call.context, &call.params).map_err(PluginError::InvalidConfig)?;
        let answer = HttpRequest::new("POST", &url, TOTAL_MS)
            .body("application/json", body.into_bytes())
            .max_body(0)
            .send_guarded()?;
        verdict(answer.status()).map_err(PluginError::Rejected)?;
        Ok(done())
    }
}

sdk_actions::export_actions!(Webhook);
