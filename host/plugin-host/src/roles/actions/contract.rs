//! The contract tests of the role `action-set`, for `plugin check`. Nothing happens outside: no instance may touch a torrent
//! or send anything, for nothing is granted to it.

use std::sync::Arc;

use qm_kernel::PermissionSet;
use qm_ports::action::{ActionCall, ActionError, Occasion};
use serde_json::{Map, Value};

use super::{desk, told};
use crate::core::certificate::text_for_plugin;
use crate::core::check::{Check, note};
use crate::core::conduct::{Conduct, Traces, drive};
use crate::core::load::Loaded;
use crate::core::runtime::Runtime;
use crate::core::services::Concern;
use crate::core::slot::Slot;

/// An action that no plugin provides.
const NOBODYS: &str = "no_such_action";

/// Runs them all. Of the configuration `target` only texts are handed on, and nothing that it names is dialled.
pub(super) async fn run(
    runtime: Arc<Runtime>,
    loaded: Arc<Loaded>,
    target: Map<String, Value>,
) -> Vec<Check> {
    let mut checks = Vec::new();
    let unknown = match attempt(&runtime, &loaded, &target, NOBODYS, Occasion::Event).await {
        Err(why) => Err(why),
        Ok(Ok(())) => Err("it ran an action that nobody provides".to_owned()),
        Ok(Err(error)) => Ok(error.to_string()),
    };
    note(&mut checks, "it refuses an action it does not provide", unknown);
    let mut ended = Ok(String::new());
    for id in told::ids(&loaded.about.traits) {
        let Some(kind) = told::kind(&loaded.about, id) else {
            continue;
        };
        for occasion in kind.occasions {
            if let Err(why) = attempt(&runtime, &loaded, &target, id, occasion).await {
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

/// One run in an instance of its own: the plugin's word, or why there was none.
async fn attempt(
    runtime: &Arc<Runtime>,
    loaded: &Loaded,
    target: &Map<String, Value>,
    action: &str,
    occasion: Occasion,
) -> Result<Result<(), ActionError>, String> {
    let component = desk::component(loaded).ok_or("it is no set of actions")?;
    let call = ActionCall {
        author: None,
        run_id: "check".to_owned(),
        occasion,
        params: Map::new(),
        context: Map::new(),
        torrent: None,
        powers: PermissionSet::empty(),
    };
    let mut conduct = Conduct::new(runtime.clone(), Slot::new(&loaded.about.id), "", "check");
    // A configuration would grant what it names.
    let mut store = conduct
        .store(loaded, &Map::new(), Concern::default())
        .map_err(|fault| fault.to_string())?;
    let (bounds, total) = (store.data().bounds(), runtime.limits.run_total);
    let config = text_for_plugin(&loaded.about.config_schema, target);
    let work = component.run(&mut store, action, &config, &call);
    let end = drive(runtime, bounds, total, work).await;
    let traces = Traces::of(store.data_mut());
    conduct
        .judge(end, traces, None)
        .map_err(|fault| fault.to_string())
}
