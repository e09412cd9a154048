//! What people own, for other areas: a few statements a call, however much is asked.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use async_trait::async_trait;
use qm_db::DbError;
use qm_lanes::LaneError;
use qm_media::lanes::COMPUTE;
use qm_media::model::item::title_key;
use qm_media::repo;
use qm_media_names::place;
use qm_ports::library::{Library as Owning, LibraryUnread, MOST_ASKED, Owned, Part, Wanted, Work};
use qm_release::{ContentType, parse};

use super::Library;
use super::views::paths;
use crate::repo::owned;
use crate::repo::owned::Found;

#[async_trait]
impl Owning for Library {
    async fn owned(&self, asked: &[Wanted]) -> Result<Vec<Vec<Owned>>, LibraryUnread> {
        if asked.len() > MOST_ASKED {
            return Err(LibraryUnread::TooMany(asked.len()));
        }
        let found = self.found(asked).await;
        found.map_err(|error| LibraryUnread::Storage(error.to_string()))
    }

    async fn owned_releases(&self, names: &[String]) -> Result<Vec<Option<Vec<Owned>>>, LibraryUnread> {
        if names.len() > MOST_ASKED {
            return Err(LibraryUnread::TooMany(names.len()));
        }
        let names = names.to_vec();
        let reading = COMPUTE.run(move |_| {
            let wanted = names.iter().map(|name| wanted(name));
            wanted.collect::<Vec<Option<Wanted>>>()
        });
        let storage = |error: LaneError| LibraryUnread::Storage(error.to_string());
        let wanted = reading.await.map_err(storage)?;
        let asked: Vec<Wanted> = wanted.iter().flatten().cloned().collect();
        let mut found = self.owned(&asked).await?.into_iter();
        let answers = wanted.into_iter().map(|wanted| wanted.and_then(|_| found.next()));
        Ok(answers.collect())
    }
}

impl Library {
    async fn found(&self, asked: &[Wanted]) -> Result<Vec<Vec<Owned>>, DbError> {
        let (mut keys, mut titles, mut series) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let mut external = BTreeSet::new();
        for wanted in asked {
            match &wanted.work {
                Work::Title { title, .. } => {
                    keys.insert(key(title));
                    titles.insert(text(title));
                }
                Work::Series(id) => {
                    series.insert(text(id));
                }
                Work::External { provider, id } => {
                    external.insert((text(provider), text(id)));
                }
            }
        }
        let all = |texts: BTreeSet<String>| texts.into_iter().collect::<Vec<String>>();
        let mut tx = self.db.begin_read().await?;
        let by_key = grouped(owned::by_keys(&mut tx, &all(keys)).await?);
        let by_title = grouped(owned::by_titles(&mut tx, &all(titles)).await?);
        let by_series = grouped(owned::of_series(&mut tx, &all(series)).await?);
        let external: Vec<(String, String)> = external.into_iter().collect();
        let by_external = grouped(owned::by_external(&mut tx, &external).await?);
        let paths = paths(repo::libraries::all(&mut tx).await?);
        drop(tx);
        let answers = asked.iter().map(|wanted| {
            let none = Vec::new();
            let some =
                |found: &HashMap<String, Vec<Found>>, key: &str| found.get(key).unwrap_or(&none).clone();
            let (mut found, year) = match &wanted.work {
                Work::Title { title, year } => {
                    let mut found = some(&by_key, &key(title));
                    found.append(&mut some(&by_title, &text(title)));
                    (found, *year)
                }
                Work::Series(id) => (some(&by_series, &text(id)), None),
                Work::External { provider, id } => {
                    let key = format!("{} {}", text(provider), text(id));
                    (some(&by_external, &key), None)
                }
            };
            found.retain(|found| is_of(found, year) && holds(found, wanted.part));
            found.sort_by(|a, b| order(a).cmp(&order(b)));
            let owned = found.into_iter().map(|found| {
                let library = paths.get(&found.library_id).map_or("", String::as_str);
                owned(library, found)
            });
            owned.collect()
        });
        Ok(answers.collect())
    }
}

