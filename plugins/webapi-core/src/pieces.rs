//! Cuts a large answer into its pieces while it arrives, so that neither the whole body nor a tree of it is ever held: a
//! first list of 10,000 torrents is some 15 MB, and a guest's memory never shrinks again.
//!
//! Two shapes: an object whose member `torrents` is itself an object of pieces (`sync/maindata`), and an array of pieces
//! (`torrents/info`). Only the outline is read here (strings, brackets); each piece is checked by whoever parses it.

use crate::error::Error;

/// The most one piece may hold.
const MAX_PIECE: usize = 1 << 20;
/// The most a member's name may hold; an info-hash has 40.
const MAX_KEY: usize = 128;

/// Place of a piece in the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place<'a> {
    /// A member of the outer object.
    Member(&'a str),
    /// A member of the object `torrents`.
    Torrent(&'a str),
    /// An element of the outer array.
    Element,
}

pub(crate) trait Sink {
    /// True when the sink wants the piece at this place; others are skipped.
    fn wants(&self, place: Place) -> bool;
    fn piece(&mut self, place: Place, json: &[u8]) -> Result<(), Error>;
}

#[derive(Clone, Copy, PartialEq)]
enum At {
    /// Before the outermost bracket.
    Start,
    /// A name or the end of an object; `bool`: a comma came before, so that only a name will do.
    Key(bool),
    InKey,
    Colon,
    /// A value, or (`bool`) also the end of an array.
    Value(bool),
    InValue(Scan),
    Comma,
    End,
}

#[derive(Clone, Copy, PartialEq)]
struct Scan {
    depth: u32,
    in_text: bool,
    escaped: bool,
    scalar: bool,
}

pub(crate) struct Pieces {
    at: At,
    /// The outer value is an array.
    array: bool,
    /// Inside `torrents`.
    inner: bool,
    wanted: bool,
    key: Vec<u8>,
    /// Bytes of the current piece from earlier chunks.
    begun: Vec<u8>,
}

impl Pieces {
    pub(crate) fn of_object() -> Self {
        Pieces {
            at: At::Start,
            array: false,
            inner: false,
            wanted: false,
            key: Vec::new(),
            begun: Vec::new(),
        }
    }

    pub(crate) fn of_array() -> Self {
        Pieces {
            array: true,
            ..Self::of_object()
        }
    }

    pub(crate) fn feed(&mut self, chunk: &[u8], sink: &mut impl Sink) -> Result<(), Error> {
        let mut rest = chunk;
        while let Some(&byte) = rest.first() {
            let used = match self.at {
                At::InKey => self.run_key(rest)?,
                At::InValue(scan) => self.run_value(scan, rest, sink)?,
                _ => {
                    if !byte.is_ascii_whitespace() {
                        self.step(byte, sink)?;
                    }
                    // The first byte of a value belongs to it.
                    usize::from(!matches!(self.at, At::InValue(_)))
                }
            };
            rest = &rest[used..];
        }
        Ok(())
    }

    pub(crate) fn finish(&self) -> Result<(), Error> {
        if self.at == At::End {
            Ok(())
        } else {
            Err(garbage("it ends in the middle"))
        }
    }

    fn step(&mut self, byte: u8, sink: &mut impl Sink) -> Result<(), Error> {
        self.at = match (self.at, byte) {
            (At::Start, b'[') if self.array => At::Value(true),
            (At::Start, b'{') if !self.array => At::Key(false),
            (At::Key(_), b'"') => {
                self.key.clear();
                At::InKey
            }
            (At::Key(false) | At::Comma, b'}') if self.inner => {
                self.inner = false;
                At::Comma
            }
            (At::Key(false) | At::Comma, b'}') if !self.array => At::End,
            (At::Value(true) | At::Comma, b']') if self.array => At::End,
            (At::Colon, b':') => At::Value(false),
            (At::Comma, b',') if self.array => At::Value(false),
            (At::Comma, b',') => At::Key(true),
            (At::Value(_), b'{') if !self.array && !self.inner && self.key == b"torrents" => {
                self.inner = true;
                At::Key(false)
            }
            (At::Value(_), b',' | b':' | b']' | b'}') => return Err(garbage("a value is missing")),
            (At::Value(_), first) => {
                self.wanted = place(self.array, self.inner, &self.key).is_some_and(|place| sink.wants(place));
                let scalar = !matches!(first, b'{' | b'[' | b'"');
                At::InValue(Scan {
                    depth: 0,
                    in_text: false,
                    escaped: false,
                    scalar,
                })
            }
            _ => return Err(garbage("it is not laid out as JSON")),
        };
        Ok(())
    }

    fn run_key(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        // A name with an escape in it is none of ours; it only has to end where it ends.
        let end = memchr::memchr(b'"', bytes);
        let part = &bytes[..end.unwrap_or(bytes.len())];
        self.key.extend_from_slice(part);
        if self.key.len() > MAX_KEY {
            return Err(garbage("a name in it is too long"));
        }
        Ok(match end {
            Some(at) if self.key.iter().rev().take_while(|b| **b == b'\\').count() % 2 == 1 => {
                self.key.push(b'"');
                at + 1
            }
            Some(at) => {
                self.at = At::Colon;
                at + 1
            }
            None => bytes.len(),
        })
    }

    fn run_value(&mut self, mut scan: Scan, bytes: &[u8], sink: &mut impl Sink) -> Result<usize, Error> {
        let (used, done) = scan.run(bytes);
        if !done {
            self.at = At::InValue(scan);
            if self.wanted {
                self.keep(bytes)?;
            }
            return Ok(used);
        }
        self.at = At::Comma;
        if self.wanted {
            let Some(place) = place(self.array, self.inner, &self.key) else {
                return Ok(used);
            };
            if self.begun.is_empty() {
                sink.piece(place, &bytes[..used])?;
            } else {
                self.begun.extend_from_slice(&bytes[..used]);
                sink.piece(place, &self.begun)?;
                self.begun.clear();
            }
        }
        Ok(used)
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if self.begun.len() + bytes.len() > MAX_PIECE {
            return Err(garbage("one piece of it is too large"));
        }
        self.begun.extend_from_slice(bytes);
        Ok(())
    }
}

impl Scan {
    /// Count of bytes that belong to the value, and true when the value ends there.
    fn run(&mut self, bytes: &[u8]) -> (usize, bool) {
        let mut i = 0;
        while i < bytes.len() {
            if self.in_text {
                if self.escaped {
                    self.escaped = false;
                    i += 1;
                    continue;
                }
                let Some(skip) = memchr::memchr2(b'"', b'\\', &bytes[i..]) else {
                    return (bytes.len(), false);
                };
                i += skip + 1;
                if bytes[i - 1] == b'\\' {
                    self.escaped = true;
                } else {
                    self.in_text = false;
                    if self.depth == 0 {
                        return (i, true);
                    }
                }
                continue;
            }
            match bytes[i] {
                b',' | b'}' | b']' if self.scalar => return (i, true),
                b if self.scalar && b.is_ascii_whitespace() => return (i, true),
                b'"' => self.in_text = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return (i + 1, true);
                    }
                }
                _ => {}
            }
            i += 1;
        }
        (bytes.len(), false)
    }
}

