//! SDK for plugins of torrent engines.
//!
//! Owns: the bindings of `wit/engine@0.2.0`, generated once, and the export macro; the rest comes from `sdk` and is exported
//! again. A plugin is one crate of type `cdylib`: a struct that implements [`Engine`], one that implements
//! [`EngineSession`], and [`export_engine!`]. `engine-model` has the records for crates without bindings, and here they
//! become the contract's.

#[allow(
    unsafe_code,
    clippy::pedantic,
    clippy::all,
    reason = "generated; the canonical ABI is raw memory"
)]
pub mod bindings {
    wit_bindgen::generate!({
        world: "engine-provider",
        path: "../../wit/engine@0.2.0",
        pub_export_macro: true,
        export_macro_name: "export_engine_raw",
        default_bindings_module: "sdk_engine::bindings",
        additional_derives: [PartialEq, Clone],
        with: {
            "quartermaster:base/common@0.1.0": sdk::common,
            "quartermaster:base/log@0.1.0": sdk::log,
            "quartermaster:base/clock@0.1.0": sdk::clock,
            "quartermaster:base/transport@0.1.0": sdk::transport,
            "quartermaster:base/http@0.1.0": sdk::http,
            "quartermaster:engine/records@0.2.0": generate,
        },
    });
}

mod model;

pub use bindings::exports::quartermaster::engine::engine::{
    AddRequest, Attention, Category, Command, Delta, File, Guest as Engine, GuestSession as EngineSession,
    Health, Outcome, Peer, RateLimits, RateMode, Session, SessionStats, Torrent, Tracker, Transfer,
};
pub use bindings::quartermaster::engine::records::{
    AddOptions, ContentLayout, FilePriorityArgs, GlobalStats, QueueMove, RatioLimit, RenameFileArgs,
    RenameFolderArgs, ReplaceTrackerArgs, ShareAction, ShareLimits, Source, StopWhen, TimeLimit,
    TorrentState, TrackerStanding, TrackerStatus,
};
pub use sdk::*;

/// Exports a type that implements [`Engine`] as the component's `engine` interface.
///
/// ```ignore
/// struct Plugin;
/// impl sdk_engine::Engine for Plugin { type Session = MySession; fn describe() -> sdk_engine::Descriptor { .. } }
/// sdk_engine::export_engine!(Plugin);
/// ```
#[macro_export]
macro_rules! export_engine {
    ($plugin:ident) => {
        $crate::bindings::export_engine_raw!($plugin with_types_in $crate::bindings);
    };
}
