//! Email addresses, as users enter them.

/// Largest number of characters of an address.
pub const MAX_ADDRESS: usize = 254;

/// Error about an invalid address, in words that follow the field's name.
pub const RULE: &str = "must be an email address, e.g. jo@example.org, of no more than 254 characters";

/// True when the text has the form of an email address; only a mail can prove that it exists.
pub fn is_address(text: &str) -> bool {
    let mut parts = text.split('@');
    let (Some(local), Some(domain), None) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let no_gap = !text
        .chars()
        .any(|letter| letter.is_whitespace() || letter.is_control());
    let labels = domain.split('.');
    no_gap
        && text.chars().count() <= MAX_ADDRESS
        && !local.is_empty()
        && domain.contains('.')
        && labels.into_iter().all(|label| !label.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_other_texts() {
        for good in [
            "jo@example.org",
            "a@b.c",
            "jo+x@mail.example.org",
            "jö@exämple.org",
        ] {
            assert!(is_address(good), "{good}");
        }
        let long = format!("{}@example.org", "a".repeat(243));
        for bad in [
            "",
            "@",
            "jo",
            "jo@",
            "@example.org",
            "jo@example",
            "jo@.org",
            "jo@example.",
            "jo@ex..org",
            "jo@a@example.org",
            "jo @example.org",
            "jo@example.org\r\nBcc: all@example.org",
            "jo\0@example.org",
            &long,
        ] {
            assert!(!is_address(bad), "{bad:?}");
        }
    }
}
