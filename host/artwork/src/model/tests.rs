//! Tests of names and of containers.

use super::local::{Found, Look, Meaning, read_name, season_of_folder};
use super::picture::{MAX_SIDE, Picture, Refused};
use super::*;

fn meaning(name: &str, is_episode: bool) -> Option<Meaning> {
    read_name(name, &["tide (1999)".to_owned(), "tide".to_owned()], is_episode)
}

#[test]
fn names_of_four_programs_are_read() {
    use ArtKind::*;
    for (name, kind, season) in [
        ("poster.jpg", Poster, None),
        ("Folder.JPG", Poster, None),
        ("cover.png", Poster, None),
        ("default.webp", Poster, None),
        ("movie.jpg", Poster, None),
        ("show.jpg", Poster, None),
        ("movie.tbn", Poster, None),
        ("poster-1.jpg", Poster, None),
        ("fanart.jpg", Fanart, None),
        ("fanart2.jpg", Fanart, None),
        ("fanart-3.jpg", Fanart, None),
        ("backdrop.jpg", Fanart, None),
        ("background.jpg", Fanart, None),
        ("art.jpg", Fanart, None),
        ("banner.jpeg", Banner, None),
        ("logo.png", Logo, None),
        ("clearlogo.png", Logo, None),
        ("clearart.png", Clearart, None),
        ("landscape.jpg", Thumbnail, None),
        ("thumb.jpg", Thumbnail, None),
        ("Tide (1999)-poster.jpg", Poster, None),
        ("Tide (1999)-fanart.jpg", Fanart, None),
        ("Tide (1999)-fanart1.jpg", Fanart, None),
        ("Tide (1999).banner.jpg", Banner, None),
        ("Tide (1999)-clearlogo.png", Logo, None),
        ("Tide (1999)-landscape.jpg", Thumbnail, None),
        ("Tide (1999)-thumb.jpg", Thumbnail, None),
        ("Tide (1999).jpg", Poster, None),
        ("season01.jpg", SeasonPoster, Some(1)),
        ("Season 1.jpg", SeasonPoster, Some(1)),
        ("season_02-poster.jpg", SeasonPoster, Some(2)),
        ("season.3.poster.jpg", SeasonPoster, Some(3)),
        ("season-4-poster.png", SeasonPoster, Some(4)),
        ("season-specials-poster.jpg", SeasonPoster, Some(0)),
        ("season00-poster.jpg", SeasonPoster, Some(0)),
        ("season-all-poster.jpg", SeasonPoster, None),
        ("season01-fanart.jpg", Fanart, Some(1)),
        ("season01-banner.jpg", Banner, Some(1)),
        ("season2020-poster.jpg", SeasonPoster, Some(2020)),
    ] {
        let found = meaning(name, false).unwrap_or_else(|| panic!("{name} means nothing"));
        assert_eq!((found.0, found.1), (kind, season), "{name}");
    }
    assert_eq!(meaning("Tide.jpg", true).map(|found| found.0), Some(Thumbnail));
    for name in [
        "poster.gif",
        "poster.svg",
        "poster.txt",
        "poster",
        ".jpg",
        "holiday.jpg",
        "Tide (1999)-sample.jpg",
        "Ebb-poster.jpg",
        "seasons.jpg",
        "season1x.jpg",
        "season123456-poster.jpg",
        "smart.jpg",
        "posterity.jpg",
    ] {
        assert_eq!(meaning(name, false), None, "{name}");
    }
    for (name, season) in [
        ("Season 01", Some(1)),
        ("Staffel 2", Some(2)),
        ("specials", Some(0)),
        ("Season", None),
        ("Season 1 extras", None),
    ] {
        assert_eq!(season_of_folder(name), season, "{name}");
    }
}

fn row(id: &str, place: &str, slot: &str) -> Artwork {
    Artwork {
        id: id.to_owned(),
        owner: Owner::Item("i".to_owned()),
        season: None,
        kind: ArtKind::Poster,
        source: Source::Local,
        is_selected: true,
        url: None,
        lies: Lies::Beside {
            place: place.to_owned(),
            slot: slot.to_owned(),
        },
        width: None,
        height: None,
        created_at: Timestamp::from_ms(0),
    }
}

fn found(place: &str, slot: &str) -> Found {
    Found {
        place: place.to_owned(),
        kind: ArtKind::Poster,
        season: None,
        slot: slot.to_owned(),
    }
}

