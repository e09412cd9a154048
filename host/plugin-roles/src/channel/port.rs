//! The channels of all loaded plugins, as the rest of the server knows them.

use std::hash::{BuildHasher as _, RandomState};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use qm_plugin_host::Installed;
use qm_plugin_host::role::{About, CallContext, CallSpec, State, text_for_plugin};
use qm_ports::Settling;
use qm_ports::channel::*;
use serde_json::Value;
use wasmtime::Store;

use super::{Answer, Channel, ChannelCode};
use crate::stateless::{RolePort, Stateless as _};

/// A limit as the plugin words it: 0 is none.
fn limit(about: &About, name: &str) -> Option<u32> {
    let said = about.traits.get(name).and_then(Value::as_u64)?;
    u32::try_from(said).ok().filter(|&limit| limit != 0)
}

/// The channel as its plugin describes it.
fn kind_of(about: About) -> ChannelKind {
    ChannelKind {
        text_limit: limit(&about, "textLimit"),
        caption_limit: limit(&about, "captionLimit"),
        links_by_code: about.traits.get("linksByCode") == Some(&Value::Bool(true)),
        id: about.id,
        label: about.label,
        version: about.version,
        config_schema: about.config_schema,
        capabilities: about.capabilities,
    }
}

/// The channels of all loaded plugins.
pub(crate) struct ChannelPort {
    port: RolePort<Channel>,
    /// Hashes of what people configured: nobody can foresee which number stands for it.
    numbers: RandomState,
}

impl ChannelPort {
    pub(crate) fn new(installed: Installed) -> Self {
        Self {
            port: RolePort::new(installed),
            numbers: RandomState::new(),
        }
    }

    /// Does `work` in an instance of the channel's plugin; `config` comes back as the text that plugins take.
    async fn ask<T, F>(
        &self,
        channel: &str,
        (config, state): (ChannelConfig, Option<&str>),
        work: F,
    ) -> Result<T, ChannelError>
    where
        T: Send,
        F: for<'a> FnOnce(&'a dyn ChannelCode, &'a mut Store<State>, String) -> BoxFuture<'a, Answer<T>>
            + Send,
    {
        let text = Value::Object(config.0.clone()).to_string();
        let (person, own) = (self.numbers.hash_one((channel, &text)), config.0.clone());
        let missing = || ChannelError::Missing(format!("No installed plugin provides the channel {channel}"));
        let spec = CallSpec {
            config: &config.0,
            context: CallContext {
                secrets: state.map(str::to_owned).into_iter().collect(),
                of_a_person: Some(person),
                ..CallContext::default()
            },
            total: self.port.installed.limits().call_total,
        };
        let calls = self.port.calls_of(channel).ok_or_else(missing)?;
        let otherwise = ChannelError::Missing(format!("the plugin `{channel}` is no channel any more"));
        RolePort::<Channel>::call(&calls, spec, otherwise, move |code, about, store| {
            let text = text_for_plugin(&about.config_schema, &own);
            work(code, store, text)
        })
        .await
    }
}

#[async_trait]
impl Channels for ChannelPort {
    fn channels(&self) -> Vec<ChannelKind> {
        self.port
            .installed
            .of_role(Channel::NAME)
            .into_iter()
            .map(kind_of)
            .collect()
    }

    fn settling(&self, channel: &str) -> Option<Settling> {
        self.port
            .installed
            .settling(Channel::NAME, "the channel", channel)
    }

    async fn verify(&self, channel: &str, config: ChannelConfig) -> Result<Destination, ChannelError> {
        self.ask(channel, (config, None), |code, store, config| {
            Box::pin(async move { code.verify(store, &config).await })
        })
        .await
    }

    async fn link(
        &self,
        channel: &str,
        config: ChannelConfig,
        by: &str,
    ) -> Result<Option<Destination>, ChannelError> {
        let by = by.to_owned();
        self.ask(channel, (config, None), |code, store, config| {
            Box::pin(async move { code.link(store, &config, &by).await })
        })
        .await
    }

    async fn send(
        &self,
        channel: &str,
        config: ChannelConfig,
        state: &str,
        message: Message,
    ) -> Result<Receipt, ChannelError> {
        let kept = state.to_owned();
        self.ask(channel, (config, Some(state)), |code, store, config| {
            Box::pin(async move { code.send(store, &config, &kept, message).await })
        })
        .await
    }
}
