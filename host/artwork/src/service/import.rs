//! Import of pictures from a provider: its best poster and background, of an episode its still, of a season its poster.
//!
//! The provider's plugin names addresses; they are fetched here, from the provider's own host of pictures alone, without its
//! key, by the rules for addresses of strangers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use qm_jobs::{Done, JobError, NewJob, Progress, Source as JobSource, Visibility};
use qm_kernel::Caller;
use qm_lanes::LaneError;
use qm_ports::metadata::{Alone, ImageDetails, ImageKind, ImagesOf, TitleKind};
use qm_ports::subjects::SubjectItem;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::given::{Given, read_whole};
use super::{ArtworkArea, is_of_show};
use crate::error::ArtworkError;
use crate::lanes::PICTURES;
use crate::model::{ArtKind, Artwork, Owner, Source};
use crate::ops::render;
use crate::repo;

/// Type of the job of an import.
pub const JOB: &str = "media.artwork_fetch";
/// The provider whose ids shows have.
pub const PROVIDER: &str = "provider_a";
/// Beginning of the addresses of its pictures.
const PICTURES_AT: &str = "https://image.tmdb.org/";

/// Outcome of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    pub kinds: Vec<ArtKind>,
    /// Pictures that were not taken: the type, and the reason.
    pub failed: Vec<(ArtKind, String)>,
}

/// Title at the provider, and the pictures that are wanted of it.
struct Wanted<'a> {
    title: (TitleKind, &'a str),
    parts: Vec<(ImagesOf, Vec<(ImageKind, ArtKind)>)>,
    season: Option<i64>,
    /// Number of wanted pictures that were taken, or will not be.
    settled: Arc<AtomicU64>,
}

impl ArtworkArea {
    /// Imports pictures of an item; none without a provider or the item's id there.
    pub async fn import_for_item(
        &self,
        caller: Caller<'_>,
        id: &str,
    ) -> Result<Option<Imported>, ArtworkError> {
        self.check(caller).await?;
        let item = self.find_item(id).await?;
        let own = item.ids.iter().find(|(provider, _)| provider == PROVIDER);
        let Some((_, title)) = own else {
            return Ok(None);
        };
        let wanted = Wanted {
            title: (kind_of(&item), title),
            parts: parts_of(&item),
            season: None,
            settled: Arc::default(),
        };
        let new = NewJob {
            media_item_id: Some(item.id.clone()),
            input_summary: Some(json!({ "itemId": item.id })),
            created_by: Some(caller.user_id().to_owned()),
            source: if caller.is_absent() {
                JobSource::Automation
            } else {
                JobSource::Manual
            },
            visibility: Visibility::Module,
            ..NewJob::new(JOB, Value::Null)
        };
        let hosted = self.jobs.begin_awaited(new).await?;
        let cancelled = hosted.cancellation();
        let owner = Owner::Item(item.id.clone());
        let total: usize = wanted.parts.iter().map(|(_, kinds)| kinds.len()).sum();
        let counted = wanted.settled.clone();
        hosted.follow_progress(move || Progress {
            unit: Some("pictures"),
            phase: Some("artwork".to_owned()),
            ..Progress::from_counts(counted.load(Ordering::Relaxed), total as u64)
        });
        let outcome = self.import(caller, &owner, &wanted, &cancelled).await;
        let (warning, result) = match &outcome {
            Ok(imported) => {
                let names = imported
                    .iter()
                    .flat_map(|imported| &imported.kinds)
                    .map(|kind| kind.as_str());
                let names: Vec<&str> = names.collect();
                let failed = imported.iter().flat_map(|imported| &imported.failed);
                let warning = failed.map(|(kind, why)| format!("{}: {why}", kind.as_str()));
                let warning = warning.collect::<Vec<_>>().join("; ");
                let done = Done::result(json!({ "itemId": item.id, "imported": names }));
                (Some(warning).filter(|warning| !warning.is_empty()), Ok(done))
            }
            Err(error) => (
                None,
                Err(JobError::new(error.code(), error.to_string()).permanent()),
            ),
        };
        hosted.end(warning, result);
        outcome
    }

    /// Imports pictures of a show, or of a season; none without a provider or the show's id there.
    pub async fn import_for_show(
        &self,
        caller: Caller<'_>,
        id: &str,
        season: Option<i64>,
    ) -> Result<Option<Imported>, ArtworkError> {
        self.check(caller).await?;
        let show = self.find_show(id).await?;
        let Some(title) = show.provider_a_id.as_deref() else {
            return Ok(None);
        };
        let part = match season {
            None => (ImagesOf::Title, whole()),
            Some(season) => {
                let number = u32::try_from(season).map_err(|_| ArtworkError::BadSeason)?;
                (
                    ImagesOf::Season(number),
                    vec![(ImageKind::Poster, ArtKind::SeasonPoster)],
                )
            }
        };
        let wanted = Wanted {
            title: (TitleKind::Show, title),
            parts: vec![part],
            season,
            settled: Arc::default(),
        };
        let owner = Owner::Show(show.id.clone());
        self.import(caller, &owner, &wanted, &CancellationToken::new())
            .await
    }

