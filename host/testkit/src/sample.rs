//! Torrents made for tests: a file of random bytes and its `.torrent` in BitTorrent v1, v2 or both.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use qm_metainfo::encode::Value;
use sha1::{Digest, Sha1};
use sha2::Sha256;

/// Size of the torrent that the main proofs move: 64 MiB.
pub const MAIN_SIZE: usize = 64 * 1024 * 1024;

const BLOCK: usize = 16 * 1024;
const PIECE: usize = 256 * 1024;

/// The generation of the format that a sample is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    V1,
    V2,
    Hybrid,
}

/// A file, or a folder of some, and the torrent that describes it.
#[derive(Clone)]
pub struct Sample {
    pub name: String,
    /// Names of the files in the folder, all of one size; none: it is a file.
    pub files: Vec<String>,
    pub bytes: bytes::Bytes,
    /// The `.torrent` file.
    pub metainfo: Vec<u8>,
    /// Its info-hash of 40 hex digits; a hybrid's is the v1 hash.
    pub hash: String,
    /// The hash by which qBittorrent lists it since 4.4: of a hybrid that is its v2 hash, cut to 40 digits.
    pub qbittorrent_hash: String,
    pub magnet: String,
}

/// A torrent of `0123456789` with a name of these bytes, and its hash: one file, or a folder with a file of that name and
/// `plain.txt`, each with half.
pub fn named_by_bytes(name: &[u8], folder: bool) -> (Vec<u8>, String) {
    let bytes = Value::Bytes(name.to_vec());
    let file = |name: Value| Value::dict([("length", Value::Int(5)), ("path", Value::List(vec![name]))]);
    let content = if folder {
        let files = vec![file(bytes.clone()), file(Value::text("plain.txt"))];
        ("files", Value::List(files))
    } else {
        ("length", Value::Int(10))
    };
    let info = Value::dict([
        content,
        ("name", bytes),
        ("piece length", Value::Int(16384)),
        ("pieces", Value::Bytes(pieces(b"0123456789"))),
    ]);
    let hash = hex::encode(Sha1::digest(info.encode()));
    let announce = Value::text("http://127.0.0.1:9/announce");
    (
        Value::dict([("announce", announce), ("info", info)]).encode(),
        hash,
    )
}

impl Sample {
    /// A single-file torrent of `size` bytes that depend on `seed` alone. Samples with different seeds or names have
    /// different hashes.
    pub fn new(name: &str, size: usize, seed: u64, format: Format, announce: &str) -> Sample {
        let bytes = random_bytes(size, seed);
        let info = info(name, &bytes, format).encode();
        Self::assemble(name, Vec::new(), bytes, &info, format, announce)
    }

    /// A torrent of a folder with these files in BitTorrent v1, each of `size` bytes.
    pub fn folder(name: &str, files: Vec<String>, size: usize, seed: u64, announce: &str) -> Sample {
        let bytes = random_bytes(size * files.len(), seed);
        let number = |n: usize| Value::Int(i64::try_from(n).expect("a size below 2^63"));
        let file = |name: &String| {
            let path = Value::List(vec![Value::text(name)]);
            Value::dict([("length", number(size)), ("path", path)])
        };
        let info = Value::dict([
            ("files", Value::List(files.iter().map(file).collect())),
            ("name", Value::text(name)),
            ("piece length", number(PIECE)),
            ("pieces", Value::Bytes(pieces(&bytes))),
        ]);
        Self::assemble(name, files, bytes, &info.encode(), Format::V1, announce)
    }

    /// The same data in BitTorrent v1 under another hash, of which `source` is a part; as a second tracker would have it.
    pub fn with_source(&self, source: &str, announce: &str) -> Sample {
        let number = |n: usize| Value::Int(i64::try_from(n).expect("a size below 2^63"));
        let each = self.bytes.len() / self.files.len().max(1);
        let file = |name: &String| {
            let path = Value::List(vec![Value::text(name)]);
            Value::dict([("length", number(each)), ("path", path)])
        };
        let content = if self.files.is_empty() {
            ("length", number(each))
        } else {
            ("files", Value::List(self.files.iter().map(file).collect()))
        };
        let info = Value::dict([
            content,
            ("name", Value::text(&self.name)),
            ("piece length", number(PIECE)),
            ("pieces", Value::Bytes(pieces(&self.bytes))),
            ("source", Value::text(source)),
        ]);
        let bytes = self.bytes.to_vec();
        Self::assemble(
            &self.name,
            self.files.clone(),
            bytes,
            &info.encode(),
            Format::V1,
            announce,
        )
    }

