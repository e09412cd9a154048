//! Reading and changing feeds.

use std::collections::HashMap;
use std::sync::Arc;

use qm_db::{DbError, Tx};
use qm_kernel::{Caller, PageQuery};
use qm_platform::masked;
use serde_json::json;

use super::rules::{rules_with_targets, targets_of};
use super::{Rss, lookups};
use crate::error::RssError;
use crate::model::feed::{Feed, FeedChange, MAX_FEEDS, host_of};
use crate::model::history::{Counts, HistoryFilter, HistoryItem};
use crate::model::rule::Rule;
use crate::repo;

/// A feed with its rules, each with the ids of the feeds it judges.
pub type FeedWithRules = (Feed, Vec<(Rule, Vec<String>)>);

const OBJECT: &str = "rss_feed";

/// Rules of a feed by name, each with the ids of the feeds it judges.
async fn rules_of(tx: &mut Tx, feed_id: &str) -> Result<Vec<(Rule, Vec<String>)>, DbError> {
    let mut rules = repo::rules::all(tx).await?;
    rules.retain(|rule| rule.feed_id == feed_id);
    rules.sort_by_key(|rule| rule.name.to_lowercase());
    let mut with_targets = Vec::with_capacity(rules.len());
    for rule in rules {
        let targets = targets_of(tx, &rule).await?;
        with_targets.push((rule, targets));
    }
    Ok(with_targets)
}

impl Rss {
    /// Every feed, the oldest first, with its rules by their names.
    pub async fn list_feeds(&self) -> Result<Vec<FeedWithRules>, RssError> {
        let mut tx = self.db.begin_read().await?;
        let feeds = repo::feeds::all(&mut tx).await?;
        let mut of_feed: HashMap<String, Vec<_>> = HashMap::new();
        for (rule, targets) in rules_with_targets(&mut tx).await? {
            of_feed
                .entry(rule.feed_id.clone())
                .or_default()
                .push((rule, targets));
        }
        let with_rules = feeds.into_iter().map(|feed| {
            let rules = of_feed.remove(&feed.id).unwrap_or_default();
            (feed, rules)
        });
        Ok(with_rules.collect())
    }

    /// A feed with its rules by their names.
    pub async fn with_rules(&self, feed: Feed) -> Result<FeedWithRules, RssError> {
        let mut tx = self.db.begin_read().await?;
        let rules = rules_of(&mut tx, &feed.id).await?;
        Ok((feed, rules))
    }

    pub async fn create_feed(self: &Arc<Self>, caller: Caller<'_>, new: Feed) -> Result<Feed, RssError> {
        let now = self.ctx.now();
        let feed = Feed {
            id: self.ctx.id(),
            created_at: now,
            updated_at: now,
            ..new
        };
        let mut tx = self.db.begin_write().await?;
        let actor = self.judge(&mut tx, caller).await?;
        let count = repo::feeds::count(&mut tx).await?;
        if count >= MAX_FEEDS {
            return Err(RssError::TooManyFeeds(count));
        }
        repo::feeds::insert(&mut tx, &feed).await?;
        // Addresses of feeds hold users' keys: only the host is logged.
        let told = json!({ "name": feed.name, "host": host_of(&feed.url) });
        self.note(
            &mut tx,
            caller,
            &actor,
            "rss.feed.created",
            (OBJECT, Some(&feed.id)),
            told,
        )
        .await?;
        self.wakes_poll(&mut tx);
        tx.commit().await?;
        Ok(feed)
    }

    pub async fn update_feed(
        self: &Arc<Self>,
        caller: Caller<'_>,
        id: &str,
        mut change: FeedChange,
    ) -> Result<Feed, RssError> {
        let mut tx = self.db.begin_write().await?;
        let actor = self.judge(&mut tx, caller).await?;
        let mut feed = lookups::feed(&mut tx, id).await?;
        // A form that showed the address masked sends it back masked.
        change.url = change.url.filter(|url| *url != masked::url(&feed.url));
        feed.apply(change);
        feed.updated_at = self.ctx.now();
        repo::feeds::update(&mut tx, &feed).await?;
        let told = json!({ "name": feed.name, "host": host_of(&feed.url), "isEnabled": feed.is_enabled });
        self.note(
            &mut tx,
            caller,
            &actor,
            "rss.feed.updated",
            (OBJECT, Some(id)),
            told,
        )
        .await?;
        self.wakes_poll(&mut tx);
        tx.commit().await?;
        Ok(feed)
    }

    /// Deletes a feed with its rules and its history; returns them.
    pub async fn delete_feed(
        self: &Arc<Self>,
        caller: Caller<'_>,
        id: &str,
    ) -> Result<FeedWithRules, RssError> {
        let mut tx = self.db.begin_write().await?;
        let actor = self.judge(&mut tx, caller).await?;
        let feed = lookups::feed(&mut tx, id).await?;
        let rules = rules_of(&mut tx, id).await?;
        repo::feeds::delete(&mut tx, id).await?;
        let told = json!({ "name": feed.name });
        self.note(
            &mut tx,
            caller,
            &actor,
            "rss.feed.deleted",
            (OBJECT, Some(id)),
            told,
        )
        .await?;
        self.changes_rules(&mut tx);
        tx.commit().await?;
        Ok((feed, rules))
    }

    /// One page of a feed's history, the newest first; empty for an unknown feed.
    pub async fn history(
        &self,
        feed_id: &str,
        filter: &HistoryFilter,
        page: PageQuery,
    ) -> Result<(Vec<HistoryItem>, Counts), RssError> {
        let mut tx = self.db.begin_read().await?;
        lookups::feed(&mut tx, feed_id).await?;
        Ok(repo::history::page(&mut tx, feed_id, filter, page).await?)
    }

    fn wakes_poll(self: &Arc<Self>, tx: &mut qm_db::Tx) {
        let rss = self.clone();
        tx.after_commit(move || rss.due.notify_one());
    }
}
