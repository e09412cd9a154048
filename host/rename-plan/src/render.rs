//! A template filled with the values of a file: folders and the name, as every file system takes them.

use std::fmt::Write as _;

use crate::MAX_NAME_BYTES;
use crate::clean;
use crate::preset::Preset;
use crate::read::{Content, Reading};
use crate::template::{Piece, Template};
use crate::token::Token;

/// Most bytes of a path below the library's directory.
const MAX_PATH_BYTES: usize = 3000;
/// Fewest bytes that a title of an episode is shortened to.
const LEAST_TITLE: usize = 16;
/// Most bytes of one value: more than any name has.
const MAX_VALUE: usize = 1024;

/// Reason for which a file gets no name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("its name has no title")]
    NoTitle,
    #[error("its name says no episode and no day")]
    NoNumber,
    #[error("invalid naming template: nothing is left of the name")]
    Nothing,
    #[error(
        "the name `{start}…` would have {bytes} bytes, and file systems take {MAX_NAME_BYTES}: use a shorter template"
    )]
    TooLong { start: String, bytes: usize },
    #[error("the path would have {0} bytes, and {MAX_PATH_BYTES} are the most: use a shorter template")]
    PathTooLong(usize),
}

/// Place of a file below the library's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rendered {
    pub folders: Vec<String>,
    pub stem: String,
    /// True if the title of the episode was shortened.
    pub is_shortened: bool,
}

impl Rendered {
    /// Path with an ending.
    pub fn path(&self, ext: &str) -> String {
        let mut path = self.folders.join("/");
        if !path.is_empty() {
            path.push('/');
        }
        path.push_str(&self.stem);
        if !ext.is_empty() {
            path.push('.');
            path.push_str(ext);
        }
        path
    }
}

/// Fills a template. `label`: the words by which this version differs from others.
pub(crate) fn render(
    template: &Template,
    reading: &Reading,
    preset: Preset,
    label: Option<&str>,
    ext: &str,
) -> Result<Rendered, Refusal> {
    check_values(template, reading)?;
    let mut most = MAX_VALUE;
    loop {
        let rendered = render_within(template, reading, preset, label, most)?;
        let bytes = rendered.stem.len() + 1 + ext.len();
        let title = reading
            .text(Token::EpisodeTitle)
            .map_or(0, |title| clean::value(title).len().min(most));
        let over = bytes.saturating_sub(MAX_NAME_BYTES);
        if over == 0 {
            check_lengths(&rendered, ext)?;
            return Ok(Rendered {
                is_shortened: most < MAX_VALUE,
                ..rendered
            });
        }
        if !template.has(Token::EpisodeTitle) || title < over + LEAST_TITLE {
            return Err(too_long(&rendered.stem, bytes));
        }
        most = title - over;
    }
}

fn check_values(template: &Template, reading: &Reading) -> Result<(), Refusal> {
    let title = reading.text(reading.content.title()).map(clean::value);
    if title.and_then(|title| clean::segment(&title)).is_none() {
        return Err(Refusal::NoTitle);
    }
    if reading.content.has_episodes() && template.has(Token::Episode) && !reading.is_numbered() {
        return Err(Refusal::NoNumber);
    }
    Ok(())
}

fn check_lengths(rendered: &Rendered, ext: &str) -> Result<(), Refusal> {
    if let Some(folder) = rendered
        .folders
        .iter()
        .find(|folder| folder.len() > MAX_NAME_BYTES)
    {
        return Err(too_long(folder, folder.len()));
    }
    let bytes = rendered.path(ext).len();
    if bytes > MAX_PATH_BYTES {
        return Err(Refusal::PathTooLong(bytes));
    }
    Ok(())
}

fn too_long(name: &str, bytes: usize) -> Refusal {
    Refusal::TooLong {
        start: name.chars().take(40).collect(),
        bytes,
    }
}

