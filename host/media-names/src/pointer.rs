//! Files without a picture that point to other files: playlists, manifests, reference films. A tool that reads one opens the
//! named files, which a stranger can choose.
//!
//! The content decides, whatever the name: a text, a beginning that such files have, a film whose parts lie elsewhere.
//! Bounds: the first [`HEAD`] bytes, [`MOST_BOXES`] boxes of a film, nested [`MOST_DEPTH`] deep.

use std::io;

/// Most bytes of the beginning that are read.
pub const HEAD: usize = 4096;
/// Most boxes of a film that are read.
const MOST_BOXES: usize = 4096;
/// Most boxes inside each other, down to the one with the places of the data.
const MOST_DEPTH: usize = 8;

/// Reason why a file is not probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Pointer {
    #[error("it is no video: it is a text, as files are that point to other files")]
    Text,
    #[error("it is no video: it points to other files")]
    List,
    #[error("it is no video of its own: its parts lie in other files")]
    Reference,
}

/// Beginnings of binary files that point to other files: lists of a disc, edits without media data, old playlists.
const LISTS: &[&[u8]] = &[
    b"MPLS0",
    b"INDX0",
    b"MOBJ0",
    b"HDMV",
    b"DVDVIDEO-V",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    b"RTSPtext",
    b"SMILtext",
    b"ref ",
];

/// Reason why a file points to other files, if it does. `read` fills the buffer from an offset on as far as it can, and
/// returns the number of bytes.
pub fn recognise(
    size: u64,
    read: &mut dyn FnMut(u64, &mut [u8]) -> io::Result<usize>,
) -> io::Result<Option<Pointer>> {
    let mut head = vec![0; HEAD];
    let filled = read(0, &mut head)?;
    head.truncate(filled);
    if let Some(pointer) = of_head(&head) {
        return Ok(Some(pointer));
    }
    if is_film_of_boxes(&head) {
        let mut boxes = Boxes {
            read,
            left: MOST_BOXES,
        };
        return boxes.look(0, size, 0);
    }
    Ok(None)
}

fn of_head(head: &[u8]) -> Option<Pointer> {
    // Marks of how a text is written: no film begins with one.
    let marks: [&[u8]; 3] = [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"];
    if marks.iter().any(|mark| head.starts_with(mark)) {
        return Some(Pointer::Text);
    }
    if LISTS.iter().any(|list| head.starts_with(list)) {
        return Some(Pointer::List);
    }
    // In two bytes a letter every other one is zero, on either side.
    let is_blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0;
    let begin: Vec<u8> = head
        .iter()
        .copied()
        .skip_while(is_blank)
        .filter(|byte| *byte != 0)
        .take(8)
        .collect();
    let begins = |text: &[u8]| begin.len() >= text.len() && begin[..text.len()].eq_ignore_ascii_case(text);
    let is_mark = begins(b"<?xml") || begins(b"#EXT") || begins(b"[playlis") || begins(b"[Referen");
    let opens = begin.first() == Some(&b'<')
        && begin
            .get(1)
            .is_some_and(|next| next.is_ascii_alphabetic() || *next == b'!');
    if (is_mark || opens) && !is_stream(head) {
        return Some(Pointer::Text);
    }
    is_text(head).then_some(Pointer::Text)
}

/// True if the file is a sequence of packets of a broadcast or of a disc, which may begin with any byte.
fn is_stream(head: &[u8]) -> bool {
    let every = |first: usize, length: usize| (0..4).all(|at| head.get(first + at * length) == Some(&0x47));
    (every(0, 188) || every(4, 192)) && !is_text(head)
}

/// True if all bytes may occur in a text. An empty file is no text.
fn is_text(head: &[u8]) -> bool {
    let is_control = |byte: &u8| *byte < 0x20 && !byte.is_ascii_whitespace() && *byte != 0x1b;
    !head.is_empty() && !head.iter().any(|byte| is_control(byte) || *byte == 0x7f)
}

fn is_film_of_boxes(head: &[u8]) -> bool {
    let kinds: [&[u8; 4]; 9] = [
        b"ftyp", b"moov", b"mdat", b"free", b"skip", b"wide", b"pnot", b"uuid", b"styp",
    ];
    head.get(4..8)
        .is_some_and(|kind| kinds.iter().any(|known| kind == *known))
}

/// The boxes of a QuickTime or MPEG-4 film.
struct Boxes<'a> {
    read: &'a mut dyn FnMut(u64, &mut [u8]) -> io::Result<usize>,
    left: usize,
}

impl Boxes<'_> {
    /// Reads the boxes between two offsets.
    fn look(&mut self, mut at: u64, end: u64, depth: usize) -> io::Result<Option<Pointer>> {
        while at.saturating_add(8) <= end && self.left > 0 {
            self.left -= 1;
            let mut header = [0; 16];
            let filled = (self.read)(at, &mut header)?;
            if filled < 8 {
                break;
            }
            let (mut size, mut inside) = (u64::from(number(&header[..4])), at + 8);
            if size == 1 && filled == 16 {
                size = u64::from(number(&header[8..12])) << 32 | u64::from(number(&header[12..]));
                inside = at + 16;
            }
            let next = if size == 0 {
                end
            } else {
                at.saturating_add(size).min(end)
            };
            if next < inside {
                break;
            }
            match &header[4..8] {
                b"rmra" => return Ok(Some(Pointer::Reference)),
                b"dref" if self.is_elsewhere(inside, next)? => return Ok(Some(Pointer::Reference)),
                b"moov" | b"trak" | b"mdia" | b"minf" | b"dinf" if depth < MOST_DEPTH => {
                    if let Some(pointer) = self.look(inside, next, depth + 1)? {
                        return Ok(Some(pointer));
                    }
                }
                _ => {}
            }
            at = next;
        }
        Ok(None)
    }

    /// True if a list of places names one outside of the film itself.
    fn is_elsewhere(&mut self, inside: u64, end: u64) -> io::Result<bool> {
        let mut at = inside.saturating_add(8);
        while at.saturating_add(12) <= end && self.left > 0 {
            self.left -= 1;
            let mut entry = [0; 12];
            if (self.read)(at, &mut entry)? < entry.len() {
                break;
            }
            if entry[11] & 1 == 0 {
                return Ok(true);
            }
            match number(&entry[..4]) {
                0..12 => break,
                size => at = at.saturating_add(u64::from(size)),
            }
        }
        Ok(false)
    }
}

