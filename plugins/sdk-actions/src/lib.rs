//! SDK for plugins with actions for rules.
//!
//! Owns: the bindings of `wit/actions@0.1.0`, generated once, short ways to describe actions, and the export macro; the rest
//! comes from `sdk` and is exported again. A plugin is one crate of type `cdylib`: a struct that implements [`Actions`], and
//! [`export_actions!`].

#[allow(
    unsafe_code,
    clippy::pedantic,
    clippy::all,
    reason = "generated; the canonical ABI is raw memory"
)]
pub mod bindings {
    wit_bindgen::generate!({
        world: "action-set",
        path: "../../wit/actions@0.1.0",
        pub_export_macro: true,
        export_macro_name: "export_actions_raw",
        default_bindings_module: "sdk_actions::bindings",
        additional_derives: [PartialEq, Clone],
        with: {
            "quartermaster:base/common@0.1.0": sdk::common,
            "quartermaster:base/log@0.1.0": sdk::log,
            "quartermaster:base/clock@0.1.0": sdk::clock,
            "quartermaster:base/transport@0.1.0": sdk::transport,
            "quartermaster:base/http@0.1.0": sdk::http,
            "quartermaster:base/http-guarded@0.1.0": sdk::http_guarded,
            "quartermaster:base/kv@0.1.0": sdk::kv,
            "quartermaster:actions/runs@0.1.0": generate,
            "quartermaster:actions/torrents@0.1.0": generate,
            "quartermaster:actions/media@0.1.0": generate,
        },
    });
}

pub use bindings::exports::quartermaster::actions::actions::Guest as Actions;
pub use bindings::quartermaster::actions::runs::{Action, Call, Description, Done, Occasion, TorrentRef};
pub use bindings::quartermaster::actions::{media, torrents};
pub use sdk::*;

/// All items that lie where the data of the run's torrent lies, however many: the host hands out some at a time, and bounds how
/// often it is asked.
pub fn items_of_torrent() -> Result<Vec<media::Item>, PluginError> {
    let mut all: Vec<media::Item> = Vec::new();
    loop {
        let after = all.last().map(|item| item.id.clone());
        let mut some = media::items(after.as_deref())?;
        if some.is_empty() {
            return Ok(all);
        }
        all.append(&mut some);
    }
}

/// The schema of parameters of an action that takes none, and of a configuration that has no property.
pub const NO_PROPERTIES: &str = r#"{"type":"object","properties":{},"additionalProperties":false}"#;

/// A run that succeeded.
pub fn done() -> Done {
    Done { extra: Vec::new() }
}

/// Exports a type that implements [`Actions`] as the component's `actions` interface.
///
/// ```ignore
/// struct Plugin;
/// impl sdk_actions::Actions for Plugin { .. }
/// sdk_actions::export_actions!(Plugin);
/// ```
#[macro_export]
macro_rules! export_actions {
    ($plugin:ident) => {
        $crate::bindings::export_actions_raw!($plugin with_types_in $crate::bindings);
    };
}
