//! Small torrents made on the spot, always the same ones.

use sha1::{Digest, Sha1};
use sha2::Sha256;

/// A tracker nobody answers at.
pub const TRACKER: &str = "http://127.0.0.1:9/announce";
const PIECE: usize = 16_384;

pub struct Made {
    pub bytes: Vec<u8>,
    /// Info-hash of version 1.
    pub hash: String,
    pub content: Vec<u8>,
}

fn content(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 % 251) as u8).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}

fn text(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(format!("{}:", text.len()).as_bytes());
    out.extend_from_slice(text);
}

fn pieces(content: &[u8]) -> Vec<u8> {
    content.chunks(PIECE).flat_map(Sha1::digest).collect()
}

fn made(info: Vec<u8>, extra: &[u8], content: Vec<u8>) -> Made {
    let mut bytes = b"d8:announce".to_vec();
    text(&mut bytes, TRACKER.as_bytes());
    bytes.extend_from_slice(b"4:info");
    bytes.extend_from_slice(&info);
    bytes.extend_from_slice(extra);
    bytes.push(b'e');
    Made {
        bytes,
        hash: hex(&Sha1::digest(&info)),
        content,
    }
}

/// Two files of 20,000 and 10,000 bytes in the folder `name`.
pub fn two_files(name: &str) -> Made {
    two_files_from(name, "")
}

/// The same files as another torrent: one for each `source`.
pub fn two_files_from(name: &str, source: &str) -> Made {
    let content = content(30_000);
    let mut info =
        b"d5:filesld6:lengthi20000e4:pathl5:a.bineed6:lengthi10000e4:pathl3:sub5:b.bineee4:name".to_vec();
    text(&mut info, name.as_bytes());
    info.extend_from_slice(format!("12:piece lengthi{PIECE}e6:pieces").as_bytes());
    text(&mut info, &pieces(&content));
    if !source.is_empty() {
        text(&mut info, b"source");
        text(&mut info, source.as_bytes());
    }
    info.push(b'e');
    made(info, b"", content)
}

/// One file of 10,000 bytes, described both ways: the client lists it by its v2 hash, everybody else by its v1 hash.
pub fn hybrid(name: &str) -> Made {
    let content = content(10_000);
    // One block: the root of its tree is its hash.
    let root = Sha256::digest(&content);
    let mut info = b"d9:file treed".to_vec();
    text(&mut info, name.as_bytes());
    info.extend_from_slice(b"d0:d6:lengthi10000e11:pieces root");
    text(&mut info, &root);
    info.extend_from_slice(b"eee6:lengthi10000e12:meta versioni2e4:name");
    text(&mut info, name.as_bytes());
    info.extend_from_slice(format!("12:piece lengthi{PIECE}e6:pieces").as_bytes());
    text(&mut info, &pieces(&content));
    info.push(b'e');
    made(info, b"12:piece layersde", content)
}
