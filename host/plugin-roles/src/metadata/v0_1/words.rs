//! Between the records of the contract and those of `ports`. What a plugin answers is untrusted: it is cut to the bounds of the
//! contract, and what is no date, rating or URL is none.

use std::collections::BTreeSet;

use qm_plugin_host::role::{Voice, one_line};
use qm_ports::metadata::*;
use url::Url;

use super::wit;
use crate::metadata::description::PluginProvider;
use crate::vetted::is_id;

/// The most of an error's text or a name that leaves the plugin. Bytes.
const TEXT: usize = 1 << 10;
/// The most of a text that tells of a title. Bytes.
const PROSE: usize = 16 << 10;
/// The most of a URL; what is longer is none. Bytes.
const URL: usize = 2 << 10;
/// The most of an id; what is longer is none. Bytes.
const ID: usize = 64;
/// The most of each list; the WIT says most of them.
const HITS: usize = 200;
const EPISODES: usize = 5000;
const SEASONS: usize = 500;
const CAST: usize = 200;
const CREW: usize = 500;
const CREDITS_OF_EPISODE: usize = 100;
const NAMES: usize = 100;
const IDS: usize = 32;
const IMAGES: usize = 500;
/// The highest rating; the WIT says so.
const RATING: f64 = 10.0;

pub(super) fn description(said: &wit::Description) -> PluginProvider {
    let abilities = [
        (wit::Abilities::SEARCH, Ability::Search),
        (wit::Abilities::DETAILS, Ability::Details),
        (wit::Abilities::EPISODES, Ability::Episodes),
        (wit::Abilities::ARTWORK, Ability::Artwork),
        (wit::Abilities::FIND, Ability::Find),
    ];
    let kinds: BTreeSet<_> = said.kinds.iter().map(|kind| kind_of(*kind)).collect();
    PluginProvider {
        kinds: kinds.into_iter().collect(),
        abilities: abilities
            .into_iter()
            .filter(|(flag, _)| said.abilities.contains(*flag))
            .map(|(_, ability)| ability)
            .collect(),
        find_sources: said.find_sources.clone(),
    }
}

fn kind_of(kind: wit::Kind) -> TitleKind {
    match kind {
        wit::Kind::Movie => TitleKind::Movie,
        wit::Kind::Show => TitleKind::Show,
    }
}

fn kind_to(kind: TitleKind) -> wit::Kind {
    match kind {
        TitleKind::Movie => wit::Kind::Movie,
        TitleKind::Show => wit::Kind::Show,
    }
}

pub(super) fn query(query: TitleQuery) -> wit::Query {
    wit::Query {
        kind: kind_to(query.kind),
        title: query.title,
        year: query.year,
        language: query.language,
        page: query.page,
        extra: Vec::new(),
    }
}

pub(super) fn subject(subject: TitleSubject) -> wit::Subject {
    wit::Subject {
        kind: kind_to(subject.kind),
        id: subject.id,
        language: subject.language,
        country: subject.country,
        extra: Vec::new(),
    }
}

fn line(text: &str) -> String {
    one_line(text, TEXT).trim().to_owned()
}

fn name(text: Option<String>) -> Option<String> {
    text.map(|text| line(&text)).filter(|text| !text.is_empty())
}

/// A text of several lines.
fn prose(text: Option<String>) -> Option<String> {
    let text = text?;
    let lines: Vec<_> = text[..text.floor_char_boundary(PROSE)]
        .lines()
        .map(|line| one_line(line, PROSE))
        .collect();
    let text = lines.join("\n").trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn names(given: Vec<String>) -> Vec<String> {
    let all = given.into_iter().take(NAMES);
    all.filter_map(|text| name(Some(text))).collect()
}

/// Letters, digits and what stands between them.
fn id(text: String) -> Option<String> {
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':' | b'/');
    let sound = (1..=ID).contains(&text.len()) && text.bytes().all(sound);
    sound.then_some(text)
}

/// `YYYY-MM-DD`, a day that exists.
fn date(text: Option<String>) -> Option<String> {
    let text = text?;
    let bytes = text.as_bytes();
    let shaped = bytes.len() == 10
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    if !shaped {
        return None;
    }
    let number = |from: usize, to: usize| text.get(from..to).and_then(|text| text.parse::<u32>().ok());
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => 0,
    };
    ((1..=days).contains(&day) && year > 0).then_some(text)
}

fn rating(given: Option<f64>) -> Option<f64> {
    given.filter(|rating| (0.0..=RATING).contains(rating))
}

/// An absolute URL for anybody to fetch, without a user name and without a secret of the configuration.
fn url(text: String, voice: &Voice) -> Option<String> {
    if text.len() > URL || voice.blot(text.clone()) != text {
        return None;
    }
    let url = Url::parse(&text).ok()?;
    let sound = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.username().is_empty()
        && url.password().is_none();
    sound.then(|| url.into())
}

