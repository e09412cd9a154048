//! `Content-Disposition`: the name under which a file is saved.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// `attr-char` of RFC 5987, complemented.
const NOT_ATTR: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'!')
    .remove(b'#')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b'-')
    .remove(b'.')
    .remove(b'^')
    .remove(b'_')
    .remove(b'`')
    .remove(b'|')
    .remove(b'~');

/// Value of the header for a file of this name: `inline; filename="plain"; filename*=UTF-8''exact`, after RFC 6266: old readers take the first name, others the second.
pub fn disposition(kind: &str, name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|c| {
            let safe = c == ' ' || (c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '%' | ';'));
            if safe { c } else { '_' }
        })
        .collect();
    format!(
        "{kind}; filename=\"{plain}\"; filename*=UTF-8''{}",
        utf8_percent_encode(name, NOT_ATTR)
    )
}

#[cfg(test)]
mod tests {
    use super::disposition;

    #[test]
    fn names_stand_in_both_forms() {
        for (name, header) in [
            (
                "a b.mkv",
                "inline; filename=\"a b.mkv\"; filename*=UTF-8''a%20b.mkv",
            ),
            (
                "\u{fc}ber \"x\";\r\n.txt",
                "inline; filename=\"_ber _x____.txt\"; filename*=UTF-8''%C3%BCber%20%22x%22%3B%0D%0A.txt",
            ),
            (
                "100%.nfo",
                "inline; filename=\"100_.nfo\"; filename*=UTF-8''100%25.nfo",
            ),
        ] {
            assert_eq!(disposition("inline", name), header);
        }
    }
}
