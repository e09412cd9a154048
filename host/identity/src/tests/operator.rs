//! Tests of the operator's commands on accounts.

use qm_kernel::Role;

use super::*;
use crate::Operator;

const NEW: &str = "a new password";

impl House {
    fn operator(&self) -> Operator {
        Operator::new(self.db.clone(), HashCost::CHEAP, self.ctx.clone())
    }
}

qm_db::db_test! {
    async fn a_reset_lets_the_owner_in_and_everybody_else_out(db: Db) {
        let house = House::seeded(db).await;
        let id = house.user("owner", Role::User).await;
        let session = house.login("owner", PASSWORD, None).await.expect("logged in");
        house.login("owner", PASSWORD, None).await.expect("logged in");
        let reset = house.operator().reset_password("owner", Some(Secret::new(NEW)), false).await.expect("reset");
        assert!(reset.generated.is_none() && reset.is_active && !reset.two_factor);
        assert_eq!(reset.revoked, 2);
        assert_eq!(failure(house.login("owner", PASSWORD, None).await), "Invalid credentials");
        assert_eq!(failure(house.refresh(&session.refresh_token).await), "Refresh token has been revoked");
        house.login("owner", NEW, None).await.expect("logged in");

        let audit = house.audited("users.reset_password").await;
        let [row] = &audit[..] else { panic!("{} rows", audit.len()) };
        assert_eq!((row.user_id.as_deref(), row.object_type.as_deref(), row.object_id.as_deref()), (None, Some("user"), Some(&*id)));
        assert_eq!(
            row.metadata(),
            serde_json::json!({ "username": "owner", "twoFactorDisabled": false, "revoked": 2 })
        );
    }

    async fn without_a_password_one_is_generated(db: Db) {
        let house = House::seeded(db).await;
        let reset = house.operator().reset_password("admin", None, false).await.expect("reset");
        assert!(!format!("{reset:?}").contains(reset.generated.as_ref().expect("generated").expose()));
        let password = reset.generated.expect("generated");
        assert_eq!(password.expose().len(), 24);
        house.login("admin", password.expose(), None).await.expect("logged in");
    }

    async fn a_second_factor_is_switched_off_only_when_asked_to(db: Db) {
        let house = House::seeded(db).await;
        let id = house.user("owner", Role::User).await;
        let mut tx = house.db.begin_write().await.expect("begun");
        let done = qm_db::exec!(&mut tx, ENABLE_TOTP, &id, true, house.cipher.encrypt("JBSWY3DPEHPK3PXP"), "[]").await;
        done.expect("updated").exactly(1).expect("one row");
        tx.commit().await.expect("committed");
        let reset = |disable| {
            let operator = house.operator();
            async move { operator.reset_password("owner", Some(Secret::new(NEW)), disable).await.expect("reset") }
        };
        let kept = reset(false).await;
        assert!(kept.two_factor && !kept.two_factor_disabled);
        assert!(matches!(house.login("owner", NEW, None).await, Err(IdentityError::TwoFactorRequired)));
        let off = reset(true).await;
        assert!(!off.two_factor && off.two_factor_disabled);
        house.login("owner", NEW, None).await.expect("logged in");
        assert!(!reset(true).await.two_factor_disabled, "there was none");
    }

    async fn nobody_of_the_name_is_an_error_that_changes_nothing(db: Db) {
        let house = House::seeded(db).await;
        for name in ["nobody", "Admin", "a\0b", ""] {
            let result = house.operator().reset_password(name, None, true).await;
            assert!(matches!(result, Err(IdentityError::UserNotFound)), "{name:?}");
        }
        assert!(house.audit_rows().await.is_empty());
        house.login("admin", PASSWORD, None).await.expect("logged in");
    }

    async fn every_user_is_listed(db: Db) {
        let house = House::seeded(db).await;
        house.clock.advance(Duration::from_secs(1));
        let id = house.user("owner", Role::ReadOnly).await;
        house.set_active(&id, false).await;
        let users = house.operator().users().await.expect("listed");
        let [admin, owner] = &users[..] else { panic!("{} users", users.len()) };
        assert!(admin.is_system && admin.is_active && admin.roles == [Role::SuperAdmin]);
        assert!(!owner.is_system && !owner.is_active && owner.roles == [Role::ReadOnly]);
        assert_eq!((&*owner.username, owner.last_login_at), ("owner", None));
    }
}
