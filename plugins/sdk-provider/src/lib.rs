//! SDK for plugins of metadata providers.
//!
//! Owns: the bindings of `wit/metadata@0.1.0`, generated once, and the export macro; the rest comes from `sdk` and is exported
//! again. A plugin is one crate of type `cdylib`: a struct that implements [`Provider`], and [`export_provider!`].

#[allow(
    unsafe_code,
    clippy::pedantic,
    clippy::all,
    reason = "generated; the canonical ABI is raw memory"
)]
pub mod bindings {
    wit_bindgen::generate!({
        world: "metadata-provider",
        path: "../../wit/metadata@0.1.0",
        pub_export_macro: true,
        export_macro_name: "export_provider_raw",
        default_bindings_module: "sdk_provider::bindings",
        additional_derives: [PartialEq, Clone],
        with: {
            "quartermaster:base/common@0.1.0": sdk::common,
            "quartermaster:base/log@0.1.0": sdk::log,
            "quartermaster:base/clock@0.1.0": sdk::clock,
            "quartermaster:base/transport@0.1.0": sdk::transport,
            "quartermaster:base/http@0.1.0": sdk::http,
            "quartermaster:base/kv@0.1.0": sdk::kv,
            "quartermaster:metadata/titles@0.1.0": generate,
        },
    });
}

pub use bindings::exports::quartermaster::metadata::provider::Guest as Provider;
pub use bindings::quartermaster::metadata::titles::{
    Abilities, ApiError, Credit, Description, Episode, ExternalId, Found, Hit, Image, ImageKind, Kind,
    Picture, ProviderError, Query, Season, Standing, StatusError, Subject, Throttle, TitleDetails,
};
pub use sdk::*;

/// Exports a type that implements [`Provider`] as the component's `provider` interface.
///
/// ```ignore
/// struct Plugin;
/// impl sdk_provider::Provider for Plugin { .. }
/// sdk_provider::export_provider!(Plugin);
/// ```
#[macro_export]
macro_rules! export_provider {
    ($plugin:ident) => {
        $crate::bindings::export_provider_raw!($plugin with_types_in $crate::bindings);
    };
}
