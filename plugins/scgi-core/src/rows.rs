//! Reads a list out of a reply as it arrives: the simple answers before it, then one row after the other.
//!
//! The reply is that of a `system.multicall` whose last call is a `d.multicall2`. A row is handed on as raw bytes, so
//! that one which did not change costs a search and a fingerprint, nothing more.
//! Bounds: a row of 4 MiB.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::error::Error;
use crate::xml::lexer::{Lexer, Step, Token, skip_blanks};
use crate::xml::text;

/// Beginning of the error text when rTorrent answered with a fault instead of a list.
pub const FAULT: &str = "XML-RPC fault";

const MAX_ROW_BYTES: usize = 4 << 20;

static ROW_END: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("</array>"));

/// A scanner fed with pieces of a reply.
pub struct Rows {
    /// Count of simple calls before the list.
    simple_calls: usize,
    buffer: Vec<u8>,
    lexer: Lexer,
    stage: Stage,
    /// Numbers the simple calls gave, in order.
    pub numbers: Vec<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Before the list.
    Head,
    /// Inside the list, between rows.
    List,
    /// Behind the list.
    Tail,
    Done,
}

/// Takes the rows, `<value>` to `</value>`.
pub trait Sink {
    fn row(&mut self, raw: &[u8]) -> Result<(), Error>;

    /// Length of the row that `rest` begins with, when that is the row expected next and the same as last time: the sink
    /// has taken it then, and its end need not be searched for.
    fn unchanged(&mut self, _rest: &[u8]) -> Option<usize> {
        None
    }
}

/// The depth of arrays in which rows lie: the calls, the answer of one call, the list.
const LIST_DEPTH: usize = 3;

impl Rows {
    pub fn new(simple_calls: usize) -> Self {
        Self {
            simple_calls,
            buffer: Vec::new(),
            lexer: Lexer::response(),
            stage: Stage::Head,
            numbers: Vec::with_capacity(simple_calls),
        }
    }

    /// True when the reply is complete.
    pub fn is_done(&self) -> bool {
        self.stage == Stage::Done
    }

    /// Reads as much as `piece` completes.
    pub fn feed(&mut self, piece: &[u8], sink: &mut impl Sink) -> Result<(), Error> {
        if self.buffer.is_empty() {
            self.buffer.reserve(piece.len());
        }
        self.buffer.extend_from_slice(piece);
        while self.step(sink)? {}
        let consumed = self.lexer.position().min(self.buffer.len());
        self.buffer.drain(..consumed);
        self.lexer.shift(consumed);
        if self.buffer.len() > MAX_ROW_BYTES {
            return Err(Error::Protocol("a torrent of more than 4 MiB".to_owned()));
        }
        Ok(())
    }

    /// False when it needs more bytes, or all is read.
    fn step(&mut self, sink: &mut impl Sink) -> Result<bool, Error> {
        match self.stage {
            Stage::Head => self.head(),
            Stage::List => self.list(sink),
            Stage::Tail => self.tail(),
            Stage::Done => Ok(false),
        }
    }

    fn head(&mut self) -> Result<bool, Error> {
        let before = self.lexer.clone();
        let token = match self.lexer.next(&self.buffer)? {
            Step::More => return Ok(false),
            Step::Token(token) => token,
        };
        match token {
            Token::ArrayStart if self.lexer.depth() == LIST_DEPTH => {
                if self.numbers.len() != self.simple_calls {
                    return Err(Error::Protocol("the list comes before its time".to_owned()));
                }
                self.stage = Stage::List;
                // The tags between the array and its first value are behind us when the first row is.
                return Ok(self.skip_data_tag());
            }
            Token::ArrayStart if self.lexer.depth() < LIST_DEPTH => {}
            Token::ArrayEnd if self.lexer.depth() == 1 => {}
            Token::Scalar(_, range) if self.lexer.depth() == 2 && self.numbers.len() < self.simple_calls => {
                let raw = self.buffer.get(range).unwrap_or_default();
                self.numbers.push(text(raw).trim().parse().unwrap_or(0));
            }
            Token::Fault | Token::StructStart => return self.fault(before),
            Token::ArrayStart
            | Token::ArrayEnd
            | Token::Scalar(..)
            | Token::StructEnd
            | Token::Name(_)
            | Token::End => {
                return Err(Error::Protocol(
                    "the answer is not the list that was asked for".to_owned(),
                ));
            }
        }
        Ok(true)
    }

    /// `<data>`, which the lexer would skip together with the first row.
    fn skip_data_tag(&mut self) -> bool {
        let at = skip_blanks(&self.buffer, self.lexer.position());
        let rest = self.buffer.get(at..).unwrap_or_default();
        for (tag, stage) in [(b"<data>".as_slice(), Stage::List), (b"<data/>", Stage::Tail)] {
            if rest.starts_with(tag) {
                self.lexer.seek(at + tag.len());
                self.stage = stage;
                return true;
            }
        }
        false
    }

