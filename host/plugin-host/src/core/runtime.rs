//! The sandbox: one wasmtime engine for the process, its settings, its clock, and stores with every limit set.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::Thread;

use qm_kernel::Ctx;
use qm_net::{Dialer, Grants};
use qm_plugin_guest::limits::Limits;
use qm_plugin_guest::memory::{Account, Holder, MemoryBudget};
use qm_plugin_guest::meter::{SHORT_TICK, TICK};
use qm_plugin_guest::refusals::Refusals;
use qm_plugin_guest::services::{Rights, Services};
use qm_plugin_guest::state::{Errands, Network, Refused, State};
use qm_plugin_guest::voice::{Secrets, Voice};
use wasmtime::component::Linker;
use wasmtime::{CallHook, Config, Engine, EngineWeak, OptLevel, Store, StoreContextMut, UpdateDeadline};

use crate::core::role::Roles;
use crate::core::system;
use crate::error::PluginHostError;
use crate::imports;

/// The stack a guest may use, and that of its fiber: host functions run there too.
const WASM_STACK: usize = 512 << 10;
const FIBER_STACK: usize = 2 << 20;
/// Address space for one memory where addresses are scarce; with it every access is checked against the bounds.
const SCARCE_RESERVATION: u64 = 128 << 20;
/// Less address space than this is scarce: a memory with guard pages instead of checks reserves 4 GiB.
const PLENTY: u64 = 256 << 30;

/// Everything instances have in common.
pub(crate) struct Runtime {
    pub(crate) engine: Engine,
    pub(crate) linker: Linker<State>,
    pub(crate) limits: Limits,
    pub(crate) ctx: Ctx,
    pub(crate) services: Arc<Services>,
    dialer: Dialer,
    budget: Arc<MemoryBudget>,
    ticker: Ticker,
}

/// The plugin that a store belongs to, and what it may do.
pub(crate) struct Tenant<'a> {
    pub(crate) plugin: &'a str,
    /// Id of what is configured (an engine); empty when the plugin serves all.
    pub(crate) owner: &'a str,
    pub(crate) lane: &'static str,
    /// True where it may take of the memory that is kept for first-party plugins.
    pub(crate) first_party: bool,
    pub(crate) grants: Grants,
    pub(crate) rights: Rights,
    pub(crate) secrets: Secrets,
    pub(crate) log_dropped: Arc<AtomicU64>,
    pub(crate) refusals: Arc<Refusals>,
    pub(crate) memory: Arc<AtomicUsize>,
}

impl Runtime {
    pub(crate) fn new(
        limits: Limits,
        dialer: Dialer,
        services: Arc<Services>,
        ctx: Ctx,
        roles: Roles,
    ) -> Result<Arc<Self>, PluginHostError> {
        system::bound_heap();
        let failed = |error: wasmtime::Error| PluginHostError::Sandbox(format!("{error:#}"));
        let engine = Engine::new(&config(address_space())).map_err(failed)?;
        let mut linker = Linker::new(&engine);
        // WASI 0.2 links, and denies: the standard libraries of Python, Go and JavaScript import it unasked.
        wasmtime_wasi::p2::add_to_linker_async(&mut linker).map_err(failed)?;
        imports::add_to_linker(&mut linker).map_err(failed)?;
        for role in roles {
            role.add_to_linker(&mut linker).map_err(failed)?;
        }
        let ticker =
            Ticker::start(engine.weak()).map_err(|error| PluginHostError::Sandbox(error.to_string()))?;
        let budget = MemoryBudget::new(limits.memory_total_bytes, system::trim_soon);
        Ok(Arc::new(Self {
            engine,
            linker,
            limits,
            ctx,
            services,
            dialer,
            budget,
            ticker,
        }))
    }

    /// A store with every limit set.
    pub(crate) fn store(&self, tenant: Tenant<'_>) -> Store<State> {
        let limits = &self.limits;
        let voice = Voice::new(
            tenant.plugin,
            tenant.owner,
            tenant.lane,
            tenant.secrets,
            tenant.log_dropped,
        );
        let holder = Holder {
            plugin: tenant.plugin,
            owner: tenant.owner,
            lane: tenant.lane,
            first_party: tenant.first_party,
        };
        let account = Account::new(&holder, limits.memory_bytes, self.budget.clone(), tenant.memory);
        let refused = Refused {
            plugin: tenant.plugin.to_owned(),
            refusals: tenant.refusals,
            ctx: self.ctx.clone(),
        };
        let network = Network::new(
            self.dialer.clone(),
            tenant.grants,
            limits,
            account.clone(),
            refused,
        );
        let errands = Errands::new(tenant.plugin, tenant.rights, self.services.clone());
        let state = State::new(limits, account, network, errands, voice, self.ctx.clone());
        let mut store = Store::new(&self.engine, state);
        store.limiter(|state| &mut state.memory);
        let (argument, transfer) = (limits.argument_bytes, limits.transfer_bytes);
        store.set_hostcall_fuel(transfer);
        store.call_hook(move |mut store, crossing| {
            match crossing {
                CallHook::CallingHost => {
                    store.data_mut().transit.enter();
                    bound_transfer(&mut store, argument);
                }
                CallHook::ReturningFromWasm => bound_transfer(&mut store, transfer),
                CallHook::ReturningFromHost => store.data_mut().transit.leave(),
                CallHook::CallingWasm => {}
            }
            Ok(())
        });
        store.set_max_component_handles(limits.handles);
        store.set_epoch_deadline(1);
        let computing = self.ticker.computing.clone();
        store.epoch_deadline_callback(move |mut store| {
            computing.store(true, Ordering::Relaxed);
            Ok(if store.data_mut().meter.may_go_on() {
                UpdateDeadline::YieldCustom(1, Box::pin(tokio::task::yield_now()))
            } else {
                UpdateDeadline::Interrupt
            })
        });
        store
    }

