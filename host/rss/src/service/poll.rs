//! Poll loop: reads feeds that are due, and judges new items by the rules.
//!
//! Bounds: [`SITES`] sites at once, one request per site at a time with [`SPACING`] between two requests of
//! the loop; [`DUE`] feeds per round. One document per feed is in memory, and beyond it one chunk of items.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use qm_feeds::{Document, Item};
use qm_kernel::{Caller, Timestamp, as_error};
use qm_lanes::IgnorePoison;
use qm_ports::feed::{Fetched, Validators};
use tokio::sync::{Mutex as Turn, OwnedMutexGuard};
use tokio_util::sync::CancellationToken;

use super::items::{chunk_of, judge_all};
use super::{Rss, lookups};
use crate::error::RssError;
use crate::lanes::READS;
use crate::model::feed::{Feed, seconds};
use crate::model::history::{HistoryItem, guid_with_title};
use crate::model::live::LiveRule;
use crate::repo;

/// Interval between two rounds while nothing wakes the loop.
const INTERVAL: Duration = Duration::from_mins(1);
/// Number of sites requested at once.
const SITES: usize = 4;
/// Pause between two requests to one site.
const SPACING: Duration = Duration::from_secs(1);
/// Number of feeds per round.
const DUE: usize = 500;
/// Pause after a database error.
const PAUSE: Duration = Duration::from_secs(5);
/// Interval at which a still listed item is recorded as seen.
const SEEN_EVERY: Duration = Duration::from_hours(24);
/// Items looked up and judged before the next ones are.
const LOOKED_UP: usize = 500;

/// Request lock of each site, by host; unused ones are dropped when the next is taken.
#[derive(Default)]
pub struct Sites(Mutex<HashMap<String, Weak<Turn<()>>>>);

impl Sites {
    async fn take(&self, host: &str) -> OwnedMutexGuard<()> {
        let turn = {
            let mut turns = self.0.lock().ignore_poison();
            match turns.get(host).and_then(Weak::upgrade) {
                Some(turn) => turn,
                None => {
                    turns.retain(|_, turn| turn.strong_count() > 0);
                    let turn = Arc::new(Turn::new(()));
                    turns.insert(host.to_owned(), Arc::downgrade(&turn));
                    turn
                }
            }
        };
        turn.lock_owned().await
    }
}

/// Result of reading one feed.
#[derive(Default)]
pub(super) struct FeedReading {
    pub new_items: u64,
    /// Ids of the decided grabs.
    pub grabs: Vec<String>,
}

/// Reason why a feed was not read.
enum Unread {
    /// Error sentence, and the pause in seconds that the site asked for.
    Fetch(String, Option<u32>),
    Ours(RssError),
}

impl<E: Into<RssError>> From<E> for Unread {
    fn from(error: E) -> Self {
        Unread::Ours(error.into())
    }
}

/// True when both lists hold the same compiled rules.
fn is_same(rules: &[Arc<LiveRule>], others: &[Arc<LiveRule>]) -> bool {
    rules.len() == others.len()
        && rules
            .iter()
            .zip(others)
            .all(|(one, other)| Arc::ptr_eq(one, other))
}

