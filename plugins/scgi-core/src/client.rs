//! A configured rTorrent, and the two ways to ask it: one call, or several at once.

use crate::error::{Error, Fault, Subject};
use crate::wire::{Clock, Endpoint, Exchange, NetError, Transport};
use crate::xml::{self, Param, Response, Value};

/// An answer that is not a list is gathered whole; a larger one would not fit a guest once it is a tree.
const MAX_GATHERED_BYTES: usize = 24 << 20;
/// Calls in one `system.multicall`: its request stays below the 512 KiB that rTorrent takes by default.
pub(crate) const MAX_CALLS: usize = 400;

/// One rTorrent. Connects anew for every question, as SCGI wants it; holds nothing between them.
pub struct Client<T, C> {
    pub(crate) transport: T,
    pub(crate) clock: C,
    pub(crate) endpoint: Endpoint,
    pub(crate) idle_ms: u32,
}

/// A call in the making.
pub(crate) type Call<'a> = (&'a str, Vec<Param<'a>>);

impl<T: Transport, C: Clock> Client<T, C> {
    /// `idle_ms` bounds every silence of the other side.
    pub fn new(endpoint: Endpoint, idle_ms: u32, transport: T, clock: C) -> Self {
        Self {
            transport,
            clock,
            endpoint,
            idle_ms,
        }
    }

    /// The version, by the cheapest call there is.
    pub fn health(&self) -> Result<String, Error> {
        Ok(self.call("system.client_version", &[])??.text())
    }

    /// Asks one thing. The outer error is the connection's, the inner one is rTorrent's.
    pub(crate) fn call(&self, method: &str, params: &[Param<'_>]) -> Result<Response, Error> {
        self.ask(xml::call(method, params))
    }

    /// Asks several things; an answer each, in order.
    pub(crate) fn multicall(&self, calls: &[Call<'_>]) -> Result<Vec<Response>, Error> {
        let mut answers = Vec::with_capacity(calls.len());
        for calls in calls.chunks(MAX_CALLS) {
            let request = xml::multicall(calls.iter().map(|(method, params)| (*method, params.as_slice())));
            let reply = self.ask(request)??;
            let parts = match reply {
                Value::Array(parts) if parts.len() == calls.len() => parts,
                _ => {
                    return Err(Error::Protocol(
                        "other answers than there were questions".to_owned(),
                    ));
                }
            };
            answers.extend(parts.into_iter().map(answer));
        }
        Ok(answers)
    }

    pub(crate) fn exchange(&self, request: Vec<u8>) -> Result<Exchange<T::Reply>, Error> {
        Exchange::start(&self.transport, &self.endpoint, self.idle_ms, request)
    }

    fn ask(&self, request: Vec<u8>) -> Result<Response, Error> {
        let mut exchange = self.exchange(request)?;
        let mut body = Vec::new();
        while let Some(piece) = exchange.piece()? {
            if body.len() + piece.len() > MAX_GATHERED_BYTES {
                return Err(NetError::TooLarge.met_at(&self.endpoint));
            }
            body.extend_from_slice(&piece);
        }
        xml::parse_response(&body)
    }
}

/// One part of a `system.multicall`: an array of the one value, or a struct that is a fault.
fn answer(part: Value) -> Response {
    if let Some(fault) = part.as_fault() {
        return Err(fault);
    }
    match part {
        Value::Array(mut values) if values.len() == 1 => Ok(values.remove(0)),
        _ => Err(Fault {
            code: 0,
            text: "an answer without a value".to_owned(),
        }),
    }
}

/// The bytes of an info-hash of 40 hex digits in any case.
pub(crate) fn hash_bytes(hex: &str) -> Option<[u8; 20]> {
    let digits = hex.as_bytes();
    if digits.len() != 40 {
        return None;
    }
    let mut bytes = [0; 20];
    let mut seen = 0;
    let (pairs, _) = digits.as_chunks::<2>();
    for (byte, &[high, low]) in bytes.iter_mut().zip(pairs) {
        let (high, low) = (NIBBLES[usize::from(high)], NIBBLES[usize::from(low)]);
        seen |= high | low;
        *byte = high << 4 | low;
    }
    (seen < 16).then_some(bytes)
}

/// Value of each hex digit, 255 for any other byte: each torrent of a list has forty of them.
const NIBBLES: [u8; 256] = {
    let mut values = [255; 256];
    let mut value = 0;
    while value < 16 {
        let digit = b"0123456789abcdef"[value];
        values[digit as usize] = value as u8;
        values[digit.to_ascii_uppercase() as usize] = value as u8;
        value += 1;
    }
    values
};

/// Hash as rTorrent writes it. Other texts are refused: rTorrent could take some of them for something else.
pub(crate) fn target(hash: &str) -> Result<String, Error> {
    match hash_bytes(hash) {
        Some(_) => Ok(hash.to_ascii_uppercase()),
        None => Err(Error::NotFound(Subject::Torrent)),
    }
}
