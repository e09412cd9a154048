//! Plans as they are made: which files go, which stay, and what stands against it.
//!
//! A plan is made of what is on the disk at that moment. Everything that somebody should know before they decide is in its
//! warnings: torrents that use a file, files that are the same by a hard link, locked items.

use std::collections::{BTreeSet, HashMap};

use qm_kernel::Caller;
use qm_platform::AuditResult;
use qm_ports::inventory::StockItem;
use qm_ports::trash::{FileState, Looked, Sight};
use serde_json::json;

use super::{Duplicates, OBJECT, VIEW};
use crate::error::DuplicatesError;
use crate::model::{Action, Kept, Plan, PlanStatus, Scope, Status, StoredGroup, StoredPlan, count_freed};
use crate::repo;

/// Most plans of one group that wait.
const MOST_WAITING: i64 = 5;
/// Most blockers that the audit trail names.
const MOST_NAMED: usize = 10;
/// Files looked at in one go.
const LOOKS: usize = 200;

/// A file of a member, as it is on the disk.
struct Placed {
    item_id: String,
    path: String,
    looked: Looked,
}

impl Placed {
    fn file(&self) -> Option<(FileState, u64, &str)> {
        match &self.looked.sight {
            Sight::File { state, links, real } => Some((*state, *links, real)),
            Sight::Missing | Sight::Refused(_) => None,
        }
    }
}

impl Duplicates {
    /// Plans to keep one member of a group, and stores the plan. `None`: the recommended one.
    pub async fn preview_keeping(
        &self,
        caller: Caller<'_>,
        group_id: &str,
        item_id: Option<String>,
    ) -> Result<StoredPlan, DuplicatesError> {
        self.preview(caller, group_id, Scope::KeepOne, item_id).await
    }

    /// Plans to delete one member of a group, and stores the plan.
    pub async fn preview_deleting(
        &self,
        caller: Caller<'_>,
        group_id: &str,
        item_id: String,
    ) -> Result<StoredPlan, DuplicatesError> {
        self.preview(caller, group_id, Scope::DeleteOne, Some(item_id))
            .await
    }

    async fn preview(
        &self,
        caller: Caller<'_>,
        group_id: &str,
        scope: Scope,
        item_id: Option<String>,
    ) -> Result<StoredPlan, DuplicatesError> {
        self.judge(caller, &[VIEW]).await?;
        let mut tx = self.ground.db.begin_read().await?;
        let group = repo::groups::find(&mut tx, group_id).await?;
        let group = group.ok_or(DuplicatesError::NoSuchGroup)?;
        let candidates = repo::groups::candidates(&mut tx, group_id).await?;
        drop(tx);
        if group.status == Status::Resolved {
            return Err(DuplicatesError::Resolved);
        }
        let members = self.join_items(candidates).await?.remove(group_id);
        let members: Vec<StockItem> = members
            .unwrap_or_default()
            .into_iter()
            .map(|(_, item)| item)
            .collect();
        if members.len() < 2 {
            return Err(DuplicatesError::TooFew);
        }
        let chosen = item_id.or_else(|| group.recommended_item_id.clone());
        let chosen = chosen.ok_or(DuplicatesError::NeedsReview)?;
        if members.iter().all(|item| item.id != chosen) {
            let field = match scope {
                Scope::KeepOne => "keepItemId",
                Scope::DeleteOne => "deleteItemId",
            };
            return Err(DuplicatesError::NotAMember(field, chosen));
        }
        let placed = self.look_at(&members).await?;
        let roots: BTreeSet<String> = self
            .stock
            .list_libraries()
            .await?
            .into_iter()
            .map(|library| library.path)
            .collect();
        let plan = make_plan(scope, &chosen, &members, &placed, &roots);
        self.store_plan(caller, &group, plan).await
    }

