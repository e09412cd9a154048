//! Answers, and waiting for them.

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use qm_net::HttpResponse;
use wasmtime::Result;
use wasmtime::component::Resource;
use wasmtime_wasi::p2::{DynPollable, Pollable, subscribe};
use wasmtime_wasi::runtime::poll_noop;

use super::body::IncomingBody;
use super::fields::Fields;
use super::types::{self, ErrorCode, StatusCode};
use crate::memory::{Charge, HANDLE};
use crate::state::{Open, State};

type Answer = Result<Open<HttpResponse>, ErrorCode>;

enum Stage {
    /// Moves whenever the guest polls.
    Sending(BoxFuture<'static, Answer>),
    There(Box<Answer>),
    Taken,
}

/// A request on its way and its answer.
pub struct Pending {
    stage: Stage,
    _charge: Charge,
}

impl Pending {
    pub(super) fn new(sending: BoxFuture<'static, Answer>, charge: Charge) -> Self {
        Self {
            stage: Stage::Sending(sending),
            _charge: charge,
        }
    }
}

#[async_trait]
impl Pollable for Pending {
    async fn ready(&mut self) {
        if let Stage::Sending(sending) = &mut self.stage {
            let answer = sending.await;
            self.stage = Stage::There(Box::new(answer));
        }
    }
}

/// An answer: not there yet, taken already, a failure, or one.
type Got = Option<Result<Result<Resource<IncomingResponse>, ErrorCode>, ()>>;

impl types::HostFutureIncomingResponse for State {
    fn subscribe(&mut self, this: Resource<Pending>) -> Result<Resource<DynPollable>> {
        subscribe(&mut self.table, this)
    }

    fn get(&mut self, this: Resource<Pending>) -> Result<Got> {
        let pending = self.table.get_mut(&this)?;
        // For guests that ask again and again instead of waiting.
        let _ = poll_noop(std::pin::pin!(pending.ready()));
        let answer = match std::mem::replace(&mut pending.stage, Stage::Taken) {
            sending @ Stage::Sending(_) => {
                pending.stage = sending;
                return Ok(None);
            }
            Stage::Taken => return Ok(Some(Err(()))),
            Stage::There(answer) => *answer,
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return Ok(Some(Ok(Err(error)))),
        };
        let response = IncomingResponse {
            status: answer.inner.status(),
            headers: Fields::read(answer.inner.headers(), &self.account)?,
            answer: Some(answer),
            _charge: self.account.charge(HANDLE)?,
        };
        Ok(Some(Ok(Ok(self.table.push(response)?))))
    }

    fn drop(&mut self, this: Resource<Pending>) -> Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

/// An answer whose head has come.
pub struct IncomingResponse {
    status: u16,
    headers: Fields,
    /// Until its body is asked for.
    answer: Option<Open<HttpResponse>>,
    _charge: Charge,
}

impl types::HostIncomingResponse for State {
    fn status(&mut self, this: Resource<IncomingResponse>) -> Result<StatusCode> {
        Ok(self.table.get(&this)?.status)
    }

    fn headers(&mut self, this: Resource<IncomingResponse>) -> Result<Resource<Fields>> {
        let copy = self.table.get(&this)?.headers.copy(true)?;
        Ok(self.table.push(copy)?)
    }

    fn consume(&mut self, this: Resource<IncomingResponse>) -> Result<Result<Resource<IncomingBody>, ()>> {
        let Some(answer) = self.table.get_mut(&this)?.answer.take() else {
            return Ok(Err(()));
        };
        let body = IncomingBody {
            answer: Some(answer),
            charge: self.account.charge(HANDLE)?,
        };
        Ok(Ok(self.table.push(body)?))
    }

    fn drop(&mut self, this: Resource<IncomingResponse>) -> Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}
