//! Driver of an engine whose client sees directories under other paths: the one border between its paths and ours.
//!
//! A path that a client tells leaves here as a local one, and one that it is told arrives as a local one ([`crate::model::mappings`]). Paths of files and
//! folders inside a torrent are below its own folder, and pass as they are; so do the texts of errors, which are the client's.
//! A command whose directory the client cannot be told is refused, and nothing of it is done.
//!
//! Bounds: the names of preferences that are directories are asked for once, and kept.

use std::sync::Arc;

use async_trait::async_trait;
use qm_ports::engine::{
    AddRequest, Attention, Category, Command, Delta, EngineDriver, EngineError, File, Health, Outcome, Peer,
    RateLimits, RateMode, SessionStats, Torrent, Tracker, Transfer,
};
use serde_json::{Map, Value};
use tokio::sync::OnceCell;

use crate::model::mappings::{PathMappings, Unmapped};

/// A driver behind mappings of paths.
pub struct MappedDriver {
    inner: Arc<dyn EngineDriver>,
    mappings: PathMappings,
    /// Names of preferences that are directories.
    directories: OnceCell<Vec<String>>,
}

impl MappedDriver {
    /// The driver itself where there is nothing to map.
    pub fn wrap(inner: Arc<dyn EngineDriver>, mappings: PathMappings) -> Arc<dyn EngineDriver> {
        if mappings.is_empty() {
            return inner;
        }
        Arc::new(Self {
            inner,
            mappings,
            directories: OnceCell::new(),
        })
    }

    fn map_told(&self, path: &mut String) {
        *path = self.mappings.to_local(path);
    }

    fn map_told_option(&self, path: &mut Option<String>) {
        if let Some(path) = path {
            self.map_told(path);
        }
    }

    fn map_torrent(&self, torrent: &mut Torrent) {
        self.map_told(&mut torrent.save_path);
        self.map_told(&mut torrent.content_path);
        self.map_told_option(&mut torrent.download_path);
    }

    fn outward(&self, path: &str) -> Result<String, EngineError> {
        let refused = |error: Unmapped| EngineError::InvalidConfig(error.to_string());
        self.mappings.to_remote(path).map_err(refused)
    }

    fn outward_option(&self, path: Option<String>) -> Result<Option<String>, EngineError> {
        path.map(|path| self.outward(&path)).transpose()
    }

    fn map_command(&self, command: Command) -> Result<Command, EngineError> {
        Ok(match command {
            Command::Move { destination } => Command::Move {
                destination: self.outward(&destination)?,
            },
            Command::Attach { save_path } => Command::Attach {
                save_path: self.outward(&save_path)?,
            },
            Command::DownloadPath(path) => Command::DownloadPath(self.outward_option(path)?),
            other @ (Command::Start
            | Command::Stop
            | Command::Pause
            | Command::Resume
            | Command::ForceStart(_)
            | Command::Recheck
            | Command::Reannounce
            | Command::Remove { .. }
            | Command::AutoManage(_)
            | Command::Detach
            | Command::Rename { .. }
            | Command::RenameFile { .. }
            | Command::RenameFolder { .. }
            | Command::FilePriority { .. }
            | Command::Priority(_)
            | Command::Queue(_)
            | Command::Sequential(_)
            | Command::FirstLastPiece(_)
            | Command::SuperSeeding(_)
            | Command::UploadLimit(_)
            | Command::DownloadLimit(_)
            | Command::ShareLimits(_)
            | Command::AddTracker { .. }
            | Command::RemoveTracker { .. }
            | Command::ReplaceTracker { .. }
            | Command::BanPeers { .. }
            | Command::SetLabel { .. }
            | Command::AddTags { .. }
            | Command::RemoveTags { .. }) => other,
        })
    }

    fn map_category(&self, category: Category) -> Result<Category, EngineError> {
        Ok(Category {
            save_path: self.outward_option(category.save_path)?,
            download_path: self.outward_option(category.download_path)?,
            name: category.name,
        })
    }

    /// Preferences that the schema marks as directories of the client.
    async fn directories(&self) -> Result<&[String], EngineError> {
        let asking = self.directories.get_or_try_init(|| async {
            let schema = self.inner.preferences_schema().await?;
            let properties = schema.get("properties").and_then(Value::as_object);
            let is_directory = |property: &Value| property.get("x-path").is_some();
            let marked = properties
                .into_iter()
                .flatten()
                .filter(|(_, property)| is_directory(property));
            Ok::<_, EngineError>(marked.map(|(name, _)| name.clone()).collect())
        });
        Ok(asking.await?)
    }
}

#[async_trait]
impl EngineDriver for MappedDriver {
    fn has(&self, capability: &str) -> bool {
        self.inner.has(capability)
    }

    async fn health(&self) -> Result<Health, EngineError> {
        self.inner.health().await
    }

