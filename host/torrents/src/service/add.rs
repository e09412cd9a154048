//! Adding a torrent: checks, the guarded fetch of a URL, the hand-over, and waiting until the client lists it.

use std::time::Duration;

use bytes::Bytes;
use qm_kernel::engine::{AddOptions, AddRequest, EngineError, Source};
use qm_net::GuardKind;
use serde_json::json;

use super::commands::show;
use super::{Caller, Torrents};
use crate::dto::torrent::DownloadFailed;
use crate::error::{TorrentsError, describe};
use crate::metainfo::{MAX_TORRENT_BYTES, Magnet, Metainfo};
use crate::model::paths::{check_category, check_directory};
use crate::sync::engine::Engine;
use crate::sync::publish;

const FETCH_LIMIT: Duration = Duration::from_secs(15);
const CONFIRM_TRIES: usize = 20;
const CONFIRM_EVERY: Duration = Duration::from_millis(300);

/// Where the torrent comes from.
#[derive(Debug)]
pub enum AddSource {
    File(Bytes),
    Magnet(String),
    Url(String),
}

impl AddSource {
    /// A file goes before a magnet link, which goes before a URL; blank texts are none. A blank magnet link alone is
    /// taken, and refused in its own words.
    pub fn choose(file: Option<Bytes>, magnet: Option<String>, url: Option<String>) -> Option<Self> {
        let given = |text: &String| !text.trim().is_empty();
        file.map(AddSource::File)
            .or_else(|| magnet.clone().filter(given).map(AddSource::Magnet))
            .or_else(|| url.filter(given).map(AddSource::Url))
            .or_else(|| magnet.map(AddSource::Magnet))
    }
}

/// A torrent to add; `options.save_path` and `options.category` as the user gave them.
#[derive(Debug)]
pub struct AddInput {
    pub source: AddSource,
    pub engine_id: Option<String>,
    pub options: AddOptions,
}

/// A source that was understood.
struct Prepared {
    source: Source,
    hash: String,
    /// The other hash a client may list it under.
    alias: Option<String>,
    name: Option<String>,
}

impl Torrents {
    /// Adds a torrent and returns the hash the engine lists it under.
    pub async fn add(&self, caller: Caller<'_>, mut input: AddInput) -> Result<String, TorrentsError> {
        let options = &mut input.options;
        if let Some(path) = &options.save_path {
            options.save_path = Some(check_directory(path, "save path", &self.roots)?);
        }
        if let Some(category) = &options.category {
            check_category(category)?;
        }
        let engine = self.resolve(input.engine_id.as_deref())?;
        let prepared = self.prepare(input.source).await?;
        let metadata = json!({ "engineId": &*engine.id, "name": prepared.name });
        let hash = self.hand_over(&engine, prepared, input.options).await?;
        self.audit_torrent(caller, "torrents.add", &hash, metadata).await;
        Ok(hash)
    }

    async fn prepare(&self, source: AddSource) -> Result<Prepared, TorrentsError> {
        let file = match source {
            AddSource::Magnet(link) => {
                let magnet = Magnet::parse(&link)?;
                return Ok(Prepared {
                    source: Source::Magnet(magnet.uri),
                    hash: magnet.hash,
                    alias: magnet.alias,
                    name: magnet.name,
                });
            }
            AddSource::File(file) => file,
            AddSource::Url(url) => {
                self.net
                    .fetch_guarded(url.trim(), GuardKind::TorrentUrl, MAX_TORRENT_BYTES, FETCH_LIMIT)
                    .await?
            }
        };
        let metainfo = Metainfo::parse(&file)?;
        Ok(Prepared {
            source: Source::Metainfo(file),
            hash: metainfo.hash,
            alias: metainfo.alias,
            name: Some(metainfo.name),
        })
    }

    async fn hand_over(
        &self,
        engine: &Engine,
        torrent: Prepared,
        options: AddOptions,
    ) -> Result<String, TorrentsError> {
        let is_magnet = matches!(torrent.source, Source::Magnet(_));
        let request = AddRequest {
            hash: torrent.hash.clone(),
            source: torrent.source,
            options,
        };
        let hashes: Vec<&str> = [Some(torrent.hash.as_str()), torrent.alias.as_deref()]
            .into_iter()
            .flatten()
            .collect();
        let outcome = match engine.driver.add(request).await {
            Ok(()) => match self.confirm(engine, &hashes).await {
                Some(hash) => Ok(hash),
                // A magnet without peers may take its time; the sync loop finds it when it comes.
                None if is_magnet => Ok(torrent.hash.clone()),
                None => Err(EngineError::Timeout(
                    "it accepted the torrent but does not list it".into(),
                )),
            },
            // What it has already it may refuse; then there is nothing left to do.
            Err(EngineError::Rejected(reason)) => listed_as(engine, &hashes)
                .await
                .ok_or(EngineError::Rejected(reason)),
            Err(error) => Err(error),
        };
        let outcome = outcome.map_err(|error| {
            if !is_magnet {
                self.tell_failure(engine, &torrent.hash, torrent.name.as_deref(), &error);
            }
            TorrentsError::of(&engine.name())(error)
        });
        show(engine, outcome.is_ok()).await;
        outcome
    }

    /// Waits until the client lists one of the hashes; errors on the way are passed over.
    async fn confirm(&self, engine: &Engine, hashes: &[&str]) -> Option<String> {
        for attempt in 0..CONFIRM_TRIES {
            if attempt > 0 {
                tokio::time::sleep(CONFIRM_EVERY).await;
            }
            if let Some(hash) = listed_as(engine, hashes).await {
                return Some(hash);
            }
        }
        None
    }

    fn tell_failure(&self, engine: &Engine, hash: &str, name: Option<&str>, error: &EngineError) {
        let error = describe(&engine.name(), error);
        let at = self.ctx.now();
        let message = DownloadFailed {
            engine_id: &engine.id,
            hash: Some(hash),
            name,
            error: &error,
            at,
        };
        publish::download_failed(&self.hub, &message);
    }
}

/// Under which of the hashes the client lists the torrent now.
async fn listed_as(engine: &Engine, hashes: &[&str]) -> Option<String> {
    for hash in hashes {
        if let Ok(Some(torrent)) = engine.driver.get(hash).await {
            return Some(torrent.hash.to_string());
        }
    }
    None
}
