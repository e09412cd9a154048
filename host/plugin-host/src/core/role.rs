//! Role of a plugin: one exported interface in the versions this host speaks. The crate of the roles has a folder for each, with
//! one adapter a version, all behind one trait.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use qm_plugin_guest::state::State;
use serde_json::{Map, Value};
use wasmtime::Store;
use wasmtime::component::{InstancePre, Linker};

use super::check::Check;
use super::trial::Trial;
use crate::imports::wit::common;

/// The namespace of all packages of the plugin API, as it stands in the names of interfaces.
pub(crate) const NAMESPACE: &str = "quartermaster:";

/// A version of a role's package. Patches are compatible both ways and so don't count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

impl Version {
    /// Reads `0.1.7` (or `0.1`).
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.').map(|part| part.parse().ok());
        Some(Self {
            major: parts.next()??,
            minor: parts.next()??,
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Description that a plugin gives of itself, before anybody checked it.
#[derive(Debug)]
pub struct Descriptor {
    pub id: String,
    pub label: String,
    pub version: String,
    pub config_schema: String,
    pub capabilities: Vec<String>,
    pub hosts: Vec<String>,
    pub traits: Map<String, Value>,
}

impl Descriptor {
    /// The part that plugins of all roles give, with the traits of a role.
    pub fn new(about: common::Descriptor, traits: Map<String, Value>) -> Self {
        Self {
            id: about.id,
            label: about.label,
            version: about.version,
            config_schema: about.config_schema,
            capabilities: about.capabilities,
            hosts: about.hosts,
            traits,
        }
    }
}

/// Description that a plugin gives of itself, checked.
#[derive(Clone, Debug)]
pub struct About {
    /// The id that users store: an engine kind, a channel.
    pub id: String,
    /// The product's name.
    pub label: String,
    /// The plugin's own version.
    pub version: String,
    /// JSON Schema of its configuration, one of an object.
    pub config_schema: Value,
    pub capabilities: Vec<String>,
    /// Origins it asks to reach whatever the operator configures, as `https://host[:port]`.
    pub hosts: Vec<String>,
    /// Interfaces it asks for that somebody has to grant: those of its capabilities that its role says so of.
    pub asks: Vec<String>,
    /// Facts that its role adds, by the names the role gives them.
    pub traits: Map<String, Value>,
}

/// A compiled component of one role. `Any` gives the role its own type back.
#[async_trait]
pub trait Code: Any + Send + Sync {
    /// Runs `describe` in an instance of its own.
    async fn describe(&self, store: Store<State>) -> wasmtime::Result<Descriptor>;
}

/// One role.
pub trait Role: Send + Sync {
    /// The word for it in the API, e.g. `engine`.
    fn name(&self) -> &'static str;
    /// The interface a plugin of it exports, without namespace and version, e.g. `engine/engine`.
    fn interface(&self) -> &'static str;
    /// The oldest and the newest version of it this host speaks.
    fn spoken(&self) -> (Version, Version);
    /// Tells whether its plugins may ask for hosts of their own (`descriptor.hosts`), beside what an operator configures.
    fn has_own_hosts(&self) -> bool;
    /// Words in `descriptor.capabilities` by which its plugins ask for an interface that an administrator grants.
    fn grantable(&self) -> &'static [&'static str] {
        &[]
    }
    /// Tells whether its plugins may keep values.
    fn keeps_values(&self) -> bool {
        false
    }
    /// Tells whether `descriptor.config-schema` is about the plugin as a whole, so that an administrator configures it once. Of
    /// other roles each engine, or each person's channel, has a configuration.
    fn is_configured_once(&self) -> bool {
        false
    }
    /// Things that several plugins of it may provide, of which each id belongs to one plugin. None where a plugin provides the
    /// one thing that has its own id.
    fn claims(&self) -> Option<Claims> {
        None
    }
    /// Checks what its plugins tell beside what all do.
    fn vet(&self, _said: &Descriptor) -> Result<(), String> {
        Ok(())
    }
    /// The interfaces [`Role::add_to_linker`] adds, as `package/interface@major.minor`.
    fn offers(&self) -> &'static [&'static str];
    /// Offers what only its plugins import. What all roles share is offered by `imports`.
    fn add_to_linker(&self, linker: &mut Linker<State>) -> wasmtime::Result<()>;
    /// Wraps a component that exports it in `version`, one that is spoken. Fails when an export is missing; a wrong type of
    /// one shows only in an instance.
    fn prepare(&self, version: Version, pre: InstancePre<State>) -> wasmtime::Result<Arc<dyn Code>>;
    /// Runs the contract tests of the role with a configuration; none of them may change anything at the product.
    fn contract(&self, trial: Trial) -> BoxFuture<'static, Vec<Check>>;
}

/// Things of which a plugin of a role provides several.
#[derive(Clone, Copy)]
pub struct Claims {
    /// Noun for one of them, e.g. `action`.
    pub noun: &'static str,
    /// Ids of those that a plugin says it provides.
    pub ids: fn(&About) -> Vec<String>,
}

/// All roles of this host.
pub type Roles = &'static [&'static dyn Role];

/// The versions of `role`, for people.
pub(crate) fn spoken(role: &dyn Role) -> String {
    let (oldest, newest) = role.spoken();
    if oldest == newest {
        oldest.to_string()
    } else {
        format!("{oldest}–{newest}")
    }
}
