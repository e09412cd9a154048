//! Ids of titles in the data set of titles.

/// True if it is an id of the data set: `tt` and 5 to 10 digits.
pub fn is_titledb_id(id: &str) -> bool {
    let digits = id.strip_prefix("tt").unwrap_or_default();
    (5..=10).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_digits_behind_two_letters() {
        for id in ["tt12345", "tt1234567890"] {
            assert!(is_titledb_id(id), "{id}");
        }
        for id in [
            "",
            "tt",
            "tt1234",
            "tt12345678901",
            "TT12345",
            "tt12345a",
            "nm0000001",
            " tt12345",
        ] {
            assert!(!is_titledb_id(id), "{id}");
        }
    }
}
