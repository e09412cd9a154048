//! The engine kind `webapi_client`: qBittorrent through its Web API.
//!
//! Owns: nothing but the seam between the plugin contract and `webapi-core`, where the client is understood and tested.

mod host;

use std::cell::RefCell;

use sdk_engine::{
    AddRequest, Attention, Category, Command, Delta, Descriptor, Engine, EngineSession, File, Health,
    Outcome, Peer, PluginError, RateLimits, RateMode, SessionStats, Torrent, Tracker, Transfer,
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
            "rename-folder",
            "tags",
            "categories",
            "reannounce",
            "queue-position",
            "sequential",
            "first-last-piece",
            "super-seeding",
            "auto-manage",
            "download-path",
            "replace-tracker",
            "ban-peers",
            "banned-peers",
            "share-limits",
            "inactive-limit",
            "share-action",
            "skip-checking",
            "content-layout",
            "stop-when",
            "export",
            "all-time-stats",
            "global-limits",
            "alternative-limits",
            "preferences",
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
        Ok(self.ask(webapi_core::Session::health)?.into())
    }

    fn poll(
        &self,
        cursor: Option<u64>,
        attention: Attention,
        fresh: Vec<String>,
    ) -> Result<Delta, PluginError> {
        let delta = self.ask(|session| session.poll(cursor, attention.into(), &fresh))?;
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

    fn export_metainfo(&self, hash: String) -> Result<Vec<u8>, PluginError> {
        self.ask(|session| session.export_metainfo(&hash))
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

    fn get_rate_limits(&self, mode: RateMode) -> Result<RateLimits, PluginError> {
        Ok(self.ask(|session| session.rate_limits(mode.into()))?.into())
    }

    fn set_rate_limits(&self, mode: RateMode, limits: RateLimits) -> Result<(), PluginError> {
        self.ask(|session| session.set_rate_limits(mode.into(), limits.into()))
    }

    fn get_rate_mode(&self) -> Result<RateMode, PluginError> {
        Ok(self.ask(webapi_core::Session::rate_mode)?.into())
    }

    fn set_rate_mode(&self, mode: RateMode) -> Result<(), PluginError> {
        self.ask(|session| session.set_rate_mode(mode.into()))
    }

    fn list_categories(&self) -> Result<Vec<Category>, PluginError> {
        let categories = self.ask(webapi_core::Session::categories)?;
        Ok(categories.into_iter().map(Category::from).collect())
    }

    fn create_category(&self, category: Category) -> Result<(), PluginError> {
        self.ask(|session| session.create_category(&category.into()))
    }

    fn edit_category(&self, category: Category) -> Result<(), PluginError> {
        self.ask(|session| session.edit_category(&category.into()))
    }

    fn remove_categories(&self, names: Vec<String>) -> Result<(), PluginError> {
        self.ask(|session| session.remove_categories(&names))
    }

    fn list_tags(&self) -> Result<Vec<String>, PluginError> {
        self.ask(webapi_core::Session::tags)
    }

    fn create_tags(&self, tags: Vec<String>) -> Result<(), PluginError> {
        self.ask(|session| session.create_tags(&tags))
    }

    fn delete_tags(&self, tags: Vec<String>) -> Result<(), PluginError> {
        self.ask(|session| session.delete_tags(&tags))
    }

    fn preferences_schema(&self) -> Result<String, PluginError> {
        self.ask(webapi_core::Session::preferences_schema)
    }

    fn get_preferences(&self) -> Result<String, PluginError> {
        self.ask(webapi_core::Session::preferences)
    }

    fn set_preferences(&self, changes: String) -> Result<(), PluginError> {
        self.ask(|session| session.set_preferences(&changes))
    }

    fn get_banned_peers(&self) -> Result<Vec<String>, PluginError> {
        self.ask(webapi_core::Session::banned_peers)
    }

    fn set_banned_peers(&self, addresses: Vec<String>) -> Result<(), PluginError> {
        self.ask(|session| session.set_banned_peers(&addresses))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.session.get_mut().close();
    }
}

sdk_engine::export_engine!(Plugin);
