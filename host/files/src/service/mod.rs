//! The area's use cases. [`Files`] is what the server wires; the routes call it.
//!
//! File system work runs on the threads of [`Workers`]; nothing here opens a path that [`Base`] has not resolved.
//! What changes files cannot be part of a transaction, so each change is ordered to leave, at any crash, the item at its
//! old place, at its new one, or in the trash with a record; [`reconcile`] settles what a crash left open.

mod batch;
mod browse;
mod cleanup;
mod conflicts;
mod data;
mod delete;
mod discard;
mod linked;
mod notes;
mod operations;
mod preview;
mod reconcile;
mod resolve;
mod root;
mod single;
mod stream;
mod tell;
mod transfer;
mod trash;
mod work;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use qm_db::Db;
use qm_jobs::Jobs;
use qm_kernel::{Ctx, Requester, Secret};
use qm_platform::{Acting, Audit, Ground, Settings};
use qm_ports::{Holders, TorrentPayloads};
use qm_realtime::Hub;
use qm_web::{Auth, HungUp};
use tokio_util::sync::CancellationToken;

pub use tell::EVENTS;

use self::notes::Journal;
use self::operations::Operations;
use crate::dto::requests::TorrentAction;
use crate::error::FilesError;
use crate::settings::DEFAULT_ROOT_PATH;
use qm_confined::{Base, OwnPlace, Roots};
use qm_file_contents::Tickets;
use qm_file_operations::{Control, Lane, Workers};
use qm_lanes::IgnorePoison;

/// Configuration of links that stream files.
#[derive(Clone)]
pub struct StreamConfig {
    /// Secret of the access tokens, from which the key of media tickets is derived.
    pub signing: Secret,
    /// `CORS_ORIGINS`, whose pages may show a file in a frame.
    pub cors_origins: Vec<String>,
}

/// The parts of the server that this area works with.
pub struct FilesDeps {
    pub ground: Ground,
    /// Every operation is one of them; their types are registered here.
    pub jobs: Jobs,
    pub hub: Hub,
    /// Port that lists the torrents whose data lies at a path.
    pub payloads: Arc<dyn TorrentPayloads>,
    /// Port that tells if the user of a ticket may still see files.
    pub holders: Arc<dyn Holders>,
    pub streaming: StreamConfig,
    /// `FILE_MANAGER_ROOTS`
    pub file_roots: Vec<String>,
    /// The server's own places, which are never shown, wherever they lie.
    pub own: Vec<OwnPlace>,
}

/// User who asks to read; the work stops when the connection closes.
#[derive(Clone, Debug)]
pub struct Looker {
    pub auth: Auth,
    pub hung_up: HungUp,
}

impl Looker {
    /// Id of the user; it limits the walks of one user.
    fn user(&self) -> &str {
        &self.auth.0.user_id
    }

    /// Control that cancels a look when the caller has hung up.
    fn control(&self) -> Control {
        Control::quiet(self.hung_up.0.clone())
    }
}

/// The file manager.
pub struct Files {
    db: Db,
    settings: Settings,
    audit: Audit,
    acting: Arc<dyn Acting>,
    hub: Hub,
    ctx: Ctx,
    payloads: Arc<dyn TorrentPayloads>,
    holders: Arc<dyn Holders>,
    tickets: Tickets,
    frame_ancestors: String,
    roots: Roots,
    /// Roots that are links: as configured, and where they lead.
    aliases: Vec<(PathBuf, PathBuf)>,
    workers: Workers,
    operations: Arc<Operations>,
    /// Cancelled when the server stops: ends work that no caller can cancel.
    stopping: CancellationToken,
    journal: Arc<Journal>,
    /// Lock held during a sweep of the trash: one sweep at a time.
    sweeping: tokio::sync::Mutex<()>,
    /// The reason why the Default Root Path was passed over, as last logged.
    passed_over: Arc<Mutex<Option<String>>>,
}