fn picture(given: Option<wit::Picture>, voice: &Voice) -> Option<Picture> {
    let given = given?;
    Some(Picture {
        url: url(given.url, voice)?,
        preview: given.preview.and_then(|preview| url(preview, voice)),
    })
}

pub(super) fn found(given: wit::Found, voice: &Voice) -> TitlesFound {
    TitlesFound {
        hits: hits(given.hits, voice),
        page: given.page,
        pages: given.pages,
        total: given.total,
    }
}

/// Those that have an id and a title.
pub(super) fn hits(given: Vec<wit::Hit>, voice: &Voice) -> Vec<TitleHit> {
    let all = given.into_iter().take(HITS);
    all.filter_map(|given| hit(given, voice)).collect()
}

fn hit(given: wit::Hit, voice: &Voice) -> Option<TitleHit> {
    Some(TitleHit {
        id: id(given.id)?,
        kind: kind_of(given.kind),
        title: name(Some(given.title))?,
        original_title: name(given.original_title),
        released: date(given.released),
        overview: prose(given.overview),
        original_language: name(given.original_language),
        poster: picture(given.poster, voice),
        backdrop: picture(given.backdrop, voice),
        rating: rating(given.rating),
        votes: given.votes,
        popularity: given.popularity.filter(|value| value.is_finite()),
    })
}

pub(super) fn details(given: wit::TitleDetails, voice: &Voice) -> Result<TitleDetails, ProviderError> {
    let nameless = || ProviderError::Unparsable("answered a title without a name or an id".to_owned());
    Ok(TitleDetails {
        id: id(given.id).ok_or_else(nameless)?,
        kind: kind_of(given.kind),
        title: name(Some(given.title)).ok_or_else(nameless)?,
        original_title: name(given.original_title),
        overview: prose(given.overview),
        tagline: name(given.tagline),
        released: date(given.released),
        last_aired: date(given.last_aired),
        status: name(given.status),
        standing: standing(given.standing),
        original_language: name(given.original_language),
        countries: names(given.countries),
        genres: names(given.genres),
        tags: names(given.tags),
        runtime: given.runtime,
        rating: rating(given.rating),
        votes: given.votes,
        popularity: given.popularity.filter(|value| value.is_finite()),
        certification: name(given.certification),
        studios: names(given.studios),
        networks: names(given.networks),
        cast: credits(given.cast, CAST, voice),
        crew: credits(given.crew, CREW, voice),
        creators: names(given.creators),
        seasons: given
            .seasons
            .into_iter()
            .take(SEASONS)
            .map(|given| season(given, voice))
            .collect(),
        season_count: given.season_count,
        episode_count: given.episode_count,
        last_episode: given.last_episode.map(|given| episode(given, voice)),
        next_episode: given.next_episode.map(|given| episode(given, voice)),
        poster: picture(given.poster, voice),
        backdrop: picture(given.backdrop, voice),
        page: given.page.and_then(|page| url(page, voice)),
        ids: ids(given.ids),
    })
}

fn standing(given: wit::Standing) -> Standing {
    match given {
        wit::Standing::Unknown => Standing::Unknown,
        wit::Standing::Planned => Standing::Planned,
        wit::Standing::Returning => Standing::Returning,
        wit::Standing::Continuing => Standing::Continuing,
        wit::Standing::Ended => Standing::Ended,
        wit::Standing::Canceled => Standing::Canceled,
        wit::Standing::Released => Standing::Released,
    }
}

fn credits(given: Vec<wit::Credit>, most: usize, voice: &Voice) -> Vec<Credit> {
    let credit = |given: wit::Credit| {
        Some(Credit {
            id: given.id.and_then(id),
            name: name(Some(given.name))?,
            role: name(given.role),
            picture: picture(given.picture, voice),
        })
    };
    given.into_iter().take(most).filter_map(credit).collect()
}

fn season(given: wit::Season, voice: &Voice) -> SeasonDetails {
    SeasonDetails {
        number: given.number,
        title: name(given.title),
        overview: prose(given.overview),
        aired: date(given.aired),
        episodes: given.episodes,
        poster: picture(given.poster, voice),
    }
}

fn episode(given: wit::Episode, voice: &Voice) -> EpisodeDetails {
    EpisodeDetails {
        id: given.id.and_then(id),
        season: given.season,
        number: given.number,
        title: name(given.title),
        overview: prose(given.overview),
        aired: date(given.aired),
        runtime: given.runtime,
        rating: rating(given.rating),
        votes: given.votes,
        still: picture(given.still, voice),
        guests: credits(given.guests, CREDITS_OF_EPISODE, voice),
        crew: credits(given.crew, CREDITS_OF_EPISODE, voice),
    }
}

