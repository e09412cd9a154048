//! Numbers of episodes in the names of files that lie in a show's folder: `01 - Words`, `Episode 3`, `E04`, `2x05-06`.

use std::sync::LazyLock;

use qm_titles::normalise;
use regex::Regex;

/// Most episodes between the first and the last one of a file.
const SPAN: i64 = 100;

/// Season and episodes of a file, from its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    pub season: Option<i64>,
    pub episode: Option<i64>,
    pub end: Option<i64>,
}

fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

/// Pattern of season and episode in one word.
static EXPLICIT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"(?i)(?:^|[^0-9\p{L}])(?:s(?:eason)?[ ._]?([0-9]{1,4})[ ._-]{0,3}(?:x?e|ep|episode|x)[ ._]{0,2}([0-9]{1,4})|([0-9]{1,2}|19[0-9]{2}|20[0-9]{2})x([0-9]{1,3}))(?:$|[^0-9])",
    )
});
/// Pattern of another episode right behind.
static TAIL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(r"(?i)^(?: ?[-–+&~] ?)?(?:s?[0-9]{1,4}[xe]|[xe]|ep)([0-9]{1,4})|^[-–]([0-9]{1,3})")
});
/// Pattern of a number at the beginning, with the last one of several.
static LEADING: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^#?([0-9]{1,4})(?:[-–]([0-9]{1,4}))?(?:v[0-9])?(?:$|[ ._,)\]–-])"));
/// Pattern of a word for an episode with its number.
static WORDED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words = "episode|episodes|épisode|episodio|episódio|epizoda|epizód|epizod|epizodas|eps|ep|e|folge|teil|capitulo|capítulo|cap|chapter|odcinek|odc|\
                 серия|серії|серія|эпизод|выпуск|епизод|aflevering|afl|avsnitt|afsnit|episod|jakso|osa|bölüm|bolum|díl|dil|část|rész|resz|tập|tap|ตอนที่|ตอน|\
                 επεισόδιο|פרק|الحلقة|حلقة|قسمت|एपिसोड|에피소드|エピソード|sērija|serija|puntata|part|pt";
    pattern(&format!(
        r"(?i)(?:^|[^\p{{L}}0-9])(?:{words})[ ._#№-]{{0,3}}([0-9]{{1,4}})(?:[-–](?:e|ep)?([0-9]{{1,4}}))?(?:v[0-9])?(?:$|[^0-9\p{{L}}])"
    ))
});
/// Pattern of a number with its word behind it.
static COUNTED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"(?i)(?:第 ?([0-9]{1,4}) ?[話话集回]|(?:^|[^0-9])([0-9]{1,4}) ?(?:화|회|話|话|集)|(?:^|[^0-9\p{L}])([0-9]{1,3})[. ]{0,2}(?:díl|dil|část|rész|bölüm|bolum|серия|серія|выпуск|jakso|osa|epizoda|folge|epizód)(?:$|[^\p{L}]))",
    )
});
/// Pattern of a number at the end.
static TRAILING: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"[ ._-]([0-9]{1,3})(?:v[0-9])?$"));
/// Pattern of a bracket with its contents.
static BRACKETS: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"\[[^\]]*\]|\([^)]*\)|\{[^}]*\}"));

fn digits(found: Option<regex::Match<'_>>) -> Option<i64> {
    found?.as_str().parse().ok()
}

/// Season and episode, if a name has both in one word.
pub fn explicit(name: &str) -> Option<Numbers> {
    let found = EXPLICIT.as_ref()?.captures(name)?;
    let season = digits(found.get(1).or(found.get(3)))?;
    let number = found.get(2).or(found.get(4))?;
    let episode = digits(Some(number))?;
    // What two numbers with an `x` between are as well: width and height.
    let is_picture = found.get(3).is_some() && episode >= 240 && (19..100).contains(&season);
    (!is_picture).then(|| Numbers {
        season: Some(season),
        episode: Some(episode),
        end: last(&name[number.end()..], episode),
    })
}

