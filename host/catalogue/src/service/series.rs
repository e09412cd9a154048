//! Series for browsing, and shows found by their series.

use std::collections::HashMap;
use std::sync::Arc;

use qm_db::Tx;
use qm_kernel::PageQuery;
use qm_media::LibraryError;
use qm_media::lanes::COMPUTE;
use qm_media::model::item::{Filter, Item, MediaFile};
use qm_media::model::library::MediaLibrary;
use qm_media::model::library::paths;
use qm_media::model::series::{self, Gathered, Key, Series};
use qm_media::model::show::Show;
use qm_media::model::view::{Judged, Listed, Poster, SeriesHealth, ShownSeries};
use qm_media::repo;
use qm_media::repo::series::Lying;
use qm_media::service::find::show_with_directory;
use qm_media_names::place;

use super::Catalogue;
use super::shelf::Of;
use crate::model::score::{Merits, names_episode};
use crate::repo::catalog;

impl Catalogue {
    /// A page of series with their posters, and their total number. The library, type, status, search and order of the filter count.
    pub async fn series(
        &self,
        filter: &Filter,
        page: PageQuery,
    ) -> Result<(Vec<ShownSeries>, u64), LibraryError> {
        let (page, total) = self.series_page(filter, page).await?;
        let posters = self.series_posters(&page).await?;
        Ok((page.into_iter().zip(posters).collect(), total))
    }

    /// A page of series, and their total number.
    async fn series_page(
        &self,
        filter: &Filter,
        page: PageQuery,
    ) -> Result<(Vec<Series>, u64), LibraryError> {
        let mut tx = self.db.begin_read().await?;
        let libraries = repo::libraries::all(&mut tx).await?;
        let stamps = catalog::stamps(&mut tx).await?;
        let of = Of {
            library_id: filter.library_id.clone(),
            media_type: filter.media_type.clone(),
            match_status: filter.match_status.clone(),
            paths: paths(libraries),
        };
        let all = match self.series.cached_series(stamps, &of) {
            Some(all) => all,
            None => {
                let all = Arc::new(gather(&mut tx, filter, of.paths.clone()).await?);
                self.series.put(stamps, of, all.clone());
                all
            }
        };
        drop(tx);
        let (search, sort) = (filter.search.clone(), filter.sort);
        let skipped = usize::try_from(page.offset()).unwrap_or(usize::MAX);
        let size = usize::try_from(page.page_size).unwrap_or(usize::MAX);
        let sorting = COMPUTE.run(move |_| {
            let sorted = series::sorted(&all, search.as_deref(), sort);
            let total = sorted.len() as u64;
            let page = sorted.into_iter().skip(skipped).take(size).cloned();
            (page.collect(), total)
        });
        Ok(sorting.await?)
    }

    /// The episodes of a series, by their seasons and numbers; season 0 comes last.
    pub async fn series_episodes(
        &self,
        key: &str,
        library_id: Option<&str>,
        match_status: Option<&str>,
    ) -> Result<Vec<Listed>, LibraryError> {
        let key = Key::parse(key).ok_or(LibraryError::NoSeriesKey)?;
        let mut tx = self.db.begin_read().await?;
        let mut libraries = repo::libraries::all(&mut tx).await?;
        libraries.retain(|library| library_id.is_none_or(|id| id == library.id));
        let mut found = of_series(&mut tx, &key, &libraries, library_id, match_status).await?;
        repo::external::fill(&mut tx, &mut found).await?;
        repo::metadata::fill(&mut tx, &mut found).await?;
        repo::copies::fill(&mut tx, &mut found).await?;
        drop(tx);
        self.fill_posters(&mut found).await?;
        let paths = paths(libraries);
        let choosing = COMPUTE.run(move |_| {
            let mut folders = Folders::default();
            let mut listed: Vec<Listed> = found
                .into_iter()
                .filter_map(|(item, file)| {
                    let path = paths.get(&item.library_id)?;
                    let is_of = match folders.folder_of(&item.place) {
                        Some(folder) => key.below(path) == Some(folder),
                        None => matches!(&key, Key::Title(title) if *title == item.title),
                    };
                    is_of.then(|| (item, file, path.clone()))
                })
                .collect();
            listed.sort_by(|(a, ..), (b, ..)| order(a).cmp(&order(b)));
            listed
        });
        Ok(choosing.await?)
    }

