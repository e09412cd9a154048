//! The media servers that all loaded plugins speak to, as the rest of the server knows them.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use qm_ports::Settling;
use qm_ports::media_server::*;
use serde_json::{Map, Value};
use wasmtime::Store;

use super::{Answer, Component, NAME, ServerCode, told};
use crate::core::catalog::{Catalog, SHOWN};
use crate::core::certificate::text_for_plugin;
use crate::core::fresh::{Counter, Visit};
use crate::core::load::Loaded;
use crate::core::runtime::Runtime;
use crate::core::services::Concern;
use crate::core::state::State;
use crate::core::voice::one_line;

/// Calls of one plugin at a time: a server that hangs must not hold up the others of its kind.
const AT_ONCE: usize = 8;
/// The most of an unknown product's id that is repeated.
const ID: usize = 64;
/// The property that hands on the time limit.
const TIMEOUT: &str = "timeoutMs";
/// Time limit on a call when the caller names none, in milliseconds; the WIT says so.
const TIMEOUT_MS: u32 = 8000;
/// The shortest that is waited for a call, in milliseconds.
const MIN_TIMEOUT_MS: u32 = 1000;
/// The longest that is waited for a call, in milliseconds.
const MAX_TIMEOUT_MS: u32 = 60_000;
/// Beyond the time limit, which the plugin keeps.
const PARTING: Duration = Duration::from_secs(2);

/// The products of all loaded plugins.
pub(crate) struct Desk {
    catalog: Arc<Catalog>,
    calls: Counter,
}

impl Desk {
    pub(crate) fn new(runtime: Arc<Runtime>, catalog: Arc<Catalog>) -> Self {
        Self {
            calls: Counter::new(runtime, catalog.clone(), NAME, "call").at_once(AT_ONCE),
            catalog,
        }
    }

    fn kind(&self, id: &str) -> Option<MediaServerKind> {
        let mut all = self.catalog.of_role(NAME).into_iter();
        all.find(|about| about.id == id).map(told::kind)
    }

    /// Does `work` in an instance of the product's plugin; `config` comes back as the text that plugins take.
    async fn call<T, F>(
        &self,
        kind: &str,
        config: MediaServerConfig,
        offers: fn(&ServerAbilities) -> bool,
        work: F,
    ) -> Result<T, MediaServerError>
    where
        T: Send,
        F: for<'a> FnOnce(&'a dyn ServerCode, &'a mut Store<State>, String) -> BoxFuture<'a, Answer<T>>
            + Send,
    {
        let known = self.kind(kind).ok_or_else(|| missing(kind))?;
        if !offers(&known.abilities) {
            return Err(MediaServerError::Unsupported(format!(
                "{} does not offer this",
                known.label
            )));
        }
        let calls = self.calls.of(kind).ok_or_else(|| missing(kind))?;
        let timeout = config.timeout_ms.unwrap_or(TIMEOUT_MS);
        let timeout = timeout.clamp(MIN_TIMEOUT_MS, MAX_TIMEOUT_MS);
        let fields = handed_on(&known.config_schema, config.fields, timeout);
        let text = text_for_plugin(&known.config_schema, &fields);
        let timeout = Duration::from_millis(timeout.into());
        let visit = Visit {
            config: &fields,
            concern: Concern {
                patience: Some(timeout),
                ..Concern::default()
            },
            total: timeout + PARTING,
        };
        calls
            .call(visit, move |code, store| match component(code) {
                Some(component) => work(component, store, text),
                None => Box::pin(async {
                    Ok(Err(MediaServerError::Missing(
                        "its plugin speaks to no media server any more".to_owned(),
                    )))
                }),
            })
            .await
    }
}

/// What the schema names of a configuration, with the time limit where it names that.
fn handed_on(schema: &Value, mut fields: Map<String, Value>, timeout_ms: u32) -> Map<String, Value> {
    let named = schema.get("properties").and_then(Value::as_object);
    fields.insert(TIMEOUT.to_owned(), timeout_ms.into());
    fields.retain(|name, value| !value.is_null() && named.is_some_and(|named| named.contains_key(name)));
    fields
}

fn missing(kind: &str) -> MediaServerError {
    let id = one_line(kind, ID);
    MediaServerError::Missing(format!(
        "No installed plugin speaks to media servers of the kind {id}"
    ))
}

#[async_trait]
impl MediaServerKinds for Desk {
    fn kinds(&self) -> Vec<MediaServerKind> {
        let all = self.catalog.of_role(NAME).into_iter();
        let mut all: Vec<_> = all.map(told::kind).collect();
        all.sort_by(|one, other| one.id.cmp(&other.id));
        all
    }

    fn settling(&self, kind: &str) -> Option<Settling> {
        let wanted = format!("the kind of media server {}", one_line(kind, SHOWN));
        self.catalog.settling(Some(NAME), wanted)
    }

    async fn test(&self, kind: &str, config: MediaServerConfig) -> Result<ServerAbout, MediaServerError> {
        self.call(
            kind,
            config,
            |_| true,
            |code, store, config| Box::pin(async move { code.test(store, &config).await }),
        )
        .await
    }

    async fn refresh(
        &self,
        kind: &str,
        config: MediaServerConfig,
        extent: Extent,
    ) -> Result<(), MediaServerError> {
        self.call(
            kind,
            config,
            |can| can.refresh,
            |code, store, config| Box::pin(async move { code.refresh(store, &config, extent).await }),
        )
        .await
    }

    async fn sessions(
        &self,
        kind: &str,
        config: MediaServerConfig,
    ) -> Result<Vec<PlaySession>, MediaServerError> {
        self.call(
            kind,
            config,
            |can| can.sessions,
            |code, store, config| Box::pin(async move { code.sessions(store, &config).await }),
        )
        .await
    }

    async fn terminate(
        &self,
        kind: &str,
        config: MediaServerConfig,
        session: &str,
        message: Option<&str>,
    ) -> Result<(), MediaServerError> {
        let (session, message) = (session.to_owned(), message.map(str::to_owned));
        self.call(
            kind,
            config,
            |can| can.terminate_sessions,
            |code, store, config| {
                Box::pin(async move { code.terminate(store, &config, &session, message).await })
            },
        )
        .await
    }
}

pub(super) fn component(code: &Loaded) -> Option<&dyn ServerCode> {
    let Component(code) = code.code_as::<Component>()?;
    Some(&**code)
}
