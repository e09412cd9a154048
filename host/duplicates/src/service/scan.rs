//! A detection: one pass over all items, then the groups that changed.
//!
//! Ids and keys of all items are kept in memory until the groups are formed; the items themselves are read again, for
//! some groups at a time. The digest of all items is stored last: a detection that is cut off begins anew, and writes
//! nothing twice.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use qm_db::Tx;
use qm_duplicate_groups::{Digest, Facts, Group, Grouping, Judgement, judge, quality};
use qm_jobs::{JobContext, JobError, Progress};
use qm_kernel::Timestamp;
use qm_ports::inventory::{StockItem, StockUnread};
use serde::Serialize;

use super::Duplicates;
use super::facts::facts_of;
use crate::error::DuplicatesError;
use crate::lanes::GROUPS;
use crate::model::{Candidate, Status, StoredGroup};
use crate::repo;

/// Items read at once.
const PAGE: usize = 5000;
/// Groups written in one transaction.
const BATCH: usize = 50;
/// Members of groups that are read at once.
const MEMBERS: usize = 2000;
/// Links of items stored in one transaction.
const LINKS: usize = 500;

/// Figures of a detection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Metrics {
    pub items_scanned: usize,
    pub groups_detected: usize,
    pub groups_created: usize,
    pub groups_updated: usize,
    pub groups_removed: usize,
    pub candidates_written: usize,
    pub requires_review: usize,
    pub potential_savings_bytes: i64,
    pub duration_ms: i64,
    pub unchanged: bool,
}

