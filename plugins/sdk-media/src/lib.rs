//! SDK for plugins of media servers.
//!
//! Owns: the bindings of `wit/media-server@0.1.0`, generated once, and the export macro; the rest comes from `sdk` and is exported
//! again. A plugin is one crate of type `cdylib`: a struct that implements [`MediaServer`], and [`export_media_server!`].

#[allow(
    unsafe_code,
    clippy::pedantic,
    clippy::all,
    reason = "generated; the canonical ABI is raw memory"
)]
pub mod bindings {
    wit_bindgen::generate!({
        world: "media-server",
        path: "../../wit/media-server@0.1.0",
        pub_export_macro: true,
        export_macro_name: "export_media_server_raw",
        default_bindings_module: "sdk_media::bindings",
        additional_derives: [PartialEq, Clone],
        with: {
            "quartermaster:base/common@0.1.0": sdk::common,
            "quartermaster:base/log@0.1.0": sdk::log,
            "quartermaster:base/clock@0.1.0": sdk::clock,
            "quartermaster:base/transport@0.1.0": sdk::transport,
            "quartermaster:base/http@0.1.0": sdk::http,
            "quartermaster:media-server/playing@0.1.0": generate,
        },
    });
}

pub use bindings::exports::quartermaster::media_server::server::Guest as MediaServer;
pub use bindings::quartermaster::media_server::playing::{
    Abilities, AboutServer, Description, Extent, ExternalId, ServerError, Session, StatusError,
};
pub use sdk::*;

/// Exports a type that implements [`MediaServer`] as the component's `server` interface.
///
/// ```ignore
/// struct Plugin;
/// impl sdk_media::MediaServer for Plugin { .. }
/// sdk_media::export_media_server!(Plugin);
/// ```
#[macro_export]
macro_rules! export_media_server {
    ($plugin:ident) => {
        $crate::bindings::export_media_server_raw!($plugin with_types_in $crate::bindings);
    };
}
