//! Use cases of this area.

mod places;
mod upkeep;
mod work;

use std::sync::Arc;

use bytes::Bytes;
use qm_confined::{RelPath, Roots};
use qm_db::DbError;
use qm_jobs::{Ending, Jobs, JobsError, NewJob, Standing, Visibility};
use qm_kernel::{Caller, PageQuery, Permission, Principal, as_error};
use qm_metainfo::create::Format;
use qm_platform::{AuditEntry, Ground};
use qm_ports::DefaultRoot;
use qm_ports::intake::IntakeError;
use qm_ports::seed::{SeedIntake, SeedWish};
use serde_json::json;

use crate::error::CreatedError;
use crate::model::{CreatedTorrent, KEPT, MAX_ACTIVE, Seeding, State, Wish, format_word};
use crate::repo;
#[cfg(test)]
pub use work::SEED_ATTEMPTS;

/// Jobs that a worker runs at once.
pub const AT_ONCE: usize = 2;
/// Permissions of whoever creates torrents: to add torrents, and to see the files they are made of.
pub const NEEDED: &[Permission] = &[Permission::TorrentsAdd, Permission::FilesView];
/// Module of the jobs.
const MODULE: &str = "torrents";
const OBJECT: &str = "created_torrent";
/// Rows that a clean-up deletes at once: each may have a file of many megabytes.
const AT_A_TIME: usize = 10;

/// The parts of the server that this area works with.
pub struct Deps {
    pub ground: Ground,
    /// The type of the jobs is registered here.
    pub jobs: Jobs,
    pub seeds: Arc<dyn SeedIntake>,
    pub default_root: Arc<dyn DefaultRoot>,
    /// Roots of the file manager.
    pub roots: Roots,
}

/// Created torrents of all users.
pub struct CreatedTorrents {
    ground: Ground,
    jobs: Jobs,
    seeds: Arc<dyn SeedIntake>,
    default_root: Arc<dyn DefaultRoot>,
    roots: Roots,
}

impl CreatedTorrents {
    pub fn new(deps: Deps) -> Arc<Self> {
        let created = Arc::new(Self {
            ground: deps.ground,
            jobs: deps.jobs,
            seeds: deps.seeds,
            default_root: deps.default_root,
            roots: deps.roots,
        });
        created.jobs.register(work::job_type(&created));
        created
    }

    /// Stores a wish and its job.
    pub async fn create_torrent(
        &self,
        caller: Caller<'_>,
        rel: RelPath,
        wish: Wish,
    ) -> Result<CreatedTorrent, CreatedError> {
        let place = self.look_up(rel).await?;
        self.check_engine(&wish, place.is_folder)?;
        if wish.engine_id.is_some() {
            self.check_directory(place.directory).await?;
        }
        self.settle_user(&caller.principal.user_id).await?;
        let mut tx = self.ground.db.begin_write().await?;
        // The lock on the caller's row makes the count hold until the commit.
        let actor = self
            .ground
            .acting
            .judge(&mut tx, caller.principal, NEEDED)
            .await?;
        if repo::count_active(&mut tx, actor.user_id()).await? >= MAX_ACTIVE {
            return Err(CreatedError::TooMany);
        }
        let pruned = repo::prune_user(&mut tx, actor.user_id(), KEPT - 1, AT_A_TIME).await?;
        let id = self.ground.ctx.ordered_id();
        let name = wish.name.unwrap_or(place.name);
        let job = NewJob {
            name: Some(name.clone()),
            resource: Some((OBJECT.to_owned(), id.clone())),
            created_by: Some(actor.user_id().to_owned()),
            visibility: Visibility::Own,
            ..NewJob::new(work::TYPE, json!({ "createdId": id }))
        };
        let enqueued = self.jobs.enqueue(&mut tx, job).await?;
        let created = CreatedTorrent {
            user_id: actor.user_id().to_owned(),
            job_id: enqueued.id().to_owned(),
            state: State::Queued,
            name,
            root: place.root,
            path: place.path,
            format: wish.format,
            is_private: wish.is_private,
            facts: None,
            seeding: wish.engine_id.map(Seeding::pending),
            error: None,
            created_at: self.ground.ctx.now(),
            ended_at: None,
            id,
        };
        repo::add(&mut tx, &created, &wish.choices).await?;
        let engine_id = created.seeding.as_ref().map(|seeding| &seeding.engine_id);
        let entry = AuditEntry {
            object_type: Some(OBJECT),
            object_id: Some(created.id.clone()),
            metadata: Some(json!({
                "name": created.name, "path": created.path, "format": format_word(created.format), "engineId": engine_id,
            })),
            ..actor.entry("torrents.created.create", caller.client)
        };
        self.ground.audit.record(&mut tx, entry).await?;
        tx.commit().await?;
        self.jobs.announce(&enqueued);
        if pruned == AT_A_TIME as u64 {
            self.prune_user(&created.user_id).await;
        }
        Ok(created)
    }

