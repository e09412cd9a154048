//! Cuts a reply into tokens, resumable at any byte: a token that is not complete yet is not consumed.
//!
//! Bounds: 16 levels of arrays and structs; a tag is at most 1 KiB long.

use std::ops::Range;

/// Token of a reply. Ranges are byte positions in the buffer given to [`Lexer::next`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    ArrayStart,
    ArrayEnd,
    StructStart,
    StructEnd,
    /// A member's name.
    Name(Range<usize>),
    Scalar(Kind, Range<usize>),
    /// The reply is a fault; a struct follows.
    Fault,
    /// `</methodResponse>`
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    Int,
    Double,
    Bool,
    Base64,
    Nil,
}

/// The reply is not XML-RPC, and where that shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    pub at: usize,
    pub what: &'static str,
}

/// A step: a token, or the wish for more bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Token(Token),
    More,
}

const MAX_DEPTH: usize = 16;
const MAX_TAG_BYTES: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Array,
    Struct,
}

/// Reads from position [`Lexer::position`] of a buffer that may grow between calls, and may lose its consumed front
/// after [`Lexer::shift`].
#[derive(Clone, Debug)]
pub struct Lexer {
    at: usize,
    open: Vec<Open>,
    /// `<methodResponse>` was seen, or need not be.
    begun: bool,
}

struct Tag<'a> {
    name: &'a [u8],
    closing: bool,
    /// `<x/>`
    empty: bool,
    end: usize,
}

impl Lexer {
    /// Lexer for a whole reply.
    pub fn response() -> Self {
        Self {
            at: 0,
            open: Vec::new(),
            begun: false,
        }
    }

    /// Lexer for a piece of a reply that begins with `<value>`; it has no end of its own.
    pub fn fragment() -> Self {
        Self {
            at: 0,
            open: Vec::new(),
            begun: true,
        }
    }

    pub fn position(&self) -> usize {
        self.at
    }

    /// Count of open arrays and structs.
    pub fn depth(&self) -> usize {
        self.open.len()
    }

    /// Goes on at `position`, which must be at the same depth as the present one.
    pub fn seek(&mut self, position: usize) {
        self.at = position;
    }

    /// Tells that the first `bytes` bytes of the buffer, all consumed, are gone.
    pub fn shift(&mut self, bytes: usize) {
        self.at = self.at.saturating_sub(bytes);
    }

    /// The next token of `buffer`.
    pub fn next(&mut self, buffer: &[u8]) -> Result<Step, SyntaxError> {
        loop {
            let start = skip_blanks(buffer, self.at);
            if self.begun && begins(buffer, start, *b"<value>") {
                return self.value(buffer, start + b"<value>".len());
            }
            let Some(tag) = read_tag(buffer, start)? else {
                return Ok(Step::More);
            };
            if !self.begun && !matches!(tag.name, b"methodResponse" | b"?xml") {
                return Err(SyntaxError {
                    at: start,
                    what: "not a reply",
                });
            }
            match (tag.name, tag.closing) {
                (b"methodResponse", false) => self.begun = true,
                (b"methodResponse", true) => return self.token(Token::End, tag.end, start),
                (b"fault", false) => return self.token(Token::Fault, tag.end, start),
                (b"value", false) if tag.empty => {
                    return self.token(Token::Scalar(Kind::Text, tag.end..tag.end), tag.end, start);
                }
                (b"value", false) => return self.value(buffer, tag.end),
                (b"array", true) => return self.close(Open::Array, tag.end, start),
                (b"struct", true) => return self.close(Open::Struct, tag.end, start),
                (b"name", false) if !tag.empty => return self.name(buffer, tag.end),
                (b"params" | b"param" | b"data" | b"member" | b"fault" | b"value" | b"?xml", _) => {}
                _ => {
                    return Err(SyntaxError {
                        at: start,
                        what: "unexpected element",
                    });
                }
            }
            self.at = tag.end;
        }
    }

    fn token(&mut self, token: Token, end: usize, start: usize) -> Result<Step, SyntaxError> {
        if token == Token::End && !self.open.is_empty() {
            return Err(SyntaxError {
                at: start,
                what: "the reply ends inside an array",
            });
        }
        self.at = end;
        Ok(Step::Token(token))
    }

    fn close(&mut self, what: Open, end: usize, start: usize) -> Result<Step, SyntaxError> {
        if self.open.pop() != Some(what) {
            return Err(SyntaxError {
                at: start,
                what: "mismatched end",
            });
        }
        self.at = end;
        Ok(Step::Token(match what {
            Open::Array => Token::ArrayEnd,
            Open::Struct => Token::StructEnd,
        }))
    }

    fn open(&mut self, what: Open, end: usize) -> Result<Step, SyntaxError> {
        if self.open.len() == MAX_DEPTH {
            return Err(SyntaxError {
                at: end,
                what: "nested too deep",
            });
        }
        self.open.push(what);
        self.at = end;
        Ok(Step::Token(match what {
            Open::Array => Token::ArrayStart,
            Open::Struct => Token::StructStart,
        }))
    }

    /// The two forms that nearly all values of a list have, known by comparing a few words of memory: `None` when it is
    /// another one, or not complete. Says nothing that [`Lexer::value`] would not say.
    fn usual(&mut self, buffer: &[u8], start: usize) -> Option<Step> {
        let (kind, content) = if begins(buffer, start, *b"<string>") {
            (Kind::Text, start + b"<string>".len())
        } else if begins(buffer, start, *b"<i8>") {
            (Kind::Int, start + b"<i8>".len())
        } else {
            return None;
        };
        let close = find(b'<', buffer, content)?;
        let (closed, end) = match kind {
            Kind::Text => (begins(buffer, close, *b"</string>"), close + b"</string>".len()),
            _ => (begins(buffer, close, *b"</i8>"), close + b"</i8>".len()),
        };
        let whole = closed && begins(buffer, end, *b"</value>");
        whole.then(|| self.scalar(kind, content..close, end + b"</value>".len()))
    }