    /// Keeps the epoch ticking as long as the value lives: for the time of a call.
    pub(crate) fn ticking(&self) -> Ticking {
        self.ticker.hold()
    }
}

#[cfg(test)]
impl Runtime {
    /// The roles of tests and the system's network, for tests of what a guest does to the host.
    pub(crate) fn of_test(limits: Limits) -> Arc<Self> {
        let net = qm_net::Net::new(qm_net::NetConfig::default()).unwrap();
        let services = Services::new(
            Arc::<qm_plugin_guest::values::ValuesInMemory>::default(),
            |_, _| Ok(()),
        );
        let roles = crate::core::test_role::ROLES;
        Self::new(limits, net.dialer().clone(), services, Ctx::system(), roles).unwrap()
    }

    /// A store of a plugin nobody knows, which may nothing. It counts the lines it drops in `log_dropped`.
    pub(crate) fn store_of_test(&self, log_dropped: Arc<AtomicU64>) -> Store<State> {
        self.store(Tenant {
            plugin: "p",
            owner: "e",
            lane: "sync",
            first_party: false,
            grants: Grants::none(),
            rights: Rights::default(),
            secrets: Secrets::default(),
            log_dropped,
            refusals: Arc::default(),
            memory: Arc::default(),
        })
    }
}

/// Bounds what the guest hands over, before it is copied: never more than its account has left.
fn bound_transfer(store: &mut StoreContextMut<'_, State>, most: usize) {
    let left = store.data().account.left();
    store.set_hostcall_fuel(left.min(most));
}

/// Settings that code depends on: a compiling child is given the same address space and so comes to the same settings.
pub(crate) fn config(address_space: u64) -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        // Explicitly: another crate could switch the async ABI on, which makes every call dearer.
        .concurrency_support(false)
        .cranelift_opt_level(OptLevel::Speed)
        .epoch_interruption(true)
        .max_wasm_stack(WASM_STACK)
        .async_stack_size(FIBER_STACK);
    if address_space < PLENTY {
        config
            .memory_reservation(SCARCE_RESERVATION)
            .memory_reservation_for_growth(SCARCE_RESERVATION)
            .memory_guard_size(64 << 10);
    }
    config
}

/// Address space that this process may use, in bytes, as far as the system tells.
pub(crate) fn address_space() -> u64 {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    soft_address_limit(&limits).unwrap_or(u64::MAX)
}

fn soft_address_limit(limits: &str) -> Option<u64> {
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Short ticks after the last one that a guest is known to have computed through: it may have had to wait for its thread.
const SHORT_TICKS: u8 = 4;

/// The thread that ticks the epoch. It sleeps as long as no guest runs: an idle server is idle.
struct Ticker {
    running: Arc<AtomicUsize>,
    /// A guest has computed through the last tick.
    computing: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
    thread: Thread,
}

impl Ticker {
    fn start(engine: EngineWeak) -> std::io::Result<Self> {
        let running = Arc::new(AtomicUsize::new(0));
        let (computing, over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (seen_running, seen_computing, seen_over) = (running.clone(), computing.clone(), over.clone());
        let tick = move || {
            let mut short = 0_u8;
            while !seen_over.load(Ordering::Acquire) {
                if seen_running.load(Ordering::Acquire) == 0 {
                    // Whoever starts a call unparks; a token given before we park is not lost.
                    std::thread::park();
                    continue;
                }
                short = if seen_computing.swap(false, Ordering::Relaxed) {
                    SHORT_TICKS
                } else {
                    short.saturating_sub(1)
                };
                std::thread::sleep(if short > 0 { SHORT_TICK } else { TICK });
                let Some(engine) = engine.upgrade() else { return };
                engine.increment_epoch();
            }
        };
        let handle = std::thread::Builder::new()
            .name("plugin-epoch".to_owned())
            .spawn(tick)?;
        Ok(Self {
            running,
            computing,
            over,
            thread: handle.thread().clone(),
        })
    }

    fn hold(&self) -> Ticking {
        if self.running.fetch_add(1, Ordering::AcqRel) == 0 {
            self.thread.unpark();
        }
        Ticking(self.running.clone())
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// While one lives, the epoch ticks.
pub(crate) struct Ticking(Arc<AtomicUsize>);

impl Drop for Ticking {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_limit_is_read() {
        let table = "Limit                     Soft Limit           Hard Limit           Units     \n\
                     Max address space         8589934592           unlimited            bytes     \n";
        assert_eq!(soft_address_limit(table), Some(8_589_934_592));
        assert_eq!(
            soft_address_limit("Max address space         unlimited            unlimited            bytes"),
            None
        );
    }
}