/// The episodes of this season, each number once, in their order.
pub(super) fn episodes(given: Vec<wit::Episode>, season: u32, voice: &Voice) -> Vec<EpisodeDetails> {
    let all = given.into_iter().take(EPISODES);
    let mut all: Vec<_> = all
        .filter(|given| given.season == season)
        .map(|given| episode(given, voice))
        .collect();
    all.sort_by_key(|episode| episode.number);
    all.dedup_by_key(|episode| episode.number);
    all
}

/// Those whose source is a word, each source once.
fn ids(given: Vec<wit::ExternalId>) -> Vec<ExternalId> {
    let mut all: Vec<ExternalId> = Vec::new();
    for given in given.into_iter().take(IDS) {
        let known = all.iter().any(|one| one.source == given.source);
        if let Some(id) = id(given.id)
            && !known
            && is_id(&given.source)
        {
            all.push(ExternalId {
                source: given.source,
                id,
            });
        }
    }
    all
}

pub(super) fn images(given: Vec<wit::Image>, voice: &Voice) -> Vec<ImageDetails> {
    let image = |given: wit::Image| {
        Some(ImageDetails {
            kind: match given.kind {
                wit::ImageKind::Poster => ImageKind::Poster,
                wit::ImageKind::Backdrop => ImageKind::Backdrop,
                wit::ImageKind::Logo => ImageKind::Logo,
                wit::ImageKind::Banner => ImageKind::Banner,
                wit::ImageKind::Still => ImageKind::Still,
            },
            picture: picture(Some(given.picture), voice)?,
            width: given.width,
            height: given.height,
            language: name(given.language),
            rating: rating(given.rating),
            votes: given.votes,
        })
    };
    given.into_iter().take(IMAGES).filter_map(image).collect()
}

/// An error as the plugin words it, without the secrets it was given.
pub(super) fn error(error: wit::ProviderError, voice: &Voice) -> ProviderError {
    use ProviderError as E;
    use wit::ProviderError as W;
    let text = |text: String| voice.blot(line(&text));
    match error {
        W::Unreachable(why) => E::Unreachable(text(why)),
        W::Timeout(why) => E::Timeout(text(why)),
        W::Auth(why) => E::Auth(text(why)),
        W::Throttled(throttle) => E::Throttled {
            seconds: throttle.seconds,
            message: text(throttle.message),
        },
        W::NotFound(why) => E::NotFound(text(why)),
        W::Unparsable(why) => E::Unparsable(text(why)),
        W::Api(told) => E::Api {
            code: text(told.code),
            description: text(told.description),
        },
        W::Status(told) => E::Status {
            status: told.status,
            message: text(told.message),
        },
        W::TooLarge(why) => E::TooLarge(text(why)),
        W::Redirected(why) => E::Redirected(text(why)),
        W::InvalidConfig(why) => E::InvalidConfig(text(why)),
        W::Unsupported(why) => E::Unsupported(text(why)),
        W::Denied(why) => E::Denied(text(why)),
        W::Other((name, why)) => E::Unparsable(text(format!("{name}: {why}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_days_that_exist() {
        let of = |text: &str| date(Some(text.to_owned()));
        for good in ["2024-02-29", "2000-02-29", "1999-12-31", "2026-01-01"] {
            assert_eq!(of(good).as_deref(), Some(good));
        }
        for bad in [
            "",
            "2023-02-29",
            "1900-02-29",
            "2024-13-01",
            "2024-00-10",
            "2024-04-31",
            "2024-1-1",
            "0000-01-01",
            "2024-01-01T00:00",
            "2024/01/01",
            "+024-01-01",
            "20240101é",
        ] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }

    #[test]
    fn ratings_ids_and_prose_are_bounded() {
        assert_eq!(rating(Some(8.4)), Some(8.4));
        for bad in [f64::NAN, f64::INFINITY, -0.1, 10.1] {
            assert_eq!(rating(Some(bad)), None);
        }
        assert_eq!(id("tt0944947".to_owned()).as_deref(), Some("tt0944947"));
        for bad in ["", "a b", "a?b", "\u{e4}", &"1".repeat(65)] {
            assert_eq!(id(bad.to_owned()), None, "{bad}");
        }
        assert_eq!(
            prose(Some("a\u{1b}b\r\n\r\n c ".to_owned())).as_deref(),
            Some("a b\n\n c")
        );
        assert_eq!(prose(Some(" \n".to_owned())), None);
        assert!(prose(Some("\u{e4}".repeat(PROSE))).unwrap().len() <= PROSE);
    }
}
