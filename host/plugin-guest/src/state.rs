//! State that the host keeps for one instance: everything a plugin's import may touch is in here, and nothing else is.

use std::sync::Arc;
use std::time::{Duration, Instant};

use qm_kernel::{Ctx, Permission, Timestamp};
use qm_net::{
    DialError, Dialer, Endpoint, Grants, GuardedError, HttpRequest, HttpResponse, Progress, Stream,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::Level;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::limits::Limits;
use crate::memory::{Account, Charge, HANDLE, MemoryLimiter, OutOfMemory};
use crate::meter::Meter;
use crate::refusals::Refusals;
use crate::services::{Rights, Services, capability};
use crate::voice::{Console, Voice};

/// Random bytes one WASI call may ask for.
const WASI_RANDOM: u64 = 64 << 10;

/// A store's data. It is `Send` but not `Sync`: no future may hold `&State` across an await.
pub struct State {
    pub table: ResourceTable,
    wasi: WasiCtx,
    pub memory: MemoryLimiter,
    /// Account of the memory that the instance, and the host for it, hold.
    pub account: Arc<Account>,
    pub transit: Transit,
    pub network: Network,
    pub errands: Errands,
    pub voice: Voice,
    pub meter: Arc<Meter>,
    pub ctx: Ctx,
    pub started: Instant,
}

impl State {
    /// Tells whether an interface that has to be granted may be used; the refusal as a sentence, which is noted.
    pub fn check_grant(&self, capability: &str) -> Result<(), String> {
        if self
            .errands
            .rights
            .capabilities
            .iter()
            .any(|granted| granted == capability)
        {
            Ok(())
        } else {
            Err(self.network.not_granted(capability))
        }
    }

    pub fn new(
        limits: &Limits,
        account: Arc<Account>,
        network: Network,
        errands: Errands,
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
            memory: MemoryLimiter::new(account.clone()),
            account,
            transit: Transit::default(),
            network,
            errands,
            voice,
            meter: Meter::new(limits.cpu),
            ctx,
            started: Instant::now(),
        }
    }

    /// Gives the next call its own budgets.
    pub fn begin_call(&mut self) {
        self.meter.begin_call();
        self.account.begin_call();
        self.errands.begin_call();
    }

    /// The voice of the plugin: its log, without its secrets.
    pub fn voice(&self) -> &Voice {
        &self.voice
    }

    /// The time now, by the clock of the host.
    pub fn now(&self) -> Timestamp {
        self.ctx.now()
    }

    /// Charges the instance with `bytes` that the host holds for it, until the charge is dropped.
    pub fn charge(&self, bytes: usize) -> wasmtime::Result<Charge> {
        Ok(self.account.charge(bytes)?)
    }

    /// Holds `charge` until what an import returns has reached the guest.
    pub fn hand_over(&mut self, charge: Charge) {
        self.transit.charges.push(charge);
    }

    /// The bounds of the call that begins.
    pub fn bounds(&self) -> Bounds {
        Bounds {
            progress: self.network.progress.clone(),
            meter: self.meter.clone(),
            patience: self.errands.rights.patience,
        }
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

/// Errands that an instance has the rest of the server do for it, counted: the host's own work costs others too.
pub struct Errands {
    /// The plugin's id: whose values are meant.
    pub plugin: Arc<str>,
    pub services: Arc<Services>,
    pub rights: Rights,
    values: u32,
    torrents: u32,
    media: u32,
    letters: u32,
}

/// Calls of `kv` in one call of the plugin.
const VALUES: u32 = 128;
/// Calls of `torrents` in one call of the plugin.
const TORRENTS: u32 = 32;
/// Calls of `media` in one call of the plugin.
const MEDIA: u32 = 32;
/// Letters by `mail` in one call of the plugin.
const LETTERS: u32 = 4;
/// Between two signs that the host works for the guest.
const BEAT: Duration = Duration::from_millis(200);

impl Errands {
    pub fn new(plugin: &str, rights: Rights, services: Arc<Services>) -> Self {
        Self {
            plugin: plugin.into(),
            services,
            rights,
            values: VALUES,
            torrents: TORRENTS,
            media: MEDIA,
            letters: LETTERS,
        }
    }

    fn begin_call(&mut self) {
        (self.values, self.torrents) = (VALUES, TORRENTS);
        (self.media, self.letters) = (MEDIA, LETTERS);
    }

    /// Counts one more call of `kv`; an error once there were too many.
    pub fn count_value(&mut self) -> Result<(), String> {
        count(&mut self.values, VALUES, "kv")
    }

    /// Counts one more call of `torrents`; an error once there were too many.
    pub fn count_torrent(&mut self) -> Result<(), String> {
        count(&mut self.torrents, TORRENTS, capability::TORRENTS)
    }

    /// Refuses what the run's action does not stand for, whoever its author is.
    pub fn demand(&self, need: Permission) -> Result<(), String> {
        if self.rights.powers.contains(need) {
            return Ok(());
        }
        Err(format!(
            "the action does not declare the permission {}",
            need.key()
        ))
    }

    /// Counts one more call of `media`; an error once there were too many.
    pub fn count_media(&mut self) -> Result<(), String> {
        count(&mut self.media, MEDIA, capability::MEDIA)
    }

    /// Counts one more letter; an error once there were too many.
    pub fn count_letter(&mut self) -> Result<(), String> {
        count(&mut self.letters, LETTERS, capability::MAIL)
    }
}

fn count(left: &mut u32, all: u32, interface: &str) -> Result<(), String> {
    *left = left
        .checked_sub(1)
        .ok_or_else(|| format!("one call may use `{interface}` {all} times"))?;
    Ok(())
}

/// Waits for work of the host's own, which is no silence of the guest's. What bounds the whole call bounds it.
pub async fn at_work<T>(progress: &Progress, work: impl Future<Output = T>) -> T {
    let mut beats = tokio::time::interval(BEAT);
    beats.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    tokio::pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            _ = beats.tick() => progress.add(1),
        }
    }
}

