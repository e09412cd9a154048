//! What the jobs of orders have in common: whether the one who gave it still may, how far it is, what failed.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use qm_db::Tx;
use qm_jobs::{Capabilities, JobContext, JobError, JobHandler, JobType, Progress};
use qm_kernel::Permission;
use qm_media_names::place;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Library;
use super::scan::{ATTEMPTS, MODULE};
use crate::error::LibraryError;
use crate::model::extra::{Extra, folder_of};
use crate::model::item::Item;
use crate::model::library::MediaLibrary;
use crate::repo;
use crate::repo::copies::Lying;

/// Failures of one order that are named in its result.
const NAMED: usize = 100;
/// Warnings of one order.
const WARNINGS: usize = 20;

/// How an order stands: stored after each item, so that a server that is killed goes on with the next one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Standing {
    /// Items that were dealt with.
    pub done: usize,
    pub completed: usize,
    pub failed: usize,
    /// What failed, for people.
    pub failures: Vec<Value>,
}

impl Standing {
    /// Notes what became of an item.
    pub async fn note(
        &mut self,
        job: &JobContext,
        id: &str,
        became: Result<(), String>,
    ) -> Result<(), JobError> {
        self.done += 1;
        let Err(message) = became else {
            self.completed += 1;
            return Ok(());
        };
        self.failed += 1;
        if self.failures.len() < NAMED {
            self.failures.push(json!({ "itemId": id, "message": message }));
        }
        if self.failed <= WARNINGS {
            job.warning(&message).await?;
        }
        Ok(())
    }
}

/// How far an order is.
pub fn progress(done: usize, total: usize) -> Progress {
    let share = done as f64 / total.max(1) as f64;
    Progress {
        current: Some(done as u64),
        total: Some(total as u64),
        unit: Some("items"),
        ..Progress::percent(99.0 * share)
    }
}

pub fn job_type(key: &'static str, label_key: &'static str, handler: Arc<dyn JobHandler>) -> JobType {
    JobType {
        key,
        module: MODULE,
        workspace: Some("media"),
        label_key,
        description_key: None,
        required_permission: Some(Permission::MediaManagerView),
        // Whoever may retry jobs is not who gave the order, nor may they what it does.
        capabilities: Capabilities {
            cancellable: true,
            ..Capabilities::default()
        },
        // A server that is killed goes on with what it has not done.
        max_attempts: ATTEMPTS,
        timeout: None,
        // Two at once could each take a folder for its own.
        at_once: Some(1),
        handler,
    }
}

/// The items of an order.
pub fn ids(job: &JobContext) -> Vec<String> {
    let ids = job.input()["itemIds"].as_array();
    let ids = ids.into_iter().flatten().filter_map(Value::as_str);
    ids.map(str::to_owned).collect()
}

/// How an order stood when it was saved last.
pub fn saved<T: DeserializeOwned + Default>(job: &JobContext) -> T {
    let saved = job.checkpoint().cloned().unwrap_or_default();
    serde_json::from_value(saved).unwrap_or_default()
}

/// Saves how an order stands.
pub async fn save<T: Serialize>(job: &JobContext, state: &T) -> Result<(), JobError> {
    let saved =
        serde_json::to_value(state).map_err(|error| JobError::new("checkpoint", error.to_string()))?;
    job.save(&saved).await
}

/// Where an item lies, and what else does.
pub struct Whereabouts {
    pub item: Item,
    /// Its further files in the same library.
    pub copies: Vec<Lying>,
    /// Extras that are its alone, by its name.
    pub extras: Vec<Extra>,
    pub library: MediaLibrary,
    pub libraries: Vec<MediaLibrary>,
}

impl Library {
    /// Refuses to go on for somebody who may not any more.
    pub(super) async fn still_may(&self, job: &JobContext, needed: &[Permission]) -> Result<(), JobError> {
        let Some(user) = job.created_by() else {
            return Err(JobError::new("forbidden.account_gone", "Your account no longer exists").permanent());
        };
        for permission in needed {
            let holds = self.outside.holders.holds(user, *permission).await;
            if !holds.map_err(|error| JobError::new("unavailable.accounts", error))? {
                let message = format!("Missing permission(s): {}", permission.key());
                return Err(JobError::new("forbidden.permission", message).permanent());
            }
        }
        Ok(())
    }

    /// `None`: nobody has it any more.
    pub(super) async fn whereabouts(&self, id: &str) -> Result<Option<Whereabouts>, LibraryError> {
        let mut tx = self.db.begin_read().await?;
        let Some((item, _)) = repo::lists::find(&mut tx, id).await? else {
            return Ok(None);
        };
        let copies = repo::copies::lying(&mut tx, id, &item.library_id).await?;
        let mut extras = Vec::new();
        if let Some(folder) = folder_of(&item) {
            extras = repo::extras::of_owner(&mut tx, &item.library_id, &folder).await?;
            extras.retain(|extra| extra.same_key.is_some() && extra.is_of(&item));
        }
        let libraries = repo::libraries::all(&mut tx).await?;
        let library = libraries
            .iter()
            .find(|library| library.id == item.library_id)
            .cloned();
        Ok(library.map(|library| Whereabouts {
            item,
            copies,
            extras,
            library,
            libraries,
        }))
    }

    /// Items below a folder, by the whole library's places, unless one of them stays: one of this library or of another one that
    /// lies over it. `None` too where a library or a root lies in the folder.
    pub(super) async fn all_going(
        &self,
        at: &Whereabouts,
        folder: &str,
        going: &HashSet<String>,
    ) -> Result<Option<Vec<(String, String)>>, LibraryError> {
        let path = PathBuf::from(place::absolute(&at.library.path, folder));
        let roots = self.file_roots.iter().map(String::as_str);
        let mut tops = roots.chain(at.libraries.iter().map(|library| library.path.as_str()));
        if tops.any(|top| Path::new(top).starts_with(&path)) {
            return Ok(None);
        }
        let mut tx = self.db.begin_read().await?;
        let mut found = Vec::new();
        for library in &at.libraries {
            let Ok(below) = path.strip_prefix(&library.path) else {
                continue;
            };
            let is_this = library.id == at.library.id;
            // The same folder, as that library has it. What is not UTF-8 is compared as it is shown.
            let below = below.to_string_lossy().into_owned();
            let folder = if is_this { folder } else { &below };
            let mut rows = repo::bulk::below(&mut tx, &library.id, folder).await?;
            let copies = repo::copies::below(&mut tx, &library.id, folder).await?;
            rows.extend(copies.into_iter().map(|copy| (copy.item_id, copy.place)));
            if is_this {
                // They belong to what lies in the folder, or above.
                found.extend(self.extras_below(&mut tx, &library.id, folder).await?);
            }
            for (id, item) in rows {
                let is_in =
                    place::is_within(&item, folder) || Path::new(&place::shown(&item)).starts_with(&below);
                if !is_in {
                    continue;
                }
                if !going.contains(&id) {
                    return Ok(None);
                }
                if is_this {
                    found.push((id, item));
                }
            }
        }
        Ok(Some(found))
    }

    /// Places of the extras below a folder, each without an item.
    async fn extras_below(
        &self,
        tx: &mut Tx,
        library_id: &str,
        folder: &str,
    ) -> Result<Vec<(String, String)>, LibraryError> {
        let extras = repo::extras::below(tx, library_id, folder).await?;
        let below = extras.into_iter().filter(|extra| extra.is_all_in(folder));
        Ok(below.map(|extra| (String::new(), extra.place)).collect())
    }
}
