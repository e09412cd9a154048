//! Files of one film or one episode: their common key, and the label of each.
//!
//! Two files are versions, or parts, of one film if title and year are the same in one folder of a film, and of one episode
//! if the numbers are the same in one directory. An unknown word behind the title makes a version only if the name marks it:
//! after a hyphen or in brackets, in a folder that is named like the film.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use qm_release::{Release, parse};
use qm_titles::{folded, normalise};

use super::{episode, film, is_one_film, is_piece, is_release, part, season, stem, tag};
use crate::Kind;

/// Most files of one directory whose names are compared; a directory with more holds many films.
const MOST: usize = 64;
/// Most characters of a label.
const MAX_LABEL: usize = 200;

/// A file among those of its film or episode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Member {
    /// Key that is equal for all files of one film or episode of a library; `None`: no other file belongs to it.
    pub key: Option<String>,
    /// Label of this version.
    pub label: Option<String>,
    pub part: Option<i64>,
}

/// Facts about the neighbours of a file that help to identify it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Beside {
    /// True if the directory holds one film at most.
    pub is_alone: bool,
    /// True if a file is named like the directory, without another word.
    pub has_plain: bool,
    /// Names with several parts, counted by a word that also ends titles: a single one is a film of that title.
    parted: Arc<HashSet<String>>,
}

impl Beside {
    /// Reads the names of the files of a directory, which must hold no extra.
    pub fn read_names<'a>(folder: &str, names: impl Iterator<Item = &'a str> + Clone) -> Self {
        let beside = Self {
            parted: Arc::new(parted(names.clone())),
            ..Self::default()
        };
        if names.clone().take(MOST + 1).count() > MOST {
            return beside;
        }
        let own = folder.rsplit('/').next().unwrap_or_default();
        let has_plain = !own.is_empty()
            && names
                .clone()
                .any(|name| rest_behind(stem(name), own).is_some_and(|rest| rest.trim().is_empty()));
        let is_version = |name: &str| {
            let base = beside.part(stem(name)).map(|part| part.base);
            let base = base.unwrap_or_else(|| stem(name).to_owned());
            rest_behind(&base, own).is_some_and(|rest| is_label(&rest, has_plain))
        };
        let is_alone = is_one_film(names.clone()) || (!own.is_empty() && names.clone().all(is_version));
        Self {
            is_alone,
            has_plain,
            ..beside
        }
    }

    /// Part in a name, if it is one.
    fn part(&self, name: &str) -> Option<part::Part> {
        part::split(name).filter(|part| !part.is_loose || self.parted.contains(&folded(&part.base)))
    }

    /// True for a name whose part is proven by its neighbours.
    pub fn is_counted(&self, name: &str) -> bool {
        !self.parted.is_empty() && part::split(stem(name)).is_some_and(|part| part.is_loose)
    }
}

/// Names that have a first part and others, and that no file has alone.
fn parted<'a>(names: impl Iterator<Item = &'a str>) -> HashSet<String> {
    let mut numbers: HashMap<String, HashSet<i64>> = HashMap::new();
    let mut whole: Vec<&str> = Vec::new();
    for name in names.map(stem) {
        match part::split(name) {
            Some(part) if part.is_loose => {
                numbers.entry(folded(&part.base)).or_default().insert(part.number);
            }
            Some(_) => {}
            None => whole.push(name),
        }
    }
    numbers.retain(|_, numbers| numbers.len() > 1 && numbers.contains(&1));
    if !numbers.is_empty() {
        for name in whole {
            numbers.remove(&folded(name));
        }
    }
    numbers.into_keys().collect()
}

/// Reads the path of a file below a library's directory, as people are shown it.
pub fn member(shown: &str, kind: Kind, beside: &Beside) -> Member {
    let shown = &*super::composed(shown);
    let mut folders: Vec<&str> = shown.split('/').collect();
    let name = stem(folders.pop().unwrap_or_default());
    match kind {
        Kind::Movie => of_film(name, &folders, beside),
        Kind::Tv | Kind::Anime => of_episode(name, &folders),
        Kind::General => match super::identify(shown, kind, beside.is_alone).media_type {
            Some("tv" | "anime") => of_episode(name, &folders),
            Some("movie") => of_film(name, &folders, beside),
            _ => Member::default(),
        },
        Kind::Music | Kind::Audiobook => Member::default(),
    }
}

/// Place of the folder that belongs to the film of a file, as it is shown; empty: the library's own directory.
pub fn film_folder(shown: &str) -> String {
    let mut folders: Vec<&str> = shown.split('/').collect();
    folders.pop();
    let (at, _) = owner(&folders);
    folders[..at].join("/")
}

