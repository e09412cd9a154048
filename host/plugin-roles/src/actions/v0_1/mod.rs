//! Actions API 0.1: bindings of `wit/actions@0.1.0` and the way from them to the words of `ports`.

mod media;
mod torrents;

use async_trait::async_trait;
use qm_plugin_host::imports::wit::common::PluginError;
use qm_plugin_host::role::{Code, Descriptor, State, Voice, one_line};
use qm_ports::action::{ActionCall, ActionError, Occasion};
use serde_json::Value;
use wasmtime::Store;
use wasmtime::component::{HasSelf, Linker};

use super::description::{self, PluginAction};
use super::{ActionsCode, Answer};
use crate::stateless;

mod bindings {
    wasmtime::component::bindgen!({
        path: "../../wit/actions@0.1.0",
        world: "action-set",
        imports: { default: async | trappable },
        exports: { default: async },
        // What all roles share is bound once.
        with: { "quartermaster:base": qm_plugin_host::imports::wit },
    });
}

use bindings::quartermaster::actions::{media as shelves, runs as wit, torrents as hands};
use bindings::{ActionSet, ActionSetPre};

/// The most of an error's text that leaves the plugin.
const TEXT: usize = 1 << 10;

impl wit::Host for State {}

pub(super) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    wit::add_to_linker::<_, HasSelf<State>>(linker, |state| state)?;
    hands::add_to_linker::<_, HasSelf<State>>(linker, |state| state)?;
    shelves::add_to_linker::<_, HasSelf<State>>(linker, |state| state)
}

stateless::declare_adapter!(ActionSetPre => ActionSet);

#[async_trait]
impl Code for Adapter {
    async fn describe(&self, mut store: Store<State>) -> wasmtime::Result<Descriptor> {
        let world = self.world(&mut store).await?;
        let said = world
            .quartermaster_actions_actions()
            .call_describe(&mut store)
            .await?;
        let actions: Vec<_> = said.actions.into_iter().map(told_of).collect();
        Ok(Descriptor::new(said.about, description::traits(&actions)))
    }
}

#[async_trait]
impl ActionsCode for Adapter {
    async fn run(
        &self,
        store: &mut Store<State>,
        action: &str,
        config: &str,
        call: &ActionCall,
    ) -> Answer<()> {
        let call = call_of(call);
        // Until the guest has let go of its copy, both sides have it.
        let bytes = config.len() + call.params.len() + call.context.len();
        let _held = store.data().charge(bytes)?;
        let world = self.world(store).await?;
        let answer = world
            .quartermaster_actions_actions()
            .call_run(&mut *store, action, config, &call)
            .await?;
        let voice = store.data().voice();
        Ok(answer.map(drop).map_err(|given| error(given, voice)))
    }
}

/// An action as the plugin tells it. A schema that cannot be used is its reason as a text, for whoever vets it.
fn told_of(action: wit::Action) -> PluginAction {
    let schema = description::schema(&one_line(&action.id, 64), &action.params_schema);
    PluginAction {
        params_schema: schema.unwrap_or_else(Value::String),
        occasions: action.occasions.into_iter().map(name_of).collect(),
        idempotent: action.idempotent,
        permissions: action
            .extra
            .into_iter()
            .find(|(name, _)| name == description::PERMISSIONS)
            .map(|(_, keys)| keys),
        id: action.id,
        label: action.label,
        category: action.category,
    }
}

fn name_of(occasion: wit::Occasion) -> String {
    let known = match occasion {
        wit::Occasion::Torrent => Occasion::Torrent,
        wit::Occasion::Media => Occasion::Media,
        wit::Occasion::Event => Occasion::Event,
        // Never mistaken for a known one.
        wit::Occasion::Other(name) => return format!("other {name}"),
    };
    description::word(known).to_owned()
}

fn call_of(call: &ActionCall) -> wit::Call {
    wit::Call {
        run_id: call.run_id.clone(),
        occasion: match call.occasion {
            Occasion::Torrent => wit::Occasion::Torrent,
            Occasion::Media => wit::Occasion::Media,
            Occasion::Event => wit::Occasion::Event,
        },
        params: Value::Object(call.params.clone()).to_string(),
        context: Value::Object(call.context.clone()).to_string(),
        torrent: call.torrent.as_ref().map(|torrent| wit::TorrentRef {
            engine_id: torrent.engine_id.clone(),
            hash: torrent.hash.clone(),
            extra: Vec::new(),
        }),
        extra: Vec::new(),
    }
}

/// The host's answer in the words of the API: a plugin that hands it on changes nothing in it.
fn answered(error: ActionError) -> PluginError {
    use ActionError as E;
    match error {
        E::Unreachable(why) => PluginError::Unreachable(why),
        E::Timeout(why) => PluginError::Timeout(why),
        E::Auth(why) => PluginError::Auth(why),
        E::InvalidParams(why) => PluginError::InvalidConfig(why),
        E::NotFound(what) => PluginError::NotFound(what),
        E::Unsupported(why) => PluginError::Unsupported(why),
        E::Rejected(why) => PluginError::Rejected(why),
        E::Protocol(why) => PluginError::Protocol(why),
        E::Throttled(seconds) => PluginError::Throttled(seconds),
        E::Denied(why) => PluginError::Denied(why),
        E::Unknown(_) | E::Busy | E::Plugin(_) => PluginError::Unreachable(error.to_string()),
    }
}

/// An error as the plugin words it, without the secrets it was given.
fn error(error: PluginError, voice: &Voice) -> ActionError {
    use ActionError as E;
    let text = |text: String| voice.blot(one_line(&text, TEXT));
    match error {
        PluginError::Unreachable(why) => E::Unreachable(text(why)),
        PluginError::Timeout(why) => E::Timeout(text(why)),
        PluginError::Auth(why) => E::Auth(text(why)),
        PluginError::InvalidConfig(why) => E::InvalidParams(text(why)),
        PluginError::NotFound(what) => E::NotFound(text(what)),
        PluginError::Unsupported(why) => E::Unsupported(text(why)),
        PluginError::Rejected(why) => E::Rejected(text(why)),
        PluginError::Protocol(why) => E::Protocol(text(why)),
        PluginError::Throttled(seconds) => E::Throttled(seconds),
        PluginError::Denied(why) => E::Denied(text(why)),
        PluginError::Other((name, why)) => E::Protocol(text(format!("{name}: {why}"))),
    }
}
