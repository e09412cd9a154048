//! The label of a torrent, where every interface of rTorrent keeps it: in its first custom field, percent-encoded.
//!
//! A label that another program wrote there without encoding is read as it is, unless it looks like an encoded one.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Characters that are encoded: all but letters, digits and these.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Writes the field.
pub const SET: &str = "d.custom1.set";
/// Reads the field.
pub const READ: &str = "d.custom1";

/// A label as it stands in the field: letters, digits and `-_.~`, everything else as the hexadecimal bytes of its UTF-8.
pub fn written(label: &str) -> String {
    utf8_percent_encode(label, ENCODED).to_string()
}

/// Label in the field; one that is not encoded is taken as it is.
pub fn read(field: &str) -> String {
    if !field.contains('%') {
        return field.to_owned();
    }
    decoded(field.as_bytes())
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .unwrap_or_else(|| field.to_owned())
}

/// None when a `%` is not followed by two hexadecimal digits.
fn decoded(field: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: &u8| {
        char::from(*byte)
            .to_digit(16)
            .and_then(|digit| u8::try_from(digit).ok())
    };
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, after)) = rest.split_first() {
        if byte == b'%' {
            let [high, low, after @ ..] = after else {
                return None;
            };
            out.push(digit(high)? << 4 | digit(low)?);
            rest = after;
        } else {
            out.push(byte);
            rest = after;
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_label_is_written_as_other_interfaces_write_it() {
        for (label, field) in [
            ("films", "films"),
            ("TV shows", "TV%20shows"),
            ("a-b_c.d~e", "a-b_c.d~e"),
            ("é/ü+%", "%C3%A9%2F%C3%BC%2B%25"),
            ("$execute.throw=x;\"", "%24execute.throw%3Dx%3B%22"),
            ("", ""),
        ] {
            assert_eq!(written(label), field);
            assert_eq!(read(field), label);
        }
    }

    #[test]
    fn what_is_not_encoded_is_taken_as_it_is() {
        for field in ["TV shows", "100 %", "50%!", "a%2", "%zz", "%FF", "é"] {
            assert_eq!(read(field), field);
        }
        assert_eq!(read("tv%20shows%2f4k"), "tv shows/4k");
        assert_eq!(read("(a)%20'b'!*"), "(a) 'b'!*", "what others leave as it is");
    }

    proptest! {
        #[test]
        fn every_label_comes_back(label in any::<String>()) {
            prop_assert_eq!(read(&written(&label)), label);
        }
    }
}
