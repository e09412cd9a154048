//! Adding a torrent: checks, the guarded fetch of a URL, the hand-over, and waiting until the client lists it.
//!
//! Bounds: two files are read at a time, on threads that may block; one add at a time for a torrent of an engine, so that
//! of several only the first adds it and the others are told that it is there.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use qm_engines::dto::messages::DownloadFailed;
use qm_engines::model::abilities::find_lack;
use qm_engines::model::intake::Intake;
use qm_engines::model::paths::{check_category, check_label};
use qm_engines::model::unshared::check_share_limits;
use qm_engines::repo::intake;
use qm_engines::{Engine, TorrentsError, describe, download_failed};
use qm_metainfo::{Contents, MAX_TORRENT_BYTES, Magnet, Metainfo, MetainfoError, trimmed};
use qm_net::{GuardKind, Linked};
use qm_platform::links;
use qm_ports::engine::{AddOptions, AddRequest, EngineError, Source, capability};
use serde_json::json;

use super::{Caller, Torrents};
use crate::lanes::READS;
use crate::model::answers::{Added, Asked};

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

/// A torrent that is ready to be handed to its engine.
pub(super) struct Ready {
    engine: Arc<Engine>,
    torrent: Prepared,
    asked: Asked,
    options: AddOptions,
}

impl Ready {
    /// Every hash a client may list it under.
    pub(super) fn hashes(&self) -> Vec<String> {
        self.torrent.hashes()
    }
}

/// A source that was understood.
struct Prepared {
    source: Source,
    hash: String,
    /// The other hash a client may list it under.
    alias: Option<String>,
    is_v2_only: bool,
    name: Option<String>,
    /// None: its metadata is not there.
    is_private: Option<bool>,
    /// The files by the bytes of their names, to be stored.
    contents: Option<String>,
}

impl Prepared {
    fn of_magnet(magnet: Magnet) -> Self {
        Self {
            source: Source::Magnet(magnet.uri),
            hash: magnet.hash,
            alias: magnet.alias,
            is_v2_only: magnet.is_v2_only,
            name: magnet.name,
            is_private: None,
            contents: None,
        }
    }

    /// Every hash a client may list it under.
    fn hashes(&self) -> Vec<String> {
        let hash = Some(self.hash.clone());
        [hash, self.alias.clone()].into_iter().flatten().collect()
    }
}

impl Torrents {
    /// Adds a torrent. One the engine has already stays as it is.
    pub async fn add(&self, caller: Caller<'_>, mut input: AddInput) -> Result<Added, TorrentsError> {
        if let AddSource::Url(url) = &mut input.source {
            // A search of indexers hands out links whose keys are sealed.
            let opened = links::opened(&self.cipher, caller.principal, self.ctx.now(), url);
            let opened = opened.map_err(|stale| TorrentsError::Fields(vec![stale.to_string()]))?;
            opened.expose().clone_into(url);
        }
        let (engine, added, name) = self.add_by(input).await?;
        let mut metadata = json!({ "engineId": &*engine.id, "name": name });
        if added.existed {
            metadata["existed"] = true.into();
        }
        self.data
            .audit_torrent(caller, "torrents.add", &added.hash, metadata)
            .await;
        Ok(added)
    }

    /// Adds a torrent, whoever asks; also returns the engine that has it, and its name as far as it is known.
    async fn add_by(&self, input: AddInput) -> Result<(Arc<Engine>, Added, Option<String>), TorrentsError> {
        let ready = self.make_ready(input).await?;
        self.add_ready(ready).await
    }

    /// Judges what is asked for, and fetches and reads its source.
    pub(super) async fn make_ready(&self, mut input: AddInput) -> Result<Ready, TorrentsError> {
        let options = &mut input.options;
        let mut path_of_category = None;
        if let Some(path) = &options.save_path {
            options.save_path = Some(self.data.places().judge(path, "save path").await?);
        }
        if let Some(path) = &options.download_path {
            options.download_path = Some(self.data.places().judge(path, "download path").await?);
        }
        if let Some(category) = &options.category {
            check_category(category)?;
            if options.save_path.is_none() {
                path_of_category = self.data.path_of(category).await?;
            }
        }
        for tag in &options.tags {
            check_label(tag, "tag")?;
        }
        let engine = self.resolve(input.engine_id.as_deref())?;
        check_options(&engine, &input.options)?;
        let prepared = self.prepare(input.source).await?;
        if prepared.is_v2_only && !engine.driver.has(capability::V2) {
            return Err(TorrentsError::blame_engine(&engine.name())(no_v2()));
        }
        Ok(Ready {
            engine,
            torrent: prepared,
            asked: asked(&input.options, path_of_category.clone()),
            options: AddOptions {
                save_path: input.options.save_path.or(path_of_category),
                ..input.options
            },
        })
    }

