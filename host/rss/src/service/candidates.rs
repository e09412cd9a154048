//! Reading and changing the candidates of rules.

use std::collections::BTreeSet;
use std::sync::Arc;

use qm_db::Tx;
use qm_matching::{Candidate, CandidateDraft, check_list_length};
use qm_platform::Actor;
use serde_json::{Value, json};

use super::rules::OBJECT;
use super::{Rss, lookups};
use crate::error::RssError;
use crate::model::candidate::StoredCandidate;
use crate::model::evaluation::Tally;
use crate::model::rule::Rule;
use crate::repo;
use crate::repo::templates::Template;
use qm_kernel::Caller;

/// Suggestions that a user takes over.
pub struct Suggestion {
    pub candidates: Vec<CandidateDraft>,
    /// The suggestions as the request sent them.
    pub given: Value,
    pub source_name: Option<String>,
    pub parsed_metadata: Value,
    pub confidence_score: Option<f64>,
    pub user_edited: bool,
}

impl Rss {
    /// The candidates of a rule, by place.
    pub async fn candidates(&self, rule_id: &str) -> Result<Vec<StoredCandidate>, RssError> {
        Ok(self.rule_with_candidates(rule_id).await?.1)
    }

    /// A rule and its candidates by place, each with the reason why it can never match, if any.
    pub(super) async fn rule_with_candidates(
        &self,
        rule_id: &str,
    ) -> Result<(Rule, Vec<StoredCandidate>), RssError> {
        let mut tx = self.db.begin_read().await?;
        let rule = lookups::rule(&mut tx, rule_id).await?;
        let mut stored = repo::candidates::of_rule(&mut tx, rule_id).await?;
        for stored in &mut stored {
            stored.find_complaint(&rule);
        }
        Ok((rule, stored))
    }

    pub async fn add_candidate(
        self: &Arc<Self>,
        caller: Caller<'_>,
        rule_id: &str,
        draft: CandidateDraft,
    ) -> Result<(StoredCandidate, Tally), RssError> {
        let turn = self.changing.lock().await;
        let mut tx = self.db.begin_write().await?;
        let actor = self.judge(&mut tx, caller).await?;
        let rule = repo::rules::find(&mut tx, rule_id)
            .await?
            .ok_or(RssError::RuleNotFound)?;
        let there = repo::candidates::of_rule(&mut tx, rule_id).await?;
        check_list_length(there.len() + 1)?;
        let candidate = draft.make(self.ctx.id(), next_order(&there))?;
        let mut stored = self.stored(rule_id, candidate);
        stored.find_complaint(&rule);
        repo::candidates::insert(&mut tx, &stored).await?;
        self.changed(tx, (caller, &actor), rule).await?;
        drop(turn);
        let filled = self.backfill(rule_id).await?;
        Ok((stored, filled))
    }

    pub async fn change_candidate(
        self: &Arc<Self>,
        caller: Caller<'_>,
        rule_id: &str,
        id: &str,
        draft: CandidateDraft,
    ) -> Result<(StoredCandidate, Tally), RssError> {
        let turn = self.changing.lock().await;
        let mut tx = self.db.begin_write().await?;
        let actor = self.judge(&mut tx, caller).await?;
        let rule = lookups::rule(&mut tx, rule_id).await?;
        let there = repo::candidates::of_rule(&mut tx, rule_id).await?;
        let mut stored = there
            .into_iter()
            .find(|stored| stored.candidate.id == id)
            .ok_or(RssError::NoSuchCandidate)?;
        draft.apply(&mut stored.candidate)?;
        stored.find_complaint(&rule);
        stored.updated_at = self.ctx.now();
        repo::candidates::update(&mut tx, &stored).await?;
        self.changed(tx, (caller, &actor), rule).await?;
        drop(turn);
        let filled = self.backfill(rule_id).await?;
        Ok((stored, filled))
    }

    pub async fn remove_candidate(
        self: &Arc<Self>,
        caller: Caller<'_>,
        rule_id: &str,
        id: &str,
    ) -> Result<(), RssError> {
        let _turn = self.changing.lock().await;
        let mut tx = self.db.begin_write().await?;
        let actor = self.judge(&mut tx, caller).await?;
        let rule = lookups::rule(&mut tx, rule_id).await?;
        if !repo::candidates::delete(&mut tx, rule_id, id).await? {
            return Err(RssError::NoSuchCandidate);
        }
        self.changed(tx, (caller, &actor), rule).await
    }

