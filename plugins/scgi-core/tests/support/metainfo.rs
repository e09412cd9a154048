//! Small torrents, the same in every run.

use sha1::{Digest as _, Sha1};

pub struct Metainfo {
    pub bytes: Vec<u8>,
    /// Lower-case hex.
    pub hash: String,
    pub name: String,
}

impl Metainfo {
    /// The same with these trackers, each in a tier of its own; none without any.
    pub fn announced(mut self, urls: &[String]) -> Self {
        let announce = [b"8:announce".to_vec(), text("http://127.0.0.1:9/announce")].concat();
        let mut trackers = Vec::new();
        if let [first, ..] = urls {
            trackers.extend([b"8:announce".to_vec(), text(first), b"13:announce-listl".to_vec()].concat());
            for url in urls {
                trackers.extend([b"l".to_vec(), text(url), b"e".to_vec()].concat());
            }
            trackers.push(b'e');
        }
        let rest = self.bytes.split_off(1 + announce.len());
        self.bytes.truncate(1);
        self.bytes.extend(trackers);
        self.bytes.extend(rest);
        self
    }
}

fn text(text: &str) -> Vec<u8> {
    format!("{}:{text}", text.len()).into_bytes()
}

fn pieces(data: &[u8], piece_bytes: usize) -> Vec<u8> {
    data.chunks(piece_bytes)
        .flat_map(|piece| Sha1::digest(piece).to_vec())
        .collect()
}

fn finish(name: &str, info: Vec<u8>) -> Metainfo {
    let hash = Sha1::digest(&info)
        .iter()
        .fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
    // Nobody listens on the discard port, so no tracker gets in the way.
    let mut bytes = [
        b"d8:announce".to_vec(),
        text("http://127.0.0.1:9/announce"),
        b"4:info".to_vec(),
    ]
    .concat();
    bytes.extend(info);
    bytes.push(b'e');
    Metainfo {
        bytes,
        hash,
        name: name.to_owned(),
    }
}

/// A torrent of one file with this content.
pub fn single(name: &str, content: &[u8], piece_bytes: usize) -> Metainfo {
    let mut info = format!("d6:lengthi{}e4:name", content.len()).into_bytes();
    info.extend(text(name));
    info.extend(format!("12:piece lengthi{piece_bytes}e6:pieces").into_bytes());
    let pieces = pieces(content, piece_bytes);
    info.extend(format!("{}:", pieces.len()).into_bytes());
    info.extend(pieces);
    info.push(b'e');
    finish(name, info)
}

/// A torrent of several files in a folder.
pub fn folder(name: &str, files: &[(&str, &[u8])], piece_bytes: usize) -> Metainfo {
    let mut info = b"d5:filesl".to_vec();
    for (path, content) in files {
        info.extend(format!("d6:lengthi{}e4:pathl", content.len()).into_bytes());
        info.extend(path.split('/').flat_map(text));
        info.extend(b"ee");
    }
    info.extend(b"e4:name");
    info.extend(text(name));
    info.extend(format!("12:piece lengthi{piece_bytes}e6:pieces").into_bytes());
    let all: Vec<u8> = files.iter().flat_map(|(_, content)| content.to_vec()).collect();
    let pieces = pieces(&all, piece_bytes);
    info.extend(format!("{}:", pieces.len()).into_bytes());
    info.extend(pieces);
    info.push(b'e');
    finish(name, info)
}

/// Bytes that look random and are the same in every run.
pub fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    })
    .take(length)
    .collect()
}
