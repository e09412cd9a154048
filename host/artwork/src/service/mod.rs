//! Use cases of this area.

mod actions;
mod choose;
mod given;
mod help;
mod import;
mod known;
mod list;
mod looks;
mod serve;
mod subtitles;
mod sweep;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use qm_confined::Roots;
use qm_db::Tx;
use qm_jobs::{JobType, Jobs};
use qm_kernel::{Caller, Permission};
use qm_net::{GuardError, GuardKind, Net};
use qm_platform::{Actor, AuditEntry, Ground, judge_alone};
use qm_ports::metadata::MetadataChain;
use qm_ports::subjects::{MediaSubjects, SubjectItem, SubjectShow};
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::error::ArtworkError;
use crate::model::Owner;
use crate::model::picture::MAX_GIVEN;
use crate::ops::cache::Cache;

pub use given::Upload;
pub use import::{JOB, PROVIDER};
pub use list::Listed;

/// Permission of whoever has subtitles looked for.
pub const NEEDED_FOR_SUBTITLES: Permission = Permission::MediaManagerManageSubtitles;
/// Permission of whoever changes pictures.
pub const NEEDED: Permission = Permission::MediaManagerManageArtwork;
/// Time limit for the fetching of one picture.
const FETCHING: Duration = Duration::from_secs(15);

/// Largest number of given pictures in memory.
const IN_HAND: usize = 8;

/// Fetcher of pictures from providers.
#[async_trait]
pub trait Fetch: Send + Sync {
    /// Bytes at an address, which the rules for addresses of strangers allow.
    async fn fetch(&self, url: &str) -> Result<Bytes, GuardError>;
}

#[async_trait]
impl Fetch for Net {
    async fn fetch(&self, url: &str) -> Result<Bytes, GuardError> {
        self.fetch_guarded(url, GuardKind::Url, MAX_GIVEN, FETCHING).await
    }
}

/// Parts of the server that this area works with.
pub struct ArtworkDeps<'a> {
    pub ground: Ground,
    /// Storage roots; files elsewhere are not looked at.
    pub roots: Roots,
    pub data_dir: &'a Path,
    pub subjects: Arc<dyn MediaSubjects>,
    pub providers: Arc<dyn MetadataChain>,
    pub fetch: Arc<dyn Fetch>,
    pub jobs: Jobs,
}

/// Pictures of items and shows.
pub struct ArtworkArea {
    ground: Ground,
    roots: Roots,
    cache: Arc<Cache>,
    subjects: Arc<dyn MediaSubjects>,
    providers: Arc<dyn MetadataChain>,
    fetch: Arc<dyn Fetch>,
    jobs: Jobs,
    /// Places for given pictures, which are in memory until their file is written.
    in_hand: Semaphore,
}

impl ArtworkArea {
    pub fn new(deps: ArtworkDeps<'_>) -> Arc<Self> {
        deps.jobs.register(JobType::hosted(
            JOB,
            "media_manager",
            "jobs.type.media.artwork_fetch",
            Some(Permission::MediaManagerView),
        ));
        Arc::new(Self {
            ground: deps.ground,
            roots: deps.roots,
            cache: Arc::new(Cache::new(deps.data_dir, Cache::BYTES)),
            subjects: deps.subjects,
            providers: deps.providers,
            fetch: deps.fetch,
            jobs: deps.jobs,
            in_hand: Semaphore::new(IN_HAND),
        })
    }

    async fn find_item(&self, id: &str) -> Result<SubjectItem, ArtworkError> {
        let found = self.subjects.find_item(id).await?;
        found.ok_or(ArtworkError::NoSuchItem)
    }

    async fn find_show(&self, id: &str) -> Result<SubjectShow, ArtworkError> {
        let found = self.subjects.find_show(id).await?;
        found.ok_or(ArtworkError::NoSuchShow)
    }

    /// Refuses a caller who lost the right, before anything is done for them.
    async fn check(&self, caller: Caller<'_>) -> Result<(), ArtworkError> {
        self.check_right(caller, NEEDED).await
    }

    async fn check_right(&self, caller: Caller<'_>, needed: Permission) -> Result<(), ArtworkError> {
        let ground = &self.ground;
        let judged = judge_alone(&*ground.acting, &ground.db, caller.principal, &[needed]).await;
        Ok(judged.map(drop)?)
    }

    /// Commits a change with its audit row.
    async fn commit(
        &self,
        mut tx: Tx,
        caller: Caller<'_>,
        actor: &Actor,
        (action, owner): (&'static str, &Owner),
        metadata: Value,
    ) -> Result<(), ArtworkError> {
        let entry = AuditEntry {
            object_type: Some(owner.object_type()),
            object_id: Some(owner.id().to_owned()),
            metadata: Some(metadata),
            ..actor.entry(action, caller.client)
        };
        self.ground.audit.record(&mut tx, entry).await?;
        Ok(tx.commit().await?)
    }
}

/// The error of an owner that is gone.
fn no_such(owner: &Owner) -> ArtworkError {
    match owner {
        Owner::Item(_) => ArtworkError::NoSuchItem,
        Owner::Show(_) => ArtworkError::NoSuchShow,
    }
}

/// True for an episode.
fn is_episode(item: &SubjectItem) -> bool {
    item.episode.is_some() || is_of_show(item)
}

/// True for an item of a show.
fn is_of_show(item: &SubjectItem) -> bool {
    matches!(item.media_type.as_str(), "tv" | "anime" | "episode")
}
