//! The engine kind `webapi_client`: qBittorrent through its Web API.
//!
//! Owns: nothing but the seam between the plugin contract and `webapi-core`, where the client is understood and tested.

mod host;

use std::cell::RefCell;

use sdk_engine::{
    AddRequest, Attention, Command, Delta, Descriptor, Engine, EngineSession, File, Health, Outcome, Peer,
    PluginError, RateLimits, SessionStats, Torrent, Tracker, Transfer,
};
use webapi_core::{Config, Error, SCHEMA};

use host::{HostClock, HostHttp};

struct Plugin;

impl Engine for Plugin {
    type Session = Client;

    fn describe() -> Descriptor {
        sdk_engine::install_panic_hook();
        let capabilities = [
            "moves-data",
            "rename",
            "rename-file",
            "tags",
            "all-time-stats",
            "global-limits",
            "v2",
        ];
        Descriptor {
            id: "webapi_client".into(),
            label: "qBittorrent".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            config_schema: SCHEMA.into(),
            capabilities: capabilities.map(String::from).into(),
            hosts: Vec::new(),
            extra: Vec::new(),
        }
    }
}

struct Client {
    session: RefCell<webapi_core::Session<HostHttp, HostClock>>,
}

impl Client {
    fn ask<T>(
        &self,
        ask: impl FnOnce(&mut webapi_core::Session<HostHttp, HostClock>) -> Result<T, Error>,
    ) -> Result<T, PluginError> {
        // An instance takes one call at a time, so the session is never borrowed twice.
        ask(&mut self.session.borrow_mut()).map_err(PluginError::from)
    }
}

impl EngineSession for Client {
    fn open(config: String) -> Result<sdk_engine::Session, PluginError> {
        sdk_engine::install_panic_hook();
        let config = Config::parse(&config)?;
        let session = RefCell::new(webapi_core::Session::new(config, HostHttp, HostClock));
        Ok(sdk_engine::Session::new(Client { session }))
    }

    fn health(&self) -> Result<Health, PluginError> {
        let version = self.ask(webapi_core::Session::version)?;
        Ok(Health {
            version,
            extra: Vec::new(),
        })
    }

    fn poll(&self, cursor: Option<u64>, attention: Attention) -> Result<Delta, PluginError> {
        let delta = self.ask(|session| session.poll(cursor, attention.into()))?;
        Ok(Delta {
            cursor: delta.cursor,
            full: delta.full,
            changed: delta.changed.into_iter().map(Torrent::from).collect(),
            removed: delta.removed,
            stats: delta.stats.into(),
            extra: Vec::new(),
        })
    }

    fn get(&self, hash: String) -> Result<Option<Torrent>, PluginError> {
        Ok(self.ask(|session| session.get(&hash))?.map(Torrent::from))
    }

    fn files(&self, hash: String) -> Result<Vec<File>, PluginError> {
        let files = self.ask(|session| session.files(&hash))?;
        Ok(files.into_iter().map(File::from).collect())
    }

    fn peers(&self, hash: String) -> Result<Vec<Peer>, PluginError> {
        let peers = self.ask(|session| session.peers(&hash))?;
        Ok(peers.into_iter().map(Peer::from).collect())
    }

    fn trackers(&self, hash: String) -> Result<Vec<Tracker>, PluginError> {
        let trackers = self.ask(|session| session.trackers(&hash))?;
        Ok(trackers.into_iter().map(Tracker::from).collect())
    }

    fn add(&self, request: AddRequest) -> Result<(), PluginError> {
        self.ask(|session| session.add(&request.into()))
    }

    fn run(&self, hashes: Vec<String>, command: Command) -> Result<Vec<Outcome>, PluginError> {
        let command = command.try_into()?;
        let outcomes = self.ask(|session| session.run(&hashes, &command))?;
        let outcome = |outcome: webapi_core::Outcome| Outcome {
            hash: outcome.hash,
            error: outcome.error.map(PluginError::from),
        };
        Ok(outcomes.into_iter().map(outcome).collect())
    }

    fn session_stats(&self) -> Result<SessionStats, PluginError> {
        Ok(self.ask(webapi_core::Session::session_stats)?.into())
    }

    fn all_time(&self) -> Result<Option<Transfer>, PluginError> {
        Ok(self.ask(webapi_core::Session::all_time)?.map(Transfer::from))
    }

    fn get_rate_limits(&self) -> Result<RateLimits, PluginError> {
        Ok(self.ask(webapi_core::Session::rate_limits)?.into())
    }

    fn set_rate_limits(&self, limits: RateLimits) -> Result<(), PluginError> {
        self.ask(|session| session.set_rate_limits(limits.into()))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.session.get_mut().close();
    }
}

sdk_engine::export_engine!(Plugin);