    /// Hands a torrent to its engine, one add at a time for each.
    pub(super) async fn add_ready(
        &self,
        ready: Ready,
    ) -> Result<(Arc<Engine>, Added, Option<String>), TorrentsError> {
        let Ready {
            engine,
            torrent: prepared,
            asked,
            options,
        } = ready;
        let turn = |hash: String| format!("{} {hash}", engine.id);
        let _turn = self
            .adding
            .take(prepared.hashes().into_iter().map(turn).collect())
            .await;
        let name = prepared.name.clone();
        let (hash, existed) = self.hand_over(&engine, prepared, options).await?;
        let added = Added { hash, existed, asked };
        Ok((engine, added, name))
    }

    async fn prepare(&self, source: AddSource) -> Result<Prepared, TorrentsError> {
        let is_linked = matches!(source, AddSource::Url(_));
        let file = match source {
            AddSource::Magnet(link) => {
                return Ok(Prepared::of_magnet(Magnet::parse(&link)?));
            }
            AddSource::File(file) => file,
            AddSource::Url(url) => {
                let linked = self
                    .net
                    .fetch_linked(url.trim(), GuardKind::TorrentUrl, MAX_TORRENT_BYTES, FETCH_LIMIT)
                    .await?;
                match linked {
                    Linked::Body(file) => file,
                    // The links of aggregators lead to one; nothing was dialled for it.
                    Linked::Magnet(link) => return Ok(Prepared::of_magnet(Magnet::parse(&link)?)),
                }
            }
        };
        let read = self.read_file(file.clone()).await;
        let (metainfo, contents, file) = read.map_err(|error| match error {
            TorrentsError::Metainfo(MetainfoError::NotBencode) if is_linked => {
                MetainfoError::Instead(qm_feeds::instead_of_torrent(&file)).into()
            }
            other => other,
        })?;
        Ok(Prepared {
            source: Source::Metainfo(file),
            hash: metainfo.hash,
            alias: metainfo.alias,
            is_v2_only: metainfo.v1.is_none(),
            name: Some(metainfo.name),
            is_private: Some(metainfo.is_private),
            contents,
        })
    }

    /// Reads a file where that holds up nothing else; also returns it without what stands behind its end.
    async fn read_file(&self, file: Bytes) -> Result<(Metainfo, Option<String>, Bytes), TorrentsError> {
        let read = move |_| {
            let metainfo = Metainfo::parse(&file)?;
            let contents = Contents::read(&file).map(|contents| contents.stored());
            let end = trimmed(&file).len();
            Ok::<_, MetainfoError>((metainfo, contents, file.slice(..end)))
        };
        Ok(READS.run(read).await??)
    }

    async fn hand_over(
        &self,
        engine: &Arc<Engine>,
        torrent: Prepared,
        mut options: AddOptions,
    ) -> Result<(String, bool), TorrentsError> {
        let hashes = torrent.hashes();
        let (hash, name) = (torrent.hash, torrent.name);
        let is_magnet = matches!(torrent.source, Source::Magnet(_));
        let outcome = match listed_as(engine, &hashes).await {
            Ok(Some(hash)) => {
                self.note_private(engine, &hash, torrent.is_private).await?;
                // Another program may have added it a moment ago.
                self.loaded(engine).note_added(std::slice::from_ref(&hash));
                Ok((hash, true))
            }
            Ok(None) => {
                // Fetching and waiting took a while, in which a link may have been put there.
                if let Some(path) = &options.save_path {
                    options.save_path = Some(self.data.places().judge(path, "save path").await?);
                }
                if let Some(path) = &options.download_path {
                    options.download_path = Some(self.data.places().judge(path, "download path").await?);
                }
                self.remember(
                    engine,
                    &hashes,
                    &mut options,
                    torrent.is_private,
                    torrent.contents.as_deref(),
                )
                .await?;
                let request = AddRequest {
                    hash: hash.clone(),
                    source: torrent.source,
                    options,
                };
                engine.note_added(&hashes);
                let outcome = self.add_new(engine, request, &hashes).await;
                // Once more, for this may have taken long; also after an error, for the client may have taken it all the same.
                self.loaded(engine).note_added(&hashes);
                outcome
            }
            Err(error) => Err(error),
        };
        let outcome = outcome.map_err(|error| {
            if !is_magnet {
                self.tell_failure(engine, &hash, name.as_deref(), &error);
            }
            TorrentsError::blame_engine(&engine.name())(error)
        });
        self.loaded(engine).show_change(outcome.is_ok()).await;
        outcome
    }

    /// The engine as it is loaded now: it may have been reloaded while its client took a torrent, and only the new one is read on.
    fn loaded(&self, engine: &Arc<Engine>) -> Arc<Engine> {
        self.engines.get(&engine.id).unwrap_or_else(|| engine.clone())
    }

