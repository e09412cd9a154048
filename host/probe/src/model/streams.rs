//! Streams of a file as the probing program reports them, translated to the words of this service.
//!
//! Files come from strangers, and so do the reports about them: texts are cut, and numbers that no video has are dropped.

use qm_media::model::measured::Measured;
use qm_media::model::tracks;
use serde_json::Value;

/// Most characters of a stored text.
const MOST_TEXT: usize = 100;
/// Bounds of plausible numbers.
const MOST_PIXELS: f64 = 65_536.0;
const MOST_SECONDS: f64 = 10_000_000.0;
const MOST_KBPS: f64 = 100_000_000.0;
const MOST_CHANNELS: f64 = 256.0;
const MOST_FRAMES: f64 = 10_000.0;
const MOST_BITS: f64 = 64.0;
/// Most tracks of subtitles that are taken of a file.
const MOST_TRACKS: usize = 100;

/// Properties found in a file. `None`: the program did not report it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Streams {
    pub video_codec: Option<String>,
    pub audio_codec: Option<String>,
    pub resolution: Option<String>,
    pub hdr: Option<String>,
    pub measured: Measured,
    /// Tracks of subtitles, in the order of the file.
    pub tracks: Vec<tracks::Track>,
}

/// Reason why an answer is of no use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unclear {
    #[error("the answer is not the JSON of mediainfo")]
    Unreadable,
    #[error("mediainfo could not open it")]
    Unopened,
    #[error("mediainfo finds no video in it")]
    NoVideo,
    #[error("it is no video of its own: mediainfo answered for other files too")]
    Others,
    #[error("mediainfo saw another size of it")]
    Resized,
}

/// Formats that have no picture of their own, but name other files.
const POINTERS: [&str; 8] = [
    "DASH MPD",
    "HLS",
    "HDS F4M",
    "ISM",
    "Final Cut",
    "AAF",
    "Blu-ray",
    "P2 Clip",
];

/// Reads the output of `mediainfo --Output=JSON` about the file that it got as `handed`, with `size` bytes. An answer that
/// involves another file is refused.
pub fn read_of(answer: &[u8], handed: &str, size: i64) -> Result<Streams, Unclear> {
    let answer: Value = serde_json::from_slice(answer).map_err(|_| Unclear::Unreadable)?;
    let media = answer.get("media").ok_or(Unclear::Unreadable)?;
    let tracks = media
        .get("track")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    let is_other = |name: &Value| name.as_str().is_some_and(|name| name != handed);
    let names_other = |track: &Value| {
        [&track["Source"], &track["extra"]["Source"]]
            .into_iter()
            .filter_map(Value::as_str)
            .any(|source| source.contains(['/', '\\', ':']))
    };
    let general = tracks.iter().find(|track| track["@type"] == "General");
    let format = general
        .and_then(|general| general["Format"].as_str())
        .unwrap_or_default();
    if media.is_array()
        || is_other(&media["@ref"])
        || POINTERS.iter().any(|pointer| format.starts_with(pointer))
        || tracks.iter().any(names_other)
    {
        return Err(Unclear::Others);
    }
    let seen = general
        .and_then(|general| general["FileSize"].as_str())
        .and_then(|seen| seen.parse().ok());
    if seen.is_some_and(|seen: i64| seen != size) {
        return Err(Unclear::Resized);
    }
    read(&answer)
}

