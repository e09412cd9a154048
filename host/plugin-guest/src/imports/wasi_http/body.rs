//! Bodies, and the streams they are written and read through.

use std::sync::{Arc, Mutex, MutexGuard, Weak};

use async_trait::async_trait;
use bytes::Bytes;
use qm_lanes::IgnorePoison;
use qm_net::HttpResponse;
use tokio::sync::oneshot;
use wasmtime::component::Resource;
use wasmtime::{Error, Result};
use wasmtime_wasi::p2::{
    DynInputStream, DynOutputStream, DynPollable, InputStream, OutputStream, Pollable, StreamError,
    StreamResult, subscribe,
};
use wasmtime_wasi::runtime::poll_noop;

use super::code_of;
use super::fields::Fields;
use super::types::{self, ErrorCode};
use crate::memory::{Account, Charge, HANDLE, OutOfMemory};
use crate::state::{Open, State};

/// The most of one write.
const WRITE: usize = 64 << 10;
/// Bytes of one piece of an answer's body.
const PIECE: usize = 64 << 10;

/// The part of a body that the guest has written so far.
struct Written {
    bytes: Vec<u8>,
    charge: Charge,
}

/// The written part, shared between the request, the body and its stream.
type Buffer = Arc<Mutex<Written>>;

fn written(buffer: &Buffer) -> MutexGuard<'_, Written> {
    buffer.lock().ignore_poison()
}

/// The guest's end of a request's body.
pub struct OutgoingBody {
    buffer: Buffer,
    /// Length that the headers announce.
    length: Option<u64>,
    max: usize,
    reader: Weak<()>,
    has_stream: bool,
    finished: oneshot::Sender<()>,
    _charge: Charge,
}

/// The request's end of it.
pub(super) struct Gathering {
    buffer: Buffer,
    finished: oneshot::Receiver<()>,
    /// While it lives, somebody may still read what is written.
    _reader: Arc<()>,
}

impl OutgoingBody {
    pub(super) fn new(
        account: &Arc<Account>,
        length: Option<u64>,
        max: usize,
    ) -> Result<(Self, Gathering), OutOfMemory> {
        let buffer = Arc::new(Mutex::new(Written {
            bytes: Vec::new(),
            charge: account.charge(HANDLE)?,
        }));
        let (give, finished) = oneshot::channel();
        let reader = Arc::new(());
        let body = Self {
            buffer: buffer.clone(),
            length,
            max,
            reader: Arc::downgrade(&reader),
            has_stream: false,
            finished: give,
            _charge: account.charge(HANDLE)?,
        };
        let gathering = Gathering {
            buffer,
            finished,
            _reader: reader,
        };
        Ok((body, gathering))
    }
}

impl Gathering {
    /// The whole body once the guest has finished it, with what it is charged as.
    pub(super) async fn whole(self) -> Result<(Bytes, Charge), ErrorCode> {
        let broke_off = |_| ErrorCode::InternalError(Some("the request's body broke off".to_owned()));
        self.finished.await.map_err(broke_off)?;
        let mut written = written(&self.buffer);
        let bytes = std::mem::take(&mut written.bytes);
        let empty = written.charge.account().charge(0);
        let empty = empty.map_err(|OutOfMemory| ErrorCode::InternalError(None))?;
        Ok((bytes.into(), std::mem::replace(&mut written.charge, empty)))
    }
}

impl types::HostOutgoingBody for State {
    fn write(&mut self, this: Resource<OutgoingBody>) -> Result<Result<Resource<DynOutputStream>, ()>> {
        let body = self.table.get_mut(&this)?;
        if std::mem::replace(&mut body.has_stream, true) {
            return Ok(Err(()));
        }
        let writer: DynOutputStream = Box::new(Writer {
            buffer: body.buffer.clone(),
            max: body.max,
            reader: body.reader.clone(),
        });
        Ok(Ok(self.table.push_child(writer, &this)?))
    }

    fn finish(
        &mut self,
        this: Resource<OutgoingBody>,
        trailers: Option<Resource<Fields>>,
    ) -> Result<Result<(), ErrorCode>> {
        let body = self.table.delete(this)?;
        if let Some(trailers) = trailers {
            // The client sends none; a product that needs them is not known.
            self.table.delete(trailers)?;
        }
        let size = written(&body.buffer).bytes.len() as u64;
        if body.length.is_some_and(|length| length != size) {
            return Ok(Err(ErrorCode::HttpRequestBodySize(Some(size))));
        }
        // A request that was dropped has no use for it.
        let _ = body.finished.send(());
        Ok(Ok(()))
    }

