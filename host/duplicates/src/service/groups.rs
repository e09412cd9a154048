//! Groups as people look at them, and their state.

use std::collections::HashMap;

use qm_kernel::{Caller, PageQuery};
use qm_ports::inventory::StockItem;
use serde_json::json;

use super::{Duplicates, MATCH, OBJECT};
use crate::error::DuplicatesError;
use crate::model::{Candidate, Filter, MOST_LISTED, Overview, Status, StoredGroup};
use crate::repo;
use qm_platform::AuditResult;

/// A group in a list, with members that still exist.
pub struct Listed {
    pub group: StoredGroup,
    pub members: Vec<(Candidate, StockItem)>,
}

/// A group with all its members that still exist, the best first.
pub struct Seen {
    pub group: StoredGroup,
    pub members: Vec<(Candidate, StockItem)>,
    /// Names of libraries, by their ids.
    pub libraries: HashMap<String, String>,
}

impl Duplicates {
    pub async fn find_overview(&self) -> Result<Overview, DuplicatesError> {
        let mut tx = self.ground.db.begin_read().await?;
        Ok(repo::lists::overview(&mut tx).await?)
    }

    /// A page of groups, and the number of all that the filter selects.
    pub async fn list_groups(
        &self,
        filter: &Filter,
        page: PageQuery,
    ) -> Result<(Vec<Listed>, i64), DuplicatesError> {
        let mut tx = self.ground.db.begin_read().await?;
        let (groups, total) = repo::lists::page(&mut tx, filter, page).await?;
        let ids: Vec<String> = groups.iter().map(|group| group.id.clone()).collect();
        let candidates = repo::lists::members(&mut tx, &ids, MOST_LISTED).await?;
        drop(tx);
        let mut members = self.join_items(candidates).await?;
        let listed = groups.into_iter().map(|group| Listed {
            members: members.remove(&group.id).unwrap_or_default(),
            group,
        });
        Ok((listed.collect(), total))
    }

    pub async fn find_group(&self, id: &str) -> Result<Seen, DuplicatesError> {
        let mut tx = self.ground.db.begin_read().await?;
        let group = repo::groups::find(&mut tx, id).await?;
        let group = group.ok_or(DuplicatesError::NoSuchGroup)?;
        let candidates = repo::groups::candidates(&mut tx, id).await?;
        drop(tx);
        let mut members = self.join_items(candidates).await?;
        let libraries = self.stock.list_libraries().await?;
        Ok(Seen {
            members: members.remove(id).unwrap_or_default(),
            libraries: libraries
                .into_iter()
                .map(|library| (library.id, library.name))
                .collect(),
            group,
        })
    }

    /// Members with their items, by the groups, in the order of the members. Those whose items are gone are left out.
    pub(super) async fn join_items(
        &self,
        candidates: Vec<Candidate>,
    ) -> Result<HashMap<String, Vec<(Candidate, StockItem)>>, DuplicatesError> {
        let ids: Vec<String> = candidates
            .iter()
            .map(|candidate| candidate.item_id.clone())
            .collect();
        let items = self.stock.find_items(&ids).await?;
        let mut items: HashMap<String, StockItem> =
            items.into_iter().map(|item| (item.id.clone(), item)).collect();
        let mut members: HashMap<String, Vec<(Candidate, StockItem)>> = HashMap::new();
        for candidate in candidates {
            if let Some(item) = items.remove(&candidate.item_id) {
                let group = members.entry(candidate.group_id.clone()).or_default();
                group.push((candidate, item));
            }
        }
        Ok(members)
    }

    /// Ignores a group until somebody opens it again.
    pub async fn ignore_group(
        &self,
        caller: Caller<'_>,
        id: &str,
        reason: Option<String>,
    ) -> Result<StoredGroup, DuplicatesError> {
        let metadata = json!({ "reason": reason });
        self.change_group(
            caller,
            id,
            ("media.duplicates.ignored", metadata),
            |group, user| {
                group.status = Status::Ignored;
                group.ignored_reason = reason;
                group.ignored_by = Some(user.to_owned());
                group.ignored_at = Some(group.updated_at);
            },
        )
        .await
    }

    /// Opens a group that was ignored or resolved.
    pub async fn reopen_group(&self, caller: Caller<'_>, id: &str) -> Result<StoredGroup, DuplicatesError> {
        let action = ("media.duplicates.reopened", json!({}));
        self.change_group(caller, id, action, |group, _| {
            group.status = Status::Open;
            group.ignored_reason = None;
            group.ignored_by = None;
            group.ignored_at = None;
            group.resolved_by = None;
            group.resolved_at = None;
        })
        .await
    }

    async fn change_group(
        &self,
        caller: Caller<'_>,
        id: &str,
        (action, metadata): (&'static str, serde_json::Value),
        change: impl FnOnce(&mut StoredGroup, &str),
    ) -> Result<StoredGroup, DuplicatesError> {
        let mut tx = self.ground.db.begin_write().await?;
        let acting = &self.ground.acting;
        let actor = acting.judge(&mut tx, caller.principal, &[MATCH]).await?;
        let group = repo::groups::find(&mut tx, id).await?;
        let mut group = group.ok_or(DuplicatesError::NoSuchGroup)?;
        group.updated_at = self.ground.ctx.now();
        change(&mut group, actor.user_id());
        repo::groups::set_status(&mut tx, &group).await?;
        let about = (action, OBJECT, Some(group.id.clone()));
        self.audit(&mut tx, caller, about, AuditResult::Success, metadata)
            .await?;
        tx.commit().await?;
        Ok(group)
    }
}
