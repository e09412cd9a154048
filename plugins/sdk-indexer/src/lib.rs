//! SDK for plugins of indexer protocols.
//!
//! Owns: the bindings of `wit/indexer@0.1.0`, generated once, and the export macro; the rest comes from `sdk` and is exported
//! again. A plugin is one crate of type `cdylib`: a struct that implements [`Indexer`], and [`export_indexer!`].

#[allow(
    unsafe_code,
    clippy::pedantic,
    clippy::all,
    reason = "generated; the canonical ABI is raw memory"
)]
pub mod bindings {
    wit_bindgen::generate!({
        world: "indexer-protocol",
        path: "../../wit/indexer@0.1.0",
        pub_export_macro: true,
        export_macro_name: "export_indexer_raw",
        default_bindings_module: "sdk_indexer::bindings",
        additional_derives: [PartialEq, Clone],
        with: {
            "quartermaster:base/common@0.1.0": sdk::common,
            "quartermaster:base/log@0.1.0": sdk::log,
            "quartermaster:base/clock@0.1.0": sdk::clock,
            "quartermaster:base/transport@0.1.0": sdk::transport,
            "quartermaster:base/http@0.1.0": sdk::http,
            "quartermaster:indexer/releases@0.1.0": generate,
        },
    });
}

pub use bindings::exports::quartermaster::indexer::indexer::Guest as Indexer;
pub use bindings::quartermaster::indexer::releases::{
    ApiError, Capabilities, Carrier, Category, Description, Found, Implementation, IndexerError, Limits,
    Payload, Query, Release, Server, StatusError, Throttle,
};
pub use sdk::*;

/// Exports a type that implements [`Indexer`] as the component's `indexer` interface.
///
/// ```ignore
/// struct Plugin;
/// impl sdk_indexer::Indexer for Plugin { .. }
/// sdk_indexer::export_indexer!(Plugin);
/// ```
#[macro_export]
macro_rules! export_indexer {
    ($plugin:ident) => {
        $crate::bindings::export_indexer_raw!($plugin with_types_in $crate::bindings);
    };
}
