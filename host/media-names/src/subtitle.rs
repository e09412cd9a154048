//! Names of subtitles beside videos: whose they are, their language and their flags.

/// Languages: two letters, and other words for them. The English name is the last.
const LANGUAGES: &[(&str, &[&str])] = &[
    ("en", &["eng", "english"]),
    ("es", &["spa", "castilian", "spanish"]),
    ("fr", &["fre", "fra", "french"]),
    ("de", &["ger", "deu", "german"]),
    ("it", &["ita", "italian"]),
    ("pt", &["por", "pob", "portuguese"]),
    ("nl", &["dut", "nld", "flemish", "dutch"]),
    ("ja", &["jpn", "japanese"]),
    ("ko", &["kor", "korean"]),
    ("zh", &["chi", "zho", "mandarin", "cantonese", "chinese"]),
    ("ru", &["rus", "russian"]),
    ("ar", &["ara", "arabic"]),
    ("pl", &["pol", "polish"]),
    ("sv", &["swe", "swedish"]),
    ("da", &["dan", "danish"]),
    ("no", &["nor", "nob", "nno", "nb", "nn", "norwegian"]),
    ("fi", &["fin", "finnish"]),
    ("hi", &["hin", "hindi"]),
    ("tr", &["tur", "turkish"]),
    ("el", &["gre", "ell", "greek"]),
    ("he", &["heb", "iw", "hebrew"]),
    ("hu", &["hun", "hungarian"]),
    ("cs", &["cze", "ces", "czech"]),
    ("sk", &["slo", "slk", "slovak"]),
    ("ro", &["rum", "ron", "romanian"]),
    ("bg", &["bul", "bulgarian"]),
    ("hr", &["hrv", "scr", "croatian"]),
    ("sr", &["srp", "scc", "serbian"]),
    ("sl", &["slv", "slovenian"]),
    ("bs", &["bos", "bosnian"]),
    ("mk", &["mac", "mkd", "macedonian"]),
    ("sq", &["alb", "sqi", "albanian"]),
    ("th", &["tha", "thai"]),
    ("id", &["ind", "in", "indonesian"]),
    ("ms", &["may", "msa", "malay"]),
    ("vi", &["vie", "vietnamese"]),
    ("tl", &["tgl", "fil", "filipino", "tagalog"]),
    ("ta", &["tam", "tamil"]),
    ("te", &["tel", "telugu"]),
    ("ml", &["mal", "malayalam"]),
    ("kn", &["kan", "kannada"]),
    ("mr", &["mar", "marathi"]),
    ("pa", &["pan", "punjabi"]),
    ("bn", &["ben", "bengali"]),
    ("si", &["sin", "sinhalese", "sinhala"]),
    ("ne", &["nep", "nepali"]),
    ("ur", &["urd", "urdu"]),
    ("fa", &["per", "fas", "farsi", "persian"]),
    ("uk", &["ukr", "ukrainian"]),
    ("be", &["bel", "belarusian"]),
    ("et", &["est", "estonian"]),
    ("lv", &["lav", "latvian"]),
    ("lt", &["lit", "lithuanian"]),
    ("is", &["ice", "isl", "icelandic"]),
    ("ca", &["cat", "catalan"]),
    ("gl", &["glg", "galician"]),
    ("eu", &["baq", "eus", "basque"]),
    ("ka", &["geo", "kat", "georgian"]),
    ("hy", &["arm", "hye", "armenian"]),
    ("az", &["aze", "azerbaijani"]),
    ("kk", &["kaz", "kazakh"]),
    ("mn", &["mon", "mongolian"]),
    ("km", &["khm", "cambodian", "khmer"]),
    ("lo", &["lao"]),
    ("my", &["bur", "mya", "burmese"]),
    ("af", &["afr", "afrikaans"]),
    ("sw", &["swa", "swahili"]),
    ("ga", &["gle", "irish"]),
    ("cy", &["wel", "cym", "welsh"]),
    ("mt", &["mlt", "maltese"]),
    ("eo", &["epo", "esperanto"]),
    ("la", &["lat", "latin"]),
    ("yi", &["yid", "yiddish"]),
];
/// Language of subtitles whose name does not say it.
pub const UNKNOWN: &str = "und";
const ENDINGS: [&str; 6] = ["srt", "ass", "ssa", "sub", "vtt", "idx"];
const VIDEOS: [&str; 15] = [
    "mkv", "mp4", "avi", "m4v", "mov", "ts", "m2ts", "wmv", "mpg", "mpeg", "webm", "flv", "ogm", "divx",
    "iso",
];

/// Language and flags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tag {
    /// Two letters, or [`UNKNOWN`].
    pub language: String,
    pub forced: bool,
    pub sdh: bool,
    pub by_default: bool,
}

/// True for the name of a file of subtitles, in any letters.
pub fn is_subtitle(name: &str) -> bool {
    name.rsplit_once('.')
        .is_some_and(|(_, ending)| ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known)))
}

/// Language of a track as its file names it (`en`, `eng`, `pt-BR`), in two letters. A code that is not known stays, in small
/// letters.
pub fn language_of(named: Option<&str>) -> String {
    let named = named.unwrap_or_default().trim().to_lowercase();
    let code = named.split(['-', '_', ' ', '/']).next().unwrap_or_default();
    match two_letters(code) {
        Some(language) => language.to_owned(),
        None if code.is_empty() => UNKNOWN.to_owned(),
        None => code.to_owned(),
    }
}

