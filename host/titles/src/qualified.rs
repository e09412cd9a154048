//! Countries and years behind the titles of shows, which distinguish shows of one name.

use crate::name::canonical;

/// Countries that people write behind a title without brackets, each with its other spellings.
const COUNTRIES: &[(&str, &[&str])] = &[
    ("US", &["US", "USA"]),
    ("GB", &["UK", "GB"]),
    ("AU", &["AU"]),
    ("CA", &["CA"]),
    ("NZ", &["NZ"]),
    ("IE", &["IE"]),
    ("ZA", &["ZA"]),
];
const YEARS: std::ops::RangeInclusive<i64> = 1900..=2099;

/// A title, with the country and year behind it taken off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Qualified {
    pub title: String,
    pub year: Option<i64>,
    /// ISO code, in capitals.
    pub country: Option<String>,
}

impl Qualified {
    /// Splits `Title (US) (2005)`, `Title [UK]`, `Title US`.
    pub fn split(title: &str) -> Self {
        let (mut rest, mut year, mut country) = (title.trim(), None, None);
        while let Some((before, inside)) = bracketed(rest) {
            if let (Some(found), None) = (year_of(inside), year) {
                year = Some(found);
            } else if let (Some(found), None) = (country_of(inside), &country) {
                country = Some(found);
            } else {
                break;
            }
            rest = before;
        }
        if country.is_none()
            && let Some((before, last)) = rest.rsplit_once([' ', '.', '_'])
            && let Some((code, _)) = COUNTRIES.iter().find(|(_, spelled)| spelled.contains(&last))
            && before.chars().any(char::is_alphanumeric)
        {
            (rest, country) = (before, Some((*code).to_owned()));
        }
        Self {
            title: rest.trim().to_owned(),
            year,
            country,
        }
    }
}

/// Text before the brackets at the end, and the text inside them.
fn bracketed(title: &str) -> Option<(&str, &str)> {
    let (open, inner) = match title.strip_suffix(')') {
        Some(inner) => ('(', inner),
        None => ('[', title.strip_suffix(']')?),
    };
    let (before, inside) = inner.rsplit_once(open)?;
    let before = before.trim_end();
    (!before.is_empty()).then(|| (before, inside.trim()))
}

fn year_of(text: &str) -> Option<i64> {
    let is_number = text.len() == 4 && text.bytes().all(|digit| digit.is_ascii_digit());
    text.parse().ok().filter(|year| is_number && YEARS.contains(year))
}

fn country_of(text: &str) -> Option<String> {
    let known = COUNTRIES.iter().find(|(_, spelled)| spelled.contains(&text));
    let is_code = text.len() == 2 && text.bytes().all(|letter| letter.is_ascii_uppercase());
    known
        .map(|(code, _)| (*code).to_owned())
        .or_else(|| is_code.then(|| text.to_owned()))
}

/// Forms of a title with a country behind it.
pub(crate) fn named_for(title: &str, country: &str) -> Vec<String> {
    let known = COUNTRIES.iter().find(|(code, _)| *code == country);
    let spelled = known.map_or(&[][..], |(_, spelled)| *spelled).iter().copied();
    let others = known.is_none().then_some(country);
    spelled
        .chain(others)
        .map(|country| canonical(&format!("{title} {country}")))
        .collect()
}

/// Countries that names have behind this title.
pub(crate) fn countries_in<'n>(title: &str, names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let names: Vec<String> = names.map(canonical).collect();
    let is_named = |code: &str| named_for(title, code).iter().any(|form| names.contains(form));
    COUNTRIES
        .iter()
        .filter(|(code, _)| is_named(code))
        .map(|(code, _)| (*code).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_name_countries_and_years() {
        for (text, title, year, country) in [
            ("The Desk (US)", "The Desk", None, Some("US")),
            ("The Desk [UK]", "The Desk", None, Some("GB")),
            ("The Desk (2005) (US)", "The Desk", Some(2005), Some("US")),
            ("The.Desk.US", "The.Desk", None, Some("US")),
            ("Reign (BR)", "Reign", None, Some("BR")),
            ("US", "US", None, None),
            ("Us", "Us", None, None),
            ("Contact us", "Contact us", None, None),
            ("(2019)", "(2019)", None, None),
            ("Tide (part)", "Tide (part)", None, None),
            ("Tide 2049", "Tide 2049", None, None),
            ("", "", None, None),
        ] {
            let found = Qualified::split(text);
            assert_eq!(
                (&*found.title, found.year, found.country.as_deref()),
                (title, year, country),
                "{text}"
            );
        }
        let names = ["the desk u s", "Le Bureau", "The Desk (UK)"];
        assert_eq!(countries_in("The Desk", names.into_iter()), ["US", "GB"]);
    }
}