    /// Numbers the candidates of a rule 1, 2, … in this order.
    pub async fn reorder(
        self: &Arc<Self>,
        caller: Caller<'_>,
        rule_id: &str,
        ids: &[String],
    ) -> Result<Vec<StoredCandidate>, RssError> {
        let _turn = self.changing.lock().await;
        let mut tx = self.db.begin_write().await?;
        let actor = self.judge(&mut tx, caller).await?;
        let rule = lookups::rule(&mut tx, rule_id).await?;
        let there = repo::candidates::of_rule(&mut tx, rule_id).await?;
        let known: BTreeSet<&str> = there.iter().map(|stored| stored.candidate.id.as_str()).collect();
        let mut named = BTreeSet::new();
        for id in ids {
            if !known.contains(id.as_str()) {
                return Err(RssError::Order(format!("{id} is none of them")));
            }
            if !named.insert(id.as_str()) {
                return Err(RssError::Order(format!("{id} is there twice")));
            }
        }
        if let Some(missing) = known.difference(&named).next() {
            return Err(RssError::Order(format!("{missing} is missing")));
        }
        for (place, id) in (1..).zip(ids) {
            repo::candidates::set_order(&mut tx, rule_id, id, place).await?;
        }
        let mut ordered = repo::candidates::of_rule(&mut tx, rule_id).await?;
        for stored in &mut ordered {
            stored.find_complaint(&rule);
        }
        self.changed(tx, (caller, &actor), rule).await?;
        Ok(ordered)
    }

    /// Appends suggestions to the candidates of a rule, and runs its backfill.
    pub async fn apply_suggestion(
        self: &Arc<Self>,
        caller: Caller<'_>,
        rule_id: &str,
        suggestion: Suggestion,
    ) -> Result<Vec<StoredCandidate>, RssError> {
        if suggestion.candidates.is_empty() {
            return Err(RssError::NothingToApply);
        }
        let turn = self.changing.lock().await;
        let mut tx = self.db.begin_write().await?;
        let actor = self.judge(&mut tx, caller).await?;
        let rule = lookups::rule(&mut tx, rule_id).await?;
        let there = repo::candidates::of_rule(&mut tx, rule_id).await?;
        check_list_length(there.len() + suggestion.candidates.len())?;
        for (order, mut draft) in (next_order(&there)..).zip(suggestion.candidates) {
            draft.priority_order = None;
            let candidate = draft.make(self.ctx.id(), order)?;
            repo::candidates::insert(&mut tx, &self.stored(rule_id, candidate)).await?;
        }
        let template = Template {
            id: self.ctx.id(),
            rule_id,
            source_name: suggestion.source_name,
            parsed_metadata: suggestion.parsed_metadata,
            generated_candidates: suggestion.given,
            confidence_score: suggestion.confidence_score,
            user_edited: suggestion.user_edited,
            at: self.ctx.now(),
        };
        repo::templates::insert(&mut tx, &template).await?;
        self.changed(tx, (caller, &actor), rule).await?;
        drop(turn);
        self.backfill(rule_id).await?;
        self.candidates(rule_id).await
    }

    pub(super) fn stored(&self, rule_id: &str, candidate: Candidate) -> StoredCandidate {
        let now = self.ctx.now();
        StoredCandidate {
            rule_id: rule_id.to_owned(),
            candidate,
            last_matched_at: None,
            match_count: 0,
            created_at: now,
            updated_at: now,
            complaint: None,
        }
    }

    /// Finishes a change of a candidate: it also counts as a change of its rule.
    async fn changed(
        self: &Arc<Self>,
        mut tx: Tx,
        (caller, actor): (Caller<'_>, &Actor),
        mut rule: Rule,
    ) -> Result<(), RssError> {
        rule.touched_by_person(self.ctx.now());
        repo::rules::update(&mut tx, &rule).await?;
        repo::rules::set_author(&mut tx, &rule.id, actor.user_id()).await?;
        let told = json!({ "name": rule.name, "candidates": true });
        self.note(
            &mut tx,
            caller,
            actor,
            "rss.rule.updated",
            (OBJECT, Some(&rule.id)),
            told,
        )
        .await?;
        self.changes_rules(&mut tx);
        tx.commit().await?;
        Ok(())
    }
}

/// The place after all existing candidates.
pub(super) fn next_order(there: &[StoredCandidate]) -> i64 {
    let last = there.iter().map(|stored| stored.candidate.priority_order).max();
    last.map_or(1, |last| last + 1)
}
