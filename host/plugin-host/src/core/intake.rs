//! Files to load, on their way into the catalogue: first, and all at once, whatever needs no compiling; then the
//! rest, one file after the other by name, while what is new and quick is still taken in at once.
//!
//! Bounds: a file waits once, however often it changes; nothing is read before its turn.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};

use futures_util::future::{BoxFuture, join, join_all};
use qm_lanes::IgnorePoison;
use tokio::sync::{Notify, OwnedRwLockReadGuard, watch};

use crate::core::catalog::Catalog;
use crate::core::load::{Effort, Loaded, Refusal};
use crate::core::scan::Signature;
use crate::core::status::PluginState;

/// The progress of what there is to load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Some file has not been looked at.
    Looking,
    /// All have been; some wait for the compiler.
    Compiling,
    Idle,
}

/// Files that have not been looked at.
pub(crate) struct Intake {
    waiting: Mutex<BTreeMap<String, Signature>>,
    woken: Notify,
    phase: watch::Sender<Phase>,
}

impl Intake {
    pub(crate) fn new() -> Self {
        Self {
            waiting: Mutex::default(),
            woken: Notify::new(),
            phase: watch::Sender::new(Phase::Idle),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeMap<String, Signature>> {
        self.waiting.lock().ignore_poison()
    }

    /// Brings files to be loaded.
    pub(crate) fn bring(&self, files: impl IntoIterator<Item = (String, Signature)>) {
        let mut waiting = self.waiting();
        waiting.extend(files);
        if !waiting.is_empty() {
            self.phase.send_replace(Phase::Looking);
            self.woken.notify_one();
        }
    }

    fn take(&self, otherwise: Phase) -> BTreeMap<String, Signature> {
        let mut waiting = self.waiting();
        if waiting.is_empty() {
            self.phase.send_replace(otherwise);
        }
        std::mem::take(&mut *waiting)
    }

    /// Tells whether some file has not been looked at: nothing is known of what it provides.
    pub(crate) fn is_looking(&self) -> bool {
        *self.phase.borrow() == Phase::Looking
    }

    /// Until everything brought so far has been looked at, and is in place unless it has to be compiled.
    pub(crate) async fn looked_at(&self) {
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self
            .phase
            .subscribe()
            .wait_for(|phase| *phase != Phase::Looking)
            .await;
    }

    /// Until nothing is left to be loaded.
    pub(crate) async fn idle(&self) {
        let _ = self
            .phase
            .subscribe()
            .wait_for(|phase| *phase == Phase::Idle)
            .await;
    }
}

/// Result of a file that was compiled, and the right to what was kept of it.
type Compiled = (
    String,
    Signature,
    Result<Loaded, Refusal>,
    OwnedRwLockReadGuard<()>,
);
type Compiling = BoxFuture<'static, Compiled>;

/// Takes in what is brought, until the task is ended.
pub(crate) async fn work(catalog: Arc<Catalog>) {
    let mut slow = BTreeMap::new();
    let mut compiling: Option<Compiling> = None;
    loop {
        let otherwise = if slow.is_empty() && compiling.is_none() {
            Phase::Idle
        } else {
            Phase::Compiling
        };
        let new = catalog.intake().take(otherwise);
        if !new.is_empty() {
            look_at(&catalog, new, &mut slow).await;
            continue;
        }
        if compiling.is_none()
            && let Some((name, signature)) = slow.pop_first()
        {
            compiling = Some(Box::pin(compile(catalog.clone(), name, signature)));
        }
        match &mut compiling {
            None => catalog.intake().woken.notified().await,
            Some(work) => tokio::select! {
                () = catalog.intake().woken.notified() => {}
                (name, signature, loaded, loading) = work => {
                    compiling = None;
                    catalog.settle(&name, signature, loaded, &HashMap::new()).await;
                    catalog.loaded(loading).await;
                }
            },
        }
    }
}

/// Takes in what needs no compiling, and notes the rest in `slow`.
async fn look_at(
    catalog: &Arc<Catalog>,
    new: BTreeMap<String, Signature>,
    slow: &mut BTreeMap<String, Signature>,
) {
    let loading = catalog.loading().await;
    let load = async |(name, signature): (String, Signature)| {
        let loaded = catalog.load(&name, Effort::Quick).await;
        (name, signature, loaded)
    };
    let (all, owners) = join(join_all(new.into_iter().map(load)), catalog.owners()).await;
    for (name, signature, loaded) in all {
        slow.remove(&name);
        let waits = matches!(&loaded, Err(refusal) if refusal.state == PluginState::Compiling);
        catalog.settle(&name, signature, loaded, &owners).await;
        if waits {
            slow.insert(name, signature);
        }
    }
    catalog.loaded(loading).await;
}

/// Compiles one file. It is not taken in here: nobody goes on with this while other files are being taken in.
async fn compile(catalog: Arc<Catalog>, name: String, signature: Signature) -> Compiled {
    let loading = catalog.loading().await;
    let loaded = catalog.load(&name, Effort::Full).await;
    (name, signature, loaded, loading)
}
