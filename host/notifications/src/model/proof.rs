//! Confirmation codes: a user proves access to a mailbox by entering a code that was sent there.
//!
//! Nothing else is sent to the address before, because it may be a stranger's. A code is valid once, for half
//! an hour, for the connection as it was when the letter was sent; five wrong guesses end it, and so does the
//! next code. Kept in memory only: a restart forgets codes and counts. Bounds: [`OF_PERSON`] codes per user
//! within [`HOUR`]; [`OF_ADDRESS`] per address within [`DAY`], over all users. Older entries are dropped when
//! any user requests a code.

use std::collections::HashMap;
use std::time::Duration;

use qm_kernel::{Secret, Timestamp};

/// Validity of a code.
pub const LIFE: Duration = Duration::from_mins(30);
/// Largest number of codes of one user within [`HOUR`].
pub const OF_PERSON: usize = 3;
pub const HOUR: Duration = Duration::from_hours(1);
/// Largest number of codes sent to one address within [`DAY`].
pub const OF_ADDRESS: usize = 10;
pub const DAY: Duration = Duration::from_hours(24);
/// Number of wrong guesses that end a code.
const GUESSES: u32 = 5;
const LEAST: u32 = 100_000;
const RANGE: u32 = 900_000;

/// Limit that refuses another code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    Person,
    Address,
}

struct Issued {
    code: Secret,
    /// Version of the connection the code is for; `None` until that is stored.
    version: Option<i64>,
    at: Timestamp,
    guesses: u32,
}

/// Valid codes by user and channel, and the counts of the limits.
#[derive(Default)]
pub struct Proofs {
    good: HashMap<(String, String), Issued>,
    persons: HashMap<String, Vec<Timestamp>>,
    addresses: HashMap<String, Vec<Timestamp>>,
}

fn count(of: &mut HashMap<String, Vec<Timestamp>>, key: &str, since: Timestamp) -> usize {
    of.retain(|_, at| {
        at.retain(|at| *at > since);
        !at.is_empty()
    });
    of.get(key).map_or(0, Vec::len)
}

impl Proofs {
    /// Issues a code of six digits from random bytes, for a connection that is about to be stored.
    pub fn issue(
        &mut self,
        (user, channel): (&str, &str),
        address: &str,
        random: [u8; 8],
        now: Timestamp,
    ) -> Result<Secret, Refused> {
        self.good.retain(|_, issued| now.since(issued.at) < LIFE);
        // Different spellings of one address count together.
        let address = address.trim().to_lowercase();
        if count(&mut self.persons, user, now.minus(HOUR)) >= OF_PERSON {
            return Err(Refused::Person);
        }
        if count(&mut self.addresses, &address, now.minus(DAY)) >= OF_ADDRESS {
            return Err(Refused::Address);
        }
        self.persons.entry(user.to_owned()).or_default().push(now);
        self.addresses.entry(address).or_default().push(now);
        let number = (u64::from_le_bytes(random) % u64::from(RANGE)) as u32 + LEAST;
        let code = Secret::new(number.to_string());
        let issued = Issued {
            code: code.clone(),
            version: None,
            at: now,
            guesses: 0,
        };
        self.good.insert((user.to_owned(), channel.to_owned()), issued);
        Ok(code)
    }

    /// Binds a code to the stored version of its connection.
    pub fn bind(&mut self, (user, channel): (&str, &str), code: &Secret, version: i64) {
        if let Some(issued) = self.good.get_mut(&(user.to_owned(), channel.to_owned()))
            && issued.code.expose() == code.expose()
        {
            issued.version = Some(version);
        }
    }

    /// Spends the code; true if it was right and valid.
    pub fn redeem(
        &mut self,
        (user, channel): (&str, &str),
        version: i64,
        code: &str,
        now: Timestamp,
    ) -> bool {
        let key = (user.to_owned(), channel.to_owned());
        let Some(issued) = self.good.get_mut(&key) else {
            return false;
        };
        let is_good = now.since(issued.at) < LIFE && issued.version == Some(version);
        if is_good && issued.code.expose() == code.trim() {
            self.good.remove(&key);
            return true;
        }
        issued.guesses += 1;
        if issued.guesses >= GUESSES {
            self.good.remove(&key);
        }
        false
    }

    /// Invalidates the code. The counts stay.
    pub fn cancel(&mut self, user: &str, channel: &str) {
        self.good.remove(&(user.to_owned(), channel.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: (&str, &str) = ("u", "email");

    fn after_secs(seconds: i64) -> Timestamp {
        Timestamp::from_secs(10_000_000 + seconds)
    }

    fn issued(proofs: &mut Proofs, user: &str, address: &str, seconds: i64) -> Result<Secret, Refused> {
        proofs.issue((user, "email"), address, [seconds as u8; 8], after_secs(seconds))
    }

    #[test]
    fn a_code_is_good_once_for_the_connection_it_was_sent_for() {
        let mut proofs = Proofs::default();
        let code = issued(&mut proofs, "u", "u@example.org", 0).unwrap();
        assert!(
            !proofs.redeem(ME, 1, code.expose(), after_secs(1)),
            "nothing is stored yet"
        );
        proofs.bind(ME, &code, 1);
        assert!(
            !proofs.redeem(ME, 2, code.expose(), after_secs(1)),
            "another address by now"
        );
        assert!(!proofs.redeem(("other", "email"), 1, code.expose(), after_secs(1)));
        assert!(proofs.redeem(ME, 1, &format!(" {} ", code.expose()), after_secs(1799)));
        assert!(!proofs.redeem(ME, 1, code.expose(), after_secs(1799)));
        let second = issued(&mut proofs, "u", "u@example.org", 10).unwrap();
        proofs.bind(ME, &code, 2);
        assert!(
            !proofs.redeem(ME, 2, second.expose(), after_secs(11)),
            "the older one was bound"
        );
        proofs.bind(ME, &second, 2);
        assert!(
            !proofs.redeem(ME, 2, second.expose(), after_secs(1810)),
            "half an hour is over"
        );
    }

    #[test]
    fn guessing_ends_it() {
        let mut proofs = Proofs::default();
        let code = issued(&mut proofs, "u", "u@example.org", 0).unwrap();
        proofs.bind(ME, &code, 1);
        for _ in 0..5 {
            assert!(!proofs.redeem(ME, 1, "000000", after_secs(1)));
        }
        assert!(!proofs.redeem(ME, 1, code.expose(), after_secs(1)));
    }

    #[test]
    fn few_are_sent_for_a_person_and_to_an_address() {
        let mut proofs = Proofs::default();
        for second in 0..3 {
            issued(&mut proofs, "u", &format!("{second}@example.org"), second).unwrap();
        }
        proofs.cancel("u", "email");
        let refused = issued(&mut proofs, "u", "x@example.org", 3599);
        assert_eq!(refused.err(), Some(Refused::Person));
        assert!(issued(&mut proofs, "u", "x@example.org", 3600).is_ok());
        for n in 0..10 {
            let spelling = if n % 2 == 0 {
                "You@example.org"
            } else {
                " you@EXAMPLE.org "
            };
            issued(&mut proofs, &format!("u{n}"), spelling, 4000).unwrap();
        }
        let refused = issued(&mut proofs, "another", "you@example.org", 90_399);
        assert_eq!(refused.err(), Some(Refused::Address));
        assert!(issued(&mut proofs, "another", "you@example.org", 90_400).is_ok());
        assert_eq!(
            (proofs.persons.len(), proofs.addresses.len()),
            (1, 1),
            "what is over is forgotten"
        );
    }
}
