//! `clock`: the service's time, which tests freeze. Granted to all.

use std::time::Duration;

use wasmtime::Result;

use super::wit::clock;
use crate::state::State;

/// The longest one `sleep-ms` waits.
const SLEEP_MS: u32 = 1000;

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
