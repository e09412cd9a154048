//! Owned films and series, for other areas: a few statements a call, whatever the number of questions.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use async_trait::async_trait;
use qm_db::{DbError, Tx};
use qm_lanes::LaneError;
use qm_media::lanes::COMPUTE;
use qm_media::model::item::title_key;
use qm_media::model::library::{MediaLibrary, paths};
use qm_media::repo;
use qm_media_names::place;
use qm_ports::library::{Library as Owning, LibraryUnread, MOST_ASKED, Owned, Part, Wanted, Work};
use qm_release::{ContentType, parse};

use super::Catalogue;
use crate::repo::owned;
use crate::repo::owned::Found;

#[async_trait]
impl Owning for Catalogue {
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

impl Catalogue {
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

/// Contents of a release in the terms by which files are known; `None` if its name has no title.
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

/// Text as a database stores it, without NUL.
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

/// Sort key: season and episode; for films the year.
fn order(found: &Found) -> (Option<i64>, Option<i64>, Option<i64>, &str) {
    (found.season, found.episode, found.year, &found.id)
}

fn is_film(found: &Found) -> bool {
    found.season.is_none() && found.episode.is_none()
}

/// True if a file matches the year of a film, or that of a series within one year.
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

/// Files of items with these ids, in the order of the ids.
pub async fn owned_by_ids(
    tx: &mut Tx,
    libraries: &[MediaLibrary],
    ids: &[String],
) -> Result<Vec<Owned>, DbError> {
    let mut found = owned::by_ids(tx, ids).await?;
    found.sort_by(|a, b| a.id.cmp(&b.id));
    let shown = found.into_iter().map(|found| {
        let library = libraries.iter().find(|library| library.id == found.library_id);
        owned(library.map_or("", |library| library.path.as_str()), found)
    });
    Ok(shown.collect())
}

fn owned(library: &str, found: Found) -> Owned {
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
