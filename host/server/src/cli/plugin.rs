//! `quartermaster plugin new` and `quartermaster plugin check FILE`.

use std::fmt::Display;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use qm_kernel::Ctx;
use qm_net::{Net, NetConfig};
use qm_platform::config_schema::{self, BrokenRule};
use qm_plugin_host::{CheckOptions, CheckReport, PluginStatus};
use qm_templates::{Language, Name, Role};
use serde_json::{Map, Value};

use super::{fail, say};
use crate::failure::one_line;

/// Reads the argument of `--role`.
pub(super) fn roles() -> impl TypedValueParser<Value = Role> {
    PossibleValuesParser::new(Role::ALL.map(Role::word)).try_map(|word| {
        let role = Role::ALL.into_iter().find(|role| role.word() == word);
        role.ok_or("no such role")
    })
}

/// Reads the argument of `--lang`.
pub(super) fn languages() -> impl TypedValueParser<Value = Language> {
    PossibleValuesParser::new(Language::ALL.map(Language::word)).try_map(|word| {
        let language = Language::ALL.into_iter().find(|language| language.word() == word);
        language.ok_or("no such language")
    })
}

/// Writes a plugin to start from into the folder `name`, here.
pub(super) fn new(role: Role, language: Language, name: &Name) -> ExitCode {
    let folder = PathBuf::from(name.to_string());
    let files = qm_templates::files(role, language, name);
    match qm_templates::write(&folder, &files) {
        Ok(()) => {
            say(format_args!(
                "{name}/ is written: {name}/README.md says how to build, check and load it."
            ));
            ExitCode::SUCCESS
        }
        Err(error) => fail(&error.to_string()),
    }
}

/// A configuration, as users enter it in the service (that of an engine in `config` of `POST /api/engines`).
#[derive(Clone, Debug)]
pub(super) struct TargetConfig(Map<String, Value>);

/// Reads the argument of `--config`: JSON, or `@` and the name of a file that holds it.
pub(super) fn parse_config(argument: &str) -> Result<TargetConfig, String> {
    let text = match argument.strip_prefix('@') {
        Some(file) => {
            std::fs::read_to_string(file).map_err(|error| format!("cannot read `{file}`: {error}"))?
        }
        None => argument.to_owned(),
    };
    serde_json::from_str(&text)
        .map(TargetConfig)
        .map_err(|error| format!("it is not a JSON object: {error}"))
}

/// Prints what the file is and how its tests went. Succeeds when the plugin can be used and every test passed.
pub(super) async fn check(file: &Path, target: Option<TargetConfig>) -> ExitCode {
    let net = match Net::new(NetConfig::default()) {
        Ok(net) => net,
        Err(error) => return fail(&one_line(&error)),
    };
    if let Err(error) = net.has_authorities().await {
        return fail(&one_line(&error));
    }
    hear();
    let options = CheckOptions {
        target: target.map(|config| config.0),
        judge,
        cache_dir: cache_dir(),
    };
    match qm_plugin_roles::check(file, options, &net, Ctx::system()).await {
        Ok(report) => {
            show(&report);
            if report.passed() {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        Err(error) => fail(&one_line(&error)),
    }
}

/// Prints the plugin's log, standard output and standard error as they come.
fn hear() {
    let filter = tracing_subscriber::EnvFilter::new("warn,plugin=trace");
    // Only a test may have set another one before.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .without_time()
        .with_target(false)
        .try_init();
}

/// Checks a configuration as the server does when an engine is created.
fn judge(schema: &Value, config: &Map<String, Value>) -> Result<(), String> {
    let mut broken = config_schema::broken_rules(schema, config).map_err(|error| error.to_string())?;
    let properties = schema.get("properties").and_then(Value::as_object);
    for name in config.keys() {
        let unknown = BrokenRule::unknown(name);
        // A schema that closes itself (`additionalProperties`) has said so.
        if !properties.is_some_and(|known| known.contains_key(name)) && !broken.contains(&unknown) {
            broken.push(unknown);
        }
    }
    if broken.is_empty() {
        return Ok(());
    }
    let messages: Vec<_> = broken.iter().map(BrokenRule::message).collect();
    Err(messages.join("; "))
}

/// Directory of compiled code between two runs: compiling a plugin in Python takes many seconds.
fn cache_dir() -> Option<PathBuf> {
    let own = || {
        let home = std::env::var_os("HOME").map(PathBuf::from)?;
        Some(home.join(".cache"))
    };
    let base = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|dir| dir.is_absolute())
        .or_else(own)?;
    Some(base.join("quartermaster/plugin-check"))
}

fn show(report: &CheckReport) {
    let CheckReport {
        plugin,
        config_schema,
        checks,
    } = report;
    facts(plugin);
    if let Some(schema) = config_schema {
        fact("config schema", schema);
    }
    if checks.is_empty() {
        say("No contract test was run: give a configuration to test with, by --config.");
    }
    for check in checks {
        let verdict = if check.passed { "passed" } else { "FAILED" };
        let separator = if check.detail.is_empty() { "" } else { ": " };
        say(format_args!(
            "{verdict}  {}{separator}{}",
            check.name, check.detail
        ));
    }
}

fn facts(plugin: &PluginStatus) {
    fact("file", &plugin.file);
    fact("id", &plugin.id);
    fact("label", known(plugin.label.as_deref()));
    fact("version", known(plugin.version.as_deref()));
    fact("kind", known(plugin.kind.as_deref()));
    fact("API version", known(plugin.api_version.as_deref()));
    fact("SHA-256", known(plugin.sha256.as_deref()));
    fact("size", format_args!("{} bytes", plugin.size));
    let state = serde_json::to_value(plugin.state).unwrap_or_default();
    fact("state", state.as_str().unwrap_or("unknown"));
    if let Some(reason) = &plugin.reason {
        fact("reason", reason);
    }
    fact("exports", list(&plugin.exports));
    fact("imports", list(&plugin.imports));
    fact("capabilities", list(&plugin.capabilities));
    fact("hosts", list(&plugin.hosts));
    fact("asks for", list(&plugin.asks));
}

fn fact(name: &str, value: impl Display) {
    say(format_args!("{name:<14} {value}"));
}

fn known(value: Option<&str>) -> &str {
    value.unwrap_or("unknown")
}

fn list(values: &[String]) -> String {
    if values.is_empty() {
        "none".to_owned()
    } else {
        values.join(", ")
    }
}
