//! `quartermaster plugin check FILE`: what the host sees in a file, and, given a target, whether it keeps the contract
//! of its role.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use qm_kernel::Ctx;
use qm_net::Net;
use qm_plugin_guest::limits::Limits;
use qm_plugin_guest::services::{Judge, Services};
use qm_plugin_guest::values::ValuesInMemory;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::core::cache::CodeCache;
use crate::core::compile::Compiler;
use crate::core::listing::{described, refused};
use crate::core::load::{Effort, Loader};
use crate::core::role::Roles;
use crate::core::runtime::Runtime;
use crate::core::status::{PluginState, PluginStatus};
use crate::core::trial::Trial;
use crate::error::PluginHostError;

/// One contract test.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// The requirement that is tested, as a sentence.
    pub name: &'static str,
    pub passed: bool,
    /// The answer that came instead, or a fact worth showing.
    pub detail: String,
}

/// Notes what became of a contract test: a fact worth showing, or what came instead.
pub fn note(checks: &mut Vec<Check>, name: &'static str, result: Result<String, String>) {
    checks.push(Check {
        name,
        passed: result.is_ok(),
        detail: result.unwrap_or_else(|why| why),
    });
}

/// An answer, whatever kept it away.
pub fn word<T, E: std::fmt::Display>(answer: Result<Result<T, E>, String>) -> Result<T, String> {
    answer?.map_err(|error| error.to_string())
}

/// The results of a check.
#[derive(Clone, Debug, Serialize)]
pub struct CheckReport {
    pub plugin: PluginStatus,
    /// JSON Schema of its configuration, when it could be loaded.
    pub config_schema: Option<Value>,
    /// Empty without a target.
    pub checks: Vec<Check>,
}

impl CheckReport {
    /// It can be used, and every contract test that ran was passed.
    pub fn passed(&self) -> bool {
        self.plugin.state == PluginState::Active && self.checks.iter().all(|check| check.passed)
    }
}

/// The options of a check.
pub struct CheckOptions {
    /// A configuration to run the contract tests against.
    pub target: Option<Map<String, Value>>,
    /// Judges that configuration by the plugin's schema, as the server does when one is stored: what is wrong with it.
    pub judge: Judge,
    /// Where compiled code is kept for the next check, mode 0700; none keeps nothing.
    pub cache_dir: Option<PathBuf>,
}

/// Components whose code a cache of checks keeps.
const KEPT: usize = 16;

/// Loads `file` as the host would and runs the contract tests of its role.
pub(crate) async fn check(
    file: &Path,
    options: CheckOptions,
    net: &Net,
    ctx: Ctx,
    roles: Roles,
) -> Result<CheckReport, PluginHostError> {
    std::fs::metadata(file).map_err(|source| PluginHostError::File {
        path: file.to_owned(),
        source,
    })?;
    let CheckOptions {
        target,
        judge,
        cache_dir,
    } = options;
    let services = Services::new(Arc::<ValuesInMemory>::default(), judge);
    let runtime = Runtime::new(Limits::default(), net.dialer().clone(), services, ctx, roles)?;
    let cache = match cache_dir {
        Some(dir) => {
            let cache = CodeCache::open(&dir, &runtime.engine);
            cache.keep_newest(KEPT);
            cache
        }
        None => CodeCache::none(),
    };
    let loader = Loader::new(runtime.clone(), cache, Compiler::InProcess, roles, Arc::default());
    let name = file
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    match loader.load(file.to_owned(), Effort::Full).await {
        Err(refusal) => Ok(CheckReport {
            plugin: refused(&name, &refusal),
            config_schema: None,
            checks: Vec::new(),
        }),
        Ok(loaded) => {
            let plugin = described(&name, &loaded);
            let config_schema = loaded.about.config_schema.clone();
            let role = roles.iter().find(|role| loaded.is_of(role.name()));
            let checks = match (target, role) {
                (Some(target), Some(role)) => {
                    let judged = judge(&config_schema, &target);
                    let fits = judged.is_ok();
                    let mut checks = vec![Check {
                        name: "its schema accepts this configuration",
                        passed: fits,
                        detail: judged.err().unwrap_or_default(),
                    }];
                    if fits {
                        let trial = Trial::new(runtime, Arc::new(loaded), target);
                        checks.extend(role.contract(trial).await);
                    }
                    checks
                }
                _ => Vec::new(),
            };
            Ok(CheckReport {
                plugin,
                config_schema: Some(config_schema),
                checks,
            })
        }
    }
}
