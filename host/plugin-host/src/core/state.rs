//! What the host keeps for one instance: everything a plugin's import may touch is in here, and nothing else is.

use std::sync::Arc;
use std::time::{Duration, Instant};

use qm_kernel::Ctx;
use qm_net::{DialError, Dialer, Endpoint, Grants, HttpRequest, HttpResponse, Progress, Stream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::Level;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use crate::core::limits::Limits;
use crate::core::memory::MemoryLimiter;
use crate::core::voice::{Console, Voice};
use crate::imports::wasi_http::Hooks;

/// Random bytes one WASI call may ask for.
const WASI_RANDOM: u64 = 64 << 10;

/// A store's data. It is `Send` but not `Sync`: no future may hold `&State` across an await.
pub(crate) struct State {
    pub(crate) table: ResourceTable,
    wasi: WasiCtx,
    http: WasiHttpCtx,
    hooks: Hooks,
    pub(crate) memory: MemoryLimiter,
    pub(crate) network: Network,
    pub(crate) voice: Voice,
    pub(crate) cpu: Cpu,
    pub(crate) ctx: Ctx,
    pub(crate) started: Instant,
}

impl State {
    pub(crate) fn new(
        limits: &Limits,
        memory: MemoryLimiter,
        network: Network,
        voice: Voice,
        ctx: Ctx,
    ) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(limits.handles);
        // No directories, environment, arguments, input or sockets: the builder starts from nothing.
        let wasi = WasiCtx::builder()
            .stdout(Console(voice.clone(), Level::DEBUG))
            .stderr(Console(voice.clone(), Level::WARN))
            .max_random_size(WASI_RANDOM)
            .build();
        Self {
            table,
            wasi,
            http: WasiHttpCtx::new(),
            hooks: Hooks(network.clone()),
            memory,
            network,
            voice,
            cpu: Cpu {
                used: 0,
                budget: slices(limits.cpu),
            },
            ctx,
            started: Instant::now(),
        }
    }

    /// Gives the next call its own budgets.
    pub(crate) fn begin_call(&mut self) {
        self.cpu.used = 0;
        self.memory.denied = false;
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView {
            ctx: &mut self.http,
            table: &mut self.table,
            hooks: &mut self.hooks,
        }
    }
}

/// One tick of the epoch. A guest that computes gives its thread back this often.
pub(crate) const TICK: Duration = Duration::from_millis(10);

fn slices(time: Duration) -> u64 {
    u64::try_from(time.as_millis() / TICK.as_millis())
        .unwrap_or(u64::MAX)
        .max(1)
}

/// Computing time of the call under way, in ticks; waiting in a host function does not count.
pub(crate) struct Cpu {
    used: u64,
    budget: u64,
}

impl Cpu {
    /// Counts one more tick; false once the budget is used up.
    pub(crate) fn spend(&mut self) -> bool {
        self.used += 1;
        self.used <= self.budget
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.used > self.budget
    }
}

/// The way out of one instance: what it may dial, how many connections at once, how much an answer may hold.
#[derive(Clone)]
pub(crate) struct Network {
    dialer: Dialer,
    grants: Arc<Grants>,
    slots: Arc<Semaphore>,
    max_body: usize,
    /// Grows with every byte that moves; whoever bounds the call's time looks at it.
    pub(crate) progress: Progress,
}

/// An open connection of an instance; `slot` counts it.
pub struct Open<T> {
    pub(crate) inner: T,
    _slot: OwnedSemaphorePermit,
}

impl Network {
    pub(crate) fn new(dialer: Dialer, grants: Grants, limits: &Limits) -> Self {
        Self {
            dialer,
            grants: Arc::new(grants),
            slots: Arc::new(Semaphore::new(limits.connections)),
            max_body: limits.body_bytes,
            progress: Progress::default(),
        }
    }

    fn slot(&self) -> Result<OwnedSemaphorePermit, DialError> {
        let taken = self.slots.clone().try_acquire_owned();
        taken.map_err(|_| DialError::Other("too many open connections".to_owned()))
    }

    pub(crate) async fn connect(
        &self,
        endpoint: &Endpoint,
        idle: Duration,
    ) -> Result<Open<Stream>, DialError> {
        let slot = self.slot()?;
        let inner = self
            .dialer
            .connect(endpoint, &self.grants, idle, self.progress.clone())
            .await?;
        Ok(Open { inner, _slot: slot })
    }

    pub(crate) async fn send(&self, mut request: HttpRequest) -> Result<Open<HttpResponse>, DialError> {
        let slot = self.slot()?;
        request.max_body = request.max_body.min(self.max_body);
        let inner = self
            .dialer
            .send(request, &self.grants, self.progress.clone())
            .await?;
        Ok(Open { inner, _slot: slot })
    }

    pub(crate) fn max_body(&self) -> usize {
        self.max_body
    }
}
