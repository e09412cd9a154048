//! Ended sessions: users who were deactivated or deleted, or changed their password. Their open sockets are
//! closed, and an earlier token opens no new one, although it stays valid elsewhere until it expires.
//!
//! Bounds: [`MAX_ENDED`] users, the earliest ends forgotten first.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use qm_kernel::{Principal, Timestamp};
use qm_lanes::IgnorePoison;

/// Largest number of remembered users, far more than are deactivated in the lifetime of an access token.
const MAX_ENDED: usize = 10_000;

/// End of a user's sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionsEnded {
    /// Sockets opened and tokens issued before this time are invalid.
    pub at: Timestamp,
    /// True for a deleted or deactivated user: no token is valid.
    pub for_good: bool,
}

#[derive(Default)]
pub(super) struct EndedUsers(Mutex<HashMap<String, SessionsEnded>>);

impl EndedUsers {
    /// Records the end of a user's sessions. A later recorded end stays.
    pub(super) fn note(&self, user_id: &str, mut ended: SessionsEnded) {
        let mut users = self.users();
        if let Some(before) = users.get(user_id) {
            ended.at = ended.at.max(before.at);
        } else if users.len() >= MAX_ENDED {
            let oldest = users.iter().min_by_key(|(_, ended)| ended.at);
            if let Some(oldest) = oldest.map(|(user_id, _)| user_id.clone()) {
                users.remove(&oldest);
            }
        }
        users.insert(user_id.to_owned(), ended);
    }

    /// True when the principal's token was issued before the end. Tokens know only the second of their issue:
    /// one from the same second counts as later, because a user must be able to continue at once with a new
    /// password.
    pub(super) fn covers(&self, principal: &Principal, token_ttl: Duration) -> bool {
        let users = self.users();
        users.get(&*principal.user_id).is_some_and(|ended| {
            let issued_secs = principal.expires_at.secs() - token_ttl.as_secs() as i64;
            ended.for_good || issued_secs < ended.at.secs()
        })
    }

    fn users(&self) -> MutexGuard<'_, HashMap<String, SessionsEnded>> {
        self.0.lock().ignore_poison()
    }
}

#[cfg(test)]
mod tests {
    use qm_kernel::PermissionSet;

    use super::*;

    const TTL: Duration = Duration::from_mins(15);

    fn issued_at(secs: i64) -> Principal {
        Principal {
            user_id: "u".into(),
            username: "u".into(),
            roles: Vec::new(),
            permissions: PermissionSet::empty(),
            expires_at: Timestamp::from_secs(secs).plus(TTL),
        }
    }

    #[test]
    fn tokens_of_before_are_covered_and_later_ones_are_not() {
        let users = EndedUsers::default();
        assert!(!users.covers(&issued_at(99), TTL));
        let at = Timestamp::from_ms(100_400);
        users.note("u", SessionsEnded { at, for_good: false });
        for (secs, covered) in [(99, true), (100, false), (101, false)] {
            assert_eq!(users.covers(&issued_at(secs), TTL), covered, "issued at {secs}");
        }
        users.note("u", SessionsEnded { at, for_good: true });
        assert!(users.covers(&issued_at(101), TTL), "gone for good");
        let earlier = Timestamp::from_secs(50);
        users.note(
            "u",
            SessionsEnded {
                at: earlier,
                for_good: false,
            },
        );
        assert!(
            users.covers(&issued_at(99), TTL) && !users.covers(&issued_at(101), TTL),
            "and back"
        );
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let users = EndedUsers::default();
        for secs in 0..=MAX_ENDED as i64 {
            let at = Timestamp::from_secs(secs);
            users.note(&format!("u{secs}"), SessionsEnded { at, for_good: true });
        }
        let kept = users.users();
        assert_eq!(kept.len(), MAX_ENDED);
        assert!(!kept.contains_key("u0") && kept.contains_key("u1"));
    }
}