    /// After `<value>`: bare text, or an element that names the type.
    fn value(&mut self, buffer: &[u8], start: usize) -> Result<Step, SyntaxError> {
        if let Some(step) = self.usual(buffer, start) {
            return Ok(step);
        }
        let Some(next) = find(b'<', buffer, start) else {
            return Ok(Step::More);
        };
        let Some(tag) = read_tag(buffer, next)? else {
            return Ok(Step::More);
        };
        if tag.name == b"value" && tag.closing {
            return Ok(self.scalar(Kind::Text, start..next, tag.end));
        }
        if tag.closing || skip_blanks(buffer, start) != next {
            return Err(SyntaxError {
                at: start,
                what: "text beside a type",
            });
        }
        let kind = match tag.name {
            b"array" | b"struct" => {
                let what = if tag.name == b"array" {
                    Open::Array
                } else {
                    Open::Struct
                };
                if !tag.empty {
                    return self.open(what, tag.end);
                }
                return Err(SyntaxError {
                    at: next,
                    what: "an array without data",
                });
            }
            b"string" | b"dateTime.iso8601" => Kind::Text,
            b"i4" | b"int" | b"i8" | b"ex:i8" => Kind::Int,
            b"double" => Kind::Double,
            b"boolean" => Kind::Bool,
            b"base64" => Kind::Base64,
            b"nil" | b"ex:nil" => Kind::Nil,
            _ => {
                return Err(SyntaxError {
                    at: next,
                    what: "unknown type",
                });
            }
        };
        let (content, after) = if tag.empty {
            (tag.end..tag.end, tag.end)
        } else {
            let Some(close) = find(b'<', buffer, tag.end) else {
                return Ok(Step::More);
            };
            let Some(closing) = read_tag(buffer, close)? else {
                return Ok(Step::More);
            };
            if !closing.closing || closing.name != tag.name {
                return Err(SyntaxError {
                    at: close,
                    what: "mismatched end",
                });
            }
            (tag.end..close, closing.end)
        };
        let end = skip_blanks(buffer, after);
        let Some(closing) = read_tag(buffer, end)? else {
            return Ok(Step::More);
        };
        if !closing.closing || closing.name != b"value" {
            return Err(SyntaxError {
                at: end,
                what: "a value with two types",
            });
        }
        Ok(self.scalar(kind, content, closing.end))
    }

    fn scalar(&mut self, kind: Kind, content: Range<usize>, end: usize) -> Step {
        self.at = end;
        Step::Token(Token::Scalar(kind, content))
    }

    fn name(&mut self, buffer: &[u8], start: usize) -> Result<Step, SyntaxError> {
        let Some(close) = find(b'<', buffer, start) else {
            return Ok(Step::More);
        };
        let Some(tag) = read_tag(buffer, close)? else {
            return Ok(Step::More);
        };
        if !tag.closing || tag.name != b"name" {
            return Err(SyntaxError {
                at: close,
                what: "mismatched end",
            });
        }
        self.at = tag.end;
        Ok(Step::Token(Token::Name(start..close)))
    }
}

/// The first position from `at` on that is no white space.
pub fn skip_blanks(buffer: &[u8], at: usize) -> usize {
    let rest = buffer.get(at..).unwrap_or_default();
    at + rest
        .iter()
        .position(|byte| !byte.is_ascii_whitespace())
        .unwrap_or(rest.len())
}

/// True when `tag` stands at `at`. Its length is a constant, so that it becomes a few comparisons of words instead of a call.
#[inline]
fn begins<const N: usize>(buffer: &[u8], at: usize, tag: [u8; N]) -> bool {
    let Some(here) = buffer.get(at..).and_then(|rest| rest.first_chunk::<N>()) else {
        return false;
    };
    let (words, tail) = here.as_chunks::<8>();
    let (wanted, last) = tag.as_chunks::<8>();
    let same = words
        .iter()
        .zip(wanted)
        .all(|(word, wanted)| u64::from_le_bytes(*word) == u64::from_le_bytes(*wanted));
    same && tail.iter().zip(last).all(|(byte, wanted)| byte == wanted)
}

fn find(byte: u8, buffer: &[u8], from: usize) -> Option<usize> {
    memchr::memchr(byte, buffer.get(from..)?).map(|found| from + found)
}

/// The tag at `start`; `None` when the buffer ends inside it.
fn read_tag(buffer: &[u8], start: usize) -> Result<Option<Tag<'_>>, SyntaxError> {
    let rest = buffer.get(start..).unwrap_or_default();
    match rest.first() {
        None => return Ok(None),
        Some(b'<') => {}
        Some(_) => {
            return Err(SyntaxError {
                at: start,
                what: "text between elements",
            });
        }
    }
    let Some(length) = memchr::memchr(b'>', &rest[..rest.len().min(MAX_TAG_BYTES)]) else {
        if rest.len() >= MAX_TAG_BYTES {
            return Err(SyntaxError {
                at: start,
                what: "an endless tag",
            });
        }
        return Ok(None);
    };
    let mut name = &rest[1..length];
    let closing = name.first() == Some(&b'/');
    if closing {
        name = &name[1..];
    }
    let empty = name.last() == Some(&b'/');
    if empty {
        name = &name[..name.len() - 1];
    }
    if let Some(blank) = name.iter().position(u8::is_ascii_whitespace) {
        name = &name[..blank];
    }
    Ok(Some(Tag {
        name,
        closing,
        empty,
        end: start + length + 1,
    }))
}