/// Number of folders down to the one that all files of a film share, and the part that one of the folders names.
fn owner(folders: &[&str]) -> (usize, Option<i64>) {
    let mut at = folders.len();
    let mut number = None;
    while at > 1 && is_piece(folders[at - 1]) {
        number = number.or(part::split(folders[at - 1]).map(|part| part.number));
        at -= 1;
    }
    if at == 0 {
        return (0, number);
    }
    let folder = folders[at - 1];
    if let Some(found) = part::split(folder).filter(|part| !part.is_loose && !part.base.is_empty()) {
        return (at - 1, number.or(Some(found.number)));
    }
    if at > 1 {
        let (own, above) = (film::named(folder), film::named(folders[at - 2]));
        let title = |named: &film::Named| named.title.as_deref().map(folded);
        let is_year = own.year.is_none() || above.year.is_none() || own.year == above.year;
        let names_film = above.year.is_some() || !above.ids.is_empty();
        if is_release(&own.release) && names_film && is_year && title(&own) == title(&above) {
            return (at - 1, number);
        }
    }
    (at, number)
}

fn of_film(name: &str, folders: &[&str], beside: &Beside) -> Member {
    let (above, by_folder) = owner(folders);
    let own_part = beside.part(name);
    let number = own_part.as_ref().map(|part| part.number).or(by_folder);
    let base = own_part.map_or_else(|| name.to_owned(), |part| part.base);
    let (clean, _) = tag::split(&base);
    let within = folders.iter().rev().find(|folder| !is_piece(folder)).copied();
    let within_base = within.map(|folder| {
        part::split(folder)
            .filter(|part| !part.is_loose)
            .map_or_else(|| folder.to_owned(), |part| part.base)
    });
    let within = within_base.as_deref().filter(|folder| !folder.is_empty());
    let found = if base.is_empty() {
        within.map(film::named).unwrap_or_default()
    } else {
        film::read(&base, within, beside.is_alone || above < folders.len())
    };
    let Some(title) = found.title.as_deref().filter(|title| !title.trim().is_empty()) else {
        return Member::default();
    };
    let release = parse(&clean);
    let own_folder = within.and_then(|folder| rest_behind(&clean, folder));
    let (title, rest) = match own_folder.filter(|rest| is_label(rest, beside.has_plain)) {
        // It is called like its folder: what follows is how this version is called.
        Some(rest) => (
            within
                .map(film::named)
                .and_then(|named| named.title)
                .unwrap_or_else(|| title.to_owned()),
            rest,
        ),
        None => (
            title.to_owned(),
            rest_behind(&clean, title)
                .map(|rest| behind_year(&rest))
                .unwrap_or_default(),
        ),
    };
    let year = found.year.map(|year| year.to_string()).unwrap_or_default();
    let other = if is_label(&rest, true) || is_known(&rest) {
        String::new()
    } else {
        folded(&rest)
    };
    Member {
        key: Some(key(&[
            &folders[..above].join("/"),
            &folded(&title),
            &year,
            &other,
        ])),
        label: label(&rest, &release),
        part: number,
    }
}

fn of_episode(name: &str, folders: &[&str]) -> Member {
    let (clean, _) = tag::split(name);
    let is_explicit = episode::explicit(&clean).is_some();
    let own_part = part::split(&clean).filter(|part| is_explicit && episode::explicit(&part.base).is_some());
    let number = own_part.as_ref().map(|part| part.number);
    let base = own_part.map_or(clean, |part| part.base);
    let release = parse(&base);
    let path = [folders, &[&*base]].concat().join("/");
    let found = super::identify(&path, Kind::Tv, false);
    let date = release.air_date.clone().unwrap_or_default();
    if found.episode.is_none() && date.is_empty() {
        return Member::default();
    }
    let rest = behind_dash(&base);
    // Specials have numbers of many sources: only one that is called the same is the same.
    let called = if found.season == Some(0) {
        let cut = rest
            .filter(|rest| is_known(rest))
            .map_or(&*base, |rest| &base[..base.len() - rest.len()]);
        let words = normalise(cut);
        let words: Vec<&str> = words.split(' ').filter(|word| !is_known(word)).collect();
        words.join(" ")
    } else {
        String::new()
    };
    let title = found.title.unwrap_or_default();
    // One that is named like an episode of another show is not of this one, whatever the folder says.
    let own = release.named().filter(|_| is_explicit).unwrap_or_default();
    let own = if own.trim().is_empty() || super::is_of(&title, &own) || super::is_of(&own, &title) {
        String::new()
    } else {
        folded(&own)
    };
    let text = |number: Option<i64>| number.map(|number| number.to_string()).unwrap_or_default();
    Member {
        key: Some(key(&[
            &folders.join("/"),
            &folded(&title),
            &own,
            &text(found.season),
            &text(found.episode),
            &text(found.episode_end),
            &date,
            &called,
        ])),
        label: label(rest.filter(|rest| is_known(rest)).unwrap_or_default(), &release),
        part: number,
    }
}

/// Key of files that belong together. The separator occurs in no name.
fn key(parts: &[&str]) -> String {
    parts.join("\u{1}")
}

/// Last words of a name after a hyphen between spaces, or its brackets at the end.
fn behind_dash(name: &str) -> Option<&str> {
    let dash = name.rfind(" - ");
    let bracket = name
        .ends_with(']')
        .then(|| name.find(['[']))
        .flatten()
        .filter(|at| *at > 0);
    let at = bracket.or(dash)?;
    name.get(at..)
}

