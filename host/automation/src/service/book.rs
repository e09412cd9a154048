//! Compiled enabled rules in memory, for the sync loops, the passes and the events.
//!
//! A change of a rule replaces them before the request is answered; later decisions use the new ones, and a
//! run decided before reads its rule again when it begins.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use jiff::tz::TimeZone;
use qm_conditions::Seen;
use qm_db::{Db, DbError, Tx};
use qm_lanes::IgnorePoison;
use qm_platform::Settings;
use qm_ports::list::TorrentRecord;
use qm_ports::rules::{Edge, RuleWatch};

use crate::model::moment::Timed;
use crate::model::rule::ReadyRule;
use crate::model::trigger::{RATIO, STALLED};
use crate::repo;

/// The enabled rules at one moment, in order of execution.
#[derive(Debug, Default)]
pub struct Rules {
    /// Increases with every change.
    pub version: u64,
    all: Vec<Arc<ReadyRule>>,
    waits_for_ratio: bool,
    waits_for_stalls: bool,
    /// True when any rule exists, enabled or not.
    is_any: bool,
}

impl Rules {
    /// Rules with this trigger.
    pub fn with_trigger(&self, trigger: &str) -> impl Iterator<Item = &Arc<ReadyRule>> {
        self.all.iter().filter(move |rule| rule.trigger == trigger)
    }

    /// Names of the rules with these numbers, in quotation marks.
    pub fn names_of(&self, numbers: &[u32]) -> Vec<String> {
        let named = self.all.iter().filter(|rule| numbers.contains(&rule.number));
        named.map(|rule| format!("\"{}\"", rule.name)).collect()
    }

    /// True when a rule runs, or is judged, by the clock of the operator.
    pub fn need_zone(&self) -> bool {
        self.all.iter().any(|rule| rule.needs_zone)
    }

    /// Sentences about conditions of an enabled rule that are never true.
    pub fn never_true(&self, rule_id: &str) -> Vec<String> {
        let rule = self.all.iter().find(|rule| rule.id == rule_id);
        rule.map(|rule| rule.never_true.clone()).unwrap_or_default()
    }
}

/// The rules of one server.
pub struct RuleBook {
    db: Db,
    settings: Settings,
    /// Zone of the operator, for hours and time tables.
    zone: ArcSwap<TimeZone>,
    rules: ArcSwap<Rules>,
    /// Serialises reads: an older state must not replace a newer one.
    reading: tokio::sync::Mutex<()>,
    numbers: Mutex<HashMap<String, u32>>,
}

impl RuleBook {
    pub async fn open(db: Db, settings: Settings) -> Result<Arc<Self>, DbError> {
        let book = Arc::new(Self {
            db,
            settings,
            zone: ArcSwap::from_pointee(TimeZone::UTC),
            rules: ArcSwap::default(),
            reading: tokio::sync::Mutex::default(),
            numbers: Mutex::default(),
        });
        book.read().await?;
        Ok(book)
    }

    pub fn rules(&self) -> Arc<Rules> {
        self.rules.load_full()
    }

    pub fn zone(&self) -> Arc<TimeZone> {
        self.zone.load_full()
    }

    /// Reads the zone of the operator again, which may have been changed.
    pub async fn read_zone(&self, tx: &mut Tx) -> Result<(), DbError> {
        self.zone.store(Arc::new(self.settings.find_zone(tx).await?));
        Ok(())
    }

    /// Reads the rules again.
    pub async fn read(&self) -> Result<(), DbError> {
        let _turn = self.reading.lock().await;
        let mut tx = self.db.begin_read().await?;
        let stored = repo::rules::all(&mut tx).await?;
        self.read_zone(&mut tx).await?;
        drop(tx);
        let enabled = stored.iter().filter(|rule| rule.is_enabled);
        let all: Vec<Arc<ReadyRule>> = enabled
            .map(|rule| Arc::new(ReadyRule::new(rule, self.number(&rule.id))))
            .collect();
        let rules = Rules {
            version: self.rules.load().version + 1,
            waits_for_ratio: all
                .iter()
                .any(|rule| rule.trigger == RATIO && rule.conditions.involve("ratio")),
            waits_for_stalls: all.iter().any(|rule| rule.trigger == STALLED),
            is_any: !stored.is_empty(),
            all,
        };
        self.rules.store(Arc::new(rules));
        Ok(())
    }

    /// Number of a rule, the same for the life of the process.
    pub fn number(&self, rule_id: &str) -> u32 {
        let mut numbers = self.numbers.lock().ignore_poison();
        let next = numbers.len() as u32;
        *numbers.entry(rule_id.to_owned()).or_insert(next)
    }
}

impl RuleWatch for RuleBook {
    fn watches_ratios(&self) -> bool {
        self.rules.load().waits_for_ratio
    }

    fn watches_stalls(&self) -> bool {
        self.rules.load().waits_for_stalls
    }

    fn remembers(&self) -> bool {
        self.rules.load().is_any
    }

    fn due(&self, edge: Edge, torrent: &TorrentRecord<'_>) -> Vec<String> {
        let rules = self.rules.load();
        let zone = self.zone.load();
        let torrent = &Timed {
            record: torrent,
            at: torrent.now,
            zone: &zone,
        };
        let due = rules.with_trigger(edge.trigger()).filter(|rule| match edge {
            Edge::Completed | Edge::Failed | Edge::Added | Edge::Removed => rule.conditions.hold(torrent),
            Edge::Stalled { since } => {
                let after = rule.stalls_after.filter(|after| since.plus(*after) <= torrent.at);
                after.is_some() && rule.conditions.hold(torrent)
            }
            Edge::RatioMoved { from } => rule.conditions.have_risen(torrent, "ratio", &Seen::Number(from)),
        });
        due.map(|rule| rule.id.clone()).collect()
    }
}
