//! Catalogue of triggers and actions.

use std::collections::BTreeSet;

use qm_db::{DbError, Tx};
use qm_ports::action::ActionKind;

use serde_json::Value;

use super::Automation;
use crate::error::AutomationError;
use crate::model::action::{Catalogue, KnownAction};
use crate::model::rule::{Rule, types_of};
use crate::repo;

/// An action of the catalogue.
pub struct Offered {
    pub action: KnownAction,
    /// Declaration of the plugin; `None` for an action that a rule uses and no loaded plugin provides.
    pub kind: Option<ActionKind>,
}

impl Automation {
    /// Actions of loaded plugins in their order, then those that rules use without a provider.
    pub async fn offered(&self) -> Result<Vec<Offered>, DbError> {
        let kinds = self.actions.actions();
        let mut tx = self.db.begin_read().await?;
        let known = repo::actions::all(&mut tx).await?;
        let rules = repo::rules::all(&mut tx).await?;
        drop(tx);
        let used: BTreeSet<&str> = rules.iter().flat_map(|rule| types_of(&rule.actions)).collect();
        let is_there = |id: &str| kinds.iter().any(|kind| kind.id == id);
        let missing: Vec<Offered> = known
            .into_iter()
            .filter(|action| used.contains(action.id.as_str()) && !is_there(&action.id))
            .map(|action| Offered { action, kind: None })
            .collect();
        let there = kinds.into_iter().map(|kind| Offered {
            action: KnownAction::from(&kind),
            kind: Some(kind),
        });
        Ok(there.chain(missing).collect())
    }

    /// Present and former actions, by id.
    pub(super) async fn catalogue(&self) -> Result<Catalogue, DbError> {
        let mut tx = self.db.begin_read().await?;
        let known = repo::actions::all(&mut tx).await?;
        Ok(Catalogue::new(self.actions.actions(), known))
    }

    /// Refuses actions without a provider while plugins are still being compiled.
    pub(super) fn settled(&self, actions: &[Value]) -> Result<(), AutomationError> {
        let kinds = self.actions.actions();
        let mut missing = types_of(actions).into_iter();
        match missing.find(|id| kinds.iter().all(|kind| kind.id != *id)) {
            Some(id) => Ok(self.actions.settling(id).map_or(Ok(()), Err)?),
            None => Ok(()),
        }
    }

    /// Stores the providers of a rule's actions, so that they can be named when they are gone.
    pub(super) async fn note_actions(&self, tx: &mut Tx, rule: &Rule) -> Result<(), DbError> {
        let used: BTreeSet<&str> = types_of(&rule.actions).into_iter().collect();
        for kind in self
            .actions
            .actions()
            .iter()
            .filter(|kind| used.contains(kind.id.as_str()))
        {
            repo::actions::put(tx, &KnownAction::from(kind)).await?;
        }
        Ok(())
    }
}