    fn drop(&mut self, this: Resource<OutgoingBody>) -> Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

/// The stream a body is written through.
struct Writer {
    buffer: Buffer,
    max: usize,
    reader: Weak<()>,
}

impl Writer {
    /// Refuses once the request is gone: nobody will read what is written.
    fn is_open(&self) -> StreamResult<()> {
        if self.reader.strong_count() == 0 {
            return Err(StreamError::Closed);
        }
        Ok(())
    }
}

impl OutputStream for Writer {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.is_open()?;
        if bytes.len() > WRITE {
            return Err(StreamError::trap(
                "more was written than the stream takes at once",
            ));
        }
        let mut written = written(&self.buffer);
        let size = written.bytes.len() + bytes.len();
        if size > self.max {
            let error = ErrorCode::HttpRequestBodySize(Some(size as u64));
            return Err(StreamError::LastOperationFailed(Error::new(error)));
        }
        written
            .charge
            .grow(bytes.len())
            .map_err(|error| StreamError::Trap(error.into()))?;
        written.bytes.extend_from_slice(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.is_open()
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        self.is_open()?;
        Ok(WRITE)
    }
}

#[async_trait]
impl Pollable for Writer {
    async fn ready(&mut self) {}
}

/// The body of an answer, until somebody reads it.
pub struct IncomingBody {
    pub(super) answer: Option<Open<HttpResponse>>,
    pub(super) charge: Charge,
}

impl types::HostIncomingBody for State {
    fn stream(&mut self, this: Resource<IncomingBody>) -> Result<Result<Resource<DynInputStream>, ()>> {
        let Some(answer) = self.table.get_mut(&this)?.answer.take() else {
            return Ok(Err(()));
        };
        let reader: DynInputStream = Box::new(Reader {
            answer: Some(answer),
            piece: Bytes::new(),
            failed: None,
        });
        Ok(Ok(self.table.push_child(reader, &this)?))
    }

    fn finish(&mut self, this: Resource<IncomingBody>) -> Result<Resource<NoTrailers>> {
        let body = self.table.delete(this)?;
        let trailers = NoTrailers {
            taken: false,
            _charge: body.charge,
        };
        Ok(self.table.push(trailers)?)
    }

    fn drop(&mut self, this: Resource<IncomingBody>) -> Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

/// The stream an answer's body is read through.
struct Reader {
    /// None at the end: the connection is free then, whenever the guest lets go of the stream.
    answer: Option<Open<HttpResponse>>,
    piece: Bytes,
    failed: Option<ErrorCode>,
}

impl Reader {
    /// Waits for the next piece, the end or a failure, unless one of them is there.
    async fn fill(&mut self) {
        if !self.piece.is_empty() || self.failed.is_some() {
            return;
        }
        let Some(answer) = &mut self.answer else { return };
        match answer.inner.read(PIECE).await {
            Ok(piece) if !piece.is_empty() => self.piece = piece,
            Ok(_) => self.answer = None,
            Err(error) => {
                self.failed = Some(code_of(error));
                self.answer = None;
            }
        }
    }
}

#[async_trait]
impl Pollable for Reader {
    async fn ready(&mut self) {
        self.fill().await;
    }
}

#[async_trait]
impl InputStream for Reader {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        // None: nothing has come yet, and an empty answer says so.
        let _ = poll_noop(std::pin::pin!(self.fill()));
        if let Some(error) = self.failed.take() {
            return Err(StreamError::LastOperationFailed(Error::new(error)));
        }
        if self.piece.is_empty() && self.answer.is_none() {
            return Err(StreamError::Closed);
        }
        let n = self.piece.len().min(size);
        Ok(self.piece.split_to(n))
    }
}

/// The trailers of an answer. The client reads none.
pub struct NoTrailers {
    taken: bool,
    _charge: Charge,
}

#[async_trait]
impl Pollable for NoTrailers {
    async fn ready(&mut self) {}
}

/// The answer about trailers: twice a failure, of the transfer and of asking again.
type Trailers = Option<Result<Result<Option<Resource<Fields>>, ErrorCode>, ()>>;

impl types::HostFutureTrailers for State {
    fn subscribe(&mut self, this: Resource<NoTrailers>) -> Result<Resource<DynPollable>> {
        subscribe(&mut self.table, this)
    }

    fn get(&mut self, this: Resource<NoTrailers>) -> Result<Trailers> {
        let trailers = self.table.get_mut(&this)?;
        let asked_again = std::mem::replace(&mut trailers.taken, true);
        Ok(Some(if asked_again { Err(()) } else { Ok(Ok(None)) }))
    }

    fn drop(&mut self, this: Resource<NoTrailers>) -> Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}