    async fn poll(
        &self,
        cursor: Option<u64>,
        attention: Attention,
        fresh: &[String],
    ) -> Result<Delta, EngineError> {
        let mut delta = self.inner.poll(cursor, attention, fresh).await?;
        for torrent in &mut delta.changed {
            self.map_torrent(torrent);
        }
        Ok(delta)
    }

    async fn get(&self, hash: &str) -> Result<Option<Torrent>, EngineError> {
        let mut torrent = self.inner.get(hash).await?;
        if let Some(torrent) = &mut torrent {
            self.map_torrent(torrent);
        }
        Ok(torrent)
    }

    async fn files(&self, hash: &str) -> Result<Vec<File>, EngineError> {
        self.inner.files(hash).await
    }

    async fn peers(&self, hash: &str) -> Result<Vec<Peer>, EngineError> {
        self.inner.peers(hash).await
    }

    async fn trackers(&self, hash: &str) -> Result<Vec<Tracker>, EngineError> {
        self.inner.trackers(hash).await
    }

    async fn add(&self, mut request: AddRequest) -> Result<(), EngineError> {
        let options = &mut request.options;
        options.save_path = self.outward_option(options.save_path.take())?;
        options.download_path = self.outward_option(options.download_path.take())?;
        self.inner.add(request).await
    }

    async fn run(&self, hashes: &[String], command: Command) -> Result<Vec<Outcome>, EngineError> {
        let command = self.map_command(command)?;
        self.inner.run(hashes, command).await
    }

    async fn session_stats(&self) -> Result<SessionStats, EngineError> {
        let mut stats = self.inner.session_stats().await?;
        self.map_told_option(&mut stats.default_save_path);
        Ok(stats)
    }

    async fn all_time(&self) -> Result<Option<Transfer>, EngineError> {
        self.inner.all_time().await
    }

    async fn rate_limits(&self, mode: RateMode) -> Result<RateLimits, EngineError> {
        self.inner.rate_limits(mode).await
    }

    async fn set_rate_limits(&self, mode: RateMode, limits: RateLimits) -> Result<(), EngineError> {
        self.inner.set_rate_limits(mode, limits).await
    }

    async fn rate_mode(&self) -> Result<RateMode, EngineError> {
        self.inner.rate_mode().await
    }

    async fn set_rate_mode(&self, mode: RateMode) -> Result<(), EngineError> {
        self.inner.set_rate_mode(mode).await
    }

    async fn export_metainfo(&self, hash: &str) -> Result<Vec<u8>, EngineError> {
        self.inner.export_metainfo(hash).await
    }

    async fn categories(&self) -> Result<Vec<Category>, EngineError> {
        let mut categories = self.inner.categories().await?;
        for category in &mut categories {
            self.map_told_option(&mut category.save_path);
            self.map_told_option(&mut category.download_path);
        }
        Ok(categories)
    }

    async fn create_category(&self, category: Category) -> Result<(), EngineError> {
        self.inner.create_category(self.map_category(category)?).await
    }

    async fn edit_category(&self, category: Category) -> Result<(), EngineError> {
        self.inner.edit_category(self.map_category(category)?).await
    }

    async fn remove_categories(&self, names: Vec<String>) -> Result<(), EngineError> {
        self.inner.remove_categories(names).await
    }

    async fn tags(&self) -> Result<Vec<String>, EngineError> {
        self.inner.tags().await
    }

    async fn create_tags(&self, tags: Vec<String>) -> Result<(), EngineError> {
        self.inner.create_tags(tags).await
    }

    async fn delete_tags(&self, tags: Vec<String>) -> Result<(), EngineError> {
        self.inner.delete_tags(tags).await
    }

    async fn preferences_schema(&self) -> Result<Value, EngineError> {
        self.inner.preferences_schema().await
    }

    async fn preferences(&self) -> Result<Map<String, Value>, EngineError> {
        let mut preferences = self.inner.preferences().await?;
        for name in self.directories().await? {
            if let Some(Value::String(path)) = preferences.get_mut(name) {
                self.map_told(path);
            }
        }
        Ok(preferences)
    }

    async fn set_preferences(&self, mut changes: Map<String, Value>) -> Result<(), EngineError> {
        for name in self.directories().await? {
            if let Some(Value::String(path)) = changes.get_mut(name) {
                *path = self.outward(path)?;
            }
        }
        self.inner.set_preferences(changes).await
    }

    async fn banned_peers(&self) -> Result<Vec<String>, EngineError> {
        self.inner.banned_peers().await
    }

    async fn set_banned_peers(&self, addresses: Vec<String>) -> Result<(), EngineError> {
        self.inner.set_banned_peers(addresses).await
    }

    async fn close(&self) {
        self.inner.close().await;
    }
}
