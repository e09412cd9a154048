//! A lane: one warm instance, owned by one task that takes one call at a time. What lives in the instance, and how it is
//! called, is the role's: [`Resident`].
//!
//! A trap, and likewise a call whose future is dropped, leaves an instance dead for good, so the store is thrown away and a new
//! one made for the next call, under the restart budget of the [`Supervisor`](super::supervisor::Supervisor). Expected failures
//! are values and cost nothing.
//!
//! Bounds: a queue of 32 calls (one more is answered "busy"); a call ends after 25 s without a byte moving, and in any
//! case after the total of its kind; a call that waited for its turn longer than 30 s is not started.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use qm_lanes::IgnorePoison;
use qm_plugin_guest::limits::Limits;
use qm_plugin_guest::services::CallContext;
use qm_plugin_guest::state::State;
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tracing::{Instrument as _, Span};
use wasmtime::Store;

use crate::core::call::{End, LaneRecord, QUEUED, Traces, Witness, drive};
use crate::core::fault::Fault;
use crate::core::load::Loaded;
use crate::core::runtime::Runtime;
use crate::core::slot::Slot;

/// Time limit on a plugin's destructor.
const CLOSE: Duration = Duration::from_secs(1);

/// The outer result is the instance's: an error is a trap and the instance is lost. The inner one is the plugin's word.
pub type Answer<T, E> = wasmtime::Result<Result<T, E>>;

/// Resident of an instance. After an outer error, or when a call's future was dropped, it is dead.
#[async_trait]
pub trait Resident: Send {
    /// The role's word for a failure.
    type Error: Send + 'static;
    fn state(&mut self) -> &mut State;
    /// Runs the plugin's own destructors.
    async fn close(&mut self) -> wasmtime::Result<()>;
}

/// Makes an instance of `code` in the store and readies it with the configuration.
pub type Open<S> = fn(
    code: Arc<Loaded>,
    store: Store<State>,
    config: Arc<Map<String, Value>>,
) -> BoxFuture<'static, Answer<Box<S>, <S as Resident>::Error>>;

/// One call, with its answer's way back inside: the error is the instance's, not the plugin's word.
type Work<S> = Box<dyn for<'a> FnOnce(&'a mut S) -> BoxFuture<'a, wasmtime::Result<()>> + Send>;

struct Job<S: Resident + ?Sized> {
    work: Work<S>,
    total: Duration,
    queued: Instant,
    /// The caller's span: what the call logs belongs to it.
    span: Span,
    done: oneshot::Sender<Result<Result<(), S::Error>, Fault>>,
}

/// The caller's end of a lane.
pub struct Lane<S: Resident + ?Sized> {
    jobs: mpsc::Sender<Job<S>>,
    task: std::sync::Mutex<Option<JoinHandle<()>>>,
}

/// The owner of a lane.
pub struct Owner {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) slot: Arc<Slot>,
    /// Id of what is configured (an engine); empty when the lane serves all.
    pub(crate) id: String,
    pub(crate) config: Arc<Map<String, Value>>,
    /// Secrets of the configuration, in clear: never to be logged, whatever the schema says.
    pub(crate) secrets: Arc<[String]>,
}

impl Owner {
    /// The code in use of its plugin.
    pub fn code(&self) -> Option<Arc<Loaded>> {
        self.slot.code()
    }

    /// Limits on its calls.
    pub fn limits(&self) -> &Limits {
        &self.runtime.limits
    }
}

impl<S: Resident + ?Sized + 'static> Lane<S> {
    /// Starts the lane's task; the instance is made by the first call.
    pub fn start(name: &'static str, owner: Arc<Owner>, open: Open<S>) -> Self {
        let (jobs, queue) = mpsc::channel(owner.runtime.limits.queue);
        let mut record = LaneRecord::new(owner.runtime.clone(), owner.slot.clone(), &owner.id, name);
        record.secrets = owner.secrets.clone();
        let worker = Worker {
            open,
            config: owner.config.clone(),
            code: owner.slot.watch(),
            record,
            live: None,
        };
        let task = tokio::spawn(worker.run(queue));
        Self {
            jobs,
            task: std::sync::Mutex::new(Some(task)),
        }
    }

    /// Does `work` in the lane's instance: the plugin's word, or the fault that kept it away. `total` bounds it even while bytes
    /// move.
    pub async fn call<T, F>(&self, total: Duration, work: F) -> Result<Result<T, S::Error>, Fault>
    where
        T: Send + 'static,
        F: for<'a> FnOnce(&'a mut S) -> BoxFuture<'a, Answer<T, S::Error>> + Send + 'static,
    {
        let (give, mut take) = oneshot::channel();
        let work: Work<S> = Box::new(move |session| {
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
            mpsc::error::TrySendError::Full(_) => Fault::Busy,
            mpsc::error::TrySendError::Closed(_) => Fault::Closed,
        })?;
        if let Err(word) = ended.await.unwrap_or(Err(Fault::Closed))? {
            return Ok(Err(word));
        }
        take.try_recv().map_err(|_| Fault::Closed)
    }

    /// Ends the lane now, the call under way included.
    pub async fn close(&self) {
        let task = self.task.lock().ignore_poison().take();
        if let Some(task) = task {
            task.abort();
            // Either it was cancelled or it had ended; afterwards its store is gone.
            let _ = task.await;
        }
    }
}

