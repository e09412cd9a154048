//! Errors of plugins in the words of the port: the same of every version, for all share the base of the contract.

use qm_plugin_host::imports::wit::common::PluginError;
use qm_plugin_host::role::{Voice, one_line};
use qm_ports::engine::{EngineError, Subject};

/// The most of an error's text that leaves the plugin.
const TEXT: usize = 1 << 10;

/// An error as the plugin words it, without the secrets it was given.
pub(super) fn read(error: PluginError, voice: &Voice) -> EngineError {
    use EngineError as E;
    let text = |text: String| voice.blot(one_line(&text, TEXT));
    match error {
        PluginError::Unreachable(why) => E::Unreachable(text(why)),
        PluginError::Timeout(why) => E::Timeout(text(why)),
        PluginError::Auth(why) => E::Auth(text(why)),
        PluginError::InvalidConfig(why) => E::InvalidConfig(text(why)),
        PluginError::NotFound(what) => match what.as_str() {
            "file" => E::NotFound(Subject::File),
            "tracker" => E::NotFound(Subject::Tracker),
            "category" => E::NotFound(Subject::Category),
            _ => E::NotFound(Subject::Torrent),
        },
        PluginError::Unsupported(why) => E::Unsupported(text(why)),
        PluginError::Rejected(why) => E::Rejected(text(why)),
        PluginError::Protocol(why) => E::Protocol(text(why)),
        PluginError::Throttled(seconds) => E::Unreachable(match seconds {
            Some(seconds) => format!("it asks to come back in {seconds} s"),
            None => "it asks to come back later".to_owned(),
        }),
        PluginError::Denied(what) => E::InvalidConfig(text(format!(
            "{what} is not what this engine is configured to reach"
        ))),
        PluginError::Other((name, why)) => E::Protocol(text(format!("{name}: {why}"))),
    }
}

/// Refusal of what a version of the API does not have.
pub(super) fn lacking(what: &str) -> EngineError {
    EngineError::Unsupported(format!("This engine has no {what}"))
}
