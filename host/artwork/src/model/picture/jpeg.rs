//! JPEG: segments behind markers, and compressed data between some of them.

use super::{Format, Picture, Refused, check_behind, check_size, u16_be, u16_le, u32_be, u32_le};

const FORMAT: Format = Format::Jpeg;
const EXIF: &[u8] = b"Exif\0\0";
const PROFILE: &[u8] = b"ICC_PROFILE\0";
/// Tag of the orientation.
const ORIENTATION: u16 = 0x0112;
/// Most entries of camera data that are looked at.
const MAX_ENTRIES: u16 = 512;

const BEGIN: u8 = 0xd8;
const END: u8 = 0xd9;
const SCAN: u8 = 0xda;

pub(super) fn read(bytes: &[u8]) -> Result<Picture, Refused> {
    let mut kept = Vec::with_capacity(bytes.len());
    let mut found = Found::default();
    kept.extend_from_slice(&[0xff, BEGIN]);
    let mut at = 2;
    loop {
        let (marker, behind) = next_marker(bytes, at)?;
        at = behind;
        match marker {
            END => break,
            // Without a length.
            0x01 | 0xd0..=0xd7 => {}
            BEGIN => return Err(Refused::Damaged(FORMAT, "it begins twice")),
            _ => {
                let length = u16_be(bytes, at).ok_or(Refused::CutOff(FORMAT))? as usize;
                if length < 2 {
                    return Err(Refused::Damaged(FORMAT, "a part of it has no length"));
                }
                let segment = bytes.get(at..at + length).ok_or(Refused::CutOff(FORMAT))?;
                found.take(marker, &segment[2..])?;
                if is_kept(marker, &segment[2..]) {
                    kept.extend_from_slice(&[0xff, marker]);
                    kept.extend_from_slice(segment);
                }
                at += length;
                if marker == SCAN {
                    let end = end_of_scan(bytes, at)?;
                    kept.extend_from_slice(&bytes[at..end]);
                    at = end;
                    found.has_scan = true;
                }
            }
        }
    }
    kept.extend_from_slice(&[0xff, END]);
    check_behind(FORMAT, &bytes[at..])?;
    let Some((width, height)) = found.size.filter(|_| found.has_scan) else {
        return Err(Refused::Damaged(FORMAT, "it has no pixels"));
    };
    let orientation = found.orientation.unwrap_or(1);
    if orientation != 1 {
        // Behind the first marker.
        kept.splice(2..2, turned(orientation));
    }
    Ok(Picture {
        format: FORMAT,
        width,
        height,
        orientation,
        bytes: kept,
    })
}

/// Facts from the segments so far.
#[derive(Default)]
struct Found {
    size: Option<(u32, u32)>,
    orientation: Option<u8>,
    has_scan: bool,
}