/// Last of several episodes, from the text behind the first one.
fn last(mut rest: &str, first: i64) -> Option<i64> {
    let tail = TAIL.as_ref()?;
    let mut end = None;
    while let Some(found) = tail.captures(rest) {
        let Some(number) = found.get(1).or(found.get(2)) else {
            break;
        };
        let behind = &rest[number.end()..];
        let is_part =
            behind.starts_with(|letter: char| letter.is_ascii_digit() || letter == 'p' || letter == 'i');
        let Some(next) =
            digits(Some(number)).filter(|next| !is_part && *next > first && *next - first <= SPAN)
        else {
            break;
        };
        end = Some(next.max(end.unwrap_or(next)));
        rest = behind;
    }
    end
}

/// True if a name begins with two numbers in a row of episodes: `02-04 - Words`.
pub fn is_row(name: &str) -> bool {
    let found = LEADING.as_ref().and_then(|leading| leading.captures(name));
    let pair = found.and_then(|found| Some((digits(found.get(1))?, digits(found.get(2))?)));
    pair.is_some_and(|(first, last)| last > first && last - first <= SPAN && first < 1900)
}

/// Episodes in a name without a season. `season`: that of the folder; `show`: its title.
pub fn of_file(name: &str, season: Option<i64>, show: Option<&str>) -> Option<Numbers> {
    let bare = BRACKETS.as_ref()?.replace_all(name, " ");
    let bare = bare.trim_matches([' ', '-', '_', '.']);
    let rest = show.and_then(|show| behind(bare, show)).unwrap_or(bare);
    counted(name)
        .or_else(|| worded(rest))
        .or_else(|| leading(rest, season))
        .or_else(|| season.and_then(|_| trailing(bare, season)))
}

fn worded(name: &str) -> Option<Numbers> {
    let found = WORDED.as_ref()?.captures(name)?;
    Some(row(digits(found.get(1))?, digits(found.get(2))))
}

fn counted(name: &str) -> Option<Numbers> {
    let found = COUNTED.as_ref()?.captures(name)?;
    Some(row(digits(found.get(1).or(found.get(2)).or(found.get(3)))?, None))
}

fn leading(name: &str, season: Option<i64>) -> Option<Numbers> {
    let found = LEADING.as_ref()?.captures(name)?;
    within(digits(found.get(1))?, digits(found.get(2)), season)
}

fn trailing(name: &str, season: Option<i64>) -> Option<Numbers> {
    let found = TRAILING.as_ref()?.captures(name)?;
    within(digits(found.get(1))?, None, season)
}

/// Episodes of a season whose number may be written before them: `101` is episode 1 of season 1.
fn within(first: i64, last: Option<i64>, season: Option<i64>) -> Option<Numbers> {
    let inside = |number: i64| match season {
        Some(season) if season > 0 && number >= 100 && number / 100 == season && number % 100 > 0 => {
            number % 100
        }
        _ => number,
    };
    if (1900..2100).contains(&first) && inside(first) == first {
        return None;
    }
    Some(row(inside(first), last.map(inside)))
}

fn row(first: i64, last: Option<i64>) -> Numbers {
    Numbers {
        season: None,
        episode: Some(first),
        end: last.filter(|last| *last > first && *last - first <= SPAN),
    }
}

/// Text behind the title of a show at the beginning of a name.
fn behind<'n>(name: &'n str, show: &str) -> Option<&'n str> {
    let squashed = |text: &str| normalise(text).replace(' ', "");
    let show = squashed(show);
    if show.is_empty() {
        return None;
    }
    let ends = name
        .char_indices()
        .map(|(at, letter)| at + letter.len_utf8())
        .take(300);
    let end = ends.filter(|end| {
        name[*end..]
            .chars()
            .next()
            .is_none_or(|next| !next.is_alphanumeric())
    });
    let end = end.into_iter().find(|end| squashed(&name[..*end]) == show)?;
    let rest = name[end..].trim_start_matches([' ', '.', '_', '-', '–', ':', ',']);
    (!rest.is_empty()).then_some(rest)
}
