//! The engine kind `scgi_client`: rTorrent. All that it knows is in `scgi-core`; here are only the configuration and
//! the way to the host's network.

mod config;
mod network;

use std::cell::RefCell;

use scgi_core::{Client, Poller};
use sdk_engine::{
    AddRequest, Attention, Command, Delta, Descriptor, File, Health, Outcome, Peer, PluginError, RateLimits,
    Session, SessionStats, Torrent, Tracker, Transfer,
};

use config::Settings;
use network::{HostClock, HostNetwork};

struct Plugin;

/// One configured rTorrent. The poller's memory is all the state there is; losing it costs one full read.
struct ScgiSession {
    client: Client<HostNetwork, HostClock>,
    poller: RefCell<Poller>,
}

impl sdk_engine::Engine for Plugin {
    type Session = ScgiSession;

    fn describe() -> Descriptor {
        sdk_engine::install_panic_hook();
        Descriptor {
            id: "scgi_client".to_owned(),
            label: "rTorrent".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            config_schema: config::SCHEMA.to_owned(),
            capabilities: vec!["follows-data".to_owned(), "global-limits".to_owned()],
            hosts: Vec::new(),
            extra: Vec::new(),
        }
    }
}

impl sdk_engine::EngineSession for ScgiSession {
    fn open(config: String) -> Result<Session, PluginError> {
        sdk_engine::install_panic_hook();
        let Settings {
            endpoint,
            authorization,
            idle_ms,
        } = config::read(&config)?;
        let client = Client::new(endpoint, idle_ms, HostNetwork { authorization }, HostClock);
        Ok(Session::new(Self {
            client,
            poller: RefCell::default(),
        }))
    }

    fn health(&self) -> Result<Health, PluginError> {
        Ok(Health {
            version: self.client.health()?,
            extra: Vec::new(),
        })
    }

    fn poll(&self, cursor: Option<u64>, attention: Attention) -> Result<Delta, PluginError> {
        let mut changed = Vec::new();
        let mut poller = self.poller.borrow_mut();
        let summary = poller.poll(&self.client, cursor, attention.into(), &mut |torrent| {
            changed.push(torrent.into());
        })?;
        Ok(Delta {
            cursor: summary.cursor,
            full: summary.full,
            changed,
            removed: summary.removed,
            stats: summary.stats.into(),
            extra: Vec::new(),
        })
    }

    fn get(&self, hash: String) -> Result<Option<Torrent>, PluginError> {
        Ok(self.client.get(&hash)?.map(Torrent::from))
    }

    fn files(&self, hash: String) -> Result<Vec<File>, PluginError> {
        Ok(self.client.files(&hash)?.into_iter().map(File::from).collect())
    }

    fn peers(&self, hash: String) -> Result<Vec<Peer>, PluginError> {
        Ok(self.client.peers(&hash)?.into_iter().map(Peer::from).collect())
    }

    fn trackers(&self, hash: String) -> Result<Vec<Tracker>, PluginError> {
        let trackers = self.client.trackers(&hash)?;
        Ok(trackers.into_iter().map(Tracker::from).collect())
    }

    fn add(&self, request: AddRequest) -> Result<(), PluginError> {
        Ok(self.client.add(&request.into())?)
    }

    fn run(&self, hashes: Vec<String>, command: Command) -> Result<Vec<Outcome>, PluginError> {
        let outcomes = self.client.run(&hashes, &command.try_into()?);
        let outcome = |(hash, outcome): (String, Result<(), scgi_core::Error>)| Outcome {
            hash,
            error: outcome.err().map(PluginError::from),
        };
        Ok(hashes.into_iter().zip(outcomes).map(outcome).collect())
    }

    fn session_stats(&self) -> Result<SessionStats, PluginError> {
        Ok(self.client.session_stats()?.into())
    }

    fn all_time(&self) -> Result<Option<Transfer>, PluginError> {
        Ok(None)
    }

    fn get_rate_limits(&self) -> Result<RateLimits, PluginError> {
        Ok(self.client.rate_limits()?.into())
    }

    fn set_rate_limits(&self, limits: RateLimits) -> Result<(), PluginError> {
        Ok(self.client.set_rate_limits(limits.into())?)
    }
}

sdk_engine::export_engine!(Plugin);
