//! Tests of managing users and roles, and of refused changes.

use http::{Method, StatusCode};
use qm_kernel::{Permission, Role};
use serde_json::json;

use super::surface::{Surface, refusal, text};
use super::*;
use crate::model::{Change, UserChange};
use crate::repo;

const USERS: &str = "/api/users";

sql! {
    SPELT_ALIKE = "UPDATE users SET email_folded = $2 WHERE id = $1";
    LEFT_OF = "SELECT (SELECT COUNT(*) FROM user_roles WHERE user_id = $1) + (SELECT COUNT(*) FROM refresh_tokens \
        WHERE user_id = $1) + (SELECT COUNT(*) FROM api_keys WHERE user_id = $1)";
}

fn new_user(name: &str, roles: &[&str]) -> Value {
    json!({
        "username": name,
        "email": format!("{name}@example.org"),
        "password": PASSWORD,
        "roleNames": roles,
    })
}

fn forbidden(message: &str) -> (StatusCode, Value) {
    refusal(StatusCode::FORBIDDEN, message)
}

fn unchanged() -> UserChange {
    UserChange {
        email: None,
        display_name: Change::Keep,
        is_active: None,
        role_names: None,
    }
}

fn demotion() -> UserChange {
    UserChange {
        role_names: Some(vec!["USER".to_owned()]),
        ..unchanged()
    }
}

fn deactivation() -> UserChange {
    UserChange {
        is_active: Some(false),
        ..unchanged()
    }
}

/// A surface, an administrator's token and one of the seeded super admin.
struct Office {
    surface: Surface,
    admin: String,
    root: String,
    root_id: String,
}

impl Office {
    async fn new(db: Db) -> Self {
        let surface = Surface::new(db).await;
        let id = surface.house.user("administrator", Role::Administrator).await;
        let admin = surface.token(&id).await;
        let session = surface
            .house
            .login("admin", PASSWORD, None)
            .await
            .expect("logged in");
        Self {
            root: session.access_token,
            root_id: session.account.id,
            admin,
            surface,
        }
    }

    async fn post(&self, token: &str, body: Value) -> (StatusCode, Value) {
        self.surface.call(Method::POST, USERS, Some(token), body).await
    }

    async fn patch(&self, token: &str, id: &str, body: Value) -> (StatusCode, Value) {
        self.surface
            .call(Method::PATCH, &format!("{USERS}/{id}"), Some(token), body)
            .await
    }

    async fn delete(&self, token: &str, id: &str) -> (StatusCode, Value) {
        self.surface
            .call(Method::DELETE, &format!("{USERS}/{id}"), Some(token), Value::Null)
            .await
    }
}