/// Reason for which a detection ended early.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    #[error("Cancelled by the operator")]
    Cancelled,
    #[error(transparent)]
    Failed(#[from] DuplicatesError),
    #[error(transparent)]
    Job(#[from] JobError),
}

impl From<qm_db::DbError> for Stop {
    fn from(error: qm_db::DbError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<StockUnread> for Stop {
    fn from(error: StockUnread) -> Self {
        Self::Failed(error.into())
    }
}

/// Items that were read so far.
#[derive(Default)]
struct Pass {
    digest: Digest,
    grouping: Grouping,
    /// Groups that items are stored with, by the items.
    linked: HashMap<String, String>,
    /// Id of the last item.
    last: String,
}

impl Pass {
    fn take(&mut self, items: &[StockItem]) {
        for item in items {
            let facts = facts_of(item);
            self.digest.facts(&facts);
            self.grouping.add(&facts);
            if let Some(group) = &item.group_id {
                self.linked.insert(item.id.clone(), group.clone());
            }
            self.last.clone_from(&item.id);
        }
    }
}

/// A group with the verdict on it, ready to be stored.
struct Prepared {
    key_digest: String,
    group: StoredGroup,
    candidates: Vec<Candidate>,
    items: Vec<String>,
}

/// A running detection.
pub struct Scan<'a> {
    app: &'a Duplicates,
    job: &'a JobContext,
    metrics: Metrics,
    /// Percentage that was told last.
    told: i64,
    /// Ids of the groups that were found.
    seen: HashSet<String>,
    /// Groups of items, as found.
    found: HashMap<String, String>,
}

impl<'a> Scan<'a> {
    pub fn new(app: &'a Duplicates, job: &'a JobContext) -> Self {
        Self {
            app,
            job,
            metrics: Metrics::default(),
            told: 0,
            seen: HashSet::new(),
            found: HashMap::new(),
        }
    }

    /// Runs the detection to its end.
    pub async fn run(mut self) -> Result<Metrics, Stop> {
        let began = self.app.ground.ctx.now();
        let pass = self.read_all().await?;
        let digest = pass.digest.hex();
        let mut tx = self.app.ground.db.begin_read().await?;
        let last = repo::groups::last_scan(&mut tx).await?;
        let open = repo::groups::count_open(&mut tx).await?;
        drop(tx);
        if last.is_some_and(|(known, _)| known == digest) {
            self.metrics.unchanged = true;
            self.metrics.groups_detected = usize::try_from(open).unwrap_or(0);
        } else {
            let linked = pass.linked;
            let grouping = pass.grouping;
            let formed = GROUPS.run(move |_| grouping.finish()).await;
            let (ids, groups) = formed.map_err(DuplicatesError::from)?;
            self.write_all(&ids, groups).await?;
            self.remove_unseen().await?;
            self.link(linked).await?;
        }
        let now = self.app.ground.ctx.now();
        let mut tx = self.app.ground.db.begin_write().await?;
        repo::groups::put_scan(&mut tx, &digest, now).await?;
        tx.commit().await?;
        self.metrics.duration_ms = now.ms() - began.ms();
        Ok(self.metrics)
    }

    fn check(&self) -> Result<(), Stop> {
        if self.job.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        Ok(())
    }

    async fn report(&mut self, percent: f64, phase: &'static str) -> Result<(), Stop> {
        let progress = Progress::percent(percent).phase(phase);
        self.job.progress(progress).await?;
        let percent = percent.round() as i64;
        // A hundred messages are enough for any number of groups.
        if percent == self.told {
            return Ok(());
        }
        self.told = percent;
        let message = serde_json::json!({
            "scanId": self.job.id(), "progress": percent, "message": phase, "at": self.app.ground.ctx.now(),
        });
        self.app.tell("media_manager.duplicates.scan.progress", &message);
        Ok(())
    }

    async fn read_all(&mut self) -> Result<Pass, Stop> {
        let mut pass = Pass::default();
        loop {
            self.check()?;
            let items = self.app.stock.list_behind(&pass.last, PAGE).await?;
            self.metrics.items_scanned += items.len();
            let is_last = items.len() < PAGE;
            let taken = GROUPS.run(move |_| {
                pass.take(&items);
                pass
            });
            pass = taken.await.map_err(DuplicatesError::from)?;
            if is_last {
                self.report(30.0, "grouping").await?;
                return Ok(pass);
            }
            // How many there are is not known before the last page.
            let pages = (self.metrics.items_scanned / PAGE) as f64;
            self.report(30.0 * pages / (pages + 4.0), "reading").await?;
        }
    }

    async fn write_all(&mut self, ids: &[Box<str>], groups: Vec<Group>) -> Result<(), Stop> {
        let total = groups.len().max(1);
        let mut done = 0;
        let mut groups = groups.into_iter().peekable();
        while groups.peek().is_some() {
            self.check()?;
            let mut some = Vec::new();
            let mut members = 0;
            while let Some(next) = groups.peek() {
                if !some.is_empty() && (some.len() == BATCH || members + next.members.len() > MEMBERS) {
                    break;
                }
                members += next.members.len();
                some.extend(groups.next());
            }
            done += some.len();
            self.write_some(ids, some).await?;
            self.report(30.0 + 65.0 * done as f64 / total as f64, "scoring")
                .await?;
        }
        Ok(())
    }

    async fn write_some(&mut self, ids: &[Box<str>], groups: Vec<Group>) -> Result<(), Stop> {
        let wanted: Vec<String> = groups
            .iter()
            .flat_map(|group| &group.members)
            .map(|number| ids[*number as usize].to_string())
            .collect();
        let items = self.app.stock.find_items(&wanted).await?;
        let named: Vec<(Group, Vec<Box<str>>)> = groups
            .into_iter()
            .map(|group| {
                let members = group.members.iter().map(|number| ids[*number as usize].clone());
                let members = members.collect();
                (group, members)
            })
            .collect();
        let now = self.app.ground.ctx.now();
        let prepared = GROUPS.run(move |_| prepare_all(named, items, now)).await;
        let prepared = prepared.map_err(DuplicatesError::from)?;
        let keys: Vec<String> = prepared.iter().map(|group| group.key_digest.clone()).collect();
        let mut tx = self.app.ground.db.begin_write().await?;
        let known = repo::groups::by_keys(&mut tx, &keys).await?;
        let mut known: HashMap<String, repo::groups::Known> = known
            .into_iter()
            .map(|group| (group.key_digest.clone(), group))
            .collect();
        for group in prepared {
            let before = known.remove(&group.key_digest);
            self.store(&mut tx, group, before).await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// Stores a group if its content is another one than before.
    async fn store(
        &mut self,
        tx: &mut Tx,
        prepared: Prepared,
        before: Option<repo::groups::Known>,
    ) -> Result<(), Stop> {
        let Prepared {
            key_digest,
            mut group,
            candidates,
            items,
        } = prepared;
        let is_written = match before {
            None => {
                group.id = self.app.ground.ctx.ordered_id();
                repo::groups::insert(tx, &group, &key_digest).await?;
                self.metrics.groups_created += 1;
                true
            }
            Some(before) => {
                group.id = before.id;
                let is_changed = before.content_digest != group.content_digest
                    && repo::groups::update(tx, &group, before.version).await?;
                self.metrics.groups_updated += usize::from(is_changed);
                is_changed
            }
        };
        if is_written {
            repo::groups::put_candidates(tx, &group.id, &candidates).await?;
            self.metrics.candidates_written += candidates.len();
        }
        self.metrics.groups_detected += 1;
        self.metrics.requires_review += usize::from(group.requires_review);
        self.metrics.potential_savings_bytes += group.savings;
        for item in items {
            self.found.insert(item, group.id.clone());
        }
        self.seen.insert(group.id);
        Ok(())
    }

    /// Deletes open groups that were not found.
    async fn remove_unseen(&mut self) -> Result<(), Stop> {
        let mut after = String::new();
        loop {
            self.check()?;
            let mut tx = self.app.ground.db.begin_write().await?;
            let open = repo::groups::open_behind(&mut tx, &after, LINKS as i64).await?;
            let Some(last) = open.last() else {
                return Ok(());
            };
            after.clone_from(last);
            for id in open.iter().filter(|id| !self.seen.contains(*id)) {
                let is_gone = repo::groups::delete_open(&mut tx, id).await?;
                self.metrics.groups_removed += usize::from(is_gone);
            }
            tx.commit().await?;
        }
    }

    /// Stores with the items which groups they are in, where that changed.
    async fn link(&mut self, linked: HashMap<String, String>) -> Result<(), Stop> {
        let found = std::mem::take(&mut self.found);
        let gone = linked.keys().filter(|item| !found.contains_key(*item));
        let mut links: Vec<(String, Option<String>)> = gone.map(|item| (item.clone(), None)).collect();
        let moved = found
            .into_iter()
            .filter(|(item, group)| linked.get(item) != Some(group));
        links.extend(moved.map(|(item, group)| (item, Some(group))));
        links.sort();
        for some in links.chunks(LINKS) {
            self.check()?;
            self.app.stock.put_groups(some).await?;
        }
        Ok(())
    }
}

/// Judges groups. Those of which fewer than two members are left are passed over.
fn prepare_all(groups: Vec<(Group, Vec<Box<str>>)>, items: Vec<StockItem>, now: Timestamp) -> Vec<Prepared> {
    let mut items: HashMap<String, StockItem> =
        items.into_iter().map(|item| (item.id.clone(), item)).collect();
    let mut prepared = Vec::new();
    for (group, ids) in groups {
        let members: Vec<StockItem> = ids.iter().filter_map(|id| items.remove(&**id)).collect();
        if members.len() >= 2 {
            prepared.push(prepare(group, &members, now));
        }
    }
    prepared
}

fn prepare(group: Group, members: &[StockItem], now: Timestamp) -> Prepared {
    let facts: Vec<Facts> = members.iter().map(facts_of).collect();
    let judgement = judge(&facts, group.is_cut);
    let content_digest = content_of(&group, &facts, &judgement);
    let ranks: HashMap<&str, i64> = judgement
        .verdicts
        .iter()
        .map(|verdict| (&*verdict.id, i64::from(verdict.rank)))
        .collect();
    let title_of = |id: &str| facts.iter().find(|item| item.id == id).map(|item| &item.title);
    let best = judgement.verdicts.first().and_then(|best| title_of(&best.id));
    let candidates = members
        .iter()
        .zip(&facts)
        .map(|(item, facts)| Candidate {
            group_id: String::new(),
            item_id: item.id.clone(),
            library_id: item.library_id.clone(),
            media_type: item.media_type.clone(),
            title_key: item.title.to_lowercase(),
            path_key: item.path().to_lowercase(),
            size: facts.size,
            quality: quality(&facts.files),
            rank: ranks.get(&*item.id).copied().unwrap_or_default(),
        })
        .collect();
    let mut key = Digest::default();
    key.text("file").text(&group.key);
    Prepared {
        key_digest: key.hex(),
        candidates,
        items: members.iter().map(|item| item.id.clone()).collect(),
        group: StoredGroup {
            id: String::new(),
            key: group.key,
            group_type: "file".to_owned(),
            reason: group.reason.as_str().to_owned(),
            status: Status::Open,
            confidence: judgement.confidence,
            requires_review: judgement.requires_review,
            savings: judgement.savings,
            recommended_item_id: judgement.keeper,
            title_key: best.map_or_else(String::new, |title| title.to_lowercase()),
            verdicts: judgement.verdicts,
            warnings: judgement.warnings,
            version: 1,
            content_digest,
            members: members.len() as i64,
            ignored_reason: None,
            ignored_by: None,
            ignored_at: None,
            resolved_by: None,
            resolved_at: None,
            created_at: now,
            updated_at: now,
        },
    }
}

/// Digest of everything that a version of a group stands for.
fn content_of(group: &Group, facts: &[Facts], judgement: &Judgement) -> String {
    let mut digest = Digest::default();
    digest
        .text(group.reason.as_str())
        .flag(group.is_cut)
        .number(judgement.confidence)
        .maybe_text(judgement.keeper.as_deref());
    for item in facts {
        digest.facts(item);
    }
    for verdict in &judgement.verdicts {
        digest.text(&verdict.id).number(verdict.score);
    }
    digest.hex()
}

/// Runs a detection for a job, and tells of it.
pub async fn detect(app: &Arc<Duplicates>, job: &JobContext) -> Result<Metrics, Stop> {
    Scan::new(app, job).run().await
}
