//! Some hundreds of hostile pictures, as uploads and beside media: each has a clear refusal, or is a picture.

use std::path::Path;

use qm_db::db_test;

use super::*;
use crate::model::picture::{MAX_DECODED, Picture as Whole};
use crate::ops::render;

const FORMATS: [ImageFormat; 3] = [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP];

/// Pictures by names that say what is wrong with them; each must be refused.
fn hostile() -> Vec<(String, Vec<u8>)> {
    let mut all: Vec<(String, Vec<u8>)> = Vec::new();
    for format in FORMATS {
        let whole = picture(60, 90, format);
        // Cut off at many places, and with the end set behind the cut.
        for part in 0..60 {
            let at = whole.len() * part / 60;
            all.push((format!("{format:?} cut at {at}"), whole[..at].to_vec()));
        }
        for tail in [
            &b"<?php system($_GET[0]);"[..],
            b"PK\x03\x04zip",
            b"%PDF-1.7",
            b"GIF89a",
            b"\x7fELF",
            b"\0\0\0x",
        ] {
            all.push((format!("{format:?} and {tail:?}"), [&whole, tail].concat()));
        }
        for head in [&b"GIF89a"[..], b"<svg>", b"\0", b"MZ", b"\xef\xbb\xbf"] {
            all.push((format!("{head:?} and {format:?}"), [head, &whole].concat()));
        }
    }
    let png = picture(60, 90, ImageFormat::Png);
    for (width, height) in [
        (30_000_u32, 30_000_u32),
        (60, 0),
        (0, 90),
        (u32::MAX, 1),
        (1, u32::MAX),
        (20_000, 20_000),
    ] {
        let mut bomb = png.clone();
        bomb[16..20].copy_from_slice(&width.to_be_bytes());
        bomb[20..24].copy_from_slice(&height.to_be_bytes());
        all.push((format!("PNG of {width} × {height}"), bomb));
    }
    let jpeg = picture(60, 90, ImageFormat::Jpeg);
    let frame = jpeg.windows(2).position(|two| two == [0xff, 0xc0]).unwrap();
    for (width, height) in [(30_000_u16, 30_000_u16), (0, 90), (60, 0), (u16::MAX, u16::MAX)] {
        let mut bomb = jpeg.clone();
        bomb[frame + 5..frame + 7].copy_from_slice(&height.to_be_bytes());
        bomb[frame + 7..frame + 9].copy_from_slice(&width.to_be_bytes());
        all.push((format!("JPEG of {width} × {height}"), bomb));
    }
    let webp = picture(60, 90, ImageFormat::WebP);
    let mut bomb = webp.clone();
    bomb[21..25].copy_from_slice(&u32::MAX.to_le_bytes());
    all.push(("WebP of 16,384 × 16,384".to_owned(), bomb));
    let mut moving = webp.clone();
    moving.splice(12..12, *b"VP8X\x0a\0\0\0\x02\0\0\0\x3b\0\0\x59\0\0");
    let length = (moving.len() as u32 - 8).to_le_bytes();
    moving[4..8].copy_from_slice(&length);
    all.push(("animated WebP".to_owned(), moving));
    let mut moving = png.clone();
    moving.splice(33..33, *b"\0\0\0\x08acTL\0\0\0\x02\0\0\0\0\0\0\0\0");
    all.push(("APNG".to_owned(), moving));
    for other in [
        &b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff!\xff\x0bNETSCAPE2.0\x03\x01\0\0\0;"[..],
        b"BM\x3a\0\0\0",
        b"\0\0\x01\0\x01\0",
        b"II*\0\x08\0\0\0",
        b"\0\0\0\x20ftypavif",
        b"\x01\0\0\0 EMF",
        b"%!PS-Adobe-3.0",
        b"<!DOCTYPE svg><svg onload='alert(1)'/>",
        b"{\"a\": 1}",
    ] {
        all.push((format!("{other:?}"), other.to_vec()));
    }
    all
}

/// Pictures with single bytes changed: what they become is open.
fn altered() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for format in FORMATS {
        let whole = picture(60, 90, format);
        for part in 0..80 {
            let mut bytes = whole.clone();
            let at = whole.len() * part / 80;
            bytes[at] ^= 0x55;
            all.push(bytes);
        }
    }
    all
}

db_test! {
    async fn hostile_pictures_are_refused_clearly(db: Db) {
        let site = Site::new(&db).await;
        site.add_film("film", &["Tide/Tide.mkv"]).await;
        let all = hostile();
        assert!(all.len() > 200, "{}", all.len());
        for (name, bytes) in &all {
            let body = json!({ "type": "poster", "dataBase64": base64(bytes) });
            let refused = site.send("POST", "/items/film/artwork/upload", Some(body)).await.refusal();
            assert_eq!((refused.0, &*refused.1), (400, "bad_request.image"), "{name}: {}", refused.2);
        }
        assert!(!site.root.join(".quartermaster").exists(), "nothing was written");
        // The same as files beside media: told why, in every size.
        site.write("Tide/poster.png", b"");
        let list = site.ask(200, "GET", "/items/film/artwork", None).await;
        let id = list["selected"]["poster"].as_str().unwrap();
        for (at, (name, bytes)) in all.iter().enumerate() {
            site.write("Tide/poster.png", bytes);
            let size = ["", "?width=160"][at % 2];
            let refused = site.send("GET", &format!("/artwork/{id}/image{size}"), None).await.refusal();
            assert_eq!((refused.0, &*refused.1), (409, "conflict.image"), "{name}: {}", refused.2);
        }
        // What is changed in one byte is refused, or a picture that can be shown.
        for bytes in altered() {
            site.write("Tide/poster.png", &bytes);
            let answer = site.send("GET", &format!("/artwork/{id}/image?width=160"), None).await;
            match answer.status {
                200 => assert!(image::load_from_memory(&answer.bytes).is_ok() || answer.bytes.len() == bytes.len()),
                status => assert_eq!((status, &*answer.refusal().1), (409, "conflict.image")),
            }
        }
    }
}

/// Peak of this process's memory in bytes.
fn peak() -> u64 {
    let status = fs::read_to_string(Path::new("/proc/self/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

/// Runs alone in its process when it is told so: other tests would add to the peak.
#[test]
fn memory_is_bounded_whatever_a_header_says() {
    const ALONE: &str = "QM_ARTWORK_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let own = std::env::current_exe().unwrap();
        let name = "routes::tests::hostile::memory_is_bounded_whatever_a_header_says";
        let ran = std::process::Command::new(own)
            .args([name, "--exact", "--nocapture"])
            .env(ALONE, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let pictures: Vec<Vec<u8>> = hostile()
        .into_iter()
        .map(|(_, bytes)| bytes)
        .chain(altered())
        .collect();
    // The largest ones that are taken, of one colour, so that they are small as files.
    let flat = |width: u32, height: u32| DynamicImage::ImageRgb8(RgbImage::new(width, height));
    let large = encoded(&flat(3600, 4000), ImageFormat::Png);
    let wide = encoded(&flat(5000, 3900), ImageFormat::Jpeg);
    // Peak of the encoding above.
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = peak();
    for bytes in pictures.iter().chain([&large, &wide]) {
        if let Ok(whole) = Whole::read(bytes) {
            let _ = render::check(&whole);
            let _ = render::resize(&whole, 160);
        }
    }
    let more = peak() - before;
    assert!(more > 30 << 20, "the large ones were decoded: {more}");
    assert!(more < MAX_DECODED + (16 << 20), "{more}");
}