qm_db::db_test! {
    async fn a_user_is_created_changed_and_deleted(db: Db) {
        let office = Office::new(db).await;
        let house = &office.surface.house;
        house.clock.advance(Duration::from_secs(1));
        let mut wanted = new_user("jo", &["USER", "POWER_USER"]);
        wanted["displayName"] = json!("Jo");
        let (status, made) = office.post(&office.admin, wanted).await;
        let id = text(&made["id"]).to_owned();
        let mut row = json!({
            "id": id,
            "username": "jo",
            "email": "jo@example.org",
            "displayName": "Jo",
            "isActive": true,
            "isSystem": false,
            "lastLoginAt": null,
            "roles": ["POWER_USER", "USER"],
        });
        assert_eq!((status, made), (StatusCode::CREATED, row.clone()));
        let session = house.login("jo", PASSWORD, None).await.expect("logged in");
        row["lastLoginAt"] = json!("2031-03-30T09:15:01.000Z");
        let (status, list) = office.surface.call(Method::GET, USERS, Some(&office.admin), Value::Null).await;
        assert_eq!(status, StatusCode::OK);
        assert_eq!((&list["total"], &list["page"], &list["pageSize"]), (&json!(3), &json!(1), &json!(50)));
        assert_eq!(list["items"][2], row);

        assert_eq!(office.patch(&office.admin, &id, json!({})).await, (StatusCode::OK, row.clone()));
        row["displayName"] = Value::Null;
        row["email"] = json!("jo@example.net");
        row["roles"] = json!(["READ_ONLY"]);
        let change = json!({ "displayName": null, "email": "jo@example.net", "roleNames": ["READ_ONLY"] });
        assert_eq!(office.patch(&office.admin, &id, change).await, (StatusCode::OK, row.clone()));
        let session = house.refresh(&session.refresh_token).await.expect("a change of roles ends no session");
        assert_eq!(session.account.roles, [Role::ReadOnly]);
        row["isActive"] = json!(false);
        assert_eq!(office.patch(&office.admin, &id, json!({ "isActive": false })).await, (StatusCode::OK, row));
        assert_eq!(house.live_tokens(&id).await, 0);
        assert_eq!(failure(house.login("jo", PASSWORD, None).await), "Invalid credentials");
        office.patch(&office.admin, &id, json!({ "isActive": true })).await;
        house.login("jo", PASSWORD, None).await.expect("logged in");

        assert_eq!(office.delete(&office.admin, &id).await, (StatusCode::OK, json!({ "id": id })));
        assert_eq!(office.delete(&office.admin, &id).await, refusal(StatusCode::NOT_FOUND, "User not found"));

        let heard = house.heard.take();
        let told: Vec<_> = heard.iter().map(|event| (&*event.event_key, event.payload.clone())).collect();
        assert_eq!(told, [
            ("user.created", json!({ "username": "jo", "displayName": "Jo" })),
            ("user.role_changed", json!({ "username": "jo", "displayName": null, "roles": ["READ_ONLY"] })),
        ]);
        let metadata = |action| async move {
            let rows = house.audited(action).await;
            assert!(rows.iter().all(|row| row.object_id.as_deref() == Some(&*id) && row.object_type.as_deref() == Some("user")));
            rows.iter().map(AuditRow::metadata).collect::<Vec<_>>()
        };
        assert_eq!(metadata.clone()("users.create").await, [json!({ "username": "jo", "roles": ["USER", "POWER_USER"] })]);
        let mut updates = metadata.clone()("users.update").await;
        updates.sort_by_key(|update| update.to_string().len());
        assert_eq!(updates, [
            json!({ "username": "jo", "changed": { "isActive": true } }),
            json!({ "username": "jo", "changed": { "isActive": false } }),
            json!({ "username": "jo", "changed": { "email": "jo@example.net", "displayName": null, "roles": ["READ_ONLY"] } }),
        ]);
        assert_eq!(metadata("users.delete").await, [json!({ "username": "jo", "roles": ["READ_ONLY"] })]);
    }

    async fn deletion_takes_everything_of_the_user_but_the_trail(db: Db) {
        let office = Office::new(db).await;
        let house = &office.surface.house;
        let id = house.user("leaver", Role::Administrator).await;
        let session = house.login("leaver", PASSWORD, None).await.expect("logged in");
        let who = house.who(&id).await;
        house.identity.create_api_key(who.caller(), "k".to_owned(), Vec::new()).await.expect("made");
        let left = || async {
            let mut tx = house.db.begin_read().await.expect("begun");
            qm_db::value!(&mut tx, i64, LEFT_OF, &id).await.expect("read")
        };
        assert_eq!(left().await, 3);
        office.delete(&office.admin, &id).await;
        assert_eq!(left().await, 0);
        assert_eq!(failure(house.refresh(&session.refresh_token).await), "Invalid refresh token");
        let rows = house.audited("apikeys.create").await;
        assert!(rows.len() == 1 && rows[0].user_id.is_none());
    }

    async fn names_and_addresses_are_told_apart_when_taken(db: Db) {
        let office = Office::new(db).await;
        let taken = |text: &str| refusal(StatusCode::CONFLICT, text);
        let mut user = new_user("admin", &["USER"]);
        user["email"] = json!("fresh@example.org");
        assert_eq!(office.post(&office.admin, user).await, taken("Username is already in use"));
        let mut user = new_user("fresh", &["USER"]);
        user["email"] = json!("admin@example.org");
        assert_eq!(office.post(&office.admin, user).await, taken("Email is already in use"));
        for spelt in ["Admin@example.org", "ADMIN@EXAMPLE.ORG"] {
            let mut user = new_user("fresh", &["USER"]);
            user["email"] = json!(spelt);
            assert_eq!(office.post(&office.admin, user).await, taken("Email is already in use"), "{spelt}");
        }
        let (_, made) = office.post(&office.admin, new_user("fresh", &["USER"])).await;
        let change = json!({ "email": "Admin@Example.org" });
        assert_eq!(office.patch(&office.admin, text(&made["id"]), change).await, taken("Email is already in use"));
        let (_, mixed) = office.patch(&office.admin, text(&made["id"]), json!({ "email": "Fresh@Example.org" })).await;
        assert_eq!(mixed["email"], "Fresh@Example.org", "one's own in another spelling, kept as it is written");
        let change = json!({ "email": "admin@example.org", "isActive": false });
        assert_eq!(office.patch(&office.admin, text(&made["id"]), change).await, taken("Email is already in use"));
        office.surface.house.login("fresh", PASSWORD, None).await.expect("nothing of the change was kept");
    }

    async fn the_schema_takes_no_address_twice_whoever_writes_it(db: Db) {
        let house = House::seeded(db).await;
        house.user("one", Role::User).await;
        let two = house.user("two", Role::User).await;
        let mut tx = house.db.begin_write().await.expect("begun");
        let taken = qm_db::exec!(&mut tx, SPELT_ALIKE, &two, "one@example.org").await;
        assert!(taken.is_err_and(|error| error.is_unique_violation_of("users", "email_folded")));
    }

    async fn bad_bodies_are_refused(db: Db) {
        let office = Office::new(db).await;
        let (status, answer) = office.post(&office.admin, json!({
            "username": " jo", "email": "jo", "password": "short", "roleNames": [], "isSystem": true,
        })).await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
        assert_eq!(answer["message"], json!([
            "property isSystem should not exist",
            "username must not begin or end with a space or contain control characters",
            "email must be an email",
            "password must be longer than or equal to 10 characters",
            "roleNames must contain at least 1 elements",
        ]));
        let (status, answer) = office.patch(&office.admin, "x", json!({ "password": "0123456789", "roleNames": [] })).await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
        assert_eq!(answer["message"], json!([
            "property password should not exist", "roleNames must contain at least 1 elements",
        ]));
        let unknown = refusal(StatusCode::BAD_REQUEST, "One or more roles do not exist");
        for roles in [&["OWNER"][..], &["USER", "USER"], &["user"], &["USER", ""]] {
            assert_eq!(office.post(&office.admin, new_user("jo", roles)).await, unknown, "{roles:?}");
        }
        for id in ["00000000-0000-4000-8000-000000000000", "x"] {
            let missing = refusal(StatusCode::NOT_FOUND, "User not found");
            assert_eq!(office.patch(&office.admin, id, json!({ "roleNames": ["SUPER_ADMIN"] })).await, missing);
            assert_eq!(office.delete(&office.admin, id).await, missing);
        }
        assert!(office.surface.house.audited("users.create").await.is_empty());
    }

    async fn only_a_super_admin_makes_or_changes_one(db: Db) {
        let office = Office::new(db).await;
        let grant = forbidden("Only a super admin can grant the SUPER_ADMIN role");
        let touch = forbidden("Only a super admin can change a super admin");
        assert_eq!(office.post(&office.admin, new_user("jo", &["SUPER_ADMIN", "NONSENSE"])).await, grant, "before the roles");
        let (_, jo) = office.post(&office.admin, new_user("jo", &["USER"])).await;
        let jo = text(&jo["id"]);
        assert_eq!(office.patch(&office.admin, jo, json!({ "roleNames": ["SUPER_ADMIN", "USER"] })).await, grant);
        assert_eq!(office.patch(&office.root, jo, json!({ "roleNames": ["SUPER_ADMIN"] })).await.0, StatusCode::OK);
        for change in [
            json!({ "isActive": false }),
            json!({ "roleNames": ["USER"] }),
            json!({ "roleNames": ["NONSENSE"] }),
            json!({ "email": "x@example.org" }),
            json!({ "displayName": "x" }),
            json!({}),
        ] {
            assert_eq!(office.patch(&office.admin, jo, change).await, touch);
        }
        assert_eq!(office.delete(&office.admin, jo).await, touch);
        assert_eq!(office.patch(&office.root, jo, json!({ "roleNames": ["NONSENSE"] })).await.0, StatusCode::BAD_REQUEST);
        assert_eq!(office.delete(&office.root, jo).await.0, StatusCode::OK);
        let system = refusal(StatusCode::BAD_REQUEST, "System users cannot be deleted");
        assert_eq!(office.delete(&office.admin, &office.root_id).await, system);
        assert_eq!(office.delete(&office.root, &office.root_id).await, system);
    }

    async fn nobody_changes_their_own_roles_and_the_last_super_admin_stays(db: Db) {
        let office = Office::new(db).await;
        let root = &office.root_id;
        let own = forbidden("You cannot change your own roles");
        for roles in [json!(["USER"]), json!(["SUPER_ADMIN"]), json!(["NONSENSE"])] {
            assert_eq!(office.patch(&office.root, root, json!({ "roleNames": roles })).await, own);
        }
        let last = forbidden("The last active super admin cannot be deactivated, demoted or deleted");
        assert_eq!(office.patch(&office.root, root, json!({ "isActive": false, "email": "x@example.org" })).await, last);
        // A caller whose account was deleted can change nothing.
        let ghost = office.surface.token_claiming("00000000-0000-4000-8000-000000000000", &[Role::SuperAdmin]);
        let gone = forbidden("Your account no longer exists");
        assert_eq!(office.patch(&ghost, root, json!({ "roleNames": ["USER"] })).await, gone);
        assert_eq!(office.delete(&ghost, root).await, gone);
        assert_eq!(office.post(&ghost, new_user("heir", &["SUPER_ADMIN"])).await, gone);
        let (_, second) = office.post(&office.root, new_user("second", &["SUPER_ADMIN"])).await;
        let second = text(&second["id"]);
        assert_eq!(office.patch(&office.root, second, json!({ "isActive": false })).await.0, StatusCode::OK);
        let off = json!({ "isActive": false });
        assert_eq!(office.patch(&office.root, root, off.clone()).await, last, "an inactive one does not count");
        assert_eq!(office.patch(&office.root, second, json!({ "isActive": true })).await.0, StatusCode::OK);
        assert_eq!(office.patch(&office.root, root, off).await.0, StatusCode::OK);
        let restored = office.patch(&office.root, root, json!({ "isActive": true })).await;
        assert_eq!(restored, forbidden("Your account is deactivated"));
        let itself = office.surface.token(second).await;
        assert_eq!(office.delete(&itself, second).await, last);
        assert_eq!(office.surface.house.identity.account(second).await.expect("there").roles, [Role::SuperAdmin]);
    }

    async fn two_super_admins_who_remove_each_other_at_once_leave_one(db: Db) {
        let house = House::seeded(db).await;
        let root = house.login("admin", PASSWORD, None).await.expect("logged in").account.id;
        for round in 0..12 {
            let rival = house.user(&format!("rival{round}"), Role::SuperAdmin).await;
            let (one, two) = (house.who(&root).await, house.who(&rival).await);
            let change = || if round % 2 == 0 { demotion() } else { deactivation() };
            let (by_root, by_rival) = tokio::join!(
                async {
                    match round % 3 {
                        0 => house.identity.delete_user(one.caller(), &rival).await,
                        _ => house.identity.update_user(one.caller(), &rival, change()).await.map(drop),
                    }
                },
                async { house.identity.update_user(two.caller(), &root, change()).await.map(drop) },
            );
            assert!(by_root.is_ok() != by_rival.is_ok(), "round {round}: {by_root:?} {by_rival:?}");
            let loser = by_root.and(by_rival);
            assert!(matches!(loser, Err(IdentityError::Acting(_))), "who was removed removes nobody: {loser:?}");
            // Back to the state before the round.
            house.set_active(&root, true).await;
            let mut tx = house.db.begin_write().await.expect("begun");
            repo::roles::set_roles(&mut tx, &root, &[Role::SuperAdmin]).await.expect("restored");
            if repo::users::lock(&mut tx, &rival).await.expect("read").is_some() {
                repo::users::delete(&mut tx, &rival).await.expect("deleted");
            }
            tx.commit().await.expect("committed");
        }
    }

    async fn a_deactivation_catches_a_token_being_issued(db: Db) {
        let house = House::seeded(db).await;
        let id = house.user("owner", Role::User).await;
        let admin = house.login("admin", PASSWORD, None).await.expect("logged in").account.id;
        let admin = house.who(&admin).await;
        for _ in 0..8 {
            let session = house.login("owner", PASSWORD, None).await.expect("logged in");
            let (_, _, done) = tokio::join!(
                house.refresh(&session.refresh_token),
                house.login("owner", PASSWORD, None),
                house.identity.update_user(admin.caller(), &id, deactivation()),
            );
            done.expect("deactivated");
            assert_eq!(house.live_tokens(&id).await, 0);
            house.set_active(&id, true).await;
        }
    }

    async fn roles_are_listed_with_their_permissions(db: Db) {
        let office = Office::new(db).await;
        let (status, roles) = office.surface.call(Method::GET, "/api/users/roles", Some(&office.admin), Value::Null).await;
        assert_eq!(status, StatusCode::OK);
        let roles = roles.as_array().expect("a list");
        let names: Vec<_> = roles.iter().map(|role| text(&role["name"])).collect();
        assert_eq!(names, ["ADMINISTRATOR", "POWER_USER", "READ_ONLY", "SUPER_ADMIN", "USER"]);
        for role in roles {
            let name = Role::from_name(text(&role["name"])).expect("known");
            let links = role["permissions"].as_array().expect("a list");
            let mut keys: Vec<_> = name.permissions().map(Permission::key).collect();
            keys.sort_unstable();
            assert_eq!(links.iter().map(|link| text(&link["permission"]["key"])).collect::<Vec<_>>(), keys);
            let link = &links[0];
            assert_eq!(link, &json!({
                "roleId": role["id"],
                "permissionId": link["permission"]["id"],
                "permission": { "id": link["permission"]["id"], "key": keys[0], "description": keys[0] },
            }));
        }
        let role = &roles[4];
        let expected = ["createdAt", "description", "id", "isSystem", "name", "permissions", "updatedAt"];
        let mut fields: Vec<_> = role.as_object().expect("an object").keys().map(String::as_str).collect();
        fields.sort_unstable();
        assert_eq!(fields, expected);
        assert_eq!((&role["description"], &role["isSystem"]), (&json!("USER (system role)"), &json!(true)));
    }

    async fn pages_are_clamped_and_complete(db: Db) {
        let office = Office::new(db).await;
        for number in 0..5 {
            office.surface.house.user(&format!("u{number}"), Role::User).await;
        }
        let page = |query: &'static str| {
            let office = &office;
            async move { office.surface.call(Method::GET, &format!("{USERS}{query}"), Some(&office.admin), Value::Null).await.1 }
        };
        let mut seen = std::collections::BTreeSet::new();
        for query in ["?page=1&pageSize=3", "?page=2&pageSize=3", "?page=3&pageSize=3"] {
            let body = page(query).await;
            assert_eq!((&body["total"], &body["pageSize"]), (&json!(7), &json!(3)));
            seen.extend(body["items"].as_array().expect("a list").iter().map(|user| text(&user["username"]).to_owned()));
        }
        assert_eq!(seen.len(), 7);
        let odd = page("?page=-1&pageSize=1000").await;
        assert_eq!((&odd["page"], &odd["pageSize"]), (&json!(1), &json!(200)));
        assert_eq!(page("?page=99").await["items"], json!([]));
    }
}
