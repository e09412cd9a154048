//! A configured engine as the rest of the host sees it: a driver over two lanes, so that a slow poll never delays a stop.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use qm_plugin_host::role::{Lane, Owner, trim_soon};
use qm_ports::engine::*;
use serde_json::{Map, Value};

use super::{Answer, More, MoreAnswer, Session, failed, open};

/// Asks more of the session, and takes the answer's one shape out of it.
macro_rules! answer {
    ($engine:ident, $question:expr, $shape:pat => $value:expr) => {{
        let question = $question;
        match $engine.command(move |session| session.ask_more(question)).await? {
            $shape => Ok($value),
            // An adapter answers what it was asked.
            _ => Err(EngineError::Protocol("an answer of another shape".to_owned())),
        }
    }};
}

/// An engine driven by a plugin.
pub(crate) struct PluginEngine {
    owner: Arc<Owner>,
    sync: Lane<Session>,
    command: Lane<Session>,
}

impl PluginEngine {
    /// Starts the lanes; their instances are made by the first call.
    pub(crate) fn open(owner: Owner) -> Self {
        let owner = Arc::new(owner);
        Self {
            sync: Lane::start("sync", owner.clone(), open),
            command: Lane::start("command", owner.clone(), open),
            owner,
        }
    }

    /// Does `work` on the lane of commands.
    async fn command<T, F>(&self, work: F) -> Result<T, EngineError>
    where
        T: Send + 'static,
        F: for<'a> FnOnce(&'a mut Session) -> BoxFuture<'a, Answer<T>> + Send + 'static,
    {
        let called = self.command.call(self.owner.limits().call_total, work).await;
        called.unwrap_or_else(|fault| Err(failed(fault)))
    }
}

#[async_trait]
impl EngineDriver for PluginEngine {
    fn has(&self, capability: &str) -> bool {
        self.owner
            .code()
            .is_some_and(|code| code.about.capabilities.iter().any(|word| word == capability))
    }

    async fn health(&self) -> Result<Health, EngineError> {
        self.command(|session| session.health()).await
    }

    async fn poll(
        &self,
        cursor: Option<u64>,
        attention: Attention,
        fresh: &[String],
    ) -> Result<Delta, EngineError> {
        let fresh: Vec<String> = fresh.iter().take(FRESH_LIMIT).cloned().collect();
        let total = self.owner.limits().poll_total;
        let called = self
            .sync
            .call(total, move |session| session.poll(cursor, attention, fresh));
        called.await.unwrap_or_else(|fault| Err(failed(fault)))
    }

    async fn get(&self, hash: &str) -> Result<Option<Torrent>, EngineError> {
        let hash = hash.to_owned();
        self.command(move |session| session.get(hash)).await
    }

    async fn files(&self, hash: &str) -> Result<Vec<File>, EngineError> {
        let hash = hash.to_owned();
        self.command(move |session| session.files(hash)).await
    }

    async fn peers(&self, hash: &str) -> Result<Vec<Peer>, EngineError> {
        let hash = hash.to_owned();
        self.command(move |session| session.peers(hash)).await
    }

    async fn trackers(&self, hash: &str) -> Result<Vec<Tracker>, EngineError> {
        let hash = hash.to_owned();
        self.command(move |session| session.trackers(hash)).await
    }

    async fn add(&self, request: AddRequest) -> Result<(), EngineError> {
        self.command(move |session| session.add(request)).await
    }

    async fn run(&self, hashes: &[String], command: Command) -> Result<Vec<Outcome>, EngineError> {
        let hashes = hashes.to_vec();
        self.command(move |session| session.run(hashes, command)).await
    }

    async fn session_stats(&self) -> Result<SessionStats, EngineError> {
        self.command(|session| session.session_stats()).await
    }

    async fn all_time(&self) -> Result<Option<Transfer>, EngineError> {
        self.command(|session| session.all_time()).await
    }

    async fn rate_limits(&self, mode: RateMode) -> Result<RateLimits, EngineError> {
        self.command(move |session| session.rate_limits(mode)).await
    }

    async fn set_rate_limits(&self, mode: RateMode, limits: RateLimits) -> Result<(), EngineError> {
        self.command(move |session| session.set_rate_limits(mode, limits))
            .await
    }

    async fn rate_mode(&self) -> Result<RateMode, EngineError> {
        answer!(self, More::RateMode, MoreAnswer::RateMode(mode) => mode)
    }

    async fn set_rate_mode(&self, mode: RateMode) -> Result<(), EngineError> {
        answer!(self, More::SetRateMode(mode), MoreAnswer::Done => ())
    }

    async fn export_metainfo(&self, hash: &str) -> Result<Vec<u8>, EngineError> {
        answer!(self, More::Export(hash.to_owned()), MoreAnswer::Bytes(bytes) => bytes)
    }

    async fn categories(&self) -> Result<Vec<Category>, EngineError> {
        answer!(self, More::Categories, MoreAnswer::Categories(categories) => categories)
    }

    async fn create_category(&self, category: Category) -> Result<(), EngineError> {
        answer!(self, More::CreateCategory(category), MoreAnswer::Done => ())
    }

    async fn edit_category(&self, category: Category) -> Result<(), EngineError> {
        answer!(self, More::EditCategory(category), MoreAnswer::Done => ())
    }

    async fn remove_categories(&self, names: Vec<String>) -> Result<(), EngineError> {
        answer!(self, More::RemoveCategories(names), MoreAnswer::Done => ())
    }

    async fn tags(&self) -> Result<Vec<String>, EngineError> {
        answer!(self, More::Tags, MoreAnswer::Texts(tags) => tags)
    }

    async fn create_tags(&self, tags: Vec<String>) -> Result<(), EngineError> {
        answer!(self, More::CreateTags(tags), MoreAnswer::Done => ())
    }

    async fn delete_tags(&self, tags: Vec<String>) -> Result<(), EngineError> {
        answer!(self, More::DeleteTags(tags), MoreAnswer::Done => ())
    }

    async fn preferences_schema(&self) -> Result<Value, EngineError> {
        answer!(self, More::PreferencesSchema, MoreAnswer::Object(schema) => Value::Object(schema))
    }

    async fn preferences(&self) -> Result<Map<String, Value>, EngineError> {
        answer!(self, More::Preferences, MoreAnswer::Object(preferences) => preferences)
    }

    async fn set_preferences(&self, changes: Map<String, Value>) -> Result<(), EngineError> {
        answer!(self, More::SetPreferences(changes), MoreAnswer::Done => ())
    }

    async fn banned_peers(&self) -> Result<Vec<String>, EngineError> {
        answer!(self, More::BannedPeers, MoreAnswer::Texts(addresses) => addresses)
    }

    async fn set_banned_peers(&self, addresses: Vec<String>) -> Result<(), EngineError> {
        answer!(self, More::SetBannedPeers(addresses), MoreAnswer::Done => ())
    }

    async fn close(&self) {
        self.sync.close().await;
        self.command.close().await;
        // What was made of its lists goes with it, or some time later: no account has it.
        trim_soon();
    }
}
