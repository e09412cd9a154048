//! Film that the real program can read.

fn chunk(name: [u8; 4], data: &[u8]) -> Vec<u8> {
    let mut chunk = name.to_vec();
    chunk.extend(u32::try_from(data.len()).expect("a small chunk").to_le_bytes());
    chunk.extend(data);
    chunk
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A film without a picture: two seconds of MPEG-4 in an AVI.
///
/// # Panics
/// Never: its chunks are small.
pub fn film(width: u32, height: u32) -> Vec<u8> {
    let header = words(&[40_000, 0, 0, 0x10, 50, 0, 1, 0, width, height, 0, 0, 0, 0]);
    let mut stream = b"vidsXVID".to_vec();
    stream.extend(words(&[0, 0, 0, 1, 25, 0, 50, 0, u32::MAX, 0, 0, 0]));
    let mut format = words(&[40, width, height, 1 | 24 << 16]);
    format.extend(b"XVID");
    format.extend(words(&[width * height * 3, 0, 0, 0, 0]));
    let mut streams = b"strl".to_vec();
    streams.extend(chunk(*b"strh", &stream));
    streams.extend(chunk(*b"strf", &format));
    let mut headers = b"hdrl".to_vec();
    headers.extend(chunk(*b"avih", &header));
    headers.extend(chunk(*b"LIST", &streams));
    let mut movie = b"movi".to_vec();
    movie.extend(chunk(*b"00dc", &[0; 16]));
    let mut all = b"AVI ".to_vec();
    all.extend(chunk(*b"LIST", &headers));
    all.extend(chunk(*b"LIST", &movie));
    chunk(*b"RIFF", &all)
}