    async fn import(
        &self,
        caller: Caller<'_>,
        owner: &Owner,
        wanted: &Wanted<'_>,
        cancelled: &CancellationToken,
    ) -> Result<Option<Imported>, ArtworkError> {
        let mut imported = Imported::default();
        for (part, kinds) in &wanted.parts {
            let asking = self.providers.images(PROVIDER, wanted.title, *part);
            let told = cancelled.run_until_cancelled(asking).await;
            let images = match told.ok_or(ArtworkError::Cancelled)?? {
                Alone::Nobody => return Ok(None),
                Alone::Unknown | Alone::Unsure(_) => {
                    wanted.settled.fetch_add(kinds.len() as u64, Ordering::Relaxed);
                    continue;
                }
                Alone::Silent(silent) => return Err(ArtworkError::Silent(silent.provider, silent.reason)),
                Alone::Told(images) => images,
            };
            for (image, kind) in kinds {
                let Some(best) = images.iter().find(|found| found.kind == *image) else {
                    wanted.settled.fetch_add(1, Ordering::Relaxed);
                    continue;
                };
                let taking = self.take(caller, owner, (*kind, wanted.season), best);
                let taken = cancelled.run_until_cancelled(taking).await;
                match taken.ok_or(ArtworkError::Cancelled)? {
                    Ok(true) => imported.kinds.push(*kind),
                    Ok(false) => {}
                    Err(Untaken::Picture(why)) => imported.failed.push((*kind, why)),
                    Err(Untaken::Import(error)) => return Err(*error),
                }
                wanted.settled.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(Some(imported))
    }

    /// Fetches and stores a picture; false if the owner has it already.
    async fn take(
        &self,
        caller: Caller<'_>,
        owner: &Owner,
        (kind, season): (ArtKind, Option<i64>),
        image: &ImageDetails,
    ) -> Result<bool, Untaken> {
        let url = &image.picture.url;
        if !url.starts_with(PICTURES_AT) {
            return Err(Untaken::Picture(
                "its address is not at the provider's host of pictures".into(),
            ));
        }
        let mut tx = self.ground.db.begin_read().await?;
        let rows = repo::of_owner(&mut tx, owner.id()).await?;
        drop(tx);
        let is_same =
            |row: &&Artwork| row.url.as_deref() == Some(url) && (row.kind, row.season) == (kind, season);
        if rows.iter().any(|row| is_same(&row)) {
            return Ok(false);
        }
        let room = self.in_hand.acquire().await;
        let _room = room.map_err(|_| ArtworkError::Lane(LaneError::Stopped))?;
        let fetched = self.fetch.fetch(url).await;
        let bytes = fetched.map_err(|error| Untaken::Picture(error.about(url)))?;
        let reading = PICTURES.run(move |_| {
            let picture = read_whole(&bytes)?;
            drop(bytes);
            render::check(&picture).map(|()| picture)
        });
        let picture = reading.await.map_err(ArtworkError::from)?;
        let picture = picture.map_err(|refused| Untaken::Picture(refused.to_string()))?;
        let given = Given {
            kind,
            season,
            source: Source::ProviderA,
            url: Some(url.clone()),
            picture,
            is_selected: false,
        };
        let art = self.write_file(owner, given).await?;
        let mut metadata = json!({ "type": kind.as_str(), "provider": PROVIDER });
        if let Some(season) = season {
            metadata["seasonNumber"] = season.into();
        }
        let stored = self.store_given(caller, &art, "media.artwork.import", metadata);
        Ok(stored.await?)
    }
}

/// Reason why a picture was not taken.
enum Untaken {
    /// It is about this picture; others may be fine.
    Picture(String),
    Import(Box<ArtworkError>),
}

impl<E: Into<ArtworkError>> From<E> for Untaken {
    fn from(error: E) -> Self {
        Self::Import(Box::new(error.into()))
    }
}

fn whole() -> Vec<(ImageKind, ArtKind)> {
    vec![
        (ImageKind::Poster, ArtKind::Poster),
        (ImageKind::Backdrop, ArtKind::Fanart),
    ]
}

fn kind_of(item: &SubjectItem) -> TitleKind {
    if is_of_show(item) {
        TitleKind::Show
    } else {
        TitleKind::Movie
    }
}

/// Pictures that are wanted of an item.
fn parts_of(item: &SubjectItem) -> Vec<(ImagesOf, Vec<(ImageKind, ArtKind)>)> {
    let mut parts = vec![(ImagesOf::Title, whole())];
    let number = |number: Option<i64>| number.and_then(|number| u32::try_from(number).ok());
    if is_of_show(item)
        && let (Some(season), Some(episode)) = (number(item.season), number(item.episode))
    {
        let still = vec![(ImageKind::Still, ArtKind::Thumbnail)];
        parts.push((ImagesOf::Episode(season, episode), still));
    }
    parts
}
