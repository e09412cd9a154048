//! SDK for plugins of every role: the shared half of the contract and the helpers over it.
//!
//! Owns: the bindings of `wit/base@0.1.0`, generated once; the panic hook; errors, HTTP and configuration in convenient
//! shapes. The crate of a role (`sdk-engine`, `sdk-channel`, `sdk-actions`) re-exports all of it and adds its own half.
//! Never: knows a product. Wire formats belong in a crate of their own without bindings, so that they are tested natively.
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
        world: "everything",
        path: "../../wit/base@0.1.0",
        generate_all,
        generate_unused_types: true, // roles use what this world only names
        additional_derives: [PartialEq, Clone],
    });
}

mod config;
mod error;
mod net;

pub use bindings::quartermaster::base::common::{Descriptor, PluginError};
pub use bindings::quartermaster::base::{clock, common, http, http_guarded, kv, log, mail, transport};
pub use config::Config;
pub use error::plugin_error;
pub use net::{HttpRequest, connect_tcp, connect_unix, header, read_until};

/// Sends the text of a panic to the service's log; without it nobody ever reads it. Call it first in every exported
/// function that may be the first call of an instance.
pub fn install_panic_hook() {
    std::panic::set_hook(Box::new(|info| log::log(log::Level::Error, &info.to_string())));
}
