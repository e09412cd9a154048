//! Reading of one file: what its name, the folders above it and the name of its source say, and where each value is from.

use std::collections::BTreeMap;

use qm_media_names::name::Identity;
use qm_media_names::naming::member::{Beside, member};
use qm_media_names::naming::season::season;
use qm_media_names::naming::{composed, film, identify, part, stem, tag};
use qm_media_names::{Kind, show};
use qm_release::{ContentType, Release, parse, parse_with_reasons};
use qm_titles::{folded, normalise, similarity};

use crate::token::Token;

mod title;

pub(crate) use title::episode_title;

/// Kind of a file's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Content {
    Tv,
    Anime,
    Movie,
    Music,
    Audiobook,
    General,
}

impl Content {
    pub const fn as_str(self) -> &'static str {
        match self {
            Content::Tv => "tv",
            Content::Anime => "anime",
            Content::Movie => "movie",
            Content::Music => "music",
            Content::Audiobook => "audiobook",
            Content::General => "general",
        }
    }

    /// Token of the title.
    pub(crate) const fn title(self) -> Token {
        match self {
            Content::Tv | Content::Anime => Token::SeriesTitle,
            Content::Movie => Token::MovieTitle,
            Content::Music | Content::Audiobook | Content::General => Token::General,
        }
    }

    /// True for episodes.
    pub const fn has_episodes(self) -> bool {
        matches!(self, Content::Tv | Content::Anime)
    }
}

/// Origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// `name`, `folder`, `sourceName`, `library` or `default`.
    pub place: &'static str,
    /// Text as it is written there, where it is known.
    pub token: Option<String>,
    /// Rule that decided, in a few words.
    pub rule: &'static str,
}

/// Value of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    pub text: String,
    pub from: Origin,
}

/// Facts about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    pub content: Content,
    pub values: BTreeMap<Token, Value>,
    /// Label of this version of a film, by which its name differs from those beside it.
    pub label: Option<String>,
}

impl Reading {
    pub(crate) fn text(&self, token: Token) -> Option<&str> {
        self.values.get(&token).map(|value| &*value.text)
    }

    pub(crate) fn number(&self, token: Token) -> Option<i64> {
        self.text(token)?.parse().ok()
    }

    /// True if it is known which episode it is.
    pub(crate) fn is_numbered(&self) -> bool {
        self.values.contains_key(&Token::Episode) || self.values.contains_key(&Token::AirDate)
    }

    fn put(&mut self, token: Token, text: impl Into<String>, from: Origin) {
        let text = text.into();
        if !text.trim().is_empty() {
            self.values.insert(token, Value { text, from });
        }
    }

    fn put_missing(&mut self, token: Token, text: Option<impl Into<String>>, from: impl FnOnce() -> Origin) {
        if let Some(text) = text.filter(|_| !self.values.contains_key(&token)) {
            self.put(token, text, from());
        }
    }
}

/// Origin by a rule, without the text itself.
pub(crate) fn origin(place: &'static str, rule: &'static str) -> Origin {
    Origin {
        place,
        token: None,
        rule,
    }
}

/// One name, taken apart.
struct Parsed {
    place: &'static str,
    /// Without tags of providers.
    clean: String,
    /// As it is written.
    name: String,
    release: Release,
    decisions: Vec<qm_release::Decision>,
}

impl Parsed {
    fn new(place: &'static str, name: &str) -> Self {
        let (clean, _) = tag::split(name);
        let (release, decisions) = parse_with_reasons(&clean);
        Self {
            place,
            release,
            decisions,
            clean,
            name: name.to_owned(),
        }
    }

    /// Origin of a field of the release.
    fn origin(&self, fields: &[&str]) -> Origin {
        let decided = self
            .decisions
            .iter()
            .find(|decision| fields.contains(&decision.taken_for));
        Origin {
            place: self.place,
            token: decided.map(|decision| decision.token.clone()),
            rule: decided.map_or("read with the names above it", |decision| decision.rule),
        }
    }
}

/// Most folders above a file that are read for it.
const MOST_ABOVE: usize = 4;

/// Folders above the file that was read last, the nearest first. The next file lies in the same ones often.
#[derive(Default)]
pub(crate) struct Above {
    path: String,
    folders: Vec<Parsed>,
}

impl Above {
    /// Folders of this path, taken apart.
    fn read_folders(&mut self, path: &str) -> &[Parsed] {
        if self.path != path {
            let folders = path.rsplit('/').filter(|folder| !folder.is_empty());
            let folders = folders.take(MOST_ABOVE);
            self.folders = folders.map(|folder| Parsed::new("folder", folder)).collect();
            path.clone_into(&mut self.path);
        }
        &self.folders
    }
}

/// Place of a file that is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In its library, whose folders are named for shows.
    Library,
    /// Anywhere else: a folder above may be one of downloads.
    Elsewhere,
}

