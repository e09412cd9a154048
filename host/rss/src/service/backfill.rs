//! Backfill: judges stored items by a new or changed rule.
//!
//! Bounds: the newest [`MOST`] items that were not downloaded.

use std::collections::HashMap;
use std::sync::Arc;

use qm_feeds::Item;
use serde_json::json;

use super::Rss;
use super::items::{chunk_of, judge_all};
use super::rules::OBJECT;
use crate::error::RssError;
use crate::model::evaluation::Tally;
use crate::model::history::{HistoryItem, newest_first};
use crate::repo;
use qm_kernel::Caller;

const MOST: usize = 500;

/// Items that feeds list at present, by feed id: each feed is requested once per backfill. `None`: it cannot
/// be read.
pub(super) type ShownNow = HashMap<String, Option<Vec<Item>>>;

impl Rss {
    /// Backfill of a rule on request of a user.
    pub async fn backfill_for(
        self: &Arc<Self>,
        caller: Caller<'_>,
        rule_id: &str,
    ) -> Result<Tally, RssError> {
        let mut tx = self.db.begin_write().await?;
        let actor = self.judge_grabs(&mut tx, caller).await?;
        if let Some(rule) = repo::rules::find(&mut tx, rule_id).await? {
            let told = json!({ "name": rule.name });
            self.note(
                &mut tx,
                caller,
                &actor,
                "rss.rule.backfill",
                (OBJECT, Some(rule_id)),
                told,
            )
            .await?;
            tx.commit().await?;
        }
        self.backfill(rule_id).await
    }

    /// Runs the backfill; a missing or disabled rule yields zeros.
    pub async fn backfill(self: &Arc<Self>, rule_id: &str) -> Result<Tally, RssError> {
        let rules = self.rules_alive().await?;
        let Some(live) = rules.0.iter().find(|live| live.rule.id == rule_id).cloned() else {
            return Ok(Tally::default());
        };
        // Items that a poll is about to store are either seen here, or judged by the new rule: see
        // `take_chunk`.
        let turn = self.deciding.lock().await;
        let mut tx = self.db.begin_read().await?;
        let mut items = Vec::new();
        for feed_id in &live.targets {
            items.extend(repo::history::open(&mut tx, feed_id, MOST).await?);
        }
        drop((tx, turn));
        items.sort_by(newest_first);
        items.truncate(MOST);
        let mut tally = Tally {
            evaluated: items.len() as u64,
            ..Tally::default()
        };
        let mut grabs = Vec::new();
        let mut shown = ShownNow::new();
        let mut items = items.into_iter().peekable();
        while items.peek().is_some() {
            let chunk: Vec<HistoryItem> = items.by_ref().take(chunk_of(1)).collect();
            let mut judged = judge_all(chunk, vec![live.clone()], false).await?;
            judged.retain(|(_, judgements)| judgements.iter().any(|judgement| judgement.hit.is_some()));
            tally.matched += judged.len() as u64;
            for (item, _) in &mut judged {
                self.find_magnet(item, &mut shown).await?;
            }
            let _turn = self.deciding.lock().await;
            let mut tx = self.db.begin_write().await?;
            if repo::rules::find(&mut tx, rule_id).await?.is_none() {
                return Ok(tally);
            }
            for (item, judgements) in judged {
                self.store_judgements(&mut tx, &item, judgements, &mut grabs)
                    .await?;
            }
            tx.commit().await?;
        }
        self.decided.notify_one();
        tally.downloaded = self.settle_all(grabs).await;
        Ok(tally)
    }

    /// Looks in the feed for a magnet link of an item that had no download link before.
    pub(super) async fn find_magnet(
        &self,
        item: &mut HistoryItem,
        shown: &mut ShownNow,
    ) -> Result<(), RssError> {
        if item.download().is_some() {
            return Ok(());
        }
        if !shown.contains_key(&item.feed_id) {
            let mut tx = self.db.begin_read().await?;
            let feed = repo::feeds::find(&mut tx, &item.feed_id).await?;
            drop(tx);
            let items = match &feed {
                Some(feed) => self.shown_now(feed).await,
                None => None,
            };
            shown.insert(item.feed_id.clone(), items);
        }
        let Some(Some(items)) = shown.get(&item.feed_id) else {
            return Ok(());
        };
        let found = items
            .iter()
            .find(|shown| shown.guid == item.item_guid)
            .or_else(|| items.iter().find(|shown| shown.title == item.title));
        if let Some(magnet) = found.and_then(|shown| shown.magnet.clone()) {
            let hash = found.and_then(|shown| shown.info_hash.clone());
            let mut tx = self.db.begin_write().await?;
            repo::history::set_magnet(&mut tx, &item.id, &magnet, hash.as_deref()).await?;
            tx.commit().await?;
            item.magnet = Some(magnet);
            item.info_hash = item.info_hash.take().or(hash);
        }
        Ok(())
    }
}
