//! `.torrent` files: BitTorrent v1 (BEP 3), v2 (BEP 52) and hybrids of both.

use sha1::{Digest, Sha1};
use sha2::Sha256;

use super::MAX_TORRENT_BYTES;
use super::bencode::{self, BencodeError, Node};

/// Why bytes are not a torrent. Users read `Invalid .torrent file`; this is the cause for the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetainfoError {
    #[error("the file is larger than {MAX_TORRENT_BYTES} bytes")]
    TooLarge,
    #[error("not bencode: {0}")]
    Bencode(#[from] BencodeError),
    #[error("there is no `info` dictionary")]
    NoInfo,
    #[error("`info.meta version` is {0}, known are 1 and 2")]
    UnknownVersion(i64),
    #[error("`{0}` is missing or malformed")]
    Malformed(&'static str),
}

/// One file of a torrent, as the torrent names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// Segments joined with `/`, below the torrent's own name. Untrusted: shown, never opened.
    pub path: String,
    /// Bytes.
    pub size: u64,
}

/// What a `.torrent` file says.
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
    /// One entry named like the torrent when it is a single file.
    pub files: Vec<FileEntry>,
    pub is_private: bool,
    /// Announce URLs in the order of their tiers, each once.
    pub trackers: Vec<String>,
}

impl Metainfo {
    /// Reads a `.torrent` file. The hash is taken over the `info` bytes as they stand, never over a re-encoding.
    pub fn parse(file: &[u8]) -> Result<Metainfo, MetainfoError> {
        if file.len() > MAX_TORRENT_BYTES {
            return Err(MetainfoError::TooLarge);
        }
        let root = bencode::parse(file)?;
        let info = root
            .get("info")
            .filter(|info| info.dict().is_some())
            .ok_or(MetainfoError::NoInfo)?;
        let version = info.get("meta version").and_then(Node::int).unwrap_or(1);
        if !(1..=2).contains(&version) {
            return Err(MetainfoError::UnknownVersion(version));
        }
        let has_v2 = version == 2;
        let has_v1 = !has_v2 || info.get("pieces").is_some();

        let name = info
            .get("name")
            .and_then(Node::text)
            .ok_or(MetainfoError::Malformed("info.name"))?;
        let files = if has_v1 {
            v1_files(info, &name)?
        } else {
            v2_files(info)?
        };
        let size = files
            .iter()
            .try_fold(0u64, |sum, file| sum.checked_add(file.size));

        let v1 = has_v1.then(|| hex::encode(Sha1::digest(info.raw())));
        let v2 = has_v2.then(|| hex::encode(Sha256::digest(info.raw())));
        let cut = v2.as_ref().map(|v2| v2[..40].to_owned());
        let (hash, alias) = match (&v1, cut) {
            (Some(v1), cut) => (v1.clone(), cut),
            (None, Some(cut)) => (cut, None),
            (None, None) => return Err(MetainfoError::Malformed("info")),
        };
        Ok(Metainfo {
            hash,
            alias,
            v1,
            v2,
            name,
            size: size.ok_or(MetainfoError::Malformed("info.files"))?,
            files,
            is_private: info.get("private").and_then(Node::int) == Some(1),
            trackers: trackers(root),
        })
    }
}

fn length(node: Node<'_>, what: &'static str) -> Result<u64, MetainfoError> {
    let value = node
        .get("length")
        .and_then(Node::int)
        .ok_or(MetainfoError::Malformed(what))?;
    u64::try_from(value).map_err(|_| MetainfoError::Malformed(what))
}

/// Padding (BEP 47) exists only to align files to pieces; clients hide it and so do we.
fn is_padding(file: Node<'_>) -> bool {
    file.get("attr")
        .and_then(Node::bytes)
        .is_some_and(|attr| attr.contains(&b'p'))
}

