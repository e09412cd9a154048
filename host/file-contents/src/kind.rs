//! Kind of preview and media type of a file, by the extension of its name.

/// Part of a name behind its last dot, in lower case; `None` for a name whose only dot is its first character.
pub fn extension(name: &str) -> Option<String> {
    let (stem, extension) = name.rsplit_once('.')?;
    (!stem.is_empty() && !extension.is_empty()).then(|| extension.to_lowercase())
}

/// Kind of preview for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Image,
    Video,
    Audio,
    Subtitle,
    Nfo,
    Text,
    Pdf,
    Archive,
    Binary,
}

impl Kind {
    /// The kind of an [`extension`].
    pub fn from_extension(extension: Option<&str>) -> Kind {
        match extension.unwrap_or_default() {
            "jpg" | "jpeg" | "jfif" | "png" | "gif" | "webp" | "bmp" | "avif" | "svg" | "ico" | "tif"
            | "tiff" | "heic" | "heif" => Kind::Image,
            "mp4" | "m4v" | "mkv" | "webm" | "avi" | "mov" | "mpg" | "mpeg" | "wmv" | "flv" | "ts"
            | "m2ts" | "mts" | "ogv" | "3gp" | "divx" | "vob" => Kind::Video,
            "mp3" | "flac" | "aac" | "ogg" | "oga" | "opus" | "wav" | "m4a" | "wma" | "aiff" | "aif"
            | "ape" | "mka" => Kind::Audio,
            "srt" | "vtt" | "ass" | "ssa" | "sub" | "smi" | "sbv" => Kind::Subtitle,
            "nfo" | "diz" => Kind::Nfo,
            "txt" | "log" | "md" | "json" | "xml" | "csv" | "yml" | "yaml" | "ini" | "conf" | "cfg"
            | "sfv" | "cue" | "m3u" | "m3u8" | "url" | "html" | "htm" | "css" | "js" | "sh" | "py" => {
                Kind::Text
            }
            "pdf" => Kind::Pdf,
            "zip" | "rar" | "7z" | "tar" | "gz" | "bz2" | "xz" | "iso" => Kind::Archive,
            _ => Kind::Binary,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Image => "image",
            Kind::Video => "video",
            Kind::Audio => "audio",
            Kind::Subtitle => "subtitle",
            Kind::Nfo => "nfo",
            Kind::Text => "text",
            Kind::Pdf => "pdf",
            Kind::Archive => "archive",
            Kind::Binary => "binary",
        }
    }

    /// A browser shows it from `/api/files/stream`.
    pub const fn streamable(self) -> bool {
        matches!(self, Kind::Image | Kind::Video | Kind::Audio | Kind::Pdf)
    }
}

/// Media type of an [`extension`]. Types that a browser could run, text and markup among them, are sent as plain bytes.
pub fn mime(extension: Option<&str>) -> &'static str {
    match extension.unwrap_or_default() {
        "jpg" | "jpeg" | "jfif" => "image/jpeg",
        "png" => "image/png",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "bmp" => "image/bmp",
        "avif" => "image/avif",
        "ico" => "image/x-icon",
        "tif" | "tiff" => "image/tiff",
        "heic" => "image/heic",
        "heif" => "image/heif",
        "svg" => "image/svg+xml",
        "mp4" | "m4v" => "video/mp4",
        "webm" => "video/webm",
        "ogv" => "video/ogg",
        "mkv" => "video/x-matroska",
        "mov" => "video/quicktime",
        "avi" => "video/x-msvideo",
        "mpg" | "mpeg" => "video/mpeg",
        "ts" | "m2ts" | "mts" => "video/mp2t",
        "3gp" => "video/3gpp",
        "mp3" => "audio/mpeg",
        "flac" => "audio/flac",
        "aac" => "audio/aac",
        "ogg" | "oga" | "opus" => "audio/ogg",
        "wav" => "audio/wav",
        "m4a" => "audio/mp4",
        "aiff" | "aif" => "audio/aiff",
        "mka" => "audio/x-matroska",
        "pdf" => "application/pdf",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_kind_and_type() {
        for (name, kind, media) in [
            ("a.MKV", "video", "video/x-matroska"),
            ("a.b.jpeg", "image", "image/jpeg"),
            ("logo.svg", "image", "image/svg+xml"),
            ("page.html", "text", "application/octet-stream"),
            ("a.srt", "subtitle", "application/octet-stream"),
            ("a.wmv", "video", "application/octet-stream"),
            ("a.opus", "audio", "audio/ogg"),
            ("a.iso", "archive", "application/octet-stream"),
            (".mkv", "binary", "application/octet-stream"),
            ("a.", "binary", "application/octet-stream"),
            ("README", "binary", "application/octet-stream"),
            ("a.pdf", "pdf", "application/pdf"),
            ("info.NFO", "nfo", "application/octet-stream"),
        ] {
            let extension = extension(name);
            assert_eq!(
                Kind::from_extension(extension.as_deref()).as_str(),
                kind,
                "{name}"
            );
            assert_eq!(mime(extension.as_deref()), media, "{name}");
        }
    }
}
