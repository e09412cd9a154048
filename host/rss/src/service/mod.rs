//! Use cases of the area. The server constructs [`Rss`].

mod actions;
mod backfill;
mod bundle;
mod candidates;
mod feeds;
pub mod grabs;
mod history;
mod items;
#[cfg(test)]
mod items_tests;
mod lookups;
pub mod poll;
mod rules;
mod shows;
#[cfg(test)]
mod shows_tests;
#[cfg(test)]
mod tests;
mod trial;
pub mod upkeep;

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use qm_db::{Db, DbError, Tx};
use qm_kernel::{Caller, Ctx, Permission};
use qm_lanes::IgnorePoison;
use qm_platform::{Acting, Actor, Audit, Ground, Settings, judge_alone};
use qm_ports::feed::FeedSource;
use qm_ports::intake::TorrentIntake;
use qm_ports::shows::ShowStatuses;
use qm_realtime::Hub;
use serde_json::Value;
use tokio::sync::{Mutex as Turn, Notify, Semaphore};

use self::poll::Sites;
use crate::error::RssError;
use crate::lanes::JUDGEMENTS;
use crate::model::candidate::StoredCandidate;
use crate::model::live::{LiveRule, LiveRules};
use crate::repo;

pub use self::candidates::Suggestion;
pub use self::trial::{Previewed, Tried};

const NEEDED: &[Permission] = &[Permission::RssManage];
/// Permissions of the author of a rule that grabs: it adds torrents on the author's behalf.
const GRABS: &[Permission] = &[Permission::RssManage, Permission::TorrentsAdd];

/// Dependencies of the area, supplied by the server.
pub struct RssDeps {
    pub ground: Ground,
    pub feeds: Arc<dyn FeedSource>,
    pub torrents: Arc<dyn TorrentIntake>,
    /// Airing status of the rules' shows.
    pub shows: Arc<dyn ShowStatuses>,
    pub hub: Hub,
}

/// Feeds, their rules, and the grabs.
pub struct Rss {
    db: Db,
    ctx: Ctx,
    audit: Audit,
    acting: Arc<dyn Acting>,
    settings: Settings,
    feeds: Arc<dyn FeedSource>,
    torrents: Arc<dyn TorrentIntake>,
    shows: Arc<dyn ShowStatuses>,
    hub: Hub,
    /// The compiled rules, with the number of the change they were read after.
    book: Mutex<(u64, Arc<LiveRules>)>,
    /// Number of changes of rules so far.
    changes: Arc<AtomicU64>,
    /// Serialises changes of rules: unique names and paths are checked against all rules.
    changing: Turn<()>,
    /// Serialises decisions: each depends on the earlier ones.
    deciding: Turn<()>,
    sites: Sites,
    /// Limit on concurrent trials, see [`trial`].
    trials: Arc<Semaphore>,
    /// Ids of the grabs that are being settled.
    settling: Mutex<HashSet<String>>,
    /// Wakes the poll loop: a feed may be due.
    due: Notify,
    /// Wakes the grab loop: a grab was decided.
    decided: Notify,
}

impl Rss {
    pub fn new(deps: RssDeps) -> Arc<Self> {
        Arc::new(Self {
            db: deps.ground.db,
            ctx: deps.ground.ctx,
            audit: deps.ground.audit,
            acting: deps.ground.acting,
            settings: deps.ground.settings,
            feeds: deps.feeds,
            torrents: deps.torrents,
            shows: deps.shows,
            hub: deps.hub,
            book: Mutex::default(),
            changes: Arc::new(AtomicU64::new(1)),
            changing: Turn::new(()),
            deciding: Turn::new(()),
            sites: Sites::default(),
            trials: Arc::new(Semaphore::new(trial::AT_ONCE)),
            settling: Mutex::default(),
            due: Notify::new(),
            decided: Notify::new(),
        })
    }

    /// The compiled enabled rules; read again after a change.
    async fn rules_alive(&self) -> Result<Arc<LiveRules>, DbError> {
        let change = self.changes.load(Ordering::SeqCst);
        {
            let book = self.book.lock().ignore_poison();
            if book.0 == change {
                return Ok(book.1.clone());
            }
        }
        let mut tx = self.db.begin_read().await?;
        let rules = repo::rules::all(&mut tx).await?;
        let mut candidates = repo::candidates::all(&mut tx).await?.into_iter().peekable();
        drop(tx);
        let mut of_rule: std::collections::HashMap<String, Vec<StoredCandidate>> =
            std::collections::HashMap::new();
        for stored in candidates.by_ref() {
            of_rule.entry(stored.rule_id.clone()).or_default().push(stored);
        }
        let enabled: Vec<_> = rules
            .into_iter()
            .filter(|rule| rule.is_enabled)
            .map(|rule| {
                let candidates = of_rule.remove(&rule.id).unwrap_or_default();
                (rule, candidates)
            })
            .collect();
        // Compiling many patterns takes a while.
        let compiled = JUDGEMENTS.run(move |_| {
            let live = enabled
                .into_iter()
                .map(|(rule, candidates)| Arc::new(LiveRule::new(rule, candidates)));
            LiveRules(live.collect())
        });
        let rules = Arc::new(compiled.await?);
        let mut book = self.book.lock().ignore_poison();
        if book.0 < change {
            *book = (change, rules.clone());
        }
        Ok(rules)
    }

    /// Marks the compiled rules as outdated once the transaction commits.
    fn changes_rules(&self, tx: &mut Tx) {
        let changes = self.changes.clone();
        tx.after_commit(move || {
            changes.fetch_add(1, Ordering::SeqCst);
        });
    }

    async fn judge(&self, tx: &mut Tx, caller: Caller<'_>) -> Result<Actor, RssError> {
        Ok(self.acting.judge(tx, caller.principal, NEEDED).await?)
    }

    /// Checks the permissions of a user who stores a grabbing rule or triggers grabs.
    async fn judge_grabs(&self, tx: &mut Tx, caller: Caller<'_>) -> Result<Actor, RssError> {
        Ok(self.acting.judge(tx, caller.principal, GRABS).await?)
    }

    /// Checks the caller before a site or a client is asked.
    async fn admit(&self, caller: Caller<'_>) -> Result<(), RssError> {
        judge_alone(&*self.acting, &self.db, caller.principal, NEEDED).await?;
        Ok(())
    }

    async fn note(
        &self,
        tx: &mut Tx,
        caller: Caller<'_>,
        actor: &Actor,
        action: &'static str,
        object: (&'static str, Option<&str>),
        metadata: Value,
    ) -> Result<(), DbError> {
        let mut entry = actor.entry(action, caller.client);
        entry.object_type = Some(object.0);
        entry.object_id = object.1.map(str::to_owned);
        entry.metadata = Some(metadata);
        self.audit.record(tx, entry).await
    }
}
