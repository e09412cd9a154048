//! A plugin host for measurements: it compiles in this process and stores nothing.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use qm_kernel::Ctx;
use qm_net::{Net, NetConfig};
use qm_plugin_host::{Compiler, Limits, PinsInMemory, PluginHostConfig, ValuesInMemory};
use qm_plugin_roles::Plugins;

/// Starts a host on a directory of plugins and waits until all are compiled.
pub async fn start(plugins_dir: PathBuf, cache_dir: PathBuf) -> Arc<Plugins> {
    let config = PluginHostConfig {
        plugins_dir,
        cache_dir,
        compiler: Compiler::InProcess,
        pins: Arc::new(PinsInMemory::default()),
        values: Arc::new(ValuesInMemory::default()),
        judge: |_, _| Ok(()),
        limits: Limits::default(),
        net: Net::new(NetConfig::default()).expect("the outgoing network"),
        first_party: HashSet::default(),
    };
    let host = Plugins::start(config, Ctx::system()).await;
    let host = host.expect("the plugin host");
    host.settled().await;
    host
}
