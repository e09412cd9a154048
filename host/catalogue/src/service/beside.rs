//! Pictures, subtitles and notes that go with items and shows: asked of the areas that keep them, after the library's own rows
//! were read. Where an area is not there, nothing is known; each answer costs a few statements, whatever the number of items.

use std::collections::HashMap;

use qm_media::LibraryError;
use qm_media::model::item::{Item, MediaFile};
use qm_media::model::library::MediaLibrary;
use qm_media::model::series::{Key, Series};
use qm_media::model::view::{Detail, Listed, Poster};
use qm_media::repo;
use qm_ports::beside::KnownPicture;

use super::Catalogue;
use crate::repo::beside;

/// Type of a picture that stands for an owner.
const POSTER: &str = "poster";
/// Most episodes of a series whose posters are asked for.
const EPISODES: i64 = 8;
/// Type of a picture that stands for a season.
const SEASON_POSTER: &str = "season_poster";

/// A show by the id of its library and its folder.
pub(super) type ShowAt = (String, String);

impl Catalogue {
    /// Adds the posters of items that have pictures.
    pub(super) async fn fill_posters(&self, items: &mut [(Item, MediaFile)]) -> Result<(), LibraryError> {
        let asked: Vec<String> = items
            .iter()
            .filter(|(item, _)| item.pictures > 0)
            .map(|(item, _)| item.id.clone())
            .collect();
        let mut posters = self.posters(&asked).await?;
        for (item, _) in items {
            item.artwork = posters.remove(&item.id).into_iter().collect();
        }
        Ok(())
    }

    /// The poster of each of the items that has one.
    async fn posters(&self, items: &[String]) -> Result<HashMap<String, KnownPicture>, LibraryError> {
        let (false, Some(pictures)) = (items.is_empty(), self.beside.pictures()) else {
            return Ok(HashMap::new());
        };
        let posters = pictures.list_posters(items).await?;
        let of_items = posters
            .into_iter()
            .filter_map(|poster| Some((poster.item_id.clone()?, poster)));
        Ok(of_items.collect())
    }

    /// Adds all that is known beside an item.
    pub(super) async fn fill_detail(&self, detail: &mut Detail) -> Result<(), LibraryError> {
        let item = &mut detail.item;
        if let Some(pictures) = self.beside.pictures() {
            item.artwork = pictures.list_item_pictures(&item.id).await?;
            detail.subtitles = pictures.list_subtitles(&item.id).await?;
        }
        if let Some(notes) = self.beside.notes() {
            detail.notes = notes.list_notes(&item.id).await?;
        }
        Ok(())
    }

    /// All pictures of a show and of its seasons.
    pub async fn show_artwork(&self, show: &str) -> Result<Vec<KnownPicture>, LibraryError> {
        match self.beside.pictures() {
            Some(pictures) => Ok(pictures.list_show_pictures(show).await?),
            None => Ok(Vec::new()),
        }
    }

    /// Posters of a page of series, in its order: that of the show in the folder of the series, else that of an episode; `None`:
    /// there is none.
    pub(super) async fn series_posters(&self, page: &[Series]) -> Result<Vec<Option<Poster>>, LibraryError> {
        let Some(pictures) = self.beside.pictures() else {
            return Ok(page.iter().map(|_| None).collect());
        };
        let mut tx = self.db.begin_read().await?;
        let libraries = repo::libraries::all(&mut tx).await?;
        let at: Vec<Vec<ShowAt>> = page
            .iter()
            .map(|series| {
                let folders = libraries.iter().filter_map(|library| {
                    let folder = series.key.below(&library.path)?;
                    Some((library.id.clone(), folder.to_owned()))
                });
                folders.collect()
            })
            .collect();
        let asked: Vec<ShowAt> = at.iter().flatten().cloned().collect();
        let shows = beside::shows_at(&mut tx, &asked).await?;
        drop(tx);
        let ids: Vec<String> = shows.values().cloned().collect();
        let posters = pictures.list_show_posters(&ids).await?;
        let whole = posters
            .into_iter()
            .filter(|poster| poster.season.is_none() && poster.kind == POSTER);
        let posters: HashMap<String, KnownPicture> = whole
            .filter_map(|poster| Some((poster.show_id.clone()?, poster)))
            .collect();
        let found = at.iter().map(|places| {
            places.iter().find_map(|place| {
                let poster = posters.get(shows.get(place)?)?;
                let library = libraries.iter().find(|library| library.id == place.0)?;
                Some((poster.clone(), library.path.clone()))
            })
        });
        let mut found: Vec<Option<Poster>> = found.collect();
        self.fill_from_episodes(page, &libraries, &mut found).await?;
        Ok(found)
    }

