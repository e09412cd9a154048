//! Roles of plugins: drivers of torrent clients, channels, sets of actions, protocols of indexers, providers of metadata and media
//! servers, one folder each.
//!
//! A folder holds the bindings of its WIT package, with one adapter a frozen version, behind one trait, and the way from there to
//! the port that the rest of the server knows. [`stateless`] has what roles without a session share. The plugin host loads files,
//! makes instances and bounds their calls; it knows no role but by [`qm_plugin_host::role::Role`].

mod actions;
mod channel;
mod engine;
mod indexer;
mod media_server;
mod metadata;
mod stateless;
mod vetted;

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use qm_kernel::Ctx;
use qm_net::Net;
use qm_plugin_host::role::Roles;
use qm_plugin_host::{CheckOptions, CheckReport, PluginHost, PluginHostConfig, PluginHostError};
use qm_ports::action::Actions;
use qm_ports::channel::Channels;
use qm_ports::engine::EngineKinds;
use qm_ports::indexer::Protocols;
use qm_ports::media_server::MediaServerKinds;
use qm_ports::metadata::Providers;

use crate::stateless::{RolePort, StatelessRole};

/// All roles; a file is matched against them in order.
pub const ALL: Roles = &[
    &engine::EngineRole,
    &StatelessRole::<channel::Channel>::new(),
    &StatelessRole::<actions::ActionSet>::new(),
    &StatelessRole::<indexer::Indexer>::new(),
    &StatelessRole::<metadata::Metadata>::new(),
    &StatelessRole::<media_server::MediaServer>::new(),
];

/// Loads `file` as the host would and, given a configuration, runs the contract tests of its role. What the plugin says
/// meanwhile goes to the log, target `plugin`.
pub async fn check(
    file: &Path,
    options: CheckOptions,
    net: &Net,
    ctx: Ctx,
) -> Result<CheckReport, PluginHostError> {
    qm_plugin_host::check(file, options, net, ctx, ALL).await
}

/// The plugin host with all roles. As a [`PluginHost`] it lists plugins, reloads them and is told who works for them.
pub struct Plugins {
    host: Arc<PluginHost>,
    engines: Arc<engine::Engines>,
    channels: Arc<channel::ChannelPort>,
    actions: Arc<RolePort<actions::ActionSet>>,
    indexers: Arc<RolePort<indexer::Indexer>>,
    metadata: Arc<RolePort<metadata::Metadata>>,
    media_servers: Arc<RolePort<media_server::MediaServer>>,
}

impl Plugins {
    /// Starts the host, as [`PluginHost::start`] says.
    pub async fn start(config: PluginHostConfig, ctx: Ctx) -> Result<Arc<Self>, PluginHostError> {
        let host = PluginHost::start(config, ctx, ALL).await?;
        let installed = || host.installed();
        Ok(Arc::new(Self {
            engines: Arc::new(engine::Engines(installed())),
            channels: Arc::new(channel::ChannelPort::new(installed())),
            actions: Arc::new(RolePort::new(installed())),
            indexers: Arc::new(RolePort::new(installed())),
            metadata: Arc::new(RolePort::new(installed())),
            media_servers: Arc::new(RolePort::new(installed())),
            host,
        }))
    }

    /// The host.
    pub fn host(&self) -> &Arc<PluginHost> {
        &self.host
    }

    /// The kinds of torrent clients that the plugins drive.
    pub fn engine_kinds(&self) -> Arc<dyn EngineKinds> {
        self.engines.clone()
    }

    /// The channels that the plugins provide.
    pub fn channels(&self) -> Arc<dyn Channels> {
        self.channels.clone()
    }

    /// The actions that the plugins provide.
    pub fn actions(&self) -> Arc<dyn Actions> {
        self.actions.clone()
    }

    /// The protocols of indexers that the plugins speak.
    pub fn protocols(&self) -> Arc<dyn Protocols> {
        self.indexers.clone()
    }

    /// The providers of metadata that the plugins speak to.
    pub fn providers(&self) -> Arc<dyn Providers> {
        self.metadata.clone()
    }

    /// The media servers that the plugins speak to.
    pub fn media_servers(&self) -> Arc<dyn MediaServerKinds> {
        self.media_servers.clone()
    }
}

impl Deref for Plugins {
    type Target = PluginHost;

    fn deref(&self) -> &PluginHost {
        &self.host
    }
}