    /// Deletes what is left of the oldest torrents of a user. What fails is left to the next time.
    async fn prune_user(&self, user_id: &str) {
        let prune_some = async || {
            let mut tx = self.ground.db.begin_write().await?;
            let pruned = repo::prune_user(&mut tx, user_id, KEPT - 1, AT_A_TIME).await?;
            tx.commit().await?;
            Ok::<_, DbError>(pruned)
        };
        loop {
            match prune_some().await {
                Ok(pruned) if pruned == AT_A_TIME as u64 => {}
                Ok(_) => return,
                Err(error) => {
                    let error = as_error(&error);
                    tracing::warn!(error, "the oldest created torrents of a user cannot be forgotten");
                    return;
                }
            }
        }
    }

    /// Refuses a wish that its engine would refuse.
    fn check_engine(&self, wish: &Wish, is_folder: bool) -> Result<(), CreatedError> {
        let Some(engine_id) = &wish.engine_id else {
            return Ok(());
        };
        let asked = SeedWish {
            engine_id: engine_id.clone(),
            category: wish.choices.category.clone(),
            tags: wish.choices.tags.clone(),
            start_paused: wish.choices.start_paused,
        };
        let engine = self.seeds.check_wish(&asked).map_err(refuse_seed)?;
        let Some(engine) = engine else {
            return Err(CreatedError::NoSuchEngine(engine_id.clone()));
        };
        let has_padding = is_folder && wish.format == Format::Hybrid;
        if has_padding && !engine.knows_v2 {
            return Err(CreatedError::HybridFolder(engine.name));
        }
        Ok(())
    }

    /// A page of the caller's torrents, the newest first, and the number of all.
    pub async fn list_created(
        &self,
        principal: &Principal,
        page: PageQuery,
    ) -> Result<(Vec<CreatedTorrent>, u64), CreatedError> {
        self.settle_user(&principal.user_id).await?;
        let mut tx = self.ground.db.begin_read().await?;
        Ok(repo::read_page(&mut tx, &principal.user_id, page).await?)
    }

    /// A torrent of the caller.
    pub async fn find_created(
        &self,
        principal: &Principal,
        id: &str,
    ) -> Result<CreatedTorrent, CreatedError> {
        self.settle_user(&principal.user_id).await?;
        let mut tx = self.ground.db.begin_read().await?;
        let created = repo::find(&mut tx, id).await?;
        created
            .filter(|created| *created.user_id == *principal.user_id)
            .ok_or(CreatedError::NoSuchTorrent)
    }

    /// The file of a torrent of the caller, and its name without an extension.
    pub async fn read_file(&self, principal: &Principal, id: &str) -> Result<(String, Bytes), CreatedError> {
        let created = self.find_created(principal, id).await?;
        if !created.state.is_made() {
            return Err(CreatedError::NotMade(created.state));
        }
        let mut tx = self.ground.db.begin_read().await?;
        let file = repo::read_file(&mut tx, id).await?;
        Ok((created.name, file.ok_or(CreatedError::NoSuchTorrent)?.into()))
    }

