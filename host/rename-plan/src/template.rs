//! Language of templates: `{Series Title}/Season {season}/S{season:00}E{episode:00}{year? ({year})}.{ext}`.
//!
//! `{token}` is a value, `{token:00}` a number with at least that many digits, `{token?text}` a text that stands there only if
//! the token has a value; `/` separates folders.

use crate::token::Token;

/// Most characters of a template.
pub const MAX_TEMPLATE: usize = 2000;
/// Most pieces of a template: texts, tokens and conditions.
pub const MAX_PIECES: usize = 200;
/// Most folders of a template.
pub const MAX_FOLDERS: usize = 16;
/// Most conditions within each other.
const MAX_DEPTH: usize = 4;
/// Most digits that a number is filled up to.
const MAX_PAD: usize = 6;
/// End of every template.
const ENDING: &str = ".{ext}";
/// Most characters of a token that an error repeats.
const SHOWN: usize = 40;

/// Part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Text(String),
    Token {
        token: Token,
        /// Least number of digits.
        pad: usize,
    },
    /// Text that stands there only if the token has a value.
    If {
        token: Token,
        then: Vec<Piece>,
    },
    /// Season and episode in one word, for which a day may stand: `S{season:00}E{episode:00}`.
    Mark {
        lead: Option<char>,
        season: usize,
        between: char,
        episode: usize,
    },
}

/// A template that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// Text as it was written.
    text: String,
    pieces: Vec<Piece>,
    tokens: Vec<Token>,
}

/// Fault of a template. Positions are counted in characters, the first is 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    #[error("the template is empty: write one, e.g. {{Movie Title}} ({{year}}).{{ext}}")]
    Empty,
    #[error("the template has more than {MAX_TEMPLATE} characters: shorten it")]
    TooLong,
    #[error("the template has more than {MAX_PIECES} texts and tokens: shorten it")]
    TooManyPieces,
    #[error("the template has more than {MAX_FOLDERS} folders: use fewer")]
    TooManyFolders,
    #[error(
        "the condition at character {0} is inside of {MAX_DEPTH} others, and more are not read: write it beside them"
    )]
    TooDeep(usize),
    #[error("the brace at character {0} is not closed: add the closing brace")]
    Open(usize),
    #[error("the closing brace at character {0} closes nothing: remove it")]
    Stray(usize),
    #[error("there is no token {{{name}}} (character {at}): there are {}", Token::list())]
    Unknown { name: String, at: usize },
    #[error(
        "{{{name}:{format}}} (character {at}) is no format of a number: write one zero for each digit, {MAX_PAD} at most, e.g. {{season:00}}"
    )]
    Format { name: String, format: String, at: usize },
    #[error("the template must end with .{{ext}}, and have {{ext}} nowhere else")]
    Ending,
    #[error(
        "the template begins with a slash: names are below the library's directory, so begin with a name"
    )]
    Absolute,
    #[error("the folder `{0}` would leave the library's directory: write the name of a folder")]
    Escapes(String),
    #[error("the character {found:?} at {at} has no place in a path: remove it, and separate folders by /")]
    Character { found: char, at: usize },
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// When it is too large, has a fault, or would lead out of the library's directory.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        // Bytes first: the length in characters is not counted for a text of any size.
        if text.len() > MAX_TEMPLATE * 4 || text.chars().count() > MAX_TEMPLATE {
            return Err(TemplateError::TooLong);
        }
        let text = text.trim();
        if text.is_empty() {
            return Err(TemplateError::Empty);
        }
        check_characters(text)?;
        let Some(body) = text.strip_suffix(ENDING) else {
            // A fault inside is told first: it is why the end is not found.
            let _ = Parser::new(text).read_all()?;
            return Err(TemplateError::Ending);
        };
        let mut parser = Parser::new(body);
        let pieces = parser.read_all()?;
        let tokens = parser.tokens;
        if tokens.contains(&Token::Ext) {
            return Err(TemplateError::Ending);
        }
        check_folders(text)?;
        Ok(Self {
            text: text.to_owned(),
            pieces: with_marks(pieces),
            tokens,
        })
    }

    /// Text as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// True if a token stands anywhere in it.
    pub fn has(&self, token: Token) -> bool {
        token == Token::Ext || self.tokens.contains(&token)
    }

    /// Tokens in the order in which they stand, each once.
    pub fn tokens(&self) -> Vec<Token> {
        let mut tokens: Vec<Token> = Vec::new();
        for token in &self.tokens {
            if !tokens.contains(token) {
                tokens.push(*token);
            }
        }
        tokens.push(Token::Ext);
        tokens
    }
}

