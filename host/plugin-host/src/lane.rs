//! A lane: one warm instance of one configured engine, owned by one task that takes one call at a time.
//!
//! A trap, and likewise a call whose future is dropped, leaves an instance dead for good, so the store is thrown away
//! and a new one made for the next call, under the restart budget of the [`Supervisor`]. Expected failures are values
//! and cost nothing.
//!
//! Bounds: a queue of 32 calls (one more is answered "busy"); a call ends after 25 s without a byte moving, and in any
//! case after the total of its kind; a call that waited for its turn longer than 30 s is not started.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use futures_util::future::BoxFuture;
use qm_kernel::engine::EngineError;
use qm_net::{Grants, unless_silent};
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tracing::{Instrument as _, Span};
use wasmtime::Trap;

use crate::api::{Answer, Session};
use crate::load::{Loaded, reason};
use crate::runtime::{Runtime, Tenant};
use crate::slot::{Counters, LaneStats, Slot};
use crate::status::LaneState;
use crate::supervisor::{Admission, Supervisor};
use crate::voice::Secrets;

/// How long a call may wait for its turn.
const QUEUED: Duration = Duration::from_secs(30);
/// How long a plugin's destructor may take.
const CLOSE: Duration = Duration::from_secs(1);

/// One call, with its answer's way back inside: the error is the instance's, not the plugin's word.
type Work = Box<dyn for<'a> FnOnce(&'a mut dyn Session) -> BoxFuture<'a, wasmtime::Result<()>> + Send>;

struct Job {
    work: Work,
    total: Duration,
    queued: Instant,
    /// Of the caller: what the call logs belongs to it.
    span: Span,
    done: oneshot::Sender<Result<(), EngineError>>,
}

/// The caller's end of a lane.
pub(crate) struct Lane {
    jobs: mpsc::Sender<Job>,
    task: std::sync::Mutex<Option<JoinHandle<()>>>,
}

/// What a lane belongs to.
pub(crate) struct Owner {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) slot: Arc<Slot>,
    pub(crate) engine: String,
    pub(crate) config: Arc<Map<String, Value>>,
}

impl Lane {
    pub(crate) fn start(name: &'static str, owner: Arc<Owner>) -> Self {
        let stats = LaneStats::new(&owner.engine, name);
        owner.slot.add_lane(&stats);
        let limits = &owner.runtime.limits;
        let (jobs, queue) = mpsc::channel(limits.queue);
        let worker = Worker {
            supervisor: Supervisor::new(limits.strikes, limits.back_off),
            code: owner.slot.watch(),
            owner,
            stats,
            live: None,
            replace: false,
        };
        let task = tokio::spawn(worker.run(queue));
        Self {
            jobs,
            task: std::sync::Mutex::new(Some(task)),
        }
    }

    /// Does `work` in the lane's instance. `total` bounds it even while bytes move.
    pub(crate) async fn call<T, F>(&self, total: Duration, work: F) -> Result<T, EngineError>
    where
        T: Send + 'static,
        F: for<'a> FnOnce(&'a mut dyn Session) -> BoxFuture<'a, Answer<T>> + Send + 'static,
    {
        let (give, mut take) = oneshot::channel();
        let work: Work = Box::new(move |session| {
            Box::pin(async move {
                // A caller that went away is none of the instance's business.
                let _ = give.send(work(session).await?);
                Ok(())
            })
        });
        let (done, ended) = oneshot::channel();
        let job = Job {
            work,
            total,
            queued: Instant::now(),
            span: Span::current(),
            done,
        };
        self.jobs.try_send(job).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => EngineError::Busy,
            mpsc::error::TrySendError::Closed(_) => closed(),
        })?;
        ended.await.unwrap_or_else(|_| Err(closed()))?;
        take.try_recv().unwrap_or_else(|_| Err(closed()))
    }

    /// Ends the lane now, the call under way included.
    pub(crate) async fn close(&self) {
        let task = self
            .task
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .take();
        if let Some(task) = task {
            task.abort();
            // Either it was cancelled or it had ended; afterwards its store is gone.
            let _ = task.await;
        }
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        if let Some(task) = self
            .task
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .take()
        {
            task.abort();
        }
    }
}