    /// Looks at all files of items.
    async fn look_at(&self, members: &[StockItem]) -> Result<Vec<Placed>, DuplicatesError> {
        let files = members.iter().flat_map(|item| {
            let paths = item.files.iter().map(|file| file.path.clone());
            paths.map(|path| (item.id.clone(), path))
        });
        let files: Vec<(String, String)> = files.collect();
        let mut placed = Vec::with_capacity(files.len());
        for some in files.chunks(LOOKS) {
            let paths = some.iter().map(|(_, path)| path.clone()).collect();
            let looked = self.trash.look(paths).await?;
            let both = some.iter().zip(looked);
            placed.extend(both.map(|((item_id, path), looked)| Placed {
                item_id: item_id.clone(),
                path: path.clone(),
                looked,
            }));
        }
        Ok(placed)
    }

    async fn store_plan(
        &self,
        caller: Caller<'_>,
        group: &StoredGroup,
        plan: Plan,
    ) -> Result<StoredPlan, DuplicatesError> {
        let mut tx = self.ground.db.begin_write().await?;
        let acting = &self.ground.acting;
        let actor = acting.judge(&mut tx, caller.principal, &[VIEW]).await?;
        let stored = StoredPlan {
            id: self.ground.ctx.ordered_id(),
            group_id: group.id.clone(),
            group_version: group.version,
            status: PlanStatus::Pending,
            created_by: Some(actor.user_id().to_owned()),
            created_at: self.ground.ctx.now(),
            plan,
        };
        repo::plans::insert(&mut tx, &stored, MOST_WAITING).await?;
        let result = if stored.plan.blockers.is_empty() {
            AuditResult::Success
        } else {
            AuditResult::Failure
        };
        let metadata = json!({
            "resolutionId": stored.id, "scope": stored.plan.scope.as_str(), "itemId": stored.plan.item_id,
            "files": stored.plan.actions.len(), "expectedSavingsBytes": stored.plan.expected_savings,
            "blockers": stored.plan.blockers.iter().take(MOST_NAMED).collect::<Vec<_>>(),
        });
        let about = ("media.duplicates.preview", OBJECT, Some(group.id.clone()));
        self.audit(&mut tx, caller, about, result, metadata).await?;
        tx.commit().await?;
        Ok(stored)
    }
}

/// Parts of a plan that grow.
#[derive(Default)]
struct Draft {
    kept: Vec<Kept>,
    actions: Vec<Action>,
    blockers: Vec<String>,
    warnings: Vec<String>,
}

/// Makes the plan of what was seen.
fn make_plan(
    scope: Scope,
    chosen: &str,
    members: &[StockItem],
    placed: &[Placed],
    roots: &BTreeSet<String>,
) -> Plan {
    let goes = |item: &str| (item == chosen) == (scope == Scope::DeleteOne);
    let mut draft = Draft::default();
    let mut staying: HashMap<(u64, u64), &str> = HashMap::new();
    let mut staying_names: BTreeSet<&str> = BTreeSet::new();
    for file in placed.iter().filter(|file| !goes(&file.item_id)) {
        keep(&mut draft, scope, file);
        if let Some((state, _, real)) = file.file() {
            staying.insert((state.device, state.inode), &file.path);
            staying_names.insert(real);
        }
    }
    if draft.kept.is_empty() && draft.blockers.is_empty() {
        let what = "no copy that would stay exists on the disk: scan the library";
        draft.blockers.push(what.to_owned());
    }
    for file in placed.iter().filter(|file| goes(&file.item_id)) {
        let Some((state, links, real)) = file.file() else {
            miss(&mut draft, file);
            continue;
        };
        if roots.contains(file.path.trim_end_matches('/')) {
            draft
                .blockers
                .push(format!("{} is the directory of a library", file.path));
        } else if staying_names.contains(real)
            || (staying.contains_key(&(state.device, state.inode)) && links < 2)
        {
            let what = format!("{} is the same file as one that stays, listed twice", file.path);
            refuse_same(&mut draft, scope, what);
        } else if let Some(other) = staying.get(&(state.device, state.inode)) {
            let what = format!(
                "{} and {other} are one file by a hard link: it takes no space twice",
                file.path
            );
            draft.warnings.push(what);
            if scope == Scope::DeleteOne {
                draft.actions.push(to_action(file, state, links));
            }
        } else {
            draft.actions.push(to_action(file, state, links));
        }
    }
    finish(draft, scope, chosen, members, placed)
}

