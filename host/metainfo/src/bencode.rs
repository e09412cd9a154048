//! Bencode, read in place: [`parse`] checks the whole text once, then [`Node`] is a view into it that allocates nothing.
//!
//! Strict where leniency would let two readers see two different torrents (leading zeros, `-0`, a key given twice,
//! bytes after the end), lenient where the world is sloppy (unsorted keys).
//! Bounds: depth [`MAX_DEPTH`] and [`MAX_VALUES`]; a string's length is checked against what is left before it is read;
//! four bytes of memory for every key of the dictionaries that are open.

/// Levels of lists and dictionaries in each other. A v2 file tree takes one level a directory.
pub const MAX_DEPTH: usize = 128;
/// Values, keys included, in one text; keeps the duplicate check's memory bounded.
pub const MAX_VALUES: usize = 4_000_000;

/// Why a text is not bencode. Offsets are bytes from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BencodeError {
    #[error("the text ends in the middle of a value")]
    UnexpectedEnd,
    #[error("unexpected byte at offset {0}")]
    UnexpectedByte(usize),
    #[error("malformed number at offset {0}")]
    BadNumber(usize),
    #[error("string at offset {0} is longer than the text")]
    StringTooLong(usize),
    #[error("dictionary key at offset {0} is not a string")]
    KeyNotString(usize),
    #[error("a dictionary holds the same key twice")]
    DuplicateKey,
    #[error("values nest deeper than {MAX_DEPTH} levels")]
    TooDeep,
    #[error("more than {MAX_VALUES} values")]
    TooMany,
    #[error("bytes follow the value at offset {0}")]
    TrailingBytes(usize),
    #[error("the text is longer than 4 GiB")]
    TooLong,
}

/// Checks that `text` is exactly one value and returns it.
pub fn parse(text: &[u8]) -> Result<Node<'_>, BencodeError> {
    if u32::try_from(text.len()).is_err() {
        return Err(BencodeError::TooLong);
    }
    let end = Checker {
        text,
        at: 0,
        values: 0,
    }
    .check()?;
    if end != text.len() {
        return Err(BencodeError::TrailingBytes(end));
    }
    Ok(Node { raw: text })
}

/// One value inside a checked text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Node<'a> {
    raw: &'a [u8],
}

impl std::fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Node({} bytes of {:?})",
            self.raw.len(),
            self.raw.first().map(|&b| char::from(b))
        )
    }
}

impl<'a> Node<'a> {
    /// The value exactly as it stands in the text: what info-hashes are computed over.
    pub const fn raw(self) -> &'a [u8] {
        self.raw
    }

    pub fn int(self) -> Option<i64> {
        match self.raw.first() {
            Some(b'i') => read_int(self.raw, 0).ok().map(|(value, _)| value),
            _ => None,
        }
    }

    pub fn bytes(self) -> Option<&'a [u8]> {
        match self.raw.first() {
            Some(b'0'..=b'9') => read_string(self.raw, 0).ok().map(|(text, _)| text),
            _ => None,
        }
    }

    /// A string as text; bytes that are not UTF-8 show as replacement characters.
    pub fn text(self) -> Option<String> {
        self.bytes()
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    /// The items of a list as they stand in the text, without the brackets around them: of two lists, one begins with the
    /// items of the other exactly if its text begins with the other's. `None` for anything else.
    pub fn list_text(self) -> Option<&'a [u8]> {
        self.raw.strip_prefix(b"l")?.strip_suffix(b"e")
    }

    /// The value token by token; what nests is read once, however deep it is.
    pub const fn tokens(self) -> Tokens<'a> {
        Tokens { raw: self.raw, at: 0 }
    }

    /// The items of a list; `None` for anything else.
    pub fn list(self) -> Option<impl Iterator<Item = Node<'a>>> {
        (self.raw.first() == Some(&b'l')).then_some(Items { raw: self.raw, at: 1 })
    }

    /// The entries of a dictionary in the order of the text; `None` for anything else.
    pub fn dict(self) -> Option<impl Iterator<Item = (&'a [u8], Node<'a>)>> {
        (self.raw.first() == Some(&b'd')).then_some(Entries(Items { raw: self.raw, at: 1 }))
    }

    /// The value of a dictionary's key.
    pub fn get(self, key: &str) -> Option<Node<'a>> {
        self.dict()?
            .find(|(name, _)| *name == key.as_bytes())
            .map(|(_, value)| value)
    }
}

/// A step through a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'a> {
    Int(i64),
    /// A string; in a dictionary every other one is a key.
    Bytes(&'a [u8]),
    /// A list begins.
    List,
    /// A dictionary begins.
    Dict,
    /// The list or dictionary opened last ends.
    End,
}

