//! Plans as they are made: which files move, which go, and what stands against it.
//!
//! A plan is made of what is on the disk at that moment. Everything that somebody should know before they decide is in its
//! warnings, first of all torrents that use a file.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use qm_kernel::Caller;
use qm_platform::AuditResult;
use qm_ports::folders::FolderShow;
use qm_ports::trash::{Looked, Sight};
use serde_json::json;

use super::{Folders, LOOKS, VIEW, fingerprint};
use crate::error::MergeError;
use crate::lanes::WALKS;
use crate::model::{Action, Contents, Order, Plan, PlanStatus, Step, StoredPlan, draft};
use crate::repo;

/// Most plans of one show that wait for one user.
const MOST_WAITING: i64 = 5;
/// Most blockers that the audit trail names.
const MOST_NAMED: usize = 10;
/// Most torrents that are named in warnings.
const MOST_TORRENTS: usize = 100;

/// Request for a plan.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// Id of the show that stays.
    pub canonical: String,
    /// Ids of the shows whose folders are put into its own.
    pub duplicates: Vec<String>,
    /// Paths to keep, by the keys of episodes.
    pub choices: BTreeMap<String, String>,
    /// True if shows of other names are meant.
    pub is_acknowledged: bool,
}

impl Folders {
    /// Plans a merge, and stores the plan.
    pub async fn preview(&self, caller: Caller<'_>, wish: Wish) -> Result<StoredPlan, MergeError> {
        self.judge(caller, &[VIEW]).await?;
        let shows = self.find_shows(&wish).await?;
        let libraries = self.shows.list_directories().await?.into_iter();
        let libraries: BTreeSet<String> = libraries
            .map(|library| library.trim_end_matches('/').to_owned())
            .collect();
        let mut locked = BTreeSet::new();
        for show in &shows {
            locked.extend(self.shows.list_locked(show).await?);
        }
        let user = &caller.principal.user_id;
        let (mut walked, mut refused) = (Vec::with_capacity(shows.len()), Vec::new());
        for (show, contents) in self.walk_each(user, shows).await? {
            match contents {
                Ok(contents) => walked.push((show, contents)),
                Err(error) => {
                    refused.push(format!("{}: {}", show.path, error.public()));
                    let path = show.path.clone();
                    walked.push((
                        show,
                        Contents {
                            path,
                            ..Contents::default()
                        },
                    ));
                }
            }
        }
        let order = Order {
            shows: walked,
            choices: wish.choices,
            is_acknowledged: wish.is_acknowledged,
            locked,
            libraries,
        };
        let drafting = WALKS.run_for(Some((&**user).into()), move |_| {
            let mut plan = draft(&order);
            plan.fingerprint = fingerprint(order.shows.iter().map(|(_, contents)| contents));
            plan
        });
        let mut plan = drafting.await?;
        if !refused.is_empty() {
            // What was said of an empty folder is not so.
            plan.blockers = refused;
        }
        self.look_at(&mut plan).await?;
        self.store_plan(caller, plan).await
    }

    /// The shows of a request, that which stays first.
    async fn find_shows(&self, wish: &Wish) -> Result<Vec<FolderShow>, MergeError> {
        let mut ids = vec![wish.canonical.clone()];
        let mut known = HashSet::new();
        ids.extend(wish.duplicates.iter().filter(|id| known.insert(*id)).cloned());
        if ids.len() == 1 {
            return Err(MergeError::NoDuplicates);
        }
        if ids[1..].contains(&wish.canonical) {
            return Err(MergeError::IntoItself);
        }
        let found = self.shows.find_shows(&ids).await?;
        let mut found: HashMap<String, FolderShow> =
            found.into_iter().map(|show| (show.id.clone(), show)).collect();
        let mut shows = Vec::with_capacity(ids.len());
        for id in ids {
            let show = found.remove(&id);
            shows.push(show.ok_or(MergeError::NoSuchShow(id))?);
        }
        if shows.iter().any(|show| show.library_id != shows[0].library_id) {
            return Err(MergeError::OtherLibrary);
        }
        Ok(shows)
    }

