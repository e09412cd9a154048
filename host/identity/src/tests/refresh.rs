//! Tests of refresh tokens: rotation, reuse, revocation, and races.

use qm_kernel::{Permission, Role, TokenVerifier as _};

use super::login::futures;
use super::*;

qm_db::db_test! {
    async fn a_token_is_good_once_and_its_reuse_ends_the_family(db: Db) {
        let house = House::seeded(db).await;
        let id = house.user("owner", Role::User).await;
        let other_device = house.login("owner", PASSWORD, None).await.expect("logged in");
        let first = house.login("owner", PASSWORD, None).await.expect("logged in");
        let second = house.refresh(&first.refresh_token).await.expect("refreshed");
        let family = |session: &Session| session.refresh_token.expose().split_once('.').map(|(family, _)| family.to_owned());
        assert_eq!(family(&first), family(&second));
        assert_ne!(first.refresh_token, second.refresh_token);
        let third = house.refresh(&second.refresh_token).await.expect("refreshed");

        assert_eq!(failure(house.refresh(&first.refresh_token).await), "Refresh token reuse detected");
        assert_eq!(failure(house.refresh(&third.refresh_token).await), "Refresh token has been revoked", "with its family");
        assert_eq!(house.live_tokens(&id).await, 1, "other logins go on");
        let audit = house.audited("auth.refresh_reuse").await;
        let revoked: Vec<_> = audit.iter().map(|row| row.metadata()["revoked"].as_u64()).collect();
        assert_eq!(revoked, [Some(1)]);
        for row in audit {
            assert_eq!((&*row.result, row.user_id, row.object_id.as_deref()), ("failure", None, Some(&*id)));
        }
        house.refresh(&other_device.refresh_token).await.expect("refreshed");
    }

    async fn failures_come_in_the_order_of_the_contract(db: Db) {
        let house = House::seeded(db).await;
        let id = house.user("owner", Role::User).await;
        for malformed in ["", "family", ".", "family.", ".secret"] {
            assert_eq!(failure(house.refresh(&Secret::new(malformed)).await), "Malformed refresh token", "{malformed:?}");
        }
        let session = house.login("owner", PASSWORD, None).await.expect("logged in");
        let (family, secret) = session.refresh_token.expose().split_once('.').expect("two halves");
        for unknown in [format!("{family}.x{secret}"), format!("other.{secret}"), format!("{family}.{secret}.x")] {
            assert_eq!(failure(house.refresh(&Secret::new(unknown)).await), "Invalid refresh token");
        }
        assert_eq!(house.live_tokens(&id).await, 1, "guessing revokes nothing");

        let spent = house.login("owner", PASSWORD, None).await.expect("logged in");
        house.refresh(&spent.refresh_token).await.expect("refreshed");
        house.clock.advance(REFRESH_TTL);
        assert_eq!(failure(house.refresh(&spent.refresh_token).await), "Refresh token reuse detected", "before its expiry");
        house.set_active(&id, false).await;
        assert_eq!(failure(house.refresh(&session.refresh_token).await), "Refresh token expired", "before the account");
    }

    async fn a_token_lives_for_the_configured_time(db: Db) {
        let house = House::seeded(db).await;
        let session = house.login("admin", PASSWORD, None).await.expect("logged in");
        let (most, rest) = (Duration::from_hours(30 * 24 - 1), Duration::from_hours(1));
        house.clock.advance(most);
        let session = house.refresh(&session.refresh_token).await.expect("refreshed");
        house.clock.advance(most);
        house.clock.advance(rest);
        assert_eq!(failure(house.refresh(&session.refresh_token).await), "Refresh token expired");
    }

    async fn a_deactivated_account_loses_every_token(db: Db) {
        let house = House::seeded(db).await;
        let id = house.user("owner", Role::User).await;
        let one = house.login("owner", PASSWORD, None).await.expect("logged in");
        let two = house.login("owner", PASSWORD, None).await.expect("logged in");
        house.set_active(&id, false).await;
        assert_eq!(failure(house.refresh(&one.refresh_token).await), "Account is disabled");
        assert_eq!(house.live_tokens(&id).await, 0);
        house.set_active(&id, true).await;
        assert_eq!(failure(house.refresh(&two.refresh_token).await), "Refresh token has been revoked");
        assert!(house.audited("auth.refresh_reuse").await.is_empty(), "nobody stole anything");
    }

    async fn what_a_new_password_or_a_logout_revokes_is_no_theft(db: Db) {
        let house = House::seeded(db).await;
        let id = house.user("owner", Role::User).await;
        let (phone, tab) = (house.login("owner", PASSWORD, None).await, house.login("owner", PASSWORD, None).await);
        let (phone, tab) = (phone.expect("logged in"), tab.expect("logged in"));
        let rotated = house.refresh(&tab.refresh_token).await.expect("refreshed");
        let who = house.who(&id).await;
        let (old, new) = (Secret::new(PASSWORD), Secret::new("another good password"));
        house.identity.change_password(who.caller(), &old, &new, "account.password_changed").await.expect("changed");
        for session in [&phone, &rotated] {
            assert_eq!(failure(house.refresh(&session.refresh_token).await), "Refresh token has been revoked");
        }
        assert!(house.audited("auth.refresh_reuse").await.is_empty());
        assert_eq!(failure(house.refresh(&tab.refresh_token).await), "Refresh token reuse detected", "this one was spent");
        assert_eq!(house.audited("auth.refresh_reuse").await.len(), 1);

        let session = house.login("owner", "another good password", None).await.expect("logged in");
        house.identity.logout(who.caller()).await.expect("logged out");
        assert_eq!(failure(house.refresh(&session.refresh_token).await), "Refresh token has been revoked");
        assert_eq!(house.audited("auth.refresh_reuse").await.len(), 1);
    }

    async fn roles_are_read_afresh(db: Db) {
        let house = House::seeded(db).await;
        let id = house.user("owner", Role::ReadOnly).await;
        let session = house.login("owner", PASSWORD, None).await.expect("logged in");
        let mut tx = house.db.begin_write().await.expect("begun");
        assert!(crate::repo::roles::grant(&mut tx, &id, Role::PowerUser).await.expect("granted"));
        tx.commit().await.expect("committed");
        let session = house.refresh(&session.refresh_token).await.expect("refreshed");
        let principal = house.tokens.verify(&session.access_token).expect("verified");
        assert_eq!(principal.roles, [Role::PowerUser, Role::ReadOnly]);
        assert!(principal.has_permission(Permission::TorrentsDelete) && !principal.has_permission(Permission::TorrentsDeleteData));
    }

    async fn of_concurrent_refreshes_exactly_one_wins(db: Db) {
        let house = House::seeded(db).await;
        let id = house.user("owner", Role::User).await;
        for together in [2, 8] {
            let session = house.login("owner", PASSWORD, None).await.expect("logged in");
            let outcomes = futures(together, || house.refresh(&session.refresh_token)).await;
            assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
            for outcome in outcomes.into_iter().filter(Result::is_err) {
                assert_eq!(failure(outcome), "Refresh token reuse detected");
            }
            assert_eq!(house.live_tokens(&id).await, 0, "a token two parties hold ends the family");
        }
    }

    async fn logout_revokes_everything_even_a_token_being_issued(db: Db) {
        let house = House::seeded(db).await;
        let id = house.user("owner", Role::User).await;
        for _ in 0..10 {
            let session = house.login("owner", PASSWORD, None).await.expect("logged in");
            house.login("owner", PASSWORD, None).await.expect("logged in");
            let who = house.who(&id).await;
            let (_, out) = tokio::join!(house.refresh(&session.refresh_token), house.identity.logout(who.caller()));
            out.expect("logged out");
            assert_eq!(house.live_tokens(&id).await, 0);
        }
        let audit = house.audited("auth.logout").await;
        assert_eq!(audit.len(), 10);
        assert!(audit.iter().all(|row| row.user_id.as_deref() == Some(&*id) && row.result == "success"));
    }
}
