//! Comparison of titles.

/// Largest number of characters of a requested title.
pub const MAX_TITLE: usize = 300;

/// Lower case; letters and digits of any script, with one space between words.
pub fn normalized(title: &str) -> String {
    let lower: String = title
        .chars()
        .take(MAX_TITLE)
        .flat_map(char::to_lowercase)
        .collect();
    let words: Vec<&str> = lower
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ")
}

/// Similarity of two normalized titles, from 0 to 1: 1 minus the share of changed letters. Empty ones are not
/// similar.
pub fn similarity(a: &str, b: &str) -> f64 {
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    strsim::normalized_levenshtein(a, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_compared_by_their_words() {
        for (title, expected) in [
            ("Harbor Nine", "harbor nine"),
            ("  HARBOR_Nine! (US) ", "harbor nine us"),
            ("9-1-1", "9 1 1"),
            ("進撃の巨人", "進撃の巨人"),
            ("?!", ""),
        ] {
            assert_eq!(normalized(title), expected);
        }
        assert!((similarity("harbor nine", "harbor mine") - 10.0 / 11.0).abs() < 1e-9);
        assert!(similarity("", "") < 0.6);
        assert_eq!(normalized(&"x".repeat(5000)).len(), MAX_TITLE);
    }
}
