//! Automation actions on rules and their shows.
//!
//! They act for the author of the automation rule, whose permissions are checked before each run. Repeating
//! an action changes nothing more.

use async_trait::async_trait;
use qm_db::{DbError, Tx};
use qm_kernel::{Permission, Timestamp};
use qm_ports::action::{ActionCall, ActionError, ActionKind, Actions, HOUSE, Occasion};
use serde_json::{Value, json};

use super::Rss;
use crate::repo;

const REFRESH: &str = "refresh_rss_show_status";
const DISABLE: &str = "disable_rss_rule";
const CONVERT: &str = "convert_rule_to_backfill";

/// Change that an action makes to a rule.
#[derive(Clone, Copy)]
enum Change {
    Disabled,
    /// It records matches and grabs nothing.
    Quiet,
}

impl Change {
    async fn make(self, tx: &mut Tx, id: &str, now: Timestamp) -> Result<(), DbError> {
        match self {
            Change::Disabled => repo::rules::disable(tx, id, now).await,
            Change::Quiet => repo::rules::stop_grabbing(tx, id, now).await,
        }
    }
}

#[async_trait]
impl Actions for Rss {
    fn actions(&self) -> Vec<ActionKind> {
        let kind = |(id, need): (&str, Permission), label: &str, params: &[&str]| {
            let named = params
                .iter()
                .map(|name| ((*name).to_owned(), json!({ "type": "string" })));
            ActionKind {
                id: id.to_owned(),
                label: label.to_owned(),
                category: "rss".to_owned(),
                occasions: vec![Occasion::Event],
                params_schema: json!({ "type": "object", "properties": named.collect::<serde_json::Map<_, _>>() }),
                idempotent: true,
                needs: vec![need],
                plugin: HOUSE.to_owned(),
            }
        };
        let of_rule = ["ruleId", "provider", "providerShowId"];
        vec![
            kind(
                (CONVERT, Permission::RssManage),
                "Let RSS rules record matches only",
                &of_rule,
            ),
            kind((DISABLE, Permission::RssManage), "Disable RSS rules", &of_rule),
            kind(
                (REFRESH, Permission::RssShowStatusRefresh),
                "Look up the airing status of a show",
                &of_rule[1..],
            ),
        ]
    }

    async fn run(&self, action: &str, call: ActionCall) -> Result<(), ActionError> {
        match action {
            REFRESH => {
                let (provider, id) = show_of(&call).ok_or_else(|| {
                    ActionError::InvalidParams(format!(
                        "Action \"{REFRESH}\" needs provider and providerShowId"
                    ))
                })?;
                // An unknown show has no status that could change.
                let refreshed = self.shows.refresh(provider, id).await;
                refreshed
                    .map(drop)
                    .map_err(|error| ActionError::Unreachable(error.to_string()))
            }
            DISABLE => self.change_rules_of(&call, DISABLE, Change::Disabled).await,
            CONVERT => self.change_rules_of(&call, CONVERT, Change::Quiet).await,
            _ => Err(ActionError::Unknown(action.to_owned())),
        }
    }
}

impl Rss {
    async fn change_rules_of(
        &self,
        call: &ActionCall,
        action: &str,
        change: Change,
    ) -> Result<(), ActionError> {
        let (rule, show) = (text(call.params.get("ruleId")), show_of(call));
        if rule.is_none() && show.is_none() {
            let why = format!("Action \"{action}\" needs ruleId, or provider and providerShowId");
            return Err(ActionError::InvalidParams(why));
        }
        // A change of a rule writes all its fields.
        let _turn = self.changing.lock().await;
        let done = async {
            let mut tx = self.db.begin_write().await?;
            let ids = match (rule, show) {
                (Some(id), _) => vec![id.to_owned()],
                (None, Some((provider, id))) => repo::rules::of_show(&mut tx, provider, id).await?,
                (None, None) => Vec::new(),
            };
            for id in &ids {
                change.make(&mut tx, id, self.ctx.now()).await?;
            }
            self.changes_rules(&mut tx);
            tx.commit().await
        };
        done.await.map_err(|error: DbError| {
            ActionError::Rejected(format!("The rules could not be changed: {error}"))
        })
    }
}

/// Provider and id of the action's show: parameters of the action first, then the context of the event.
fn show_of(call: &ActionCall) -> Option<(&str, &str)> {
    let said = |name: &str| text(call.params.get(name)).or_else(|| text(call.context.get(name)));
    Some((said("provider")?, said("providerShowId")?))
}

fn text(value: Option<&Value>) -> Option<&str> {
    value.and_then(Value::as_str).filter(|text| !text.is_empty())
}
