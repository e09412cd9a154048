//! The role `channel`: a plugin carries notifications to people.
//!
//! Nothing stays between calls: every call runs in an instance of its own ([`Counter`]), which may dial what the person's
//! configuration names and the hosts an administrator granted the plugin: both lead outside only, for neither comes from the
//! operator. A new version of `wit/channel` gets a module
//! beside `v0_1`; nothing else learns of it.

mod contract;
mod v0_1;

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use qm_ports::Settling;
use qm_ports::channel::*;
use serde_json::{Map, Value};
use wasmtime::Store;
use wasmtime::component::{InstancePre, Linker};

use crate::core::catalog::{Catalog, SHOWN};
use crate::core::certificate::text_for_plugin;
use crate::core::check::Check;
use crate::core::fault::Fault;
use crate::core::fresh::{Counter, Visit};
use crate::core::lane;
use crate::core::load::Loaded;
use crate::core::role::{About, Code, Descriptor, Role, Version};
use crate::core::runtime::Runtime;
use crate::core::services::{Concern, capability};
use crate::core::state::State;
use crate::core::voice::one_line;

/// The name of the role in the API.
pub(crate) const NAME: &str = "channel";

/// The role.
pub(crate) struct ChannelRole;

impl Role for ChannelRole {
    fn name(&self) -> &'static str {
        NAME
    }

    fn interface(&self) -> &'static str {
        "channel/channel"
    }

    fn spoken(&self) -> (Version, Version) {
        (Version { major: 0, minor: 1 }, Version { major: 0, minor: 1 })
    }

    fn has_own_hosts(&self) -> bool {
        true
    }

    fn grantable(&self) -> &'static [&'static str] {
        &[capability::MAIL]
    }

    fn offers(&self) -> &'static [&'static str] {
        &["quartermaster:channel/messages@0.1"]
    }

    fn add_to_linker(&self, linker: &mut Linker<State>) -> wasmtime::Result<()> {
        v0_1::add_to_linker(linker)
    }

    fn prepare(&self, version: Version, pre: InstancePre<State>) -> wasmtime::Result<Arc<dyn Code>> {
        let code: Box<dyn ChannelCode> = match version {
            Version { major: 0, minor: 1 } => Box::new(v0_1::Code::new(pre)?),
            other => {
                return Err(wasmtime::Error::msg(format!(
                    "channel API {other} has no adapter"
                )));
            }
        };
        Ok(Arc::new(Component(code)))
    }

    fn contract(
        &self,
        runtime: Arc<Runtime>,
        code: Arc<Loaded>,
        target: Map<String, Value>,
    ) -> BoxFuture<'static, Vec<Check>> {
        Box::pin(contract::run(runtime, code, target))
    }
}

/// A compiled component of this role, whatever its version.
struct Component(Box<dyn ChannelCode>);

#[async_trait]
impl Code for Component {
    async fn describe(&self, store: Store<State>) -> wasmtime::Result<Descriptor> {
        self.0.describe(store).await
    }
}

type Answer<T> = lane::Answer<T, ChannelError>;

/// What each version's adapter does. Each call makes its own instance in `store`.
#[async_trait]
trait ChannelCode: Send + Sync {
    async fn describe(&self, store: Store<State>) -> wasmtime::Result<Descriptor>;
    async fn verify(&self, store: &mut Store<State>, config: &str) -> Answer<Destination>;
    async fn link(&self, store: &mut Store<State>, config: &str, code: &str) -> Answer<Option<Destination>>;
    async fn send(
        &self,
        store: &mut Store<State>,
        config: &str,
        state: &str,
        message: Message,
    ) -> Answer<Receipt>;
}

impl From<Fault> for ChannelError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Busy => ChannelError::Busy,
            Fault::Closed => ChannelError::Unreachable("the channel was closed".to_owned()),
            Fault::Missing(why) => ChannelError::Missing(why),
            Fault::InvalidConfig(why) => ChannelError::InvalidConfig(why),
            Fault::TimedOut(why) => ChannelError::Timeout(why),
            Fault::Failed(why) => ChannelError::Plugin(why),
        }
    }
}

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
pub(crate) struct Desk {
    catalog: Arc<Catalog>,
    calls: Counter,
    total: Duration,
    /// Of what people configured: nobody can foresee which number stands for it.
    numbers: RandomState,
}

impl Desk {
    pub(crate) fn new(runtime: Arc<Runtime>, catalog: Arc<Catalog>) -> Self {
        Self {
            total: runtime.limits.call_total,
            calls: Counter::new(runtime, catalog.clone(), NAME, "send"),
            catalog,
            numbers: RandomState::new(),
        }
    }

    /// Does `work` in an instance of the channel's plugin; `config` comes back as the text that plugins take.
    async fn call<T, F>(
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
        let visit = Visit {
            config: &config.0,
            concern: Concern {
                secrets: state.map(str::to_owned).into_iter().collect(),
                of_a_person: Some(person),
                ..Concern::default()
            },
            total: self.total,
        };
        self.calls
            .of(channel)
            .ok_or_else(missing)?
            .call(visit, move |code, store| match component(code) {
                Ok(component) => {
                    let text = text_for_plugin(&code.about.config_schema, &own);
                    work(component, store, text)
                }
                Err(other) => Box::pin(async { Ok(Err(other)) }),
            })
            .await
    }
}

#[async_trait]
impl Channels for Desk {
    fn channels(&self) -> Vec<ChannelKind> {
        self.catalog.of_role(NAME).into_iter().map(kind_of).collect()
    }

    fn settling(&self, channel: &str) -> Option<Settling> {
        let wanted = format!("the channel {}", one_line(channel, SHOWN));
        self.catalog.settling(Some(NAME), wanted)
    }

    async fn verify(&self, channel: &str, config: ChannelConfig) -> Result<Destination, ChannelError> {
        self.call(channel, (config, None), |code, store, config| {
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
        self.call(channel, (config, None), |code, store, config| {
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
        self.call(channel, (config, Some(state)), |code, store, config| {
            Box::pin(async move { code.send(store, &config, &kept, message).await })
        })
        .await
    }
}

fn component(code: &Loaded) -> Result<&dyn ChannelCode, ChannelError> {
    match code.code_as::<Component>() {
        Some(Component(code)) => Ok(&**code),
        None => Err(ChannelError::Missing(format!(
            "the plugin `{}` is no channel any more",
            code.about.id
        ))),
    }
}