/// What a release holds, as files are known by it.
fn wanted(name: &str) -> Option<Wanted> {
    let release = parse(name);
    let title = release
        .named()
        .map(Cow::into_owned)
        .filter(|title| !title.trim().is_empty())?;
    let number = |number: Option<u32>| number.map(i64::from);
    let part = match release.content_type {
        ContentType::TvEpisode => Part::Episode {
            season: number(release.season)?,
            episode: number(release.episode)?,
        },
        ContentType::AnimeEpisode => Part::Absolute(number(release.absolute_episode)?),
        ContentType::Movie => Part::Film,
        ContentType::Daily | ContentType::Unknown => return None,
    };
    let year = release.year.map(i64::from);
    if part == Part::Film && year.is_none() {
        return None;
    }
    Some(Wanted {
        work: Work::Title { title, year },
        part,
    })
}

/// No text of a database has a NUL.
fn text(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

fn key(title: &str) -> String {
    title_key(&text(title), None)
}

fn grouped(found: Vec<Found>) -> HashMap<String, Vec<Found>> {
    let mut groups: HashMap<String, Vec<Found>> = HashMap::new();
    for one in found {
        groups.entry(one.asked.clone()).or_default().push(one);
    }
    groups
}

/// By season and episode, films by their years.
fn order(found: &Found) -> (Option<i64>, Option<i64>, Option<i64>, &str) {
    (found.season, found.episode, found.year, &found.id)
}

fn is_film(found: &Found) -> bool {
    found.season.is_none() && found.episode.is_none()
}

/// Whether it is of the film, or of the series, of a year.
fn is_of(found: &Found, year: Option<i64>) -> bool {
    match (year, found.year) {
        (None, _) => true,
        (Some(_), None) => !is_film(found),
        (Some(year), Some(of)) if is_film(found) => year == of,
        (Some(year), Some(of)) => (year - of).abs() <= 1,
    }
}

fn holds(found: &Found, part: Part) -> bool {
    let is_episode = |episode: i64| {
        let last = found.episode_end.or(found.episode);
        found.episode.is_some_and(|first| first <= episode) && last.is_some_and(|last| episode <= last)
    };
    match part {
        Part::Whole => true,
        Part::Film => is_film(found),
        Part::Season(season) => found.season == Some(season),
        Part::Episode { season, episode } => found.season == Some(season) && is_episode(episode),
        Part::Absolute(episode) => found.season.is_none_or(|season| season == 1) && is_episode(episode),
    }
}

pub(super) fn owned(library: &str, found: Found) -> Owned {
    Owned {
        path: place::absolute(library, &found.place),
        item_id: found.id,
        library_id: found.library_id,
        media_type: found.media_type,
        title: found.title,
        year: found.year,
        season: found.season,
        episode: found.episode,
        episode_end: found.episode_end,
        is_known: found.match_status != "unmatched",
        size: found.size,
        quality: found.quality,
        resolution: found.resolution,
        video_codec: found.video_codec,
        audio_codec: found.audio_codec,
        hdr: found.hdr,
        release_group: found.release_group,
        is_measured: found.tech_source.as_deref() == Some("probe"),
    }
}

#[cfg(test)]
mod tests {
    use qm_db::{Db, db_test, sql};
    use qm_media::model::item::{Edit, Filter};
    use qm_media::model::library::Kind;

    use super::*;
    use crate::testing::House;

    sql! {
        SAY_SERIES = "UPDATE media_items SET series_titledb_id = $1 WHERE season = 2";
        SAY_EXTERNAL = "INSERT INTO media_external_ids (id, item_id, provider, external_id, is_derived) \
            SELECT 'x', id, 'provider_a', '603', FALSE FROM media_items WHERE year = 1999";
    }

    fn titled(title: &str, year: Option<i64>, part: Part) -> Wanted {
        let title = title.to_owned();
        Wanted {
            work: Work::Title { title, year },
            part,
        }
    }

    fn name(owned: &Owned) -> &str {
        owned.path.rsplit('/').next().unwrap_or_default()
    }

    /// The names of the files that are owned of each.
    fn names(answers: &[Vec<Owned>]) -> Vec<Vec<&str>> {
        answers
            .iter()
            .map(|owned| owned.iter().map(name).collect())
            .collect()
    }

    db_test! {
        async fn what_is_owned_is_found_by_title_series_and_release(db: Db) {
            let house = House::new(&db);
            house.starts_jobs().await;
            for file in [
                "tv/The Wire (2002)/Season 1/The.Wire.S01E01-E02.1080p.WEB-DL.x264-GRP.mkv",
                "tv/The Wire (2002)/Season 2/The.Wire.S02E01.720p.mkv", "tv/The Wire (2002)/Season 2/The.Wire.S02E02.mkv",
                "films/Tide (2003)/Tide.2003.2160p.mkv", "films/Tide (1999)/Tide.1999.mkv",
            ] {
                house.file(file, 7);
            }
            for (folder, kind) in [("tv", Kind::Tv), ("films", Kind::Movie)] {
                let (library, first) = house.library(folder, kind).await;
                house.ended(&first).await;
                house.scans(&library).await;
            }
            let mut tx = db.begin_write().await.unwrap();
            let _ = qm_db::exec!(&mut tx, SAY_SERIES, "tt1").await.unwrap();
            let _ = qm_db::exec!(&mut tx, SAY_EXTERNAL).await.unwrap();
            tx.commit().await.unwrap();
            let (first, second, third) =
                ("The.Wire.S01E01-E02.1080p.WEB-DL.x264-GRP.mkv", "The.Wire.S02E01.720p.mkv", "The.Wire.S02E02.mkv");
            let episode = |season, episode| Part::Episode { season, episode };
            let external = |provider: &str, id: &str| {
                let work = Work::External { provider: provider.to_owned(), id: id.to_owned() };
                Wanted { work, part: Part::Whole }
            };
            let series = |id: &str, part| Wanted { work: Work::Series(id.to_owned()), part };
            let asked = [
                titled("the wire", None, Part::Whole),
                titled("The Wire", Some(2003), episode(1, 2)),
                titled("The Wire", Some(2009), episode(1, 2)),
                titled("The Wire", None, episode(1, 3)),
                titled("The Wire", None, Part::Season(2)),
                titled("The Wire", None, Part::Absolute(1)),
                titled("Tide", Some(2003), Part::Film),
                titled("Tide", Some(2004), Part::Film),
                titled("Tide", None, Part::Film),
                series("tt1", Part::Whole),
                series("tt1", episode(2, 2)),
                series("tt2", Part::Whole),
                titled("no\0thing", None, Part::Whole),
                external("provider_a", "603"), external("provider_b", "603"),
            ];
            let answers = house.app.owned(&asked).await.unwrap();
            assert_eq!(names(&answers), [
                vec![first, second, third], vec![first], vec![], vec![], vec![second, third], vec![first],
                vec!["Tide.2003.2160p.mkv"], vec![], vec!["Tide.1999.mkv", "Tide.2003.2160p.mkv"], vec![second, third],
                vec![third], vec![], vec![], vec!["Tide.1999.mkv"], vec![],
            ]);
            let best = &answers[0][0];
            assert_eq!(
                (best.quality.as_deref(), best.resolution.as_deref(), best.release_group.as_deref(), best.size, best.is_known),
                (Some("WEB-DL 1080p"), Some("1080p"), Some("GRP"), 7, true),
            );
            let releases = [
                "The.Wire.S01E02.2160p.WEB-DL.x265-OTHER", "The.Wire.S04E01.720p", "Tide.2003.1080p.BluRay.x264-X",
                "Tide.2005.1080p.BluRay.x264-X", "The.Wire.2002.03.04.720p", "notes",
            ].map(str::to_owned);
            let answers = house.app.owned_releases(&releases).await.unwrap();
            let sizes: Vec<Option<usize>> = answers.iter().map(|owned| owned.as_ref().map(Vec::len)).collect();
            assert_eq!(sizes, [Some(1), Some(0), Some(1), Some(0), None, None]);
            assert_eq!(answers[0].as_ref().unwrap()[0].resolution.as_deref(), Some("1080p"), "worse than the release");
            // Listed by another name it is still called the same.
            let filter = Filter { search: Some("tide".to_owned()), ..Filter::default() };
            let page = qm_kernel::PageQuery { page: 1, page_size: 9 };
            let (items, _) = house.app.items(&filter, page).await.unwrap();
            for (item, ..) in items {
                let edit = Edit { sort_title: Some(Some("Zz".to_owned())), ..Edit::default() };
                house.app.edit_item(house.caller(), &item.id, edit).await.unwrap();
            }
            let asked = [titled("Tide", Some(1999), Part::Film), titled("Zz", None, Part::Whole)];
            assert_eq!(names(&house.app.owned(&asked).await.unwrap()), [vec!["Tide.1999.mkv"], vec![]]);
            let many = vec![titled("x", None, Part::Whole); MOST_ASKED + 1];
            assert_eq!(house.app.owned(&many).await, Err(LibraryUnread::TooMany(MOST_ASKED + 1)));
            house.stops().await;
        }
    }
}
