//! Automation: rules over a whole server, and the effect of a kill on their runs.

mod crash;
mod hostile;
mod page;
pub mod plugins;
mod powers;
mod rules;

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use qm_kernel::Permission;
use qm_lanes::IgnorePoison;
use qm_ports::action::{ActionCall, ActionError, ActionKind, Actions, Occasion};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// Actions that only report that they were called: `harmless` may be done twice, `harmful` may not; `stuck` waits until
/// it is let go.
pub struct Telling {
    tell: Box<dyn Fn(&str) -> bool + Send + Sync>,
    pub told: Mutex<Vec<String>>,
    pub go: Semaphore,
}

impl Telling {
    /// Each action reports `action hash tag` when it begins. If `tell` answers false, the action never ends.
    pub fn new(tell: impl Fn(&str) -> bool + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            tell: Box::new(tell),
            told: Mutex::default(),
            go: Semaphore::new(0),
        })
    }

    pub fn messages(&self) -> Vec<String> {
        self.told.lock().ignore_poison().clone()
    }
}

#[async_trait]
impl Actions for Telling {
    fn actions(&self) -> Vec<ActionKind> {
        ["harmless", "harmful", "stuck"]
            .map(|id| ActionKind {
                id: id.to_owned(),
                label: id.to_owned(),
                category: "torrent".to_owned(),
                occasions: vec![Occasion::Torrent],
                params_schema: json!({ "type": "object" }),
                idempotent: id == "harmless",
                needs: vec![Permission::AutomationManage],
                plugin: "test".to_owned(),
            })
            .to_vec()
    }

    async fn run(&self, action: &str, call: ActionCall) -> Result<(), ActionError> {
        let hash = call.torrent.map(|torrent| torrent.hash).unwrap_or_default();
        let tag = call.params.get("tag").and_then(Value::as_str).unwrap_or_default();
        let line = format!("{action} {hash} {tag}");
        if !(self.tell)(&line) {
            std::future::pending::<()>().await;
        }
        self.told.lock().ignore_poison().push(line);
        if action == "stuck" {
            let turn = self.go.acquire().await;
            turn.map_err(|_| ActionError::Busy)?.forget();
        }
        Ok(())
    }
}

/// A rule that does these actions, each with the tag.
fn rule(name: &str, trigger: &str, conditions: &Value, actions: &[&str]) -> Value {
    let actions = actions
        .iter()
        .map(|action| json!({ "type": action, "params": { "tag": name } }));
    json!({ "name": name, "trigger": trigger, "conditions": conditions, "actions": actions.collect::<Vec<_>>() })
}
