//! Export and import of rules. A row that cannot be read is skipped and reported; the others are imported.
//!
//! Bounds: [`ROWS`] rows a transaction.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use qm_db::Tx;
use qm_matching::{Candidate, CandidateDraft, DraftError, check_list_length};
use qm_platform::Actor;
use serde_json::{Map, Value, json};

use super::Rss;
use super::candidates::next_order;
use super::rules::{Place, complete};
use crate::error::RssError;
use crate::model::bundle::{self, Imported, Mode, Problem};
use crate::model::feed::{self, DEFAULT_INTERVAL, Feed, MAX_FEEDS, MAX_INTERVAL, MIN_INTERVAL};
use crate::model::rule::{self, ImportMode, MAX_RULES, Rule};
use crate::repo;
use qm_kernel::Caller;

/// Rows per transaction.
const ROWS: usize = 50;

/// A parsed row of a bundle.
struct Read {
    rule: Rule,
    feed: (String, String, i64),
    candidates: Vec<Value>,
}

/// The candidates of a row and their rule.
struct Given<'a> {
    rule: &'a Rule,
    candidates: &'a [Value],
    mode: Mode,
}

/// A text member that is not blank.
fn text(value: &Value, name: &str) -> Option<String> {
    let text = value.get(name).and_then(Value::as_str).map(str::trim);
    text.filter(|text| !text.is_empty()).map(str::to_owned)
}

impl Rss {
    /// Exports the rules of a feed, or those with these ids, or those of the feed with these ids; all rules
    /// without either.
    pub async fn export(&self, feed_id: Option<&str>, ids: Option<&[String]>) -> Result<Value, RssError> {
        let mut tx = self.db.begin_read().await?;
        let feeds: HashMap<String, Feed> = repo::feeds::all(&mut tx)
            .await?
            .into_iter()
            .map(|feed| (feed.id.clone(), feed))
            .collect();
        if feed_id.is_some_and(|id| !feeds.contains_key(id)) {
            return Err(RssError::FeedNotFound);
        }
        let mut rules = repo::rules::all(&mut tx).await?;
        rules.retain(|rule| {
            feed_id.is_none_or(|id| rule.feed_id == id) && ids.is_none_or(|ids| ids.contains(&rule.id))
        });
        let mut of_rule: HashMap<String, Vec<_>> = HashMap::new();
        for stored in repo::candidates::all(&mut tx).await? {
            of_rule.entry(stored.rule_id.clone()).or_default().push(stored);
        }
        let rows: Vec<_> = rules
            .into_iter()
            .filter_map(|rule| {
                let feed = feeds.get(&rule.feed_id)?.clone();
                let candidates = of_rule.remove(&rule.id).unwrap_or_default();
                Some((rule, feed, candidates))
            })
            .collect();
        Ok(bundle::write(&rows, self.ctx.now()))
    }

    pub async fn import(
        self: &Arc<Self>,
        caller: Caller<'_>,
        rows: impl ExactSizeIterator<Item = Result<Value, &'static str>> + Send,
        mode: Mode,
    ) -> Result<Imported, RssError> {
        self.admit(caller).await?;
        let count = rows.len();
        let mut rows = rows.enumerate().peekable();
        let mut imported = Imported::default();
        let _turn = self.changing.lock().await;
        while rows.peek().is_some() {
            let mut read = Vec::with_capacity(ROWS);
            for (at, row) in rows.by_ref().take(ROWS) {
                read.push((at, self.read_checked(caller, row).await?));
            }
            let mut tx = self.db.begin_write().await?;
            let actor = self.judge_grabs(&mut tx, caller).await?;
            for (at, row) in read {
                match row {
                    Ok((row, read)) => {
                        self.import_row(&mut tx, &actor, (at, &row), read, mode, &mut imported)
                            .await?;
                    }
                    Err(fault) => imported.skip(at, None, format!("the rule {fault}")),
                }
            }
            if rows.peek().is_none() {
                let told = json!({
                    "mode": mode.as_str(), "rules": count, "created": imported.rules_created,
                    "overwritten": imported.rules_overwritten, "merged": imported.rules_merged,
                    "skipped": imported.rules_skipped,
                });
                self.note(
                    &mut tx,
                    caller,
                    &actor,
                    "rss.rules.imported",
                    ("rss_rule", None),
                    told,
                )
                .await?;
            }
            self.changes_rules(&mut tx);
            tx.commit().await?;
        }
        self.due.notify_one();
        Ok(imported)
    }

