//! The contract tests of the role `channel`, for `plugin check`. Nothing is sent to anybody: the only call to the product is
//! `verify`.

use std::sync::Arc;

use qm_ports::channel::ChannelError;
use serde_json::{Map, Value};

use super::{Answer, Component};
use crate::core::certificate::text_for_plugin;
use crate::core::check::{Check, note};
use crate::core::conduct::{Conduct, End, Traces, drive};
use crate::core::load::Loaded;
use crate::core::runtime::Runtime;
use crate::core::services::Concern;
use crate::core::slot::Slot;

/// A code that nobody sent.
const NOBODY: &str = "000000";

/// Runs them all with the configuration `target`.
pub(super) async fn run(
    runtime: Arc<Runtime>,
    loaded: Arc<Loaded>,
    target: Map<String, Value>,
) -> Vec<Check> {
    let mut checks = Vec::new();
    let text = text_for_plugin(&loaded.about.config_schema, &target);
    let verified = ask(&runtime, &loaded, &target, |component, store| {
        let text = text.clone();
        Box::pin(async move { component.0.verify(store, &text).await })
    })
    .await;
    note(
        &mut checks,
        "it verifies this configuration",
        verified
            .and_then(|word| word.map_err(|error| error.to_string()))
            .and_then(|destination| {
                if destination.label.is_empty() {
                    Err("the destination has no label".to_owned())
                } else {
                    Ok(destination.label)
                }
            }),
    );
    let by_code = loaded.about.traits.get("linksByCode") == Some(&Value::Bool(true));
    let linked = ask(&runtime, &loaded, &target, |component, store| {
        let text = text.clone();
        Box::pin(async move { component.0.link(store, &text, NOBODY).await })
    })
    .await;
    let linked = match (by_code, linked) {
        (_, Err(why)) => Err(why),
        (true, Ok(Ok(None))) | (false, Ok(Err(ChannelError::Unsupported(_)))) => Ok(String::new()),
        (true, Ok(Ok(Some(_)))) => Err("it found somebody by a code nobody sent".to_owned()),
        (true, Ok(Err(error))) => Err(error.to_string()),
        (false, Ok(_)) => Err("it links, and says that it does not".to_owned()),
    };
    note(&mut checks, "link is as its description says", linked);
    checks
}

/// One call in an instance of its own: the plugin's word, or why there was none.
async fn ask<T: Send>(
    runtime: &Arc<Runtime>,
    loaded: &Loaded,
    target: &Map<String, Value>,
    work: impl for<'a> FnOnce(
        &'a Component,
        &'a mut wasmtime::Store<crate::core::state::State>,
    ) -> futures_util::future::BoxFuture<'a, Answer<T>>,
) -> Result<Result<T, ChannelError>, String> {
    let component = loaded.code_as::<Component>().ok_or("it is no channel")?;
    let mut conduct = Conduct::new(runtime.clone(), Slot::new(&loaded.about.id), "", "check");
    let mut store = conduct
        .store(loaded, target, Concern::default())
        .map_err(|fault| fault.to_string())?;
    let bounds = store.data().bounds();
    let total = runtime.limits.silence;
    let end: End<Result<T, ChannelError>> = drive(runtime, bounds, total, work(component, &mut store)).await;
    let traces = Traces::of(store.data_mut());
    conduct
        .judge(end, traces, None)
        .map_err(|fault| fault.to_string())
}
