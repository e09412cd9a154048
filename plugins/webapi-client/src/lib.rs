//! The engine kind `webapi_client`: qBittorrent through its Web API.
//!
//! Owns: nothing but the seam between the plugin contract and `webapi-core`, where the client is understood and tested.

mod convert;
mod host;

use std::cell::RefCell;

use sdk::{
    AddRequest, Command, Delta, Descriptor, Engine, EngineSession, File, Health, Outcome, Peer, PluginError,
    RateLimits, SessionStats, Torrent, Tracker, Transfer,
};
use webapi_core::{Config, Error, SCHEMA};

use convert::plugin_error;
use host::{HostClock, HostHttp};

struct Plugin;

impl Engine for Plugin {
    type Session = Client;

    fn describe() -> Descriptor {
        sdk::install_panic_hook();
        let capabilities = [
            "moves-data",
            "rename",
            "rename-file",
            "tags",
            "all-time-stats",
            "global-limits",
        ];
        Descriptor {
            id: "webapi_client".into(),
            label: "qBittorrent".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            config_schema: SCHEMA.into(),
            capabilities: capabilities.map(String::from).into(),
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
        ask(&mut self.session.borrow_mut()).map_err(plugin_error)
    }
}

impl EngineSession for Client {
    fn open(config: String) -> Result<sdk::Session, PluginError> {
        sdk::install_panic_hook();
        let config = Config::parse(&config).map_err(plugin_error)?;
        let session = RefCell::new(webapi_core::Session::new(config, HostHttp, HostClock));
        Ok(sdk::Session::new(Client { session }))
    }

    fn health(&self) -> Result<Health, PluginError> {
        let version = self.ask(webapi_core::Session::version)?;
        Ok(Health {
            version,
            extra: Vec::new(),
        })
    }

    fn poll(&self, cursor: Option<u64>) -> Result<Delta, PluginError> {
        self.ask(|session| session.poll(cursor)).map(convert::delta)
    }

    fn get(&self, hash: String) -> Result<Option<Torrent>, PluginError> {
        Ok(self.ask(|session| session.get(&hash))?.map(convert::torrent))
    }

    fn files(&self, hash: String) -> Result<Vec<File>, PluginError> {
        Ok(self
            .ask(|session| session.files(&hash))?
            .into_iter()
            .map(convert::file)
            .collect())
    }

    fn peers(&self, hash: String) -> Result<Vec<Peer>, PluginError> {
        Ok(self
            .ask(|session| session.peers(&hash))?
            .into_iter()
            .map(convert::peer)
            .collect())
    }

    fn trackers(&self, hash: String) -> Result<Vec<Tracker>, PluginError> {
        Ok(self
            .ask(|session| session.trackers(&hash))?
            .into_iter()
            .map(convert::tracker)
            .collect())
    }

    fn add(&self, request: AddRequest) -> Result<(), PluginError> {
        let request = convert::add_request(request);
        self.ask(|session| session.add(&request))
    }

    fn run(&self, hashes: Vec<String>, command: Command) -> Result<Vec<Outcome>, PluginError> {
        let command = convert::command(command)?;
        Ok(self
            .ask(|session| session.run(&hashes, &command))?
            .into_iter()
            .map(convert::outcome)
            .collect())
    }

    fn session_stats(&self) -> Result<SessionStats, PluginError> {
        self.ask(webapi_core::Session::session_stats)
            .map(convert::session_stats)
    }

    fn all_time(&self) -> Result<Option<Transfer>, PluginError> {
        let transfer = self.ask(webapi_core::Session::all_time)?;
        Ok(transfer.map(|t| Transfer {
            downloaded: t.downloaded,
            uploaded: t.uploaded,
        }))
    }

    fn get_rate_limits(&self) -> Result<RateLimits, PluginError> {
        let limits = self.ask(webapi_core::Session::rate_limits)?;
        Ok(RateLimits {
            download: limits.download,
            upload: limits.upload,
        })
    }

    fn set_rate_limits(&self, limits: RateLimits) -> Result<(), PluginError> {
        let limits = webapi_core::RateLimits {
            download: limits.download,
            upload: limits.upload,
        };
        self.ask(|session| session.set_rate_limits(limits))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.session.get_mut().close();
    }
}

sdk::export_engine!(Plugin);
