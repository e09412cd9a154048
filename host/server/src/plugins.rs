//! Where plugins are found and compiled, for a server that is active as for one that stands by.

use std::collections::HashSet;
use std::sync::Arc;

use qm_net::Net;
use qm_platform::config_schema;
use qm_plugin_host::{Compiler, Limits, Pins, PluginHostConfig, Values};

use crate::config::Config;

/// Compiled plugins, below the data directory.
pub const PLUGIN_CACHE: &str = "cache/plugins";

/// Where what is known of plugins is kept, and what they keep.
pub(crate) struct Kept {
    pub(crate) pins: Arc<dyn Pins>,
    pub(crate) values: Arc<dyn Values>,
}

/// Where plugins are found and compiled.
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

/// The hashes that `build.rs` was told.
fn first_party() -> HashSet<String> {
    let hashes = option_env!("QM_FIRST_PARTY_SHA256").unwrap_or_default();
    hashes
        .split(',')
        .filter(|hash| !hash.is_empty())
        .map(str::to_owned)
        .collect()
}
