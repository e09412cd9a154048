//! Interfaces that the host offers to plugins: one file an interface, with what grants its use; of `wit/base@0.1.0` with its
//! binding, of a role (`torrents`, `media`) as what the adapters of all its versions call. Each is a few lines over [`State`];
//! what may be dialled is decided in `qm-net`. Only `log` is elsewhere, in `qm-plugin-host`: its binding is no safe code.

mod clock;
mod http;
mod http_guarded;
mod kv;
mod mail;
pub mod media;
pub mod torrents;
mod transport;
mod wasi_http;

use wasmtime::component::{HasSelf, Linker};

use crate::state::State;

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

/// Interfaces that every plugin may import, as `package/interface@major.minor`: what is not here is refused before it is compiled.
pub const OFFERED: &[&str] = &[
    "quartermaster:base/common@0.1",
    "quartermaster:base/log@0.1",
    "quartermaster:base/clock@0.1",
    "quartermaster:base/transport@0.1",
    "quartermaster:base/http@0.1",
    "quartermaster:base/http-guarded@0.1",
    "quartermaster:base/kv@0.1",
    "quartermaster:base/mail@0.1",
    // WASI 0.2 as `wasmtime_wasi::p2` and our own `wasi_http` link it.
    "wasi:cli/environment@0.2",
    "wasi:cli/exit@0.2",
    "wasi:cli/stderr@0.2",
    "wasi:cli/stdin@0.2",
    "wasi:cli/stdout@0.2",
    "wasi:cli/terminal-input@0.2",
    "wasi:cli/terminal-output@0.2",
    "wasi:cli/terminal-stderr@0.2",
    "wasi:cli/terminal-stdin@0.2",
    "wasi:cli/terminal-stdout@0.2",
    "wasi:clocks/monotonic-clock@0.2",
    "wasi:clocks/wall-clock@0.2",
    "wasi:filesystem/preopens@0.2",
    "wasi:filesystem/types@0.2",
    "wasi:http/outgoing-handler@0.2",
    "wasi:http/types@0.2",
    "wasi:io/error@0.2",
    "wasi:io/poll@0.2",
    "wasi:io/streams@0.2",
    "wasi:random/insecure@0.2",
    "wasi:random/insecure-seed@0.2",
    "wasi:random/random@0.2",
    "wasi:sockets/instance-network@0.2",
    "wasi:sockets/ip-name-lookup@0.2",
    "wasi:sockets/network@0.2",
    "wasi:sockets/tcp@0.2",
    "wasi:sockets/tcp-create-socket@0.2",
    "wasi:sockets/udp@0.2",
    "wasi:sockets/udp-create-socket@0.2",
];

/// Offers the shared interfaces except `log`, once for all roles: interfaces are added, not worlds, because worlds share them.
pub fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    wasi_http::add_to_linker(linker)?;
    wit::common::add_to_linker::<_, HasSelf<State>>(linker, |state| state)?;
    wit::clock::add_to_linker::<_, HasSelf<State>>(linker, |state| state)?;
    wit::transport::add_to_linker::<_, HasSelf<State>>(linker, |state| state)?;
    wit::http::add_to_linker::<_, HasSelf<State>>(linker, |state| state)?;
    wit::http_guarded::add_to_linker::<_, HasSelf<State>>(linker, |state| state)?;
    wit::kv::add_to_linker::<_, HasSelf<State>>(linker, |state| state)?;
    wit::mail::add_to_linker::<_, HasSelf<State>>(linker, |state| state)
}

impl wit::common::Host for State {}
