//! Places where plugins are found and compiled, the same for an active server and a standby.

use std::collections::HashSet;
use std::sync::Arc;

use qm_net::Net;
use qm_platform::config_schema;
use qm_plugin_host::{Compiler, Limits, Pins, PluginHostConfig, Values};

use crate::config::Config;

/// Compiled plugins, below the data directory.
pub const PLUGIN_CACHE: &str = "cache/plugins";

/// Storage of facts about plugins, and of the plugins' own data.
pub(crate) struct Kept {
    pub(crate) pins: Arc<dyn Pins>,
    pub(crate) values: Arc<dyn Values>,
}

/// Configuration of the plugin host: directories, compiler, storage.
pub(crate) fn plugins_config(
    config: &Config,
    compiler: Compiler,
    limits: Limits,
    net: Net,
    kept: Kept,
) -> PluginHostConfig {
    PluginHostConfig {
        plugins_dir: config.plugins_dir.clone(),
        cache_dir: config.data_dir.join(PLUGIN_CACHE),
        compiler,
        pins: kept.pins,
        values: kept.values,
        judge: config_schema::judge_params,
        limits,
        net,
        first_party: first_party(),
    }
}

/// Hashes of the plugins that `build.rs` was given.
fn first_party() -> HashSet<String> {
    let hashes = option_env!("QM_FIRST_PARTY_SHA256").unwrap_or_default();
    hashes
        .split(',')
        .filter(|hash| !hash.is_empty())
        .map(str::to_owned)
        .collect()
}