    /// Stores the facts that the client may not tell before the client gets the torrent, so that nothing is lost
    /// whatever happens. The sync loop forgets records that turn out to belong to no torrent.
    async fn remember(
        &self,
        engine: &Engine,
        hashes: &[String],
        options: &mut AddOptions,
        is_private: Option<bool>,
        contents: Option<&str>,
    ) -> Result<(), TorrentsError> {
        let tags = if engine.driver.has(capability::TAGS) {
            Vec::new()
        } else {
            std::mem::take(&mut options.tags)
        };
        let now = self.ctx.now();
        let auto_managed = if engine.driver.has(capability::AUTO_MANAGE) {
            None
        } else {
            options.auto_manage.take()
        };
        let intake = Intake {
            noted_at: now,
            added_at: Some(now),
            tags,
            is_private,
            auto_managed,
        };
        let mut tx = self.db.begin_write().await?;
        for hash in hashes {
            intake::put_new(&mut tx, &engine.id, hash, &intake).await?;
            if let Some(contents) = contents {
                intake::describe(&mut tx, &engine.id, hash, contents).await?;
            }
        }
        tx.commit().await?;
        for hash in hashes {
            engine.intakes.put_new(hash.clone(), intake.clone());
        }
        Ok(())
    }

    /// Stores, for a torrent that its client has already, whether its metadata says that it is private.
    async fn note_private(
        &self,
        engine: &Engine,
        hash: &str,
        is_private: Option<bool>,
    ) -> Result<(), TorrentsError> {
        let before = engine.intakes.get(hash);
        let known = before.as_ref().and_then(|intake| intake.is_private);
        if is_private.is_none() || known == is_private {
            return Ok(());
        }
        let intake = match before {
            Some(before) => Intake { is_private, ..before },
            None => Intake {
                noted_at: self.ctx.now(),
                added_at: None,
                tags: Vec::new(),
                is_private,
                auto_managed: None,
            },
        };
        let mut tx = self.db.begin_write().await?;
        intake::put(&mut tx, &engine.id, hash, &intake).await?;
        tx.commit().await?;
        engine.intakes.put(hash.to_owned(), intake);
        Ok(())
    }

    /// The hash that the client lists it under, or will, and whether it had it already.
    async fn add_new(
        &self,
        engine: &Engine,
        request: AddRequest,
        hashes: &[String],
    ) -> Result<(String, bool), EngineError> {
        let new = |hash: String| (hash, false);
        let hash = request.hash.clone();
        let is_magnet = matches!(request.source, Source::Magnet(_));
        match engine.driver.add(request).await {
            Ok(()) => match self.confirm(engine, hashes).await {
                Some(hash) => Ok(new(hash)),
                // A magnet without peers may take its time; the sync loop finds it when it comes.
                None if is_magnet => Ok(new(hash)),
                None => Err(EngineError::Rejected(
                    "it took the torrent and never listed it, as clients do that find something wrong with a file".into(),
                )),
            },
            // What came to it by another way meanwhile it may refuse; then there is nothing left to do.
            Err(EngineError::Rejected(reason)) => match listed_as(engine, hashes).await {
                Ok(Some(hash)) => Ok((hash, true)),
                Ok(None) | Err(_) => Err(EngineError::Rejected(reason)),
            },
            Err(error) => Err(error),
        }
    }

    /// Waits until the client lists one of the hashes; errors on the way are passed over.
    async fn confirm(&self, engine: &Engine, hashes: &[String]) -> Option<String> {
        for attempt in 0..CONFIRM_TRIES {
            if attempt > 0 {
                tokio::time::sleep(CONFIRM_EVERY).await;
            }
            if let Ok(Some(hash)) = listed_as(engine, hashes).await {
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
        download_failed(&self.hub, &message);
    }
}

/// Refuses options that the engine would drop without a word, or that no engine may be given.
fn check_options(engine: &Engine, options: &AddOptions) -> Result<(), TorrentsError> {
    if let Some(ability) = find_lack(options, |word| engine.driver.has(word)) {
        return Err(engine.lacks(ability));
    }
    if let Some(limits) = &options.share_limits {
        check_share_limits(limits).map_err(TorrentsError::blame_engine(&engine.name()))?;
    }
    Ok(())
}

/// Wishes that came with a torrent; blank texts are none.
fn asked(options: &AddOptions, path_of_category: Option<String>) -> Asked {
    Asked {
        category: options.category.clone().filter(|category| !category.is_empty()),
        tags: options.tags.clone(),
        save_path: options.save_path.clone(),
        path_of_category,
    }
}

/// The hash, among these, under which the client lists the torrent now.
async fn listed_as(engine: &Engine, hashes: &[String]) -> Result<Option<String>, EngineError> {
    for hash in hashes {
        if let Some(torrent) = engine.driver.get(hash).await? {
            return Ok(Some(torrent.hash.to_string()));
        }
    }
    Ok(None)
}

fn no_v2() -> EngineError {
    EngineError::Unsupported(
        "This engine takes no torrents that are v2 only, and this one has no v1 info-hash".into(),
    )
}
