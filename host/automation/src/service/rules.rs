//! Reading and changing rules. A rule does what its author may, so a caller who changes what it does is
//! checked in the transaction of the change for all its actions, and becomes its author ([`super::powers`]).

use std::time::Duration;

use qm_db::Tx;
use qm_kernel::{PageQuery, Permission};
use qm_platform::Actor;
use serde_json::json;

use super::{Automation, Caller};
use crate::error::AutomationError;
use crate::model::action::Catalogue;
use crate::model::log::LogLine;
use crate::model::rule::{MAX_PATTERNS, MAX_RULES, Rule, RuleChange, patterns, types_of};
use crate::model::trigger::{SCHEDULE, STALLED};
use crate::repo;

impl Automation {
    /// Every rule, in order of execution.
    pub async fn rules(&self) -> Result<Vec<Rule>, AutomationError> {
        Ok(repo::rules::all(&mut self.db.begin_read().await?).await?)
    }

    /// A rule as it would be stored.
    pub fn draft(&self, change: RuleChange) -> Rule {
        let now = self.ctx.now();
        let mut rule = Rule {
            id: self.ctx.id(),
            name: String::new(),
            description: None,
            trigger: String::new(),
            conditions: Vec::new(),
            actions: Vec::new(),
            is_enabled: true,
            priority: 0,
            author: None,
            schedule: None,
            scheduled_from: Some(now),
            stalled_hours: None,
            created_at: now,
            updated_at: now,
        };
        change.apply(&mut rule);
        rule
    }

    pub async fn create(&self, caller: Caller<'_>, new: RuleChange) -> Result<Rule, AutomationError> {
        let mut rule = self.draft(new);
        let mut tx = self.db.begin_write().await?;
        let actor = self.judge(&mut tx, caller).await?;
        self.settled(&rule.actions)?;
        self.refuse_params(&rule)?;
        refuse_without_schedule(&rule)?;
        self.judge_actions(&mut tx, caller, &rule).await?;
        rule.author = Some(actor.user_id().to_owned());
        let count = repo::rules::count(&mut tx).await?;
        if count >= MAX_RULES {
            return Err(AutomationError::TooManyRules(count));
        }
        repo::rules::insert(&mut tx, &rule).await?;
        within_patterns(&mut tx, &rule).await?;
        self.changed(tx, caller, &actor, "automation.rules.create", &rule)
            .await?;
        Ok(rule)
    }

    pub async fn update(
        &self,
        caller: Caller<'_>,
        id: &str,
        change: RuleChange,
    ) -> Result<Rule, AutomationError> {
        let mut tx = self.db.begin_write().await?;
        let actor = self.judge(&mut tx, caller).await?;
        let stored = repo::rules::find(&mut tx, id).await?;
        let mut rule = stored.ok_or(AutomationError::NoSuchRule)?;
        let takes_over = change.takes_over();
        let before = (rule.is_scheduled(), rule.schedule.clone());
        change.apply(&mut rule);
        let restarts = rule.is_scheduled() && before != (true, rule.schedule.clone());
        if takes_over {
            // The permissions of an action are unknown until its plugin is loaded.
            self.settled(&rule.actions)?;
            self.refuse_params(&rule)?;
            refuse_without_schedule(&rule)?;
            self.judge_actions(&mut tx, caller, &rule).await?;
            rule.author = Some(actor.user_id().to_owned());
        }
        // Two changes within a millisecond are two versions.
        rule.updated_at = self.ctx.now().max(rule.updated_at.plus(Duration::from_millis(1)));
        repo::rules::update(&mut tx, &rule).await?;
        if restarts {
            // Due times before the change, or while it was disabled, are not made up for.
            rule.scheduled_from = Some(self.ctx.now());
            repo::rules::restart(&mut tx, id, self.ctx.now()).await?;
        }
        within_patterns(&mut tx, &rule).await?;
        self.changed(tx, caller, &actor, "automation.rules.update", &rule)
            .await?;
        Ok(rule)
    }