#[test]
fn rows_follow_files_and_stay_where_nothing_is_known() {
    let rows = [
        row("1", "Tide/poster.jpg", "poster.jpg"),
        row("2", "Tide/Tide-poster.jpg", "*-poster.jpg"),
    ];
    let same = Look {
        found: vec![
            found("Tide/poster.jpg", "poster.jpg"),
            found("Tide/Tide-poster.jpg", "*-poster.jpg"),
        ],
        ..Look::default()
    };
    assert!(Difference::between(&rows, &same).is_empty());
    // The folder was renamed, and one picture with its film.
    let moved = Look {
        found: vec![found("Tide (1999)/Tide (1999)-poster.jpg", "*-poster.jpg")],
        ..Look::default()
    };
    let change = Difference::between(&rows, &moved);
    assert_eq!(
        change.moved,
        [("2".to_owned(), "Tide (1999)/Tide (1999)-poster.jpg".to_owned())]
    );
    assert_eq!((change.gone, change.found.len()), (vec!["1".to_owned()], 0));
    // A directory that cannot be read takes nothing away.
    let unread = Look {
        unread: ["Tide".to_owned()].into(),
        ..Look::default()
    };
    assert!(Difference::between(&rows, &unread).is_empty());
    let all = Look {
        unread: [String::new()].into(),
        ..Look::default()
    };
    assert!(Difference::between(&rows, &all).is_empty());
}

/// Chunk of a PNG; its checksum is not looked at before the pixels are.
fn chunk(name: &[u8], data: &[u8]) -> Vec<u8> {
    let mut chunk = (data.len() as u32).to_be_bytes().to_vec();
    chunk.extend_from_slice(name);
    chunk.extend_from_slice(data);
    chunk.extend_from_slice(&[0; 4]);
    chunk
}

fn png(width: u32, height: u32, kind: u8, depth: u8) -> Vec<u8> {
    let mut header = width.to_be_bytes().to_vec();
    header.extend_from_slice(&height.to_be_bytes());
    header.extend_from_slice(&[depth, kind, 0, 0, 0]);
    [
        b"\x89PNG\r\n\x1a\n".to_vec(),
        chunk(b"IHDR", &header),
        chunk(b"IDAT", b"x"),
        chunk(b"IEND", b""),
    ]
    .concat()
}

fn jpeg(marker: u8, width: u16, height: u16, factors: [u8; 3]) -> Vec<u8> {
    let mut bytes = vec![0xff, 0xd8, 0xff, marker, 0, 17, 8];
    bytes.extend_from_slice(&height.to_be_bytes());
    bytes.extend_from_slice(&width.to_be_bytes());
    bytes.push(3);
    for (number, factor) in factors.into_iter().enumerate() {
        bytes.extend_from_slice(&[number as u8 + 1, factor, 0]);
    }
    bytes.extend_from_slice(&[
        0xff, 0xda, 0, 12, 3, 1, 0, 2, 0, 3, 0, 0, 63, 0, 1, 2, 3, 0xff, 0, 4, 0xff, 0xd9,
    ]);
    bytes
}

fn riff(chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
    let mut body = b"WEBP".to_vec();
    for (name, data) in chunks {
        body.extend_from_slice(*name);
        body.extend_from_slice(&(data.len() as u32).to_le_bytes());
        body.extend_from_slice(data);
        if data.len() % 2 == 1 {
            body.push(0);
        }
    }
    [b"RIFF".to_vec(), (body.len() as u32).to_le_bytes().to_vec(), body].concat()
}

fn lossless(width: u32, height: u32) -> Vec<u8> {
    let bits = (width - 1) | (height - 1) << 14;
    [vec![0x2f], bits.to_le_bytes().to_vec(), vec![0; 5]].concat()
}

