//! Names and sizes of the files of a torrent, by the bytes of the file that describes it: what a client tells of them may be
//! another text.

use crate::bencode::{self, Node};
use crate::layout::{self, fault_of_name};
use crate::trimmed;

/// Bytes of a list that is kept; of a longer one nothing is.
const MOST: usize = 1 << 20;
/// Levels of a tree of files.
const DEEPEST: usize = 64;

/// The files of a torrent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// The only file, or the folder of the files.
    pub name: Vec<u8>,
    /// Below the folder; none: `name` is the only file.
    pub files: Vec<Vec<u8>>,
    /// Bytes of each.
    pub sizes: Vec<u64>,
}

impl Contents {
    /// Reads a file that [`Metainfo`](crate::Metainfo) accepted. None where the list is too long to be kept.
    pub fn read(file: &[u8]) -> Option<Self> {
        let root = bencode::parse(trimmed(file)).ok()?;
        let info = root.get("info")?;
        let mut contents = Self {
            name: info.get("name")?.bytes()?.to_vec(),
            ..Self::default()
        };
        if let Some(files) = info.get("files") {
            for file in files.list()? {
                let pads = file.get("attr").and_then(Node::bytes);
                if pads.is_some_and(|attr| attr.contains(&b'p')) {
                    continue;
                }
                let names: Option<Vec<&[u8]>> = file.get("path")?.list()?.map(Node::bytes).collect();
                contents.files.push(names?.join(&b'/'));
                contents.sizes.push(
                    file.get("length")
                        .map_or(Some(0), |length| layout::size_of(length).ok())?,
                );
            }
        } else if let Some(length) = info.get("length") {
            contents.sizes.push(layout::size_of(length).ok()?);
        } else {
            contents.grow(info.get("file tree")?, &mut Vec::new())?;
            // A tree of one leaf of that name is one file.
            if contents.files.len() == 1 && contents.files[0] == contents.name {
                contents.files.clear();
            }
        }
        (contents.stored().len() <= MOST).then_some(contents)
    }

    fn grow(&mut self, tree: Node<'_>, above: &mut Vec<Vec<u8>>) -> Option<()> {
        if above.len() > DEEPEST {
            return None;
        }
        for (name, node) in tree.dict()? {
            if name.is_empty() {
                self.files.push(above.join(&b'/'));
                self.sizes.push(layout::size_of(node.get("length")?).ok()?);
            } else {
                above.push(name.to_vec());
                self.grow(node, above)?;
                above.pop();
            }
        }
        Some(())
    }

    /// As a text for the database: a line for the name, and a line for each file, its size before its path.
    pub fn stored(&self) -> String {
        let mut text = encoded(&self.name);
        for (at, size) in self.sizes.iter().enumerate() {
            let path = self.files.get(at).map(Vec::as_slice).unwrap_or_default();
            text.push('\n');
            text.push_str(&size.to_string());
            text.push(' ');
            text.push_str(&encoded(path));
        }
        text
    }

    pub fn of_stored(text: &str) -> Option<Self> {
        let mut lines = text.split('\n');
        let mut contents = Self {
            name: decoded(lines.next()?)?,
            ..Self::default()
        };
        if fault_of_name(&contents.name).is_some() {
            return None;
        }
        for line in lines {
            let (size, path) = line.split_once(' ')?;
            contents.sizes.push(size.parse().ok()?);
            if !path.is_empty() {
                contents.files.push(decoded(path)?);
            }
        }
        (contents.files.is_empty() || contents.files.len() == contents.sizes.len()).then_some(contents)
    }
}

fn encoded(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b'%' | 0..=31 | 127.. => {
                text.push('%');
                text.push_str(&hex::encode([*byte]));
            }
            plain => text.push(char::from(*plain)),
        }
    }
    text
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::encode::Value;

    fn torrent<const N: usize>(info: [(&str, Value); N]) -> Vec<u8> {
        Value::dict([("info", Value::dict(info))]).encode()
    }

    #[test]
    fn names_are_read_by_their_bytes() {
        let latin = vec![b'c', b'a', b'f', 0xe9];
        let one = torrent([("length", Value::Int(5)), ("name", Value::Bytes(latin.clone()))]);
        let read = Contents::read(&one).expect("a torrent");
        assert_eq!(
            (read.name, read.files, read.sizes),
            (latin.clone(), vec![], vec![5])
        );
        let file = |path: Vec<Value>, attr: &str| {
            Value::dict([
                ("attr", Value::text(attr)),
                ("length", Value::Int(3)),
                ("path", Value::List(path)),
            ])
        };
        let several = torrent([
            (
                "files",
                Value::List(vec![
                    file(vec![Value::text("S01"), Value::Bytes(latin)], ""),
                    file(vec![Value::text(".pad")], "p"),
                ]),
            ),
            ("name", Value::text("\u{1f3ac}")),
        ]);
        let read = Contents::read(&several).expect("a torrent");
        assert_eq!(read.files, [b"S01/caf\xe9".to_vec()]);
        assert_eq!(read.sizes, [3]);
        let leaf = |size| Value::dict([("", Value::dict([("length", Value::Int(size))]))]);
        let tree = Value::dict([("a", leaf(1)), ("b", Value::dict([("c", leaf(2))]))]);
        let read =
            Contents::read(&torrent([("file tree", tree), ("name", Value::text("pack"))])).expect("v2");
        assert_eq!(
            (read.files, read.sizes),
            (vec![b"a".to_vec(), b"b/c".to_vec()], vec![1, 2])
        );
    }

    proptest! {
        #[test]
        fn what_is_stored_is_read_back(
            name in prop::collection::vec(1u8.., 1..20).prop_filter("a name", |name| fault_of_name(name).is_none()),
            files in prop::collection::vec((prop::collection::vec(1u8.., 1..20), any::<u64>()), 0..5),
        ) {
            let (files, mut sizes): (Vec<_>, Vec<_>) = files.into_iter().unzip();
            if files.is_empty() { sizes.push(7); }
            let contents = Contents { name, files, sizes };
            prop_assert_eq!(Contents::of_stored(&contents.stored()), Some(contents));
        }
    }
}
