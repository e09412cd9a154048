//! Change of one's own password.

use qm_kernel::{Role, TokenVerifier as _};

use super::*;

const NEW: &str = "a new password";

qm_db::db_test! {
    async fn a_change_revokes_every_session_and_is_told(db: Db) {
        let house = House::seeded(db).await;
        let id = house.user("owner", Role::User).await;
        let session = house.login("owner", PASSWORD, None).await.expect("logged in");
        house.login("owner", PASSWORD, None).await.expect("logged in");
        let principal = house.tokens.verify(&session.access_token).expect("verified");

        let change = |current: &'static str| {
            let (house, principal) = (&house, &principal);
            async move {
                let (current, new) = (Secret::new(current), Secret::new(NEW));
                house.identity.change_password(principal, &current, &new, &client()).await
            }
        };
        assert_eq!(failure(change("wrong").await), "Current password is incorrect");
        assert_eq!(house.live_tokens(&id).await, 2);
        house.clock.advance(Duration::from_secs(1));
        change(PASSWORD).await.expect("changed");
        assert_eq!(house.live_tokens(&id).await, 0);
        assert_eq!(failure(house.refresh(&session.refresh_token).await), "Refresh token reuse detected");
        assert_eq!(failure(house.login("owner", PASSWORD, None).await), "Invalid credentials");
        house.login("owner", NEW, None).await.expect("logged in");
        assert!(house.tokens.verify(&session.access_token).is_ok(), "access tokens live until they expire");

        let audit = house.audit_rows().await;
        let row = audit.iter().find(|row| row.action == "auth.change_password").expect("audited");
        assert_eq!((&*row.result, row.user_id.as_deref()), ("success", Some(&*id)));
        let heard = house.heard.take();
        assert_eq!(heard.iter().map(|event| event.event_key).collect::<Vec<_>>(), ["security.password_changed"]);
    }

    async fn a_deleted_user_is_nobody(db: Db) {
        let house = House::seeded(db).await;
        let session = house.login("admin", PASSWORD, None).await.expect("logged in");
        let mut principal = house.tokens.verify(&session.access_token).expect("verified");
        principal.user_id = "00000000-0000-4000-8000-000000000000".into();
        assert!(matches!(house.identity.account(&principal.user_id).await, Err(IdentityError::NoSuchUser)));
        let result =
            house.identity.change_password(&principal, &Secret::new(PASSWORD), &Secret::new(NEW), &client()).await;
        assert!(matches!(result, Err(IdentityError::NoSuchUser)));
        house.identity.logout(&principal).await.expect("logout always succeeds");
    }
}