#[test]
fn memory_is_judged_by_the_header_and_the_way_of_compression() {
    for (bytes, fine) in [
        (png(2000, 3000, 2, 8), true),
        (png(2000, 3000, 6, 16), true),
        (png(3840, 2160, 6, 16), false),
        (png(30_000, 30_000, 2, 8), false),
        (png(1, MAX_SIDE + 1, 0, 1), false),
        (png(u32::MAX, u32::MAX, 2, 8), false),
        (png(0, 5, 2, 8), false),
        (jpeg(0xc0, 5000, 3900, [0x11; 3]), true),
        (jpeg(0xc0, 30_000, 30_000, [0x11; 3]), false),
        // Of a progressive one all coefficients are held at once.
        (jpeg(0xc2, 3840, 2160, [0x22, 0x11, 0x11]), true),
        (jpeg(0xc2, 5000, 3900, [0x11; 3]), false),
        (jpeg(0xc0, 5, 0, [0x11; 3]), false),
        (riff(&[(b"VP8L", &lossless(2000, 3000))]), true),
        (riff(&[(b"VP8L", &lossless(16_000, 16_000))]), false),
    ] {
        match (Picture::read(&bytes), fine) {
            (Ok(_), true) | (Err(Refused::TooManyPixels(..)), false) => {}
            (other, _) => panic!("{:x?}…: {other:?}", &bytes[..bytes.len().min(32)]),
        }
    }
}

#[test]
fn what_is_no_plain_picture_has_its_reason() {
    let header = &[[0, 0, 0, 2, 0, 0, 0, 2].as_slice(), &[8, 2, 0, 0, 0]].concat();
    let start = [b"\x89PNG\r\n\x1a\n".to_vec(), chunk(b"IHDR", header)].concat();
    let with = |chunks: &[Vec<u8>]| [start.clone(), chunks.concat()].concat();
    let moving = |flags: u8| [&[flags, 0, 0, 0, 1, 0, 0, 1, 0, 0][..]].concat();
    for (bytes, reason) in [
        (Vec::new(), "is empty"),
        (b"GIF89a\x01\0\x01\0".to_vec(), "neither a PNG"),
        (b"<html><script>".to_vec(), "neither a PNG"),
        (b" <?xml version='1.0'?><svg xmlns='x'/>".to_vec(), "SVG"),
        (b"\x89PNG\r\n\x1a\n".to_vec(), "cut off"),
        (
            with(&[chunk(b"acTL", &[0; 8]), chunk(b"IDAT", b"x"), chunk(b"IEND", b"")]),
            "animated",
        ),
        (
            with(&[chunk(b"IDAT", b"x"), chunk(b"fdAT", b"x"), chunk(b"IEND", b"")]),
            "animated",
        ),
        (with(&[chunk(b"IEND", b"")]), "no pixels"),
        (with(&[chunk(b"IHDR", header)]), "two headers"),
        (with(&[chunk(b"QuUX", b"")]), "extension"),
        (with(&[chunk(b"\0\0\0\0", b"")]), "no name"),
        (
            [
                with(&[chunk(b"IDAT", b"x"), chunk(b"IEND", b"")]),
                b"PK\x03\x04".to_vec(),
            ]
            .concat(),
            "4 bytes follow",
        ),
        (
            [jpeg(0xc0, 5, 5, [0x11; 3]), b"<?php".to_vec()].concat(),
            "5 bytes follow",
        ),
        (jpeg(0xc3, 5, 5, [0x11; 3]), "not read"),
        (jpeg(0xc9, 5, 5, [0x11; 3]), "not read"),
        (b"\xff\xd8\xff\xd9".to_vec(), "no pixels"),
        (b"\xff\xd8\xff\xd8".to_vec(), "begins twice"),
        (riff(&[(b"VP8X", &moving(2))]), "animated"),
        (riff(&[(b"VP8X", &moving(0)), (b"ANMF", b"xx")]), "animated"),
        (riff(&[(b"VP8X", &moving(0))]), "no pixels"),
        (
            riff(&[(b"VP8X", &moving(0)), (b"VP8L", &lossless(5, 5))]),
            "contradict",
        ),
        (
            riff(&[(b"VP8L", &lossless(5, 5)), (b"VP8L", &lossless(5, 5))]),
            "two pictures",
        ),
        (riff(&[(b"junk", b"xx")]), "begins with no picture"),
        (
            [riff(&[(b"VP8L", &lossless(5, 5))]), b"%PDF".to_vec()].concat(),
            "4 bytes follow",
        ),
    ] {
        let refused = Picture::read(&bytes)
            .map(|picture| picture.format)
            .unwrap_err()
            .to_string();
        assert!(refused.contains(reason), "{refused}, not {reason}");
    }
    // A block that is filled up with zeros is nothing behind a picture.
    let filled = [jpeg(0xc0, 5, 5, [0x11; 3]), vec![0; 64]].concat();
    assert_eq!(Picture::read(&filled).unwrap().bytes, jpeg(0xc0, 5, 5, [0x11; 3]));
}