impl Rss {
    pub const POLL: (&'static str, Duration) = ("rss_poll", INTERVAL);

    /// Reads due feeds until stopped.
    pub async fn poll_loop(self: Arc<Self>, stop: CancellationToken) {
        loop {
            let round = stop.run_until_cancelled(self.round()).await;
            let wait = match round {
                None => return,
                Some(Ok(wait)) => wait,
                Some(Err(error)) => {
                    tracing::warn!(error = as_error(&error), "feeds that are due cannot be read");
                    PAUSE
                }
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = self.due.notified() => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Reads the due feeds; returns the time until the next one may be due.
    pub(super) async fn round(self: &Arc<Self>) -> Result<Duration, RssError> {
        if !self.db.mandate().holds() {
            return Ok(INTERVAL);
        }
        let mut tx = self.db.begin_read().await?;
        let due = repo::feeds::due(&mut tx, self.ctx.now(), DUE).await?;
        drop(tx);
        let mut sites: BTreeMap<String, Vec<Feed>> = BTreeMap::new();
        for feed in due {
            sites.entry(feed.host()).or_default().push(feed);
        }
        stream::iter(sites)
            .for_each_concurrent(SITES, |(host, feeds)| self.visit(host, feeds))
            .await;
        let mut tx = self.db.begin_read().await?;
        let next = repo::feeds::next(&mut tx).await?;
        let until = next.map_or(INTERVAL, |at| at.since(self.ctx.now()));
        Ok(until.clamp(Duration::from_secs(1), INTERVAL))
    }

    /// Reads the feeds of one site one after the other. When the site asks for a pause, all of them wait.
    async fn visit(self: &Arc<Self>, host: String, feeds: Vec<Feed>) {
        let mut left_alone: Option<Timestamp> = None;
        for (at, feed) in feeds.into_iter().enumerate() {
            if let Some(until) = left_alone {
                if let Err(error) = self.postpone(&feed, until).await {
                    tracing::warn!(error = as_error(&error), "a feed was not postponed");
                }
                continue;
            }
            if at > 0 {
                tokio::time::sleep(SPACING).await;
            }
            if let Err(Unread::Fetch(_, Some(asked))) = self.look(&feed, &host).await {
                left_alone = Some(self.ctx.now().plus(seconds(asked.into())));
            }
        }
    }

    async fn postpone(&self, feed: &Feed, until: Timestamp) -> Result<(), RssError> {
        let mut tx = self.db.begin_write().await?;
        repo::feeds::postpone(&mut tx, feed, until).await?;
        Ok(tx.commit().await?)
    }

    /// Reads a feed now on request of a user.
    pub async fn refresh_for(self: &Arc<Self>, caller: Caller<'_>, id: &str) -> Result<(u64, u64), RssError> {
        self.admit(caller).await?;
        self.refresh(id).await
    }

    /// Reads a feed now.
    pub(super) async fn refresh(self: &Arc<Self>, id: &str) -> Result<(u64, u64), RssError> {
        let mut tx = self.db.begin_read().await?;
        let feed = lookups::feed(&mut tx, id).await?;
        drop(tx);
        match self.look(&feed, &feed.host()).await {
            Ok(looked) => Ok((looked.new_items, self.settle_all(looked.grabs).await)),
            Err(Unread::Fetch(reason, _)) => Err(RssError::Fetch(reason)),
            Err(Unread::Ours(error)) => Err(error),
        }
    }

    /// Reads a feed and stores the result.
    async fn look(self: &Arc<Self>, feed: &Feed, host: &str) -> Result<FeedReading, Unread> {
        let _turn = self.sites.take(host).await;
        let outcome = self.read(feed).await;
        if let Err(Unread::Fetch(reason, asked)) = &outcome {
            let again = feed.after_failure(self.ctx.now(), *asked);
            tracing::info!(feed = feed.id, reason, "a feed could not be read");
            let mut tx = self.db.begin_write().await?;
            repo::feeds::failed(&mut tx, feed, again, reason).await?;
            tx.commit().await?;
        }
        if let Err(Unread::Ours(error)) = &outcome {
            tracing::warn!(
                feed = feed.id,
                error = as_error(error),
                "what a feed shows could not be stored"
            );
            let again = feed.after_failure(self.ctx.now(), None);
            let _ = self.postpone(feed, again).await;
        }
        outcome
    }

    async fn read(self: &Arc<Self>, feed: &Feed) -> Result<FeedReading, Unread> {
        let mut tx = self.db.begin_read().await?;
        let is_wanted = repo::history::is_wanted(&mut tx, &feed.id).await?;
        drop(tx);
        let validators = Validators {
            etag: feed.etag.clone().filter(|_| !is_wanted),
            last_modified: feed.last_modified.clone().filter(|_| !is_wanted),
        };
        let fetched = self.feeds.fetch(&feed.url, &validators).await;
        let fetched = fetched.map_err(|error| Unread::Fetch(error.to_string(), error.retry_after()))?;
        let mut read = feed.clone();
        let looked = match fetched {
            Fetched::NotModified => FeedReading::default(),
            Fetched::Body {
                bytes,
                content_type,
                etag,
                last_modified,
            } => {
                let mut document = parse(bytes, content_type, &feed.url).await?;
                if document.is_last_cut {
                    document.items.pop();
                }
                read.warnings.clone_from(&document.warnings);
                // The rest of a truncated document is still to be read: "not modified" must not hide it.
                let whole = !document.torn;
                (read.etag, read.last_modified) = (etag.filter(|_| whole), last_modified.filter(|_| whole));
                self.take(feed, document.items).await?
            }
        };
        let now = self.ctx.now();
        let chance = u32::from_be_bytes(self.ctx.bytes());
        read.last_fetched_at = Some(now);
        read.next_fetch_at = Some(feed.after_success(now, chance));
        let mut tx = self.db.begin_write().await?;
        repo::feeds::fetched(&mut tx, &read).await?;
        tx.commit().await?;
        Ok(looked)
    }

    /// Judges the new items by the rules, and stores them.
    async fn take(self: &Arc<Self>, feed: &Feed, items: Vec<Item>) -> Result<FeedReading, RssError> {
        let mut looked = FeedReading::default();
        // The lookup comes first, so items listed before cost one query.
        let mut met = HashSet::new();
        for (at, part) in items.chunks(LOOKED_UP).enumerate() {
            let new = self.unknown(feed, part, at * LOOKED_UP, &mut met).await?;
            let rules = self.rules_alive().await?.of_feed(&feed.id);
            let size = chunk_of(rules.len());
            let mut new = new.into_iter().peekable();
            while new.peek().is_some() {
                let chunk: Vec<HistoryItem> = new.by_ref().take(size).collect();
                self.take_chunk(chunk, rules.clone(), &mut looked).await?;
            }
        }
        Ok(looked)
    }

    /// The items that are new, or wanted again. `place` is the position of the first one in its document;
    /// `met` holds the keys that the document listed so far.
    async fn unknown(
        &self,
        feed: &Feed,
        items: &[Item],
        place: usize,
        met: &mut HashSet<String>,
    ) -> Result<Vec<HistoryItem>, RssError> {
        let now = self.ctx.now();
        let mut tx = self.db.begin_read().await?;
        let with_titles: Vec<String> = items
            .iter()
            .filter(|item| item.is_told_by_link)
            .map(guid_with_title)
            .collect();
        let guids = items.iter().map(|item| item.guid.as_str());
        let guids = guids.chain(with_titles.iter().map(String::as_str));
        let known = repo::history::known(&mut tx, &feed.id, guids).await?;
        drop(tx);
        let mut titles: HashMap<String, String> = known
            .iter()
            .map(|(key, item)| (key.clone(), item.title.clone()))
            .collect();
        let (mut new, mut seen) = (Vec::new(), Vec::new());
        for (place, item) in (place..).zip(items) {
            let guid = guid_of(item, &mut titles);
            let key = repo::history::key(&guid);
            if !met.insert(key.clone()) {
                // Listed twice in one document.
                continue;
            }
            let place = i64::try_from(place).unwrap_or(i64::MAX);
            match known.get(&key) {
                None => new.push(HistoryItem {
                    item_guid: guid,
                    ..HistoryItem::new(self.ctx.id(), &feed.id, item, place, now)
                }),
                Some(known) => {
                    if now.since(known.seen_at) >= SEEN_EVERY {
                        seen.push(known.id.clone());
                    }
                    if known.regrab_requested_at.is_some() {
                        new.push(HistoryItem {
                            magnet: known.magnet.clone().or_else(|| item.magnet.clone()),
                            ..known.clone()
                        });
                    }
                }
            }
        }
        if !seen.is_empty() {
            let mut tx = self.db.begin_write().await?;
            for id in &seen {
                repo::history::seen(&mut tx, id, now).await?;
            }
            tx.commit().await?;
        }
        Ok(new)
    }

    pub(super) async fn take_chunk(
        self: &Arc<Self>,
        items: Vec<HistoryItem>,
        mut rules: Vec<Arc<LiveRule>>,
        looked: &mut FeedReading,
    ) -> Result<(), RssError> {
        let Some(feed_id) = items.first().map(|item| item.feed_id.clone()) else {
            return Ok(());
        };
        let mut judged = judge_all(items, rules.clone(), true).await?;
        let _turn = self.deciding.lock().await;
        // A changed rule may have been applied to the history before these items are in it: a change of rules
        // is stored first, and then reads the history in a turn like this one. So either the backfill finds
        // these items, or they are judged by the changed rules here.
        let now = self.rules_alive().await?.of_feed(&feed_id);
        if !is_same(&rules, &now) {
            rules = now;
            let items = judged.into_iter().map(|(item, _)| item).collect();
            judged = judge_all(items, rules.clone(), true).await?;
        }
        let mut grabs = Vec::new();
        let mut new_items = 0;
        let mut tx = self.db.begin_write().await?;
        let there = self.still_there(&mut tx, &rules).await?;
        for (item, mut judgements) in judged {
            let is_again = item.regrab_requested_at.is_some();
            if !is_again && !repo::history::insert(&mut tx, &item).await? {
                // Listed twice in one document, or another poll was faster.
                continue;
            }
            new_items += u64::from(!is_again);
            judgements.retain(|judgement| there.contains(&judgement.live.rule.id));
            self.store_judgements(&mut tx, &item, judgements, &mut grabs)
                .await?;
        }
        let rss = self.clone();
        if !grabs.is_empty() {
            tx.after_commit(move || rss.decided.notify_one());
        }
        tx.commit().await?;
        looked.new_items += new_items;
        looked.grabs.extend(grabs);
        Ok(())
    }

    /// The items that a feed lists now, without changes to its history.
    pub(super) async fn shown_now(&self, feed: &Feed) -> Option<Vec<Item>> {
        let _turn = self.sites.take(&feed.host()).await;
        let fetched = self.feeds.fetch(&feed.url, &Validators::default()).await;
        let Ok(Fetched::Body {
            bytes, content_type, ..
        }) = fetched
        else {
            return None;
        };
        parse(bytes, content_type, &feed.url)
            .await
            .ok()
            .map(|document| document.items)
    }
}

/// Key of an item. An item identified by a link that another title uses is keyed by its title too; `titles`
/// holds the titles of the taken keys.
fn guid_of(item: &Item, titles: &mut HashMap<String, String>) -> String {
    let key = repo::history::key(&item.guid);
    let is_taken = match titles.get(&key) {
        Some(title) => *title != item.title,
        None => {
            titles.insert(key, item.title.clone());
            false
        }
    };
    if item.is_told_by_link && is_taken {
        guid_with_title(item)
    } else {
        item.guid.clone()
    }
}

async fn parse(bytes: bytes::Bytes, content_type: Option<String>, url: &str) -> Result<Document, Unread> {
    let url = url.to_owned();
    let read = move |_| qm_feeds::read_at(&bytes, content_type.as_deref(), Some(&url));
    let read = READS.run(read).await.map_err(RssError::from)?;
    read.map_err(|error| Unread::Fetch(error.to_string(), None))
}