    fn assemble(
        name: &str,
        files: Vec<String>,
        bytes: Vec<u8>,
        info: &[u8],
        format: Format,
        announce: &str,
    ) -> Sample {
        let size = bytes.len();
        let (v1, v2) = (hex::encode(Sha1::digest(info)), hex::encode(Sha256::digest(info)));
        let mut file = b"d8:announce".to_vec();
        file.extend(Value::text(announce).encode());
        file.extend(b"4:info");
        file.extend(info);
        if format != Format::V1 && size > PIECE {
            file.extend(b"12:piece layers");
            let Merkle { root, layer } = merkle(&bytes);
            file.extend(Value::Dict([(root.to_vec(), Value::Bytes(layer))].into()).encode());
        }
        file.push(b'e');
        let xt = match format {
            Format::V1 => format!("xt=urn:btih:{v1}"),
            Format::V2 => format!("xt=urn:btmh:1220{v2}"),
            Format::Hybrid => format!("xt=urn:btih:{v1}&xt=urn:btmh:1220{v2}"),
        };
        Sample {
            name: name.to_owned(),
            files,
            bytes: bytes.into(),
            metainfo: file,
            hash: if format == Format::V2 {
                v2[..40].to_owned()
            } else {
                v1.clone()
            },
            qbittorrent_hash: if format == Format::V1 {
                v1
            } else {
                v2[..40].to_owned()
            },
            magnet: format!(
                "magnet:?{xt}&dn={name}&tr={}",
                announce.replace(':', "%3A").replace('/', "%2F")
            ),
        }
    }

    /// Writes it into `directory`, as a client that seeds it expects to find it.
    pub fn write_to(&self, directory: &Path) -> PathBuf {
        std::fs::create_dir_all(directory).expect("a download directory");
        let path = directory.join(&self.name);
        if !self.files.is_empty() {
            std::fs::create_dir_all(&path).expect("a download directory");
        }
        for (at, bytes) in self.parts(&path) {
            std::fs::write(at, bytes).expect("room for the sample");
        }
        path
    }

    /// True if `directory` holds the sample, byte for byte.
    pub fn is_in(&self, directory: &Path) -> bool {
        let mut parts = self.parts(&directory.join(&self.name)).into_iter();
        parts.all(|(at, bytes)| std::fs::read(at).is_ok_and(|found| found == bytes))
    }

    /// Its files, and what is in each.
    fn parts(&self, path: &Path) -> Vec<(PathBuf, &[u8])> {
        if self.files.is_empty() {
            return vec![(path.to_owned(), &self.bytes)];
        }
        let size = self.bytes.len() / self.files.len();
        let names = self.files.iter().map(|name| path.join(name));
        names.zip(self.bytes.chunks(size)).collect()
    }
}

/// SplitMix64: incompressible, reproducible, fast enough unoptimised.
fn random_bytes(size: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut bytes = Vec::with_capacity(size + 8);
    while bytes.len() < size {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bytes.extend_from_slice(&(word ^ (word >> 31)).to_le_bytes());
    }
    bytes.truncate(size);
    bytes
}

fn info(name: &str, bytes: &[u8], format: Format) -> Value {
    let number = |n: usize| Value::Int(i64::try_from(n).expect("a size below 2^63"));
    let mut entries = BTreeMap::from([
        (b"name".to_vec(), Value::text(name)),
        (b"piece length".to_vec(), number(PIECE)),
    ]);
    if format != Format::V1 {
        let leaf = Value::dict([
            ("length", number(bytes.len())),
            ("pieces root", Value::Bytes(merkle(bytes).root.to_vec())),
        ]);
        let tree = Value::dict([(name, Value::dict([("", leaf)]))]);
        entries.insert(b"file tree".to_vec(), tree);
        entries.insert(b"meta version".to_vec(), Value::Int(2));
    }
    if format != Format::V2 {
        entries.insert(b"length".to_vec(), number(bytes.len()));
        entries.insert(b"pieces".to_vec(), Value::Bytes(pieces(bytes)));
    }
    Value::Dict(entries)
}

fn pieces(bytes: &[u8]) -> Vec<u8> {
    bytes.chunks(PIECE).flat_map(Sha1::digest).collect()
}

struct Merkle {
    root: [u8; 32],
    /// The hashes of whole pieces, in order: what `piece layers` holds.
    layer: Vec<u8>,
}

/// The hash tree of BEP 52 over blocks of 16 KiB, padded with zero hashes to a power of two.
fn merkle(bytes: &[u8]) -> Merkle {
    let blocks_a_piece = PIECE / BLOCK;
    let mut level: Vec<[u8; 32]> = bytes
        .chunks(BLOCK)
        .map(|block| Sha256::digest(block).into())
        .collect();
    let pieces = bytes.len().div_ceil(PIECE);
    // A file smaller than a piece has a tree of its own height; a larger one is padded to whole pieces first.
    let leaves = if pieces > 1 {
        pieces.next_power_of_two() * blocks_a_piece
    } else {
        level.len().next_power_of_two()
    };
    level.resize(leaves, [0; 32]);
    let mut layer = Vec::new();
    let mut width = 1;
    while level.len() > 1 {
        if pieces > 1 && width == blocks_a_piece {
            layer = level[..pieces].concat();
        }
        level = level
            .chunks(2)
            .map(|pair| Sha256::digest(pair.concat()).into())
            .collect();
        width *= 2;
    }
    Merkle {
        root: level[0],
        layer,
    }
}
