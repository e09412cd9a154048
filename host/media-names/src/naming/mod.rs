//! Identity of a file, by its name and those of the folders above it.
//!
//! People name files as media servers advise, and releases as release groups do. A folder of a season gives the season, that
//! of a show the show, that of a film the film if the file's own name gives less. The kind of the library decides between
//! readings.

pub mod episode;
pub mod extra;
pub mod film;
pub mod member;
pub mod part;
pub mod season;
pub mod tag;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use qm_release::{ContentType, Release, parse};
use qm_titles::{folded, normalise};
use unicode_normalization::UnicodeNormalization as _;

use self::episode::Numbers;
use self::season::Form;
use crate::name::Identity;
use crate::{Kind, show};

/// Folders above a file, as they were read.
#[derive(Clone, Debug, Default)]
struct Seat<'a> {
    /// The folder of the show.
    show: Option<&'a str>,
    season: Option<i64>,
    /// Title of the show, by the name of a season's folder.
    title: Option<String>,
    /// The nearest folder that is named like a release.
    release: Option<&'a str>,
    /// True if the file is in a folder of extras of a show.
    is_extra: bool,
    /// True if there is a folder between the show and the file.
    is_below: bool,
}

/// Position of the show's folder among those of a path.
pub fn show_at(folders: &[&str]) -> Option<usize> {
    seated(folders).0
}

fn seated<'a>(folders: &[&'a str]) -> (Option<usize>, Seat<'a>) {
    let mut seat = Seat::default();
    for (at, folder) in folders.iter().copied().enumerate().rev() {
        let is_top = at == 0;
        if !is_top && seat.season.is_none() && extra::of_folder(folder).is_some() {
            seat.is_extra |= season::season(folder).is_some();
            seat.is_below = true;
            continue;
        }
        if !is_top && is_piece(folder) && seat.season.is_none() && season::season(folder).is_none() {
            seat.is_below = true;
            continue;
        }
        if let Some(found) = season::season(folder) {
            let is_other = seat.season.is_some_and(|known| known != found.number);
            let is_show = match found.form {
                Form::Word => is_other || (is_top && seat.season.is_some()),
                Form::Loose | Form::Bare => is_other || is_top,
                Form::Titled => false,
            };
            if is_show {
                seat.show = Some(folder);
                return (Some(at), seat);
            }
            if found.form == Form::Titled {
                seat.release = seat.release.or(Some(folder));
                seat.title = seat.title.take().or(found.title);
            }
            seat.season = seat.season.or(Some(found.number));
            seat.is_below = true;
            continue;
        }
        if is_release_folder(folder) && (!is_top || seat.release.is_none()) {
            seat.release = seat.release.or(Some(folder));
            seat.is_below = true;
            if is_top {
                return (Some(at), seat);
            }
            continue;
        }
        seat.show = Some(folder);
        return (Some(at), seat);
    }
    (None, seat)
}

/// True for the folder of a release. `Dtt (2012)` is a title with its year, also where the title reads as a mark.
fn is_release_folder(folder: &str) -> bool {
    let release = parse(&tag::split(folder).0);
    let is_title = release.named().is_none() && show::named(folder).1.is_some();
    is_release(&release) && !is_title
}

/// True if the name of a folder is that of a release.
pub fn is_release(release: &Release) -> bool {
    count_marks(release) > 0 || release.season.is_some()
}

/// Number of marks of a release in a name: resolution, source, codec, group.
pub fn count_marks(release: &Release) -> usize {
    let marks = [
        release.resolution.is_some(),
        release.source.is_some(),
        release.codec.is_some(),
        release.release_group.is_some(),
    ];
    marks.into_iter().filter(|mark| *mark).count()
}

/// True for a folder that holds a part of a film: a disc, or a folder of a disc's structure.
pub fn is_piece(folder: &str) -> bool {
    const WORDS: [&str; 9] = ["disc", "disk", "dvd", "cd", "part", "pt", "vol", "volume", "side"];
    const OF_DISC: [&str; 4] = ["bdmv", "stream", "video_ts", "hvdvd_ts"];
    let name = folder.trim().to_lowercase();
    OF_DISC.contains(&&*name)
        || WORDS.iter().any(|word| {
            let number = name
                .strip_prefix(word)
                .map(|rest| rest.trim_start_matches([' ', '.', '_', '-']));
            number.is_some_and(|number| {
                !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())
            })
        })
}

/// The name of a file without its ending.
pub fn stem(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && (2..=4).contains(&ending.len()) => stem,
        _ => name,
    }
}

/// Type of an extra, for a file that is neither a film nor an episode. A numbered episode is always an episode, wherever it
/// is. In a library of kind `general` only the file's own name counts.
pub fn extra(shown: &str, kind: Kind) -> Option<&'static str> {
    let mut folders: Vec<&str> = shown.split('/').collect();
    let name = stem(folders.pop().unwrap_or_default());
    let is_episode = episode::explicit(name).is_some();
    let is_titled = folders
        .last()
        .is_some_and(|folder| folded(&film::named(folder).title.unwrap_or_default()) == folded(name));
    let by_name = extra::of_stem(name, is_episode).filter(|_| !is_titled);
    if by_name.is_some() || !matches!(kind, Kind::Movie | Kind::Tv | Kind::Anime) {
        return by_name.filter(|found| kind != Kind::General || matches!(*found, "sample" | "trailer"));
    }
    let found = of_folders(name, &folders, kind);
    let is_numbered = is_episode && kind != Kind::Movie;
    found.filter(|found| !is_numbered || *found == "sample")
}

