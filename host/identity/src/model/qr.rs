//! QR codes for browsers: a PNG in a `data:` URL.
//!
//! Bounds: a text of 1 KiB; such a picture has about 900 pixels per side with its margin.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use qrcode::{Color, EcLevel, QrCode};

/// Pixels per module, readable for a phone at arm's length.
const SCALE: usize = 6;
/// White modules around the code; the standard demands four, and readers fail with fewer.
const QUIET_ZONE: usize = 4;
const MAX_TEXT: usize = 1024;
const BLACK: u8 = 0;
const WHITE: u8 = 255;

/// QR code of `text` as `data:image/png;base64,…`. The error is the reason of a failure.
pub fn data_url(text: &str) -> Result<String, String> {
    if text.len() > MAX_TEXT {
        return Err(format!("{} bytes are too many for a QR code", text.len()));
    }
    let code = QrCode::with_error_correction_level(text, EcLevel::M).map_err(|error| error.to_string())?;
    let png = draw(&code).map_err(|error| error.to_string())?;
    Ok(format!("data:image/png;base64,{}", BASE64_STANDARD.encode(png)))
}

fn draw(code: &QrCode) -> Result<Vec<u8>, png::EncodingError> {
    let modules = code.width();
    let side = (modules + 2 * QUIET_ZONE) * SCALE;
    let mut pixels = vec![WHITE; side * side];
    for (index, color) in code.to_colors().into_iter().enumerate() {
        if color == Color::Light {
            continue;
        }
        let left = (index % modules + QUIET_ZONE) * SCALE;
        let top = (index / modules + QUIET_ZONE) * SCALE;
        for row in top..top + SCALE {
            pixels[row * side + left..][..SCALE].fill(BLACK);
        }
    }
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, side as u32, side as u32);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels)?;
    writer.finish()?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Side length in pixels, and the gray values row by row.
    fn pixels(url: &str) -> (usize, Vec<u8>) {
        let text = url.strip_prefix("data:image/png;base64,").expect("a PNG");
        let bytes = BASE64_STANDARD.decode(text).expect("base64");
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes))
            .read_info()
            .expect("a PNG");
        let mut pixels = vec![0; reader.output_buffer_size().expect("small")];
        let info = reader.next_frame(&mut pixels).expect("a picture");
        assert_eq!(
            (info.color_type, info.width),
            (png::ColorType::Grayscale, info.height)
        );
        (info.width as usize, pixels)
    }

    #[test]
    fn another_implementation_reads_the_text_back() {
        for text in [
            "otpauth://totp/Quartermaster:admin?secret=JBSWY3DPEHPK3PXP&period=30&digits=6&algorithm=SHA1&issuer=Quartermaster".to_owned(),
            "x".repeat(600),
        ] {
            let (side, pixels) = pixels(&data_url(&text).expect("drawn"));
            let mut picture =
                rqrr::PreparedImage::prepare_from_greyscale(side, side, |x, y| pixels[y * side + x]);
            let grids = picture.detect_grids();
            assert_eq!(grids.len(), 1);
            let (_, read) = grids[0].decode().expect("readable");
            assert_eq!(read, text);
        }
    }

    #[test]
    fn the_margin_is_white() {
        let (side, pixels) = pixels(&data_url("margin").expect("drawn"));
        let margin = QUIET_ZONE * SCALE;
        let inside = margin..side - margin;
        let mut dark = 0;
        for (index, value) in pixels.into_iter().enumerate() {
            if value == BLACK {
                dark += 1;
                assert!(inside.contains(&(index % side)) && inside.contains(&(index / side)));
            }
        }
        assert!(dark > 0);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(data_url(&"x".repeat(MAX_TEXT + 1)).is_err());
    }
}