fn number(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .take(4)
        .fold(0, |number, byte| number << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read_bytes(bytes: &[u8]) -> Option<Pointer> {
        let mut read = |at: u64, into: &mut [u8]| {
            let rest = bytes
                .get(usize::try_from(at).unwrap_or(usize::MAX)..)
                .unwrap_or_default();
            let filled = rest.len().min(into.len());
            into[..filled].copy_from_slice(&rest[..filled]);
            Ok(filled)
        };
        recognise(bytes.len() as u64, &mut read).unwrap()
    }

    fn boxed(kind: &str, inside: &[&[u8]]) -> Vec<u8> {
        let inside = inside.concat();
        let size = u32::try_from(inside.len() + 8).unwrap().to_be_bytes();
        [&size[..], kind.as_bytes(), &inside].concat()
    }

    fn film(reference: &[u8]) -> Vec<u8> {
        let dref = boxed("dref", &[&[0; 4], &[0, 0, 0, 1], reference]);
        let inner = boxed("mdia", &[&boxed("minf", &[&boxed("dinf", &[&dref])])]);
        let track = boxed("trak", &[&inner]);
        [
            boxed("ftyp", &[b"isom\0\0\0\0"]),
            boxed("mdat", &[&[7; 5000]]),
            boxed("moov", &[&boxed("mvhd", &[&[0; 100]]), &track]),
        ]
        .concat()
    }

    fn wide(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    #[test]
    fn what_points_to_other_files_is_told_by_its_content() {
        let long = format!("<MPD>{}\u{1}", " ".repeat(5000));
        for text in [
            "<?xml version=\"1.0\"?><smil><video src=\"/etc/passwd\"/></smil>",
            "\n\t <MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\"/>",
            "<!-- x --><SmoothStreamingMedia/>",
            "<manifest xmlns=\"http://ns.adobe.com/f4m/1.0\"/>\u{0}",
            "#EXTM3U\n/secrets.json\n",
            "[playlist]\nFile1=/secrets.json\n",
            "[Reference]\nRef1=http://x/y\n",
            "RTSPtext\nrtsp://x/y",
            "SMILtext",
            "/secrets.json\n",
            "\u{feff}#EXTM3U\n",
            &long,
        ] {
            assert!(read_bytes(text.as_bytes()).is_some(), "{text:.40}");
            assert!(
                read_bytes(&wide(text)).is_some() || text.starts_with(['/', 'R', 'S']),
                "{text:.40}"
            );
        }
        for list in ["MPLS0200\0\0", "INDX0200\0\0", "DVDVIDEO-VTS\0"] {
            assert_eq!(read_bytes(list.as_bytes()), Some(Pointer::List), "{list}");
        }
        let url = boxed("url ", &[&[0, 0, 0, 0], b"file:///etc/passwd\0"]);
        let alias = boxed("alis", &[&[0, 0, 0, 0], b"/etc/passwd"]);
        let own = boxed("url ", &[&[0, 0, 0, 1]]);
        let both = [own.clone(), url.clone()].concat();
        for (reference, told) in [
            (url, Some(Pointer::Reference)),
            (alias, Some(Pointer::Reference)),
            (both, Some(Pointer::Reference)),
            (own, None),
        ] {
            assert_eq!(read_bytes(&film(&reference)), told);
        }
        let reference = boxed("moov", &[&boxed("rmra", &[&boxed("rmda", &[b"x\0"])])]);
        assert_eq!(read_bytes(&reference), Some(Pointer::Reference));
    }

    #[test]
    fn what_films_begin_with_points_nowhere() {
        let mut disc = vec![0; 192 * 8];
        for packet in disc.chunks_mut(192) {
            packet[..5].copy_from_slice(b"<a  G");
        }
        let broadcast: Vec<u8> = disc
            .chunks(192)
            .flat_map(|packet| &packet[4..])
            .copied()
            .collect();
        for film in [
            &b"\x1a\x45\xdf\xa3\x01\0\0\0"[..],
            b"RIFF\x10\0\0\0AVI LIST",
            b"\x30\x26\xb2\x75\x8e\x66\xcf\x11",
            b"\0\0\x01\xba\x44",
            b"FLV\x01\x05\0",
            b"",
            &[0; 64],
            &disc,
            &broadcast,
        ] {
            assert_eq!(read_bytes(film), None, "{film:.8?}");
        }
    }

    proptest! {
        /// Whatever sizes boxes claim, the look ends.
        #[test]
        fn any_bytes_are_looked_through(bytes in proptest::collection::vec(any::<u8>(), 0..400), kind in 0..4usize) {
            let kinds = ["ftyp", "moov", "rmra", "dref"];
            let _ = read_bytes(&bytes);
            let _ = read_bytes(&boxed("moov", &[&boxed(kinds[kind], &[&bytes])]));
        }
    }
}