fn place(array: bool, inner: bool, key: &[u8]) -> Option<Place<'_>> {
    if array {
        return Some(Place::Element);
    }
    let key = std::str::from_utf8(key).ok()?;
    Some(if inner {
        Place::Torrent(key)
    } else {
        Place::Member(key)
    })
}

fn garbage(why: &str) -> Error {
    Error::Protocol(format!("the answer is not what the Web API says: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Default)]
    struct All(Vec<(String, String)>);

    impl Sink for All {
        fn wants(&self, place: Place) -> bool {
            place != Place::Member("skipped")
        }
        fn piece(&mut self, place: Place, json: &[u8]) -> Result<(), Error> {
            let place = match place {
                Place::Member(key) => key.to_owned(),
                Place::Torrent(key) => format!("torrents/{key}"),
                Place::Element => "-".into(),
            };
            self.0.push((place, String::from_utf8_lossy(json).into_owned()));
            Ok(())
        }
    }

    fn cut(mut pieces: Pieces, body: &[u8], step: usize) -> Result<Vec<(String, String)>, Error> {
        let mut all = All::default();
        for chunk in body.chunks(step.max(1)) {
            pieces.feed(chunk, &mut all)?;
        }
        pieces.finish().map(|()| all.0)
    }

    const MAINDATA: &str = r#" {"full_update":true, "rid" : 15 ,"skipped":{"a":["]}",{}]},
        "torrents":{"aa":{"name":"x\"}{\\","n":[1,{"b":2}]},"bb":{}},"torrents_removed":["cc"],"e\"\\":"}" } "#;

    #[test]
    fn an_object_is_cut_wherever_the_chunks_end() {
        let whole = [
            ("full_update", "true"),
            ("rid", "15"),
            ("torrents/aa", r#"{"name":"x\"}{\\","n":[1,{"b":2}]}"#),
            ("torrents/bb", "{}"),
            ("torrents_removed", r#"["cc"]"#),
            (r#"e\"\\"#, r#""}""#),
        ];
        for step in 1..MAINDATA.len() {
            let pieces = cut(Pieces::of_object(), MAINDATA.as_bytes(), step).expect("it is well laid out");
            let pieces: Vec<_> = pieces.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
            assert_eq!(pieces, whole, "in steps of {step}");
        }
    }

    #[test]
    fn an_array_is_cut_too() {
        for step in 1..9 {
            let pieces =
                cut(Pieces::of_array(), br#"[{"a":1} , 5,"x",[[]] ]"#, step).expect("it is well laid out");
            let pieces: Vec<_> = pieces.into_iter().map(|(_, v)| v).collect();
            assert_eq!(pieces, [r#"{"a":1}"#, "5", r#""x""#, "[[]]"]);
        }
        assert_eq!(cut(Pieces::of_array(), b"[]", 1), Ok(vec![]));
    }

    #[test]
    fn what_is_not_laid_out_so_is_an_error() {
        for body in [
            "",
            "[",
            "{",
            "null",
            "[1]",
            "{\"a\"",
            "{\"a\":}",
            "{\"a\":1",
            "{\"a\":1,}",
            "{\"a\":1}x",
            "{,}",
            "<html>",
        ] {
            assert!(
                matches!(
                    cut(Pieces::of_object(), body.as_bytes(), 3),
                    Err(Error::Protocol(_))
                ),
                "{body}"
            );
        }
        for body in ["", "[1", "{}", "[,]", "[1,]", "[1]]", "Ok."] {
            assert!(
                matches!(
                    cut(Pieces::of_array(), body.as_bytes(), 3),
                    Err(Error::Protocol(_))
                ),
                "{body}"
            );
        }
        let endless = format!("{{\"a\":\"{}", "x".repeat(3 * MAX_PIECE));
        assert!(cut(Pieces::of_object(), endless.as_bytes(), 65_536).is_err());
        let name = format!("{{\"{}", "x".repeat(1000));
        assert!(cut(Pieces::of_object(), name.as_bytes(), 7).is_err());
    }

    proptest! {
        #[test]
        fn garbage_never_panics(body: Vec<u8>, step in 1usize..40) {
            let _ = cut(Pieces::of_object(), &body, step);
            let _ = cut(Pieces::of_array(), &body, step);
        }

        #[test]
        fn bracket_soup_never_panics(body in r#"[\[\]{}",:\\ a1]{0,60}"#, step in 1usize..10) {
            let _ = cut(Pieces::of_object(), body.as_bytes(), step);
            let _ = cut(Pieces::of_array(), body.as_bytes(), step);
        }

        #[test]
        fn chunks_do_not_matter(keys in prop::collection::btree_map(r#"[a-z"\\]{1,6}"#, ".{0,20}", 0..6), step in 1usize..30) {
            let body = serde_json::to_vec(&keys).expect("a map of texts is JSON");
            prop_assert_eq!(cut(Pieces::of_object(), &body, step), cut(Pieces::of_object(), &body, usize::MAX));
        }
    }
}
