//! WebP: a RIFF file, whose chunks have a length and are filled up to even ones.

use super::{Format, Picture, Refused, check_behind, check_size, u16_le, u32_le};

const FORMAT: Format = Format::Webp;
const HEADER: usize = 12;
const ANIMATION: u8 = 0x02;
/// Flags of the texts and camera data that are left out.
const LEFT_OUT: u8 = 0x04 | 0x08;

pub(super) fn read(bytes: &[u8]) -> Result<Picture, Refused> {
    let cut = || Refused::CutOff(FORMAT);
    let size = u32_le(bytes, 4).ok_or_else(cut)? as usize;
    let whole = size.checked_add(8).ok_or_else(cut)?;
    if bytes.len() < whole {
        return Err(cut());
    }
    check_behind(FORMAT, &bytes[whole..])?;
    let bytes = &bytes[..whole];
    let mut kept = Vec::with_capacity(bytes.len());
    kept.extend_from_slice(&bytes[..HEADER]);
    let (mut at, mut size, mut canvas) = (HEADER, None, None);
    while at < bytes.len() {
        let length = u32_le(bytes, at + 4).ok_or_else(cut)? as usize;
        let data = bytes
            .get(at + 8..)
            .and_then(|rest| rest.get(..length))
            .ok_or_else(cut)?;
        let end = (at + 8 + length + (length & 1)).min(bytes.len());
        let begun = kept.len();
        match &bytes[at..at + 4] {
            b"ANIM" | b"ANMF" => return Err(Refused::Animated(FORMAT)),
            b"VP8X" => {
                if at != HEADER || length < 10 {
                    return Err(Refused::Damaged(FORMAT, "its header is wrong"));
                }
                if data[0] & ANIMATION != 0 {
                    return Err(Refused::Animated(FORMAT));
                }
                canvas = Some((1 + three(data, 4), 1 + three(data, 7)));
                kept.extend_from_slice(&bytes[at..end]);
                kept[begun + 8] &= !LEFT_OUT;
            }
            name @ (b"VP8 " | b"VP8L") => {
                if size.is_some() {
                    return Err(Refused::Damaged(FORMAT, "it has two pictures"));
                }
                size = Some(if name == b"VP8 " {
                    lossy(data)?
                } else {
                    lossless(data)?
                });
                kept.extend_from_slice(&bytes[at..end]);
            }
            b"ALPH" | b"ICCP" if canvas.is_some() => kept.extend_from_slice(&bytes[at..end]),
            _ if size.is_none() && canvas.is_none() => {
                return Err(Refused::Damaged(FORMAT, "it begins with no picture"));
            }
            _ => {}
        }
        at = end;
    }
    let Some((width, height)) = size else {
        return Err(Refused::Damaged(FORMAT, "it has no pixels"));
    };
    if canvas.is_some_and(|canvas| canvas != (width, height)) {
        return Err(Refused::Damaged(FORMAT, "its sizes contradict each other"));
    }
    let length = (kept.len() - 8) as u32;
    kept[4..8].copy_from_slice(&length.to_le_bytes());
    Ok(Picture {
        format: FORMAT,
        width,
        height,
        orientation: 1,
        bytes: kept,
    })
}

/// Three bytes, the lowest first.
fn three(data: &[u8], at: usize) -> u32 {
    u32::from(data[at]) | u32::from(data[at + 1]) << 8 | u32::from(data[at + 2]) << 16
}

fn lossy(data: &[u8]) -> Result<(u32, u32), Refused> {
    let damaged = Refused::Damaged(FORMAT, "its header is wrong");
    let (Some(width), Some(height)) = (u16_le(data, 6), u16_le(data, 8)) else {
        return Err(damaged);
    };
    // The first frame of a video is a whole picture.
    if data[0] & 1 != 0 || data[3..6] != [0x9d, 0x01, 0x2a] {
        return Err(damaged);
    }
    let (width, height) = (u32::from(width & 0x3fff), u32::from(height & 0x3fff));
    // Brightness and colours as they are stored, and the picture with its transparency.
    check_size(width, height, 6)?;
    Ok((width, height))
}

fn lossless(data: &[u8]) -> Result<(u32, u32), Refused> {
    let damaged = Refused::Damaged(FORMAT, "its header is wrong");
    let (Some(0x2f), Some(bits)) = (data.first(), u32_le(data, 1)) else {
        return Err(damaged);
    };
    let (width, height) = (1 + (bits & 0x3fff), 1 + (bits >> 14 & 0x3fff));
    check_size(width, height, 8)?;
    Ok((width, height))
}