impl<S: Resident + ?Sized> Drop for Lane<S> {
    fn drop(&mut self) {
        if let Some(task) = self.task.lock().ignore_poison().take() {
            task.abort();
        }
    }
}

struct Live<S: ?Sized> {
    resident: Box<S>,
    /// Kept for as long as the instance runs it.
    _code: Arc<Loaded>,
}

struct Worker<S: Resident + ?Sized> {
    open: Open<S>,
    config: Arc<Map<String, Value>>,
    code: watch::Receiver<Option<Arc<Loaded>>>,
    record: LaneRecord,
    live: Option<Live<S>>,
}

impl<S: Resident + ?Sized + 'static> Worker<S> {
    async fn run(mut self, mut queue: mpsc::Receiver<Job<S>>) {
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
        self.record.revive();
        self.record.show(false);
    }

    /// Ends the instance in good order.
    async fn retire(&mut self) {
        if let Some(mut live) = self.live.take() {
            let state = live.resident.state();
            state.begin_call();
            let bounds = state.bounds();
            // A destructor that fails or dawdles changes nothing: the store goes either way.
            let _ = drive(&self.record.runtime, bounds, CLOSE, live.resident.close()).await;
        }
    }

    async fn serve(&mut self, job: Job<S>) {
        if job.done.is_closed() {
            return;
        }
        let answer = if job.queued.elapsed() > QUEUED {
            Err(Fault::Busy)
        } else {
            self.attempt(job.work, job.total).instrument(job.span).await
        };
        self.record.show(self.live.is_some());
        let _ = job.done.send(answer);
    }

    async fn attempt(&mut self, work: Work<S>, total: Duration) -> Result<Result<(), S::Error>, Fault> {
        self.record.admit(None)?;
        let mut live = match self.live.take() {
            Some(live) => live,
            None => match self.open().await? {
                Ok(live) => live,
                Err(word) => return Ok(Err(word)),
            },
        };
        self.record.begin();
        let state = live.resident.state();
        state.begin_call();
        let bounds = state.bounds();
        let end = drive(&self.record.runtime, bounds, total, work(&mut *live.resident)).await;
        let traces = Traces::read(live.resident.state());
        self.record.judge(end, traces, None)?;
        self.live = Some(live);
        Ok(Ok(()))
    }

    /// A new instance of the code in use, readied.
    async fn open(&mut self) -> Result<Result<Live<S>, S::Error>, Fault> {
        let code = self.code.borrow_and_update().clone();
        let code = code.ok_or_else(|| self.record.missing())?;
        let store = self.record.store(&code, &self.config, CallContext::default())?;
        let witness = Witness::new(store.data());
        let bounds = store.data().bounds();
        let runtime = self.record.runtime.clone();
        let opening = (self.open)(code.clone(), store, self.config.clone());
        let end = drive(&runtime, bounds, runtime.limits.silence, opening).await;
        let traces = witness.traces();
        match end {
            End::Well(Ok(resident)) => Ok(Ok(Live {
                resident,
                _code: code,
            })),
            End::Well(Err(word)) => Ok(Err(word)),
            End::Silent(_) | End::TooLong(_) => {
                let why = "it could not be opened in time".to_owned();
                Err(self.record.cut_off(why, true, None))
            }
            failed @ (End::Trapped(_) | End::Panicked(_)) => {
                let judged = self.record.judge(failed, traces, None);
                Err(judged.err().unwrap_or(Fault::Closed))
            }
        }
    }
}
