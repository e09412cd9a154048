//! A single request to an indexer: checks budget and pauses, and stores the result.

use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use qm_db::DbError;
use qm_kernel::{Caller, Permission, as_error};
use qm_platform::origins::{complaint, take_wanted};
use qm_platform::{AuditResult, judge_alone};
use qm_ports::indexer::{Found, IndexerConfig, IndexerError, Protocols, Query};
use serde_json::{Map, Value, json};

use super::Indexers;
use super::notes::{Note, Outcome as NoteOutcome};
use crate::error::IndexerAreaError;
use crate::model::change::Outcome;
use crate::model::indexer::Indexer;
use crate::repo;
use crate::repo::indexers::Tested;

/// Purpose of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// Test by a user: ignores all pauses.
    Test,
    /// Search of this one indexer by a user: ignores the pause after failures.
    Person,
    /// Search across indexers.
    Search,
    /// Download of a release; counts as a grab.
    Grab,
}

impl Indexers {
    /// Tests an indexer, also a disabled one, and stores the result.
    pub async fn test(&self, caller: Caller<'_>, id: &str) -> Result<Outcome, IndexerAreaError> {
        // The test uses the stored key, so the permission is checked first.
        let needed = &[Permission::IndexersTest];
        let actor = judge_alone(&*self.acting, &self.db, caller.principal, needed).await?;
        let indexer = self.stored(id).await?;
        self.settled(&indexer.implementation)?;
        let answer = self
            .ask(&indexer, Why::Test, |protocols, protocol, config| {
                Box::pin(async move { protocols.caps(protocol, config).await })
            })
            .await
            .map_err(|error| indexer.complaint(error));
        let caps = answer.as_ref().map(|caps| json!(caps).to_string());
        let outcome = match &caps {
            Ok(caps) => Tested::Ok(caps),
            Err(message) => Tested::Failed(message),
        };
        let mut tx = self.db.begin_write().await?;
        repo::indexers::tested(&mut tx, &indexer, self.ctx.now(), &outcome).await?;
        let mut entry = actor.entry("indexer.test", caller.client);
        entry.object_type = Some("indexer");
        entry.object_id = Some(indexer.id.clone());
        if let Err(message) = &answer {
            entry.result = AuditResult::Failure;
            entry.metadata = Some(json!({ "message": message }));
        }
        self.audit.record(&mut tx, entry).await?;
        let found = repo::indexers::find(&mut tx, id).await?;
        tx.commit().await?;
        Ok(Outcome {
            indexer: found.ok_or(IndexerAreaError::NoSuchIndexer)?,
            answer,
        })
    }

    /// Releases of one indexer, unmerged.
    pub async fn search_one(&self, id: &str, query: Query) -> Result<(Indexer, Found), IndexerAreaError> {
        let indexer = self.stored(id).await?;
        if !indexer.is_enabled {
            return Err(IndexerAreaError::Disabled);
        }
        self.settled(&indexer.implementation)?;
        match self.search_by(&indexer, Why::Person, query).await {
            Ok(found) => Ok((indexer, found)),
            Err(source) => Err(IndexerAreaError::Failed {
                message: indexer.complaint(&source),
                source,
            }),
        }
    }

    /// Searches an indexer in the way it supports; a query without categories uses the indexer's own.
    pub(super) async fn search_by(
        &self,
        indexer: &Indexer,
        why: Why,
        mut query: Query,
    ) -> Result<Found, IndexerError> {
        query.tv_search = indexer.searches_tv(&query);
        if query.categories.is_empty() {
            query.categories.clone_from(&indexer.categories);
        }
        self.ask(indexer, why, move |protocols, protocol, config| {
            Box::pin(async move { protocols.search(protocol, config, query).await })
        })
        .await
    }

