//! Repair of films that share an id though they lie in folders of their own.
//!
//! Each folder is asked about once, by its name. No id is deleted because a provider that might know the film did not
//! answer. Bounds: [`FOLDERS`] folders at once, one preview at a time; ids of one item a transaction.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Weak};

use async_trait::async_trait;
use qm_jobs::{Done, JobContext, JobError, JobHandler, JobType, NewJob};
use qm_kernel::{Caller, Permission, Timestamp};
use qm_media::LibraryError;
use qm_media::model::external::{ExternalId, TITLEDB, page};
use qm_media::model::library::paths;
use qm_media::model::titles::picked;
use qm_media::repo;
use qm_media::service::jobs::{self, in_service, stopped};
use qm_media_names::place;
use qm_ports::metadata::{Lookup, LookupKind};
use qm_ports::titledb::{TitleKind, TitleQuestion};
use qm_titles::{Picked, turned};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Identification;
use crate::model::repair::{Action, Film, Held, Ids, Preview, Proposal, Repaired, film_of};
use crate::repo::repair;

/// Type of the jobs.
pub const TYPE: &str = "media.identity_repair";
const NEEDED: Permission = Permission::MediaManagerManageLibraries;
/// Most folders of one preview or repair.
const FOLDERS: usize = 500;

pub fn job_type(room: &Arc<Identification>) -> JobType {
    let handler = Arc::new(Repairing(Arc::downgrade(room)));
    jobs::job_type(TYPE, "jobs.type.media.identity_repair", handler)
}

struct Repairing(Weak<Identification>);

#[derive(Default, Serialize, Deserialize)]
struct State {
    #[serde(flatten)]
    repaired: Repaired,
}

#[async_trait]
impl JobHandler for Repairing {
    async fn run(&self, job: &JobContext) -> Result<Done, JobError> {
        in_service(&self.0)?.repair(job).await
    }
}

impl Identification {
    /// Preview of a repair; nothing is changed.
    pub async fn preview_repair(&self) -> Result<Preview, LibraryError> {
        let (contaminated, folders) = self.held().await?;
        let mut proposals = Vec::new();
        for (at, held) in folders.into_values().enumerate() {
            proposals.extend(self.judge_folder(at, held).await?);
        }
        Ok(Preview {
            contaminated,
            proposals,
        })
    }

    /// Starts a job that gives films the ids of their folders, and waits for it. A second request of the same person
    /// meanwhile joins the same job.
    pub async fn apply_repair(&self, caller: Caller<'_>) -> Result<Repaired, LibraryError> {
        let mut tx = self.db.begin_write().await?;
        let actor = self.rights.judge(&mut tx, caller, NEEDED).await?;
        let mut entry = actor.entry("media.repair.movie_identity", caller.client);
        entry.object_type = Some("media_library");
        self.audit.record(&mut tx, entry).await?;
        let job = NewJob {
            created_by: Some(actor.user_id().to_owned()),
            idempotency_key: Some(format!("{TYPE}:{}", actor.user_id())),
            ..NewJob::new(TYPE, json!({}))
        };
        let job = self.jobs.enqueue(&mut tx, job).await?;
        tx.commit().await?;
        self.jobs.announce(&job);
        jobs::result_of(&self.jobs, job.id()).await
    }

    async fn repair(&self, job: &JobContext) -> Result<Done, JobError> {
        let mut state: State = jobs::saved(job);
        let (_, folders) = self.held().await?;
        let total = folders.len();
        // Unchanged items are counted anew by each attempt; replaced ones are not found again.
        state.repaired.unchanged = 0;
        for (at, held) in folders.into_values().enumerate() {
            if job.is_cancelled() {
                return Err(stopped());
            }
            let proposals = self.judge_folder(at, held).await?;
            for proposal in &proposals {
                self.rights.check_order(job, &[NEEDED]).await?;
                if proposal.action == Action::Unchanged || !self.mend(proposal).await? {
                    state.repaired.unchanged += 1;
                } else if proposal.action == Action::Clear {
                    state.repaired.cleared += 1;
                } else {
                    state.repaired.reidentified += 1;
                }
                jobs::save(job, &state).await?;
            }
            job.progress(jobs::progress(at + 1, total)).await?;
        }
        let result = serde_json::to_value(&state.repaired);
        Ok(Done::result(
            result.map_err(|error| JobError::new("result", error.to_string()))?,
        ))
    }

    /// Replaces the ids of an item; `false`: its ids have changed, or it is locked, or gone.
    async fn mend(&self, proposal: &Proposal) -> Result<bool, LibraryError> {
        let held = &proposal.held;
        let mut tx = self.db.begin_write().await?;
        let now = by_provider(repo::external::of_item(&mut tx, &held.item_id).await?);
        if now != held.current || !repair::clear(&mut tx, &held.item_id, self.ctx.now()).await? {
            return Ok(false);
        }
        for (provider, id) in &proposal.proposed {
            let external = ExternalId {
                id: self.ctx.id(),
                item_id: held.item_id.clone(),
                url: page(provider, id, false),
                provider: provider.clone(),
                value: id.clone(),
                is_derived: true,
            };
            repo::external::put(&mut tx, &external).await?;
        }
        tx.commit().await?;
        Ok(true)
    }

