//! Recovery codes: 80 random bits as `xxxxx-xxxxx-xxxxx-xxxxx`, kept as hashes, each good for one login.

use sha2::{Digest, Sha256};

/// SHA-256 hex of the code in lower case with everything outside `a-z0-9` removed,
/// so that a code typed with spaces or capitals is the same code.
pub fn hash(code: &str) -> String {
    let plain: String = code
        .chars()
        .map(|c| c.to_ascii_lowercase())
        .filter(char::is_ascii_alphanumeric)
        .collect();
    hex::encode(Sha256::digest(plain.as_bytes()))
}

/// The stored hashes without the one of `code`; `None` when it is not among them.
pub fn consume(stored: &[String], code: &str) -> Option<Vec<String>> {
    let wanted = hash(code);
    let found = stored.iter().position(|hash| *hash == wanted)?;
    let mut left = stored.to_vec();
    left.remove(found);
    Some(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling_does_not_matter_and_a_code_works_once() {
        let stored = vec![hash("aaaaa-bbbbb-ccccc-ddddd"), hash("0123a-4567b-89abc-def01")];
        let left = consume(&stored, " 0123A 4567B-89abc def01 ");
        assert_eq!(left.as_deref(), Some(&stored[..1]));
        assert_eq!(consume(&stored[..1], "0123a-4567b-89abc-def01"), None);
    }

    #[test]
    fn an_empty_code_matches_nothing_that_was_issued() {
        assert_eq!(consume(&[hash("aaaaa-bbbbb-ccccc-ddddd")], "---"), None);
    }
}
