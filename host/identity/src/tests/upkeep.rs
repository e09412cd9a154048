//! Pruning of refresh tokens.

use qm_kernel::Role;

use super::*;

qm_db::db_test! {
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
