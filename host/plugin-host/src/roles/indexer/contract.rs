//! The contract tests of the role `indexer-protocol`, for `plugin check`: questions, which change nothing at the product.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use qm_ports::indexer::{IndexerError, Payload, Query};
use serde_json::{Map, Value};
use wasmtime::Store;

use super::{Answer, IndexerCode, desk, told};
use crate::core::certificate::text_for_plugin;
use crate::core::check::{Check, note};
use crate::core::conduct::{Conduct, End, Traces, drive};
use crate::core::load::Loaded;
use crate::core::runtime::Runtime;
use crate::core::services::Concern;
use crate::core::slot::Slot;
use crate::core::state::State;

/// A protocol that nobody speaks.
const NOBODYS: &str = "no_such_protocol";
/// A link that is no indexer's.
const ELSEWHERE: &str = "https://elsewhere.invalid/file.torrent";
/// Time for one call.
const PATIENCE: Duration = Duration::from_mins(1);

/// Runs them all with the configuration `target`, once for each protocol.
pub(super) async fn run(
    runtime: Arc<Runtime>,
    loaded: Arc<Loaded>,
    target: Map<String, Value>,
) -> Vec<Check> {
    let mut checks = Vec::new();
    let about = &loaded.about;
    let kinds = told::kinds(&about.traits, &about.id, &about.version);
    let bench = Bench {
        runtime: &runtime,
        loaded: &loaded,
        target: &target,
    };
    if let Some(first) = kinds.first() {
        let text = text_for_plugin(&first.config_schema, &target);
        let unknown = bench
            .ask(&first.config_schema, |code, store| {
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
        let text = text_for_plugin(schema, &target);
        let say = |result: Result<Result<String, IndexerError>, String>| match result {
            Ok(Ok(told)) => Ok(format!("`{id}`: {told}")),
            Ok(Err(error)) => Err(format!("`{id}`: {error}")),
            Err(why) => Err(format!("`{id}`: {why}")),
        };
        let caps = bench
            .ask(schema, |code, store| {
                let (id, text) = (id.to_owned(), text.clone());
                Box::pin(async move { code.caps(store, &id, &text).await })
            })
            .await;
        let counted = caps.map(|word| word.map(|caps| format!("{} categories", caps.categories.len())));
        note(&mut checks, "the indexer says what it can do", say(counted));
        let found = bench
            .ask(schema, |code, store| {
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
            .ask(schema, |code, store| {
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

/// What every call of the tests is made with.
struct Bench<'b> {
    runtime: &'b Arc<Runtime>,
    loaded: &'b Loaded,
    target: &'b Map<String, Value>,
}

impl Bench<'_> {
    /// One call in an instance of its own: the plugin's word, or why there was none.
    async fn ask<T: Send>(
        &self,
        schema: &Value,
        work: impl for<'a> FnOnce(&'a dyn IndexerCode, &'a mut Store<State>) -> BoxFuture<'a, Answer<T>>,
    ) -> Result<Result<T, IndexerError>, String> {
        let component = desk::component(self.loaded).ok_or("it speaks no protocols")?;
        let slot = Slot::new(&self.loaded.about.id);
        let mut conduct = Conduct::new(self.runtime.clone(), slot, "", "check");
        let concern = Concern {
            schema: Some(Arc::new(schema.clone())),
            patience: Some(PATIENCE),
            ..Concern::default()
        };
        let mut store = conduct
            .store(self.loaded, self.target, concern)
            .map_err(|fault| fault.to_string())?;
        let bounds = store.data().bounds();
        let end: End<Result<T, IndexerError>> =
            drive(self.runtime, bounds, PATIENCE, work(component, &mut store)).await;
        let traces = Traces::of(store.data_mut());
        conduct
            .judge(end, traces, None)
            .map_err(|fault| fault.to_string())
    }
}
