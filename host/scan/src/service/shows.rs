//! Shows, derived from the folders of episodes.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use qm_media::LibraryError;

use qm_db::{DbError, Tx};
use qm_media::model::library::{Kind, MediaLibrary};
use qm_media::model::show::Show;
use qm_media::repo;
use qm_media_names::naming::tag::split;
use qm_media_names::place;
use qm_media_names::show::{canonical_key, named};

use super::Scanner;
use crate::ops::walk::{Entries, SeenDirectory};

/// Most shows or items that are written in one transaction.
const AT_ONCE: usize = 256;

/// Folders right in a library's directory, as a scan has seen them.
pub(super) struct Folders<'a> {
    there: HashSet<&'a str>,
    /// Ids of series by the folders that were read; `None`: the folder names none.
    nfo: HashMap<&'a str, Option<&'a str>>,
}

impl<'a> Folders<'a> {
    /// `None` if there is no folder, as where a disk is gone. Folders that `is_kept` names were not fully seen.
    pub fn from_seen(seen: &'a [SeenDirectory], is_kept: impl Fn(&str) -> bool) -> Option<Self> {
        let (mut there, mut nfo) = (HashSet::new(), HashMap::new());
        for directory in seen {
            let place = &*directory.place;
            if place.is_empty() || place::parent(place).is_none_or(|above| !above.is_empty()) {
                continue;
            }
            there.insert(place);
            if matches!(directory.entries, Entries::Read(_)) && !is_kept(place) {
                nfo.insert(place, directory.nfo.as_deref());
            }
        }
        (!there.is_empty()).then_some(Self { there, nfo })
    }

    /// True if a folder that named its series exists, and has not stopped to name one.
    fn holds(&self, place: &str) -> bool {
        self.there.contains(place) && !matches!(self.nfo.get(place), Some(None))
    }
}

impl Scanner {
    /// Updates the shows of a library from its folders. Returns the number of shows, and of families with more than one
    /// show. A folder without episodes is a show if it names its series.
    pub(super) async fn refresh_shows(
        &self,
        library: &MediaLibrary,
        folders: Option<&Folders<'_>>,
    ) -> Result<(u64, u64), DbError> {
        let mut tx = self.db.begin_read().await?;
        let stored = repo::shows::of_library(&mut tx, &library.id).await?;
        let counts = count(&mut tx, library, &stored, folders).await?;
        drop(tx);
        let media_type = if library.kind == Kind::Anime {
            "anime"
        } else {
            "tv"
        };
        let now = self.ctx.now();
        let mut before: HashMap<String, Show> = stored
            .into_iter()
            .map(|show| (show.place.clone(), show))
            .collect();
        let mut families: HashMap<String, u64> = HashMap::new();
        let (mut new, mut other) = (Vec::new(), Vec::new());
        for (place, episodes) in &counts {
            let folder = place::shown(place);
            let key = canonical_key(&folder);
            *families.entry(key.clone()).or_default() += 1;
            match before.remove(place) {
                Some(show) if show.episode_count == *episodes && show.media_type == media_type => {}
                Some(show) => other.push(Show {
                    episode_count: *episodes,
                    media_type: media_type.to_owned(),
                    updated_at: now,
                    ..show
                }),
                None => {
                    let (title, year) = named(&folder);
                    let ids = split(&folder).1;
                    new.push(Show {
                        id: self.ctx.id(),
                        library_id: library.id.clone(),
                        place: place.clone(),
                        media_type: media_type.to_owned(),
                        title,
                        year,
                        titledb_id: ids.titledb,
                        provider_a_id: ids.provider_a,
                        provider_b_id: ids.provider_b,
                        nfo_titledb_id: None,
                        canonical_key: key,
                        episode_count: *episodes,
                        created_at: now,
                        updated_at: now,
                    });
                }
            }
        }
        for some in new.chunks(AT_ONCE) {
            let mut tx = self.db.begin_write().await?;
            if repo::libraries::find(&mut tx, &library.id).await?.is_none() {
                return Ok((0, 0));
            }
            for show in some {
                repo::shows::insert(&mut tx, show).await?;
                if let Some(series) = &show.titledb_id {
                    repo::shows::take_series(&mut tx, show, series, now).await?;
                }
            }
            tx.commit().await?;
        }
        for some in other.chunks(AT_ONCE) {
            let mut tx = self.db.begin_write().await?;
            for show in some {
                repo::shows::counted(&mut tx, show).await?;
            }
            tx.commit().await?;
        }
        if let Some(folders) = folders {
            let changed = new.iter().chain(&other).map(|show| show.place.as_str());
            self.follow_nfo(library, folders, &changed.collect()).await?;
        }
        let gone: Vec<&Show> = before.values().collect();
        // A missing disk removes no shows: their items stay, and so they are counted above.
        for some in gone.chunks(AT_ONCE) {
            let mut tx = self.db.begin_write().await?;
            for show in some {
                repo::shows::delete(&mut tx, show).await?;
            }
            tx.commit().await?;
        }
        let duplicate = families.values().filter(|folders| **folders > 1).count();
        Ok((counts.len() as u64, duplicate as u64))
    }