/// Reads the path of a file below the directory of its library, or below its download.
pub(crate) fn read(
    path: &str,
    kind: Option<Kind>,
    beside: &Beside,
    place: Place,
    last: &mut Above,
) -> Reading {
    let (plain, edition) = split_edition(&composed(path));
    let shown = &*plain;
    let (above, file) = shown.rsplit_once('/').unwrap_or(("", shown));
    let own = Parsed::new("name", stem(file));
    let folders = last.read_folders(above);
    let found = identify(shown, kind.unwrap_or(Kind::General), beside.is_alone);
    let is_anime = own.release.content_type == ContentType::AnimeEpisode && own.clean.starts_with('[');
    let content = content_of(&found, is_anime, kind);
    let mut reading = Reading {
        content,
        values: BTreeMap::new(),
        label: None,
    };
    put_title(&mut reading, &found, &own, folders);
    if place == Place::Elsewhere && content.has_episodes() {
        prefer_own_title(&mut reading, &own, folders);
    }
    if content.has_episodes() {
        put_numbers(&mut reading, &found, &own, folders);
    }
    put_year(&mut reading, &found, &own, folders);
    if content == Content::Movie {
        reading.put_missing(Token::Edition, edition, || origin("name", "an edition in braces"));
        let behind = own
            .release
            .edition
            .is_none()
            .then(|| edition_behind(&own.clean))
            .flatten();
        reading.put_missing(Token::Edition, behind, || {
            origin("name", "words of an edition behind a hyphen")
        });
    }
    for parsed in std::iter::once(&own).chain(folders) {
        put_quality(&mut reading, parsed);
    }
    put_member(&mut reading, shown, beside, kind);
    reading
}

/// Name of the source of all files, read once.
pub(crate) struct SourceName {
    is_film: bool,
    /// Reading for files whose own names say an episode.
    of_series: Reading,
    of_kind: Reading,
}

impl SourceName {
    pub fn new(name: &str, kind: Option<Kind>) -> Self {
        let path = format!("{name}.mkv");
        let read_as = |kind| {
            let beside = Beside::default();
            let mut reading = read(&path, kind, &beside, Place::Elsewhere, &mut Above::default());
            for value in reading.values.values_mut() {
                value.from.place = "sourceName";
            }
            reading
        };
        Self {
            is_film: parse(name).content_type == ContentType::Movie,
            of_series: read_as(Some(Kind::Tv)),
            of_kind: read_as(kind),
        }
    }
}

/// Adds what the name of the source says where the file's own says nothing.
pub(crate) fn add_source(reading: &mut Reading, source: &SourceName, is_alone: bool) {
    let own_numbers = reading.is_numbered();
    if own_numbers && source.is_film {
        // A film's name on a folder of episodes.
        return;
    }
    let other = if own_numbers {
        &source.of_series
    } else {
        &source.of_kind
    };
    let is_named = reading.values.keys().any(|token| is_title(*token));
    // A whole name wins over a file's name that says no episode, for the only film of its source.
    let is_known = other.content != Content::General && other.values.contains_key(&other.content.title());
    let wins = !own_numbers && is_alone && is_known;
    if wins {
        reading.content = other.content;
        reading.values.retain(|token, _| !is_title(*token));
        if other.values.contains_key(&Token::Year) {
            reading.values.remove(&Token::Year);
        }
    }
    let title = reading.content.title();
    for (&token, value) in &other.values {
        let fills = match token {
            token if is_title(token) => !is_named || wins,
            Token::Part | Token::Ext => false,
            // Of a collection it is none of its films'.
            Token::Year => wins || own_numbers,
            Token::Edition => wins,
            Token::Episode | Token::EpisodeEnd | Token::AirDate | Token::EpisodeTitle | Token::Season => wins,
            _ => true,
        };
        if fills {
            let token = if is_title(token) { title } else { token };
            reading.values.entry(token).or_insert_with(|| value.clone());
        }
    }
}

fn is_title(token: Token) -> bool {
    matches!(token, Token::SeriesTitle | Token::MovieTitle | Token::General)
}

/// Content of a file. `is_anime`: it is named as groups of fans name their releases.
fn content_of(found: &Identity, is_anime: bool, kind: Option<Kind>) -> Content {
    match kind {
        Some(Kind::Tv) if is_anime => Content::Anime,
        Some(Kind::Tv) => Content::Tv,
        Some(Kind::Anime) => Content::Anime,
        Some(Kind::Movie) => Content::Movie,
        Some(Kind::Music | Kind::Audiobook | Kind::General) | None => match found.media_type {
            Some("anime") => Content::Anime,
            Some("tv") if is_anime => Content::Anime,
            Some("tv") => Content::Tv,
            Some("movie") => Content::Movie,
            _ if found.year.is_some() => Content::Movie,
            _ => Content::General,
        },
    }
}