/// Reads a checked value from its beginning to its end.
pub struct Tokens<'a> {
    raw: &'a [u8],
    at: usize,
}

impl<'a> Tokens<'a> {
    /// The whole value that begins here, passed over; `None` where a list, a dictionary or the text ends.
    pub fn node(&mut self) -> Option<Node<'a>> {
        let end = skip(self.raw, self.at)?;
        let node = Node {
            raw: self.raw.get(self.at..end)?,
        };
        self.at = end;
        Some(node)
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let (token, end) = match self.raw.get(self.at)? {
            b'i' => {
                let (value, end) = read_int(self.raw, self.at).ok()?;
                (Token::Int(value), end)
            }
            b'0'..=b'9' => {
                let (bytes, end) = read_string(self.raw, self.at).ok()?;
                (Token::Bytes(bytes), end)
            }
            b'l' => (Token::List, self.at + 1),
            b'd' => (Token::Dict, self.at + 1),
            _ => (Token::End, self.at + 1),
        };
        self.at = end;
        Some(token)
    }
}

struct Items<'a> {
    raw: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Items<'a> {
    type Item = Node<'a>;

    fn next(&mut self) -> Option<Node<'a>> {
        let end = skip(self.raw, self.at)?;
        let node = Node {
            raw: self.raw.get(self.at..end)?,
        };
        self.at = end;
        Some(node)
    }
}

struct Entries<'a>(Items<'a>);

impl<'a> Iterator for Entries<'a> {
    type Item = (&'a [u8], Node<'a>);

    fn next(&mut self) -> Option<(&'a [u8], Node<'a>)> {
        let key = self.0.next()?.bytes()?;
        Some((key, self.0.next()?))
    }
}

/// Where the value that starts at `at` of a checked text ends; `None` at the end of a list or dictionary.
fn skip(raw: &[u8], mut at: usize) -> Option<usize> {
    let mut open = 0usize;
    loop {
        match raw.get(at)? {
            b'i' => at = read_int(raw, at).ok()?.1,
            b'0'..=b'9' => at = read_string(raw, at).ok()?.1,
            b'e' => {
                open = open.checked_sub(1)?;
                at += 1;
            }
            _ => {
                open += 1;
                at += 1;
            }
        }
        if open == 0 {
            return Some(at);
        }
    }
}

/// Reads `i<number>e` at `at`: the value and where it ends.
fn read_int(raw: &[u8], at: usize) -> Result<(i64, usize), BencodeError> {
    let mut end = at + 1;
    let negative = raw.get(end) == Some(&b'-');
    if negative {
        end += 1;
    }
    let first = end;
    let mut value = 0i64;
    loop {
        match raw.get(end) {
            Some(&digit @ b'0'..=b'9') => {
                let digit = i64::from(digit - b'0');
                let next = value.checked_mul(10).and_then(|v| {
                    // Counted downwards for negative numbers, so that the smallest one fits too.
                    if negative {
                        v.checked_sub(digit)
                    } else {
                        v.checked_add(digit)
                    }
                });
                value = next.ok_or(BencodeError::BadNumber(at))?;
                end += 1;
            }
            Some(b'e') => break,
            Some(_) => return Err(BencodeError::BadNumber(at)),
            None => return Err(BencodeError::UnexpectedEnd),
        }
    }
    let digits = end - first;
    let leading_zero = digits > 1 && raw.get(first) == Some(&b'0');
    if digits == 0 || leading_zero || (negative && value == 0) {
        return Err(BencodeError::BadNumber(at));
    }
    Ok((value, end + 1))
}

/// Reads `<length>:<bytes>` at `at`: the bytes and where they end.
fn read_string(raw: &[u8], at: usize) -> Result<(&[u8], usize), BencodeError> {
    let mut colon = at;
    let mut length = 0usize;
    loop {
        match raw.get(colon) {
            Some(&digit @ b'0'..=b'9') => {
                length = length
                    .checked_mul(10)
                    .and_then(|l| l.checked_add(usize::from(digit - b'0')))
                    .ok_or(BencodeError::StringTooLong(at))?;
                colon += 1;
            }
            Some(b':') => break,
            Some(_) => return Err(BencodeError::BadNumber(at)),
            None => return Err(BencodeError::UnexpectedEnd),
        }
    }
    if colon - at > 1 && raw.get(at) == Some(&b'0') {
        return Err(BencodeError::BadNumber(at));
    }
    let start = colon + 1;
    let end = start.checked_add(length).ok_or(BencodeError::StringTooLong(at))?;
    let bytes = raw.get(start..end).ok_or(BencodeError::StringTooLong(at))?;
    Ok((bytes, end))
}

/// Lists and dictionaries that are open at a point of the text.
enum Frame {
    List,
    /// A dictionary: where its keys so far stand, whether they came sorted, and whether a value is due.
    Dict {
        keys: Vec<u32>,
        sorted: bool,
        value_due: bool,
    },
}

