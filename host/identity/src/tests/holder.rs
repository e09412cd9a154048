//! Tests of a user's present permissions.

use qm_kernel::{Permission, Role};
use qm_ports::Holders as _;

use super::*;

qm_db::db_test! {
    async fn only_who_is_there_and_active_holds_what_the_roles_grant(db: Db) {
        let house = House::seeded(db).await;
        let reader = house.user("reader", Role::ReadOnly).await;
        let boss = house.user("boss", Role::SuperAdmin).await;
        let holds = async |id: &str, permission| house.identity.holds(id, permission).await.expect("asked");
        assert!(holds(&reader, Permission::FilesView).await);
        assert!(!holds(&reader, Permission::FilesDelete).await);
        assert!(holds(&boss, Permission::FilesDelete).await);
        assert!(!holds("nobody", Permission::FilesView).await && !holds("", Permission::FilesView).await);
        let mut tx = house.db.begin_write().await.expect("begun");
        qm_db::exec!(&mut tx, DEACTIVATE, &reader, false).await.expect("written").exactly(1).expect("one row");
        tx.commit().await.expect("committed");
        assert!(!holds(&reader, Permission::FilesView).await);
    }
}