    /// Adds the poster of an episode to series without one.
    async fn fill_from_episodes(
        &self,
        page: &[Series],
        libraries: &[MediaLibrary],
        found: &mut [Option<Poster>],
    ) -> Result<(), LibraryError> {
        let path_of = |id: &str| {
            let library = libraries.iter().find(|library| library.id == id);
            library.map(|library| library.path.clone()).unwrap_or_default()
        };
        let mut asked: Vec<(usize, String, String)> = Vec::new();
        let mut tx = self.db.begin_read().await?;
        for (at, series) in page.iter().enumerate() {
            if found.get(at).is_none_or(Option::is_some) {
                continue;
            }
            let mut episodes = Vec::new();
            match &series.key {
                Key::Title(title) => {
                    episodes = beside::pictured_called(&mut tx, title, EPISODES).await?;
                }
                Key::Folder(_) => {
                    for library in libraries {
                        if let Some(folder) = series.key.below(&library.path) {
                            let more = beside::pictured_below(&mut tx, &library.id, folder, EPISODES);
                            episodes.extend(more.await?);
                        }
                    }
                }
            }
            let episodes = episodes
                .into_iter()
                .map(|(id, library)| (at, id, path_of(&library)));
            asked.extend(episodes);
        }
        drop(tx);
        let ids: Vec<String> = asked.iter().map(|(_, id, _)| id.clone()).collect();
        let mut posters = self.posters(&ids).await?;
        for (at, id, library) in asked {
            if let Some(place) = found.get_mut(at).filter(|place| place.is_none())
                && let Some(poster) = posters.remove(&id)
            {
                *place = Some((poster, library));
            }
        }
        Ok(())
    }

    /// Posters of the seasons of a series by their numbers: that of the season, else that of the show, else that of one of its episodes.
    pub(super) async fn season_posters(
        &self,
        listed: &[Listed],
        shows: &[ShowAt],
    ) -> Result<HashMap<i64, Poster>, LibraryError> {
        let Some(pictures) = self.beside.pictures() else {
            return Ok(HashMap::new());
        };
        let mut tx = self.db.begin_read().await?;
        let known = beside::shows_at(&mut tx, shows).await?;
        let libraries = repo::libraries::all(&mut tx).await?;
        drop(tx);
        let ids: Vec<String> = known.values().cloned().collect();
        let posters = pictures.list_show_posters(&ids).await?;
        let library_of = |poster: &KnownPicture| {
            let at = known.iter().find(|(_, id)| poster.show_id.as_ref() == Some(*id));
            let id = at.map(|((library, _), _)| library);
            let library = libraries.iter().find(|library| Some(&library.id) == id);
            library.map(|library| library.path.clone()).unwrap_or_default()
        };
        let mut found: HashMap<i64, Poster> = HashMap::new();
        for (item, _, library) in listed {
            let season = item.season.unwrap_or(0);
            if found.contains_key(&season) {
                continue;
            }
            let of_season = |poster: &&KnownPicture| {
                poster.season == Some(season) && [SEASON_POSTER, POSTER].contains(&poster.kind)
            };
            let whole = |poster: &&KnownPicture| poster.season.is_none() && poster.kind == POSTER;
            let shown = posters
                .iter()
                .find(of_season)
                .or_else(|| posters.iter().find(whole));
            if let Some(poster) = shown {
                found.insert(season, (poster.clone(), library_of(poster)));
                continue;
            }
            let of_season = listed
                .iter()
                .filter(|(item, ..)| item.season.unwrap_or(0) == season);
            let own = of_season.flat_map(|(item, ..)| &item.artwork).next();
            if let Some(poster) = own {
                found.insert(season, (poster.clone(), library.clone()));
            }
        }
        Ok(found)
    }
}
