//! Link codes: a user proves that a chat is theirs by sending the code to their bot, which reports it.
//!
//! Kept in memory only: after a restart the user requests another code. A code is valid once, for ten
//! minutes, and ends with the next one. Bounds: [`MOST`] codes per user within [`LIFE`]; expired entries are
//! dropped when any user requests a code.

use std::collections::HashMap;
use std::time::Duration;

use qm_kernel::{Secret, Timestamp};

/// Validity of a code.
pub const LIFE: Duration = Duration::from_mins(10);
/// Largest number of codes of one user within that time.
pub const MOST: usize = 5;
const LEAST: u32 = 100_000;
const RANGE: u32 = 900_000;

/// Issued codes by user and channel.
#[derive(Default)]
pub struct Codes(HashMap<(String, String), Issued>);

struct Issued {
    code: Option<Secret>,
    /// Time of each request, the newest last.
    at: Vec<Timestamp>,
}

/// Too many codes were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany;

impl Codes {
    /// Issues a code of six digits from random bytes; the previous code becomes invalid.
    pub fn issue(
        &mut self,
        (user, channel): (&str, &str),
        random: [u8; 8],
        now: Timestamp,
    ) -> Result<Secret, TooMany> {
        let since = now.minus(LIFE);
        self.0.retain(|_, issued| {
            issued.at.retain(|at| *at > since);
            !issued.at.is_empty()
        });
        let issued = self
            .0
            .entry((user.to_owned(), channel.to_owned()))
            .or_insert_with(|| Issued {
                code: None,
                at: Vec::new(),
            });
        if issued.at.len() >= MOST {
            return Err(TooMany);
        }
        // Modulo of a 64-bit value: the bias between codes is below 1 in 10^13.
        let number = (u64::from_le_bytes(random) % u64::from(RANGE)) as u32 + LEAST;
        let code = Secret::new(number.to_string());
        issued.code = Some(code.clone());
        issued.at.push(now);
        Ok(code)
    }

    /// The valid code, if any.
    pub fn live(&self, user: &str, channel: &str, now: Timestamp) -> Option<Secret> {
        let issued = self.0.get(&(user.to_owned(), channel.to_owned()))?;
        let newest = issued.at.last()?;
        (now.since(*newest) < LIFE).then(|| issued.code.clone())?
    }

    /// Invalidates the code if it is still the valid one. Of two callers only one gets true.
    pub fn spend(&mut self, (user, channel): (&str, &str), code: &Secret) -> bool {
        let issued = self.0.get_mut(&(user.to_owned(), channel.to_owned()));
        issued.is_some_and(|issued| {
            let same = issued
                .code
                .as_ref()
                .is_some_and(|live| live.expose() == code.expose());
            if same {
                issued.code = None;
            }
            same
        })
    }

    /// Invalidates the code. The count of requests stays.
    pub fn cancel(&mut self, user: &str, channel: &str) {
        if let Some(issued) = self.0.get_mut(&(user.to_owned(), channel.to_owned())) {
            issued.code = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: (&str, &str) = ("u", "chat_app_a");

    fn after(seconds: i64) -> Timestamp {
        Timestamp::from_secs(1_000_000 + seconds)
    }

    fn live(codes: &Codes, seconds: i64) -> Option<String> {
        let code = codes.live(ME.0, ME.1, after(seconds))?;
        Some(code.expose().to_owned())
    }

    #[test]
    fn codes_have_six_digits() {
        let mut codes = Codes::default();
        for (user, random, code) in [
            ("a", [0; 8], "100000"),
            ("b", 899_999_u64.to_le_bytes(), "999999"),
            ("c", 900_000_u64.to_le_bytes(), "100000"),
        ] {
            assert_eq!(codes.issue((user, "x"), random, after(0)).unwrap().expose(), code);
        }
    }

    #[test]
    fn a_code_lives_ten_minutes_and_is_good_once() {
        let mut codes = Codes::default();
        let first = codes.issue(ME, [1; 8], after(0)).unwrap();
        assert_eq!(live(&codes, 599).as_deref(), Some(first.expose()));
        assert_eq!(live(&codes, 600), None);
        assert_eq!(codes.live("u", "other", after(0)).map(|_| ()), None);
        let second = codes.issue(ME, [2; 8], after(10)).unwrap();
        assert_eq!(live(&codes, 11).as_deref(), Some(second.expose()));
        assert!(!codes.spend(ME, &first), "the next one ended it");
        assert!(codes.spend(ME, &second));
        assert!(!codes.spend(ME, &second));
        assert_eq!(live(&codes, 11), None);
        codes.issue(ME, [3; 8], after(12)).unwrap();
        codes.cancel(ME.0, ME.1);
        assert_eq!(live(&codes, 12), None);
    }

    #[test]
    fn five_are_given_in_ten_minutes() {
        let mut codes = Codes::default();
        for second in 0..5 {
            codes.issue(ME, [second as u8; 8], after(second)).unwrap();
        }
        codes.cancel(ME.0, ME.1);
        assert_eq!(codes.issue(ME, [9; 8], after(599)).err(), Some(TooMany));
        assert!(codes.issue(("other", "chat_app_a"), [9; 8], after(599)).is_ok());
        assert!(
            codes.issue(ME, [9; 8], after(600)).is_ok(),
            "the first is ten minutes old"
        );
        assert!(codes.issue(ME, [9; 8], after(2000)).is_ok());
        assert_eq!(codes.0.len(), 1, "what is over is forgotten");
    }
}
