//! Decoding of pictures, and smaller copies of them. Whoever calls has read the picture's header, so that nothing is decoded
//! that needs more memory than [`MAX_DECODED`].

use std::io::Cursor;

use image::codecs::jpeg::JpegEncoder;
use image::codecs::webp::WebPEncoder;
use image::{DynamicImage, ImageDecoder as _, ImageEncoder as _, ImageFormat, ImageReader, Limits};

use crate::model::picture::{Format, MAX_DECODED, MAX_SIDE, Picture, Refused};

/// Quality of smaller copies in JPEG, of 100.
const QUALITY: u8 = 82;
/// Largest colour profile in bytes that a smaller copy keeps.
const MAX_PROFILE: usize = 64 << 10;

/// Refuses a picture that cannot be decoded to its end.
pub fn check(picture: &Picture) -> Result<(), Refused> {
    decode(picture).map(drop)
}

/// A copy that is `width` pixels wide as it is shown, with its format; none for a picture that is not wider. Photographs
/// become JPEG, pictures with transparent parts WebP.
pub fn resize(picture: &Picture, width: u32) -> Result<Option<(Format, Vec<u8>)>, Refused> {
    let (shown_width, shown_height) = picture.shown_size();
    if width >= shown_width {
        return Ok(None);
    }
    let (whole, profile) = decode(picture)?;
    let scaled = u64::from(shown_height) * u64::from(width) / u64::from(shown_width);
    let height = u32::try_from(scaled).unwrap_or(u32::MAX).max(1);
    let is_turned = picture.orientation >= 5;
    let (stored_width, stored_height) = if is_turned {
        (height, width)
    } else {
        (width, height)
    };
    let small = whole.thumbnail_exact(stored_width, stored_height);
    drop(whole);
    let small = turn(small, picture.orientation);
    encode(&small, profile, picture.format).map(Some)
}

fn decode(picture: &Picture) -> Result<(DynamicImage, Option<Vec<u8>>), Refused> {
    let format = match picture.format {
        Format::Png => ImageFormat::Png,
        Format::Jpeg => ImageFormat::Jpeg,
        Format::Webp => ImageFormat::WebP,
    };
    let damaged = |_| Refused::Damaged(picture.format, "its pixels cannot be read");
    let mut reader = ImageReader::with_format(Cursor::new(&picture.bytes), format);
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(MAX_DECODED);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(damaged)?;
    if decoder.dimensions() != (picture.width, picture.height) || decoder.total_bytes() > MAX_DECODED {
        return Err(Refused::TooManyPixels(picture.width, picture.height));
    }
    let profile = decoder.icc_profile().ok().flatten();
    let whole = DynamicImage::from_decoder(decoder).map_err(damaged)?;
    // Other profiles are about colours that the decoder has converted.
    let is_kept = |profile: &Vec<u8>| profile.len() <= MAX_PROFILE && profile.get(16..20) == Some(b"RGB ");
    Ok((whole, profile.filter(is_kept)))
}

/// The picture as it is shown.
fn turn(picture: DynamicImage, orientation: u8) -> DynamicImage {
    match orientation {
        2 => picture.fliph(),
        3 => picture.rotate180(),
        4 => picture.flipv(),
        5 => picture.rotate90().fliph(),
        6 => picture.rotate90(),
        7 => picture.rotate270().fliph(),
        8 => picture.rotate270(),
        _ => picture,
    }
}

fn encode(
    small: &DynamicImage,
    profile: Option<Vec<u8>>,
    format: Format,
) -> Result<(Format, Vec<u8>), Refused> {
    let failed = |_| Refused::Damaged(format, "no smaller copy of it can be made");
    let mut bytes = Vec::new();
    if small.color().has_alpha() {
        let pixels = small.to_rgba8();
        if pixels.pixels().any(|pixel| pixel.0[3] < 255) {
            let mut encoder = WebPEncoder::new_lossless(&mut bytes);
            if let Some(profile) = profile {
                // A copy without it is as good.
                let _ = encoder.set_icc_profile(profile);
            }
            let (width, height) = pixels.dimensions();
            let written = encoder.write_image(&pixels, width, height, image::ExtendedColorType::Rgba8);
            written.map_err(failed)?;
            return Ok((Format::Webp, bytes));
        }
    }
    let pixels = small.to_rgb8();
    let mut encoder = JpegEncoder::new_with_quality(&mut bytes, QUALITY);
    if let Some(profile) = profile {
        let _ = encoder.set_icc_profile(profile);
    }
    let (width, height) = pixels.dimensions();
    let written = encoder.write_image(&pixels, width, height, image::ExtendedColorType::Rgb8);
    written.map_err(failed)?;
    Ok((Format::Jpeg, bytes))
}
