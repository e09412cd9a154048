//! SDK for plugins of torrent engines that were written for version 0.1.0 of the contract. New ones use `sdk-engine`.
//!
//! Owns: the bindings of `wit/engine@0.1.0`, generated once, and the export macro; the rest comes from `sdk` and is exported
//! again. It stays as long as the host speaks that version: the plugins that are built with it show that it does.

#[allow(
    unsafe_code,
    clippy::pedantic,
    clippy::all,
    reason = "generated; the canonical ABI is raw memory"
)]
pub mod bindings {
    wit_bindgen::generate!({
        world: "engine-provider",
        path: "../../wit/engine@0.1.0",
        pub_export_macro: true,
        export_macro_name: "export_engine_raw",
        default_bindings_module: "sdk_engine_0_1::bindings",
        additional_derives: [PartialEq, Clone],
        with: {
            "quartermaster:base/common@0.1.0": sdk::common,
            "quartermaster:base/log@0.1.0": sdk::log,
            "quartermaster:base/clock@0.1.0": sdk::clock,
            "quartermaster:base/transport@0.1.0": sdk::transport,
            "quartermaster:base/http@0.1.0": sdk::http,
            "quartermaster:engine/records@0.1.0": generate,
        },
    });
}

pub use bindings::exports::quartermaster::engine::engine::{
    AddRequest, Attention, Command, Delta, File, Guest as Engine, GuestSession as EngineSession, Health,
    Outcome, Peer, RateLimits, Session, SessionStats, Torrent, Tracker, Transfer,
};
pub use bindings::quartermaster::engine::records::{
    AddOptions, FilePriorityArgs, GlobalStats, RenameFileArgs, Source, TorrentState, TrackerStatus,
};
pub use sdk::*;

/// Exports a type that implements [`Engine`] as the component's `engine` interface.
///
/// ```ignore
/// struct Plugin;
/// impl sdk_engine_0_1::Engine for Plugin { type Session = MySession; fn describe() -> sdk_engine_0_1::Descriptor { .. } }
/// sdk_engine_0_1::export_engine!(Plugin);
/// ```
#[macro_export]
macro_rules! export_engine {
    ($plugin:ident) => {
        $crate::bindings::export_engine_raw!($plugin with_types_in $crate::bindings);
    };
}
