//! Tests of seeding at the first and later starts.

use qm_kernel::{Permission, Role};

use super::*;
use crate::repo::roles;

sql! {
    LINKS = "SELECT r.name, p.key FROM role_permissions rp JOIN roles r ON r.id = rp.role_id \
        JOIN permissions p ON p.id = rp.permission_id ORDER BY r.name, p.key";
    UNLINK_ALL = "DELETE FROM role_permissions WHERE role_id = $1";
    SYSTEM_USERS = "SELECT username FROM users WHERE is_system ORDER BY username";
    RENAME = "UPDATE users SET username = $2 WHERE username = $1";
}

async fn links(house: &House) -> Vec<(String, String)> {
    let mut tx = house.db.begin_read().await.expect("begun");
    qm_db::all!(&mut tx, (String, String), LINKS).await.expect("read")
}

fn catalogue() -> Vec<(String, String)> {
    let mut links: Vec<_> = Role::ALL
        .iter()
        .flat_map(|role| {
            role.permissions()
                .map(|permission| (role.name().to_owned(), permission.key().to_owned()))
        })
        .collect();
    links.sort();
    links
}

async fn role_ids(house: &House) -> Vec<(String, String)> {
    let mut tx = house.db.begin_read().await.expect("begun");
    let mut rows: Vec<_> = roles::all_roles(&mut tx)
        .await
        .expect("read")
        .into_iter()
        .map(|row| (row.name, row.id))
        .collect();
    rows.sort();
    rows
}

qm_db::db_test! {
    async fn roles_hold_what_the_catalogue_says_and_seeding_is_idempotent(db: Db) {
        let house = House::seeded(db).await;
        assert!(links(&house).await == catalogue());
        let ids = role_ids(&house).await;
        assert_eq!(ids.len(), Role::ALL.len());

        let mut tx = house.db.begin_write().await.expect("begun");
        let read_only = &ids.iter().find(|(name, _)| name == "READ_ONLY").expect("there").1;
        let permissions = roles::all_permissions(&mut tx).await.expect("read");
        assert_eq!(permissions.len(), Permission::ALL.len());
        let manage = permissions.iter().find(|row| row.name == "system.manage").expect("there");
        roles::relink(&mut tx, read_only, &[&manage.id]).await.expect("changed by hand");
        let user = &ids.iter().find(|(name, _)| name == "USER").expect("there").1;
        let _ = qm_db::exec!(&mut tx, UNLINK_ALL, user).await.expect("removed by hand");
        tx.commit().await.expect("committed");

        let again = house.identity.seed(&admin()).await.expect("seeded");
        assert!(!again.admin_created && again.generated_password.is_none());
        assert!(links(&house).await == catalogue());
        assert_eq!(role_ids(&house).await, ids);
    }

    async fn the_first_administrator_is_made_once(db: Db) {
        let house = House::seeded(db).await;
        let session = house.login("admin", PASSWORD, None).await.expect("logged in");
        assert_eq!(session.account.display_name.as_deref(), Some("Administrator"));
        assert_eq!(session.account.roles, [Role::SuperAdmin]);
        assert_eq!(session.account.permissions.iter().count(), Permission::ALL.len());
        let mut tx = house.db.begin_read().await.expect("begun");
        let system = qm_db::all!(&mut tx, (String,), SYSTEM_USERS).await.expect("read");
        assert_eq!(system, [("admin".to_owned(),)]);
        drop(tx);

        let other = FirstAdmin { password: Some(Secret::new("another password")), ..admin() };
        let again = house.identity.seed(&other).await.expect("seeded");
        assert!(!again.admin_created);
        house.login("admin", PASSWORD, None).await.expect("the password is left alone");
    }

    async fn without_a_password_one_is_generated(db: Db) {
        let house = House::bare(db);
        let seeded = house.identity.seed(&FirstAdmin { password: None, ..admin() }).await.expect("seeded");
        let password = seeded.generated_password.expect("generated");
        assert_eq!(password.expose().len(), 24);
        house.login("admin", password.expose(), None).await.expect("logged in");
        assert!(!format!("{:?}", house.identity.seed(&admin()).await).contains(password.expose()));
    }

    async fn an_existing_user_of_the_name_is_promoted(db: Db) {
        let house = House::seeded(db).await;
        let id = house.user("chief", Role::User).await;
        let chief = FirstAdmin { username: "chief".to_owned(), ..admin() };
        assert!(!house.identity.seed(&chief).await.expect("seeded").admin_created);
        assert_eq!(house.identity.account(&id).await.expect("there").roles, [Role::SuperAdmin, Role::User]);
    }

    async fn an_address_that_is_taken_is_an_error(db: Db) {
        let house = House::seeded(db).await;
        let mut tx = house.db.begin_write().await.expect("begun");
        qm_db::exec!(&mut tx, RENAME, "admin", "boss").await.expect("renamed").exactly(1).expect("one row");
        tx.commit().await.expect("committed");
        assert!(matches!(house.identity.seed(&admin()).await, Err(IdentityError::EmailTaken)));
    }
}