    /// Number of ids that several folders hold, and the items that hold them, by their folders.
    async fn held(&self) -> Result<(usize, BTreeMap<String, Vec<Held>>), LibraryError> {
        let mut tx = self.db.begin_read().await?;
        let paths = paths(repo::libraries::all(&mut tx).await?);
        let rows = repair::held(&mut tx).await?;
        let ids: BTreeSet<&str> = rows.iter().map(|row| &*row.id).collect();
        let ids: Vec<&str> = ids.into_iter().collect();
        let mut current = repo::external::of_items(&mut tx, &ids).await?;
        drop(tx);
        let folder = |row: &repair::HeldId| {
            let library = paths.get(&row.library_id)?;
            Some(place::absolute(library, &place::parent(&row.place)?))
        };
        // A library may lie in another one: the same folder has two rows then.
        let mut holders: HashMap<(&str, &str), BTreeSet<String>> = HashMap::new();
        for row in &rows {
            if let Some(folder) = folder(row) {
                let of = holders.entry((&row.provider, &row.external_id)).or_default();
                of.insert(folder);
            }
        }
        holders.retain(|_, folders| folders.len() > 1);
        let mut found: BTreeMap<String, Vec<Held>> = BTreeMap::new();
        for row in &rows {
            if !holders.contains_key(&(&*row.provider, &*row.external_id)) {
                continue;
            }
            // Each item once, even if it holds several ids.
            let (Some(folder), Some(ids)) = (folder(row), current.remove(&row.id)) else {
                continue;
            };
            let library = paths.get(&row.library_id).map_or("", String::as_str);
            found.entry(folder.clone()).or_default().push(Held {
                item_id: row.id.clone(),
                locked: row.locked,
                path: place::absolute(library, &row.place),
                folder,
                current: by_provider(ids),
            });
        }
        Ok((holders.len(), found))
    }

    /// Proposals for the items of a folder, which is number `at` of all.
    async fn judge_folder(&self, at: usize, all: Vec<Held>) -> Result<Vec<Proposal>, LibraryError> {
        let folder = all.first().map(|held| held.folder.clone()).unwrap_or_default();
        let name = folder.rsplit('/').next().unwrap_or_default();
        let named = film_of(name, this_year(self.ctx.now()));
        let film = if at >= FOLDERS {
            Film::Unasked(format!(
                "{FOLDERS} folders are asked about at once: repair again for this one."
            ))
        } else if all.iter().all(|held| held.locked) {
            Film::Unasked("The item is locked.".to_owned())
        } else {
            // The semaphore is never closed.
            let _turn = self.repairs.acquire().await;
            self.film_named(&named.0, named.1).await?
        };
        let proposals = all
            .into_iter()
            .map(|held| Proposal::new(held, named.clone(), &film));
        Ok(proposals.collect())
    }

    /// Film that a title and a year mean, according to the providers of films; without providers, according to the data set.
    async fn film_named(&self, title: &str, year: Option<i64>) -> Result<Film, LibraryError> {
        if title.is_empty() {
            return Ok(Film::Unasked("Its folder has no name to look for.".to_owned()));
        }
        if self.metadata.chain(LookupKind::Movie).await?.is_empty() {
            return self.film_of_titles(title, year).await;
        }
        let lookup = Lookup {
            kind: LookupKind::Movie,
            title: title.to_owned(),
            year: year.and_then(|year| u32::try_from(year).ok()),
            season: None,
            episode: None,
            ids: Vec::new(),
        };
        let told = self.metadata.details(&lookup).await?;
        let ids: Ids = told
            .metadata
            .into_iter()
            .flat_map(|metadata| metadata.ids)
            .map(|id| (id.source, id.id))
            .collect();
        Ok(if !ids.is_empty() {
            Film::Known(ids)
        } else if let Some(silent) = told.silent.first() {
            Film::Unasked(format!("{} did not answer: {}", silent.provider, silent.reason))
        } else if told.ambiguous.len() > 1 {
            Film::Ambiguous(told.ambiguous.into_iter().map(|id| (id.source, id.id)).collect())
        } else {
            Film::Unknown
        })
    }

    async fn film_of_titles(&self, title: &str, year: Option<i64>) -> Result<Film, LibraryError> {
        let titles = &self.titles;
        let Some(edition) = titles.edition().await? else {
            let reason = "Nobody can be asked: no provider has a key, and no titledb data set is imported.";
            return Ok(Film::Unasked(reason.to_owned()));
        };
        let question = TitleQuestion {
            title: turned(title).into_owned(),
            year,
            kind: Some(TitleKind::Movie),
        };
        let found = titles.search(&question).await?;
        if titles.edition().await?.as_ref() != Some(&edition) {
            return Ok(Film::Unasked(
                "The titledb data set was replaced meanwhile.".to_owned(),
            ));
        }
        let id = |at: usize| (TITLEDB.to_owned(), found[at].title.id.clone());
        Ok(match picked(title, year, &found) {
            Picked::One(at) => Film::Known(Ids::from([id(at)])),
            Picked::Ambiguous(several) => Film::Ambiguous(several.into_iter().map(id).collect()),
            // The imported data set may be incomplete.
            Picked::None => Film::Unasked("The titledb data set does not know the film.".to_owned()),
        })
    }
}

/// Year of a time, computed with years of the mean length.
fn this_year(now: Timestamp) -> i64 {
    1970 + now.ms().div_euclid(31_556_952_000)
}

fn by_provider(ids: Vec<ExternalId>) -> Ids {
    ids.into_iter().map(|id| (id.provider, id.value)).collect()
}
