//! `http`: requests by the host's own client. Granted: the origins that the operator's configuration of the instance
//! names, and for roles with hosts of their own those an administrator granted.

use qm_net::{HttpRequest, HttpResponse};
use wasmtime::Result;
use wasmtime::component::Resource;

use super::transport::{idle_within, size};
use super::wit::http;
use super::wit::transport::NetError;
use crate::memory::Charge;
use crate::state::{HEADER, Open, State};

/// The host's side of `http.response`.
pub type Response = Open<HttpResponse>;

/// Bytes of one piece of a body.
const PIECE: u32 = 256 << 10;

/// The request as the network takes it, charged.
pub(super) fn taken(state: &State, request: http::Request) -> Result<(HttpRequest, Charge)> {
    let sizes = request
        .headers
        .iter()
        .map(|header| header.name.len() + header.value.len() + HEADER);
    let bytes = sizes.sum::<usize>() + request.url.len() + request.body.len();
    let held = state.account.charge(bytes)?;
    let headers = request
        .headers
        .into_iter()
        .map(|header| (header.name, header.value));
    let request = HttpRequest {
        method: request.method,
        url: request.url,
        headers: headers.collect(),
        body: request.body.into(),
        idle: idle_within(request.idle_ms, state.errands.rights.patience),
        max_body: size(request.max_body),
    };
    Ok((request, held))
}

impl http::Host for State {
    async fn send(&mut self, request: http::Request) -> Result<Result<Resource<Response>, NetError>> {
        // For as long as it is being sent.
        let (request, _held) = taken(self, request)?;
        let network = self.network.clone();
        Ok(match network.send(request).await {
            Ok(response) => Ok(self.table.push(response)?),
            Err(error) => Err(error.into()),
        })
    }
}

impl http::HostResponse for State {
    async fn status(&mut self, this: Resource<Response>) -> Result<u16> {
        Ok(self.table.get(&this)?.inner.status())
    }

    async fn headers(&mut self, this: Resource<Response>) -> Result<Vec<http::Header>> {
        let headers = self.table.get(&this)?.inner.headers();
        let header = |(name, value): (&::http::HeaderName, &::http::HeaderValue)| http::Header {
            name: name.to_string(),
            value: value.as_bytes().to_vec(),
        };
        Ok(headers.iter().map(header).collect())
    }

    async fn read(&mut self, this: Resource<Response>, max: u32) -> Result<Result<Vec<u8>, NetError>> {
        let response = self.table.get_mut(&this)?;
        let piece = response.inner.read(max.min(PIECE) as usize).await;
        let piece = piece.map(|bytes| bytes.to_vec()).map_err(NetError::from);
        let size = piece.as_ref().map_or(0, Vec::len);
        if size == 0 {
            response.is_over();
        }
        let held = self.account.charge(size)?;
        self.hand_over(held);
        Ok(piece)
    }

    async fn read_to_end(&mut self, this: Resource<Response>) -> Result<Result<Vec<u8>, NetError>> {
        let mut held = self.account.charge(0)?;
        let response = self.table.get_mut(&this)?;
        let room = |more: usize| held.grow(more).is_ok();
        let body = response.inner.read_to_end_in(room).await;
        response.is_over();
        self.hand_over(held);
        Ok(body.map_err(NetError::from))
    }

    async fn drop(&mut self, this: Resource<Response>) -> Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}
