//! Tests of finding recipients.

use qm_kernel::{Permission, Role};
use qm_platform::{People as _, Person};

use super::*;

qm_db::db_test! {
    async fn active_users_are_found_by_id_and_by_what_they_hold(db: Db) {
        let house = House::seeded(db).await;
        let reader = house.user("reader", Role::ReadOnly).await;
        let user = house.user("user", Role::User).await;
        let boss = house.user("boss", Role::SuperAdmin).await;
        let mut tx = house.db.begin_write().await.expect("begun");
        let mut holders = async |permission| -> Vec<String> {
            let people = house.identity.holders(&mut tx, permission).await.expect("asked");
            assert!(people.is_sorted_by(|a, b| a.id < b.id), "each once");
            people.into_iter().map(|person| person.id).collect()
        };
        for (permission, who) in [
            (Permission::SystemView, [true, false, true]),
            (Permission::TorrentsView, [true, true, true]),
            (Permission::UsersManage, [false, false, true]),
        ] {
            let holders = holders(permission).await;
            let held = [&reader, &user, &boss].map(|id| holders.contains(id));
            assert_eq!(held, who, "{permission:?}");
        }
        qm_db::exec!(&mut tx, DEACTIVATE, &reader, false).await.expect("written").exactly(1).expect("one row");
        let holders = house.identity.holders(&mut tx, Permission::SystemView).await.expect("asked");
        assert!(holders.iter().all(|person| person.id != reader), "who is deactivated is told nothing");
        let mut found = Vec::new();
        for id in [&*reader, &*user, "nobody", "a\0b", ""] {
            found.push(house.identity.find(&mut tx, id).await.expect("asked"));
        }
        let expected = Person { id: user.clone(), timezone: None };
        assert_eq!(found, [None, Some(expected), None, None, None]);
    }
}
