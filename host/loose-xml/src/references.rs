//! References to characters (`&amp;`, `&#228;`): by number, and by name.

use quick_xml::escape::resolve_html5_entity;

/// Meaning of the numbers 128 to 159 to browsers: windows-1252.
const WINDOWS_1252: &str = "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8d}Ž\u{8f}\u{90}‘’“”•–—˜™š›œ\u{9d}žŸ";

/// References that a reader knows.
#[derive(Clone, Copy, Debug)]
pub struct References {
    /// Bytes of the longest one, with its `&` and `;`.
    longest: usize,
    /// Text of one by its name, which stands between `&` and `;`.
    text_of: fn(&str) -> Option<String>,
}

impl References {
    /// Those of web pages, read as browsers do.
    pub const WEB: Self = Self {
        longest: 40,
        text_of: web,
    };
    /// Those of XML, and the few of web pages that people paste. Control characters are dropped.
    pub const PLAIN: Self = Self {
        longest: 12,
        text_of: plain,
    };

    /// The text of a reference by its name; none when it is not known.
    pub fn text_of(self, name: &str) -> Option<String> {
        (self.text_of)(name)
    }

    /// Text with its references resolved, once; what is none stays.
    pub fn resolve(self, text: &str) -> String {
        let mut whole = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('&') {
            whole.push_str(&rest[..at]);
            rest = &rest[at..];
            let end = rest.bytes().take(self.longest).position(|byte| byte == b';');
            match end.and_then(|end| self.text_of(&rest[1..end]).map(|text| (end, text))) {
                Some((end, text)) => {
                    whole.push_str(&text);
                    rest = &rest[end + 1..];
                }
                None => {
                    whole.push('&');
                    rest = &rest[1..];
                }
            }
        }
        whole.push_str(rest);
        whole
    }
}

/// Number of a character, decimal or after an `x` hexadecimal.
fn number(digits: &str) -> Option<u32> {
    match digits.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    }
}

fn web(name: &str) -> Option<String> {
    let Some(digits) = name.strip_prefix('#') else {
        return resolve_html5_entity(name).map(str::to_owned);
    };
    match number(digits)? {
        0 => None,
        code @ 128..=159 => WINDOWS_1252.chars().nth((code - 128) as usize),
        code => char::from_u32(code),
    }
    .map(String::from)
}

fn plain(name: &str) -> Option<String> {
    if let Some(digits) = name.strip_prefix('#') {
        let letter = char::from_u32(number(digits)?)?;
        let is_text = !letter.is_control() || matches!(letter, '\t' | '\n' | '\r');
        return Some(if is_text {
            letter.to_string()
        } else {
            String::new()
        });
    }
    let text = match name {
        "amp" => "&",
        "lt" => "<",
        "gt" => ">",
        "quot" => "\"",
        "apos" => "'",
        "nbsp" => "\u{a0}",
        "ndash" => "\u{2013}",
        "mdash" => "\u{2014}",
        "hellip" => "\u{2026}",
        "lsquo" => "\u{2018}",
        "rsquo" => "\u{2019}",
        "ldquo" => "\u{201c}",
        "rdquo" => "\u{201d}",
        "laquo" => "\u{ab}",
        "raquo" => "\u{bb}",
        _ => return None,
    };
    Some(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_of_web_pages_are_resolved_once() {
        let resolve = |text| References::WEB.resolve(text);
        assert_eq!(
            resolve("a&amp;amp;b &eacute;&nbsp;&#228;&#x41;&#150;"),
            "a&amp;b é\u{a0}äA–"
        );
        assert_eq!(
            resolve("a&b;&amp &#0;&#xZ;&#x110000;&"),
            "a&b;&amp &#0;&#xZ;&#x110000;&"
        );
        assert_eq!(
            resolve("&ääääääääääääääääääääääääääää;"),
            "&ääääääääääääääääääääääääääää;"
        );
    }

    #[test]
    fn numbers_of_web_pages_mean_what_they_mean_to_browsers() {
        for byte in 128_u8..=159 {
            let bytes = [byte];
            let (text, _) = encoding_rs::WINDOWS_1252.decode_without_bom_handling(&bytes);
            assert_eq!(References::WEB.resolve(&format!("&#{byte};")), text);
        }
    }

    #[test]
    fn references_that_are_none_stay() {
        let resolve = |text| References::PLAIN.resolve(text);
        assert_eq!(resolve("a&b;&amp;amp;&#0;&#xZ;&"), "a&b;&amp;&#xZ;&");
        assert_eq!(
            resolve("&\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{e4};"),
            "&\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{e4};"
        );
        assert_eq!(resolve("&eacute;&#150;&hellip;"), "&eacute;\u{2026}");
    }
}
