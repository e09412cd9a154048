//! The contract tests of the role `media-server`, for `plugin check`: questions, which change nothing at the product.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use qm_ports::media_server::MediaServerError;
use serde_json::{Map, Value};
use wasmtime::Store;

use super::{Answer, ServerCode, desk, told};
use crate::core::certificate::text_for_plugin;
use crate::core::check::{Check, note, word};
use crate::core::conduct::{Conduct, End, Traces, drive};
use crate::core::load::Loaded;
use crate::core::runtime::Runtime;
use crate::core::services::Concern;
use crate::core::slot::Slot;
use crate::core::state::State;

/// A session that nobody has.
const NOBODYS: &str = "no-such-session";
/// Time for one call.
const PATIENCE: Duration = Duration::from_mins(1);

/// Runs them all with the configuration `target`.
pub(super) async fn run(
    runtime: Arc<Runtime>,
    loaded: Arc<Loaded>,
    target: Map<String, Value>,
) -> Vec<Check> {
    let mut checks = Vec::new();
    let can = told::of(&loaded.about.traits).abilities;
    let bench = Bench {
        runtime: &runtime,
        loaded: &loaded,
        target: &target,
    };
    let text = text_for_plugin(&loaded.about.config_schema, &target);
    let config = text.clone();
    let about = bench
        .ask(|code, store| Box::pin(async move { code.test(store, &config).await }))
        .await;
    let about = word(about).map(|about| about.version.unwrap_or_default());
    note(
        &mut checks,
        "the server answers, and takes the credentials",
        about,
    );
    let nowhere = bench
        .ask(|code, store| Box::pin(async move { code.test(store, "{}").await }))
        .await;
    let nowhere = nowhere.and_then(|word| match word {
        Err(MediaServerError::InvalidConfig(why)) => Ok(why),
        Err(other) => Err(format!("it answered otherwise: {other}")),
        Ok(_) => Err("it tested a server without an address".to_owned()),
    });
    note(
        &mut checks,
        "it refuses a configuration without an address",
        nowhere,
    );
    let config = text.clone();
    let playing = bench
        .ask(|code, store| Box::pin(async move { code.sessions(store, &config).await }))
        .await;
    let playing = if can.sessions {
        word(playing).map(|playing| format!("{} sessions", playing.len()))
    } else {
        refused(playing)
    };
    note(&mut checks, "it tells who is watching", playing);
    if !can.terminate_sessions {
        let ended = bench
            .ask(|code, store| Box::pin(async move { code.terminate(store, &text, NOBODYS, None).await }))
            .await;
        note(&mut checks, "it refuses to end sessions", refused(ended));
    }
    checks
}

/// Whether what is not offered is refused.
fn refused<T>(answer: Result<Result<T, MediaServerError>, String>) -> Result<String, String> {
    answer.and_then(|word| match word {
        Err(MediaServerError::Unsupported(_)) => Ok("it does not offer this, and says so".to_owned()),
        _ => Err("its description does not offer this: it must answer `unsupported`".to_owned()),
    })
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
        work: impl for<'a> FnOnce(&'a dyn ServerCode, &'a mut Store<State>) -> BoxFuture<'a, Answer<T>>,
    ) -> Result<Result<T, MediaServerError>, String> {
        let component = desk::component(self.loaded).ok_or("it speaks to no media server")?;
        let slot = Slot::new(&self.loaded.about.id);
        let mut conduct = Conduct::new(self.runtime.clone(), slot, "", "check");
        let concern = Concern {
            patience: Some(PATIENCE),
            ..Concern::default()
        };
        let mut store = conduct
            .store(self.loaded, self.target, concern)
            .map_err(|fault| fault.to_string())?;
        let bounds = store.data().bounds();
        let end: End<Result<T, MediaServerError>> =
            drive(self.runtime, bounds, PATIENCE, work(component, &mut store)).await;
        let traces = Traces::of(store.data_mut());
        conduct
            .judge(end, traces, None)
            .map_err(|fault| fault.to_string())
    }
}
