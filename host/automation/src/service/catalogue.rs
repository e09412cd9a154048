//! The triggers and the actions there are.

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
    /// What the plugin says of it; none where the plugin is not loaded, and a rule uses the action.
    pub kind: Option<ActionKind>,
}

impl Automation {
    /// The actions that loaded plugins provide, as they list them, then those that rules use and nobody provides any more.
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

    /// The actions there are and were, by id.
    pub(super) async fn catalogue(&self) -> Result<Catalogue, DbError> {
        let mut tx = self.db.begin_read().await?;
        let known = repo::actions::all(&mut tx).await?;
        Ok(Catalogue::new(self.actions.actions(), known))
    }

    /// Refuses actions that nobody provides so far, while a plugin may come up that does.
    pub(super) fn settled(&self, actions: &[Value]) -> Result<(), AutomationError> {
        let kinds = self.actions.actions();
        let mut missing = types_of(actions).into_iter();
        match missing.find(|id| kinds.iter().all(|kind| kind.id != *id)) {
            Some(id) => Ok(self.actions.settling(id).map_or(Ok(()), Err)?),
            None => Ok(()),
        }
    }

    /// Notes who provides the actions of a rule, so that they can be named when nobody does any more.
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
