//! Reading and changing rules. A rule grabs on behalf of the user who saved it last, whose permissions are
//! checked at the save and before each grab.

use std::collections::HashMap;
use std::sync::Arc;

use qm_db::{DbError, Tx};
use qm_kernel::{Caller, PageQuery};
use qm_ports::shows::ShowSnapshot;
use serde_json::json;

use super::{Rss, lookups};
use crate::error::RssError;
use crate::model::evaluation::Evaluation;
use crate::model::live::targets;
use crate::model::rule::{MAX_RULES, Rule, RuleChange};
use crate::repo;

pub(super) const OBJECT: &str = "rss_rule";

/// Every rule by name, with the ids of the feeds it judges.
pub(super) async fn rules_with_targets(tx: &mut Tx) -> Result<Vec<(Rule, Vec<String>)>, DbError> {
    let mut rules = repo::rules::all(tx).await?;
    rules.sort_by_key(|rule| rule.name.to_lowercase());
    let mut of_rule: HashMap<String, Vec<_>> = HashMap::new();
    for stored in repo::candidates::all(tx).await? {
        of_rule.entry(stored.rule_id.clone()).or_default().push(stored);
    }
    let with_targets = rules.into_iter().map(|rule| {
        let own = of_rule.remove(&rule.id).unwrap_or_default();
        let targets = targets(&rule, &own);
        (rule, targets)
    });
    Ok(with_targets.collect())
}

/// Ids of the feeds that a rule judges.
pub(super) async fn targets_of(tx: &mut Tx, rule: &Rule) -> Result<Vec<String>, DbError> {
    let own = repo::candidates::of_rule(tx, &rule.id).await?;
    Ok(targets(rule, &own))
}

/// A rule as a row of the list of all rules.
pub struct Listed {
    pub rule: Rule,
    /// The feeds it looks at.
    pub feed_ids: Vec<String>,
    pub feed_name: String,
}

impl Rss {
    /// Every rule by its name.
    pub async fn list_rules(&self) -> Result<Vec<Listed>, RssError> {
        let mut tx = self.db.begin_read().await?;
        let feeds = repo::feeds::all(&mut tx).await?;
        let rules = rules_with_targets(&mut tx).await?;
        let name = |id: &str| {
            feeds
                .iter()
                .find(|feed| feed.id == id)
                .map(|feed| feed.name.clone())
        };
        let listed = rules.into_iter().map(|(rule, feed_ids)| Listed {
            feed_name: name(&rule.feed_id).unwrap_or_default(),
            feed_ids,
            rule,
        });
        Ok(listed.collect())
    }

    /// The feeds that a rule judges.
    pub async fn targets_of(&self, rule: &Rule) -> Result<Vec<String>, RssError> {
        Ok(targets_of(&mut self.db.begin_read().await?, rule).await?)
    }

    /// Creates a rule. It grabs nothing before it has a condition.
    pub async fn create_rule(
        self: &Arc<Self>,
        caller: Caller<'_>,
        feed_id: &str,
        change: RuleChange,
    ) -> Result<Rule, RssError> {
        let name = change.name.clone().unwrap_or_default();
        let mut rule = Rule::new(self.ctx.id(), feed_id.to_owned(), name, self.ctx.now());
        rule.apply(change);
        if rule.named_show().is_some() {
            // A provider is asked only for callers with the permission.
            self.admit(caller).await?;
        }
        let show = self.look_up(&rule).await;
        let place = self.judge_place(caller, rule.save_path.as_deref()).await?;
        let _turn = self.changing.lock().await;
        let mut tx = self.db.begin_write().await?;
        let actor = self.judge_grabs(&mut tx, caller).await?;
        complete(&mut rule, place)?;
        if repo::feeds::find(&mut tx, feed_id).await?.is_none() {
            return Err(RssError::UnknownFeed(feed_id.to_owned()));
        }
        let count = repo::rules::count(&mut tx).await?;
        if count >= MAX_RULES {
            return Err(RssError::TooManyRules(count));
        }
        alone(&mut tx, &rule).await?;
        self.pass_gate(&mut tx, caller, &mut rule, show.as_ref()).await?;
        repo::rules::insert(&mut tx, &rule).await?;
        repo::rules::set_author(&mut tx, &rule.id, actor.user_id()).await?;
        let told = json!({ "name": rule.name, "feedId": rule.feed_id });
        self.note(
            &mut tx,
            caller,
            &actor,
            "rss.rule.created",
            (OBJECT, Some(&rule.id)),
            told,
        )
        .await?;
        self.changes_rules(&mut tx);
        tx.commit().await?;
        Ok(rule)
    }

    pub async fn update_rule(
        self: &Arc<Self>,
        caller: Caller<'_>,
        id: &str,
        change: RuleChange,
    ) -> Result<Rule, RssError> {
        loop {
            let show = self.look_up_changed(caller, id, &change).await?;
            let changed = self.change_rule(caller, id, change.clone(), show).await?;
            if let Some(rule) = changed {
                return Ok(rule);
            }
        }
    }

