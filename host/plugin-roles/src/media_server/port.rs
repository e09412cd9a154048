//! The media servers that all loaded plugins speak to, as the rest of the server knows them.

use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use qm_plugin_host::role::{CallContext, CallSpec, State, one_line, text_for_plugin};
use qm_ports::Settling;
use qm_ports::media_server::*;
use wasmtime::Store;

use super::{Answer, MediaServer, ServerCode, description};
use crate::stateless::{RolePort, Stateless as _, handed_on};

/// The most of an unknown product's id that is repeated.
const ID: usize = 64;
/// Time limit on a call when the caller names none, in milliseconds; the WIT says so.
const TIMEOUT_MS: u32 = 8000;
/// The shortest that is waited for a call, in milliseconds.
const MIN_TIMEOUT_MS: u32 = 1000;
/// The longest that is waited for a call, in milliseconds.
const MAX_TIMEOUT_MS: u32 = 60_000;
/// Beyond the time limit, which the plugin keeps.
const PARTING: Duration = Duration::from_secs(2);

impl RolePort<MediaServer> {
    fn kind(&self, id: &str) -> Option<MediaServerKind> {
        let mut all = self.installed.of_role(MediaServer::NAME).into_iter();
        all.find(|about| about.id == id).map(description::kind)
    }

    /// Does `work` in an instance of the product's plugin; `config` comes back as the text that plugins take.
    async fn ask<T, F>(
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
        let calls = self.calls_of(kind).ok_or_else(|| missing(kind))?;
        let timeout = config.timeout_ms.unwrap_or(TIMEOUT_MS);
        let timeout = timeout.clamp(MIN_TIMEOUT_MS, MAX_TIMEOUT_MS);
        let mut fields = config.fields;
        fields.retain(|_, value| !value.is_null());
        let fields = handed_on(&known.config_schema, fields, timeout);
        let text = text_for_plugin(&known.config_schema, &fields);
        let timeout = Duration::from_millis(timeout.into());
        let spec = CallSpec {
            config: &fields,
            context: CallContext {
                patience: Some(timeout),
                ..CallContext::default()
            },
            total: timeout + PARTING,
        };
        let otherwise = MediaServerError::Missing("its plugin speaks to no media server any more".to_owned());
        Self::call(&calls, spec, otherwise, |code, _, store| work(code, store, text)).await
    }
}

fn missing(kind: &str) -> MediaServerError {
    let id = one_line(kind, ID);
    MediaServerError::Missing(format!(
        "No installed plugin speaks to media servers of the kind {id}"
    ))
}

#[async_trait]
impl MediaServerKinds for RolePort<MediaServer> {
    fn kinds(&self) -> Vec<MediaServerKind> {
        let all = self.installed.of_role(MediaServer::NAME).into_iter();
        let mut all: Vec<_> = all.map(description::kind).collect();
        all.sort_by(|one, other| one.id.cmp(&other.id));
        all
    }

    fn settling(&self, kind: &str) -> Option<Settling> {
        self.installed
            .settling(MediaServer::NAME, "the kind of media server", kind)
    }

    async fn test(&self, kind: &str, config: MediaServerConfig) -> Result<ServerAbout, MediaServerError> {
        self.ask(
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
        self.ask(
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
        self.ask(
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
        self.ask(
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