/// True for the name of a video, in small letters.
pub fn is_video(name: &str) -> bool {
    name.rsplit_once('.')
        .is_some_and(|(_, ending)| VIDEOS.contains(&ending))
}

/// The video that a file of subtitles belongs to, and what its name says. All in small letters, videos without their endings
/// and the longest first. `None`: it is no subtitle, or that of no video.
pub fn read_name<'a>(name: &str, videos: &'a [String]) -> Option<(&'a str, Tag)> {
    let (stem, ending) = name.rsplit_once('.')?;
    if !ENDINGS.contains(&ending) {
        return None;
    }
    let own = videos.iter().find_map(|video| {
        let rest = stem.strip_prefix(video.as_str())?;
        let is_end = rest.chars().next().is_none_or(|next| !next.is_alphanumeric());
        is_end.then_some((video, rest))
    });
    own.map(|(video, rest)| (video.as_str(), read_tag(rest)))
}

/// Language and flags behind the name of a video, read from the right to the first word that is neither.
fn read_tag(rest: &str) -> Tag {
    let words: Vec<&str> = rest
        .split(['.', '_', '-', ' ', '(', ')', '[', ']'])
        .filter(|word| !word.is_empty())
        .collect();
    let mut tag = Tag::default();
    for (at, word) in words.iter().enumerate().rev() {
        let is_behind_language = at > 0 && two_letters(words[at - 1]).is_some();
        match *word {
            "forced" | "foreign" => tag.forced = true,
            "sdh" | "cc" => tag.sdh = true,
            "default" => tag.by_default = true,
            // Hindi where it stands alone.
            "hi" if is_behind_language || !tag.language.is_empty() => tag.sdh = true,
            // The region of a language: pt-BR, zh-Hans.
            _ if is_behind_language && is_region(word) => {}
            word => match two_letters(word) {
                Some(language) if tag.language.is_empty() => language.clone_into(&mut tag.language),
                Some(_) => {}
                None => break,
            },
        }
    }
    if tag.language.is_empty() {
        UNKNOWN.clone_into(&mut tag.language);
    }
    tag
}

/// Two letters of a language; `None`: it is none that is known.
fn two_letters(word: &str) -> Option<&'static str> {
    let is_it = |(two, others): &&(&str, &[&str])| word == *two || others.contains(&word);
    LANGUAGES.iter().find(is_it).map(|(two, _)| *two)
}

fn is_region(word: &str) -> bool {
    [
        "br", "us", "gb", "419", "hans", "hant", "cn", "tw", "hk", "mx", "latn", "cyrl",
    ]
    .contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_language_and_flags() {
        let videos = ["tide 2".to_owned(), "tide".to_owned()];
        for (name, video, language, flags) in [
            ("tide.srt", "tide", "und", ""),
            ("tide.en.srt", "tide", "en", ""),
            ("tide.eng.srt", "tide", "en", ""),
            ("tide.english.ass", "tide", "en", ""),
            ("tide_fr.vtt", "tide", "fr", ""),
            ("tide-deu.sub", "tide", "de", ""),
            ("tide ger.idx", "tide", "de", ""),
            ("tide.en.forced.srt", "tide", "en", "f"),
            ("tide.forced.en.srt", "tide", "en", "f"),
            ("tide.en.sdh.srt", "tide", "en", "s"),
            ("tide.en.hi.srt", "tide", "en", "s"),
            ("tide.hi.en.srt", "tide", "en", "s"),
            ("tide.hi.srt", "tide", "hi", ""),
            ("tide.en.cc.default.srt", "tide", "en", "sd"),
            ("tide.pt-br.srt", "tide", "pt", ""),
            ("tide.zh-hans.srt", "tide", "zh", ""),
            ("tide.fr.en.srt", "tide", "en", ""),
            ("tide.en.commentary.srt", "tide", "und", ""),
            ("tide.nno.srt", "tide", "no", ""),
            ("tide 2.it.srt", "tide 2", "it", ""),
            ("tide 2.srt", "tide 2", "und", ""),
        ] {
            let (own, tag) = read_name(name, &videos).unwrap_or_else(|| panic!("{name}"));
            let shown: String = [(tag.forced, 'f'), (tag.sdh, 's'), (tag.by_default, 'd')]
                .iter()
                .filter_map(|(is, letter)| is.then_some(*letter))
                .collect();
            assert_eq!((own, &*tag.language, &*shown), (video, language, flags), "{name}");
        }
        for (named, language) in [
            (Some("en"), "en"),
            (Some("ENG"), "en"),
            (Some("pt-BR"), "pt"),
            (Some("zh-Hans"), "zh"),
            (Some("English / German"), "en"),
            (Some("qaa"), "qaa"),
            (Some(" "), "und"),
            (None, "und"),
        ] {
            assert_eq!(language_of(named), language, "{named:?}");
        }
        for name in ["tide.txt", "tides.en.srt", "ebb.en.srt", "tide", "srt"] {
            assert_eq!(read_name(name, &videos), None, "{name}");
        }
        assert!(
            is_subtitle("Tide.SRT")
                && is_subtitle("tide.en.idx")
                && !is_subtitle("tide.srt.txt")
                && !is_subtitle("srt")
        );
        let mut all: Vec<&str> = LANGUAGES
            .iter()
            .flat_map(|(two, others)| std::iter::once(two).chain(*others))
            .copied()
            .collect();
        all.sort_unstable();
        assert!(
            all.windows(2).all(|pair| pair[0] != pair[1]),
            "a word means one language: {all:?}"
        );
    }
}
