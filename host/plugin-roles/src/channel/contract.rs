//! The contract tests of the role `channel`, for `plugin check`. Nothing is sent to anybody: the only call to the product is
//! `verify`.

use qm_plugin_host::Check;
use qm_plugin_host::role::{CallContext, note};
use qm_ports::channel::ChannelError;
use serde_json::Value;

use super::Channel;
use crate::stateless::Bench;

/// A code that nobody sent.
const NOBODY: &str = "000000";

/// Runs them all with the configuration of the target.
pub(super) async fn run(bench: Bench<Channel>) -> Vec<Check> {
    let mut checks = Vec::new();
    let total = bench.trial.limits().silence;
    let text = bench.trial.config();
    let verified = bench
        .ask(total, CallContext::default(), |code, store| {
            let text = text.clone();
            Box::pin(async move { code.verify(store, &text).await })
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
    let by_code = bench.trial.about().traits.get("linksByCode") == Some(&Value::Bool(true));
    let linked = bench
        .ask(total, CallContext::default(), |code, store| {
            let text = text.clone();
            Box::pin(async move { code.link(store, &text, NOBODY).await })
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
