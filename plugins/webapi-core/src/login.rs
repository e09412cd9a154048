//! The session cookie, and when a login may be tried.
//!
//! A client counts failed logins for ever and bans the address after a few (five, as it ships), for the user's own browser
//! too. So refused credentials are tried again after 30 s, then 4 min, 32 min, and hourly: the operator who corrects the
//! engine opens a new session anyway. A ban is only asked about (that does not prolong it): after 30 s, growing to 5 min.

use crate::error::Error;
use crate::http::Answer;

const FIRST_WAIT_MS: u64 = 30_000;

/// Reason why a login, or the session it gave, was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Credentials,
    Banned,
    /// The answer gave no session, or the client forgot the session at once.
    NoSession,
}

impl Refusal {
    fn text(self) -> &'static str {
        match self {
            Refusal::Credentials => "the client refuses the user name or the password",
            Refusal::Banned => "the client bans this address, or its host check refuses us (403)",
            Refusal::NoSession => {
                "the client gives no session that lasts: is something between us dropping its cookie?"
            }
        }
    }

    /// Pause before the next login after the `n`th refusal in a row, from 1; in milliseconds.
    fn wait_ms(self, n: u32) -> u64 {
        let (factor, most): (u64, u64) = match self {
            Refusal::Credentials => (8, 3_600_000),
            Refusal::Banned | Refusal::NoSession => (2, 300_000),
        };
        FIRST_WAIT_MS
            .saturating_mul(factor.saturating_pow(n.saturating_sub(1)))
            .min(most)
    }
}

#[derive(Default)]
pub(crate) struct Login {
    cookie: Option<String>,
    refused: Option<Waiting>,
}

#[derive(Clone, Copy)]
struct Waiting {
    refusal: Refusal,
    until_ms: u64,
    in_a_row: u32,
}

impl Login {
    /// `name=value`, once logged in.
    pub(crate) fn cookie(&self) -> Option<&str> {
        self.cookie.as_deref()
    }

    pub(crate) fn forget(&mut self) {
        self.cookie = None;
    }

    /// Fails with `Auth` while the pause after a refused login lasts.
    pub(crate) fn may_try(&self, now_ms: u64) -> Result<(), Error> {
        match self.refused {
            Some(waiting) if now_ms < waiting.until_ms => {
                let seconds = (waiting.until_ms - now_ms).div_ceil(1000);
                Err(Error::Auth(format!(
                    "{}; next try in {seconds} s",
                    waiting.refusal.text()
                )))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn accepted(&mut self, cookie: String) {
        self.cookie = Some(cookie);
    }

    /// A call went through with the cookie: only that ends a row of refusals.
    pub(crate) fn proven(&mut self) {
        self.refused = None;
    }

    pub(crate) fn refused(&mut self, refusal: Refusal, now_ms: u64) -> Error {
        let in_a_row = self.refused.map_or(1, |before| before.in_a_row.saturating_add(1));
        let until_ms = now_ms.saturating_add(refusal.wait_ms(in_a_row));
        self.cookie = None;
        self.refused = Some(Waiting {
            refusal,
            until_ms,
            in_a_row,
        });
        Error::Auth(refusal.text().into())
    }
}

/// The session cookie of a login's answer: `SID` up to 5.1, `QBT_SID_<port>` since 5.2.
pub(crate) fn session_cookie<A: Answer>(answer: &A) -> Option<String> {
    answer.header_values("set-cookie").iter().find_map(|line| {
        let pair = line.split(';').next()?.trim();
        let (name, value) = pair.split_once('=')?;
        let ours = name == "SID" || name == "QBT_SID" || name.starts_with("QBT_SID_");
        let plain = pair.len() <= 4096 && pair.bytes().all(|b| b.is_ascii_graphic());
        (ours && plain && !value.is_empty()).then(|| pair.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::canned::Canned;

    #[test]
    fn cookies_of_all_versions_are_found() {
        let of = |lines: &[&str]| {
            let answer = lines
                .iter()
                .fold(Canned::new(200, ""), |a, line| a.with_header("Set-Cookie", line));
            session_cookie(&answer)
        };
        assert_eq!(of(&["SID=a/b+c; HttpOnly; path=/"]).as_deref(), Some("SID=a/b+c"));
        assert_eq!(of(&["QBT_SID=x"]).as_deref(), Some("QBT_SID=x"));
        assert_eq!(
            of(&["theme=dark", "QBT_SID_8080=x; Path=/"]).as_deref(),
            Some("QBT_SID_8080=x")
        );
        for lines in [
            &[][..],
            &["SID="],
            &["SIDE=x"],
            &["SID"],
            &["SID=a b"],
            &["SID=a\u{1}b"],
        ] {
            assert_eq!(of(lines), None, "{lines:?}");
        }
    }

    #[test]
    fn the_back_off_grows_and_only_a_working_call_ends_it() {
        let mut login = Login::default();
        let mut now = 1_000;
        for wait in [30_000, 240_000, 1_920_000, 3_600_000, 3_600_000] {
            assert!(login.may_try(now).is_ok());
            assert!(matches!(login.refused(Refusal::Credentials, now), Error::Auth(_)));
            assert!(login.may_try(now + wait - 1).is_err());
            now += wait;
        }
        login.accepted("SID=x".into());
        login.refused(Refusal::NoSession, now);
        assert!(
            login.may_try(now + 299_999).is_err(),
            "a login alone proves nothing"
        );
        login.proven();
        assert!(login.may_try(now).is_ok());
    }

    #[test]
    fn a_ban_is_asked_about_every_five_minutes_at_most() {
        let waits: Vec<u64> = (1..=6).map(|n| Refusal::Banned.wait_ms(n)).collect();
        assert_eq!(waits, [30_000, 60_000, 120_000, 240_000, 300_000, 300_000]);
    }
}
