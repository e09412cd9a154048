//! Tests of changing the own password.

use qm_kernel::{Role, TokenVerifier as _};

use super::*;

const NEW: &str = "a new password";

qm_db::db_test! {
    async fn a_change_revokes_every_session_and_is_told(db: Db) {
        let house = House::seeded(db).await;
        let id = house.user("owner", Role::User).await;
        let session = house.login("owner", PASSWORD, None).await.expect("logged in");
        house.login("owner", PASSWORD, None).await.expect("logged in");
        let who = house.who(&id).await;

        let change = |current: &'static str| {
            let (house, who) = (&house, &who);
            async move {
                let (current, new) = (Secret::new(current), Secret::new(NEW));
                house.identity.change_password(who.caller(), &current, &new, "auth.change_password").await
            }
        };
        assert_eq!(failure(change("wrong").await), "Current password is incorrect");
        assert_eq!(house.live_tokens(&id).await, 2);
        house.clock.advance(Duration::from_secs(1));
        change(PASSWORD).await.expect("changed");
        assert_eq!(house.live_tokens(&id).await, 0);
        assert_eq!(failure(house.refresh(&session.refresh_token).await), "Refresh token has been revoked");
        assert_eq!(failure(house.login("owner", PASSWORD, None).await), "Invalid credentials");
        house.login("owner", NEW, None).await.expect("logged in");
        assert!(house.tokens.verify(&session.access_token).is_ok(), "access tokens live until they expire");

        let audit = house.audit_rows().await;
        let rows: Vec<_> = audit.iter().filter(|row| row.action == "auth.change_password").collect();
        let results: Vec<_> = rows.iter().map(|row| (&*row.result, row.user_id.as_deref())).collect();
        assert_eq!(results, [("failure", Some(&*id)), ("success", Some(&*id))]);
        let heard = house.heard.take();
        assert_eq!(heard.iter().map(|event| event.event_key.clone()).collect::<Vec<_>>(), ["security.password_changed"]);
    }

    async fn a_deleted_user_is_nobody(db: Db) {
        let house = House::seeded(db).await;
        let nobody = Who::claiming("00000000-0000-4000-8000-000000000000", &[Role::User]);
        let caller = nobody.caller();
        assert!(matches!(house.identity.account(&nobody.principal.user_id).await, Err(IdentityError::NoSuchUser)));
        let (old, new) = (Secret::new(PASSWORD), Secret::new(NEW));
        let result = house.identity.change_password(caller, &old, &new, "auth.change_password").await;
        assert_eq!(failure(result), "Your account no longer exists");
        house.identity.logout(caller).await.expect("logout always succeeds");
        assert!(house.audit_rows().await.is_empty());
    }

    async fn of_two_changes_at_once_one_holds(db: Db) {
        let house = House::seeded(db).await;
        let id = house.user("owner", Role::User).await;
        let who = house.who(&id).await;
        let news = ["one new password", "another new password"].map(Secret::new);
        let old = Secret::new(PASSWORD);
        let change = |new| house.identity.change_password(who.caller(), &old, new, "account.password_changed");
        let outcomes = <[_; 2]>::from(tokio::join!(change(&news[0]), change(&news[1])));
        let winner = outcomes.iter().position(Result::is_ok).expect("one of them");
        let [one, two] = outcomes;
        assert!(one.is_ok() != two.is_ok());
        house.login("owner", news[winner].expose(), None).await.expect("logged in");
        let rows = house.audited("account.password_changed").await;
        assert_eq!(rows.iter().filter(|row| row.result == "success").count(), 1);
    }
}