fn render_within(
    template: &Template,
    reading: &Reading,
    preset: Preset,
    label: Option<&str>,
    most: usize,
) -> Result<Rendered, Refusal> {
    let mut filler = Filler {
        reading,
        has_end: template.has(Token::EpisodeEnd),
        most,
        text: String::new(),
    };
    filler.fill(template.pieces());
    let text = filler.text;
    let mut folders: Vec<&str> = text.split('/').collect();
    let name = folders.pop().unwrap_or_default();
    let stem = clean::segment(name).ok_or(Refusal::Nothing)?;
    let stem =
        clean::segment(&with_additions(stem, template, reading, preset, label)).ok_or(Refusal::Nothing)?;
    let is_special = reading.content.has_episodes() && reading.number(Token::Season) == Some(0);
    let folders: Vec<String> = folders
        .into_iter()
        .filter_map(clean::segment)
        .map(|folder| {
            if is_special && is_season_zero(&folder) {
                "Specials".to_owned()
            } else {
                folder
            }
        })
        .collect();
    Ok(Rendered {
        folders,
        stem,
        is_shortened: false,
    })
}

fn is_season_zero(folder: &str) -> bool {
    let lower = folder.to_ascii_lowercase();
    let number = lower.strip_prefix("season").map(str::trim);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|digit| digit == b'0'))
}

/// Name with what the template leaves out and what would be lost: the edition, the version, the part.
fn with_additions(
    mut stem: String,
    template: &Template,
    reading: &Reading,
    preset: Preset,
    label: Option<&str>,
) -> String {
    let edition = reading
        .text(Token::Edition)
        .filter(|_| reading.content == Content::Movie && !template.has(Token::Edition));
    if let Some(edition) = edition.map(clean::value).filter(|edition| !edition.is_empty()) {
        // A text takes whatever is written.
        let _ = match preset {
            Preset::Plex | Preset::Custom => write!(stem, " {{edition-{edition}}}"),
            Preset::Jellyfin | Preset::Emby | Preset::Kodi => write!(stem, " - {edition}"),
        };
    }
    if let Some(label) = label.map(clean::value).filter(|label| !label.is_empty()) {
        let _ = write!(stem, " - {label}");
    }
    let part = reading.number(Token::Part).filter(|_| !template.has(Token::Part));
    if let Some(part) = part {
        let _ = write!(stem, " - part{part}");
    }
    stem
}

struct Filler<'r> {
    reading: &'r Reading,
    /// True if the template says where the last of several episodes stands.
    has_end: bool,
    /// Most bytes of an episode's title.
    most: usize,
    text: String,
}

impl Filler<'_> {
    fn fill(&mut self, pieces: &[Piece]) {
        for piece in pieces {
            match piece {
                Piece::Text(text) => self.text.push_str(text),
                Piece::Token { token, pad } => self.put(*token, *pad),
                Piece::If { token, then } => {
                    if self.reading.values.contains_key(token) {
                        self.fill(then);
                    }
                }
                Piece::Mark {
                    lead,
                    season,
                    between,
                    episode,
                } => self.put_mark(*lead, *season, *between, *episode),
            }
        }
    }

    fn put(&mut self, token: Token, pad: usize) {
        let Some(text) = self.reading.text(token) else {
            // Where a number stands alone, the day stands for it.
            if token == Token::Episode
                && let Some(day) = self.reading.text(Token::AirDate)
            {
                self.text.push_str(&clean::value(day));
            }
            return;
        };
        let most = if token == Token::EpisodeTitle {
            self.most
        } else {
            MAX_VALUE
        };
        let value = clean::value(text);
        self.text.push_str(&padded(clean::shorten(&value, most), pad));
        if token == Token::Episode
            && !self.has_end
            && let Some(end) = self.reading.text(Token::EpisodeEnd)
        {
            let _ = write!(self.text, "-E{}", padded(end, pad));
        }
    }

    fn put_mark(&mut self, lead: Option<char>, season: usize, between: char, episode: usize) {
        let reading = self.reading;
        let Some(number) = reading.text(Token::Episode) else {
            self.put(Token::AirDate, 0);
            return;
        };
        let season = padded(reading.text(Token::Season).unwrap_or("1"), season);
        if let Some(lead) = lead {
            self.text.push(lead);
        }
        self.text.push_str(&season);
        self.text.push(between);
        self.text.push_str(&padded(number, episode));
        if let Some(end) = reading.text(Token::EpisodeEnd).filter(|_| !self.has_end) {
            let end = padded(end, episode);
            // A text takes whatever is written.
            let _ = match between {
                'x' | 'X' => write!(self.text, "-{season}{between}{end}"),
                _ => write!(self.text, "-{between}{end}"),
            };
        }
    }
}

/// Number with at least this many digits; any other text as it is.
fn padded(text: &str, pad: usize) -> String {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        format!("{text:0>pad$}")
    } else {
        text.to_owned()
    }
}
