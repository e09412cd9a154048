//! Channel API 0.1: bindings of `wit/channel@0.1.0` and the way from them to the words of `ports`.

use async_trait::async_trait;
use qm_plugin_host::imports::wit::common::PluginError;
use qm_plugin_host::role::{Code, Descriptor, State, Voice, one_line};
use qm_ports::channel::{ChannelError, Destination, Message, Receipt};
use serde_json::{Map, json};
use wasmtime::Store;
use wasmtime::component::{HasSelf, Linker};

use super::{Answer, ChannelCode};
use crate::stateless;

mod bindings {
    wasmtime::component::bindgen!({
        path: "../../wit/channel@0.1.0",
        world: "notification-channel",
        imports: { default: async | trappable },
        exports: { default: async },
        // What all roles share is bound once.
        with: { "quartermaster:base": qm_plugin_host::imports::wit },
    });
}

use bindings::quartermaster::channel::messages as wit;
use bindings::{NotificationChannel, NotificationChannelPre};

/// The most of an error's text, a label or a receipt's sentence that leaves the plugin.
const TEXT: usize = 1 << 10;
/// The most of a destination's state; the WIT says so.
const STATE: usize = 4 << 10;

impl wit::Host for State {}

pub(super) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    wit::add_to_linker::<_, HasSelf<State>>(linker, |state| state)
}

stateless::declare_adapter!(NotificationChannelPre => NotificationChannel);

#[async_trait]
impl Code for Adapter {
    async fn describe(&self, mut store: Store<State>) -> wasmtime::Result<Descriptor> {
        let world = self.world(&mut store).await?;
        let said = world
            .quartermaster_channel_channel()
            .call_describe(&mut store)
            .await?;
        let mut traits = Map::new();
        traits.insert("textLimit".to_owned(), json!(said.text_limit));
        traits.insert("captionLimit".to_owned(), json!(said.caption_limit));
        traits.insert("linksByCode".to_owned(), json!(said.links_by_code));
        Ok(Descriptor::new(said.about, traits))
    }
}

#[async_trait]
impl ChannelCode for Adapter {
    async fn verify(&self, store: &mut Store<State>, config: &str) -> Answer<Destination> {
        let world = self.world(store).await?;
        let answer = world
            .quartermaster_channel_channel()
            .call_verify(&mut *store, config)
            .await?;
        let voice = store.data().voice();
        Ok(answer
            .map_err(|given| error(given, voice))
            .and_then(|given| destination(given, voice)))
    }

    async fn link(&self, store: &mut Store<State>, config: &str, code: &str) -> Answer<Option<Destination>> {
        let world = self.world(store).await?;
        let answer = world
            .quartermaster_channel_channel()
            .call_link(&mut *store, config, code)
            .await?;
        let voice = store.data().voice();
        Ok(match answer {
            Ok(Some(given)) => destination(given, voice).map(Some),
            Ok(None) => Ok(None),
            Err(given) => Err(error(given, voice)),
        })
    }

    async fn send(
        &self,
        store: &mut Store<State>,
        config: &str,
        state: &str,
        message: Message,
    ) -> Answer<Receipt> {
        let world = self.world(store).await?;
        let message = message_of(message);
        let answer = world
            .quartermaster_channel_channel()
            .call_send(&mut *store, config, state, &message)
            .await?;
        let voice = store.data().voice();
        let line = |text: String| voice.blot(one_line(&text, TEXT));
        Ok(answer
            .map(|given| Receipt {
                id: Some(line(given.id)).filter(|id| !id.is_empty()),
                reduced: given.reduced.map(line).filter(|text| !text.is_empty()),
            })
            .map_err(|given| error(given, voice)))
    }
}

fn message_of(message: Message) -> wit::Message {
    wit::Message {
        id: message.id,
        subject: message.subject,
        text: message.text,
        presentation: message
            .presentation
            .map_or_else(String::new, |parts| parts.to_string()),
        button: message.button.map(|button| wit::Button {
            label: button.label,
            url: button.url,
        }),
        picture: message.picture.map(|picture| wit::Picture {
            name: picture.name,
            media_type: picture.media_type,
            bytes: picture.bytes,
        }),
        extra: Vec::new(),
    }
}

/// A destination, its label without the secrets of the configuration.
fn destination(given: wit::Destination, voice: &Voice) -> Result<Destination, ChannelError> {
    if given.state.len() > STATE {
        return Err(ChannelError::Protocol(format!(
            "the plugin wants to keep {} bytes of a destination, {STATE} are the most",
            given.state.len()
        )));
    }
    Ok(Destination {
        label: voice.blot(one_line(&given.label, TEXT)),
        state: given.state,
    })
}

/// An error as the plugin words it, without the secrets it was given.
fn error(error: PluginError, voice: &Voice) -> ChannelError {
    use ChannelError as E;
    let text = |text: String| voice.blot(one_line(&text, TEXT));
    match error {
        PluginError::Unreachable(why) => E::Unreachable(text(why)),
        PluginError::Timeout(why) => E::Timeout(text(why)),
        PluginError::Auth(why) => E::Auth(text(why)),
        PluginError::InvalidConfig(why) => E::InvalidConfig(text(why)),
        PluginError::NotFound(what) => E::NotFound(text(what)),
        PluginError::Unsupported(why) => E::Unsupported(text(why)),
        PluginError::Rejected(why) => E::Rejected(text(why)),
        PluginError::Protocol(why) => E::Protocol(text(why)),
        PluginError::Throttled(seconds) => E::Throttled(seconds),
        PluginError::Denied(why) => E::Denied(text(why)),
        PluginError::Other((name, why)) => E::Protocol(text(format!("{name}: {why}"))),
    }
}
