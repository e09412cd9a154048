//! Regular expressions in ECMAScript syntax without the flags `u`, `s` and `m`, case-insensitive and
//! unanchored, translated for an engine with linear time.
//!
//! Backreferences and lookaround, which such an engine cannot do, are refused, and so are expressions that
//! ECMAScript refuses.

use std::fmt::Write as _;

use regex::{Regex, RegexBuilder};

/// Largest number of characters of a pattern.
pub const MAX_CHARS: usize = 1000;
/// Largest size of a compiled pattern in bytes, and of its matching state.
pub const MAX_COMPILED: usize = 128 * 1024;
/// Number of bytes of a text that are searched.
pub const MAX_TEXT: usize = 16 * 1024;
/// Largest nesting depth of groups.
const MAX_DEPTH: u32 = 64;

/// Reason why a pattern is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    #[error("has {0} characters; {MAX_CHARS} is the most")]
    TooLong(usize),
    #[error("uses {0}, which patterns here cannot have")]
    Unsupported(&'static str),
    #[error("is no regular expression: {0}")]
    Invalid(&'static str),
    #[error("is too large when it is compiled")]
    TooLarge,
}

/// A compiled pattern.
#[derive(Clone, Debug)]
pub struct Pattern(Regex);

impl Pattern {
    pub fn compile(source: &str) -> Result<Self, PatternError> {
        let length = source.chars().count();
        if length > MAX_CHARS {
            return Err(PatternError::TooLong(length));
        }
        let translated = Translator::new(source).translate()?;
        RegexBuilder::new(&translated)
            .case_insensitive(true)
            .size_limit(MAX_COMPILED)
            .dfa_size_limit(MAX_COMPILED)
            .nest_limit(MAX_DEPTH)
            .build()
            .map(Self)
            .map_err(|error| match error {
                regex::Error::Syntax(_) => {
                    PatternError::Invalid("its parts do not fit together, or are nested too deeply")
                }
                _ => PatternError::TooLarge,
            })
    }

    /// True when it matches anywhere in the first [`MAX_TEXT`] bytes of the text.
    pub fn is_in(&self, text: &str) -> bool {
        self.0.is_match(&text[..text.floor_char_boundary(MAX_TEXT)])
    }
}

const DIGITS: &str = "0-9";
const WORD: &str = "0-9A-Z_a-z";
/// White space and line ends of ECMAScript.
const SPACES: &str =
    r"\t\n\x0B\x0C\r \x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}";

/// Meaning of an escape.
enum Escape {
    Letter(char),
    /// A set; `true` for its complement.
    Set(&'static str, bool),
}

/// Rewrites a pattern character by character.
struct Translator {
    letters: Vec<char>,
    at: usize,
    out: String,
    /// True when the preceding element may be repeated.
    repeatable: bool,
}

impl Translator {
    fn new(source: &str) -> Self {
        Self {
            letters: source.chars().collect(),
            at: 0,
            out: String::with_capacity(source.len() + 16),
            repeatable: false,
        }
    }

    fn peek(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let letter = self.peek();
        self.at += usize::from(letter.is_some());
        letter
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = text
            .chars()
            .zip(self.letters.iter().skip(self.at))
            .filter(|(a, b)| a == *b)
            .count();
        let eaten = found == text.chars().count();
        if eaten {
            self.at += found;
        }
        eaten
    }

    fn translate(mut self) -> Result<String, PatternError> {
        while let Some(letter) = self.next() {
            match letter {
                '\\' => self.escape()?,
                '[' => self.class()?,
                '(' => self.group()?,
                '*' | '+' | '?' => self.repeat(&letter.to_string())?,
                '{' => match self.count() {
                    Some(count) => self.repeat(&count)?,
                    None => self.push_letter('{'),
                },
                '|' => self.plain("|", false),
                '^' | '$' => self.plain(&letter.to_string(), false),
                ')' => self.plain(")", true),
                '.' => self.plain(r"[^\n\r\x{2028}\x{2029}]", true),
                other => self.push_letter(other),
            }
        }
        Ok(self.out)
    }

    fn plain(&mut self, text: &str, repeatable: bool) {
        self.out.push_str(text);
        self.repeatable = repeatable;
    }

    fn push_letter(&mut self, letter: char) {
        push_code(&mut self.out, letter);
        self.repeatable = true;
    }

    fn repeat(&mut self, how: &str) -> Result<(), PatternError> {
        if !self.repeatable {
            return Err(PatternError::Invalid("there is nothing to repeat"));
        }
        self.out.push_str(how);
        if self.eat("?") {
            self.out.push('?');
        }
        self.repeatable = false;
        Ok(())
    }

    /// `{2}`, `{2,}` or `{2,5}` after its brace; anything else is a literal brace.
    fn count(&mut self) -> Option<String> {
        let rest: String = self.letters[self.at..].iter().take(16).collect();
        let inside = rest.split_once('}')?.0;
        let (least, most) = inside.split_once(',').unwrap_or((inside, ""));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
        if !is_number(least) || !(most.is_empty() || is_number(most)) {
            return None;
        }
        self.at += inside.chars().count() + 1;
        Some(format!("{{{inside}}}"))
    }

    fn group(&mut self) -> Result<(), PatternError> {
        for looks in ["?=", "?!", "?<=", "?<!"] {
            if self.eat(looks) {
                return Err(PatternError::Unsupported("a look ahead or behind"));
            }
        }
        if self.eat("?<") {
            // The name of a group is not used.
            while self.next().ok_or(PatternError::Invalid("a group has no name"))? != '>' {}
        } else if !self.eat("?:") && self.peek() == Some('?') {
            return Err(PatternError::Invalid("there is nothing to repeat"));
        }
        self.plain("(?:", false);
        Ok(())
    }

    fn escape(&mut self) -> Result<(), PatternError> {
        match self.peek() {
            Some('b') => {
                self.at += 1;
                self.plain(r"(?-u:\b)", false);
            }
            Some('B') => {
                self.at += 1;
                self.plain(r"(?-u:\B)", false);
            }
            Some('1'..='9') => return Err(PatternError::Unsupported("a backreference")),
            Some('k') => return Err(PatternError::Unsupported("a named backreference")),
            _ => match self.escaped()? {
                Escape::Letter(letter) => self.push_letter(letter),
                // Case folding would add letters of other alphabets.
                Escape::Set(set, rest) => {
                    let not = if rest { "^" } else { "" };
                    self.plain(&format!("(?-i:[{not}{set}])"), true);
                }
            },
        }
        Ok(())
    }

    /// The escape after a backslash, inside and outside of a class.
    fn escaped(&mut self) -> Result<Escape, PatternError> {
        let letter = self
            .next()
            .ok_or(PatternError::Invalid("it ends in a backslash"))?;
        Ok(match letter {
            'd' => Escape::Set(DIGITS, false),
            'D' => Escape::Set(DIGITS, true),
            'w' => Escape::Set(WORD, false),
            'W' => Escape::Set(WORD, true),
            's' => Escape::Set(SPACES, false),
            'S' => Escape::Set(SPACES, true),
            'n' => Escape::Letter('\n'),
            'r' => Escape::Letter('\r'),
            't' => Escape::Letter('\t'),
            'v' => Escape::Letter('\u{b}'),
            'f' => Escape::Letter('\u{c}'),
            '0' if !self.peek().is_some_and(|next| next.is_ascii_digit()) => Escape::Letter('\0'),
            '0'..='9' => return Err(PatternError::Unsupported("an octal escape")),
            'c' => match self.peek().filter(char::is_ascii_alphabetic) {
                Some(control) => {
                    self.at += 1;
                    Escape::Letter(char::from(control as u8 % 32))
                }
                None => return Err(PatternError::Unsupported("a control letter that is none")),
            },
            'x' => Escape::Letter(self.hex(2).and_then(char::from_u32).unwrap_or('x')),
            'u' => self.unit()?,
            other => Escape::Letter(other),
        })
    }

    /// Reads this number of hexadecimal digits, or nothing.
    fn hex(&mut self, digits: usize) -> Option<u32> {
        let text: String = self.letters.get(self.at..self.at + digits)?.iter().collect();
        let is_hex = text.bytes().all(|digit| digit.is_ascii_hexdigit());
        let number = u32::from_str_radix(&text, 16).ok().filter(|_| is_hex)?;
        self.at += digits;
        Some(number)
    }

    /// After `\u`: a character, or a surrogate pair.
    fn unit(&mut self) -> Result<Escape, PatternError> {
        let Some(unit) = self.hex(4) else {
            return Ok(Escape::Letter('u'));
        };
        if let Some(letter) = char::from_u32(unit) {
            return Ok(Escape::Letter(letter));
        }
        let half = PatternError::Unsupported("half of a character");
        if !(0xd800..0xdc00).contains(&unit) || !self.eat("\\u") {
            return Err(half);
        }
        let low = self
            .hex(4)
            .filter(|low| (0xdc00..0xe000).contains(low))
            .ok_or(half.clone())?;
        let code = 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
        char::from_u32(code).map(Escape::Letter).ok_or(half)
    }

    fn class(&mut self) -> Result<(), PatternError> {
        let rest = self.eat("^");
        if self.eat("]") {
            // The empty class, or its complement.
            self.plain(
                if rest {
                    r"[\x00-\x{10FFFF}]"
                } else {
                    r"[^\x00-\x{10FFFF}]"
                },
                true,
            );
            return Ok(());
        }
        let mut class = String::from(if rest { "[^" } else { "[" });
        while !self.eat("]") {
            let first = self.member()?;
            let is_range =
                self.peek() == Some('-') && !matches!(self.letters.get(self.at + 1), None | Some(']'));
            if !is_range {
                push_member(&mut class, &first);
                continue;
            }
            self.at += 1;
            let last = self.member()?;
            if let (Escape::Letter(first), Escape::Letter(last)) = (&first, &last) {
                if first > last {
                    return Err(PatternError::Invalid("a range in a class runs backwards"));
                }
                push_code(&mut class, *first);
                class.push('-');
                push_code(&mut class, *last);
            } else {
                // Beside a set the dash is a literal.
                push_member(&mut class, &first);
                push_code(&mut class, '-');
                push_member(&mut class, &last);
            }
        }
        class.push(']');
        self.plain(&class, true);
        Ok(())
    }

    /// One member of a class.
    fn member(&mut self) -> Result<Escape, PatternError> {
        match self.next() {
            None => Err(PatternError::Invalid("a class has no end")),
            Some('\\') if self.peek() == Some('b') => {
                self.at += 1;
                Ok(Escape::Letter('\u{8}'))
            }
            Some('\\') => self.escaped(),
            Some(letter) => Ok(Escape::Letter(letter)),
        }
    }
}

fn push_member(class: &mut String, member: &Escape) {
    match member {
        Escape::Letter(letter) => push_code(class, *letter),
        Escape::Set(set, false) => class.push_str(set),
        Escape::Set(set, true) => {
            class.push_str("[^");
            class.push_str(set);
            class.push(']');
        }
    }
}

/// A literal character: unchanged if it surely has no special meaning, else by its code.
fn push_code(out: &mut String, letter: char) {
    if letter.is_ascii_alphanumeric() || (!letter.is_ascii() && !letter.is_whitespace()) {
        out.push(letter);
    } else {
        let _ = write!(out, "\\x{{{:X}}}", u32::from(letter));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_in_ecmascript() {
        for (pattern, text, expected) in [
            ("1080p|720p", "Show.S01.720P.x264", true),
            ("^show", "Show.S01", true),
            ("^show$", "Show.S01", false),
            ("", "anything", true),
            ("a.c", "a\nc", false),
            ("a[^]c", "a\nc", true),
            ("a[]c", "abc", false),
            ("[[:alpha:]]", "a]", true),
            ("[a&&b]", "&", true),
            ("[a-\\d]", "-", true),
            ("[\\w-]", "-", true),
            ("[^\\D]", "5", true),
            ("[^\\D]", "x", false),
            ("a{2}", "aa", true),
            ("a{2}", "a{2}", false),
            ("a{,2}", "a{,2}", true),
            ("x{", "x{", true),
            ("a}b]", "a}b]", true),
            ("\\d", "\u{661}", false),
            ("\\w", "\u{e9}", false),
            ("\\w", "\u{212a}", false),
            ("\u{e9}", "\u{c9}", true),
            ("\\s", "\u{feff}", true),
            ("\\bfoo\\b", "a foo b", true),
            ("\\bfoo\\b", "afoo", false),
            ("o\\Bo", "foo", true),
            ("\\x41\\u0042", "xab", true),
            ("\\ud83d\\ude00", "\u{1f600}", true),
            ("\\/\\-\\_\\y", "/-_y", true),
            ("(?<year>\\d{4})", "2021", true),
            ("(?:a|b)+?c", "abc", true),
            ("\\pL", "pl", true),
            ("#\\ x", "# x", true),
            ("\\0", "\0", true),
            ("\\cA", "\u{1}", true),
            ("[\\b]", "\u{8}", true),
            ("(a)", "A", true),
        ] {
            let compiled = Pattern::compile(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
            assert_eq!(compiled.is_in(text), expected, "{pattern} in {text}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for pattern in [
            "(", ")", "[", "[z-a]", "*", "+a", "a**", "^*", "(?i)a", "(?", "(?<", "a|*", "\\", "a{2,1}",
        ] {
            assert!(
                matches!(Pattern::compile(pattern), Err(PatternError::Invalid(_))),
                "{pattern}"
            );
        }
        let huge = Pattern::compile("((a{99}){99}){99}");
        assert_eq!(huge.err(), Some(PatternError::TooLarge));
        let deep = "(".repeat(100) + &")".repeat(100);
        assert!(matches!(Pattern::compile(&deep), Err(PatternError::Invalid(_))));
    }

    /// A backtracking engine would practically never end: some of these take 2ⁿ steps for n letters.
    #[test]
    fn what_takes_others_for_ever_is_a_walk_over_the_text() {
        let text = "a".repeat(MAX_TEXT - 1) + "b";
        for pattern in [
            "^(a+)+$",
            "^(a*)*$",
            "^(a|aa)+$",
            "^(a|a?)+$",
            "(a*)*c",
            "^(a?){99}a{99}$",
            "^(.*a){20}$",
            "(x+x+)+y",
        ] {
            let pattern = Pattern::compile(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
            assert!(!pattern.is_in(&text), "{pattern:?}");
        }
    }

    #[test]
    fn text_beyond_the_bound_is_not_looked_at() {
        let pattern = Pattern::compile("end$|far").expect("a pattern");
        assert!(!pattern.is_in(&("\u{e9}".repeat(MAX_TEXT) + "far")));
    }
}
