//! Languages and countries: TheTVDB writes both with three letters.

use celes::Country;
use isolang::Language;

/// The language whose texts are asked for where none was named.
pub const LANGUAGE: &str = "eng";

/// Code of TheTVDB for a language given as a BCP 47 tag. Two have words of their own there.
pub fn language(tag: &str) -> Option<String> {
    let tag = tag.trim().replace('_', "-").to_ascii_lowercase();
    match tag.as_str() {
        "pt-br" => return Some("pt".to_owned()),
        "zh-tw" | "zh-hant" | "zh-hant-tw" => return Some("zhtw".to_owned()),
        _ => {}
    }
    let main = tag.split('-').next()?;
    let language = Language::from_639_1(main).or_else(|| Language::from_639_3(main))?;
    Some(language.to_639_3().to_owned())
}

/// The tag of a language of TheTVDB.
pub fn tag(word: &str) -> Option<String> {
    match word {
        "pt" => return Some("pt-BR".to_owned()),
        "zhtw" => return Some("zh-TW".to_owned()),
        _ => {}
    }
    let language = Language::from_639_3(word)?;
    Some(language.to_639_1().unwrap_or(word).to_owned())
}

/// The code of two letters of a country of TheTVDB, in capitals.
pub fn country(word: &str) -> Option<String> {
    let word = word.trim().to_ascii_uppercase();
    let country = if word.len() == 2 {
        Country::from_alpha2(&word)
    } else {
        Country::from_alpha3(&word)
    };
    country.ok().map(|country| country.alpha2.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways() {
        for (tag_, word) in [
            ("en", "eng"),
            ("de", "deu"),
            ("ja", "jpn"),
            ("pt", "por"),
            ("pt-BR", "pt"),
            ("zh-TW", "zhtw"),
            ("zh", "zho"),
        ] {
            assert_eq!(language(tag_).as_deref(), Some(word), "{tag_}");
            assert_eq!(tag(word).as_deref(), Some(tag_), "{word}");
        }
        assert_eq!(language("en_US").as_deref(), Some("eng"));
        assert_eq!(language("zh-Hans-CN").as_deref(), Some("zho"));
        assert_eq!((language("x"), language(""), tag("??")), (None, None, None));
        for (word, code) in [
            ("usa", Some("US")),
            ("gbr", Some("GB")),
            ("jp", Some("JP")),
            ("", None),
            ("xxx", None),
        ] {
            assert_eq!(country(word).as_deref(), code, "{word}");
        }
    }
}
