//! Repair of names with `[dupN]`: the plain name comes back when the file that had it is gone.
//!
//! The index follows by the events of the renames. A file that a torrent uses keeps its name: its client would lose it.

use qm_kernel::{Caller, Requester, as_error};
use qm_platform::{ActingError, AuditResult};
use qm_ports::inventory::StockItem;
use qm_ports::trash::{Sight, TrashError};
use serde_json::json;

use super::{Duplicates, RENAME};
use crate::error::DuplicatesError;
use crate::model::{MARK, StoredPlan, plain_stem};

/// Items read at once.
const PAGE: usize = 500;
/// Most files that an answer names.
const MOST_TOLD: usize = 1000;

/// A file that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    pub item_id: String,
    pub from: String,
    /// New path; `None`: it keeps its name.
    pub to: Option<String>,
    pub reason: Option<String>,
}

/// The result of a repair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    pub scanned: usize,
    pub restored: usize,
    pub skipped: usize,
    pub details: Vec<Repaired>,
}

impl Duplicates {
    /// Gives files their plain names back, or with `is_dry` only says which.
    pub async fn restore_suffixes(
        &self,
        caller: Caller<'_>,
        is_dry: bool,
    ) -> Result<Repair, DuplicatesError> {
        self.judge(caller, &[RENAME]).await?;
        let _turn = self.repairing.lock().await;
        let mut repair = Repair::default();
        let mut after = String::new();
        loop {
            let items = self.stock.list_with(MARK, &after, PAGE).await?;
            let Some(last) = items.last() else { break };
            after.clone_from(&last.id);
            for item in &items {
                if self.stopping.is_cancelled() {
                    break;
                }
                // Their right may be taken in the middle of many files.
                if !is_dry {
                    self.judge(caller, &[RENAME]).await?;
                }
                self.repair_item(caller, item, is_dry, &mut repair).await?;
            }
        }
        if repair.restored > 0 && !is_dry {
            let metadata = json!({
                "scanned": repair.scanned, "restored": repair.restored, "skipped": repair.skipped,
            });
            let mut tx = self.ground.db.begin_write().await?;
            let about = ("media.duplicates.suffix_restored", "media_library", None);
            self.audit(&mut tx, caller, about, AuditResult::Success, metadata)
                .await?;
            tx.commit().await?;
        }
        Ok(repair)
    }

    async fn repair_item(
        &self,
        caller: Caller<'_>,
        item: &StockItem,
        is_dry: bool,
        repair: &mut Repair,
    ) -> Result<(), DuplicatesError> {
        repair.scanned += 1;
        let became = self
            .repair_name(caller, item.path(), item.is_locked, is_dry)
            .await?;
        let (to, reason) = match became {
            Ok(to) => {
                repair.restored += 1;
                (Some(to), None)
            }
            Err(reason) => {
                repair.skipped += 1;
                (None, Some(reason))
            }
        };
        if repair.details.len() < MOST_TOLD {
            repair.details.push(Repaired {
                item_id: item.id.clone(),
                from: item.path().to_owned(),
                to,
                reason,
            });
        }
        Ok(())
    }

    /// Gives one file its plain name back. The inner error is the reason for which it keeps its name.
    async fn repair_name(
        &self,
        caller: Caller<'_>,
        path: &str,
        is_locked: bool,
        is_dry: bool,
    ) -> Result<Result<String, String>, DuplicatesError> {
        let stay = |reason: &str| Ok(Err(reason.to_owned()));
        if is_locked {
            return stay("item is locked");
        }
        let Some(stem) = plain_stem(path) else {
            return stay("no [dupN] suffix on the file");
        };
        let wanted = wanted_path(path, &stem);
        let looked = self.trash.look(vec![path.to_owned(), wanted.clone()]).await?;
        let [of_file, of_wanted] = looked.as_slice() else {
            return stay("the file no longer exists");
        };
        match &of_file.sight {
            Sight::Missing => return stay("the file no longer exists"),
            Sight::Refused(_) => return stay("outside the allowed roots"),
            Sight::File { .. } => {}
        }
        if of_wanted.sight != Sight::Missing {
            return stay("canonical name is taken");
        }
        if let Some(torrent) = of_file.torrents.first() {
            return Ok(Err(format!("the torrent {} uses it", torrent.name)));
        }
        if is_dry {
            return Ok(Ok(wanted));
        }
        match self.trash.rename(path, &stem, caller).await {
            Ok(renamed) if renamed.is_empty() => stay("nothing was renamed"),
            Ok(_) => Ok(Ok(wanted)),
            Err(TrashError::Taken) => stay("canonical name is taken"),
            Err(TrashError::Missing) => stay("the file no longer exists"),
            Err(error) => Ok(Err(error.to_string())),
        }
    }

    /// Gives files that a plan kept their plain names back, where these are free now.
    pub(super) async fn name_survivors(&self, by: &Requester, plan: &StoredPlan) {
        for file in plan
            .plan
            .kept
            .iter()
            .filter(|file| plain_stem(&file.path).is_some())
        {
            match self.name_survivor(by, &file.item_id, &file.path).await {
                Ok(()) => {}
                Err(DuplicatesError::Acting(error)) if !matches!(error, ActingError::Database(_)) => return,
                Err(error) => {
                    let error = as_error(&error);
                    tracing::warn!(error, "a file that stayed kept the mark in its name");
                }
            }
        }
    }

    async fn name_survivor(&self, by: &Requester, item_id: &str, path: &str) -> Result<(), DuplicatesError> {
        self.judge(by.caller(), &[super::DELETE]).await?;
        let ids = [item_id.to_owned()];
        let item = self.stock.find_items(&ids).await?.pop();
        let is_its = |item: &StockItem| item.files.iter().any(|file| file.path == path);
        if let Some(item) = item.filter(is_its) {
            let _ = self.repair_name(by.caller(), path, item.is_locked, false).await?;
        }
        Ok(())
    }
}

/// Path with another name up to its extension.
fn wanted_path(path: &str, stem: &str) -> String {
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    match name.rsplit_once('.') {
        Some((_, extension)) => format!("{above}/{stem}.{extension}"),
        None => format!("{above}/{stem}"),
    }
}
