//! Permissions of a rule: it does only what its author may, when it is stored, enabled and run.
//!
//! The author is the user who last changed trigger, conditions or actions, or enabled the rule. The
//! permissions that each action needs ([`ActionKind::needs`]) are checked in the transaction of the change
//! for the caller, and before each action of a run for the author. A rule whose author lacks a permission
//! fails with that message, and is paused for [`PAUSE`]; missed completions are found by the passes once it
//! may run again.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use qm_db::{DbError, Tx};
use qm_kernel::{Permission, PermissionSet};
use qm_platform::ActingError;
use qm_ports::action::ActionKind;

use super::{Automation, Caller};
use crate::error::AutomationError;
use crate::model::action::Catalogue;
use crate::model::answers::ShownRule;
use crate::model::rule::{ReadyRule, Rule, type_of, types_of};
use crate::model::trigger::{SCHEDULE, Trigger};
use crate::repo;

/// Time for which passes skip a rule whose author lacks a permission.
pub(super) const PAUSE: Duration = Duration::from_mins(1);

/// Permissions of an author, or a sentence why there are none.
type Powers = Result<PermissionSet, &'static str>;

impl Automation {
    /// Refuses a caller who lacks permissions of the rule's actions. Their row stays locked.
    pub(super) async fn judge_actions(
        &self,
        tx: &mut Tx,
        caller: Caller<'_>,
        rule: &Rule,
    ) -> Result<(), AutomationError> {
        let lacking = self.lacking(tx, caller, rule).await?;
        if lacking.is_empty() {
            return Ok(());
        }
        let told = lacking
            .iter()
            .map(|(id, keys)| format!("for the action \"{id}\": {keys}"));
        Err(AutomationError::Powers(told.collect::<Vec<_>>().join("; ")))
    }