fn put_title(reading: &mut Reading, found: &Identity, own: &Parsed, folders: &[Parsed]) {
    let token = reading.content.title();
    let title = found.title.clone().filter(|title| !title.trim().is_empty());
    let Some(mut title) = title.map(|title| without_leftovers(&title)) else {
        return;
    };
    if let (Token::SeriesTitle, Some(season)) = (token, found.season) {
        title = without_season(title, season);
    }
    let plain = normalise(&title);
    let holds = |parsed: &&Parsed| !plain.is_empty() && normalise(&parsed.name).contains(&plain);
    let place = std::iter::once(own).chain(folders).find(holds);
    let from = place.map_or_else(
        || origin("name", "read with the names above it"),
        |parsed| parsed.origin(&["title"]),
    );
    reading.put(token, title, from);
}

/// Least likeness of two titles of one show.
const ALIKE: f64 = 0.6;

/// Takes the title that a file's own name has before its number, where the folder above says something else, and is not written
/// as the folder of a show: `downloads/The.Wire.S01E01.mkv`.
fn prefer_own_title(reading: &mut Reading, own: &Parsed, folders: &[Parsed]) {
    let token = reading.content.title();
    let release = &own.release;
    let is_numbered = release.episode.is_some() || release.air_date.is_some();
    let title = release.title.as_deref().map(str::trim).unwrap_or_default();
    let Some(value) = reading.values.get(&token) else {
        return;
    };
    let (now, then) = (normalise(&value.text), normalise(title));
    let is_alike = now.contains(&then) || similarity(&now, &then) >= ALIKE;
    if value.from.place != "folder" || !is_numbered || then.is_empty() || is_alike {
        return;
    }
    let at = folders
        .iter()
        .position(|folder| normalise(&folder.name).contains(&now));
    let (nearer, named) = at.map_or((folders, None), |at| (&folders[..at], Some(&folders[at])));
    let is_shows = |folder: &Parsed| folder.release.year.is_some() || folder.clean != folder.name;
    if named.is_some_and(is_shows) || nearer.iter().any(|folder| season(&folder.name).is_some()) {
        return;
    }
    let from = own.origin(&["title"]);
    reading.values.remove(&token);
    reading.put(token, without_leftovers(title), from);
}

/// Title of a show without its season at the end: `Title S2`.
fn without_season(title: String, season: i64) -> String {
    let words = [format!(" S{season}"), format!(" S{season:02}")];
    let plain = words.iter().find_map(|word| title.strip_suffix(word.as_str()));
    match plain.map(str::trim).filter(|plain| !plain.is_empty()) {
        Some(plain) => plain.to_owned(),
        None => title,
    }
}

/// Title without an edition in braces, and without brackets that are open.
fn without_leftovers(title: &str) -> String {
    let title = match title.find('{') {
        Some(at) if at > 0 => &title[..at],
        _ => title,
    };
    let title = title.trim_matches([' ', '-', '_']);
    let open = |opens: char, closes: char| title.matches(opens).count() > title.matches(closes).count();
    let title = if open('(', ')') || open('[', ']') {
        title.trim_end_matches(['(', '['])
    } else {
        title
    };
    title.trim().to_owned()
}

fn put_numbers(reading: &mut Reading, found: &Identity, own: &Parsed, folders: &[Parsed]) {
    let by_name = own.origin(&["episode", "absoluteEpisode", "airDate"]);
    if let Some(episode) = found.episode {
        reading.put(Token::Episode, episode.to_string(), by_name.clone());
    }
    if let Some(end) = found
        .episode_end
        .filter(|end| found.episode.is_some_and(|first| *end > first))
    {
        reading.put(Token::EpisodeEnd, end.to_string(), by_name.clone());
    }
    let aired = std::iter::once(own)
        .chain(folders)
        .find(|parsed| parsed.release.air_date.is_some())
        .filter(|_| found.episode.is_none());
    if let Some(aired) = aired {
        let day = aired.release.air_date.clone().unwrap_or_default();
        let year = day.get(..4).map(str::to_owned);
        reading.put(Token::AirDate, day, aired.origin(&["airDate"]));
        if found.season.is_none() {
            reading.put_missing(Token::Season, year, || {
                origin("name", "the year of the day it was shown")
            });
        }
    }
    if let Some(season) = found.season {
        let is_own = own.release.season.map(i64::from) == Some(season);
        let from = if is_own {
            own.origin(&["season", "episode"])
        } else {
            origin("folder", "the folder of the season")
        };
        reading.put(Token::Season, season.to_string(), from);
    }
    reading.put_missing(Token::Season, Some("1"), || {
        origin("default", "no season is named")
    });
    let title = episode_title(&own.clean, &own.decisions, found.episode);
    if let Some(title) = title.filter(|_| reading.is_numbered()) {
        reading.put(
            Token::EpisodeTitle,
            title,
            origin("name", "stands behind the number of the episode"),
        );
    }
}