/// The progress and the meter that a running call is judged by.
pub struct Bounds {
    pub progress: Progress,
    pub meter: Arc<Meter>,
    /// Silence of a product that is waited for, where it is longer than usual.
    pub patience: Option<Duration>,
}

/// Bytes on their way from an import to the guest: while they are copied, both sides have them.
#[derive(Default)]
pub struct Transit {
    charges: Vec<Charge>,
    /// Host functions entered and not left: copying runs code of the guest, which enters others.
    depth: u32,
}

impl Transit {
    pub fn enter(&mut self) {
        self.depth += 1;
    }

    pub fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if self.depth == 0 {
            self.charges.clear();
        }
    }
}

/// The way out of one instance: what it may dial, how many connections at once, how much an answer may hold.
#[derive(Clone)]
pub struct Network {
    dialer: Dialer,
    grants: Arc<Grants>,
    slots: Arc<Semaphore>,
    max_body: usize,
    account: Arc<Account>,
    refused: Arc<Refused>,
    /// Grows with every byte that moves; whoever bounds the call's time looks at it.
    pub progress: Progress,
}

/// The place where refusals of one plugin are noted.
pub struct Refused {
    pub plugin: String,
    pub refusals: Arc<Refusals>,
    pub ctx: Ctx,
}

/// Bytes that a header costs beside its name and value.
pub const HEADER: usize = 64;

fn no_room(_: OutOfMemory) -> DialError {
    DialError::Other("the plugin has no memory left for a connection".to_owned())
}

/// Bytes that an open connection keeps in buffers of its own, about.
const BUFFERS: usize = 64 << 10;

/// A connection's place among the few of its instance, and what it holds.
pub struct Slot {
    _permit: OwnedSemaphorePermit,
    charge: Charge,
}

