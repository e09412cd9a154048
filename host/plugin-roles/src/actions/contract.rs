//! The contract tests of the role `action-set`, for `plugin check`. Nothing happens outside: no instance may touch a torrent
//! or send anything, for nothing is granted to it.

use qm_kernel::PermissionSet;
use qm_plugin_host::Check;
use qm_plugin_host::role::{CallContext, Heard, note};
use qm_ports::action::{ActionCall, ActionError, Occasion};
use serde_json::Map;

use super::{ActionSet, description};
use crate::stateless::Bench;

/// An action that no plugin provides.
const NOBODYS: &str = "no_such_action";

/// Runs them all. Of the configuration of the target only texts are handed on, and nothing that it names is dialled.
pub(super) async fn run(bench: Bench<ActionSet>) -> Vec<Check> {
    let mut checks = Vec::new();
    let unknown = match attempt(&bench, NOBODYS, Occasion::Event).await {
        Err(why) => Err(why),
        Ok(Ok(())) => Err("it ran an action that nobody provides".to_owned()),
        Ok(Err(error)) => Ok(error.to_string()),
    };
    note(&mut checks, "it refuses an action it does not provide", unknown);
    let mut ended = Ok(String::new());
    for id in description::ids(&bench.trial.about().traits) {
        let Some(kind) = description::kind(bench.trial.about(), id) else {
            continue;
        };
        for occasion in kind.occasions {
            if let Err(why) = attempt(&bench, id, occasion).await {
                ended = Err(format!("`{id}`: {why}"));
            }
        }
    }
    note(
        &mut checks,
        "each action answers, also without parameters and without any grant",
        ended,
    );
    checks
}

/// Runs an action once in an instance of its own.
async fn attempt(bench: &Bench<ActionSet>, action: &str, occasion: Occasion) -> Heard<(), ActionError> {
    let call = ActionCall {
        author: None,
        run_id: "check".to_owned(),
        occasion,
        params: Map::new(),
        context: Map::new(),
        torrent: None,
        powers: PermissionSet::empty(),
    };
    let (config, action) = (bench.trial.config(), action.to_owned());
    // A configuration would grant what it names.
    let (none, total) = (Map::new(), bench.trial.limits().run_total);
    bench
        .ask_with(&none, total, CallContext::default(), |code, store| {
            Box::pin(async move { code.run(store, &action, &config, &call).await })
        })
        .await
}