fn v1_files(info: Node<'_>, name: &str) -> Result<Vec<FileEntry>, MetainfoError> {
    let pieces = info
        .get("pieces")
        .and_then(Node::bytes)
        .ok_or(MetainfoError::Malformed("info.pieces"))?;
    if pieces.len() % 20 != 0 {
        return Err(MetainfoError::Malformed("info.pieces"));
    }
    let Some(files) = info.get("files") else {
        return Ok(vec![FileEntry {
            path: name.to_owned(),
            size: length(info, "info.length")?,
        }]);
    };
    let files = files.list().ok_or(MetainfoError::Malformed("info.files"))?;
    files
        .filter(|file| !is_padding(*file))
        .map(|file| {
            let path = file
                .get("path")
                .and_then(Node::list)
                .ok_or(MetainfoError::Malformed("info.files.path"))?;
            let segments: Option<Vec<String>> = path.map(Node::text).collect();
            let path = segments
                .filter(|s| !s.is_empty())
                .ok_or(MetainfoError::Malformed("info.files.path"))?;
            Ok(FileEntry {
                path: path.join("/"),
                size: length(file, "info.files.length")?,
            })
        })
        .collect()
}

fn v2_files(info: Node<'_>) -> Result<Vec<FileEntry>, MetainfoError> {
    let tree = info
        .get("file tree")
        .ok_or(MetainfoError::Malformed("info.file tree"))?;
    let mut files = Vec::new();
    walk_tree(tree, "", &mut files)?;
    if files.is_empty() {
        return Err(MetainfoError::Malformed("info.file tree"));
    }
    Ok(files)
}

/// Collects the files below a directory of a v2 tree. Recursion is bounded by the reader's depth limit.
fn walk_tree(directory: Node<'_>, prefix: &str, files: &mut Vec<FileEntry>) -> Result<(), MetainfoError> {
    let entries = directory
        .dict()
        .ok_or(MetainfoError::Malformed("info.file tree"))?;
    for (name, entry) in entries {
        let name = String::from_utf8_lossy(name);
        let path = if prefix.is_empty() {
            name.into_owned()
        } else {
            format!("{prefix}/{name}")
        };
        // A file is a dictionary whose one entry has the empty name.
        match entry.get("") {
            Some(file) if is_padding(file) => {}
            Some(file) => files.push(FileEntry {
                path,
                size: length(file, "info.file tree.length")?,
            }),
            None => walk_tree(entry, &path, files)?,
        }
    }
    Ok(())
}