/// Takes a file among those that stay.
fn keep(draft: &mut Draft, scope: Scope, file: &Placed) {
    match &file.looked.sight {
        Sight::File { state, .. } => draft.kept.push(Kept {
            item_id: file.item_id.clone(),
            path: file.path.clone(),
            state: *state,
        }),
        Sight::Missing if scope == Scope::KeepOne => {
            draft
                .blockers
                .push(format!("{} was to stay and no longer exists", file.path));
        }
        Sight::Refused(why) if scope == Scope::KeepOne => {
            draft.blockers.push(format!("{} was to stay: {why}", file.path));
        }
        Sight::Missing => draft.warnings.push(format!("{} no longer exists", file.path)),
        Sight::Refused(why) => draft.warnings.push(format!("{}: {why}", file.path)),
    }
}

/// Tells of a file that was to go and cannot.
fn miss(draft: &mut Draft, file: &Placed) {
    match &file.looked.sight {
        Sight::Refused(why) => draft.blockers.push(format!("{}: {why}", file.path)),
        Sight::Missing | Sight::File { .. } => {
            draft.warnings.push(format!("{} no longer exists", file.path));
        }
    }
}

/// Tells of a file that is one that stays: with it, that one would go.
fn refuse_same(draft: &mut Draft, scope: Scope, what: String) {
    match scope {
        Scope::KeepOne => draft.warnings.push(what),
        Scope::DeleteOne => draft.blockers.push(what),
    }
}

fn to_action(file: &Placed, state: FileState, links: u64) -> Action {
    let torrents = file.looked.torrents.iter();
    Action {
        item_id: file.item_id.clone(),
        path: file.path.clone(),
        state,
        links,
        frees: 0,
        torrents: torrents
            .map(|torrent| (torrent.engine_id.clone(), torrent.hash.clone()))
            .collect(),
    }
}

fn finish(draft: Draft, scope: Scope, chosen: &str, members: &[StockItem], placed: &[Placed]) -> Plan {
    let Draft {
        kept,
        mut actions,
        mut blockers,
        mut warnings,
    } = draft;
    let by_path: HashMap<&str, &Placed> = placed.iter().map(|file| (&*file.path, file)).collect();
    // Two items may be one file, which goes once.
    let mut names = BTreeSet::new();
    actions.retain(|action| {
        let file = by_path.get(&*action.path).and_then(|file| file.file());
        names.insert(file.map_or_else(String::new, |(_, _, real)| real.to_owned()))
    });
    let locked: BTreeSet<&str> = members
        .iter()
        .filter(|item| item.is_locked)
        .map(|item| &*item.id)
        .collect();
    let is_locked = |action: &Action| locked.contains(&*action.item_id);
    let unlocked: Vec<usize> = (0..actions.len())
        .filter(|at| !is_locked(&actions[*at]))
        .collect();
    let freed = count_freed(
        unlocked
            .iter()
            .map(|at| (&actions[*at].state, actions[*at].links)),
    );
    for (at, freed) in unlocked.into_iter().zip(freed) {
        actions[at].frees = freed;
    }
    for action in &actions {
        if is_locked(action) {
            let what = format!("{} belongs to a locked item and will be skipped", action.path);
            warnings.push(what);
        }
        let file = by_path.get(&*action.path);
        for torrent in file.iter().flat_map(|file| &file.looked.torrents) {
            let state = if torrent.live {
                torrent.state
            } else {
                "its client does not answer"
            };
            warnings.push(format!(
                "{} belongs to the torrent {} ({state}), which would lose it",
                action.path, torrent.name
            ));
        }
    }
    if actions.is_empty() && blockers.is_empty() {
        blockers.push("there is nothing to delete".to_owned());
    }
    let path = members.iter().find(|item| item.id == chosen).map(StockItem::path);
    Plan {
        scope,
        item_id: chosen.to_owned(),
        path: path.unwrap_or_default().to_owned(),
        expected_savings: actions.iter().map(|action| action.frees).sum(),
        kept,
        actions,
        blockers,
        warnings,
    }
}
