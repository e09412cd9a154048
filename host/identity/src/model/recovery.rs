//! Recovery codes: 80 random bits as `xxxxx-xxxxx-xxxxx-xxxxx`, kept as hashes, each good for one login.

use qm_kernel::{Ctx, Secret};
use sha2::{Digest, Sha256};

/// Number of recovery codes that a user gets at a time.
const CODES: usize = 10;
const CODE_BYTES: usize = 10;
const GROUP: usize = 5;

/// New codes for the user, and their hashes to store.
pub struct Issued {
    pub codes: Vec<Secret>,
    pub hashes: Vec<String>,
}

/// Ten new codes.
pub fn issue(ctx: &Ctx) -> Issued {
    let codes: Vec<String> = (0..CODES)
        .map(|_| grouped(&hex::encode(ctx.bytes::<CODE_BYTES>())))
        .collect();
    Issued {
        hashes: codes.iter().map(|code| hash(code)).collect(),
        codes: codes.into_iter().map(Secret::new).collect(),
    }
}

/// `xxxxx-xxxxx-xxxxx-xxxxx` of twenty digits.
fn grouped(digits: &str) -> String {
    let mut code = String::with_capacity(digits.len() + digits.len() / GROUP);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && index % GROUP == 0 {
            code.push('-');
        }
        code.push(digit);
    }
    code
}

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

/// The stored hashes without that of `code`; `None` when it is not among them.
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
    fn ten_codes_are_made_and_each_is_found_by_its_hash() {
        let issued = issue(&Ctx::system());
        assert_eq!((issued.codes.len(), issued.hashes.len()), (10, 10));
        for code in &issued.codes {
            let groups: Vec<&str> = code.expose().split('-').collect();
            assert_eq!(groups.len(), 4, "{}", code.expose());
            for group in groups {
                assert!(group.len() == 5 && group.bytes().all(|b| b.is_ascii_hexdigit()));
            }
            assert_eq!(
                consume(&issued.hashes, code.expose()).map(|left| left.len()),
                Some(9)
            );
        }
    }

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
