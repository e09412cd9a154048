//! Role whose plugins keep nothing between calls: every call runs in an instance of its own ([`RoleCalls`]). A role says in
//! [`Stateless`] how it differs from others; a new version of its package gets a module beside `v0_1`, and nothing else learns of
//! it.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::TryFutureExt as _;
use futures_util::future::BoxFuture;
use qm_plugin_host::role::{
    About, Answer, CallContext, CallSpec, Claims, Code, Descriptor, Fault, Heard, Loaded, PluginCalls, Role,
    RoleCalls, State, Trial, Version,
};
use qm_plugin_host::{Check, Installed};
use serde_json::{Map, Value};
use wasmtime::Store;
use wasmtime::component::{InstancePre, Linker};

/// The property that hands on a time limit.
const TIMEOUT: &str = "timeoutMs";

/// Wraps a component in the adapter of its version. Fails when an export is missing; a wrong type of one shows only in an
/// instance.
pub(crate) type Prepare<T> = fn(InstancePre<State>) -> wasmtime::Result<Box<<T as Stateless>::Adapter>>;

/// Declares the adapter of a version: a component of a world, of which every call makes an instance.
macro_rules! declare_adapter {
    ($pre:ident => $world:ident) => {
        /// A component of the world, of which every call makes an instance.
        pub(super) struct Adapter($pre<State>);

        impl Adapter {
            pub(super) fn new(pre: wasmtime::component::InstancePre<State>) -> wasmtime::Result<Self> {
                Ok(Self($pre::new(pre)?))
            }

            async fn world(&self, store: &mut Store<State>) -> wasmtime::Result<$world> {
                self.0.instantiate_async(store).await
            }
        }
    };
}

pub(crate) use declare_adapter;

/// A role whose plugins keep nothing between calls.
pub(crate) trait Stateless: Send + Sync + Sized + 'static {
    /// The name of the role in the API.
    const NAME: &'static str;
    /// The exported interface, without namespace and version.
    const INTERFACE: &'static str;
    /// The word for its package in an error.
    const PACKAGE: &'static str;
    /// The interfaces that it adds to a linker, as `package/interface@major.minor`.
    const OFFERS: &'static [&'static str];
    /// The name of its calls in the status.
    const LANE: &'static str = "call";
    /// Calls of one plugin at a time; none: as many as the host allows by itself.
    const AT_ONCE: Option<usize> = None;
    /// Its plugins may ask for hosts of their own.
    const HAS_OWN_HOSTS: bool = false;
    /// Interfaces that an administrator grants.
    const GRANTABLE: &'static [&'static str] = &[];
    /// Its plugins may keep values.
    const KEEPS_VALUES: bool = false;
    /// An administrator configures a plugin as a whole.
    const IS_CONFIGURED_ONCE: bool = false;
    /// Things of which a plugin provides several.
    const CLAIMS: Option<Claims> = None;

    /// The adapters of the versions that this host speaks, oldest first.
    const ADAPTERS: &'static [(Version, Prepare<Self>)];

    /// The calls that the adapter of each version implements, as a trait object.
    type Adapter: Code + ?Sized;
    /// The error of the role's port.
    type Error: std::fmt::Display + Send + 'static;

    /// Checks the facts that the role adds to a description.
    fn vet(_said: &Descriptor) -> Result<(), String> {
        Ok(())
    }

    /// Offers what only its plugins import.
    fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()>;

    /// Runs the contract tests.
    fn contract(bench: Bench<Self>) -> BoxFuture<'static, Vec<Check>>;

    /// The fault of a call in the words of the port.
    fn failed(fault: Fault) -> Self::Error;
}

/// The role that `T` describes.
pub(crate) struct StatelessRole<T>(PhantomData<T>);

impl<T> StatelessRole<T> {
    pub(crate) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T: Stateless> Role for StatelessRole<T> {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn interface(&self) -> &'static str {
        T::INTERFACE
    }

    fn spoken(&self) -> (Version, Version) {
        const { (T::ADAPTERS[0].0, T::ADAPTERS[T::ADAPTERS.len() - 1].0) }
    }

    fn has_own_hosts(&self) -> bool {
        T::HAS_OWN_HOSTS
    }

    fn grantable(&self) -> &'static [&'static str] {
        T::GRANTABLE
    }

    fn keeps_values(&self) -> bool {
        T::KEEPS_VALUES
    }

    fn is_configured_once(&self) -> bool {
        T::IS_CONFIGURED_ONCE
    }

    fn claims(&self) -> Option<Claims> {
        T::CLAIMS
    }

    fn vet(&self, said: &Descriptor) -> Result<(), String> {
        T::vet(said)
    }

    fn offers(&self) -> &'static [&'static str] {
        T::OFFERS
    }

    fn add_to_linker(&self, linker: &mut Linker<State>) -> wasmtime::Result<()> {
        T::add_to_linker(linker)
    }

    fn prepare(&self, version: Version, pre: InstancePre<State>) -> wasmtime::Result<Arc<dyn Code>> {
        let (_, prepare) = T::ADAPTERS
            .iter()
            .find(|(spoken, _)| *spoken == version)
            .ok_or_else(|| wasmtime::Error::msg(format!("{} API {version} has no adapter", T::PACKAGE)))?;
        Ok(Arc::new(Component::<T>(prepare(pre)?)))
    }

    fn contract(&self, trial: Trial) -> BoxFuture<'static, Vec<Check>> {
        T::contract(Bench {
            trial,
            role: PhantomData,
        })
    }
}