    /// Updates the numbers of episodes of all shows of libraries.
    pub async fn recount(&self, libraries: &BTreeSet<String>) -> Result<(), LibraryError> {
        for id in libraries {
            let found = repo::libraries::find(&mut self.db.begin_read().await?, id).await?;
            if let Some(library) = found.filter(|library| library.kind.has_shows()) {
                self.refresh_shows(&library, None).await?;
            }
        }
        Ok(())
    }

    /// Assigns folders, and everything below them, to the series that they name. `changed`: folders with something new.
    async fn follow_nfo(
        &self,
        library: &MediaLibrary,
        folders: &Folders<'_>,
        changed: &HashSet<&str>,
    ) -> Result<(), DbError> {
        if changed.is_empty() && folders.nfo.values().all(Option::is_none) {
            return Ok(());
        }
        let shows = repo::shows::of_library(&mut self.db.begin_read().await?, &library.id).await?;
        for show in shows {
            let before = show.nfo_titledb_id.as_deref();
            let said = folders.nfo.get(&*show.place).copied().flatten();
            let news = said.filter(|id| before != Some(id));
            let has_more = before.is_some() && changed.contains(&*show.place);
            if news.is_none() && !has_more {
                continue;
            }
            let now = self.ctx.now();
            let mut tx = self.db.begin_write().await?;
            if let Some(id) = news {
                // A known series of the items inside comes first.
                let known = match show.titledb_id {
                    None => repo::titles::series_below(&mut tx, &library.id, &show.place).await?,
                    Some(_) => None,
                };
                let found = known.as_deref().unwrap_or(id);
                repo::shows::put_named_series(&mut tx, &show.id, id, found, now).await?;
            }
            let now_is = repo::shows::find(&mut tx, &show.id).await?;
            if let Some(series) = now_is.as_ref().and_then(|show| show.titledb_id.as_deref()) {
                let was =
                    before.filter(|before| news.is_some() && show.titledb_id.as_deref() == Some(before));
                repo::shows::join_series(&mut tx, &show, series, was, now).await?;
            }
            tx.commit().await?;
        }
        Ok(())
    }
}

/// Folders that are shows, with the number of their episodes.
async fn count(
    tx: &mut Tx,
    library: &MediaLibrary,
    stored: &[Show],
    folders: Option<&Folders<'_>>,
) -> Result<BTreeMap<String, i64>, DbError> {
    let mut counts: BTreeMap<String, i64> = BTreeMap::new();
    if !library.kind.has_shows() {
        return Ok(counts);
    }
    for (place, episodes) in repo::items::episodes(tx, &library.id).await? {
        // Files right in the library's directory have no show.
        if !place.is_empty() {
            *counts.entry(place::top(&place).0).or_default() += episodes;
        }
    }
    let named = stored.iter().filter(|show| {
        let holds = |folders: &Folders<'_>| folders.holds(&show.place);
        show.nfo_titledb_id.is_some() && folders.is_none_or(holds)
    });
    let named = named.map(|show| show.place.clone());
    let new = folders.into_iter().flat_map(|folders| &folders.nfo);
    let new = new.filter(|(_, id)| id.is_some());
    let new = new.map(|(place, _)| (*place).to_owned());
    for place in named.chain(new) {
        counts.entry(place).or_default();
    }
    Ok(counts)
}