fn read(answer: &Value) -> Result<Streams, Unclear> {
    let media = answer.get("media").ok_or(Unclear::Unreadable)?;
    if media.is_null() {
        return Err(Unclear::Unopened);
    }
    let tracks = media.get("track").and_then(Value::as_array);
    let tracks = tracks.ok_or(Unclear::Unreadable)?;
    let first = |kind: &str| tracks.iter().find(|track| track["@type"] == kind);
    let video = Track(first("Video").ok_or(Unclear::NoVideo)?);
    let general = Track(first("General").unwrap_or(&Value::Null));
    let audio = Track(first("Audio").unwrap_or(&Value::Null));
    let (width, height) = (
        video.whole("Width", MOST_PIXELS),
        video.whole("Height", MOST_PIXELS),
    );
    let hdr_format = video.text("HDR_Format");
    let seconds = general
        .number("Duration", MOST_SECONDS)
        .or(video.number("Duration", MOST_SECONDS));
    let bits = general.number("OverallBitRate", MOST_KBPS * 1000.0);
    Ok(Streams {
        video_codec: video.text("Format").map(|format| video_codec(&format)),
        audio_codec: audio_codec(audio),
        resolution: resolution(width, height).map(str::to_owned),
        hdr: hdr_format.as_deref().and_then(first_part),
        measured: Measured {
            width,
            height,
            bitrate_kbps: bits.map(|bits| (bits / 1000.0).round() as i64),
            duration_sec: seconds.map(|seconds| seconds.round() as i64),
            audio_channels: audio.whole("Channels", MOST_CHANNELS),
            frame_rate: video.number("FrameRate", MOST_FRAMES),
            video_bit_depth: video.whole("BitDepth", MOST_BITS),
            chroma_subsampling: video.text("ChromaSubsampling"),
            color_primaries: video.text("colour_primaries"),
            color_transfer: video.text("transfer_characteristics"),
            color_space: video.text("ColorSpace"),
            hdr_format,
        },
        tracks: tracks
            .iter()
            .filter(|track| track["@type"] == "Text")
            .take(MOST_TRACKS)
            .map(|track| subtitles(Track(track)))
            .collect(),
    })
}

/// A track of subtitles. Its flags are told apart, or by the title that people gave it.
fn subtitles(track: Track<'_>) -> tracks::Track {
    let title = track.text("Title");
    let words: Vec<String> = title
        .iter()
        .flat_map(|title| title.split(|c: char| !c.is_alphanumeric()))
        .map(str::to_lowercase)
        .collect();
    let says = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&&**word));
    let kind = track.text("ServiceKind").unwrap_or_default().to_lowercase();
    tracks::Track {
        language: track.text("Language"),
        forced: track.is_yes("Forced") || says(&["forced"]),
        sdh: track.is_yes("HearingImpaired")
            || kind.contains("hearing impaired")
            || kind == "hi"
            || says(&["sdh", "cc"]),
        by_default: track.is_yes("Default"),
        format: track.text("Format"),
        title,
    }
}

/// Report about one stream. Most values are texts, numbers too.
#[derive(Clone, Copy)]
struct Track<'a>(&'a Value);

impl Track<'_> {
    fn text(self, name: &str) -> Option<String> {
        let text = self.0.get(name)?.as_str()?;
        let text: String = text.chars().filter(|c| !c.is_control()).take(MOST_TEXT).collect();
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    fn is_yes(self, name: &str) -> bool {
        self.text(name)
            .is_some_and(|text| text.eq_ignore_ascii_case("yes"))
    }

    /// A positive number that is no larger than `most`. Of several, as in `8 / 6`, the first.
    fn number(self, name: &str, most: f64) -> Option<f64> {
        let value = self.0.get(name)?;
        let number = match value.as_str() {
            Some(text) => first_part(text)?.parse().ok()?,
            None => value.as_f64()?,
        };
        (number > 0.0 && number <= most).then_some(number)
    }

    fn whole(self, name: &str, most: f64) -> Option<i64> {
        self.number(name, most)
            .map(|number| number.round() as i64)
            .filter(|number| *number > 0)
    }
}

/// Part of a text before the first `/`.
fn first_part(text: &str) -> Option<String> {
    let part = text.split('/').next().unwrap_or_default().trim();
    (!part.is_empty()).then(|| part.to_owned())
}

/// Common name for a resolution in pixels, e.g. `1080p`.
fn resolution(width: Option<i64>, height: Option<i64>) -> Option<&'static str> {
    if width.is_none() && height.is_none() {
        return None;
    }
    let (width, height) = (width.unwrap_or(0), height.unwrap_or(0));
    Some(match () {
        () if height >= 1700 || width >= 3200 => "2160p",
        () if height >= 850 || width >= 1800 => "1080p",
        () if height >= 620 || width >= 1200 => "720p",
        () if height >= 380 || width >= 700 => "480p",
        () => "sd",
    })
}

