//! Torrents that other areas add by themselves: [`TorrentIntake`] and [`SeedIntake`], built on the functions that the routes
//! call, without a caller and without audit rows.

use async_trait::async_trait;
use qm_engines::TorrentsError;
use qm_engines::model::paths::{check_category, check_label};
use qm_kernel::ErrorKind;
use qm_metainfo::magnet::is_magnet;
use qm_net::GuardError;
use qm_ports::Removal;
use qm_ports::action::TorrentRef;
use qm_ports::engine::{AddOptions, EngineError, capability};
use qm_ports::intake::{HashJudge, IntakeError, NewTorrent, TakenTorrent, TorrentIntake};
use qm_ports::seed::{SeedEngine, SeedIntake, SeedTorrent, SeedWish};

use super::Torrents;
use super::add::{AddInput, AddSource};

#[async_trait]
impl SeedIntake for Torrents {
    fn check_wish(&self, wish: &SeedWish) -> Result<Option<SeedEngine>, IntakeError> {
        if let Some(category) = &wish.category {
            check_category(category).map_err(|error| shape_error(error.into()))?;
        }
        for tag in &wish.tags {
            check_label(tag, "tag").map_err(|error| shape_error(error.into()))?;
        }
        match self.resolve(Some(&wish.engine_id)) {
            Ok(engine) => Ok(Some(SeedEngine {
                name: engine.name().to_string(),
                knows_v2: engine.driver.has(capability::V2),
            })),
            Err(TorrentsError::NoSuchEngine | TorrentsError::EngineUnavailable(_)) => Ok(None),
            Err(error) => Err(shape_error(error)),
        }
    }

    async fn check_directory(&self, path: &str) -> Result<String, IntakeError> {
        let judged = self.data.places().judge(path, "save path").await;
        judged.map_err(|error| shape_error(error.into()))
    }

    async fn seed_torrent(&self, torrent: SeedTorrent) -> Result<TakenTorrent, IntakeError> {
        let SeedTorrent {
            file,
            save_path,
            wish,
        } = torrent;
        let input = AddInput {
            source: AddSource::File(file),
            engine_id: Some(wish.engine_id),
            options: AddOptions {
                save_path: Some(save_path),
                category: wish.category,
                tags: wish.tags,
                start_paused: wish.start_paused,
                ..AddOptions::default()
            },
        };
        let ready = self.make_ready(input).await.map_err(shape_error)?;
        let (_, added, _) = self.add_ready(ready).await.map_err(shape_error)?;
        Ok(TakenTorrent {
            hash: added.hash,
            existed: added.existed,
        })
    }
}

#[async_trait]
impl TorrentIntake for Torrents {
    fn engine(&self, named: Option<&str>) -> Option<String> {
        let engine = self.resolve(named).or_else(|_| self.resolve(None));
        engine.ok().map(|engine| engine.id.to_string())
    }

    async fn check_save_path(&self, path: &str) -> Result<String, String> {
        let judged = self.data.places().judge(path, "save path").await;
        judged.map_err(|error| error.to_string())
    }

    async fn take_in(
        &self,
        torrent: NewTorrent,
        judge: Option<&dyn HashJudge>,
    ) -> Result<TakenTorrent, IntakeError> {
        let source = if is_magnet(torrent.source.trim_start()) {
            AddSource::Magnet(torrent.source)
        } else {
            AddSource::Url(torrent.source)
        };
        let link = match &source {
            AddSource::Url(link) => Some(link.clone()),
            AddSource::Magnet(_) | AddSource::File(_) => None,
        };
        let input = AddInput {
            source,
            engine_id: torrent.engine_id,
            options: AddOptions {
                save_path: torrent.save_path,
                ..AddOptions::default()
            },
        };
        let ready = self
            .make_ready(input)
            .await
            .map_err(|error| match (error, link) {
                (TorrentsError::Fetch(error), Some(link)) => told_of_link(&error, &link),
                (error, _) => shape_error(error),
            })?;
        if let Some(judge) = judge {
            let hashes = ready.hashes();
            if !judge.is_wanted(&hashes).await? {
                let hash = hashes.into_iter().next().unwrap_or_default();
                return Err(IntakeError::Unwanted { hash });
            }
        }
        let (_, added, _) = self.add_ready(ready).await.map_err(shape_error)?;
        Ok(TakenTorrent {
            hash: added.hash,
            existed: added.existed,
        })
    }

    fn engines_with(&self, hash: &str) -> Vec<String> {
        let hash = hash.to_ascii_lowercase();
        let engines = self.engines.all().into_iter();
        engines
            .filter(|engine| engine.snapshot().is_some_and(|list| list.get(&hash).is_some()))
            .map(|engine| engine.id.to_string())
            .collect()
    }

    async fn remove(&self, engine_id: &str, hash: &str) -> Result<(), IntakeError> {
        // The same torrent on other engines goes too.
        let along: Vec<TorrentRef> = self
            .engines_with(hash)
            .into_iter()
            .map(|engine_id| TorrentRef {
                engine_id,
                hash: hash.to_ascii_lowercase(),
            })
            .collect();
        let removal = Removal {
            with_data: true,
            keep_shared: false,
            along: &along,
        };
        match self.remove_by(None, Some(engine_id), hash, removal).await {
            Err(TorrentsError::NoSuchTorrent) => Ok(()),
            Err(TorrentsError::Engine {
                source: EngineError::NotFound(_),
                ..
            }) => Ok(()),
            other => other.map_err(shape_error),
        }
    }
}

/// The sentence that the route would answer, by what is to be done about it.
fn shape_error(error: TorrentsError) -> IntakeError {
    let text = error.to_string();
    match error {
        // A disk that does not answer now may do later.
        TorrentsError::Path(error) if error.kind() == ErrorKind::Unavailable => IntakeError::Engine(text),
        TorrentsError::NoEngine
        | TorrentsError::EngineUnavailable(_)
        | TorrentsError::Settling(_)
        | TorrentsError::NoSuchEngine
        | TorrentsError::Moving
        | TorrentsError::Lane(_)
        | TorrentsError::DataBusy
        | TorrentsError::NotNoted
        | TorrentsError::Database(_) => IntakeError::Engine(text),
        TorrentsError::Engine { source, .. } => match source {
            EngineError::NotFound(_)
            | EngineError::Unsupported(_)
            | EngineError::Rejected(_)
            | EngineError::InvalidConfig(_) => IntakeError::Refused(text),
            EngineError::Timeout(_)
            | EngineError::Protocol(_)
            | EngineError::Unreachable(_)
            | EngineError::Auth(_)
            | EngineError::Busy
            | EngineError::Plugin(_) => IntakeError::Engine(text),
        },
        _ => IntakeError::Refused(text),
    }
}

/// Why the link of a release brought nothing. Who reads it may not have given the link: the host to list is named.
fn told_of_link(error: &GuardError, link: &str) -> IntakeError {
    let text = error.about(link);
    match error {
        GuardError::Unresolved(_) | GuardError::Fetch { .. } => IntakeError::Source(text),
        GuardError::Status { status, .. } if *status >= 500 || *status == 429 => IntakeError::Source(text),
        GuardError::Invalid(_)
        | GuardError::Scheme(_)
        | GuardError::Blocked(_)
        | GuardError::Never(_)
        | GuardError::Redirect(_)
        | GuardError::Status { .. }
        | GuardError::TooLarge(_) => IntakeError::Refused(text),
    }
}