impl Files {
    pub fn new(deps: FilesDeps) -> Arc<Self> {
        let frame_ancestors = deps
            .streaming
            .cors_origins
            .iter()
            .fold("'self'".to_owned(), |list, origin| {
                format!("{list} {}", origin.trim())
            });
        let roots = Roots::hiding(&deps.file_roots, &deps.own);
        let journal = Journal::new(deps.ground.db.clone(), deps.ground.ctx.clone());
        Arc::new(Self {
            tickets: Tickets::new(&deps.streaming.signing),
            frame_ancestors,
            aliases: roots.aliases(),
            roots,
            workers: Workers::under(deps.ground.db.mandate()),
            operations: Operations::new(
                deps.jobs,
                deps.ground.ctx.clone(),
                deps.hub.clone(),
                journal.clone(),
            ),
            stopping: CancellationToken::new(),
            journal,
            sweeping: tokio::sync::Mutex::default(),
            passed_over: Arc::default(),
            db: deps.ground.db,
            settings: deps.ground.settings,
            audit: deps.ground.audit,
            acting: deps.ground.acting,
            hub: deps.hub,
            ctx: deps.ground.ctx,
            payloads: deps.payloads,
            holders: deps.holders,
        })
    }

    /// Tells running operations to stop: each leaves its old state or its new one.
    pub fn stop(&self) {
        self.stopping.cancel();
        self.operations.cancel_all();
    }

    /// Has operations give up, and waits until they have.
    pub async fn shutdown(&self) {
        self.operations.stop_all().await;
    }

    /// The Default Root Path as it is stored; `None` when there is none.
    async fn configured_root(&self) -> Result<Option<String>, FilesError> {
        let mut tx = self.db.begin_read().await?;
        let stored = self.settings.get(&mut tx, &DEFAULT_ROOT_PATH).await?;
        Ok(Some(stored.trim().to_owned()).filter(|path| !path.is_empty()))
    }

    /// Runs a look below the root in effect, which is given up when the caller hangs up.
    async fn look<T: Send + 'static>(
        &self,
        lane: Lane<'_>,
        looker: &Looker,
        work: impl FnOnce(&Base, &Control) -> Result<T, FilesError> + Send + 'static,
    ) -> Result<T, FilesError> {
        let control = looker.control();
        self.on_disk(lane, move |base| {
            // It may have waited for its place.
            control.check()?;
            work(base, &control)
        })
        .await
    }

    /// Runs file system work below the root in effect.
    async fn on_disk<T: Send + 'static>(
        &self,
        lane: Lane<'_>,
        work: impl FnOnce(&Base) -> Result<T, FilesError> + Send + 'static,
    ) -> Result<T, FilesError> {
        let configured = self.configured_root().await?;
        let roots = self.roots.clone();
        let passed_over = Arc::clone(&self.passed_over);
        self.workers
            .run(lane, move || {
                let (base, refusal) = roots.base(configured.as_deref());
                let refusal = refusal.map(|error| error.to_string());
                let mut logged = passed_over.lock().ignore_poison();
                if let Some(reason) = refusal.as_ref().filter(|_| *logged != refusal) {
                    tracing::warn!(reason, "the Default Root Path is not usable and is passed over");
                }
                *logged = refusal;
                drop(logged);
                work(&base)
            })
            .await
    }
}

/// The lane of an operation on one item: a tree takes long.
fn lane_of(is_directory: bool) -> Lane<'static> {
    if is_directory { Lane::Long } else { Lane::Quick }
}

/// Checks that the caller has the permission for the torrent action of a delete.
fn check_torrent_action(caller: &Requester, action: TorrentAction) -> Result<(), FilesError> {
    if action
        .permission()
        .is_none_or(|needed| caller.principal.has_permission(needed))
    {
        return Ok(());
    }
    match action {
        TorrentAction::Keep => Ok(()),
        TorrentAction::Stop => Err(FilesError::MayNotStopTorrent),
        TorrentAction::StopAndDelete => Err(FilesError::MayNotDeletePayload),
    }
}