/// A compiled component of the role, whatever its version.
struct Component<T: Stateless>(Box<T::Adapter>);

#[async_trait]
impl<T: Stateless> Code for Component<T> {
    async fn describe(&self, store: Store<State>) -> wasmtime::Result<Descriptor> {
        self.0.describe(store).await
    }
}

/// The adapter of a plugin; none when it is of another role.
fn adapter<T: Stateless>(code: &Loaded) -> Option<&T::Adapter> {
    let Component(adapter) = code.code_as::<Component<T>>()?;
    Some(&**adapter)
}

/// The plugins of the role, as the rest of the server knows them.
pub(crate) struct RolePort<T> {
    pub(crate) installed: Installed,
    calls: RoleCalls,
    role: PhantomData<T>,
}

impl<T: Stateless> RolePort<T> {
    pub(crate) fn new(installed: Installed) -> Self {
        let calls = installed.calls(T::NAME, T::LANE);
        Self {
            calls: match T::AT_ONCE {
                Some(most) => calls.at_once(most),
                None => calls,
            },
            installed,
            role: PhantomData,
        }
    }

    /// The calls of the plugin of this id; none when no plugin of the role has it.
    pub(crate) fn calls_of(&self, plugin: &str) -> Option<Arc<PluginCalls>> {
        self.calls.of_plugin(plugin)
    }

    /// Makes one call in an instance of the plugin; `otherwise` is the error where other code, of another role, has its id by now.
    pub(crate) async fn call<W, F>(
        calls: &PluginCalls,
        spec: CallSpec<'_>,
        otherwise: T::Error,
        work: F,
    ) -> Result<W, T::Error>
    where
        W: Send,
        F: for<'a> FnOnce(
                &'a T::Adapter,
                &'a About,
                &'a mut Store<State>,
            ) -> BoxFuture<'a, Answer<W, T::Error>>
            + Send,
    {
        let called = calls.call(spec, move |code, store| match adapter::<T>(code) {
            Some(adapter) => work(adapter, &code.about, store),
            None => Box::pin(async { Ok(Err(otherwise)) }),
        });
        called.await.unwrap_or_else(|fault| Err(T::failed(fault)))
    }
}

/// A plugin of the role under its contract tests.
pub(crate) struct Bench<T> {
    pub(crate) trial: Trial,
    role: PhantomData<T>,
}

impl<T: Stateless> Bench<T> {
    /// The same, where the plugin may reach the hosts it asks for.
    pub(crate) fn with_hosts(self) -> Self {
        Self {
            trial: self.trial.with_hosts(),
            ..self
        }
    }

    /// Makes one call in an instance of its own, with the configuration of the target.
    pub(crate) async fn ask<W: 'static>(
        &self,
        total: Duration,
        context: CallContext,
        work: impl for<'a> FnOnce(&'a T::Adapter, &'a mut Store<State>) -> BoxFuture<'a, Answer<W, T::Error>>,
    ) -> Heard<W, T::Error> {
        self.ask_with(self.trial.target(), total, context, work).await
    }

    /// Makes one call in an instance of its own that may dial what `config` names.
    pub(crate) async fn ask_with<W: 'static>(
        &self,
        config: &Map<String, Value>,
        total: Duration,
        context: CallContext,
        work: impl for<'a> FnOnce(&'a T::Adapter, &'a mut Store<State>) -> BoxFuture<'a, Answer<W, T::Error>>,
    ) -> Heard<W, T::Error> {
        let spec = CallSpec {
            config,
            context,
            total,
        };
        let heard = self
            .trial
            .call(spec, move |code, store| match adapter::<T>(code) {
                Some(adapter) => Box::pin(work(adapter, store).map_ok(Some)),
                None => Box::pin(async { Ok(None) }),
            });
        heard.await?.ok_or_else(|| format!("it is no {}", T::NAME))
    }
}

/// The properties of a configuration that its schema names, with the time limit where it names that.
pub(crate) fn handed_on(
    schema: &Value,
    mut config: Map<String, Value>,
    timeout_ms: u32,
) -> Map<String, Value> {
    let named = schema.get("properties").and_then(Value::as_object);
    config.insert(TIMEOUT.to_owned(), timeout_ms.into());
    config.retain(|name, _| named.is_some_and(|named| named.contains_key(name)));
    config
}