fn put_year(reading: &mut Reading, found: &Identity, own: &Parsed, folders: &[Parsed]) {
    let Some(year) = found.year else { return };
    let text = year.to_string();
    let is_of_day = reading
        .text(Token::AirDate)
        .is_some_and(|day| day.starts_with(&text));
    let bracketed = format!("({text})");
    let is_written = std::iter::once(own)
        .chain(folders)
        .any(|parsed| parsed.name.contains(&bracketed));
    if is_of_day && !is_written {
        return;
    }
    let place = std::iter::once(own)
        .chain(folders)
        .find(|parsed| parsed.name.contains(&text));
    let from = place.map_or_else(|| origin("name", "year"), |parsed| parsed.origin(&["year"]));
    reading.put(Token::Year, text, from);
}

fn put_quality(reading: &mut Reading, parsed: &Parsed) {
    let release = &parsed.release;
    let from = |field: &'static str| move || parsed.origin(&[field]);
    reading.put_missing(Token::Resolution, release.resolution, from("resolution"));
    reading.put_missing(Token::Source, release.source, from("source"));
    reading.put_missing(Token::Codec, release.codec, from("codec"));
    reading.put_missing(
        Token::ReleaseGroup,
        release.release_group.clone(),
        from("releaseGroup"),
    );
    if reading.content == Content::Movie {
        reading.put_missing(Token::Edition, release.edition.clone(), from("edition"));
    }
}

/// Edition behind a hyphen, where the name has nothing by which releases are known: `Title - Director's Cut`.
fn edition_behind(name: &str) -> Option<&str> {
    name.split(" - ").skip(1).map(str::trim).find(|text| {
        let release = parse(text);
        let tells_format =
            release.resolution.is_some() || release.source.is_some() || release.codec.is_some();
        let words = folded(text);
        !tells_format && !words.is_empty() && part::split(text).is_none() && film::is_version(&words)
    })
}

/// Path without editions as Plex writes them, `{edition-Director's Cut}`, and the last one.
fn split_edition(path: &str) -> (String, Option<String>) {
    const OPENS: &str = "{edition-";
    let (mut kept, mut rest, mut edition) = (String::with_capacity(path.len()), path, None);
    while let Some(at) = rest.find('{') {
        let is_one = rest[at..]
            .get(..OPENS.len())
            .is_some_and(|text| text.eq_ignore_ascii_case(OPENS));
        let close = rest[at..]
            .find(['}', '/'])
            .filter(|close| is_one && rest[at + close..].starts_with('}'));
        let Some(close) = close else {
            kept.push_str(&rest[..=at]);
            rest = &rest[at + 1..];
            continue;
        };
        kept.push_str(rest[..at].trim_end());
        let text = rest[at + OPENS.len()..at + close].trim();
        edition = Some(text.to_owned()).filter(|text| !text.is_empty()).or(edition);
        rest = &rest[at + close + 1..];
    }
    kept.push_str(rest);
    (kept, edition)
}

/// True if the last word of a name is one of those for parts, with a letter at it: `cda`.
fn ends_with_lettered_part(name: &str) -> bool {
    let mut words = name.split(|c: char| !c.is_alphanumeric());
    let last = words.rfind(|word| !word.is_empty());
    let last = last.unwrap_or_default().to_lowercase();
    let parts = ["cd", "dvd", "part", "pt", "disc", "disk"];
    let letters = parts.iter().filter_map(|part| last.strip_prefix(part));
    letters
        .into_iter()
        .any(|rest| matches!(rest, "a" | "b" | "c" | "d"))
}

fn put_member(reading: &mut Reading, shown: &str, beside: &Beside, kind: Option<Kind>) {
    let as_kind = match reading.content {
        Content::Movie => Kind::Movie,
        Content::Tv | Content::Anime => Kind::Tv,
        _ => kind.unwrap_or(Kind::General),
    };
    let found = member(shown, as_kind, beside);
    // Behind the title of an episode, `cda` is a word of it; its parts have numbers.
    let part = found
        .part
        .filter(|_| as_kind != Kind::Tv || !ends_with_lettered_part(stem(shown)));
    let part = part.map(|part| part.to_string());
    reading.put_missing(Token::Part, part, || origin("name", "a part of several files"));
    reading.label = found.label.filter(|label| !label.contains(['{', '}']));
}

/// Key that is equal for all names of a show.
pub(crate) fn show_key(title: &str) -> String {
    show::canonical_key(title)
}

/// Key that is equal for all versions of a film in one folder.
pub(crate) fn film_key(path: &str) -> String {
    film::key(stem(path.rsplit('/').next().unwrap_or(path)))
}