/// Text behind a title at the beginning of a name, whatever separates its words; `None`: the name begins otherwise.
fn rest_behind(name: &str, title: &str) -> Option<String> {
    let squashed = |text: &str| normalise(text).replace(' ', "");
    let wanted = squashed(title);
    if wanted.is_empty() {
        return None;
    }
    let ends = name
        .char_indices()
        .map(|(at, letter)| at + letter.len_utf8())
        .take(300);
    let mut whole = ends.filter(|end| {
        name[*end..]
            .chars()
            .next()
            .is_none_or(|next| !next.is_alphanumeric())
    });
    let end = whole.find(|end| squashed(&name[..*end]) == wanted)?;
    let mut rest = &name[end..];
    if title.trim_end().ends_with([')', ']', '}']) {
        rest = rest.trim_start_matches([')', ']', '}']);
    }
    Some(rest.to_owned())
}

/// Text behind a year at the beginning.
fn behind_year(rest: &str) -> String {
    let bare = rest.trim_start_matches([' ', '.', '_', '-', ',', '(', '[']);
    let is_year = bare.len() >= 4
        && bare.as_bytes()[..4].iter().all(u8::is_ascii_digit)
        && bare[4..]
            .chars()
            .next()
            .is_none_or(|next| !next.is_alphanumeric());
    if is_year {
        bare[4..].trim_start_matches([')', ']']).to_owned()
    } else {
        rest.to_owned()
    }
}

/// True if the text behind a title describes a version: nothing, words of versions, or after a hyphen or in brackets
/// anything that is no other title. `takes_any`: unknown words count too.
fn is_label(rest: &str, takes_any: bool) -> bool {
    let bare = rest.trim_start_matches([' ', '.', '_']);
    if bare.is_empty() {
        return true;
    }
    if film::named(bare).year.is_some() && !bare.starts_with(['[', '{']) {
        return false;
    }
    let is_marked = bare.starts_with(['-', '–', '[', '(', '{']);
    is_known(rest) || (is_marked && takes_any)
}

/// True if each of the words describes a version: a resolution, a source, an edition.
fn is_known(rest: &str) -> bool {
    let plain = normalise(&rest.replace(['\'', '’'], ""));
    if plain.is_empty() {
        return true;
    }
    if film::is_version(&plain) {
        return true;
    }
    let release = parse(&format!(
        "x {}",
        rest.trim_start_matches([' ', '-', '–', '.', '_'])
    ));
    let has_title = release
        .title
        .as_deref()
        .is_none_or(|title| normalise(title) == "x");
    has_title && (super::count_marks(&release) > 0 || release.edition.is_some())
}

/// Label of a version, from the text behind its title; for a release, from its technical details.
fn label(rest: &str, release: &Release) -> Option<String> {
    let bare = rest.trim_matches([' ', '.', '_']);
    let is_marked = bare.starts_with(['-', '–', '[', '(', '{']);
    let text = bare.trim_start_matches(['-', '–', ' ']);
    let is_dotted = !text.contains(' ') && text.matches('.').count() > 1;
    let said = if is_marked && !is_dotted {
        let text = text
            .replace("{edition-", " ")
            .replace(['[', ']', '(', ')', '{', '}'], " ");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    } else {
        let marks = [release.edition.as_deref(), release.resolution, release.source];
        marks.into_iter().flatten().collect::<Vec<_>>().join(" ")
    };
    let said: String = said.trim_matches([' ', '-']).chars().take(MAX_LABEL).collect();
    Some(said).filter(|said| !said.is_empty())
}

/// Owner of an extra.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// Path of the folder of its film or show, as people see it.
    pub folder: String,
    pub season: Option<i64>,
    /// Key of the film whose name it has, if it has one.
    pub key: Option<String>,
}

/// Finds the owner of an extra by its path.
pub fn owner_of(shown: &str, kind: Kind) -> Owner {
    let mut folders: Vec<&str> = shown.split('/').collect();
    let name = stem(folders.pop().unwrap_or_default());
    // The uppermost folder of extras; the first folder of all is a film's, a show's, or a shelf.
    let among = (1..folders.len()).find(|at| super::extra::of_folder(folders[*at]).is_some());
    let above = &folders[..among.unwrap_or(folders.len())];
    if kind.has_shows() {
        // A show is a folder right below the library's directory.
        let top = above.len().min(1);
        let number = above[top..].iter().find_map(|folder| season::season(folder));
        return Owner {
            folder: above[..top].join("/"),
            season: number.map(|season| season.number),
            key: None,
        };
    }
    let (at, _) = owner(above);
    let named = among.is_none().then(|| super::extra::without_end(name)).flatten();
    Owner {
        folder: above[..at].join("/"),
        season: None,
        key: named.and_then(|base| of_film(base, &folders, &Beside::default()).key),
    }
}

#[cfg(test)]
mod tests;