/// Type of an extra, from the folders above it. A folder named after a season or a film ends the search.
fn of_folders(name: &str, folders: &[&str], kind: Kind) -> Option<&'static str> {
    let is_named = |name: &str| {
        let found = film::named(name);
        found.year.is_some() || !found.ids.is_empty() || is_release(&found.release)
    };
    for at in (1..folders.len()).rev() {
        if let Some(found) = extra::of_folder(folders[at]) {
            // A shelf of shorts is none of a film's.
            let is_shelf = kind == Kind::Movie && is_named(name) && !is_named(folders[at - 1]);
            return (!is_shelf || matches!(found, "sample" | "trailer")).then_some(found);
        }
        if is_named(folders[at]) || season::season(folders[at]).is_some_and(|season| season.number > 0) {
            break;
        }
    }
    None
}

/// True if the films in one folder are versions or parts of one film.
pub fn is_one_film<'a>(names: impl IntoIterator<Item = &'a str>) -> bool {
    let mut known: Option<String> = None;
    names.into_iter().all(|name| {
        let name = film::key(stem(name.rsplit('/').next().unwrap_or(name)));
        *known.get_or_insert_with(|| name.clone()) == name
    })
}

/// Text in composed form (Unicode NFC): a disk may keep letters and their marks apart.
pub fn composed(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.nfc().collect())
}

/// Reads a path below a library's directory, as people are shown it. `is_alone`: the folder holds one film at most.
pub fn identify(shown: &str, kind: Kind, is_alone: bool) -> Identity {
    let shown = &*composed(shown);
    let mut folders: Vec<&str> = shown.split('/').collect();
    let name = stem(folders.pop().unwrap_or_default());
    match kind {
        Kind::Movie => of_film(name, &folders, kind, is_alone),
        Kind::Tv | Kind::Anime => of_episode(name, &folders, kind.media_type()),
        Kind::Music | Kind::Audiobook | Kind::General => {
            let (clean, _) = tag::split(name);
            let own = parse(&clean);
            let is_season =
                |folder: &&str| season::season(folder).is_some_and(|found| found.form == Form::Word);
            let is_film = || film::named(name).year.is_some();
            match own.content_type {
                ContentType::TvEpisode | ContentType::Daily => of_episode(name, &folders, Some("tv")),
                _ if folders.iter().any(is_season) => of_episode(name, &folders, Some("tv")),
                ContentType::AnimeEpisode if !is_film() => of_episode(name, &folders, Some("anime")),
                _ => of_film(name, &folders, kind, is_alone),
            }
        }
    }
}

fn of_film(name: &str, folders: &[&str], kind: Kind, is_alone: bool) -> Identity {
    let is_within = |folder: &str| is_piece(folder) || extra::of_folder(folder).is_some();
    let own = folders
        .iter()
        .enumerate()
        .rev()
        .find(|(at, folder)| *at == 0 || !is_within(folder));
    let folder = own.map(|(_, folder)| *folder).filter(|folder| !is_piece(folder));
    let is_alone = is_alone || own.is_some_and(|(at, _)| at + 1 < folders.len());
    // A part is called like the whole.
    let whole = part::split(name).filter(|part| !part.is_loose && !part.base.is_empty());
    let found = film::read(whole.as_ref().map_or(name, |part| &part.base), folder, is_alone);
    let media_type = kind.media_type().or(found.year.map(|_| "movie"));
    Identity {
        media_type,
        confidence: confidence(found.title.as_deref(), found.year.is_some(), &found.release),
        title: found.title,
        year: found.year,
        season: None,
        episode: None,
        episode_end: None,
        ids: found.ids,
    }
}

