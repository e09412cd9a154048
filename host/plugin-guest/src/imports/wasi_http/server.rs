//! The part of `wasi:http` that answers requests. It links, because the interface is one; nothing of it can be had here.

use wasmtime::component::Resource;
use wasmtime::{Result, bail};

use super::body::{IncomingBody, OutgoingBody};
use super::fields::Fields;
use super::types::{
    self, ErrorCode, IncomingRequest, Method, OutgoingResponse, ResponseOutparam, Scheme, StatusCode,
};
use crate::state::State;

fn nobody_asks<T>() -> Result<T> {
    bail!("a plugin answers no requests here")
}

impl types::HostIncomingRequest for State {
    fn method(&mut self, _: Resource<IncomingRequest>) -> Result<Method> {
        nobody_asks()
    }

    fn path_with_query(&mut self, _: Resource<IncomingRequest>) -> Result<Option<String>> {
        nobody_asks()
    }

    fn scheme(&mut self, _: Resource<IncomingRequest>) -> Result<Option<Scheme>> {
        nobody_asks()
    }

    fn authority(&mut self, _: Resource<IncomingRequest>) -> Result<Option<String>> {
        nobody_asks()
    }

    fn headers(&mut self, _: Resource<IncomingRequest>) -> Result<Resource<Fields>> {
        nobody_asks()
    }

    fn consume(&mut self, _: Resource<IncomingRequest>) -> Result<Result<Resource<IncomingBody>, ()>> {
        nobody_asks()
    }

    fn drop(&mut self, _: Resource<IncomingRequest>) -> Result<()> {
        nobody_asks()
    }
}

impl types::HostOutgoingResponse for State {
    fn new(&mut self, _: Resource<Fields>) -> Result<Resource<OutgoingResponse>> {
        nobody_asks()
    }

    fn status_code(&mut self, _: Resource<OutgoingResponse>) -> Result<StatusCode> {
        nobody_asks()
    }

    fn set_status_code(&mut self, _: Resource<OutgoingResponse>, _: StatusCode) -> Result<Result<(), ()>> {
        nobody_asks()
    }

    fn headers(&mut self, _: Resource<OutgoingResponse>) -> Result<Resource<Fields>> {
        nobody_asks()
    }

    fn body(&mut self, _: Resource<OutgoingResponse>) -> Result<Result<Resource<OutgoingBody>, ()>> {
        nobody_asks()
    }

    fn drop(&mut self, _: Resource<OutgoingResponse>) -> Result<()> {
        nobody_asks()
    }
}

impl types::HostResponseOutparam for State {
    fn send_informational(
        &mut self,
        _: Resource<ResponseOutparam>,
        _: u16,
        _: Resource<Fields>,
    ) -> Result<Result<(), ErrorCode>> {
        nobody_asks()
    }

    fn set(
        &mut self,
        _: Resource<ResponseOutparam>,
        _: std::result::Result<Resource<OutgoingResponse>, ErrorCode>,
    ) -> Result<()> {
        nobody_asks()
    }

    fn drop(&mut self, _: Resource<ResponseOutparam>) -> Result<()> {
        nobody_asks()
    }
}