/// An open connection of an instance.
pub struct Open<T> {
    pub inner: T,
    slot: Option<Slot>,
}

impl<T> Open<T> {
    /// Its end has come: another connection may take its place, whenever the guest lets go of this one.
    pub fn is_over(&mut self) {
        self.slot = None;
    }
}

/// An answer on its place, its headers charged.
fn opened(mut slot: Slot, inner: HttpResponse) -> Result<Open<HttpResponse>, DialError> {
    let headers = inner.headers().iter();
    let headers: usize = headers
        .map(|(name, value)| name.as_str().len() + value.len() + HEADER)
        .sum();
    slot.charge.grow(headers).map_err(no_room)?;
    Ok(Open {
        inner,
        slot: Some(slot),
    })
}

impl Network {
    pub fn new(
        dialer: Dialer,
        grants: Grants,
        limits: &Limits,
        account: Arc<Account>,
        refused: Refused,
    ) -> Self {
        Self {
            account,
            refused: Arc::new(refused),
            dialer,
            grants: Arc::new(grants),
            slots: Arc::new(Semaphore::new(limits.connections)),
            max_body: limits.body_bytes,
            progress: Progress::default(),
        }
    }

    /// A place for one more connection, charged; before anything is dialled.
    pub fn slot(&self) -> Result<Slot, DialError> {
        let permit = self.slots.clone().try_acquire_owned();
        Ok(Slot {
            _permit: permit.map_err(|_| DialError::Other("too many open connections".to_owned()))?,
            charge: self.account.charge(HANDLE + BUFFERS).map_err(no_room)?,
        })
    }

    pub async fn connect(&self, endpoint: &Endpoint, idle: Duration) -> Result<Open<Stream>, DialError> {
        let slot = self.slot()?;
        let inner = self
            .dialer
            .connect(endpoint, &self.grants, idle, self.progress.clone())
            .await
            .inspect_err(|error| self.note(error))?;
        Ok(Open {
            inner,
            slot: Some(slot),
        })
    }

    pub async fn send(&self, request: HttpRequest) -> Result<Open<HttpResponse>, DialError> {
        let slot = self.slot()?;
        self.send_in(slot, request).await
    }

    /// Sends on a place that was taken before.
    pub async fn send_in(
        &self,
        slot: Slot,
        mut request: HttpRequest,
    ) -> Result<Open<HttpResponse>, DialError> {
        request.max_body = request.max_body.min(self.max_body);
        let inner = self
            .dialer
            .send(request, &self.grants, self.progress.clone())
            .await
            .inspect_err(|error| self.note(error))?;
        opened(slot, inner)
    }

    /// Tells whether this URL may be asked for, told without asking for it.
    pub fn allows(&self, url: &url::Url) -> bool {
        let allowed = self.grants.allows_url(url);
        if !allowed {
            let origin = url.origin().ascii_serialization();
            self.note(&DialError::Denied(format!("{origin} is not granted")));
        }
        allowed
    }

    /// Sends to an address that a user chose.
    pub async fn send_guarded(&self, mut request: HttpRequest) -> Result<Open<HttpResponse>, GuardedError> {
        let slot = self.slot()?;
        request.max_body = request.max_body.min(self.max_body);
        let sending = self.dialer.send_guarded(request, self.progress.clone());
        Ok(opened(slot, sending.await?)?)
    }

    /// Notes that the plugin used what nobody granted it. Returns the refusal as a sentence.
    pub fn not_granted(&self, capability: &str) -> String {
        let what = format!("`{capability}` is not granted");
        self.note(&DialError::Denied(what.clone()));
        what
    }

    /// Keeps a refusal for the administrator.
    fn note(&self, error: &DialError) {
        if let DialError::Denied(what) = error {
            let Refused {
                plugin,
                refusals,
                ctx,
            } = &*self.refused;
            refusals.note(plugin, what, ctx.now());
        }
    }

    pub fn max_body(&self) -> usize {
        self.max_body
    }
}