fn of_episode(name: &str, folders: &[&str], media_type: Option<&'static str>) -> Identity {
    let (_, seat) = seated(folders);
    let (clean, own_ids) = tag::split(name);
    let (_, ids) = seat.show.map(tag::split).unwrap_or_default();
    let release = parse(&clean);
    let show = seat.show.map(show_named);
    let show_title = show.as_ref().map(|(title, _)| title.as_str());
    let (mut numbers, is_explicit) = numbers(&clean, &release, &seat, show_title);
    let mut title = release
        .named()
        .map(Cow::into_owned)
        .filter(|title| !title.trim().is_empty());
    let mut year = release.year.map(i64::from);
    let mut marks = release.clone();
    let has_number = numbers.episode.is_some() || seat.season.is_some() || release.air_date.is_some();
    let mut names_show =
        !has_number || ((is_explicit || release.air_date.is_some()) && is_foreign(&release, &seat));
    if !is_explicit
        && release.air_date.is_none()
        && let Some(above) = seat
            .release
            .map(parse)
            .filter(|above| above.season.is_some() && above.episode.is_some())
    {
        numbers = of_release(&above);
        title = above.named().map(Cow::into_owned);
        year = above.year.map(i64::from);
        names_show = true;
        marks = above;
    }
    if let Some((folder, of_folder)) = show {
        if seat.is_below || !names_show || title.as_deref().is_none_or(|own| is_of(&folder, own)) {
            year = of_folder.or(year.filter(|year| !folder.contains(&year.to_string())));
            title = Some(folder);
        }
    } else if title.is_none() || !names_show {
        title = seat
            .title
            .clone()
            .or_else(|| {
                seat.release
                    .and_then(|folder| parse(folder).named().map(Cow::into_owned))
            })
            .or(title);
    }
    // A season that is counted by years is none of the show's.
    let year =
        year.filter(|year| numbers.season != Some(*year) && title.as_deref() != Some(&*year.to_string()));
    let is_known = numbers.episode.is_some() || release.air_date.is_some() || year.is_some();
    Identity {
        media_type,
        confidence: confidence(title.as_deref(), is_known, &marks),
        title,
        year,
        season: numbers.season.or(seat.is_extra.then_some(0)).or(seat.season),
        episode: numbers.episode,
        episode_end: numbers.end,
        // An id in the name of an episode's file is that of the episode, or of nobody knows what.
        ids: if seat.show.is_some() { ids } else { own_ids },
    }
}

/// True if a file in a show's folder may belong to another show: its name is that of a release, or the folder is a general
/// place such as `downloads`.
fn is_foreign(release: &Release, seat: &Seat<'_>) -> bool {
    const PLACES: &[&str] = &[
        "download",
        "downloads",
        "complete",
        "completed",
        "incoming",
        "torrents",
        "new",
        "unsorted",
        "misc",
        "tv",
        "tv shows",
        "shows",
        "series",
        "anime",
        "videos",
        "video",
        "media",
        "kids",
        "temp",
        "inbox",
        "watched",
        "unwatched",
        "other",
        "others",
    ];
    let is_place = seat
        .show
        .is_some_and(|folder| PLACES.contains(&&*normalise(folder)));
    is_place || count_marks(release) > 0
}

/// True for the title of the show in this folder, or a part of it.
fn is_of(folder: &str, own: &str) -> bool {
    let (folder, own) = (folded(folder), folded(own));
    let begins = |long: &str, short: &str| {
        long.strip_prefix(short)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    folder == own || begins(&folder, &own)
}

fn of_release(release: &Release) -> Numbers {
    Numbers {
        season: release.season.map(i64::from),
        episode: release.episode.or(release.absolute_episode).map(i64::from),
        end: release.episode_end.map(i64::from),
    }
}

/// Numbers of a file, and true if its own name has season and episode.
fn numbers(clean: &str, release: &Release, seat: &Seat<'_>, show: Option<&str>) -> (Numbers, bool) {
    let is_row = seat.season.is_some() && episode::is_row(clean);
    let read = of_release(release);
    if let Some(found) = episode::explicit(clean) {
        let end = found.end.max(read.end.filter(|_| read.episode == found.episode));
        return (Numbers { end, ..found }, true);
    }
    if release.season.is_some() && release.episode.is_some() && !is_row {
        return (read, true);
    }
    if release.air_date.is_some() {
        return (read, false);
    }
    let is_anime = clean.starts_with('[') && release.absolute_episode.is_some();
    if is_anime && seat.season.is_none() {
        return (read, false);
    }
    let found = (show.is_some() || seat.season.is_some())
        .then(|| episode::of_file(clean, seat.season, show))
        .flatten();
    (
        found.unwrap_or(Numbers {
            season: if is_row { None } else { read.season },
            ..read
        }),
        false,
    )
}

/// Title and year of the folder of a show.
fn show_named(folder: &str) -> (String, Option<i64>) {
    let (title, year) = show::named(folder);
    if year.is_some() {
        return (title, year);
    }
    let (clean, _) = tag::split(folder);
    let release = parse(&clean);
    let is_misread = release.season.is_some()
        || release.absolute_episode.is_some()
        || release.part.is_some()
        || release.episode.is_some();
    let plain = if clean.contains(' ') {
        clean.clone()
    } else {
        clean.replace(['.', '_'], " ")
    };
    if is_misread {
        return (plain.trim().to_owned(), None);
    }
    let named = release
        .named()
        .map(Cow::into_owned)
        .filter(|title| !title.trim().is_empty());
    (
        named.unwrap_or_else(|| plain.trim().to_owned()),
        release.year.map(i64::from),
    )
}

/// Confidence in an identification, in hundredths.
fn confidence(title: Option<&str>, has_number: bool, release: &Release) -> i64 {
    let has_title = title.is_some_and(|title| !title.trim().is_empty());
    let marks = count_marks(release) as i64;
    (i64::from(has_title) * 40 + i64::from(has_number) * 40 + marks * 5).min(100)
}