    fn list(&mut self, sink: &mut impl Sink) -> Result<bool, Error> {
        let start = skip_blanks(&self.buffer, self.lexer.position());
        let rest = self.buffer.get(start..).unwrap_or_default();
        if rest.starts_with(b"<data") {
            return Ok(self.skip_data_tag());
        }
        if rest.starts_with(b"</data>") {
            self.stage = Stage::Tail;
            return Ok(true);
        }
        if let Some(length) = sink.unchanged(rest) {
            self.lexer.seek(start + length);
            return Ok(true);
        }
        let Some(found) = ROW_END.find(rest) else {
            return Self::row_may_begin(rest).map(|()| false);
        };
        let array_end = found + ROW_END.needle().len();
        let close = skip_blanks(rest, array_end);
        let Some(closing) = rest.get(close..close + CLOSE.len()) else {
            return Ok(false);
        };
        if closing != CLOSE {
            return Err(Error::Protocol(
                "a torrent in the list is not an array".to_owned(),
            ));
        }
        let end = close + CLOSE.len();
        sink.row(&rest[..end])?;
        self.lexer.seek(start + end);
        Ok(true)
    }

    /// Refuses at once bytes that cannot begin a row, so that garbage is not gathered.
    fn row_may_begin(rest: &[u8]) -> Result<(), Error> {
        const OPEN: &[u8] = b"<value>";
        const END: &[u8] = b"</data>";
        let seen = &rest[..rest.len().min(OPEN.len())];
        if !OPEN.starts_with(seen)
            && !END.starts_with(seen)
            && !b"<data>".starts_with(seen)
            && !b"<data/>".starts_with(seen)
        {
            return Err(Error::Protocol(
                "something else than torrents in the list".to_owned(),
            ));
        }
        let inner = skip_blanks(rest, OPEN.len().min(rest.len()));
        let inner = rest.get(inner..).unwrap_or_default();
        if inner.starts_with(b"<struct>") {
            return Err(Error::Protocol("a fault in the middle of the list".to_owned()));
        }
        Ok(())
    }

    fn tail(&mut self) -> Result<bool, Error> {
        match self.lexer.next(&self.buffer)? {
            Step::More => Ok(false),
            Step::Token(Token::ArrayEnd) => Ok(true),
            Step::Token(Token::End) => {
                self.stage = Stage::Done;
                Ok(false)
            }
            Step::Token(_) => Err(Error::Protocol("the answer goes on behind the list".to_owned())),
        }
    }

    /// A fault, of the reply or of one call in it. Waits until it is complete, for it names the reason.
    fn fault(&mut self, before: Lexer) -> Result<bool, Error> {
        let mut members = Vec::new();
        let mut name = String::new();
        loop {
            match self.lexer.next(&self.buffer)? {
                Step::More => {
                    self.lexer = before;
                    return Ok(false);
                }
                Step::Token(Token::StructStart) => {}
                Step::Token(Token::Name(range)) => {
                    name = text(self.buffer.get(range).unwrap_or_default()).into_owned();
                }
                Step::Token(Token::Scalar(_, range)) => {
                    let value = text(self.buffer.get(range).unwrap_or_default()).into_owned();
                    members.push((std::mem::take(&mut name), value));
                }
                Step::Token(_) => break,
            }
        }
        let member = |wanted: &str| {
            members
                .iter()
                .find(|(name, _)| name == wanted)
                .map(|(_, value)| value.as_str())
        };
        let code = member("faultCode").unwrap_or("0");
        let reason = member("faultString").unwrap_or("no reason given");
        Err(Error::Protocol(format!("{FAULT} {code}: {reason}")))
    }
}

const CLOSE: &[u8] = b"</value>";

/// The raw texts of a row's elements, and where each element ends in it.
pub struct Row<'a, const N: usize> {
    pub columns: [&'a [u8]; N],
    pub ends: [usize; N],
}

/// Takes a row apart. It must be one array of exactly `N` simple values.
pub fn columns<const N: usize>(raw: &[u8]) -> Result<Row<'_, N>, Error> {
    let odd = || Error::Protocol("a torrent with other fields than were asked for".to_owned());
    let mut lexer = Lexer::fragment();
    let mut next = || match lexer.next(raw) {
        Ok(Step::Token(token)) => Ok((token, lexer.position())),
        Ok(Step::More) | Err(_) => Err(odd()),
    };
    let (Token::ArrayStart, _) = next()? else {
        return Err(odd());
    };
    let mut row = Row {
        columns: [[].as_slice(); N],
        ends: [0; N],
    };
    for (column, end) in row.columns.iter_mut().zip(&mut row.ends) {
        let (Token::Scalar(_, range), after) = next()? else {
            return Err(odd());
        };
        *column = raw.get(range).unwrap_or_default();
        *end = after;
    }
    let (Token::ArrayEnd, _) = next()? else {
        return Err(odd());
    };
    Ok(row)
}

/// Length of a row that begins with `front` bytes and has nothing but the tags that close it behind them; `None` when
/// something else stands there, or not all of it yet.
pub fn closed(rest: &[u8], front: usize) -> Option<usize> {
    let tags: [&[u8]; 3] = [b"</data>", b"</array>", CLOSE];
    tags.into_iter().try_fold(front, |at, tag| {
        let at = skip_blanks(rest, at);
        rest.get(at..)?.starts_with(tag).then_some(at + tag.len())
    })
}

/// A row without the tags that close it: the same bytes that a longer row of the same torrent begins with.
pub fn without_closing(raw: &[u8]) -> Option<&[u8]> {
    let raw = raw.strip_suffix(CLOSE)?.trim_ascii_end();
    let raw = raw.strip_suffix(b"</array>")?.trim_ascii_end();
    Some(raw.strip_suffix(b"</data>")?.trim_ascii_end())
}
