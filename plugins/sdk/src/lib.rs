//! What an author of an engine plugin writes against.
//!
//! Owns: the bindings of `wit/since-0.1.0`, generated once; the export macro; the panic hook; the few helpers every
//! plugin needs. A plugin is one crate of type `cdylib`: a struct that implements [`Engine`], one that implements
//! [`EngineSession`], and [`export_engine!`].
//! Never: knows a product. Wire formats belong in a crate of their own without bindings, so that they are tested natively;
//! `engine-model` has the records for it, and here they become the contract's.
//!
//! On wasm32-unknown-unknown there is no clock, no randomness, no thread and no file: take the time from [`clock`], and
//! keep state in `Cell` and `RefCell` (an instance takes one call at a time).

#[allow(
    unsafe_code,
    clippy::pedantic,
    clippy::all,
    reason = "generated; the canonical ABI is raw memory"
)]
pub mod bindings {
    wit_bindgen::generate!({
        world: "engine-provider",
        path: "../../wit/since-0.1.0",
        pub_export_macro: true,
        export_macro_name: "export_engine_raw",
        default_bindings_module: "sdk::bindings",
        additional_derives: [PartialEq, Clone],
    });
}

mod config;
mod error;
mod model;
mod net;

pub use bindings::exports::quartermaster::plugin::engine::{
    AddRequest, Attention, Command, Delta, Descriptor, File, Guest as Engine, GuestSession as EngineSession,
    Health, Outcome, Peer, PluginError, RateLimits, Session, SessionStats, Torrent, Tracker, Transfer,
};
pub use bindings::quartermaster::plugin::engine_types::{
    AddOptions, FilePriorityArgs, GlobalStats, RenameFileArgs, Source, TorrentState, TrackerStatus,
};
pub use bindings::quartermaster::plugin::{clock, http, log, transport};
pub use config::Config;
pub use error::plugin_error;
pub use net::{HttpRequest, connect_tcp, connect_unix, header};

/// Sends the text of a panic to the service's log; without it nobody ever reads it. Call it first in `describe` and in
/// `open`: either may be the first call of an instance.
pub fn install_panic_hook() {
    std::panic::set_hook(Box::new(|info| log::log(log::Level::Error, &info.to_string())));
}

/// Exports a type that implements [`Engine`] as the component's `engine` interface.
///
/// ```ignore
/// struct Plugin;
/// impl sdk::Engine for Plugin { type Session = MySession; fn describe() -> sdk::Descriptor { .. } }
/// sdk::export_engine!(Plugin);
/// ```
#[macro_export]
macro_rules! export_engine {
    ($plugin:ident) => {
        $crate::bindings::export_engine_raw!($plugin with_types_in $crate::bindings);
    };
}