impl Found {
    fn take(&mut self, marker: u8, data: &[u8]) -> Result<(), Refused> {
        match marker {
            0xc0..=0xc2 if self.size.is_some() => Err(Refused::Damaged(FORMAT, "it has two headers")),
            0xc0..=0xc2 => {
                self.size = Some(read_frame(data, marker == 0xc2)?);
                Ok(())
            }
            0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => Err(Refused::Damaged(
                FORMAT,
                "it is compressed in a way that is not read",
            )),
            SCAN if self.size.is_none() => Err(Refused::Damaged(FORMAT, "its pixels come before its header")),
            0xe1 if self.orientation.is_none() => {
                self.orientation = data.strip_prefix(EXIF).and_then(read_orientation);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// True for what says how the picture looks.
fn is_kept(marker: u8, data: &[u8]) -> bool {
    match marker {
        // APP0 is JFIF, APP14 tells how colours are stored.
        0xe0 | 0xee => true,
        0xe2 => data.starts_with(PROFILE),
        // Other application data, and comments.
        0xe1..=0xef | 0xfe => false,
        _ => true,
    }
}

/// The marker at this place, and the place behind it.
fn next_marker(bytes: &[u8], mut at: usize) -> Result<(u8, usize), Refused> {
    let cut = || Refused::CutOff(FORMAT);
    if *bytes.get(at).ok_or_else(cut)? != 0xff {
        return Err(Refused::Damaged(FORMAT, "its parts do not follow each other"));
    }
    // Markers may be filled up.
    while *bytes.get(at).ok_or_else(cut)? == 0xff {
        at += 1;
    }
    Ok((bytes[at], at + 1))
}

/// The place of the marker that ends compressed data.
fn end_of_scan(bytes: &[u8], from: usize) -> Result<usize, Refused> {
    let mut at = from;
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let found = rest
            .iter()
            .position(|byte| *byte == 0xff)
            .ok_or(Refused::CutOff(FORMAT))?;
        at += found;
        match bytes.get(at + 1) {
            None => return Err(Refused::CutOff(FORMAT)),
            Some(0x00 | 0xd0..=0xd7) => at += 2,
            Some(0xff) => at += 1,
            Some(_) => return Ok(at),
        }
    }
}

/// Width and height of a frame; pictures that would take too much memory are refused.
fn read_frame(data: &[u8], is_progressive: bool) -> Result<(u32, u32), Refused> {
    let damaged = Refused::Damaged(FORMAT, "its header is wrong");
    let (Some(height), Some(width)) = (u16_be(data, 1), u16_be(data, 3)) else {
        return Err(damaged);
    };
    let count = usize::from(data.get(5).copied().unwrap_or(0));
    let components = data.get(6..6 + 3 * count).unwrap_or_default();
    if data[0] != 8 || !matches!(count, 1 | 3 | 4) || components.is_empty() {
        return Err(damaged);
    }
    let factors = components
        .chunks_exact(3)
        .map(|one| (u64::from(one[1] >> 4), u64::from(one[1] & 15)));
    let factors: Vec<(u64, u64)> = factors.collect();
    if factors
        .iter()
        .any(|(x, y)| !(1..=4).contains(x) || !(1..=4).contains(y))
    {
        return Err(damaged);
    }
    let most = factors
        .iter()
        .fold((1, 1), |most, one| (most.0.max(one.0), most.1.max(one.1)));
    // Coefficients of two bytes, all at once, in place of rows.
    let stored: u64 = factors.iter().map(|(x, y)| x * y).sum();
    let coefficients = if is_progressive {
        (2 * stored).div_ceil(most.0 * most.1)
    } else {
        0
    };
    let shown = if count == 1 { 1 } else { count as u64 };
    check_size(u32::from(width), u32::from(height), shown + coefficients)?;
    Ok((u32::from(width), u32::from(height)))
}

/// Orientation in camera data.
fn read_orientation(data: &[u8]) -> Option<u8> {
    let is_little = match data.get(..4)? {
        b"II\x2a\0" => true,
        b"MM\0\x2a" => false,
        _ => return None,
    };
    let two = |at| {
        if is_little {
            u16_le(data, at)
        } else {
            u16_be(data, at)
        }
    };
    let four = |at| {
        if is_little {
            u32_le(data, at)
        } else {
            u32_be(data, at)
        }
    };
    let first = usize::try_from(four(4)?).ok()?;
    let count = two(first)?.min(MAX_ENTRIES);
    for number in 0..usize::from(count) {
        let entry = first.checked_add(2 + 12 * number)?;
        if two(entry)? == ORIENTATION {
            let value = u8::try_from(two(entry + 8)?).ok()?;
            return (1..=8).contains(&value).then_some(value);
        }
    }
    None
}

/// Camera data with nothing but an orientation.
fn turned(orientation: u8) -> Vec<u8> {
    let mut segment = vec![0xff, 0xe1, 0, 34];
    segment.extend_from_slice(EXIF);
    segment.extend_from_slice(b"MM\0\x2a\0\0\0\x08\0\x01");
    segment.extend_from_slice(&[0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0]);
    segment.extend_from_slice(&[0, 0, 0, 0]);
    segment
}
