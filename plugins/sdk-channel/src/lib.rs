//! SDK for plugins of notification channels.
//!
//! Owns: the bindings of `wit/channel@0.1.0`, generated once, the card of a notification, and the export macro; the rest comes
//! from `sdk` and is exported again. A plugin is one crate of type `cdylib`: a struct that implements [`Channel`], and [`export_channel!`].

#[allow(
    unsafe_code,
    clippy::pedantic,
    clippy::all,
    reason = "generated; the canonical ABI is raw memory"
)]
pub mod bindings {
    wit_bindgen::generate!({
        world: "notification-channel",
        path: "../../wit/channel@0.1.0",
        pub_export_macro: true,
        export_macro_name: "export_channel_raw",
        default_bindings_module: "sdk_channel::bindings",
        additional_derives: [PartialEq, Clone],
        with: {
            "quartermaster:base/common@0.1.0": sdk::common,
            "quartermaster:base/log@0.1.0": sdk::log,
            "quartermaster:base/clock@0.1.0": sdk::clock,
            "quartermaster:base/transport@0.1.0": sdk::transport,
            "quartermaster:base/http@0.1.0": sdk::http,
            "quartermaster:base/mail@0.1.0": sdk::mail,
            "quartermaster:channel/messages@0.1.0": generate,
        },
    });
}

pub mod card;

pub use bindings::exports::quartermaster::channel::channel::Guest as Channel;
pub use bindings::quartermaster::channel::messages::{
    Button, Description, Destination, Message, Picture, Receipt,
};
pub use sdk::*;

/// Exports a type that implements [`Channel`] as the component's `channel` interface.
///
/// ```ignore
/// struct Plugin;
/// impl sdk_channel::Channel for Plugin { .. }
/// sdk_channel::export_channel!(Plugin);
/// ```
#[macro_export]
macro_rules! export_channel {
    ($plugin:ident) => {
        $crate::bindings::export_channel_raw!($plugin with_types_in $crate::bindings);
    };
}
