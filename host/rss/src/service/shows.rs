//! Rules on shows: a rule on a show that has ended is stored only for users who insist and have the
//! permission; rules receive a changed status of their show.
//!
//! A show is looked up before the transaction of the change begins, for its provider may take seconds. Rules that come by
//! an import are about no show.

use async_trait::async_trait;
use qm_db::{DbError, Tx};
use qm_kernel::event::{Cause, DomainEvent, Event};
use qm_kernel::{Caller, Permission, Timestamp};
use qm_platform::ActingError;
use qm_ports::shows::{AiringStatus, Gate, ShowError, ShowRules, ShowSnapshot};
use qm_realtime::Room;
use serde::Serialize;
use serde_json::json;

use super::Rss;
use super::rules::OBJECT;
use crate::error::RssError;
use crate::events::RuleOfInactiveShow;
use crate::model::rule::{Rule, TO_INSIST};
use crate::repo;

/// Realtime message about a new rule on a show that has ended.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EndedShowMessage<'a> {
    rule_name: &'a str,
    normalized_status: AiringStatus,
    provider: &'a str,
    at: Timestamp,
}

impl Rss {
    /// Airing status of the rule's show; `None` for a rule without a show.
    pub(super) async fn look_up(&self, rule: &Rule) -> Option<ShowSnapshot> {
        let (provider, id) = rule.named_show()?;
        Some(self.shows.snapshot(&provider, &id).await)
    }

    /// Stores the airing status in the rule. A show that has ended is refused, unless the rule insists and
    /// the caller has the override permission; then it is audited and announced. `show` is `None` for a rule
    /// without a show.
    pub(super) async fn pass_gate(
        &self,
        tx: &mut Tx,
        caller: Caller<'_>,
        rule: &mut Rule,
        show: Option<&ShowSnapshot>,
    ) -> Result<(), RssError> {
        let Some(show) = show else {
            return Ok(());
        };
        rule.show = show.into();
        match show.gate(rule.allow_inactive_show_monitoring) {
            Gate::Open => return Ok(()),
            Gate::Closed => return Err(RssError::InactiveShow(show.warning())),
            Gate::Overridden => {}
        }
        let needed = &[Permission::RssManage, TO_INSIST];
        let actor = match self.acting.judge(tx, caller.principal, needed).await {
            Err(ActingError::Lacks(_)) => return Err(RssError::MayNotOverride),
            judged => judged?,
        };
        let title = show
            .title
            .clone()
            .unwrap_or_else(|| show.provider_show_id.clone());
        let about = json!({
            "ruleName": rule.name, "title": title, "normalizedStatus": show.status, "provider": show.provider,
            "providerShowId": show.provider_show_id,
        });
        let key = RuleOfInactiveShow::KEY;
        self.note(tx, caller, &actor, key, (OBJECT, Some(&rule.id)), about)
            .await?;
        let event = RuleOfInactiveShow {
            rule_name: rule.name.clone(),
            title,
            normalized_status: show.status,
            recommendation: show.recommendation,
            provider: show.provider.clone(),
            provider_show_id: show.provider_show_id.clone(),
        };
        tx.publish(DomainEvent::new(&self.ctx, Cause::NONE, &rule.id, &event));
        let (hub, at) = (self.hub.clone(), self.ctx.now());
        tx.after_commit(move || {
            let told = EndedShowMessage {
                rule_name: &event.rule_name,
                normalized_status: event.normalized_status,
                provider: &event.provider,
                at,
            };
            hub.emit_json(Room::Perm(Permission::RssView), key, &told);
        });
        Ok(())
    }
}

fn failed(error: &DbError) -> ShowError {
    ShowError(error.to_string())
}

#[async_trait]
impl ShowRules for Rss {
    async fn show_changed(&self, show: &ShowSnapshot) -> Result<u64, ShowError> {
        // A change of a rule writes all its fields.
        let _turn = self.changing.lock().await;
        let mut tx = self.db.begin_write().await.map_err(|error| failed(&error))?;
        let count = repo::rules::show_told(&mut tx, show)
            .await
            .map_err(|error| failed(&error))?;
        tx.commit().await.map_err(|error| failed(&error))?;
        Ok(count)
    }

    async fn watched(&self) -> Result<Vec<(String, String)>, ShowError> {
        let mut tx = self.db.begin_read().await.map_err(|error| failed(&error))?;
        repo::rules::watched(&mut tx)
            .await
            .map_err(|error| failed(&error))
    }
}
