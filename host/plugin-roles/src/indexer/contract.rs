//! The contract tests of the role `indexer-protocol`, for `plugin check`: questions, which change nothing at the product.

use std::sync::Arc;
use std::time::Duration;

use qm_plugin_host::Check;
use qm_plugin_host::role::{CallContext, note, text_for_plugin};
use qm_ports::indexer::{IndexerError, Payload, Query};
use serde_json::Value;

use super::{Indexer, description};
use crate::stateless::Bench;

/// A protocol that nobody speaks.
const NOBODYS: &str = "no_such_protocol";
/// A link that is no indexer's.
const ELSEWHERE: &str = "https://elsewhere.invalid/file.torrent";
/// Time for one call.
const PATIENCE: Duration = Duration::from_mins(1);

/// Runs them all with the configuration of the target, once for each protocol.
pub(super) async fn run(bench: Bench<Indexer>) -> Vec<Check> {
    let mut checks = Vec::new();
    let (about, target) = (bench.trial.about(), bench.trial.target());
    let kinds = description::kinds(&about.traits, &about.id, &about.version);
    if let Some(first) = kinds.first() {
        let text = text_for_plugin(&first.config_schema, target);
        let unknown = bench
            .ask(PATIENCE, context(&first.config_schema), |code, store| {
                let text = text.clone();
                Box::pin(async move { code.caps(store, NOBODYS, &text).await })
            })
            .await;
        let unknown = unknown.and_then(|word| match word {
            Ok(_) => Err("it described an indexer of a protocol that nobody speaks".to_owned()),
            Err(error) => Ok(error.to_string()),
        });
        note(&mut checks, "it refuses a protocol it does not speak", unknown);
    }
    for kind in kinds {
        let (schema, id) = (&kind.config_schema, kind.id.as_str());
        let text = text_for_plugin(schema, target);
        let say = |result: Result<Result<String, IndexerError>, String>| match result {
            Ok(Ok(told)) => Ok(format!("`{id}`: {told}")),
            Ok(Err(error)) => Err(format!("`{id}`: {error}")),
            Err(why) => Err(format!("`{id}`: {why}")),
        };
        let caps = bench
            .ask(PATIENCE, context(schema), |code, store| {
                let (id, text) = (id.to_owned(), text.clone());
                Box::pin(async move { code.caps(store, &id, &text).await })
            })
            .await;
        let counted = caps.map(|word| word.map(|caps| format!("{} categories", caps.categories.len())));
        note(&mut checks, "the indexer says what it can do", say(counted));
        let found = bench
            .ask(PATIENCE, context(schema), |code, store| {
                let (id, text) = (id.to_owned(), text.clone());
                Box::pin(async move { code.search(store, &id, &text, Query::default()).await })
            })
            .await;
        let counted = found.map(|word| word.map(|found| format!("{} releases", found.releases.len())));
        note(
            &mut checks,
            "a search for nothing in particular is answered",
            say(counted),
        );
        let led = bench
            .ask(PATIENCE, context(schema), |code, store| {
                let (id, text) = (id.to_owned(), text.clone());
                Box::pin(async move { code.download(store, &id, &text, ELSEWHERE).await })
            })
            .await;
        let led = led.and_then(|word| match word {
            Ok(Payload::Elsewhere(url)) if url == ELSEWHERE => Ok(Ok(String::new())),
            Ok(_) => Err("it answered something else than that it leads elsewhere".to_owned()),
            Err(error) => Ok(Err(error)),
        });
        note(
            &mut checks,
            "a link outside the indexer is left to the host",
            say(led),
        );
    }
    checks
}

/// The context of a call by the protocol whose configuration has this schema.
fn context(schema: &Value) -> CallContext {
    CallContext {
        schema: Some(Arc::new(schema.clone())),
        patience: Some(PATIENCE),
        ..CallContext::default()
    }
}
