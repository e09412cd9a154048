//! The engine kind `scgi_client`: rTorrent. All that it knows is in `scgi-core`; here are only the configuration, the
//! way to the host's network, and the move of one shape into the other.

mod config;
mod convert;
mod network;

use std::cell::RefCell;

use scgi_core::{Client, Poller};
use sdk::{
    AddRequest, Command, Delta, Descriptor, File, Health, Outcome, Peer, PluginError, RateLimits, Session,
    SessionStats, Torrent, Tracker, Transfer,
};

use network::{HostClock, HostNetwork};

struct Plugin;

/// One configured rTorrent. The poller's memory is all the state there is; losing it costs one full read.
struct ScgiSession {
    client: Client<HostNetwork, HostClock>,
    poller: RefCell<Poller>,
}

impl sdk::Engine for Plugin {
    type Session = ScgiSession;

    fn describe() -> Descriptor {
        sdk::install_panic_hook();
        Descriptor {
            id: "scgi_client".to_owned(),
            label: "rTorrent".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            config_schema: config::SCHEMA.to_owned(),
            capabilities: vec!["global-limits".to_owned()],
            extra: Vec::new(),
        }
    }
}

impl sdk::EngineSession for ScgiSession {
    fn open(config: String) -> Result<Session, PluginError> {
        sdk::install_panic_hook();
        let (endpoint, idle_ms) = config::read(&config)?;
        let client = Client::new(endpoint, idle_ms, HostNetwork, HostClock);
        Ok(Session::new(Self {
            client,
            poller: RefCell::default(),
        }))
    }

    fn health(&self) -> Result<Health, PluginError> {
        let version = self.client.health().map_err(convert::error)?;
        Ok(Health {
            version,
            extra: Vec::new(),
        })
    }

    fn poll(&self, cursor: Option<u64>) -> Result<Delta, PluginError> {
        let mut changed = Vec::new();
        let summary = self
            .poller
            .borrow_mut()
            .poll(&self.client, cursor, &mut |torrent| {
                changed.push(convert::torrent(torrent));
            })
            .map_err(convert::error)?;
        Ok(convert::delta(summary, changed))
    }

    fn get(&self, hash: String) -> Result<Option<Torrent>, PluginError> {
        Ok(self
            .client
            .get(&hash)
            .map_err(convert::error)?
            .map(convert::torrent))
    }

    fn files(&self, hash: String) -> Result<Vec<File>, PluginError> {
        let files = self.client.files(&hash).map_err(convert::error)?;
        Ok(files.into_iter().map(convert::file).collect())
    }

    fn peers(&self, hash: String) -> Result<Vec<Peer>, PluginError> {
        let peers = self.client.peers(&hash).map_err(convert::error)?;
        Ok(peers.into_iter().map(convert::peer).collect())
    }

    fn trackers(&self, hash: String) -> Result<Vec<Tracker>, PluginError> {
        let trackers = self.client.trackers(&hash).map_err(convert::error)?;
        Ok(trackers.into_iter().map(convert::tracker).collect())
    }

    fn add(&self, request: AddRequest) -> Result<(), PluginError> {
        self.client
            .add(&convert::add_request(request))
            .map_err(convert::error)
    }

    fn run(&self, hashes: Vec<String>, command: Command) -> Result<Vec<Outcome>, PluginError> {
        let command = convert::command(command)?;
        let outcomes = self.client.run(&hashes, &command);
        let outcome = |(hash, outcome): (String, Result<(), scgi_core::Error>)| Outcome {
            hash,
            error: outcome.err().map(convert::error),
        };
        Ok(hashes.into_iter().zip(outcomes).map(outcome).collect())
    }

    fn session_stats(&self) -> Result<SessionStats, PluginError> {
        self.client
            .session_stats()
            .map(convert::session_stats)
            .map_err(convert::error)
    }

    fn all_time(&self) -> Result<Option<Transfer>, PluginError> {
        Ok(None)
    }

    fn get_rate_limits(&self) -> Result<RateLimits, PluginError> {
        let limits = self.client.rate_limits().map_err(convert::error)?;
        Ok(RateLimits {
            download: limits.download,
            upload: limits.upload,
        })
    }

    fn set_rate_limits(&self, limits: RateLimits) -> Result<(), PluginError> {
        let limits = scgi_core::model::RateLimits {
            download: limits.download,
            upload: limits.upload,
        };
        self.client.set_rate_limits(limits).map_err(convert::error)
    }
}

sdk::export_engine!(Plugin);