#[test]
fn texts_and_camera_data_are_left_out_and_the_orientation_stays() {
    let plain = jpeg(0xc0, 6, 4, [0x11; 3]);
    let segment = |marker: u8, data: &[u8]| {
        [&[0xff, marker], &(data.len() as u16 + 2).to_be_bytes()[..], data].concat()
    };
    let camera = [
        b"Exif\0\0II\x2a\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0".as_slice(),
        b"52.5N 13.4E",
    ]
    .concat();
    let said = [
        &plain[..2],
        &segment(0xe0, b"JFIF\0\x01\x02\0\0\x01\0\x01\0\0"),
        &segment(0xe1, &camera),
        &segment(0xe1, b"http://ns.adobe.com/xap/1.0/\0<x/>"),
        &segment(0xe2, b"MPF\0more"),
        &segment(0xe2, b"ICC_PROFILE\0\x01\x01colours"),
        &segment(0xfe, b"a comment"),
        &plain[2..],
    ]
    .concat();
    let read = Picture::read(&said).unwrap();
    assert_eq!((read.orientation, read.shown_size()), (6, (4, 6)));
    let has = |text: &[u8]| read.bytes.windows(text.len()).any(|part| part == text);
    assert!(has(b"JFIF") && has(b"ICC_PROFILE") && has(b"Exif"));
    assert!(!has(b"52.5N") && !has(b"adobe") && !has(b"MPF") && !has(b"comment"));
    // What is kept reads as the same.
    assert_eq!(Picture::read(&read.bytes).unwrap(), read);

    let header = &[[0, 0, 0, 2, 0, 0, 0, 2].as_slice(), &[8, 2, 0, 0, 0]].concat();
    let said = [
        b"\x89PNG\r\n\x1a\n".to_vec(),
        chunk(b"IHDR", header),
        chunk(b"tEXt", b"Author\0somebody"),
        chunk(b"eXIf", b"somewhere"),
        chunk(b"IDAT", b"x"),
        chunk(b"IEND", b""),
    ]
    .concat();
    assert_eq!(Picture::read(&said).unwrap().bytes, png(2, 2, 2, 8));

    let canvas = [0x0c, 0, 0, 0, 4, 0, 0, 4, 0, 0];
    let plain = [0, 0, 0, 0, 4, 0, 0, 4, 0, 0];
    let said = riff(&[
        (b"VP8X", &canvas),
        (b"VP8L", &lossless(5, 5)),
        (b"EXIF", b"somewhere"),
        (b"XMP ", b"<x/>"),
    ]);
    let kept = riff(&[(b"VP8X", &plain), (b"VP8L", &lossless(5, 5))]);
    assert_eq!(Picture::read(&said).unwrap().bytes, kept);
}

proptest::proptest! {
    /// Any bytes behind a known beginning are read or refused, and what is kept is no longer, and reads again.
    #[test]
    fn bytes_are_read_or_refused(head in 0..4usize, tail in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
        let head: &[u8] = [&b"\x89PNG\r\n\x1a\n"[..], b"\xff\xd8\xff", b"RIFF\x20\0\0\0WEBPVP8X", b""][head];
        let bytes = [head, &tail].concat();
        if let Ok(picture) = Picture::read(&bytes) {
            proptest::prop_assert_eq!(Picture::read(&picture.bytes), Ok(picture));
        }
    }

    /// A whole picture with bytes changed or taken away.
    #[test]
    fn damaged_pictures_are_read_or_refused(which in 0..3usize, at in 0..200usize, byte: u8, cut in 0..200usize) {
        let whole = [png(5, 5, 2, 8), jpeg(0xc2, 5, 5, [0x21, 0x11, 0x11]), riff(&[(b"VP8L", &lossless(5, 5))])];
        let mut bytes = whole[which].clone();
        let at = at % bytes.len();
        bytes[at] = byte;
        bytes.truncate(bytes.len() - cut.min(bytes.len()) % bytes.len());
        if let Ok(picture) = Picture::read(&bytes) {
            proptest::prop_assert_eq!(Picture::read(&picture.bytes), Ok(picture));
        }
    }
}
