//! `.torrent` files: BitTorrent v1 (BEP 3), v2 (BEP 52) and hybrids of both.

use sha1::{Digest, Sha1};
use sha2::Sha256;

use crate::MAX_TORRENT_BYTES;
use crate::bencode::{self, BencodeError, Node};
use crate::layout::{self, Content};

/// Why bytes are not a torrent: each reads as the rest of a sentence that begins with `Invalid .torrent file`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetainfoError {
    /// It does not even begin like one.
    #[error("it is no bencoded dictionary")]
    NotBencode,
    /// It came from a site, which sent something else.
    #[error("{0}")]
    Instead(String),
    #[error("it is larger than {MAX_TORRENT_BYTES} bytes")]
    TooLarge,
    #[error("{0}")]
    Bencode(#[from] BencodeError),
    #[error("there is no `info` dictionary")]
    NoInfo,
    #[error("info.meta version: {0}, known are 1 and 2")]
    UnknownVersion(i64),
    /// Where something is wrong, and what.
    #[error("{at}: {what}")]
    Faulty { at: String, what: String },
}

pub(crate) fn faulty(at: impl Into<String>, what: impl Into<String>) -> MetainfoError {
    MetainfoError::Faulty {
        at: at.into(),
        what: what.into(),
    }
}

/// Contents of a `.torrent` file, as far as adding it needs to know. Its files are checked and not kept: a list of them
/// can be a thousand times as large as the file it was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metainfo {
    /// The identity clients list it under: the v1 hash if there is one, else the v2 hash cut to 40 digits. Lower case.
    pub hash: String,
    /// A hybrid's other identity, its v2 hash cut to 40 digits: qBittorrent lists hybrids under it since 4.4.
    pub alias: Option<String>,
    /// SHA-1 of the raw `info` value, 40 hex digits; `None` for a torrent that is v2 only.
    pub v1: Option<String>,
    /// SHA-256 of the raw `info` value, 64 hex digits; `None` for a torrent that is v1 only.
    pub v2: Option<String>,
    pub name: String,
    /// Sum of the files, in bytes; padding files not counted.
    pub size: u64,
    /// Files without padding.
    pub file_count: usize,
    /// It asks clients to get peers from its trackers alone (BEP 27).
    pub is_private: bool,
}

/// The file without the line breaks that some programs leave behind its end.
pub fn trimmed(file: &[u8]) -> &[u8] {
    file.trim_ascii_end()
}

/// The keys of `info` that matter, found in one pass.
#[derive(Default)]
pub(crate) struct Info<'a> {
    file_tree: Option<Node<'a>>,
    files: Option<Node<'a>>,
    length: Option<Node<'a>>,
    version: Option<Node<'a>>,
    name: Option<Node<'a>>,
    pub(crate) piece_length: Option<Node<'a>>,
    pub(crate) pieces: Option<Node<'a>>,
    private: Option<Node<'a>>,
}

impl<'a> Info<'a> {
    fn read(info: Node<'a>) -> Option<Self> {
        let mut keys = Info::default();
        for (key, value) in info.dict()? {
            let place = match key {
                b"file tree" => &mut keys.file_tree,
                b"files" => &mut keys.files,
                b"length" => &mut keys.length,
                b"meta version" => &mut keys.version,
                b"name" => &mut keys.name,
                b"piece length" => &mut keys.piece_length,
                b"pieces" => &mut keys.pieces,
                b"private" => &mut keys.private,
                _ => continue,
            };
            *place = Some(value);
        }
        Some(keys)
    }

    fn name(&self) -> Result<String, MetainfoError> {
        let name = self.name.and_then(Node::bytes);
        let name = name.ok_or_else(|| faulty("info.name", "missing, or not a string"))?;
        match layout::fault_of_name(name) {
            Some(fault) => Err(faulty("info.name", format!("it {fault}"))),
            None => Ok(String::from_utf8_lossy(name).into_owned()),
        }
    }

    fn v1_content(&self) -> Result<Content, MetainfoError> {
        let content = match (self.files, self.length) {
            (Some(files), _) => layout::of_list(files)?,
            (None, Some(length)) => {
                let size = layout::size_of(length).map_err(|what| faulty("info.length", what))?;
                Content::of_one(size)?
            }
            (None, None) => return Err(faulty("info", "neither `length` nor `files`")),
        };
        layout::check_pieces(self, content)?;
        Ok(content)
    }

    fn v2_content(&self) -> Result<Content, MetainfoError> {
        let tree = self.file_tree;
        layout::of_tree(tree.ok_or_else(|| faulty("info.file tree", "missing"))?)
    }
}

