//! A network that says what the test wrote down, in the pieces the test chose, and a clock that only the test moves.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use scgi_core::{Clock, Endpoint, NetError, Reply, Transport};

/// Answers in order; what was asked is kept.
#[derive(Clone, Default)]
pub struct Script(Rc<Inner>);

#[derive(Default)]
struct Inner {
    answers: RefCell<VecDeque<Vec<Vec<u8>>>>,
    requests: RefCell<Vec<Vec<u8>>>,
}

impl Script {
    /// The next answer, in these pieces.
    pub fn answer(&self, pieces: Vec<Vec<u8>>) {
        self.0.answers.borrow_mut().push_back(pieces);
    }

    /// Requests that were sent, framed.
    pub fn requests(&self) -> Vec<Vec<u8>> {
        self.0.requests.borrow().clone()
    }

    fn next(&self, request: &[u8]) -> Result<Pieces, NetError> {
        self.0.requests.borrow_mut().push(request.to_vec());
        self.0
            .answers
            .borrow_mut()
            .pop_front()
            .map(|pieces| Pieces(pieces.into()))
            .ok_or(NetError::Refused)
    }
}

pub struct Pieces(VecDeque<Vec<u8>>);

impl Reply for Pieces {
    fn read(&mut self) -> Result<Vec<u8>, NetError> {
        Ok(self.0.pop_front().unwrap_or_default())
    }
}

impl Transport for Script {
    type Reply = Pieces;

    fn dial(&self, _: &Endpoint, _: u32, request: &[u8]) -> Result<Pieces, NetError> {
        self.next(request)
    }

    fn post(&self, _: &str, _: u32, body: Vec<u8>) -> Result<(u16, Pieces), NetError> {
        self.next(&body).map(|pieces| (200, pieces))
    }
}

/// Time that passes by waiting, or because the test says so.
#[derive(Clone, Default)]
pub struct Frozen(pub Rc<Cell<u64>>);

impl Clock for Frozen {
    fn monotonic_ms(&self) -> u64 {
        self.0.get()
    }

    fn sleep_ms(&self, ms: u32) {
        self.0.set(self.0.get() + u64::from(ms));
    }
}

pub fn endpoint() -> Endpoint {
    Endpoint::Tcp {
        host: "rtorrent".to_owned(),
        port: 5000,
    }
}

/// `bytes` cut at `cuts`, which may be any numbers.
pub fn pieces(bytes: &[u8], cuts: &[usize]) -> Vec<Vec<u8>> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.sort_unstable();
    let mut from = 0;
    let mut pieces = Vec::new();
    for cut in cuts.into_iter().chain([bytes.len()]) {
        if cut > from {
            pieces.push(bytes[from..cut].to_vec());
            from = cut;
        }
    }
    pieces
}
