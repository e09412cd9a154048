//! What the host offers to plugins: one file an interface of `wit/base@0.1.0`, with what grants its use. Each is a few
//! lines over [`State`](crate::core::state::State); what may be dialled is decided in `qm-net`.

mod clock;
mod http;
mod log;
mod transport;
mod wasi_http;

use wasmtime::component::{HasSelf, Linker};

use crate::core::state::State;

/// The host's side of `http.response`.
pub use http::Response;
/// The host's side of `transport.connection`; `pub` because the bindings export it again, out of the crate it does not get.
pub use transport::Connection;

/// Bindings of the package `quartermaster:base`, which every role's world builds on; `pub` like the resources below.
pub mod base {
    wasmtime::component::bindgen!({
        path: "../../wit/base@0.1.0",
        world: "everything",
        imports: {
            // Never wait: a plain call is cheaper than a future.
            "quartermaster:base/clock.now-ms": trappable,
            "quartermaster:base/clock.monotonic-ms": trappable,
            default: async | trappable,
        },
        with: {
            "quartermaster:base/transport.connection": crate::imports::Connection,
            "quartermaster:base/http.response": crate::imports::Response,
        },
    });
}

pub use base::quartermaster::base as wit;

/// Offers the shared interfaces, once for all roles: interfaces are added, not worlds, because worlds share them.
pub(crate) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    wasi_http::add_to_linker(linker)?;
    log::add_to_linker(linker)?;
    wit::common::add_to_linker::<_, HasSelf<State>>(linker, |state| state)?;
    wit::clock::add_to_linker::<_, HasSelf<State>>(linker, |state| state)?;
    wit::transport::add_to_linker::<_, HasSelf<State>>(linker, |state| state)?;
    wit::http::add_to_linker::<_, HasSelf<State>>(linker, |state| state)
}

impl wit::common::Host for State {}
