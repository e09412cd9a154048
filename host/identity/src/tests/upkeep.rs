//! Tests of removing refresh tokens.

use qm_kernel::Role;

use super::*;
use crate::model::{Change, UserChange};
use crate::repo;

qm_db::db_test! {
    async fn ended_sessions_are_told_to_every_server_and_forgotten_later(db: Db) {
        let house = House::seeded(db).await;
        let ended = async || {
            let mut tx = house.db.begin_read().await.expect("begun");
            let rows = repo::session_ends::since(&mut tx, Timestamp::from_ms(0)).await.expect("read");
            rows.into_iter().map(|row| (row.user_id, row.active == 1)).collect::<Vec<_>>()
        };
        let admin = house.login("admin", PASSWORD, None).await.expect("logged in").account.id;
        let admin = house.who(&admin).await;
        let (changer, leaver) = (house.user("changer", Role::User).await, house.user("leaver", Role::User).await);
        let who = house.who(&changer).await;
        let (old, new) = (Secret::new(PASSWORD), Secret::new("another good password"));
        house.identity.change_password(who.caller(), &old, &new, "account.password_changed").await.expect("changed");
        assert_eq!(ended().await, [(changer.clone(), true)]);
        house.clock.advance(Duration::from_secs(1));
        let change = |is_active| UserChange { email: None, display_name: Change::Keep, is_active, role_names: None };
        house.identity.update_user(admin.caller(), &leaver, change(None)).await.expect("unchanged");
        house.identity.update_user(admin.caller(), &leaver, change(Some(false))).await.expect("deactivated");
        assert_eq!(ended().await, [(changer.clone(), true), (leaver.clone(), false)]);
        house.identity.update_user(admin.caller(), &leaver, change(Some(true))).await.expect("back");
        assert_eq!(ended().await, [(changer.clone(), true), (leaver.clone(), true)]);
        house.identity.delete_user(admin.caller(), &leaver).await.expect("deleted");
        assert_eq!(ended().await, [(changer.clone(), true), (leaver.clone(), false)]);
        house.clock.advance(Duration::from_hours(9 * 24));
        house.identity.prune().await.expect("pruned");
        assert!(ended().await.is_empty());
    }

    async fn only_tokens_that_expired_long_ago_are_removed(db: Db) {
        let house = House::seeded(db).await;
        let id = house.user("owner", Role::User).await;
        let old = house.login("owner", PASSWORD, None).await.expect("logged in");
        house.clock.advance(Duration::from_hours(24));
        house.login("owner", PASSWORD, None).await.expect("logged in");

        house.clock.advance(REFRESH_TTL);
        assert_eq!(house.identity.prune().await.expect("pruned"), 0);
        assert_eq!(failure(house.refresh(&old.refresh_token).await), "Refresh token expired");
        house.clock.advance(Duration::from_hours(6 * 24) + Duration::from_millis(1));
        assert_eq!(house.identity.prune().await.expect("pruned"), 1);
        assert_eq!(failure(house.refresh(&old.refresh_token).await), "Invalid refresh token");
        assert_eq!(house.token_rows(&id).await.len(), 1);
    }
}