fn check_characters(text: &str) -> Result<(), TemplateError> {
    let bad = |letter: &char| *letter == '\\' || letter.is_control();
    match text.chars().position(|letter| bad(&letter)) {
        Some(at) => Err(TemplateError::Character {
            found: text.chars().nth(at).unwrap_or_default(),
            at: at + 1,
        }),
        None => Ok(()),
    }
}

fn check_folders(text: &str) -> Result<(), TemplateError> {
    if text.starts_with('/') {
        return Err(TemplateError::Absolute);
    }
    let folders: Vec<&str> = text.split('/').collect();
    if folders.len() > MAX_FOLDERS + 1 {
        return Err(TemplateError::TooManyFolders);
    }
    let escapes = |folder: &&&str| {
        let folder = folder.trim();
        !folder.is_empty() && folder.chars().all(|letter| letter == '.' || letter == ' ')
    };
    match folders.iter().find(escapes) {
        Some(folder) => Err(TemplateError::Escapes((*folder).to_owned())),
        None => Ok(()),
    }
}

struct Parser<'t> {
    letters: std::iter::Peekable<std::iter::Enumerate<std::str::Chars<'t>>>,
    count: usize,
    tokens: Vec<Token>,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            letters: text.chars().enumerate().peekable(),
            count: 0,
            tokens: Vec::new(),
        }
    }

    fn read_all(&mut self) -> Result<Vec<Piece>, TemplateError> {
        let pieces = self.read_pieces(0)?;
        match self.letters.next() {
            Some((at, _)) => Err(TemplateError::Stray(at + 1)),
            None => Ok(pieces),
        }
    }

    /// Pieces up to the end, or up to the brace that closes a condition.
    fn read_pieces(&mut self, depth: usize) -> Result<Vec<Piece>, TemplateError> {
        let mut pieces = Vec::new();
        while let Some((at, letter)) = self.letters.next_if(|(_, letter)| *letter != '}') {
            if letter == '{' {
                self.count_piece()?;
                pieces.push(self.read_token(at, depth)?);
                continue;
            }
            if let Some(Piece::Text(text)) = pieces.last_mut() {
                text.push(letter);
            } else {
                self.count_piece()?;
                pieces.push(Piece::Text(letter.into()));
            }
        }
        Ok(pieces)
    }

    fn count_piece(&mut self) -> Result<(), TemplateError> {
        self.count += 1;
        if self.count > MAX_PIECES {
            return Err(TemplateError::TooManyPieces);
        }
        Ok(())
    }

    fn read_token(&mut self, at: usize, depth: usize) -> Result<Piece, TemplateError> {
        let mut name = String::new();
        while let Some((_, letter)) = self
            .letters
            .next_if(|(_, letter)| !matches!(letter, '}' | '{' | ':' | '?'))
        {
            name.push(letter);
        }
        let closer = self.letters.next().map(|(_, letter)| letter);
        let found = || {
            Token::from_name(name.trim()).ok_or_else(|| TemplateError::Unknown {
                name: shorten(&name),
                at: at + 1,
            })
        };
        match closer {
            Some('}') => {
                let token = found()?;
                self.tokens.push(token);
                Ok(Piece::Token { token, pad: 0 })
            }
            Some(':') => {
                let token = found()?;
                let pad = self.read_format(&name, at)?;
                self.tokens.push(token);
                Ok(Piece::Token { token, pad })
            }
            Some('?') => {
                let token = found()?;
                if depth >= MAX_DEPTH {
                    return Err(TemplateError::TooDeep(at + 1));
                }
                let then = self.read_pieces(depth + 1)?;
                match self.letters.next() {
                    Some(_) => Ok(Piece::If { token, then }),
                    None => Err(TemplateError::Open(at + 1)),
                }
            }
            _ => Err(TemplateError::Open(at + 1)),
        }
    }

    fn read_format(&mut self, name: &str, at: usize) -> Result<usize, TemplateError> {
        let mut format = String::new();
        while let Some((_, letter)) = self.letters.next_if(|(_, letter)| *letter != '}') {
            format.push(letter);
        }
        if self.letters.next().is_none() {
            return Err(TemplateError::Open(at + 1));
        }
        let is_zeros = !format.is_empty() && format.bytes().all(|byte| byte == b'0');
        if !is_zeros || format.len() > MAX_PAD {
            return Err(TemplateError::Format {
                name: shorten(name),
                format: shorten(&format),
                at: at + 1,
            });
        }
        Ok(format.len())
    }
}

fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(SHOWN).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// Pieces with season and episode joined where they stand in one word.
fn with_marks(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut marked: Vec<Piece> = Vec::new();
    for piece in pieces {
        let piece = match piece {
            Piece::If { token, then } => Piece::If {
                token,
                then: with_marks(then),
            },
            other => other,
        };
        marked.push(piece);
        if let Some(mark) = mark_at_end(&marked) {
            marked.truncate(marked.len() - 3);
            let lead = match marked.last_mut() {
                Some(Piece::Text(text)) if text.ends_with(['s', 'S']) && is_own_word(text) => text.pop(),
                _ => None,
            };
            if let Piece::Mark {
                season,
                between,
                episode,
                ..
            } = mark
            {
                marked.push(Piece::Mark {
                    lead,
                    season,
                    between,
                    episode,
                });
            }
        }
    }
    marked
}

/// True if the last letter of a text stands alone.
fn is_own_word(text: &str) -> bool {
    !text.chars().rev().nth(1).is_some_and(char::is_alphanumeric)
}

fn mark_at_end(pieces: &[Piece]) -> Option<Piece> {
    let [
        ..,
        Piece::Token {
            token: Token::Season,
            pad: season,
        },
        Piece::Text(text),
        Piece::Token {
            token: Token::Episode,
            pad: episode,
        },
    ] = pieces
    else {
        return None;
    };
    let mut letters = text.chars();
    let between = letters.next().filter(|letter| "eExX".contains(*letter))?;
    letters.next().is_none().then_some(Piece::Mark {
        lead: None,
        season: *season,
        between,
        episode: *episode,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_told_with_their_place() {
        let deep = format!("{}{{year}}{}.{{ext}}", "{year?".repeat(5), "}".repeat(5));
        for (text, told) in [
            ("", "is empty"),
            ("   ", "is empty"),
            ("{Movie Title}.mkv", "must end with .{ext}"),
            ("{ext}/{Movie Title}.{ext}", "must end with .{ext}"),
            ("{Movie Title.{ext}", "brace at character 1 is not closed"),
            ("a{year?({year}).{ext}", "brace at character 2 is not closed"),
            ("{Movie Title}}.{ext}", "closing brace at character 14"),
            (
                "{Name}.{ext}",
                "no token {Name} (character 1): there are {Series Title}, {Movie Title}",
            ),
            ("{season:0x}.{ext}", "{season:0x} (character 1) is no format"),
            ("{season:}.{ext}", "is no format"),
            ("{season:0000000}.{ext}", "is no format"),
            ("/tv/{General}.{ext}", "begins with a slash"),
            ("../{General}.{ext}", "`..` would leave"),
            ("a/../{General}.{ext}", "`..` would leave"),
            ("a/ . /{General}.{ext}", "` . ` would leave"),
            ("a\\b.{ext}", "'\\\\' at 2"),
            ("a\u{0}b.{ext}", "at 2"),
            ("{}.{ext}", "no token {}"),
            (&deep, "inside of 4 others"),
        ] {
            let error = Template::parse(text).expect_err(text).to_string();
            assert!(error.contains(told), "{text}: {error}");
        }
    }

    #[test]
    fn large_ones_are_refused_whatever_they_are_made_of() {
        let many = format!("{}.{{ext}}", "{year}".repeat(100_000));
        assert_eq!(Template::parse(&many), Err(TemplateError::TooLong));
        let pieces = format!("{}.{{ext}}", "{year}".repeat(MAX_PIECES + 1));
        assert_eq!(Template::parse(&pieces), Err(TemplateError::TooManyPieces));
        let open = "{".repeat(MAX_TEMPLATE);
        assert_eq!(Template::parse(&open), Err(TemplateError::Open(1)));
        let nested = "{year?".repeat(300);
        assert!(matches!(Template::parse(&nested), Err(TemplateError::TooDeep(_))));
        let folders = format!("{}{{General}}.{{ext}}", "a/".repeat(MAX_FOLDERS + 1));
        assert_eq!(Template::parse(&folders), Err(TemplateError::TooManyFolders));
    }

    #[test]
    fn tokens_and_numbers_are_read() {
        let template =
            Template::parse("{series title}/S{season:00}E{episode:00}{year? ({year})}.{ext}").unwrap();
        assert_eq!(
            template.tokens(),
            [
                Token::SeriesTitle,
                Token::Season,
                Token::Episode,
                Token::Year,
                Token::Ext
            ]
        );
        let mark = |piece: &Piece| {
            matches!(
                piece,
                Piece::Mark {
                    lead: Some('S'),
                    season: 2,
                    between: 'E',
                    episode: 2
                }
            )
        };
        assert!(template.pieces().iter().any(mark), "{template:?}");
        let words = Template::parse("Episodes{season}E{episode}.{ext}").unwrap();
        assert!(
            words
                .pieces()
                .iter()
                .any(|piece| matches!(piece, Piece::Mark { lead: None, .. }))
        );
        assert_eq!(words.pieces()[0], Piece::Text("Episodes".to_owned()));
    }
}