fn trackers(root: Node<'_>) -> Vec<String> {
    let tiers = root.get("announce-list").and_then(Node::list);
    let listed = tiers
        .into_iter()
        .flatten()
        .filter_map(Node::list)
        .flatten()
        .filter_map(Node::text);
    let single = root.get("announce").and_then(Node::text);
    let mut seen = std::collections::HashSet::new();
    single
        .into_iter()
        .chain(listed)
        .filter(|url| !url.is_empty() && seen.insert(url.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::encode::Value;
    use super::*;

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
    fn v1_is_sha1_of_the_raw_info() {
        let parsed = Metainfo::parse(&torrent(v1_single())).expect("valid");

        assert_eq!(parsed.hash, hex::encode(Sha1::digest(v1_single().encode())));
        assert_eq!(parsed.v1.as_deref(), Some(parsed.hash.as_str()));
        assert_eq!(parsed.v2, None);
        assert_eq!(
            parsed.files,
            [FileEntry {
                path: "hello.txt".to_owned(),
                size: 5
            }]
        );
        assert_eq!(
            (parsed.name.as_str(), parsed.size, parsed.is_private),
            ("hello.txt", 5, false)
        );
        assert_eq!(parsed.trackers, [ANNOUNCE]);
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
        let paths: Vec<_> = parsed.files.iter().map(|f| (f.path.as_str(), f.size)).collect();
        assert_eq!(paths, [("a.bin", 3), ("sub/b.bin", 4)]);
        assert_eq!(parsed.size, 7);
    }

    #[test]
    fn in_a_hybrid_v1_wins_and_padding_is_hidden() {
        let parsed = Metainfo::parse(&torrent(hybrid())).expect("valid");
        assert_eq!(parsed.hash, hex::encode(Sha1::digest(hybrid().encode())));
        let sha256 = hex::encode(Sha256::digest(hybrid().encode()));
        assert_eq!(parsed.alias.as_deref(), Some(&sha256[..40]));
        assert_eq!(parsed.v2, Some(sha256));
        let paths: Vec<_> = parsed.files.iter().map(|f| (f.path.as_str(), f.size)).collect();
        assert_eq!(paths, [("a.bin", 3), ("sub/b.bin", 4)]);
        assert_eq!((parsed.size, parsed.is_private), (7, true));
    }

    #[test]
    fn trackers_come_once_and_in_order() {
        let tiers = Value::List(vec![
            Value::List(vec![Value::text(ANNOUNCE), Value::text("udp://b.example:1")]),
            Value::List(vec![
                Value::text("udp://b.example:1"),
                Value::text("http://c.example"),
            ]),
        ]);
        let file = Value::dict([
            ("announce", Value::text(ANNOUNCE)),
            ("announce-list", tiers),
            ("info", v1_single()),
        ])
        .encode();
        let parsed = Metainfo::parse(&file).expect("valid");
        assert_eq!(
            parsed.trackers,
            [ANNOUNCE, "udp://b.example:1", "http://c.example"]
        );
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
        use MetainfoError::*;
        let cases: Vec<(&str, Vec<u8>, MetainfoError)> = vec![
            (
                "html",
                b"<!doctype html>".to_vec(),
                Bencode(BencodeError::UnexpectedByte(0)),
            ),
            ("a list", b"le".to_vec(), NoInfo),
            ("no info", b"d8:announce1:xe".to_vec(), NoInfo),
            ("info is text", b"d4:info1:xe".to_vec(), NoInfo),
            (
                "two infos",
                b"d4:infode4:infodee".to_vec(),
                Bencode(BencodeError::DuplicateKey),
            ),
            ("no name", with(v1_single(), "name", None), Malformed("info.name")),
            (
                "no pieces",
                with(v1_single(), "pieces", None),
                Malformed("info.pieces"),
            ),
            (
                "odd pieces",
                with(v1_single(), "pieces", Some(Value::Bytes(vec![0; 19]))),
                Malformed("info.pieces"),
            ),
            (
                "no length",
                with(v1_single(), "length", None),
                Malformed("info.length"),
            ),
            (
                "negative length",
                with(v1_single(), "length", Some(Value::Int(-1))),
                Malformed("info.length"),
            ),
            (
                "empty path",
                with(
                    v1_single(),
                    "files",
                    Some(Value::List(vec![Value::dict([
                        ("length", Value::Int(1)),
                        ("path", Value::List(vec![])),
                    ])])),
                ),
                Malformed("info.files.path"),
            ),
            (
                "empty tree",
                with(v2_only(), "file tree", Some(Value::dict([]))),
                Malformed("info.file tree"),
            ),
            (
                "no tree",
                with(v2_only(), "file tree", None),
                Malformed("info.file tree"),
            ),
            (
                "version 3",
                with(v2_only(), "meta version", Some(Value::Int(3))),
                UnknownVersion(3),
            ),
            ("too large", vec![b'd'; MAX_TORRENT_BYTES + 1], TooLarge),
        ];
        for (name, file, error) in cases {
            assert_eq!(Metainfo::parse(&file), Err(error), "{name}");
        }
    }

    proptest! {
        #[test]
        fn the_hash_is_over_the_bytes_as_they_stand(name in "[a-z]{1,20}", length in 0i64..1 << 40, extra in "[x-z]{1,8}") {
            // An unsorted info dictionary: re-encoding it would change the hash, reading it raw does not.
            let info = format!("d4:name{}:{name}{}:{extra}i1e6:lengthi{length}e6:pieces0:e", name.len(), extra.len());
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
