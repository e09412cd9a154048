//! `transport`: byte streams. Granted: what the operator's configuration of the instance names.

use std::time::Duration;

use qm_net::{DialError, Endpoint, Stream};
use wasmtime::Result;
use wasmtime::component::Resource;

use super::wit::transport::{self, NetError};
use crate::state::{Open, State};

/// The host's side of `transport.connection`.
pub type Connection = Open<Stream>;

/// The longest silence that is waited for; the WIT says so.
const IDLE_MS: u32 = 15_000;

pub(super) fn idle(ms: u32) -> Duration {
    Duration::from_millis(ms.clamp(1, IDLE_MS).into())
}

/// The same where a product may be silent for longer.
pub(super) fn idle_within(ms: u32, patience: Option<Duration>) -> Duration {
    let most = Duration::from_millis(IDLE_MS.into()).max(patience.unwrap_or_default());
    Duration::from_millis(ms.max(1).into()).min(most)
}

pub(super) fn size(bytes: u64) -> usize {
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
        let piece = connection.inner.read(max as usize).await.map_err(NetError::from);
        let size = piece.as_ref().map_or(0, Vec::len);
        let held = self.account.charge(size)?;
        self.hand_over(held);
        Ok(piece)
    }

    async fn read_to_end(
        &mut self,
        this: Resource<Connection>,
        limit: u64,
    ) -> Result<Result<Vec<u8>, NetError>> {
        let limit = size(limit).min(self.network.max_body());
        let mut held = self.account.charge(0)?;
        let connection = self.table.get_mut(&this)?;
        let room = |more: usize| held.grow(more).is_ok();
        let bytes = connection.inner.read_to_end_in(limit, room).await;
        self.hand_over(held);
        Ok(bytes.map_err(NetError::from))
    }

    async fn write(&mut self, this: Resource<Connection>, bytes: Vec<u8>) -> Result<Result<(), NetError>> {
        let _held = self.account.charge(bytes.len())?;
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
