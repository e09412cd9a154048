//! Consumers of edge events: a change of a torrent, as the transaction that stored it reported. The decision
//! is stored with the consumer's position, so once per event; the conditions were evaluated at the moment of
//! the edge.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use qm_db::{DbError, Tx};
use qm_platform::outbox::{ConsumeError, Consumer, StoredEvent};
use qm_ports::action::TorrentRef;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Automation;
use crate::model::trigger::{FAILED, REMOVED, STALLED};
use crate::repo;

/// Time after a run in which a rule on failures does not run again for the same torrent: an action that starts or checks a
/// broken torrent makes it fail once more.
const FAILURES_APART: Duration = Duration::from_hours(1);

/// Payload fields of `torrent.rules_due`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RulesDue {
    trigger: String,
    engine_id: String,
    hash: String,
    torrent: Map<String, Value>,
    rules: Vec<String>,
}

/// Payload fields of `torrent.renewed`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Renewed {
    engine_id: String,
    hashes: Vec<String>,
}

/// Stores a run for every due rule. For torrents that were added again it first deletes the ledger entries.
pub struct Edges(pub Arc<Automation>);

#[async_trait]
impl Consumer for Edges {
    fn name(&self) -> &'static str {
        "automation.edges"
    }

    fn keys(&self) -> &'static [&'static str] {
        // One consumer for both, which keeps their order.
        &["torrent.renewed", "torrent.rules_due"]
    }

    async fn handle(&self, tx: &mut Tx, stored: &StoredEvent) -> Result<(), ConsumeError> {
        if stored.event.event_key == "torrent.renewed" {
            let renewed = Renewed::deserialize(&stored.event.payload)?;
            return self.0.forget(tx, renewed, stored.position).await;
        }
        let due = RulesDue::deserialize(&stored.event.payload)?;
        let torrent = TorrentRef {
            engine_id: due.engine_id,
            hash: due.hash,
        };
        let since = due.torrent.get("stalledSince").and_then(Value::as_str);
        let since = since.unwrap_or_default().to_owned();
        let context = Value::Object(due.torrent).to_string();
        // A torrent that is gone can be acted on no more.
        let subject = Some(&torrent).filter(|_| due.trigger != REMOVED);
        for rule_id in &due.rules {
            let is_done = match due.trigger.as_str() {
                FAILED => self.0.has_just_run(tx, rule_id, &torrent.hash).await?,
                STALLED => !repo::stalls::put(tx, rule_id, &torrent, &since).await?,
                _ => false,
            };
            if is_done {
                continue;
            }
            let run = self
                .0
                .new_run(rule_id, &due.trigger, subject, context.clone(), stored.position);
            self.0.decide(tx, run).await?;
        }
        Ok(())
    }
}

impl Automation {
    /// True when a run of the rule for this torrent ended less than [`FAILURES_APART`] ago.
    async fn has_just_run(&self, tx: &mut Tx, rule_id: &str, hash: &str) -> Result<bool, DbError> {
        let last = repo::logs::last_at(tx, rule_id, hash).await?;
        Ok(last.is_some_and(|last| last.plus(FAILURES_APART) > self.ctx.now()))
    }

    /// Deletes the ledger entries of these torrents before that outbox position.
    async fn forget(
        self: &Arc<Self>,
        tx: &mut Tx,
        renewed: Renewed,
        position: i64,
    ) -> Result<(), ConsumeError> {
        let Renewed { engine_id, hashes } = renewed;
        for hash in &hashes {
            repo::ledger::forget(tx, &engine_id, hash, position).await?;
            repo::stalls::forget(tx, &engine_id, hash).await?;
        }
        let automation = self.clone();
        tx.after_commit(move || automation.memory().forget(&engine_id, &hashes));
        Ok(())
    }
}

/// Names and keys of the consumers of events without a torrent, which are triggers of the catalogue with the same names.
/// The keys of a consumer are fixed for ever, because servers of two versions would pass its position over events that only
/// one of them reads: a later trigger has a consumer of its own.
pub(super) const OCCASIONS: &[(&str, &[&str])] = &[
    (
        "automation.occasions",
        &[
            "rss.rule.created_for_inactive_show",
            "rss.show_status.changed",
            "rss.show.became_active",
            "rss.show.ended",
            "rss.show.canceled",
        ],
    ),
    ("automation.storage_low", &["storage.low"]),
];

/// Stores a run for every rule on an event without a torrent whose conditions match the event.
pub struct Occasions {
    automation: Arc<Automation>,
    name: &'static str,
    keys: &'static [&'static str],
}

impl Occasions {
    /// Consumers of all such events.
    pub fn for_triggers(automation: &Arc<Automation>) -> Vec<Self> {
        OCCASIONS
            .iter()
            .map(|(name, keys)| Self {
                automation: automation.clone(),
                name,
                keys,
            })
            .collect()
    }
}

#[async_trait]
impl Consumer for Occasions {
    fn name(&self) -> &'static str {
        self.name
    }

    fn keys(&self) -> &'static [&'static str] {
        self.keys
    }

    async fn handle(&self, tx: &mut Tx, stored: &StoredEvent) -> Result<(), ConsumeError> {
        let context = Map::deserialize(&stored.event.payload)?;
        let trigger = &stored.event.event_key;
        self.automation.fire(tx, trigger, None, &context).await?;
        Ok(())
    }
}