    pub(super) async fn ask<T: Send>(
        &self,
        indexer: &Indexer,
        why: Why,
        call: impl for<'a> FnOnce(
            &'a dyn Protocols,
            &'a str,
            IndexerConfig,
        ) -> BoxFuture<'a, Result<T, IndexerError>>,
    ) -> Result<T, IndexerError> {
        self.may_ask(indexer, why)?;
        let config = self.config_of(indexer)?;
        let begun = Instant::now();
        let answer = call(&*self.protocols, &indexer.implementation, config).await;
        if let Err(error) = self.note(indexer, why, begun.elapsed(), &answer).await {
            let error = as_error(&error);
            tracing::warn!(error, indexer.id, "how an indexer answered could not be stored");
        }
        answer
    }

    /// Checks pauses and takes one request of the budget.
    fn may_ask(&self, indexer: &Indexer, why: Why) -> Result<(), IndexerError> {
        let now = self.ctx.now();
        let health = &indexer.health;
        if let Some(until) = health
            .throttled_until
            .filter(|until| *until > now && why != Why::Test)
        {
            let seconds = until.since(now).as_secs() + 1;
            return Err(throttled(
                seconds,
                format!("it asked to be left alone; it is asked again in {seconds} s"),
            ));
        }
        if let Some(until) = health
            .rests_until
            .filter(|until| *until > now && why == Why::Search)
        {
            return Err(IndexerError::Unreachable(format!(
                "it rests for {} s after {} failures in a row; the last one: {}",
                until.since(now).as_secs() + 1,
                health.failures,
                health.last_error.as_deref().unwrap_or("unknown"),
            )));
        }
        let pace = indexer.requests_per_minute;
        self.pace.take(&indexer.id, pace, now).map_err(|wait| {
            let seconds = wait.as_secs() + 1;
            throttled(
                seconds,
                format!(
                    "its {pace} requests of this minute are used up; try again in {seconds} s, or raise requestsPerMinute"
                ),
            )
        })
    }

    /// Configuration for the plugin with decrypted secrets; fails while a secret must be entered again.
    pub(super) fn config_of(&self, indexer: &Indexer) -> Result<IndexerConfig, IndexerError> {
        match complaint(&self.kept(indexer).1) {
            Some(complaint) => Err(IndexerError::InvalidConfig(complaint)),
            None => self.fields_of(indexer),
        }
    }

    /// Configuration for the plugin as it is stored.
    pub(super) fn fields_of(&self, indexer: &Indexer) -> Result<IndexerConfig, IndexerError> {
        let lost =
            || IndexerError::InvalidConfig("its secrets cannot be read any more: enter them anew".to_owned());
        let mut fields = match &indexer.config {
            None => Map::new(),
            Some(sealed) => self.opened(sealed).ok_or_else(lost)?,
        };
        take_wanted(&mut fields);
        // A key that cannot be decrypted counts as none: the indexer answers with its own error.
        let key = indexer
            .api_key
            .as_deref()
            .and_then(|sealed| self.cipher.decrypt(sealed));
        fields.extend(key.map(|key| ("apiKey".to_owned(), Value::from(key.expose()))));
        fields.insert("baseUrl".to_owned(), indexer.base_url.as_str().into());
        Ok(IndexerConfig {
            fields,
            timeout_ms: indexer.timeout_ms,
        })
    }

    /// Decrypted configuration; `None` when it cannot be read.
    pub(super) fn opened(&self, sealed: &str) -> Option<Map<String, Value>> {
        serde_json::from_str(self.cipher.decrypt(sealed)?.expose()).ok()
    }

    /// Stores the result of a request. Local faults (plugin missing or busy) say nothing about the indexer
    /// and are skipped.
    async fn note<T>(
        &self,
        indexer: &Indexer,
        why: Why,
        took: Duration,
        answer: &Result<T, IndexerError>,
    ) -> Result<(), DbError> {
        let outcome = match answer {
            Err(IndexerError::Missing(_) | IndexerError::Busy | IndexerError::Unsupported(_)) => {
                return Ok(());
            }
            Ok(_) => NoteOutcome::Answered {
                took,
                grabbed: why == Why::Grab,
            },
            Err(error @ IndexerError::Throttled { seconds, .. }) => NoteOutcome::Throttled {
                error: error.to_string(),
                seconds: *seconds,
            },
            Err(error) => NoteOutcome::Failed {
                error: error.to_string(),
            },
        };
        let note = Note {
            id: indexer.id.clone(),
            at: self.ctx.now(),
            outcome,
        };
        self.notes.store(&self.db, note).await
    }
}

fn throttled(seconds: u64, message: String) -> IndexerError {
    IndexerError::Throttled {
        seconds: u32::try_from(seconds).ok(),
        message,
    }
}
