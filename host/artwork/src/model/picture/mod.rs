//! Pictures as bytes: PNG, JPEG and WebP, told by their content. A picture is walked through from its first byte to its last
//! before anything is decoded: what moves, is cut off, has bytes behind its end, or needs too much memory is refused, and
//! texts and camera data are left out of the copy that is kept.
//!
//! Pure: no I/O; time and memory grow with the bytes, never with the size that a header claims.

mod jpeg;
mod png;
mod webp;

/// Most bytes of a picture that people give, or that is fetched.
pub const MAX_GIVEN: usize = 10 << 20;
/// Most bytes of a picture that lies beside media.
pub const MAX_FILE: u64 = 20 << 20;
/// Most pixels of a side.
pub const MAX_SIDE: u32 = 20_000;
/// Most bytes of memory for the decoding of a picture.
pub const MAX_DECODED: u64 = 56 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Png,
    Jpeg,
    Webp,
}

impl Format {
    pub const ALL: [Format; 3] = [Format::Png, Format::Jpeg, Format::Webp];

    /// Name for people.
    pub const fn label(self) -> &'static str {
        match self {
            Format::Png => "PNG",
            Format::Jpeg => "JPEG",
            Format::Webp => "WebP",
        }
    }

    pub const fn mime(self) -> &'static str {
        match self {
            Format::Png => "image/png",
            Format::Jpeg => "image/jpeg",
            Format::Webp => "image/webp",
        }
    }

    /// Ending of the names of its files.
    pub const fn extension(self) -> &'static str {
        match self {
            Format::Png => "png",
            Format::Jpeg => "jpg",
            Format::Webp => "webp",
        }
    }

    /// Format of files with this ending.
    pub fn of_extension(extension: &str) -> Option<Self> {
        match extension.to_ascii_lowercase().as_str() {
            "png" => Some(Format::Png),
            "jpg" | "jpeg" | "jpe" | "jfif" => Some(Format::Jpeg),
            "webp" => Some(Format::Webp),
            _ => None,
        }
    }
}

/// Reason why bytes are not taken as a picture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("The picture is empty")]
    Empty,
    #[error("The picture has more than {} MiB: make it smaller", .0 >> 20)]
    TooLarge(u64),
    #[error("SVG is not taken, because it may hold scripts: send a PNG, a JPEG or a WebP picture")]
    Svg,
    #[error("The bytes are neither a PNG, nor a JPEG, nor a WebP picture")]
    Unknown,
    #[error("The {} picture is animated: send one that stands still", .0.label())]
    Animated(Format),
    #[error("The {} picture is cut off: send the whole file", .0.label())]
    CutOff(Format),
    #[error("The {name} picture is damaged: {1}", name = .0.label())]
    Damaged(Format, &'static str),
    #[error("{1} bytes follow the end of the {name} picture: save it anew, so that it is nothing but a picture", name = .0.label())]
    Behind(Format, usize),
    #[error("The picture has {0} × {1} pixels, which takes too much memory: make it smaller")]
    TooManyPixels(u32, u32),
}

/// A whole picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    pub format: Format,
    /// Pixels, as they are stored.
    pub width: u32,
    pub height: u32,
    /// Orientation by Exif, 1 to 8; 1: as stored.
    pub orientation: u8,
    /// The picture without texts and camera data.
    pub bytes: Vec<u8>,
}

impl Picture {
    /// Reads a picture.
    pub fn read(bytes: &[u8]) -> Result<Self, Refused> {
        match find_format(bytes)? {
            Format::Png => png::read(bytes),
            Format::Jpeg => jpeg::read(bytes),
            Format::Webp => webp::read(bytes),
        }
    }

    /// Width and height as it is shown.
    pub fn shown_size(&self) -> (u32, u32) {
        if self.orientation >= 5 {
            (self.height, self.width)
        } else {
            (self.width, self.height)
        }
    }
}

/// Format by the first bytes.
pub fn find_format(bytes: &[u8]) -> Result<Format, Refused> {
    match bytes {
        [] => Err(Refused::Empty),
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Ok(Format::Png),
        [0xff, 0xd8, 0xff, ..] => Ok(Format::Jpeg),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Ok(Format::Webp),
        other if is_svg(other) => Err(Refused::Svg),
        _ => Err(Refused::Unknown),
    }
}

fn is_svg(bytes: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]).to_ascii_lowercase();
    let head = head.trim_start_matches('\u{feff}').trim_start();
    head.starts_with('<') && head.contains("<svg")
}

/// Refuses a picture whose decoding needs more memory than there is for it: `per_pixel` bytes a pixel.
fn check_size(width: u32, height: u32, per_pixel: u64) -> Result<(), Refused> {
    let pixels = u64::from(width) * u64::from(height);
    let is_fine = (1..=MAX_SIDE).contains(&width) && (1..=MAX_SIDE).contains(&height);
    if !is_fine || pixels.saturating_mul(per_pixel) > MAX_DECODED {
        return Err(Refused::TooManyPixels(width, height));
    }
    Ok(())
}

/// Refuses bytes behind the end of a picture; zeros that fill up a block are none.
fn check_behind(format: Format, rest: &[u8]) -> Result<(), Refused> {
    if rest.iter().any(|byte| *byte != 0) {
        return Err(Refused::Behind(format, rest.len()));
    }
    Ok(())
}

/// Four bytes, the highest first.
fn u32_be(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_be_bytes(four.try_into().ok()?))
}

/// Four bytes, the lowest first.
fn u32_le(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(four.try_into().ok()?))
}

/// Two bytes, the highest first.
fn u16_be(bytes: &[u8], at: usize) -> Option<u16> {
    let two = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_be_bytes(two.try_into().ok()?))
}

/// Two bytes, the lowest first.
fn u16_le(bytes: &[u8], at: usize) -> Option<u16> {
    let two = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_le_bytes(two.try_into().ok()?))
}