    /// Changes a rule; `None` when another request has changed its show meanwhile, so that `show` is
    /// outdated.
    async fn change_rule(
        self: &Arc<Self>,
        caller: Caller<'_>,
        id: &str,
        change: RuleChange,
        show: Option<ShowSnapshot>,
    ) -> Result<Option<Rule>, RssError> {
        let concerns_show = change.concerns_show();
        let path = change.save_path.as_ref().and_then(Option::as_deref);
        let place = self.judge_place(caller, path).await?;
        let _turn = self.changing.lock().await;
        let mut tx = self.db.begin_write().await?;
        let actor = self.judge_grabs(&mut tx, caller).await?;
        let mut rule = lookups::rule(&mut tx, id).await?;
        let before = rule.clone();
        rule.apply(change);
        if concerns_show {
            let asked = show
                .as_ref()
                .map(|show| (show.provider.clone(), show.provider_show_id.clone()));
            if asked != rule.named_show() {
                return Ok(None);
            }
            self.pass_gate(&mut tx, caller, &mut rule, show.as_ref()).await?;
        }
        // A stored path is not checked again: its roots may have changed since.
        if rule.save_path != before.save_path || rule.storage_profile_id != before.storage_profile_id {
            complete(&mut rule, place)?;
        }
        rule.touched_by_person(self.ctx.now());
        alone(&mut tx, &rule).await?;
        repo::rules::update(&mut tx, &rule).await?;
        repo::rules::set_author(&mut tx, id, actor.user_id()).await?;
        let told =
            json!({ "name": rule.name, "isEnabled": rule.is_enabled, "autoDownload": rule.auto_download });
        self.note(
            &mut tx,
            caller,
            &actor,
            "rss.rule.updated",
            (OBJECT, Some(id)),
            told,
        )
        .await?;
        self.changes_rules(&mut tx);
        tx.commit().await?;
        Ok(Some(rule))
    }

    /// Airing status of the rule's show after the change; `None` when the change does not concern the show.
    async fn look_up_changed(
        &self,
        caller: Caller<'_>,
        id: &str,
        change: &RuleChange,
    ) -> Result<Option<ShowSnapshot>, RssError> {
        if !change.concerns_show() {
            return Ok(None);
        }
        let mut tx = self.db.begin_write().await?;
        self.judge(&mut tx, caller).await?;
        let mut rule = lookups::rule(&mut tx, id).await?;
        tx.commit().await?;
        rule.apply(change.clone());
        Ok(self.look_up(&rule).await)
    }

    /// Deletes a rule, its candidates and its pending grabs; returns it with the feeds that it judged.
    /// Torrents stay.
    pub async fn delete_rule(
        self: &Arc<Self>,
        caller: Caller<'_>,
        id: &str,
    ) -> Result<(Rule, Vec<String>), RssError> {
        let _turn = self.changing.lock().await;
        let mut tx = self.db.begin_write().await?;
        let actor = self.judge(&mut tx, caller).await?;
        let rule = lookups::rule(&mut tx, id).await?;
        let feed_ids = targets_of(&mut tx, &rule).await?;
        repo::rules::delete(&mut tx, id).await?;
        let told = json!({ "name": rule.name });
        self.note(
            &mut tx,
            caller,
            &actor,
            "rss.rule.deleted",
            (OBJECT, Some(id)),
            told,
        )
        .await?;
        self.changes_rules(&mut tx);
        tx.commit().await?;
        Ok((rule, feed_ids))
    }

    /// One page of a rule's evaluations, the newest first; empty for an unknown rule.
    pub async fn evaluations(&self, id: &str, page: PageQuery) -> Result<(Vec<Evaluation>, u64), RssError> {
        let mut tx = self.db.begin_read().await?;
        lookups::rule(&mut tx, id).await?;
        Ok(repo::evaluations::page(&mut tx, id, page).await?)
    }

    /// Resolves a save path outside of any transaction, because a disk may be slow. Callers without the
    /// permission are refused first.
    pub(super) async fn judge_place(
        &self,
        caller: Caller<'_>,
        path: Option<&str>,
    ) -> Result<Place, RssError> {
        let Some(path) = path else {
            return Ok(None);
        };
        self.admit(caller).await?;
        Ok(Some(self.torrents.check_save_path(path).await))
    }
}

/// Resolved save path or the reason of its refusal; `None`: no path was given.
pub(super) type Place = Option<Result<String, String>>;

/// Completes and checks the fields of a rule on their own: the save path must be allowed, the profile must
/// exist.
pub(super) fn complete(rule: &mut Rule, place: Place) -> Result<(), RssError> {
    if let Some(profile) = &rule.storage_profile_id {
        // The media area brings profiles, and with them the check of the path against their libraries.
        return Err(RssError::NoSuchProfile(profile.clone()));
    }
    if let Some(place) = place {
        rule.save_path = Some(place.map_err(RssError::Path)?);
    }
    Ok(())
}

/// Refuses a rule whose name or save path another rule has.
async fn alone(tx: &mut Tx, rule: &Rule) -> Result<(), RssError> {
    let key = rule.name.trim().to_lowercase();
    for (id, name, path) in repo::rules::names(tx).await? {
        if id == rule.id {
            continue;
        }
        if name.trim().to_lowercase() == key {
            return Err(RssError::NameTaken(rule.name.trim().to_owned()));
        }
        if path.is_some() && path == rule.save_path {
            return Err(RssError::PathTaken(name));
        }
    }
    Ok(())
}