    /// Deletes a torrent of the caller and stops its job; returns what it was.
    pub async fn remove_created(&self, caller: Caller<'_>, id: &str) -> Result<CreatedTorrent, CreatedError> {
        let mut tx = self.ground.db.begin_write().await?;
        // Who may add torrents no more may still delete theirs.
        let needed = &[Permission::TorrentsView];
        let actor = self
            .ground
            .acting
            .judge(&mut tx, caller.principal, needed)
            .await?;
        let created = repo::find(&mut tx, id).await?;
        let created = created
            .filter(|created| created.user_id == actor.user_id())
            .ok_or(CreatedError::NoSuchTorrent)?;
        if created.state.is_active() {
            self.jobs
                .cancel_of(&mut tx, caller, MODULE, &created.job_id)
                .await?;
        }
        repo::remove(&mut tx, actor.user_id(), id).await?;
        let entry = AuditEntry {
            object_type: Some(OBJECT),
            object_id: Some(created.id.clone()),
            metadata: Some(json!({ "name": created.name, "state": created.state.as_str() })),
            ..actor.entry("torrents.created.delete", caller.client)
        };
        self.ground.audit.record(&mut tx, entry).await?;
        tx.commit().await?;
        Ok(created)
    }

    /// Ends the torrents of a user whose jobs ended without saying so.
    async fn settle_user(&self, user_id: &str) -> Result<(), CreatedError> {
        let active = repo::list_active(&mut self.ground.db.begin_read().await?, user_id).await?;
        self.settle(active).await
    }

    /// Ends these torrents where their jobs were cancelled, or ended without saying so.
    async fn settle(&self, active: Vec<CreatedTorrent>) -> Result<(), CreatedError> {
        for created in active {
            let mut tx = self.ground.db.begin_read().await?;
            let standing = self.jobs.standing(&mut tx, &created.job_id).await?;
            drop(tx);
            let why = match standing {
                Some(Standing::Active) => continue,
                Some(Standing::Cancelled) => None,
                Some(Standing::Ended) => Some(self.reason_of_end(&created.job_id).await?),
                None => Some("Its job is gone: create the torrent again".to_owned()),
            };
            self.close_early(&created.id, why).await?;
        }
        Ok(())
    }

    /// The reason for which an ended job made no torrent.
    async fn reason_of_end(&self, job_id: &str) -> Result<String, JobsError> {
        Ok(match self.jobs.ended(job_id).await? {
            Ending::Failed(why) => why,
            Ending::Completed | Ending::Cancelled => {
                "Its job ended early: create the torrent again".to_owned()
            }
        })
    }

    /// Ends a torrent before its time; without a reason it was cancelled. A file that is made is kept.
    async fn close_early(&self, id: &str, why: Option<String>) -> Result<(), CreatedError> {
        let mut tx = self.ground.db.begin_write().await?;
        // Its job may have gone on meanwhile.
        let Some(now) = repo::find(&mut tx, id).await? else {
            return Ok(());
        };
        let cancelled = match now.state {
            State::Seeding => "Cancelled while it was being added: look whether the engine lists it",
            _ => "Cancelled before it was added",
        };
        let text = why.clone().unwrap_or_else(|| cancelled.to_owned());
        let seeding = now.seeding.map(|seeding| seeding.failed(text));
        let (state, error) = match (now.state, why) {
            (State::Seeding, _) => (State::Completed, None),
            (_, None) => (State::Cancelled, None),
            (_, why) => (State::Failed, why),
        };
        let at = self.ground.ctx.now();
        repo::close(&mut tx, &now.id, state, error.as_deref(), seeding.as_ref(), at).await?;
        tx.commit().await?;
        Ok(())
    }
}

fn refuse_seed(error: IntakeError) -> CreatedError {
    match error {
        IntakeError::Engine(text) => CreatedError::Engine(text),
        other => CreatedError::Seed(other.to_string()),
    }
}
