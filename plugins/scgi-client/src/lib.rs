//! The engine kind `scgi_client`: rTorrent. All that it knows is in `scgi-core`; here are only the configuration and
//! the way to the host's network.

mod config;
mod network;

use std::cell::RefCell;

use scgi_core::{Client, Poller};
use sdk_engine::{
    AddRequest, Attention, Category, Command, Delta, Descriptor, File, Health, Outcome, Peer, PluginError,
    RateLimits, RateMode, Session, SessionStats, Torrent, Tracker, Transfer,
};

use config::Settings;
use network::{HostClock, HostNetwork};

struct Plugin;

/// Abilities of rTorrent itself: it has no queue, no order of pieces and no limits of sharing.
const CAPABILITIES: [&str; 8] = [
    "follows-data",
    "reannounce",
    "super-seeding",
    "replace-tracker",
    "ban-peers",
    "export",
    "global-limits",
    "preferences",
];

/// Refusal of what this kind does not declare.
fn unsupported<T>(what: &str) -> Result<T, PluginError> {
    Err(PluginError::Unsupported(format!("This engine has no {what}")))
}

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
            capabilities: CAPABILITIES.map(str::to_owned).to_vec(),
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
            lacks: Vec::new(),
            extra: Vec::new(),
        })
    }

    fn poll(
        &self,
        cursor: Option<u64>,
        attention: Attention,
        fresh: Vec<String>,
    ) -> Result<Delta, PluginError> {
        let mut changed = Vec::new();
        let mut poller = self.poller.borrow_mut();
        let summary = poller.poll_fresh(&self.client, cursor, attention.into(), &fresh, &mut |torrent| {
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

    fn export_metainfo(&self, hash: String) -> Result<Vec<u8>, PluginError> {
        Ok(self.client.export_metainfo(&hash)?)
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

    fn get_rate_limits(&self, mode: RateMode) -> Result<RateLimits, PluginError> {
        match mode {
            RateMode::Normal => Ok(self.client.rate_limits()?.into()),
            RateMode::Alternative => unsupported("second set of limits"),
        }
    }

    fn set_rate_limits(&self, mode: RateMode, limits: RateLimits) -> Result<(), PluginError> {
        match mode {
            RateMode::Normal => Ok(self.client.set_rate_limits(limits.into())?),
            RateMode::Alternative => unsupported("second set of limits"),
        }
    }

    fn get_rate_mode(&self) -> Result<RateMode, PluginError> {
        unsupported("second set of limits")
    }

    fn set_rate_mode(&self, _: RateMode) -> Result<(), PluginError> {
        unsupported("second set of limits")
    }

    fn list_categories(&self) -> Result<Vec<Category>, PluginError> {
        unsupported("categories beside the labels of torrents")
    }

    fn create_category(&self, _: Category) -> Result<(), PluginError> {
        unsupported("categories beside the labels of torrents")
    }

    fn edit_category(&self, _: Category) -> Result<(), PluginError> {
        unsupported("categories beside the labels of torrents")
    }

    fn remove_categories(&self, _: Vec<String>) -> Result<(), PluginError> {
        unsupported("categories beside the labels of torrents")
    }

    fn list_tags(&self) -> Result<Vec<String>, PluginError> {
        unsupported("tags")
    }

    fn create_tags(&self, _: Vec<String>) -> Result<(), PluginError> {
        unsupported("tags")
    }

    fn delete_tags(&self, _: Vec<String>) -> Result<(), PluginError> {
        unsupported("tags")
    }

    fn preferences_schema(&self) -> Result<String, PluginError> {
        Ok(self.client.preferences_schema())
    }

    fn get_preferences(&self) -> Result<String, PluginError> {
        Ok(self.client.preferences()?)
    }

    fn set_preferences(&self, changes: String) -> Result<(), PluginError> {
        Ok(self.client.set_preferences(&changes)?)
    }

    fn get_banned_peers(&self) -> Result<Vec<String>, PluginError> {
        unsupported("list of banned peers")
    }

    fn set_banned_peers(&self, _: Vec<String>) -> Result<(), PluginError> {
        unsupported("list of banned peers")
    }
}

sdk_engine::export_engine!(Plugin);
