//! The imports of plugin API 0.1: log, clock, transport, http. Each is a few lines over [`State`]; what is allowed is
//! decided in `qm-net`.

use std::time::Duration;

use qm_net::{DialError, Endpoint, HttpRequest, HttpResponse, Stream};
use wasmtime::Result;
use wasmtime::component::Resource;

use super::wit::{clock, engine_types, http, log, transport, types};
use crate::state::{Open, State};
use transport::NetError;

/// The host's side of `transport.connection`; `pub` because the bindings export it again, out of the crate it does not get.
pub type Connection = Open<Stream>;
/// The host's side of `http.response`.
pub type Response = Open<HttpResponse>;

/// The longest one `sleep-ms` waits.
const SLEEP_MS: u32 = 1000;
/// The longest silence that is waited for; the WIT says so.
const IDLE_MS: u32 = 15_000;
/// One piece of a body.
const PIECE: u32 = 256 << 10;

fn idle(ms: u32) -> Duration {
    Duration::from_millis(ms.clamp(1, IDLE_MS).into())
}

fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

impl From<DialError> for NetError {
    fn from(error: DialError) -> Self {
        match error {
            DialError::Denied(text) => NetError::Denied(text),
            DialError::Timeout => NetError::Timeout,
            DialError::Refused => NetError::Refused,
            DialError::Closed => NetError::Closed,
            DialError::TooLarge => NetError::TooLarge,
            DialError::Other(text) => NetError::Other(text),
        }
    }
}

impl types::Host for State {}
impl engine_types::Host for State {}

impl log::Host for State {
    fn log(&mut self, level: log::Level, message: String) -> Result<()> {
        let level = match level {
            log::Level::Trace => tracing::Level::TRACE,
            log::Level::Debug => tracing::Level::DEBUG,
            log::Level::Info => tracing::Level::INFO,
            log::Level::Warn => tracing::Level::WARN,
            log::Level::Error => tracing::Level::ERROR,
        };
        self.voice.say(level, &message);
        Ok(())
    }
}

impl clock::Host for State {
    fn now_ms(&mut self) -> Result<u64> {
        Ok(u64::try_from(self.ctx.now().ms()).unwrap_or(0))
    }

    fn monotonic_ms(&mut self) -> Result<u64> {
        Ok(u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    async fn sleep_ms(&mut self, ms: u32) -> Result<()> {
        tokio::time::sleep(Duration::from_millis(ms.min(SLEEP_MS).into())).await;
        Ok(())
    }
}

impl transport::Host for State {
    async fn connect(
        &mut self,
        endpoint: transport::Endpoint,
        idle_ms: u32,
    ) -> Result<Result<Resource<Connection>, NetError>> {
        let endpoint = match endpoint {
            transport::Endpoint::Tcp(address) => Endpoint::Tcp {
                host: address.host,
                port: address.port,
            },
            transport::Endpoint::Unix(path) => Endpoint::Unix(path),
        };
        let network = self.network.clone();
        Ok(match network.connect(&endpoint, idle(idle_ms)).await {
            Ok(connection) => Ok(self.table.push(connection)?),
            Err(error) => Err(error.into()),
        })
    }
}

impl transport::HostConnection for State {
    async fn read(&mut self, this: Resource<Connection>, max: u32) -> Result<Result<Vec<u8>, NetError>> {
        let connection = self.table.get_mut(&this)?;
        Ok(connection.inner.read(max as usize).await.map_err(NetError::from))
    }

    async fn read_to_end(
        &mut self,
        this: Resource<Connection>,
        limit: u64,
    ) -> Result<Result<Vec<u8>, NetError>> {
        let limit = size(limit).min(self.network.max_body());
        let connection = self.table.get_mut(&this)?;
        Ok(connection.inner.read_to_end(limit).await.map_err(NetError::from))
    }

    async fn write(&mut self, this: Resource<Connection>, bytes: Vec<u8>) -> Result<Result<(), NetError>> {
        let connection = self.table.get_mut(&this)?;
        Ok(connection.inner.write(&bytes).await.map_err(NetError::from))
    }

    async fn shutdown_write(&mut self, this: Resource<Connection>) -> Result<Result<(), NetError>> {
        let connection = self.table.get_mut(&this)?;
        Ok(connection.inner.shutdown_write().await.map_err(NetError::from))
    }

    async fn drop(&mut self, this: Resource<Connection>) -> Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

impl http::Host for State {
    async fn send(&mut self, request: http::Request) -> Result<Result<Resource<Response>, NetError>> {
        let headers = request
            .headers
            .into_iter()
            .map(|header| (header.name, header.value));
        let request = HttpRequest {
            method: request.method,
            url: request.url,
            headers: headers.collect(),
            body: request.body.into(),
            idle: idle(request.idle_ms),
            max_body: size(request.max_body),
        };
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
        Ok(piece.map(|bytes| bytes.to_vec()).map_err(NetError::from))
    }

    async fn read_to_end(&mut self, this: Resource<Response>) -> Result<Result<Vec<u8>, NetError>> {
        let response = self.table.get_mut(&this)?;
        Ok(response.inner.read_to_end().await.map_err(NetError::from))
    }

    async fn drop(&mut self, this: Resource<Response>) -> Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}