    /// Deletes a rule with its log and its waiting runs.
    pub async fn delete(&self, caller: Caller<'_>, id: &str) -> Result<Rule, AutomationError> {
        let mut tx = self.db.begin_write().await?;
        let actor = self.judge(&mut tx, caller).await?;
        let stored = repo::rules::find(&mut tx, id).await?;
        let rule = stored.ok_or(AutomationError::NoSuchRule)?;
        repo::rules::delete(&mut tx, id).await?;
        self.changed(tx, caller, &actor, "automation.rules.delete", &rule)
            .await?;
        Ok(rule)
    }

    /// One page of a rule's log, the newest first; empty for an unknown rule.
    pub async fn logs(&self, id: &str, page: PageQuery) -> Result<(Vec<LogLine>, u64), AutomationError> {
        let mut tx = self.db.begin_read().await?;
        let (lines, total) = repo::logs::page(&mut tx, id, page).await?;
        Ok((lines.into_iter().map(LogLine::shown).collect(), total))
    }

    /// Refuses a rule with an unknown placeholder, or a parameter that is none of its action's words.
    fn refuse_params(&self, rule: &Rule) -> Result<(), AutomationError> {
        let catalogue = Catalogue::new(self.actions.actions(), Vec::new());
        for action in &rule.actions {
            if let Some(why) = catalogue.unknown_placeholder(action) {
                return Err(AutomationError::Placeholder(why));
            }
            if let Some(why) = catalogue.unknown_word(action) {
                return Err(AutomationError::Parameter(why));
            }
        }
        Ok(())
    }

    pub(super) async fn judge(&self, tx: &mut Tx, caller: Caller<'_>) -> Result<Actor, AutomationError> {
        let needed = &[Permission::AutomationManage];
        Ok(self.acting.judge(tx, caller.principal, needed).await?)
    }

    /// Audits and commits a change, and updates the rules in memory.
    async fn changed(
        &self,
        mut tx: Tx,
        caller: Caller<'_>,
        actor: &Actor,
        action: &'static str,
        rule: &Rule,
    ) -> Result<(), AutomationError> {
        self.note_actions(&mut tx, rule).await?;
        let mut entry = actor.entry(action, caller.client);
        entry.object_type = Some("automation_rule");
        entry.object_id = Some(rule.id.clone());
        entry.metadata = Some(json!({
            "rule": rule.name, "trigger": rule.trigger, "actions": types_of(&rule.actions), "isEnabled": rule.is_enabled,
        }));
        self.audit.record(&mut tx, entry).await?;
        tx.commit().await?;
        // The change is stored; a caller whose request fails here retries, and so reads the rules again.
        self.memory().release(self.book.number(&rule.id));
        self.guard().clear();
        self.book.read().await?;
        self.rules_changed.notify_one();
        Ok(())
    }
}

/// Refuses a rule that waits for a time table, or for hours without data, and has none.
fn refuse_without_schedule(rule: &Rule) -> Result<(), AutomationError> {
    if rule.trigger == SCHEDULE && rule.schedule.is_none() {
        return Err(AutomationError::NoSchedule);
    }
    if rule.trigger == STALLED && rule.stalled_hours.is_none() {
        return Err(AutomationError::NoStalledHours);
    }
    Ok(())
}

/// Refuses a rule that exceeds the limit of patterns over all rules, including disabled ones, because
/// enabling is not checked.
async fn within_patterns(tx: &mut Tx, rule: &Rule) -> Result<(), AutomationError> {
    if patterns(&rule.conditions) == 0 {
        return Ok(());
    }
    let all = repo::rules::all(tx).await?;
    let count = all.iter().map(|rule| patterns(&rule.conditions)).sum();
    if count > MAX_PATTERNS {
        return Err(AutomationError::TooManyPatterns(count));
    }
    Ok(())
}