fn closed() -> EngineError {
    EngineError::Unreachable("the engine was closed".to_owned())
}

struct Live {
    session: Box<dyn Session>,
    /// Kept for as long as the instance runs it.
    _code: Arc<Loaded>,
}

struct Worker {
    owner: Arc<Owner>,
    code: watch::Receiver<Option<Arc<Loaded>>>,
    stats: Arc<LaneStats>,
    supervisor: Supervisor,
    live: Option<Live>,
    /// The next instance replaces one that failed.
    replace: bool,
}

/// How a call ended, as far as the instance is concerned.
enum End {
    Well,
    Trapped(wasmtime::Error),
    /// Not a byte moved for so long.
    Silent(Duration),
    /// Bytes moved, but it took longer than this.
    TooLong(Duration),
}

impl Worker {
    async fn run(mut self, mut queue: mpsc::Receiver<Job>) {
        loop {
            tokio::select! {
                biased;
                // The slot lives as long as we do, so this cannot fail.
                _ = self.code.changed() => self.renew().await,
                job = queue.recv() => match job {
                    Some(job) => self.serve(job).await,
                    None => break,
                },
            }
        }
        self.retire().await;
    }

    /// Other code is in use: the instance of the old one goes, and so does what was held against it.
    async fn renew(&mut self) {
        self.retire().await;
        self.supervisor.revive();
        self.replace = false;
        self.show();
    }

    /// Ends the instance in good order.
    async fn retire(&mut self) {
        if let Some(mut live) = self.live.take() {
            let _ticking = self.owner.runtime.ticking();
            live.session.state().begin_call();
            // A destructor that fails or dawdles changes nothing: the store goes either way.
            let _ = tokio::time::timeout(CLOSE, live.session.close()).await;
        }
    }

    async fn serve(&mut self, job: Job) {
        if job.done.is_closed() {
            return;
        }
        let answer = if job.queued.elapsed() > QUEUED {
            Err(EngineError::Busy)
        } else {
            self.attempt(job.work, job.total).instrument(job.span).await
        };
        self.show();
        let _ = job.done.send(answer);
    }

    async fn attempt(&mut self, work: Work, total: Duration) -> Result<(), EngineError> {
        self.admit()?;
        let mut live = match self.live.take() {
            Some(live) => live,
            None => self.open().await?,
        };
        self.stats.set(LaneState::Running, self.supervisor.reason());
        self.count(|counters| &counters.calls);
        let end = self.drive(&mut live, work, total).await;
        let state = live.session.state();
        let last_error = state.voice.settle();
        match end {
            End::Well => {
                self.supervisor.well(Instant::now());
                self.live = Some(live);
                Ok(())
            }
            End::Trapped(trap) => {
                let (cpu, memory) = (state.cpu.is_spent(), state.memory.denied);
                Err(self.trapped(&trap, cpu, memory, last_error))
            }
            End::Silent(limit) => Err(self.cut_off(format!("no answer within {}", seconds(limit)), true)),
            // A product that trickles is not the plugin's fault.
            End::TooLong(limit) => Err(self.cut_off(format!("not done within {}", seconds(limit)), false)),
        }
    }

    fn admit(&self) -> Result<(), EngineError> {
        let why = self.supervisor.reason().unwrap_or_default();
        match self.supervisor.admit(Instant::now()) {
            Admission::Free => Ok(()),
            Admission::Later(left) => Err(EngineError::Plugin(format!(
                "{why}; it is tried again in {} s",
                left.as_secs() + 1
            ))),
            Admission::Parked => Err(EngineError::Plugin(format!(
                "{why}; it failed {} times and was parked until the plugin is reloaded or the engine changed",
                self.owner.runtime.limits.strikes
            ))),
        }
    }

    async fn drive(&mut self, live: &mut Live, work: Work, total: Duration) -> End {
        let silence = self.owner.runtime.limits.silence;
        let state = live.session.state();
        state.begin_call();
        let progress = state.network.progress.clone();
        let _ticking = self.owner.runtime.ticking();
        let call = unless_silent(silence, &progress, work(&mut *live.session));
        match tokio::time::timeout(total, call).await {
            Ok(Ok(Ok(()))) => End::Well,
            Ok(Ok(Err(trap))) => End::Trapped(trap),
            Ok(Err(_)) => End::Silent(silence),
            Err(_) => End::TooLong(total),
        }
    }

