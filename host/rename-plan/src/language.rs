//! Languages and flags at the end of a subtitle's name: `.en`, `.pt-BR.forced`, `2_English`.

/// Languages: two letters, three letters in both forms, and the English name.
const LANGUAGES: &[(&str, &str, &str, &str)] = &[
    ("ar", "ara", "ara", "arabic"),
    ("bg", "bul", "bul", "bulgarian"),
    ("bn", "ben", "ben", "bengali"),
    ("bs", "bos", "bos", "bosnian"),
    ("ca", "cat", "cat", "catalan"),
    ("cs", "cze", "ces", "czech"),
    ("da", "dan", "dan", "danish"),
    ("de", "ger", "deu", "german"),
    ("el", "gre", "ell", "greek"),
    ("en", "eng", "eng", "english"),
    ("es", "spa", "spa", "spanish"),
    ("et", "est", "est", "estonian"),
    ("eu", "baq", "eus", "basque"),
    ("fa", "per", "fas", "persian"),
    ("fi", "fin", "fin", "finnish"),
    ("fr", "fre", "fra", "french"),
    ("gl", "glg", "glg", "galician"),
    ("he", "heb", "heb", "hebrew"),
    ("hi", "hin", "hin", "hindi"),
    ("hr", "hrv", "hrv", "croatian"),
    ("hu", "hun", "hun", "hungarian"),
    ("hy", "arm", "hye", "armenian"),
    ("id", "ind", "ind", "indonesian"),
    ("is", "ice", "isl", "icelandic"),
    ("it", "ita", "ita", "italian"),
    ("ja", "jpn", "jpn", "japanese"),
    ("ka", "geo", "kat", "georgian"),
    ("kk", "kaz", "kaz", "kazakh"),
    ("ko", "kor", "kor", "korean"),
    ("lt", "lit", "lit", "lithuanian"),
    ("lv", "lav", "lav", "latvian"),
    ("mk", "mac", "mkd", "macedonian"),
    ("ms", "may", "msa", "malay"),
    ("nb", "nob", "nob", "bokmal"),
    ("nl", "dut", "nld", "dutch"),
    ("no", "nor", "nor", "norwegian"),
    ("pl", "pol", "pol", "polish"),
    ("pt", "por", "por", "portuguese"),
    ("ro", "rum", "ron", "romanian"),
    ("ru", "rus", "rus", "russian"),
    ("sk", "slo", "slk", "slovak"),
    ("sl", "slv", "slv", "slovenian"),
    ("sq", "alb", "sqi", "albanian"),
    ("sr", "srp", "srp", "serbian"),
    ("sv", "swe", "swe", "swedish"),
    ("ta", "tam", "tam", "tamil"),
    ("te", "tel", "tel", "telugu"),
    ("th", "tha", "tha", "thai"),
    ("tr", "tur", "tur", "turkish"),
    ("uk", "ukr", "ukr", "ukrainian"),
    ("ur", "urd", "urd", "urdu"),
    ("vi", "vie", "vie", "vietnamese"),
    ("zh", "chi", "zho", "chinese"),
];
/// Flags of subtitles, as media servers read them.
const FLAGS: &[&str] = &["forced", "foreign", "sdh", "cc", "hi", "default"];

/// Language and flags of a subtitle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tag {
    /// As it is written, in small letters but for a region; a name becomes two letters.
    pub language: Option<String>,
    pub flags: Vec<String>,
}

impl Tag {
    /// End of the name: `.en.forced`.
    pub fn suffix(&self) -> String {
        let words = self.language.iter().chain(&self.flags);
        words.map(|word| format!(".{word}")).collect()
    }
}

/// Two letters of a language; `None`: it is none that is known.
pub(crate) fn two_letters(text: &str) -> Option<&'static str> {
    let lower = text.to_lowercase();
    let plain = lower.split(['-', '_']).next().unwrap_or_default();
    let found = LANGUAGES.iter().find(|(two, first, second, name)| {
        plain == *two || plain == *first || plain == *second || lower == *name
    });
    found.map(|(two, ..)| *two)
}

/// Name of a subtitle without its ending, split into the name of its video and what says the language.
pub(crate) fn split(stem: &str) -> (&str, Tag) {
    if let Some(language) = bare(stem) {
        let tag = Tag {
            language: Some(language.to_owned()),
            flags: Vec::new(),
        };
        return ("", tag);
    }
    let (mut rest, mut tag) = (stem, Tag::default());
    while let Some((before, last)) = rest.rsplit_once('.') {
        let word = last.trim().to_lowercase();
        // `hi` is a flag behind a language and Hindi alone.
        let is_flag = FLAGS.contains(&&*word) && (word != "hi" || has_language(before));
        if is_flag && tag.language.is_none() && !tag.flags.contains(&word) {
            tag.flags.insert(0, word);
        } else if let Some(language) = tag.language.is_none().then(|| written(last.trim())).flatten() {
            tag.language = Some(language);
        } else {
            break;
        }
        rest = before;
    }
    (rest, tag)
}

fn has_language(before: &str) -> bool {
    let last = before.rsplit('.').next().unwrap_or_default();
    before.contains('.') && written(last).is_some()
}

/// Language as it is written behind a dot.
fn written(word: &str) -> Option<String> {
    let (plain, region) = word
        .split_once(['-', '_'])
        .map_or((word, None), |(plain, region)| (plain, Some(region)));
    let known = two_letters(plain)?;
    let is_region = |region: &str| {
        (2..=4).contains(&region.len()) && region.bytes().all(|letter| letter.is_ascii_alphanumeric())
    };
    match (plain.len(), region) {
        (2 | 3, None) => Some(plain.to_lowercase()),
        (2 | 3, Some(region)) if is_region(region) => Some(format!("{}-{region}", plain.to_lowercase())),
        (_, None) => Some(known.to_owned()),
        _ => None,
    }
}

/// Language of a name that says nothing else: `English`, `2_English`, `eng`.
fn bare(stem: &str) -> Option<&'static str> {
    let name = stem
        .trim_start_matches(|letter: char| letter.is_ascii_digit())
        .trim_matches(['_', ' ', '-', '.']);
    let is_name = name.len() > 3 || (name.len() > 1 && name.len() == stem.len()) || stem.contains('_');
    two_letters(name).filter(|_| is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_and_flags_are_at_the_end() {
        for (stem, base, suffix) in [
            ("Film (2010).en", "Film (2010)", ".en"),
            ("Film.2010.eng.forced", "Film.2010", ".eng.forced"),
            ("Film.pt-BR", "Film", ".pt-BR"),
            ("Film.en.hi", "Film", ".en.hi"),
            ("Film.hi", "Film", ".hi"),
            ("Film.English.sdh", "Film", ".en.sdh"),
            ("Film.forced", "Film", ".forced"),
            ("Film", "Film", ""),
            ("Film.1080p", "Film.1080p", ""),
            ("2_English", "", ".en"),
            ("English", "", ".en"),
            ("eng", "", ".en"),
            ("Mr. No", "Mr", ".no"),
        ] {
            let (found, tag) = split(stem);
            assert_eq!((found, &*tag.suffix()), (base, suffix), "{stem}");
        }
        assert_eq!(two_letters("pt-BR"), Some("pt"));
        assert_eq!(two_letters("ger"), two_letters("deu"));
        assert_eq!(two_letters("1080p"), None);
    }
}