/// Walks the text once with an explicit stack: hostile nesting costs heap that [`MAX_DEPTH`] bounds, never stack.
struct Checker<'a> {
    text: &'a [u8],
    at: usize,
    values: usize,
}

impl Checker<'_> {
    fn check(mut self) -> Result<usize, BencodeError> {
        let mut stack: Vec<Frame> = Vec::new();
        loop {
            let byte = *self.text.get(self.at).ok_or(BencodeError::UnexpectedEnd)?;
            if byte == b'e' {
                match stack.pop() {
                    None | Some(Frame::Dict { value_due: true, .. }) => {
                        return Err(BencodeError::UnexpectedByte(self.at));
                    }
                    Some(Frame::Dict { keys, sorted, .. }) => refuse_duplicates(self.text, keys, sorted)?,
                    Some(Frame::List) => {}
                }
                self.at += 1;
            } else {
                self.values += 1;
                if self.values > MAX_VALUES {
                    return Err(BencodeError::TooMany);
                }
                self.value(byte, &mut stack)?;
            }
            if stack.is_empty() {
                return Ok(self.at);
            }
        }
    }

    fn value(&mut self, byte: u8, stack: &mut Vec<Frame>) -> Result<(), BencodeError> {
        let at = self.at;
        if let Some(Frame::Dict {
            keys,
            sorted,
            value_due,
        }) = stack.last_mut()
        {
            if !*value_due {
                if !byte.is_ascii_digit() {
                    return Err(BencodeError::KeyNotString(at));
                }
                let (key, end) = read_string(self.text, at)?;
                *sorted &= keys.last().is_none_or(|last| key_at(self.text, *last) < key);
                // The text is no longer than 4 GiB.
                keys.push(at as u32);
                *value_due = true;
                self.at = end;
                return Ok(());
            }
            *value_due = false;
        }
        match byte {
            b'i' => self.at = read_int(self.text, at)?.1,
            b'0'..=b'9' => self.at = read_string(self.text, at)?.1,
            b'l' | b'd' => {
                if stack.len() == MAX_DEPTH {
                    return Err(BencodeError::TooDeep);
                }
                stack.push(if byte == b'l' {
                    Frame::List
                } else {
                    Frame::Dict {
                        keys: Vec::new(),
                        sorted: true,
                        value_due: false,
                    }
                });
                self.at += 1;
            }
            _ => return Err(BencodeError::UnexpectedByte(at)),
        }
        Ok(())
    }
}

/// The key that was read at `at`.
fn key_at(text: &[u8], at: u32) -> &[u8] {
    read_string(text, at as usize).map_or(&[], |(key, _)| key)
}