    /// A new instance of the code in use, with a session open in it.
    async fn open(&mut self) -> Result<Live, EngineError> {
        let Some(code) = self.code.borrow_and_update().clone() else {
            let text = format!(
                "the plugin that provides `{}` is no longer installed",
                self.owner.slot.id
            );
            return Err(EngineError::InvalidConfig(text));
        };
        if std::mem::take(&mut self.replace) {
            self.count(|counters| &counters.restarts);
        }
        let owner = self.owner.clone();
        let schema = &code.kind.config_schema;
        let grants = Grants::from_config(schema, &owner.config).map_err(EngineError::InvalidConfig)?;
        let store = owner.runtime.store(Tenant {
            plugin: &owner.slot.id,
            engine: &owner.engine,
            lane: self.stats.lane,
            grants,
            secrets: Secrets::of(schema, &owner.config),
            log_dropped: owner.slot.log_dropped.clone(),
            memory: self.stats.memory.clone(),
        });
        let voice = store.data().voice.clone();
        let config = Value::Object((*owner.config).clone()).to_string();
        let _ticking = owner.runtime.ticking();
        let opened = tokio::time::timeout(owner.runtime.limits.silence, code.code.open(store, &config)).await;
        let last_error = voice.settle();
        match opened {
            Ok(Ok(Ok(session))) => Ok(Live {
                session,
                _code: code.clone(),
            }),
            Ok(Ok(Err(word))) => Err(word),
            Ok(Err(trap)) => Err(self.trapped(&trap, false, false, last_error)),
            Err(_) => Err(self.cut_off("it could not be opened in time".to_owned(), true)),
        }
    }

    fn count(&self, which: fn(&Counters) -> &AtomicU64) {
        which(&self.stats.counters).fetch_add(1, Relaxed);
        which(&self.owner.slot.totals).fetch_add(1, Relaxed);
    }

    /// The instance is dead: counts it, words it, and says so in the log.
    fn trapped(
        &mut self,
        trap: &wasmtime::Error,
        cpu: bool,
        memory: bool,
        said: Option<String>,
    ) -> EngineError {
        self.count(|counters| &counters.traps);
        let limits = &self.owner.runtime.limits;
        let why = if cpu {
            format!("it computed for more than {} in one call", seconds(limits.cpu))
        } else if memory {
            format!("it ran out of its {} MiB of memory", limits.memory_bytes >> 20)
        } else {
            said.unwrap_or_else(|| match trap.downcast_ref::<Trap>() {
                Some(trap) => trap.to_string(),
                None => reason(trap),
            })
        };
        let Owner { slot, engine, .. } = &*self.owner;
        let (plugin, lane) = (&slot.id, self.stats.lane);
        tracing::warn!(target: "plugin", plugin, engine, lane, backtrace = %reason(trap), "the instance failed: {why}");
        self.replace = true;
        self.supervisor.strike(Instant::now(), why.clone());
        EngineError::Plugin(why)
    }

    /// The call's time ran out, which costs the instance too.
    fn cut_off(&mut self, why: String, strike: bool) -> EngineError {
        self.count(|counters| &counters.timeouts);
        let Owner { slot, engine, .. } = &*self.owner;
        let (plugin, lane) = (&slot.id, self.stats.lane);
        tracing::warn!(target: "plugin", plugin, engine, lane, "the instance was replaced: {why}");
        self.replace = true;
        if strike {
            self.supervisor.strike(Instant::now(), why.clone());
        }
        EngineError::Timeout(why)
    }

    /// Tells the status how the lane stands between calls.
    fn show(&self) {
        let state = match self.supervisor.admit(Instant::now()) {
            Admission::Parked => LaneState::Parked,
            Admission::Later(_) => LaneState::BackingOff,
            Admission::Free if self.live.is_some() => LaneState::Ready,
            Admission::Free => LaneState::Idle,
        };
        self.stats.set(state, self.supervisor.reason());
    }
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}
