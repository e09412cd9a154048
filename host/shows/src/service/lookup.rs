//! Lookups of titles by users.

use futures_util::{StreamExt as _, stream};
use qm_kernel::{Caller, Permission, Timestamp, as_error};
use qm_platform::{AuditEntry, AuditResult};
use qm_ports::shows::{AiringStatus, Recommendation, ShowProvider};
use qm_realtime::Room;
use serde::Serialize;
use serde_json::json;

use super::{Shows, details, search};
use crate::model::hit::{Asked, choose};
use crate::model::report::{NO_PROVIDER, ShowStatus, UNCONFIRMED};

/// Concurrent lookups of a batch.
const AT_ONCE: usize = 4;
const ACTION: &str = "rss.show_status.lookup";

/// Combined answer of the providers.
enum Answer {
    Found(Box<ShowStatus>),
    /// No provider has the show, with the reason.
    Nothing(&'static str),
    /// No answering provider has it; these did not answer.
    Failed(String),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Completed<'a> {
    title: &'a str,
    provider: &'a str,
    normalized_status: AiringStatus,
    recommendation: Recommendation,
    at: Timestamp,
}

#[derive(Serialize)]
struct Failed<'a> {
    title: &'a str,
    error: &'a str,
    at: Timestamp,
}

impl Shows {
    /// Status of each show, in the order of the requests.
    pub async fn lookup_all(&self, caller: Caller<'_>, asked: Vec<Asked>) -> Vec<ShowStatus> {
        stream::iter(asked)
            .map(|asked| async move { self.lookup(caller, &asked).await })
            .buffered(AT_ONCE)
            .collect()
            .await
    }

    /// Status of a show; `unknown` when no provider knows it.
    pub async fn lookup(&self, caller: Caller<'_>, asked: &Asked) -> ShowStatus {
        let answer = self.ask(asked).await;
        let (status, error) = match answer {
            Answer::Found(status) => (*status, None),
            Answer::Nothing(why) => (ShowStatus::unknown(&asked.title, why), None),
            Answer::Failed(error) => (ShowStatus::unknown(&asked.title, UNCONFIRMED), Some(error)),
        };
        if let Some(id) = &status.provider_show_id
            && let Err(error) = self.keep((&status.provider, id), &status, true).await
        {
            // The answer is valid without being stored.
            tracing::warn!(error = as_error(&error), "the status of a show was not kept");
        }
        self.note(caller, asked, &status, error.as_deref()).await;
        status
    }

    async fn ask(&self, asked: &Asked) -> Answer {
        let (mut is_anybody_there, mut error) = (false, None);
        for provider in &self.providers {
            let is_meant = asked
                .provider
                .as_deref()
                .is_none_or(|named| named == provider.id());
            if !is_meant || !provider.is_ready().await {
                continue;
            }
            is_anybody_there = true;
            match self.ask_one(provider.as_ref(), asked).await {
                Ok(Some(status)) => return Answer::Found(Box::new(status)),
                Ok(None) => {}
                Err(failed) => error = Some(failed),
            }
        }
        match error {
            Some(error) => Answer::Failed(error),
            None if is_anybody_there => Answer::Nothing(UNCONFIRMED),
            None => Answer::Nothing(NO_PROVIDER),
        }
    }

    /// `None`: the provider has no matching show.
    async fn ask_one(
        &self,
        provider: &dyn ShowProvider,
        asked: &Asked,
    ) -> Result<Option<ShowStatus>, String> {
        let hits = search(provider, &asked.title, asked.year)
            .await
            .map_err(|error| error.to_string())?;
        let Some(hit) = choose(&hits, &asked.title, asked.year) else {
            return Ok(None);
        };
        let told = details(provider, &hit.id)
            .await
            .map_err(|error| error.to_string())?;
        Ok(told.map(|told| {
            ShowStatus::known(
                (provider.id(), &hit.id),
                provider.confidence(),
                &hit.title,
                told,
                self.ctx.now(),
            )
        }))
    }

    async fn note(&self, caller: Caller<'_>, asked: &Asked, status: &ShowStatus, error: Option<&str>) {
        let (room, at) = (Room::Perm(Permission::RssView), self.ctx.now());
        let title = &asked.title;
        let (result, metadata) = match error {
            None => {
                let message = Completed {
                    title,
                    provider: &status.provider,
                    normalized_status: status.normalized_status,
                    recommendation: status.recommendation,
                    at,
                };
                self.hub
                    .emit_json(room, "rss.show_status.lookup.completed", &message);
                let metadata = json!({
                    "title": title, "provider": status.provider, "normalizedStatus": status.normalized_status,
                });
                (AuditResult::Success, metadata)
            }
            Some(error) => {
                let message = Failed { title, error, at };
                self.hub
                    .emit_json(room, "rss.show_status.lookup.failed", &message);
                (AuditResult::Failure, json!({ "title": title, "error": error }))
            }
        };
        let id = status.provider_show_id.as_deref();
        let entry = AuditEntry {
            user_id: Some(caller.principal.user_id.to_string()),
            action: ACTION,
            object_type: Some("show"),
            object_id: id.map(|id| format!("{}:{id}", status.provider)),
            result,
            client: Some(caller.client),
            metadata: Some(metadata),
        };
        self.audit.record_alone(&self.db, entry).await;
    }
}