    /// Posters of the seasons of a series by their numbers, for its listed episodes.
    pub async fn series_season_posters(
        &self,
        key: &str,
        listed: &[Listed],
    ) -> Result<HashMap<i64, Poster>, LibraryError> {
        let key = Key::parse(key).ok_or(LibraryError::NoSeriesKey)?;
        let libraries: HashMap<&str, &str> = listed
            .iter()
            .map(|(item, _, path)| (&*item.library_id, &**path))
            .collect();
        let shows: Vec<(String, String)> = libraries
            .into_iter()
            .filter_map(|(id, path)| Some((id.to_owned(), key.below(path)?.to_owned())))
            .collect();
        self.season_posters(listed, &shows).await
    }

    /// Scores of the episodes of a series.
    pub async fn series_health(
        &self,
        key: &str,
        library_id: Option<&str>,
    ) -> Result<SeriesHealth, LibraryError> {
        let listed = self.series_episodes(key, library_id, None).await?;
        let bytes = listed.iter().map(|(_, file, _)| file.size).sum();
        let episodes = listed.into_iter().map(|(item, file, _)| judged(item, &file));
        Ok(SeriesHealth {
            episodes: episodes.collect(),
            bytes,
        })
    }

    /// A page of shows, each with the directory of its library, and their total number.
    pub async fn shows(
        &self,
        filter: &Filter,
        page: PageQuery,
    ) -> Result<(Vec<(Show, String)>, u64), LibraryError> {
        let mut tx = self.db.begin_read().await?;
        let (shows, total) = repo::show_lists::page(&mut tx, filter, page).await?;
        let paths = paths(repo::libraries::all(&mut tx).await?);
        let listed = shows.into_iter().map(|show| {
            let path = paths.get(&show.library_id).cloned().unwrap_or_default();
            (show, path)
        });
        Ok((listed.collect(), total))
    }

    /// The show of a series, and the directory of its library.
    pub async fn show_of_key(
        &self,
        key: &str,
        library_id: Option<&str>,
    ) -> Result<(Show, String), LibraryError> {
        let key = Key::parse(key).ok_or(LibraryError::NoSuchKey)?;
        let mut tx = self.db.begin_read().await?;
        let libraries = repo::libraries::all(&mut tx).await?;
        let path = |show: &Show| {
            let library = libraries.iter().find(|library| library.id == show.library_id);
            library.map(|library| library.path.clone())
        };
        let show = match &key {
            Key::Title(title) => {
                let shows = repo::shows::of_title(&mut tx, title, library_id).await?;
                shows.into_iter().next()
            }
            Key::Folder(_) => {
                let mut found = None;
                for library in libraries
                    .iter()
                    .filter(|library| library_id.is_none_or(|id| id == library.id))
                {
                    let Some(folder) = key.below(&library.path) else {
                        continue;
                    };
                    let shows = repo::shows::of_library(&mut tx, &library.id).await?;
                    found = shows.into_iter().find(|show| place::shown(&show.place) == folder);
                    if found.is_some() {
                        break;
                    }
                }
                found
            }
        };
        let show = show.ok_or(LibraryError::NoSuchKey)?;
        let path = path(&show).ok_or(LibraryError::NoSuchKey)?;
        Ok((show, path))
    }

    /// A show, and the directory of its library.
    pub async fn show(&self, id: &str) -> Result<(Show, String), LibraryError> {
        show_with_directory(&mut self.db.begin_read().await?, id).await
    }
}