    /// Looks at the files of a plan: tells torrents that use them, and refuses places that are taken.
    async fn look_at(&self, plan: &mut Plan) -> Result<(), MergeError> {
        let mut told = BTreeSet::new();
        let mut said: HashSet<String> = plan.blockers.iter().cloned().collect();
        let going: HashMap<String, (u64, u64)> = plan
            .steps
            .iter()
            .filter(|step| step.action == Action::Trash)
            .map(|step| (step.from.clone(), (step.state.device, step.state.inode)))
            .collect();
        let going = Going {
            identities: going.values().copied().collect(),
            paths: going.into_keys().collect(),
        };
        let places: Vec<usize> = (0..plan.steps.len())
            .filter(|at| plan.steps[*at].action != Action::Folder)
            .collect();
        for some in places.chunks(LOOKS) {
            let paths = some.iter().map(|at| plan.steps[*at].from.clone()).collect();
            let looked = self.trash.look(paths).await?;
            for (at, looked) in some.iter().zip(looked) {
                note_file(plan, *at, &looked, &mut told);
            }
            let moving: Vec<usize> = some
                .iter()
                .copied()
                .filter(|at| plan.steps[*at].to.is_some())
                .collect();
            let targets = moving
                .iter()
                .filter_map(|at| plan.steps[*at].to.clone())
                .collect();
            let looked = self.trash.look(targets).await?;
            for (at, looked) in moving.into_iter().zip(looked) {
                let refusal = refuse_target(&plan.steps[at], &looked, &going);
                if let Some(why) = refusal.filter(|why| said.insert(why.clone())) {
                    plan.blockers.push(why);
                }
            }
        }
        for some in std::mem::take(&mut plan.left).chunks(LOOKS) {
            let looked = self.trash.look(some.to_vec()).await?;
            for (path, looked) in some.iter().zip(looked) {
                let _ = note_torrents(&mut plan.warnings, path, &looked, &mut told);
            }
        }
        // Files that are left in a folder may belong to any of them.
        for step in plan.steps.iter_mut().filter(|step| step.action == Action::Folder) {
            step.torrents = told.iter().cloned().collect();
        }
        Ok(())
    }

    async fn store_plan(&self, caller: Caller<'_>, plan: Plan) -> Result<StoredPlan, MergeError> {
        let mut tx = self.ground.db.begin_write().await?;
        let acting = &self.ground.acting;
        let actor = acting.judge(&mut tx, caller.principal, &[VIEW]).await?;
        let stored = StoredPlan {
            id: self.ground.ctx.ordered_id(),
            status: PlanStatus::Pending,
            created_by: Some(actor.user_id().to_owned()),
            created_at: self.ground.ctx.now(),
            plan,
        };
        repo::insert(&mut tx, &stored, MOST_WAITING).await?;
        let plan = &stored.plan;
        let result = if plan.blockers.is_empty() {
            AuditResult::Success
        } else {
            AuditResult::Failure
        };
        let metadata = json!({
            "planId": stored.id,
            "duplicates": plan.duplicates.iter().map(|show| &*show.id).collect::<Vec<_>>(),
            "moves": plan.moves.len(), "collisions": plan.collisions.len(), "rescued": plan.rescued.len(),
            "deletions": plan.deletions.len(), "expectedFreedBytes": plan.expected_freed,
            "blockers": plan.blockers.iter().take(MOST_NAMED).collect::<Vec<_>>(),
        });
        let about = ("media.shows.merge_preview", &*plan.canonical.id);
        self.audit(&mut tx, caller, about, result, metadata).await?;
        tx.commit().await?;
        Ok(stored)
    }
}

/// Files that a plan puts into the trash before others move.
struct Going {
    identities: HashSet<(u64, u64)>,
    paths: HashSet<String>,
}

/// Notes what a look at a file of a step says.
fn note_file(plan: &mut Plan, at: usize, looked: &Looked, told: &mut BTreeSet<(String, String)>) {
    let step = &mut plan.steps[at];
    match &looked.sight {
        Sight::File { state, .. } if *state == step.state => {}
        Sight::File { .. } | Sight::Missing => {
            plan.blockers
                .push(format!("{} changes at this moment: preview again", step.from));
            return;
        }
        Sight::Refused(why) => {
            plan.blockers.push(format!("{}: {why}", step.from));
            return;
        }
    }
    step.torrents = note_torrents(&mut plan.warnings, &step.from, looked, told);
}

/// Tells of torrents that use a file, each once; returns them.
fn note_torrents(
    warnings: &mut Vec<String>,
    path: &str,
    looked: &Looked,
    told: &mut BTreeSet<(String, String)>,
) -> Vec<(String, String)> {
    let mut found = Vec::with_capacity(looked.torrents.len());
    for torrent in &looked.torrents {
        let id = (torrent.engine_id.clone(), torrent.hash.clone());
        // One of a whole season is named with its first file.
        if told.insert(id.clone()) && told.len() <= MOST_TORRENTS {
            let state = if torrent.live {
                torrent.state
            } else {
                "its client does not answer"
            };
            warnings.push(format!(
                "{path} belongs to the torrent {} ({state}), which would lose it",
                torrent.name
            ));
        }
        found.push(id);
    }
    found
}

/// Refuses the place of a step that something has which does not go.
fn refuse_target(step: &Step, looked: &Looked, going: &Going) -> Option<String> {
    let to = step.to.as_deref()?;
    match &looked.sight {
        Sight::Missing => None,
        Sight::File { state, links, .. } => {
            let is_one = going.identities.contains(&(state.device, state.inode));
            // Of a file with several names, another name may be meant.
            let goes = going.paths.contains(to) || (is_one && *links < 2);
            (!goes).then(|| format!("{to} exists: it would not be replaced"))
        }
        Sight::Refused(why) => Some(format!("{to}: {why}")),
    }
}
