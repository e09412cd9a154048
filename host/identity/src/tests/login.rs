//! Tests of logins: results, failures, audit rows.

use data_encoding::BASE32_NOPAD;
use qm_kernel::{AddressBlock, Role, TokenVerifier as _};
use serde_json::json;

use super::*;
use crate::model::recovery;
use crate::model::totp::code_at;
use crate::repo;

const SEED: &[u8] = b"12345678901234567890";
/// The code of [`SEED`] at unix second 59 (RFC 6238).
const CODE_AT_59: &str = "287082";

qm_db::db_test! {
    async fn a_login_opens_a_session_and_is_audited(db: Db) {
        let house = House::seeded(db).await;
        let id = house.user("viewer", Role::ReadOnly).await;
        house.clock.advance(Duration::from_secs(5));
        let session = house.login("viewer", PASSWORD, None).await.expect("logged in");

        let principal = house.tokens.verify(&session.access_token).expect("verified");
        assert_eq!((&*principal.user_id, &*principal.username), (&*id, "viewer"));
        assert_eq!(principal.roles, [Role::ReadOnly]);
        assert_eq!(principal.permissions.iter().count(), 14);
        assert_eq!(session.account.id, id);

        let rows = house.token_rows(&id).await;
        let [token] = &rows[..] else { panic!("{} tokens", rows.len()) };
        let (family, secret) = session.refresh_token.expose().split_once('.').expect("two halves");
        assert_eq!(token.family, family);
        assert!(token.token_hash.len() == 64 && !token.token_hash.contains(secret));
        assert_eq!(token.user_agent.as_deref(), Some("a browser"));
        assert_eq!(token.ip_address.as_deref(), Some("203.0.113.9"));
        assert_eq!(token.expires_at, START_MS + 5_000 + REFRESH_TTL.as_millis() as i64);

        let mut tx = house.db.begin_read().await.expect("begun");
        assert_eq!(qm_db::value!(&mut tx, i64, LAST_LOGIN, &id).await.expect("read"), START_MS + 5_000);
        drop(tx);
        let audit = house.audit_rows().await;
        let [row] = &audit[..] else { panic!("{} audit rows", audit.len()) };
        assert_eq!((&*row.action, &*row.result), ("auth.login", "success"));
        assert_eq!(row.user_id.as_deref(), Some(&*id));
        assert_eq!(row.ip_address.as_deref(), Some("198.51.100.1, 203.0.113.9"));
        assert_eq!(row.user_agent.as_deref(), Some("a browser"));
    }

    async fn all_failures_read_alike_and_are_audited(db: Db) {
        let house = House::seeded(db).await;
        let gone = house.user("gone", Role::User).await;
        house.set_active(&gone, false).await;
        let attempts =
            [("admin", "wrong password"), ("nobody", PASSWORD), ("Admin", PASSWORD), ("gone", PASSWORD), ("a\0b", "x")];
        for (username, password) in attempts {
            assert_eq!(failure(house.login(username, password, None).await), "Invalid credentials", "{username:?}");
        }
        let audit = house.audit_rows().await;
        assert_eq!(audit.len(), attempts.len());
        let mut names: Vec<_> = audit.iter().map(|row| row.metadata()["username"].clone()).collect();
        names.sort_by_key(ToString::to_string);
        let mut expected: Vec<_> = attempts.iter().map(|(name, _)| json!(name)).collect();
        expected.sort_by_key(ToString::to_string);
        assert_eq!(names, expected);
        assert!(audit.iter().all(|row| row.action == "auth.login" && row.result == "failure" && row.user_id.is_none()));
        assert_eq!(house.attempts(&gone).await, 0, "only active accounts count failures");
        assert_eq!(house.live_tokens(&gone).await, 0);
    }

    async fn the_fifth_failure_in_a_row_is_told(db: Db) {
        let house = House::seeded(db).await;
        let id = house.user("owner", Role::User).await;
        for _ in 0..4 {
            failure(house.login("owner", "wrong", None).await);
        }
        house.login("owner", PASSWORD, None).await.expect("there is no lockout");
        assert_eq!(house.attempts(&id).await, 0, "a login ends the row");
        for _ in 0..4 {
            failure(house.login("owner", "wrong", None).await);
        }
        assert!(house.heard.take().is_empty());
        failure(house.login("owner", "wrong", None).await);
        let heard = house.heard.take();
        let [event] = &heard[..] else { panic!("{} events", heard.len()) };
        assert_eq!(event.event_key, "security.login_failed");
        assert_eq!(event.correlation_id.as_deref(), Some("0123456789abcdef"), "the request's id");
        assert_eq!(event.subject_user_id.as_deref(), Some(&*id));
        assert_eq!(event.payload, json!({ "username": "owner", "displayName": null, "attempts": 5 }));
        failure(house.login("owner", "wrong", None).await);
        assert!(house.heard.take().is_empty());
        for _ in 0..10 {
            failure(house.login("nobody", "wrong", None).await);
        }
        assert!(house.heard.take().is_empty(), "an account that does not exist has no owner to tell");
    }

    async fn strangers_who_guess_wait_and_the_owner_at_home_does_not(db: Db) {
        let house = House::paced(db, SLOW).await;
        let metrics = prometheus::Registry::new();
        house.identity.register_metrics(&metrics).expect("registered");
        house.user("owner", Role::User).await;
        house.login_from("2001:db8:0:7::1", "owner", PASSWORD).await.expect("at home");
        for name in ["owner", "nobody"] {
            for stranger in 0..=Pace::STANDARD.free {
                let ip = format!("198.51.100.{stranger}");
                assert_eq!(failure(house.login_from(&ip, name, "wrong").await), "Invalid credentials", "{name}");
            }
            let next = house.login_from("198.51.100.99", name, PASSWORD);
            tokio::select! {
                outcome = next => panic!("{name} was judged at once: {}", outcome.is_ok()),
                () = house.until_delayed(&metrics, 1) => {}
            }
            house.until_delayed(&metrics, 0).await;
        }
        assert_eq!(failure(house.login_from("2001:db8:0:7::2", "owner", "mistyped").await), "Invalid credentials");
        house.login_from("2001:db8:0:7:ffff::", "owner", PASSWORD).await.expect("the same network is known");
        house.login_from("198.51.100.99", "admin", PASSWORD).await.expect("other accounts are not concerned");
    }

    async fn a_delay_is_no_lock(db: Db) {
        let house = House::seeded(db).await;
        let id = house.user("owner", Role::User).await;
        for _ in 0..30 {
            failure(house.login_from("198.51.100.1", "owner", "wrong").await);
            house.clock.advance(Duration::from_secs(1));
        }
        house.login_from("198.51.100.2", "owner", PASSWORD).await.expect("judged in the end");
        assert_eq!(house.live_tokens(&id).await, 1);
    }

    async fn addresses_are_known_by_full_logins_and_forgotten_with_the_password(db: Db) {
        let house = House::seeded(db).await;
        let id = house.user("owner", Role::User).await;
        let known = async |ip: &str| {
            let block = AddressBlock::containing(ip.parse().expect("an address"));
            let mut tx = house.db.begin_read().await.expect("begun");
            repo::addresses::is_known(&mut tx, Some(&id), block).await.expect("read")
        };
        failure(house.login_from("198.51.100.1", "owner", "wrong").await);
        assert!(!known("198.51.100.1").await);
        for number in 0..60 {
            house.clock.advance(Duration::from_secs(1));
            house.login_from(&format!("198.51.100.{number}"), "owner", PASSWORD).await.expect("logged in");
        }
        assert!(known("198.51.100.59").await && known("198.51.100.10").await);
        assert!(!known("198.51.100.9").await, "fifty are kept");
        house.login("owner", PASSWORD, None).await.expect("logged in");
        let who = house.who(&id).await;
        let (old, new) = (Secret::new(PASSWORD), Secret::new("another good password"));
        house.identity.change_password(who.caller(), &old, &new, "account.password_changed").await.expect("changed");
        assert!(!known("198.51.100.59").await && known("203.0.113.9").await, "but where the new one was set");
    }

    async fn a_second_factor_is_asked_for_and_checked(db: Db) {
        let house = House::seeded(db).await;
        let id = with_totp(&house, &[]).await;
        house.clock.set(59_000);
        for absent in [None, Some(""), Some("  ")] {
            assert!(matches!(house.login("owner", PASSWORD, absent).await, Err(IdentityError::TwoFactorRequired)));
        }
        assert!(house.audit_rows().await.is_empty(), "a pending challenge is not a failure");
        assert_eq!(house.attempts(&id).await, 0);

        assert_eq!(failure(house.login("owner", "wrong", Some(CODE_AT_59)).await), "Invalid credentials");
        assert_eq!(failure(house.login("owner", PASSWORD, Some("000000")).await), "Invalid two-factor code");
        assert_eq!(house.attempts(&id).await, 2);
        assert_eq!(house.audit_rows().await.len(), 2);

        house.clock.advance(Duration::from_secs(30));
        house.login("owner", PASSWORD, Some(CODE_AT_59)).await.expect("one step late");
    }

    async fn a_code_is_good_once(db: Db) {
        let house = House::seeded(db).await;
        let id = with_totp(&house, &[]).await;
        house.clock.set(59_000);
        let attempts = futures(4, || house.login("owner", PASSWORD, Some(CODE_AT_59))).await;
        assert_eq!(attempts.iter().filter(|attempt| attempt.is_ok()).count(), 1);
        assert_eq!(house.live_tokens(&id).await, 1);
        let failures = house.audited("auth.login").await.into_iter().filter(|row| row.result == "failure").count();
        assert_eq!(failures, 3, "a code used before is a failed login like any other");
        house.clock.advance(Duration::from_secs(1));
        assert_eq!(failure(house.login("owner", PASSWORD, Some(CODE_AT_59)).await), "Invalid two-factor code");
        let next = code_at(&Secret::new(BASE32_NOPAD.encode(SEED)), house.ctx.now());
        house.login("owner", PASSWORD, Some(&next)).await.expect("the next code is fresh");
    }

    async fn recovery_codes_used_at_once_do_not_get_in_each_others_way(db: Db) {
        let house = House::seeded(db).await;
        let codes = ["aaaaa-bbbbb-ccccc-ddddd", "0123a-4567b-89abc-def01"];
        let id = with_totp(&house, &codes).await;
        let (one, two) = tokio::join!(
            house.login("owner", PASSWORD, Some(codes[0])),
            house.login("owner", PASSWORD, Some(codes[1])),
        );
        assert!(one.is_ok() && two.is_ok());
        assert_eq!(house.live_tokens(&id).await, 2);
        for code in codes {
            assert_eq!(failure(house.login("owner", PASSWORD, Some(code)).await), "Invalid two-factor code");
        }
    }

    async fn a_recovery_code_works_once(db: Db) {
        let house = House::seeded(db).await;
        with_totp(&house, &["aaaaa-bbbbb-ccccc-ddddd", "0123a-4567b-89abc-def01"]).await;
        house.login("owner", PASSWORD, Some("0123A 4567B 89ABC DEF01")).await.expect("logged in");
        assert_eq!(failure(house.login("owner", PASSWORD, Some("0123a-4567b-89abc-def01")).await), "Invalid two-factor code");
        house.login("owner", PASSWORD, Some("aaaaa-bbbbb-ccccc-ddddd")).await.expect("the other one is left");
        let audit = house.audit_rows().await;
        assert_eq!(audit.iter().filter(|row| row.metadata()["recoveryCode"] == json!(true)).count(), 2);
    }

    async fn of_two_logins_with_one_recovery_code_one_succeeds(db: Db) {
        let house = House::seeded(db).await;
        let id = with_totp(&house, &["aaaaa-bbbbb-ccccc-ddddd"]).await;
        let attempts = futures(4, || house.login("owner", PASSWORD, Some("aaaaa-bbbbb-ccccc-ddddd"))).await;
        assert_eq!(attempts.iter().filter(|attempt| attempt.is_ok()).count(), 1);
        assert_eq!(house.live_tokens(&id).await, 1);
    }

    async fn an_unreadable_seed_refuses_codes_but_not_recovery(db: Db) {
        let house = House::seeded(db).await;
        let id = with_totp(&house, &["aaaaa-bbbbb-ccccc-ddddd"]).await;
        let mut tx = house.db.begin_write().await.expect("begun");
        let codes = json!([recovery::hash("aaaaa-bbbbb-ccccc-ddddd")]).to_string();
        let done = qm_db::exec!(&mut tx, ENABLE_TOTP, &id, true, "not a cipher text", codes).await;
        done.expect("updated").exactly(1).expect("one row");
        tx.commit().await.expect("committed");
        house.clock.set(59_000);
        assert_eq!(
            failure(house.login("owner", PASSWORD, None).await),
            "Two-factor authentication code required",
            "the password alone"
        );
        assert_eq!(failure(house.login("owner", PASSWORD, Some(CODE_AT_59)).await), "Invalid two-factor code");
        house.login("owner", PASSWORD, Some("aaaaa-bbbbb-ccccc-ddddd")).await.expect("logged in");
    }

    async fn what_changed_since_the_check_stops_the_login(db: Db) {
        let house = House::seeded(db).await;
        let id = house.user("owner", Role::User).await;
        let now = house.ctx.now();
        let mut tx = house.db.begin_write().await.expect("begun");
        let mut user = repo::users::find(&mut tx, &id).await.expect("read").expect("there");
        assert!(repo::users::mark_login(&mut tx, &user, now).await.expect("updated"));
        user.totp_enabled = true;
        assert!(!repo::users::mark_login(&mut tx, &user, now).await.expect("updated"), "the second factor was switched");
        user.totp_enabled = false;
        user.password_hash.push('x');
        assert!(!repo::users::mark_login(&mut tx, &user, now).await.expect("updated"), "the password was changed");
        tx.commit().await.expect("committed");
        house.set_active(&id, false).await;
        let mut tx = house.db.begin_write().await.expect("begun");
        let user = repo::users::find(&mut tx, &id).await.expect("read").expect("there");
        assert!(!repo::users::mark_login(&mut tx, &user, now).await.expect("updated"), "the account was deactivated");
    }
}

/// A user `owner` whose second factor is [`SEED`].
async fn with_totp(house: &House, recovery_codes: &[&str]) -> String {
    let id = house.user("owner", Role::User).await;
    let seed = house.cipher.encrypt(&BASE32_NOPAD.encode(SEED));
    let hashes: Vec<String> = recovery_codes.iter().map(|code| recovery::hash(code)).collect();
    let mut tx = house.db.begin_write().await.expect("begun");
    let done = qm_db::exec!(&mut tx, ENABLE_TOTP, &id, true, seed, json!(hashes).to_string()).await;
    done.expect("updated").exactly(1).expect("one row");
    tx.commit().await.expect("committed");
    id
}

/// Runs `count` of them at the same time.
pub(super) async fn futures<F: Future>(count: usize, make: impl Fn() -> F) -> Vec<F::Output> {
    futures_util::future::join_all((0..count).map(|_| make())).await
}