fn refuse_duplicates(text: &[u8], mut keys: Vec<u32>, sorted: bool) -> Result<(), BencodeError> {
    if sorted {
        return Ok(());
    }
    keys.sort_unstable_by_key(|at| key_at(text, *at));
    if keys
        .windows(2)
        .any(|pair| key_at(text, pair[0]) == key_at(text, pair[1]))
    {
        return Err(BencodeError::DuplicateKey);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::encode::Value;

    #[test]
    fn reads_every_kind_of_value() {
        let node = parse(b"d3:bigi-9223372036854775808e4:listl1:a0:i0ee4:name3:abce").expect("valid");
        assert_eq!(node.get("big").and_then(Node::int), Some(i64::MIN));
        assert_eq!(node.get("name").and_then(Node::text).as_deref(), Some("abc"));
        let items: Vec<_> = node.get("list").and_then(Node::list).expect("a list").collect();
        assert_eq!(items.len(), 3);
        assert_eq!(items[0].bytes(), Some(&b"a"[..]));
        assert_eq!(items[1].bytes(), Some(&b""[..]));
        assert_eq!(items[2].int(), Some(0));
        assert_eq!(node.get("missing"), None);
        assert!(node.list().is_none() && node.int().is_none() && node.bytes().is_none());
    }

    #[test]
    fn refuses_what_two_readers_could_read_differently() {
        use BencodeError::*;
        let cases: &[(&[u8], BencodeError)] = &[
            (b"", UnexpectedEnd),
            (b"i1", UnexpectedEnd),
            (b"3", UnexpectedEnd),
            (b"l", UnexpectedEnd),
            (b"ie", BadNumber(0)),
            (b"i-e", BadNumber(0)),
            (b"i-0e", BadNumber(0)),
            (b"i01e", BadNumber(0)),
            (b"i1.5e", BadNumber(0)),
            (b"i+1e", BadNumber(0)),
            (b"i9223372036854775808e", BadNumber(0)),
            (b"01:a", BadNumber(0)),
            (b"1a", BadNumber(0)),
            (b"2:a", StringTooLong(0)),
            (b"99999999999999999999:a", StringTooLong(0)),
            (b"18446744073709551615:a", StringTooLong(0)),
            (b"x", UnexpectedByte(0)),
            (b"e", UnexpectedByte(0)),
            (b"di1ei2ee", KeyNotString(1)),
            (b"d1:ae", UnexpectedByte(4)),
            (b"d1:ai1e1:ai2ee", DuplicateKey),
            (b"d1:bi1e1:ai2e1:bi3ee", DuplicateKey),
            (b"i1ei2e", TrailingBytes(3)),
            (b"de\n", TrailingBytes(2)),
        ];
        for (text, error) in cases {
            assert_eq!(parse(text), Err(*error), "{}", String::from_utf8_lossy(text));
        }
        assert!(parse(b"d1:bi1e1:ai2ee").is_ok(), "unsorted keys are accepted");
    }

    #[test]
    fn tokens_pass_each_value_once() {
        let text = b"d1:ali1e1:xe2:bbdee";
        let node = parse(text).expect("valid");
        use Token::*;
        let tokens: Vec<_> = node.tokens().collect();
        assert_eq!(
            tokens,
            [
                Dict,
                Bytes(b"a"),
                List,
                Int(1),
                Bytes(b"x"),
                End,
                Bytes(b"bb"),
                Dict,
                End,
                End
            ]
        );
        let mut tokens = node.tokens();
        assert_eq!((tokens.next(), tokens.next()), (Some(Dict), Some(Bytes(b"a"))));
        let list = tokens.node().expect("a list");
        assert_eq!(
            (list.raw(), list.list_text()),
            (&b"li1e1:xe"[..], Some(&b"i1e1:x"[..]))
        );
        assert_eq!(tokens.next(), Some(Bytes(b"bb")));
        assert_eq!(tokens.node().and_then(Node::list_text), None);
        assert_eq!(
            (tokens.node(), tokens.next(), tokens.next()),
            (None, Some(End), None)
        );
    }

    #[test]
    fn depth_is_bounded_exactly() {
        let nested = |depth: usize| [vec![b'l'; depth], vec![b'e'; depth]].concat();
        assert!(parse(&nested(MAX_DEPTH)).is_ok());
        assert_eq!(parse(&nested(MAX_DEPTH + 1)), Err(BencodeError::TooDeep));
        assert_eq!(parse(&vec![b'l'; 1_000_000]), Err(BencodeError::TooDeep));
    }

    #[test]
    fn count_is_bounded() {
        let text = [&b"l"[..], &b"0:".repeat(MAX_VALUES), b"e"].concat();
        assert_eq!(parse(&text), Err(BencodeError::TooMany));
    }

    /// Reads a checked node back into an owned tree.
    fn tree(node: Node<'_>) -> Value {
        if let Some(n) = node.int() {
            Value::Int(n)
        } else if let Some(bytes) = node.bytes() {
            Value::Bytes(bytes.to_vec())
        } else if let Some(items) = node.list() {
            Value::List(items.map(tree).collect())
        } else {
            Value::Dict(
                node.dict()
                    .expect("a dictionary")
                    .map(|(k, v)| (k.to_vec(), tree(v)))
                    .collect(),
            )
        }
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<i64>().prop_map(Value::Int),
            prop::collection::vec(any::<u8>(), 0..40).prop_map(Value::Bytes),
        ];
        leaf.prop_recursive(6, 64, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Value::List),
                prop::collection::btree_map(prop::collection::vec(any::<u8>(), 0..12), inner, 0..8)
                    .prop_map(Value::Dict),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_read_back(value in any_value()) {
            let text = value.encode();
            let node = parse(&text).expect("encoded text parses");
            prop_assert_eq!(node.raw(), &text[..]);
            prop_assert_eq!(tree(node), value);
        }

        #[test]
        fn arbitrary_bytes_never_panic(text in prop::collection::vec(any::<u8>(), 0..400)) {
            if let Ok(node) = parse(&text) {
                prop_assert_eq!(tree(node).encode().len(), text.len());
            }
        }

        #[test]
        fn near_bencode_never_panics(text in "[dlie0-9:a-]{0,60}") {
            if let Ok(node) = parse(text.as_bytes()) {
                tree(node);
            }
        }

        #[test]
        fn a_cut_or_flipped_text_never_panics(value in any_value(), cut in any::<prop::sample::Index>(), flip in any::<u8>()) {
            let mut text = value.encode();
            let at = cut.index(text.len());
            prop_assert!(parse(&text[..at]).is_err(), "a prefix is never a whole value");
            text[at] ^= flip;
            if let Ok(node) = parse(&text) {
                tree(node);
            }
        }
    }
}