fn video_codec(format: &str) -> String {
    let format = format.to_lowercase();
    let is_xvid = ["mpeg-4 visual", "xvid", "divx"]
        .iter()
        .any(|name| format.contains(name));
    match &*format {
        "hevc" => "x265".to_owned(),
        "avc" => "x264".to_owned(),
        _ if is_xvid => "xvid".to_owned(),
        _ if format.starts_with("mpeg") => "mpeg".to_owned(),
        _ => format,
    }
}

/// Audio codec, as release names call it.
fn audio_codec(audio: Track<'_>) -> Option<String> {
    let format = audio.text("Format")?;
    let says = |name: &str, part: &str| audio.text(name).is_some_and(|text| text.contains(part));
    let name = match &*format {
        "E-AC-3" | "MLP FBA" | "AC-3" | "TrueHD"
            if says("Format_Commercial_IfAny", "Atmos") || says("Format_AdditionalFeatures", "JOC") =>
        {
            "Atmos"
        }
        "MLP FBA" | "TrueHD" => "TrueHD",
        "E-AC-3" => "DDP",
        "AC-3" => "AC3",
        "DTS" if says("Format_Commercial_IfAny", "DTS-HD") => "DTS-HD",
        "MPEG Audio" if says("Format_Profile", "Layer 3") => "MP3",
        _ => &format,
    };
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read_tracks(tracks: &Value) -> Result<Streams, Unclear> {
        let answer = json!({ "media": { "@ref": "a", "track": tracks } }).to_string();
        read_of(answer.as_bytes(), "a", 7)
    }

    fn video(more: &[(&str, Value)]) -> Streams {
        let mut track = json!({ "@type": "Video" });
        for (name, value) in more {
            track[name] = value.clone();
        }
        read_tracks(&json!([{ "@type": "General" }, track])).unwrap()
    }

    fn audio(more: &[(&str, &str)]) -> Option<String> {
        let mut track = json!({ "@type": "Audio" });
        for (name, value) in more {
            track[name] = json!(value);
        }
        read_tracks(&json!([{ "@type": "Video" }, track]))
            .unwrap()
            .audio_codec
    }

    #[test]
    fn what_is_said_of_a_film_is_told_in_our_words() {
        let streams = read_tracks(&json!([
            { "@type": "General", "Format": "Matroska", "Duration": "7325.632", "OverallBitRate": "24123456" },
            { "@type": "Video", "Format": "HEVC", "Width": "3840", "Height": "1600", "FrameRate": "23.976", "BitDepth": "10",
              "ColorSpace": "YUV", "ChromaSubsampling": "4:2:0", "colour_primaries": "BT.2020",
              "transfer_characteristics": "PQ", "HDR_Format": "Dolby Vision / SMPTE ST 2086" },
            { "@type": "Audio", "Format": "E-AC-3", "Channels": "6", "Format_Commercial_IfAny": "Dolby Digital Plus" },
            { "@type": "Audio", "Format": "AAC", "Channels": "2" },
        ]))
        .unwrap();
        let text = |text: &str| Some(text.to_owned());
        let expected = Streams {
            video_codec: text("x265"),
            audio_codec: text("DDP"),
            resolution: text("2160p"),
            hdr: text("Dolby Vision"),
            measured: Measured {
                width: Some(3840),
                height: Some(1600),
                bitrate_kbps: Some(24_123),
                duration_sec: Some(7326),
                audio_channels: Some(6),
                frame_rate: Some(23.976),
                video_bit_depth: Some(10),
                chroma_subsampling: text("4:2:0"),
                color_primaries: text("BT.2020"),
                color_transfer: text("PQ"),
                color_space: text("YUV"),
                hdr_format: text("Dolby Vision / SMPTE ST 2086"),
            },
            tracks: Vec::new(),
        };
        assert_eq!(streams, expected);
    }

    #[test]
    fn tracks_of_subtitles_have_language_and_flags() {
        let streams = read_tracks(&json!([
            { "@type": "Video" },
            { "@type": "Text", "Format": "UTF-8", "Language": "en", "Default": "Yes", "Forced": "No" },
            { "@type": "Text", "Format": "PGS", "Language": "pt-BR", "Forced": "Yes", "Title": "Only signs" },
            { "@type": "Text", "Format": "ASS", "Language": "fr", "Title": "French (SDH)" },
            { "@type": "Text", "Language": "de", "ServiceKind": "HI", "Title": "Forced" },
            { "@type": "Text", "Title": "account of enforced acceptance" },
            { "@type": "Menu" },
        ]))
        .unwrap();
        let shown: Vec<(Option<&str>, bool, bool, bool)> = streams
            .tracks
            .iter()
            .map(|track| {
                (
                    track.language.as_deref(),
                    track.forced,
                    track.sdh,
                    track.by_default,
                )
            })
            .collect();
        let expected = [
            (Some("en"), false, false, true),
            (Some("pt-BR"), true, false, false),
            (Some("fr"), false, true, false),
            (Some("de"), true, true, false),
            (None, false, false, false),
        ];
        assert_eq!(shown, expected);
        assert_eq!(streams.tracks[1].title.as_deref(), Some("Only signs"));
        let many: Vec<Value> = std::iter::once(json!({ "@type": "Video" }))
            .chain((0..500).map(|_| json!({ "@type": "Text" })))
            .collect();
        assert_eq!(read_tracks(&json!(many)).unwrap().tracks.len(), MOST_TRACKS);
    }

    #[test]
    fn pixels_have_a_name() {
        for (width, height, expected) in [
            (3840, 2160, "2160p"),
            (3840, 1600, "2160p"),
            (3199, 1700, "2160p"),
            (3199, 1699, "1080p"),
            (1920, 800, "1080p"),
            (1799, 850, "1080p"),
            (1280, 534, "720p"),
            (1199, 619, "480p"),
            (720, 304, "480p"),
            (699, 380, "480p"),
            (699, 379, "sd"),
            (1, 1, "sd"),
        ] {
            assert_eq!(
                resolution(Some(width), Some(height)),
                Some(expected),
                "{width}x{height}"
            );
        }
        assert_eq!(resolution(None, Some(1080)), Some("1080p"));
        assert_eq!(resolution(None, None), None);
    }

    #[test]
    fn codecs_have_the_names_of_releases() {
        for (format, expected) in [
            ("HEVC", "x265"),
            ("AVC", "x264"),
            ("AV1", "av1"),
            ("VP9", "vp9"),
            ("MPEG-4 Visual", "xvid"),
            ("XviD", "xvid"),
            ("DivX 3 Low", "xvid"),
            ("MPEG Video", "mpeg"),
            ("VC-1", "vc-1"),
        ] {
            assert_eq!(
                video(&[("Format", json!(format))]).video_codec.as_deref(),
                Some(expected)
            );
        }
        for (said, expected) in [
            (&[("Format", "AC-3")][..], "AC3"),
            (&[("Format", "MLP FBA")], "TrueHD"),
            (
                &[
                    ("Format", "MLP FBA"),
                    ("Format_Commercial_IfAny", "Dolby TrueHD with Dolby Atmos"),
                ],
                "Atmos",
            ),
            (
                &[("Format", "E-AC-3"), ("Format_AdditionalFeatures", "JOC")],
                "Atmos",
            ),
            (&[("Format", "DTS")], "DTS"),
            (
                &[
                    ("Format", "DTS"),
                    ("Format_Commercial_IfAny", "DTS-HD Master Audio"),
                ],
                "DTS-HD",
            ),
            (&[("Format", "MPEG Audio"), ("Format_Profile", "Layer 3")], "MP3"),
            (&[("Format", "Opus")], "Opus"),
        ] {
            assert_eq!(audio(said).as_deref(), Some(expected), "{said:?}");
        }
        assert_eq!(audio(&[]), None);
    }

    #[test]
    fn what_no_video_has_is_left_out() {
        let odd = video(&[
            ("Width", json!("-5")),
            ("Height", json!("1e300")),
            ("FrameRate", json!("NaN")),
            ("BitDepth", json!("0.2")),
            ("Format", json!("x".repeat(1000))),
            ("ColorSpace", json!("a\u{0}b")),
            ("HDR_Format", json!(" / ")),
        ]);
        assert_eq!(odd.video_codec.map(|codec| codec.len()), Some(MOST_TEXT));
        let Measured {
            width,
            height,
            frame_rate,
            video_bit_depth,
            color_space,
            ..
        } = odd.measured;
        assert_eq!(
            (width, height, frame_rate, video_bit_depth),
            (None, None, None, None)
        );
        assert_eq!(
            (color_space.as_deref(), odd.hdr, odd.resolution),
            (Some("ab"), None, None)
        );
        let numbers = video(&[("Width", json!(1280)), ("Height", json!("720 / 1080"))]).measured;
        assert_eq!((numbers.width, numbers.height), (Some(1280), Some(720)));
        let channels = read_tracks(
            &json!([{ "@type": "Video" }, { "@type": "Audio", "Format": "DTS", "Channels": "8 / 6" }]),
        );
        assert_eq!(channels.unwrap().measured.audio_channels, Some(8));
    }

    #[test]
    fn what_is_no_answer_is_none() {
        for (answer, expected) in [
            ("", Unclear::Unreadable),
            ("null", Unclear::Unreadable),
            ("{}", Unclear::Unreadable),
            ("[]", Unclear::Unreadable),
            (r#"{"media":1}"#, Unclear::Unreadable),
            (r#"{"media":{"track":{}}}"#, Unclear::Unreadable),
            (r#"{"media":null}"#, Unclear::Unopened),
            (r#"{"media":{"track":[]}}"#, Unclear::NoVideo),
            (
                r#"{"media":{"track":[{"@type":"General","Format":"HLS"}]}}"#,
                Unclear::Others,
            ),
        ] {
            assert_eq!(read_of(answer.as_bytes(), "a", 7), Err(expected), "{answer}");
        }
    }

    #[test]
    fn an_answer_that_other_files_had_a_part_in_is_none() {
        let video = |more: Value| {
            let mut track = json!({ "@type": "Video", "Format": "AVC" });
            track
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            json!([{ "@type": "General", "Format": "MPEG-4", "FileSize": "7" }, track])
        };
        assert!(read_tracks(&video(json!({}))).is_ok());
        assert!(
            read_tracks(&video(
                json!({ "extra": { "Source": "BluRay" }, "Delay_Source": "a/b" })
            ))
            .is_ok()
        );
        for source in [
            json!({ "Source": "/data/secrets.json" }),
            json!({ "extra": { "Source": "../other.mkv" } }),
            json!({ "extra": { "Source": "http://host" } }),
        ] {
            assert_eq!(
                read_tracks(&video(source.clone())),
                Err(Unclear::Others),
                "{source}"
            );
        }
        let sized = json!([{ "@type": "General", "FileSize": "8" }, { "@type": "Video" }]);
        assert_eq!(read_tracks(&sized), Err(Unclear::Resized));
        let list =
            json!([{ "@type": "General", "Format": "DASH MPD", "FileSize": "7" }, { "@type": "Video" }]);
        assert_eq!(read_tracks(&list), Err(Unclear::Others));
        let track = json!([{ "@type": "Video" }]);
        for media in [
            json!([{ "@ref": "a", "track": track }, { "@ref": "b", "track": track }]),
            json!({ "@ref": "b", "track": track }),
        ] {
            let answer = json!({ "media": media }).to_string();
            assert_eq!(
                read_of(answer.as_bytes(), "a", 7),
                Err(Unclear::Others),
                "{answer}"
            );
        }
    }
}