    /// Parses a row and checks its save path; the inner error is the reason to skip the row.
    async fn read_checked(
        &self,
        caller: Caller<'_>,
        row: Result<Value, &'static str>,
    ) -> Result<Result<(Value, Result<Read, String>), &'static str>, RssError> {
        let row = match row {
            Ok(row) => row,
            Err(fault) => return Ok(Err(fault)),
        };
        let place = self
            .judge_place(caller, text(&row, "savePath").as_deref())
            .await?;
        let read = self.read_row(&row, place);
        Ok(Ok((row, read)))
    }

    async fn import_row(
        &self,
        tx: &mut Tx,
        actor: &Actor,
        (at, row): (usize, &Value),
        read: Result<Read, String>,
        mode: Mode,
        imported: &mut Imported,
    ) -> Result<(), RssError> {
        let named = row.get("name").and_then(Value::as_str).map(str::to_owned);
        let read = match read {
            Ok(read) => read,
            Err(reason) => {
                imported.skip(at, named, reason);
                return Ok(());
            }
        };
        let Some((feed, is_new)) = self.feed_of(tx, &read.feed).await? else {
            let reason = format!("there are {MAX_FEEDS} feeds, and more are not kept");
            imported.skip(at, named, reason);
            return Ok(());
        };
        imported.feeds_created += u64::from(is_new);
        let there = repo::rules::named(tx, &feed.id, &read.rule.name).await?;
        let rule = match (there, mode) {
            (Some(_), Mode::Skip) => {
                imported.rules_skipped += 1;
                return Ok(());
            }
            (Some(there), Mode::Overwrite) => {
                let mut rule = Rule {
                    include_regex: read.rule.include_regex,
                    exclude_regex: read.rule.exclude_regex,
                    save_path: read.rule.save_path,
                    auto_download: read.rule.auto_download,
                    is_enabled: read.rule.is_enabled,
                    ..there
                };
                rule.touched_by_person(self.ctx.now());
                repo::rules::update(tx, &rule).await?;
                repo::candidates::delete_all(tx, &rule.id).await?;
                imported.rules_overwritten += 1;
                rule
            }
            (Some(there), Mode::Merge) => {
                imported.rules_merged += 1;
                there
            }
            (None, _) => {
                if repo::rules::count(tx).await? >= MAX_RULES {
                    let reason = format!("there are {MAX_RULES} rules, and more are not kept");
                    imported.skip(at, named, reason);
                    return Ok(());
                }
                let rule = Rule {
                    feed_id: feed.id,
                    ..read.rule
                };
                repo::rules::insert(tx, &rule).await?;
                imported.rules_created += 1;
                rule
            }
        };
        repo::rules::set_author(tx, &rule.id, actor.user_id()).await?;
        let problem = |place, reason| Problem {
            row: at,
            rule: named.clone(),
            candidate: Some(place),
            reason,
        };
        let given = Given {
            rule: &rule,
            candidates: &read.candidates,
            mode,
        };
        self.import_candidates(tx, &given, imported, problem).await
    }

    /// Adds the valid candidates of a row; a merge adds only new ones.
    async fn import_candidates(
        &self,
        tx: &mut Tx,
        given: &Given<'_>,
        imported: &mut Imported,
        problem: impl Fn(usize, String) -> Problem,
    ) -> Result<(), RssError> {
        let Given {
            rule,
            candidates,
            mode,
        } = *given;
        let there = repo::candidates::of_rule(tx, &rule.id).await?;
        let mut keys: BTreeSet<String> = there.iter().map(|stored| stored.candidate.import_key()).collect();
        let is_merged = mode == Mode::Merge && !there.is_empty();
        let (mut order, mut count) = (next_order(&there), there.len());
        for (place, given) in candidates.iter().enumerate() {
            let made = self.read_candidate(place, given, order);
            let candidate = match made.and_then(|candidate| {
                check_list_length(count + 1)?;
                Ok(candidate)
            }) {
                Ok(candidate) => candidate,
                Err(error) => {
                    imported.candidates_skipped += 1;
                    imported.problems.push(problem(place, error.to_string()));
                    continue;
                }
            };
            let key = candidate.import_key();
            if is_merged && !keys.insert(key) {
                imported.candidates_skipped += 1;
                continue;
            }
            let mut candidate = candidate;
            if is_merged {
                candidate.priority_order = order;
            }
            order = order.max(candidate.priority_order) + 1;
            count += 1;
            repo::candidates::insert(tx, &self.stored(&rule.id, candidate)).await?;
            imported.candidates_created += 1;
        }
        Ok(())
    }

    fn read_candidate(&self, place: usize, given: &Value, order: i64) -> Result<Candidate, DraftError> {
        let empty = Map::new();
        let mut draft = CandidateDraft::read(given.as_object().unwrap_or(&empty));
        if draft.name.as_deref().is_none_or(|name| name.trim().is_empty()) {
            draft.name = Some(format!("Candidate {}", place + 1));
        }
        draft.make(self.ctx.id(), order)
    }

    /// Parses a row; the error is the reason to skip it.
    fn read_row(&self, row: &Value, place: Place) -> Result<Read, String> {
        let name = text(row, "name").ok_or("the rule has no name")?;
        if name.chars().count() > rule::MAX_NAME {
            return Err(format!(
                "the rule's name has more than {} characters",
                rule::MAX_NAME
            ));
        }
        let feed = row.get("feed").ok_or("the rule names no feed")?;
        let url = text(feed, "url").ok_or("the rule's feed has no url")?;
        if !feed::is_address(&url) || url.chars().count() > feed::MAX_URL {
            return Err("the url of the rule's feed is no http or https address".to_owned());
        }
        let interval = feed.get("refreshInterval").and_then(Value::as_i64);
        let interval = interval
            .unwrap_or(DEFAULT_INTERVAL)
            .clamp(MIN_INTERVAL, MAX_INTERVAL);
        let feed_name = text(feed, "name").unwrap_or_else(|| feed::host_of(&url));
        let feed_name = feed_name.chars().take(feed::MAX_NAME).collect();
        let mut rule = Rule::new(self.ctx.id(), String::new(), name, self.ctx.now());
        rule.import_mode = ImportMode::LegacyDirect;
        rule.include_regex = text(row, "includeRegex");
        rule.exclude_regex = text(row, "excludeRegex");
        rule.save_path = text(row, "savePath");
        let flag = |name: &str| row.get(name).and_then(Value::as_bool).unwrap_or(true);
        rule.auto_download = flag("autoDownload");
        rule.is_enabled = flag("isEnabled");
        complete(&mut rule, place).map_err(|error| error.to_string())?;
        let candidates = row.get("candidates").and_then(Value::as_array);
        Ok(Read {
            rule,
            feed: (feed_name, url, interval),
            candidates: candidates.cloned().unwrap_or_default(),
        })
    }

    /// The feed of an address, created if missing; `None` when the limit of feeds is reached.
    async fn feed_of(
        &self,
        tx: &mut Tx,
        (name, url, interval): &(String, String, i64),
    ) -> Result<Option<(Feed, bool)>, RssError> {
        if let Some(feed) = repo::feeds::by_url(tx, url).await? {
            return Ok(Some((feed, false)));
        }
        if repo::feeds::count(tx).await? >= MAX_FEEDS {
            return Ok(None);
        }
        let feed = Feed {
            id: self.ctx.id(),
            ..Feed::new(name.clone(), url.clone(), *interval, self.ctx.now())
        };
        repo::feeds::insert(tx, &feed).await?;
        Ok(Some((feed, true)))
    }
}
