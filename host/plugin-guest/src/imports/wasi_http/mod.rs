//! `wasi:http` for components that were not written for us: the same grants, client and limits as our own `http`.
//!
//! Our own implementation, over buffers: every resource carries the [`Charge`](crate::memory::Charge) of what it
//! holds, and nothing runs outside the call (a request moves while the guest polls for its answer, on the guest's meter).
//! A request's body is gathered whole before it is sent; a URL that is not granted is refused before a body is waited for.
//!
//! Bounds: 256 headers and 64 KiB in one set of them; 64 KiB a write; a method of 64 bytes, an authority of 1 KiB, a path of
//! 16 KiB; the host's own bound on bodies, in both directions.

mod body;
mod fields;
mod request;
mod response;
mod server;

use qm_net::DialError;
use wasmtime::Result;
use wasmtime::component::{HasSelf, Linker, Resource};

use crate::state::State;

/// Bindings of WASI's own text; the streams and the polling are the library's.
mod bindings {
    wasmtime::component::bindgen!({
        inline: "
            package quartermaster:foreign;
            world wasi-http {
                import wasi:http/types@0.2.12;
                import wasi:http/outgoing-handler@0.2.12;
            }
        ",
        path: [
            "../../wit/deps/io.wit",
            "../../wit/deps/clocks.wit",
            "../../wit/deps/random.wit",
            "../../wit/deps/filesystem.wit",
            "../../wit/deps/sockets.wit",
            "../../wit/deps/cli.wit",
            "../../wit/deps/http.wit",
        ],
        world: "quartermaster:foreign/wasi-http",
        imports: { default: trappable },
        require_store_data_send: true,
        with: {
            "wasi:io": wasmtime_wasi::p2::bindings::io,
            "wasi:clocks": wasmtime_wasi::p2::bindings::clocks,
            "wasi:http/types.fields": super::fields::Fields,
            "wasi:http/types.outgoing-request": super::request::OutgoingRequest,
            "wasi:http/types.request-options": super::request::Options,
            "wasi:http/types.outgoing-body": super::body::OutgoingBody,
            "wasi:http/types.future-incoming-response": super::response::Pending,
            "wasi:http/types.incoming-response": super::response::IncomingResponse,
            "wasi:http/types.incoming-body": super::body::IncomingBody,
            "wasi:http/types.future-trailers": super::body::NoTrailers,
        },
    });
}

use bindings::wasi::http::{outgoing_handler, types};
use types::ErrorCode;

/// Offers the part of a client.
pub fn add_to_linker(linker: &mut Linker<State>) -> Result<()> {
    let options = bindings::LinkOptions::default();
    types::add_to_linker::<_, HasSelf<State>>(linker, &(&options).into(), |state| state)?;
    outgoing_handler::add_to_linker::<_, HasSelf<State>>(linker, |state| state)
}

impl types::Host for State {
    fn http_error_code(&mut self, error: Resource<types::IoError>) -> Result<Option<ErrorCode>> {
        let error = self.table.get(&error)?;
        Ok(error.downcast_ref::<ErrorCode>().cloned())
    }
}

fn code_of(error: DialError) -> ErrorCode {
    match error {
        DialError::Denied(_) => ErrorCode::HttpRequestDenied,
        DialError::Timeout => ErrorCode::HttpResponseTimeout,
        DialError::Refused => ErrorCode::ConnectionRefused,
        DialError::Closed => ErrorCode::ConnectionTerminated,
        DialError::TooLarge => ErrorCode::HttpResponseBodySize(None),
        DialError::Other(text) => ErrorCode::InternalError(Some(text)),
    }
}
