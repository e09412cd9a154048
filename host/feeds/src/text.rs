//! Texts of feeds made fit to be kept: references resolved, one line, bounded.

use qm_loose_xml::{References, clip};

/// Text with its character references resolved once; unknown ones stay.
pub fn unescape(text: &str) -> String {
    References::WEB.resolve(text)
}

/// One line: white space and control characters are one space, none at the ends; at most `most` bytes.
pub fn line(text: &str, most: usize) -> String {
    let mut line = String::with_capacity(text.len().min(most));
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    for word in words.filter(|word| !word.is_empty()) {
        if line.len() >= most {
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line.truncate(clip(&line, most).trim_end().len());
    line
}

/// A title: many are escaped twice, as the HTML that they once were.
pub fn title(text: &str, most: usize) -> String {
    // More would be cut off anyway.
    let text = clip(text, most * 4);
    if text.contains('&') {
        line(&unescape(text), most)
    } else {
        line(text, most)
    }
}

/// A link without what cannot be part of one. Its `&` may have been escaped twice.
pub fn address(text: &str) -> String {
    let plain: String = text.trim().chars().filter(|c| !c.is_control()).collect();
    let plain = plain.replace("&amp;", "&");
    plain.trim().to_owned()
}

/// A line that people read, without what may be a key: words of 16 and more letters and digits.
pub fn readable_line(text: &str, most: usize) -> String {
    let text = line(clip(text, most * 8), most * 4);
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let mut said = String::new();
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (word, tail) = rest.split_at(end);
        let looks_like_a_key =
            word.len() >= 16 && word.chars().any(|c| c.is_ascii_digit()) || word.len() >= 32;
        said.push_str(if looks_like_a_key { "…" } else { word });
        let next = tail.find(is_part).unwrap_or(tail.len());
        said.push_str(&tail[..next]);
        rest = &tail[next..];
    }
    clip(&said, most).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_one() {
        assert_eq!(line(" a\r\n\t b\u{0}c\u{a0}", 100), "a b c");
        assert_eq!(line("ää ää", 3), "ä");
        assert_eq!(line("aaa bbb", 4), "aaa");
        assert_eq!(title("Tom &amp; Jerry &#39;25", 100), "Tom & Jerry '25");
    }

    #[test]
    fn addresses_are_plain() {
        assert_eq!(address("\n http://h/a?b=1&amp;c=\n2 "), "http://h/a?b=1&c=2");
    }

    #[test]
    fn what_people_read_holds_no_key() {
        assert_eq!(
            readable_line("Passkey 0123456789abcdef0123 is\nwrong", 100),
            "Passkey … is wrong"
        );
        assert_eq!(readable_line("internationalization", 100), "internationalization");
    }
}
