//! PNG: a signature and chunks, each with its length and a checksum.

use super::{Format, Picture, Refused, check_behind, check_size, u32_be};

const FORMAT: Format = Format::Png;
const SIGNATURE: usize = 8;
/// Chunks that say how the picture looks; others are left out.
const KEPT: [&[u8; 4]; 10] = [
    b"IHDR", b"PLTE", b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"iCCP", b"sBIT", b"cICP", b"IDAT",
];
/// Chunks of an animation.
const MOVING: [&[u8; 4]; 3] = [b"acTL", b"fcTL", b"fdAT"];

pub(super) fn read(bytes: &[u8]) -> Result<Picture, Refused> {
    let mut kept = Vec::with_capacity(bytes.len());
    kept.extend_from_slice(&bytes[..SIGNATURE]);
    let (mut at, mut size, mut has_data) = (SIGNATURE, None, false);
    loop {
        let length = u32_be(bytes, at).ok_or(Refused::CutOff(FORMAT))? as usize;
        let end = at
            .checked_add(12)
            .and_then(|end| end.checked_add(length))
            .ok_or(Refused::CutOff(FORMAT))?;
        let chunk = bytes.get(at..end).ok_or(Refused::CutOff(FORMAT))?;
        let (name, data) = (&chunk[4..8], &chunk[8..8 + length]);
        let is = |names: &[&[u8; 4]]| names.iter().any(|known| known.as_slice() == name);
        if size.is_none() {
            size = Some(read_header(name, data)?);
        } else if name == b"IHDR" {
            return Err(Refused::Damaged(FORMAT, "it has two headers"));
        }
        if is(&MOVING) {
            return Err(Refused::Animated(FORMAT));
        }
        if !name.iter().all(u8::is_ascii_alphabetic) {
            return Err(Refused::Damaged(FORMAT, "a part of it has no name"));
        }
        if name == b"IEND" {
            if !has_data {
                return Err(Refused::Damaged(FORMAT, "it has no pixels"));
            }
            kept.extend_from_slice(chunk);
            check_behind(FORMAT, &bytes[end..])?;
            break;
        }
        has_data |= name == b"IDAT";
        if is(&KEPT) {
            kept.extend_from_slice(chunk);
        } else if name[0].is_ascii_uppercase() {
            return Err(Refused::Damaged(
                FORMAT,
                "it needs an extension that is not known",
            ));
        }
        at = end;
    }
    let (width, height) = size.unwrap_or_default();
    Ok(Picture {
        format: FORMAT,
        width,
        height,
        orientation: 1,
        bytes: kept,
    })
}

/// Width and height; pictures that would take too much memory are refused.
fn read_header(name: &[u8], data: &[u8]) -> Result<(u32, u32), Refused> {
    let damaged = Refused::Damaged(FORMAT, "its header is wrong");
    if name != b"IHDR" || data.len() != 13 {
        return Err(damaged);
    }
    let (Some(width), Some(height)) = (u32_be(data, 0), u32_be(data, 4)) else {
        return Err(damaged);
    };
    // A palette may have transparent colours.
    let samples = match data[9] {
        0 => 2,
        2 | 3 | 6 => 4,
        4 => 2,
        _ => return Err(damaged),
    };
    let bytes = if data[8] == 16 { 2 } else { 1 };
    check_size(width, height, samples * bytes)?;
    Ok((width, height))
}
