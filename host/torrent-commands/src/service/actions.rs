//! Commands as actions of rules.
//!
//! They act for the author of a rule, whose permissions are judged before each run; the run is audited.

use std::sync::Arc;

use async_trait::async_trait;
use qm_engines::TorrentsError;
use qm_kernel::ErrorKind;
use qm_ports::action::{ActionCall, ActionError, ActionKind, Actions, HOUSE, Occasion, TorrentRef};
use qm_ports::placeholders;
use serde_json::{Map, Value};

use super::TorrentCommands;
use crate::error::CommandsError;
use crate::model::kinds::{KINDS, Kind, RuleAction};
use crate::model::params::Param;

fn listed(kind: &Kind, rule: &RuleAction) -> ActionKind {
    ActionKind {
        id: rule.id.to_owned(),
        label: rule.label.to_owned(),
        category: "torrent".to_owned(),
        occasions: vec![Occasion::Torrent],
        params_schema: Param::schema_of(kind.params),
        idempotent: rule.is_idempotent,
        needs: vec![kind.permission],
        plugin: HOUSE.to_owned(),
    }
}

#[async_trait]
impl Actions for TorrentCommands {
    fn actions(&self) -> Vec<ActionKind> {
        let with_rule = |kind: &'static Kind| Some(listed(kind, kind.rule.as_ref()?));
        KINDS.iter().filter_map(with_rule).collect()
    }

    async fn run(&self, action: &str, call: ActionCall) -> Result<(), ActionError> {
        let kind = Kind::from_rule(action).ok_or_else(|| ActionError::Unknown(action.to_owned()))?;
        if !call.powers.contains(kind.permission) {
            return Err(ActionError::Denied(format!("it needs {}", kind.permission.key())));
        }
        let torrent = call.torrent.as_ref();
        let torrent = torrent
            .ok_or_else(|| ActionError::InvalidParams(format!("The action \"{action}\" needs a torrent")))?;
        let params = self.fill(torrent, kind, call.params)?;
        let order = kind.read_order(&params).map_err(|fault| shape(&fault.into()))?;
        let done = self.do_one(None, Some(&torrent.engine_id), &torrent.hash, &order);
        done.await.map_err(|error| shape(&error))
    }
}

impl TorrentCommands {
    /// Parameters with their placeholders filled by what is known of the torrent.
    fn fill(
        &self,
        torrent: &TorrentRef,
        kind: &Kind,
        mut params: Map<String, Value>,
    ) -> Result<Map<String, Value>, ActionError> {
        for param in kind.params.iter().filter(|param| param.has_placeholders()) {
            let Some(Value::String(text)) = params.get_mut(param.name()) else {
                continue;
            };
            if !text.contains('{') {
                continue;
            }
            let lost = || shape(&TorrentsError::NoSuchTorrent.into());
            let engine = self.engines.get(&torrent.engine_id).ok_or_else(lost)?;
            let entry = engine
                .snapshot()
                .and_then(|list| list.get(&torrent.hash).map(Arc::clone));
            let entry = entry.ok_or_else(lost)?;
            *text = placeholders::filled(text, &entry.torrent).map_err(ActionError::InvalidParams)?;
        }
        Ok(params)
    }
}

/// The sentence that the route would answer, by what it means for a rule.
fn shape(error: &CommandsError) -> ActionError {
    use ActionError as E;
    let text = error.to_string();
    match error {
        CommandsError::Hands(error) => error.clone(),
        CommandsError::Value(_) | CommandsError::Name(_) => E::InvalidParams(text),
        error => match error.kind() {
            ErrorKind::NotFound => E::NotFound(text),
            ErrorKind::Unsupported => E::Unsupported(text),
            ErrorKind::Upstream | ErrorKind::Unavailable => E::Unreachable(text),
            ErrorKind::UpstreamTimeout => E::Timeout(text),
            _ => E::Rejected(text),
        },
    }
}