impl Metainfo {
    /// Reads a `.torrent` file. The hash is taken over the `info` bytes as they stand, never over a re-encoding.
    pub fn parse(file: &[u8]) -> Result<Metainfo, MetainfoError> {
        if file.len() > MAX_TORRENT_BYTES {
            return Err(MetainfoError::TooLarge);
        }
        if file.first() != Some(&b'd') {
            return Err(MetainfoError::NotBencode);
        }
        let root = bencode::parse(trimmed(file))?;
        let raw = root.get("info").ok_or(MetainfoError::NoInfo)?;
        let info = Info::read(raw).ok_or(MetainfoError::NoInfo)?;
        let version = info.version.and_then(Node::int).unwrap_or(1);
        if !(1..=2).contains(&version) {
            return Err(MetainfoError::UnknownVersion(version));
        }
        let has_v2 = version == 2;
        let has_v1 = !has_v2 || info.pieces.is_some();

        let name = info.name()?;
        let tree = if has_v2 { Some(info.v2_content()?) } else { None };
        let content = match tree {
            Some(content) if !has_v1 => content,
            _ => info.v1_content()?,
        };
        let v1 = has_v1.then(|| hex::encode(Sha1::digest(raw.raw())));
        let v2 = has_v2.then(|| hex::encode(Sha256::digest(raw.raw())));
        let cut = v2.as_ref().map(|v2| v2[..40].to_owned());
        let (hash, alias) = match (&v1, cut) {
            (Some(v1), cut) => (v1.clone(), cut),
            (None, Some(cut)) => (cut, None),
            (None, None) => return Err(faulty("info", "neither v1 nor v2")),
        };
        Ok(Metainfo {
            hash,
            alias,
            v1,
            v2,
            name,
            size: content.size,
            file_count: content.files,
            // What no client would write counts as private: nobody is to act on it being public.
            is_private: info.private.is_some_and(|flag| flag.int() != Some(0)),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::encode::Value;

    const ANNOUNCE: &str = "http://tracker.example/announce";

    fn v1_single() -> Value {
        Value::dict([
            ("length", Value::Int(5)),
            ("name", Value::text("hello.txt")),
            ("piece length", Value::Int(16384)),
            ("pieces", Value::Bytes(vec![7; 20])),
        ])
    }

    fn file_tree() -> Value {
        let leaf = |size| {
            Value::dict([(
                "",
                Value::dict([
                    ("length", Value::Int(size)),
                    ("pieces root", Value::Bytes(vec![1; 32])),
                ]),
            )])
        };
        Value::dict([("a.bin", leaf(3)), ("sub", Value::dict([("b.bin", leaf(4))]))])
    }

    fn v2_only() -> Value {
        Value::dict([
            ("file tree", file_tree()),
            ("meta version", Value::Int(2)),
            ("name", Value::text("pack")),
            ("piece length", Value::Int(16384)),
        ])
    }

    fn hybrid() -> Value {
        let file = |size, path: &[&str], attr: Option<&str>| {
            let mut entries = vec![
                ("length", Value::Int(size)),
                ("path", Value::List(path.iter().map(|p| Value::text(p)).collect())),
            ];
            entries.extend(attr.map(|attr| ("attr", Value::text(attr))));
            Value::Dict(
                entries
                    .into_iter()
                    .map(|(k, v)| (k.as_bytes().to_vec(), v))
                    .collect(),
            )
        };
        Value::dict([
            ("file tree", file_tree()),
            (
                "files",
                Value::List(vec![
                    file(3, &["a.bin"], None),
                    file(16381, &[".pad", "16381"], Some("p")),
                    file(4, &["sub", "b.bin"], None),
                ]),
            ),
            ("meta version", Value::Int(2)),
            ("name", Value::text("pack")),
            ("piece length", Value::Int(16384)),
            ("pieces", Value::Bytes(vec![9; 40])),
            ("private", Value::Int(1)),
        ])
    }

    fn torrent(info: Value) -> Vec<u8> {
        Value::dict([("announce", Value::text(ANNOUNCE)), ("info", info)]).encode()
    }

    #[test]
    fn a_torrent_is_private_when_its_info_says_so() {
        for (private, expected) in [
            (None, false),
            (Some(Value::Int(0)), false),
            (Some(Value::Int(1)), true),
            (Some(Value::Int(2)), true),
            (Some(Value::text("1")), true),
        ] {
            let mut info = v1_single();
            let Value::Dict(entries) = &mut info else {
                panic!("an info dictionary");
            };
            entries.remove(&b"private"[..]);
            entries.extend(private.map(|private| (b"private".to_vec(), private)));
            let parsed = Metainfo::parse(&torrent(info)).expect("valid");
            assert_eq!(parsed.is_private, expected);
        }
    }

    #[test]
    fn v1_is_sha1_of_the_raw_info() {
        let parsed = Metainfo::parse(&torrent(v1_single())).expect("valid");

        assert_eq!(parsed.hash, hex::encode(Sha1::digest(v1_single().encode())));
        assert_eq!(parsed.v1.as_deref(), Some(parsed.hash.as_str()));
        assert_eq!(parsed.v2, None);
        assert_eq!(
            (parsed.name.as_str(), parsed.size, parsed.file_count),
            ("hello.txt", 5, 1)
        );
    }

    #[test]
    fn a_known_file_has_the_hash_the_world_knows() {
        // Computed with coreutils `sha1sum` over the info value.
        let file = b"d4:infod6:lengthi0e4:name1:x12:piece lengthi16384e6:pieces0:ee";
        let parsed = Metainfo::parse(file).expect("valid");
        assert_eq!(parsed.hash, "2ff89194550e83efb975086f9b976f1bc5252e70");
    }

    #[test]
    fn v2_is_sha256_cut_to_forty_digits() {
        let parsed = Metainfo::parse(&torrent(v2_only())).expect("valid");
        let sha256 = hex::encode(Sha256::digest(v2_only().encode()));
        assert_eq!(parsed.hash, sha256[..40]);
        assert_eq!((parsed.v1, parsed.v2, parsed.alias), (None, Some(sha256), None));
        assert_eq!((parsed.size, parsed.file_count), (7, 2));
    }

    #[test]
    fn in_a_hybrid_v1_wins_and_padding_does_not_count() {
        let parsed = Metainfo::parse(&torrent(hybrid())).expect("valid");
        assert_eq!(parsed.hash, hex::encode(Sha1::digest(hybrid().encode())));
        let sha256 = hex::encode(Sha256::digest(hybrid().encode()));
        assert_eq!(parsed.alias.as_deref(), Some(&sha256[..40]));
        assert_eq!(parsed.v2, Some(sha256));
        assert_eq!((parsed.size, parsed.file_count), (7, 2));
    }

    #[test]
    fn line_breaks_behind_the_end_are_no_part_of_it() {
        let file = torrent(v1_single());
        let hash = Metainfo::parse(&file).expect("valid").hash;
        for rest in ["\n", "\r\n", "\n\n"] {
            let longer = [&file[..], rest.as_bytes()].concat();
            assert_eq!(Metainfo::parse(&longer).expect("valid").hash, hash, "{rest:?}");
            assert_eq!(trimmed(&longer), file);
        }
        let longer = [&file[..], b"\ne"].concat();
        let text = Metainfo::parse(&longer)
            .expect_err("more than a line break")
            .to_string();
        assert_eq!(text, format!("bytes follow the value at offset {}", file.len()));
    }

    /// A v1 torrent of these files, with as many hashes as it needs.
    fn v1_multi(files: Vec<Value>, pieces: usize) -> Vec<u8> {
        torrent(Value::dict([
            ("files", Value::List(files)),
            ("name", Value::text("pack")),
            ("piece length", Value::Int(16384)),
            ("pieces", Value::Bytes(vec![9; 20 * pieces])),
        ]))
    }

    fn names(path: &[&str]) -> Value {
        Value::List(path.iter().map(|name| Value::text(name)).collect())
    }

    fn file(path: &[&str]) -> Value {
        Value::dict([("length", Value::Int(4)), ("path", names(path))])
    }

    fn with_attr(path: &[&str], attr: &str) -> Value {
        Value::dict([
            ("attr", Value::text(attr)),
            ("length", Value::Int(4)),
            ("path", names(path)),
        ])
    }

    fn fault(file: &[u8]) -> String {
        Metainfo::parse(file).map_or_else(|error| error.to_string(), |_| "none".into())
    }

    #[test]
    fn a_symbolic_link_may_have_no_length() {
        let link = |attr: &str| {
            Value::dict([
                ("attr", Value::text(attr)),
                ("path", names(&["link"])),
                ("symlink path", names(&["a"])),
            ])
        };
        assert_eq!(fault(&v1_multi(vec![file(&["a"]), link("l")], 1)), "none");
        assert_eq!(
            fault(&v1_multi(vec![file(&["a"]), link("x")], 1)),
            "info.files[1].length: missing"
        );
    }

    /// rTorrent 0.9.8 aborts on the first four.
    #[test]
    fn refuses_files_that_cannot_be_side_by_side() {
        let utf8 = |path: &str, translated: &str| {
            Value::dict([
                ("length", Value::Int(4)),
                ("path", names(&[path])),
                ("path.utf-8", names(&[translated])),
            ])
        };
        let two = |name: &str| format!("info.files: two files are called \"{name}\"");
        let both = |name: &str| format!("info.files: \"{name}\" is both a file and a folder");
        for (files, expected) in [
            (vec![file(&["d", "a"]), file(&["d", "a"])], two("d/a")),
            (vec![file(&["a"]), file(&["a", "b"])], both("a")),
            (vec![utf8("a", "y"), utf8("a", "z")], two("a")),
            (vec![with_attr(&["a"], "p"), with_attr(&["a"], "p")], two("a")),
            (
                vec![with_attr(&["a"], "p"), with_attr(&["a", "b"], "p")],
                both("a"),
            ),
            (vec![file(&["a", "b"]), file(&["c"]), file(&["a"])], both("a")),
            (vec![file(&["a"]), file(&["c"]), file(&["a"])], two("a")),
            (vec![utf8("a", "z"), utf8("b", "z")], two("z")),
            (vec![with_attr(&["a"], "p"), file(&["b"]), file(&["a"])], two("a")),
            (
                vec![file(&["a"]), file(&["a.b"]), file(&["aa"]), file(&["b", "a"])],
                "none".into(),
            ),
            // Padding of one length has one name.
            (
                vec![
                    file(&["a"]),
                    with_attr(&[".pad", "4"], "p"),
                    file(&["b"]),
                    with_attr(&[".pad", "4"], "p"),
                    file(&["c"]),
                ],
                "none".into(),
            ),
        ] {
            assert_eq!(fault(&v1_multi(files, 1)), expected);
        }
    }

    #[test]
    fn refuses_names_that_are_none() {
        let at = |position: usize, what: &str| format!("info.files[1].path: name {position} {what}");
        for (path, expected) in [
            (&["", "a"][..], at(0, "is empty")),
            (&["a", ""][..], at(1, "is empty")),
            (&["."][..], at(0, "is `.` or `..`")),
            (&["a", "..", "b"][..], at(1, "is `.` or `..`")),
            (&["a/b"][..], at(0, "has a slash in it")),
            (&["a\0b"][..], at(0, "has a NUL in it")),
            (&[][..], "info.files[1].path: an empty list".into()),
            (&[&*"n".repeat(5000)][..], at(0, "is longer than 4096 bytes")),
            (
                &[&*"n".repeat(4000), &*"n".repeat(100)][..],
                "info.files[1].path: longer than 4096 bytes".into(),
            ),
        ] {
            assert_eq!(
                fault(&v1_multi(vec![file(&["z"]), file(path)], 1)),
                expected,
                "{path:?}"
            );
        }
        for (name, expected) in [
            ("", "info.name: it is empty"),
            ("..", "info.name: it is `.` or `..`"),
            ("a/b", "info.name: it has a slash in it"),
        ] {
            assert_eq!(
                fault(&with(v1_single(), "name", Some(Value::text(name)))),
                expected
            );
        }
    }

    #[test]
    fn a_tree_is_judged_like_a_list() {
        let leaf = || Value::dict([("", Value::dict([("length", Value::Int(1))]))]);
        let tree = |tree: Value| fault(&with(v2_only(), "file tree", Some(tree)));
        let both = Value::dict([("", Value::dict([("length", Value::Int(1))])), ("b", leaf())]);
        let long = "n".repeat(4000);
        for (given, expected) in [
            (
                Value::dict([("a", both)]),
                "info.file tree: \"a\": is both a file and a folder",
            ),
            (leaf(), "info.file tree: \"\": is both a file and a folder"),
            (
                Value::dict([("a", Value::Int(1))]),
                "info.file tree: \"a\": not a dictionary",
            ),
            (
                Value::dict([("a", Value::dict([("", Value::dict([]))]))]),
                "info.file tree: \"a\": length missing",
            ),
            (
                Value::dict([("a", Value::dict([("..", leaf())]))]),
                "info.file tree: \"a\": a name below it is `.` or `..`",
            ),
            (Value::dict([("a", Value::dict([]))]), "info.file tree: no files"),
            (Value::dict([]), "info.file tree: no files"),
            (Value::Int(1), "info.file tree: not a dictionary"),
        ] {
            assert_eq!(tree(given), expected);
        }
        let deep = Value::dict([(&*long, Value::dict([(&*long, leaf())]))]);
        assert!(tree(deep).ends_with("…: longer than 4096 bytes"));
        let link = Value::dict([("", Value::dict([("attr", Value::text("l"))]))]);
        assert_eq!(tree(Value::dict([("a", leaf()), ("link", link)])), "none");
    }

    /// `info` with one entry replaced or, with `None`, removed.
    fn with(info: Value, key: &str, value: Option<Value>) -> Vec<u8> {
        let Value::Dict(mut entries) = info else {
            unreachable!("info is a dictionary")
        };
        entries.remove(key.as_bytes());
        entries.extend(value.map(|value| (key.as_bytes().to_vec(), value)));
        torrent(Value::Dict(entries))
    }

    #[test]
    fn refuses_what_is_no_torrent() {
        let bytes = |n: usize| Some(Value::Bytes(vec![0; n]));
        for (expected, file) in [
            ("it is no bencoded dictionary", b"<!doctype html>".to_vec()),
            ("it is no bencoded dictionary", b"le".to_vec()),
            ("it is no bencoded dictionary", Vec::new()),
            ("unexpected byte at offset 4", b"d1:ax".to_vec()),
            ("the text ends in the middle of a value", b"d4:infod".to_vec()),
            ("there is no `info` dictionary", b"d8:announce1:xe".to_vec()),
            ("there is no `info` dictionary", b"d4:info1:xe".to_vec()),
            (
                "a dictionary holds the same key twice",
                b"d4:infode4:infodee".to_vec(),
            ),
            (
                "info.name: missing, or not a string",
                with(v1_single(), "name", None),
            ),
            (
                "info.pieces: missing, or not a string",
                with(v1_single(), "pieces", None),
            ),
            (
                "info.pieces: 19 bytes, which is no multiple of the 20 of a hash",
                with(v1_single(), "pieces", bytes(19)),
            ),
            (
                "info.pieces: 3 hashes for 1 piece",
                with(v1_single(), "pieces", bytes(60)),
            ),
            (
                "info.pieces: 1 hash for 4 pieces",
                with(v1_single(), "length", Some(Value::Int(50_000))),
            ),
            (
                "info.piece length: not above 0",
                with(v1_single(), "piece length", Some(Value::Int(0))),
            ),
            (
                "info.piece length: missing, or not an integer",
                with(v1_single(), "piece length", None),
            ),
            (
                "info: neither `length` nor `files`",
                with(v1_single(), "length", None),
            ),
            (
                "info.length: negative",
                with(v1_single(), "length", Some(Value::Int(-1))),
            ),
            (
                "info.length: not an integer",
                with(v1_single(), "length", Some(Value::text("1"))),
            ),
            ("info.files: an empty list", v1_multi(vec![], 0)),
            (
                "info.files[0]: not a dictionary",
                v1_multi(vec![Value::Int(1)], 0),
            ),
            ("info.file tree: missing", with(v2_only(), "file tree", None)),
            (
                "info.meta version: 3, known are 1 and 2",
                with(v2_only(), "meta version", Some(Value::Int(3))),
            ),
            (
                "it is larger than 20971520 bytes",
                vec![b'd'; MAX_TORRENT_BYTES + 1],
            ),
        ] {
            assert_eq!(fault(&file), expected);
        }
        let huge = || Value::dict([("length", Value::Int(i64::MAX)), ("path", names(&["a"]))]);
        let sum = fault(&v1_multi(vec![huge(), huge()], 1));
        assert_eq!(sum, "info: the sizes of the files add up to more than 2^63 bytes");
    }

    proptest! {
        #[test]
        fn the_hash_is_over_the_bytes_as_they_stand(name in "[a-z]{1,20}", length in 1i64..1 << 40, extra in "[x-z]{1,8}") {
            // An unsorted info dictionary: re-encoding it would change the hash, reading it raw does not.
            let info = format!(
                "d4:name{}:{name}{}:{extra}i1e6:lengthi{length}e12:piece lengthi{}e6:pieces20:{:20}e",
                name.len(), extra.len(), 1i64 << 40, "x"
            );
            let parsed = Metainfo::parse(format!("d4:info{info}e").as_bytes()).expect("valid");
            prop_assert_eq!(parsed.hash, hex::encode(Sha1::digest(info.as_bytes())));
            prop_assert_eq!(parsed.size, length as u64);
        }

        #[test]
        fn damaged_torrents_never_panic(at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
            for info in [v1_single(), v2_only(), hybrid()] {
                let mut file = torrent(info);
                let at = at.index(file.len());
                if cut { file.truncate(at) } else { file[at] = byte }
                let _ = Metainfo::parse(&file);
            }
        }
    }
}