/// All series that match the library, type and status of a filter.
async fn gather(
    tx: &mut Tx,
    filter: &Filter,
    paths: HashMap<String, String>,
) -> Result<Vec<Series>, LibraryError> {
    let lying = repo::series::by_directory(tx, filter).await?;
    let grouping = COMPUTE.run(move |_| group(&lying, &paths));
    let (mut gathered, loose) = grouping.await?;
    for directory in loose {
        for (title, bunch) in repo::series::by_title(tx, filter, &directory).await? {
            gathered.add((Key::Title(title.clone()), title), bunch);
        }
    }
    Ok(gathered.all())
}

/// Items that may belong to a series. There may be too many, where paths are not UTF-8 or titles stand in folders.
async fn of_series(
    tx: &mut Tx,
    key: &Key,
    libraries: &[MediaLibrary],
    library_id: Option<&str>,
    match_status: Option<&str>,
) -> Result<Vec<(Item, MediaFile)>, LibraryError> {
    if let Key::Title(title) = key {
        // No database keeps a NUL, and no title has one.
        if title.contains('\0') {
            return Ok(Vec::new());
        }
        return Ok(repo::series::of_title(tx, title, library_id, match_status).await?);
    }
    let mut found = Vec::new();
    for library in libraries {
        if let Some(folder) = key.below(&library.path).filter(|folder| !folder.contains('\0')) {
            found.extend(repo::series::below(tx, &library.id, folder, match_status).await?);
        }
    }
    Ok(found)
}

/// Groups episodes by their directories into series, and returns the directories whose episodes are grouped by title.
fn group(lying: &[Lying], paths: &HashMap<String, String>) -> (Gathered, Vec<String>) {
    let mut gathered = Gathered::default();
    let mut loose: Vec<String> = Vec::new();
    let mut last: Option<(&str, Option<String>)> = None;
    for one in lying {
        let Some(path) = paths.get(&one.library_id) else {
            continue;
        };
        let known = last.take().filter(|(id, _)| *id == one.directory_id);
        let folder = known.map_or_else(
            || series::folder_above(&place::shown(&one.place)).map(str::to_owned),
            |(_, folder)| folder,
        );
        match &folder {
            Some(folder) => gathered.add(series::of_folder(path, folder), one.bunch.clone()),
            None => loose.push(one.directory_id.clone()),
        }
        last = Some((&one.directory_id, folder));
    }
    loose.sort_unstable();
    loose.dedup();
    (gathered, loose)
}

/// Cache of the folders of shows, by the directories below them.
#[derive(Default)]
struct Folders(HashMap<String, Option<String>>);

impl Folders {
    fn folder_of(&mut self, item: &str) -> Option<&str> {
        let shown = place::shown(item);
        let directory = shown.rsplit_once('/').map_or("", |(directory, _)| directory);
        if !self.0.contains_key(directory) {
            let folder = series::folder_above(directory).map(str::to_owned);
            self.0.insert(directory.to_owned(), folder);
        }
        self.0.get(directory)?.as_deref()
    }
}

/// Sort key: season 0 comes last, and episodes without a number behind those with one.
fn order(item: &Item) -> (i64, i64, &str) {
    let season = item.season.filter(|season| *season != 0).unwrap_or(i64::MAX);
    (season, item.episode.unwrap_or(i64::MAX), &item.place)
}

fn judged(item: Item, file: &MediaFile) -> Judged {
    let shown = place::shown(&item.place);
    let directory = shown.rsplit('/').nth(1).unwrap_or_default();
    let merits = Merits {
        is_matched: item.match_status != "unmatched",
        is_duplicate: item.duplicate_group_id.is_some(),
        is_organised: !names_episode(directory),
        is_probed: file.probed_at.is_some(),
        has_metadata: item.metadata.is_some(),
        has_artwork: item.pictures > 0,
        has_subtitles: item.subtitles > 0,
    };
    let (score, reasons) = merits.judge();
    Judged {
        item_id: item.id,
        season: item.season,
        episode: item.episode,
        score,
        reasons,
    }
}