    /// Permissions that a caller lacks, by action.
    pub(super) async fn lacking(
        &self,
        tx: &mut Tx,
        caller: Caller<'_>,
        rule: &Rule,
    ) -> Result<BTreeMap<String, String>, AutomationError> {
        let mut lacking = BTreeMap::new();
        let used = types_of(&rule.actions);
        let mut kinds = self.actions.actions();
        kinds.retain(|kind| used.contains(&kind.id.as_str()));
        for kind in kinds {
            let needed = kind.lacking(PermissionSet::empty());
            match self.acting.judge(tx, caller.principal, &needed).await {
                Ok(_) => {}
                Err(ActingError::Lacks(keys)) => {
                    lacking.insert(kind.id, keys);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(lacking)
    }

    /// Present permissions of a rule's author.
    async fn author(&self, tx: &mut Tx, author: Option<&str>) -> Result<Powers, DbError> {
        let Some(author) = author else {
            return Ok(Err("nobody is known to have written it"));
        };
        match self.acting.powers(tx, author).await {
            Ok(powers) if powers.contains(Permission::AutomationManage) => Ok(Ok(powers)),
            Ok(_) => Ok(Err(
                "its author may not have rules any more (automation.manage is missing)",
            )),
            Err(ActingError::Gone) => Ok(Err("the account of its author no longer exists")),
            Err(ActingError::Inactive) => Ok(Err("the account of its author is deactivated")),
            Err(ActingError::Lacks(_)) => Ok(Err("its author may not act")),
            Err(ActingError::Database(error)) => Err(error),
        }
    }

    /// Permissions for running an action; the error is the reason not to begin.
    pub(super) async fn powers_of_run(
        &self,
        rule: &Rule,
        kind: &ActionKind,
    ) -> Result<Result<PermissionSet, String>, DbError> {
        let mut tx = self.db.begin_read().await?;
        let held = match self.author(&mut tx, rule.author.as_deref()).await? {
            Ok(held) => held,
            Err(why) => return Ok(Err(refusal(why))),
        };
        Ok(match lacked(kind, held) {
            Some(why) => Err(refusal(&why)),
            None => Ok(kind.needs.iter().copied().collect()),
        })
    }

    /// Reason why a rule could not run now for any torrent; `None`: its author may do what it does.
    pub(super) async fn refuse_author(
        &self,
        tx: &mut Tx,
        rule: &ReadyRule,
        catalogue: &Catalogue,
    ) -> Result<Option<String>, DbError> {
        let mut used = rule.actions.iter().filter_map(|id| catalogue.get(id));
        Ok(match self.author(tx, rule.author.as_deref()).await? {
            Err(why) => Some(refusal(why)),
            Ok(held) => used.find_map(|kind| lacked(kind, held)).map(|why| refusal(&why)),
        })
    }

    /// Rules with the reason why they could not run now, if any.
    pub async fn shown(&self, rules: Vec<Rule>) -> Result<Vec<ShownRule>, AutomationError> {
        let kinds = self.actions.actions();
        let mut tx = self.db.begin_read().await?;
        let catalogue = Catalogue::new(kinds.clone(), repo::actions::all(&mut tx).await?);
        let mut authors: HashMap<Option<String>, Powers> = HashMap::new();
        let mut shown = Vec::with_capacity(rules.len());
        for rule in rules {
            let powers = match authors.get(&rule.author) {
                Some(powers) => *powers,
                None => {
                    let powers = self.author(&mut tx, rule.author.as_deref()).await?;
                    authors.insert(rule.author.clone(), powers);
                    powers
                }
            };
            let problem = match powers {
                Err(why) => Some(refusal(why)),
                Ok(held) => {
                    let used = types_of(&rule.actions);
                    let mut used = kinds.iter().filter(|kind| used.contains(&kind.id.as_str()));
                    let why = used.find_map(|kind| lacked(kind, held));
                    why.map(|why| refusal(&why))
                }
            };
            shown.push(ShownRule {
                warnings: self.warnings(&rule, &catalogue),
                next_run_at: self.next_run_at(&rule),
                rule,
                problem,
            });
        }
        Ok(shown)
    }

    /// Warnings about parts of a rule without effect. The rule is stored anyway: a plugin may provide them
    /// later, and nothing is reported while plugins are being compiled. Those about conditions come from the rules in
    /// memory, because compiling the patterns of all rules for each list would be slow: a disabled rule has none.
    fn warnings(&self, rule: &Rule, catalogue: &Catalogue) -> Vec<String> {
        let trigger = Trigger::find(&rule.trigger).is_none().then(|| {
            let trigger = &rule.trigger;
            format!("Nothing fires the trigger \"{trigger}\"; the catalogue lists those there are")
        });
        let idle = rule.schedule.is_some() && rule.trigger != SCHEDULE;
        let idle = idle.then(|| {
            let trigger = &rule.trigger;
            format!("The schedule does nothing: the trigger is \"{trigger}\", and \"{SCHEDULE}\" follows it")
        });
        let occasion = catalogue.occasion_of(rule);
        let actions = rule
            .actions
            .iter()
            .filter(|action| self.actions.settling(type_of(action)).is_none());
        let of_actions = actions.flat_map(|action| match catalogue.refuses(action, occasion) {
            Some(why) => vec![why],
            None => catalogue.unknown_params(action),
        });
        let of_conditions = self.book.rules().never_true(&rule.id);
        trigger
            .into_iter()
            .chain(idle)
            .chain(of_conditions)
            .chain(of_actions)
            .collect()
    }

    /// One rule, as [`Automation::shown`].
    pub async fn shown_one(&self, rule: Rule) -> Result<ShownRule, AutomationError> {
        let mut shown = self.shown(vec![rule]).await?;
        shown.pop().ok_or(AutomationError::NoSuchRule)
    }
}

/// Sentence about permissions that the author lacks for an action.
fn lacked(kind: &ActionKind, held: PermissionSet) -> Option<String> {
    let lacking = kind.lacking(held);
    let keys: Vec<&str> = lacking.iter().map(|permission| permission.key()).collect();
    let text = || {
        format!(
            "its author may not do what \"{}\" does: {} is missing",
            kind.id,
            keys.join(", ")
        )
    };
    (!keys.is_empty()).then(text)
}

/// Sentence for the log.
fn refusal(why: &str) -> String {
    format!("The rule does not run: {why}. Whoever saves it again becomes its author")
}
