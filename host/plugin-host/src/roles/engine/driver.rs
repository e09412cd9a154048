//! A configured engine as the rest of the host sees it: a driver over two lanes, so that a slow poll never delays a stop.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use qm_ports::engine::*;

use super::{Session, open};
use crate::core::lane::{Lane, Owner};
use crate::core::slot::Slot;
use crate::core::system;

/// An engine driven by a plugin.
pub(crate) struct PluginEngine {
    slot: Arc<Slot>,
    sync: Lane<Session>,
    command: Lane<Session>,
    poll_total: Duration,
    call_total: Duration,
}

impl PluginEngine {
    /// Starts the lanes; their instances are made by the first call.
    pub(crate) fn open(owner: Owner) -> Self {
        let owner = Arc::new(owner);
        Self {
            slot: owner.slot.clone(),
            sync: Lane::start("sync", owner.clone(), open),
            command: Lane::start("command", owner.clone(), open),
            poll_total: owner.runtime.limits.poll_total,
            call_total: owner.runtime.limits.call_total,
        }
    }
}

#[async_trait]
impl EngineDriver for PluginEngine {
    fn has(&self, capability: &str) -> bool {
        self.slot
            .code()
            .is_some_and(|code| code.about.capabilities.iter().any(|word| word == capability))
    }

    async fn health(&self) -> Result<Health, EngineError> {
        self.command
            .call(self.call_total, |session| session.health())
            .await
    }

    async fn poll(&self, cursor: Option<u64>, attention: Attention) -> Result<Delta, EngineError> {
        self.sync
            .call(self.poll_total, move |session| session.poll(cursor, attention))
            .await
    }

    async fn get(&self, hash: &str) -> Result<Option<Torrent>, EngineError> {
        let hash = hash.to_owned();
        self.command
            .call(self.call_total, move |session| session.get(hash))
            .await
    }

    async fn files(&self, hash: &str) -> Result<Vec<File>, EngineError> {
        let hash = hash.to_owned();
        self.command
            .call(self.call_total, move |session| session.files(hash))
            .await
    }

    async fn peers(&self, hash: &str) -> Result<Vec<Peer>, EngineError> {
        let hash = hash.to_owned();
        self.command
            .call(self.call_total, move |session| session.peers(hash))
            .await
    }

    async fn trackers(&self, hash: &str) -> Result<Vec<Tracker>, EngineError> {
        let hash = hash.to_owned();
        self.command
            .call(self.call_total, move |session| session.trackers(hash))
            .await
    }

    async fn add(&self, request: AddRequest) -> Result<(), EngineError> {
        self.command
            .call(self.call_total, move |session| session.add(request))
            .await
    }

    async fn run(&self, hashes: &[String], command: Command) -> Result<Vec<Outcome>, EngineError> {
        let hashes = hashes.to_vec();
        self.command
            .call(self.call_total, move |session| session.run(hashes, command))
            .await
    }

    async fn session_stats(&self) -> Result<SessionStats, EngineError> {
        self.command
            .call(self.call_total, |session| session.session_stats())
            .await
    }

    async fn all_time(&self) -> Result<Option<Transfer>, EngineError> {
        self.command
            .call(self.call_total, |session| session.all_time())
            .await
    }

    async fn rate_limits(&self) -> Result<RateLimits, EngineError> {
        self.command
            .call(self.call_total, |session| session.rate_limits())
            .await
    }

    async fn set_rate_limits(&self, limits: RateLimits) -> Result<(), EngineError> {
        self.command
            .call(self.call_total, move |session| session.set_rate_limits(limits))
            .await
    }

    async fn close(&self) {
        self.sync.close().await;
        self.command.close().await;
        // What was made of its lists goes with it, or some time later: no account has it.
        system::trim_soon();
    }
}
