//! Random sequences of user operations, by callers with any claimed roles, compared with a model in memory:
//! answers and stored users equal the model's, and there is always an active super admin.

use http::{Method, StatusCode};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use qm_kernel::{Permission, Role};
use serde_json::json;

use super::surface::{Surface, text};
use super::*;

const CASES: u32 = 16;
const LONGEST: usize = 24;
/// Number of names and addresses: few, so that they collide.
const NAMES: usize = 5;
const STRANGER: &str = "00000000-0000-4000-8000-000000000000";

sql! {
    DELETE_ALL = "DELETE FROM users";
}

#[derive(Clone, Debug)]
enum Op {
    Create {
        by: Actor,
        name: usize,
        email: usize,
        roles: Vec<usize>,
    },
    Update {
        by: Actor,
        target: usize,
        email: Option<usize>,
        is_active: Option<bool>,
        roles: Option<Vec<usize>>,
    },
    Delete {
        by: Actor,
        target: usize,
    },
}

/// The caller: a user by index or a stranger, with a token that claims this role.
#[derive(Clone, Debug)]
struct Actor {
    place: usize,
    role: Role,
}

/// A user of the model.
#[derive(Clone, Debug)]
struct Person {
    id: String,
    name: String,
    email: String,
    is_active: bool,
    is_system: bool,
    roles: Vec<Role>,
}

impl Person {
    fn is_active_super_admin(&self) -> bool {
        self.is_active && self.roles.contains(&Role::SuperAdmin)
    }
}

/// Status and message; `None` for a success.
type Answer = (StatusCode, Option<&'static str>);

const OK: Answer = (StatusCode::OK, None);
const MISSING: Answer = (StatusCode::FORBIDDEN, Some("Missing permission(s): users.manage"));
const GONE: Answer = (StatusCode::FORBIDDEN, Some("Your account no longer exists"));
const INACTIVE: Answer = (StatusCode::FORBIDDEN, Some("Your account is deactivated"));
const NOT_FOUND: Answer = (StatusCode::NOT_FOUND, Some("User not found"));
const GRANT: Answer = (
    StatusCode::FORBIDDEN,
    Some("Only a super admin can grant the SUPER_ADMIN role"),
);
const OWN: Answer = (StatusCode::FORBIDDEN, Some("You cannot change your own roles"));
const TOUCH: Answer = (
    StatusCode::FORBIDDEN,
    Some("Only a super admin can change a super admin"),
);
const UNKNOWN: Answer = (StatusCode::BAD_REQUEST, Some("One or more roles do not exist"));
const LAST: Answer = (
    StatusCode::FORBIDDEN,
    Some("The last active super admin cannot be deactivated, demoted or deleted"),
);
const SYSTEM: Answer = (StatusCode::BAD_REQUEST, Some("System users cannot be deleted"));
const NAME_TAKEN: Answer = (StatusCode::CONFLICT, Some("Username is already in use"));
const EMAIL_TAKEN: Answer = (StatusCode::CONFLICT, Some("Email is already in use"));

/// The rules written a second time, without a database.
#[derive(Debug)]
struct Model(Vec<Person>);

impl Model {
    fn id(&self, place: usize) -> &str {
        self.0
            .get(place % (self.0.len() + 1))
            .map_or(STRANGER, |person| &person.id)
    }

    fn others_active(&self, id: &str) -> bool {
        self.0
            .iter()
            .any(|person| person.id != id && person.is_active_super_admin())
    }

    /// The role with which the caller acts, or the refusal when the token is outdated.
    fn judge(&self, by: Role, actor: &str) -> Result<Role, Answer> {
        let Some(person) = self.0.iter().find(|person| person.id == actor) else {
            return Err(GONE);
        };
        let manages = |role: &Role| role.permissions().any(|p| p == Permission::UsersManage);
        match person.roles.iter().any(manages) {
            _ if !person.is_active => Err(INACTIVE),
            false => Err(MISSING),
            true if by == Role::SuperAdmin && person.roles.contains(&by) => Ok(Role::SuperAdmin),
            true => Ok(Role::Administrator),
        }
    }

    fn create(&mut self, (by, actor): (Role, &str), name: String, email: String, names: &[&str]) -> Answer {
        if !by.permissions().any(|p| p == Permission::UsersManage) {
            return MISSING;
        }
        if by != Role::SuperAdmin && names.contains(&"SUPER_ADMIN") {
            return GRANT;
        }
        let Some(roles) = known(names) else {
            return UNKNOWN;
        };
        match self.judge(by, actor) {
            Err(refused) => return refused,
            Ok(by) if by != Role::SuperAdmin && roles.contains(&Role::SuperAdmin) => return GRANT,
            Ok(_) => {}
        }
        if self.0.iter().any(|person| person.name == name) {
            return NAME_TAKEN;
        }
        if self.0.iter().any(|person| person.email == email) {
            return EMAIL_TAKEN;
        }
        self.0.push(Person {
            id: String::new(),
            name,
            email,
            is_active: true,
            is_system: false,
            roles,
        });
        (StatusCode::CREATED, None)
    }

    fn update(
        &mut self,
        (by, actor_id): (Role, &str),
        id: &str,
        email: Option<String>,
        is_active: Option<bool>,
        names: Option<&[&str]>,
    ) -> Answer {
        if !by.permissions().any(|p| p == Permission::UsersManage) {
            return MISSING;
        }
        let by = match self.judge(by, actor_id) {
            Ok(by) => by,
            Err(refused) => return refused,
        };
        let Some(place) = self.0.iter().position(|person| person.id == id) else {
            return NOT_FOUND;
        };
        if by != Role::SuperAdmin && names.is_some_and(|names| names.contains(&"SUPER_ADMIN")) {
            return GRANT;
        }
        if names.is_some() && actor_id == id {
            return OWN;
        }
        let old = self.0[place].clone();
        if by != Role::SuperAdmin && old.roles.contains(&Role::SuperAdmin) {
            return TOUCH;
        }
        let mut new = old.clone();
        if let Some(names) = names {
            match known(names) {
                Some(roles) => new.roles = roles,
                None => return UNKNOWN,
            }
        }
        new.is_active = is_active.unwrap_or(old.is_active);
        if old.is_active_super_admin() && !new.is_active_super_admin() && !self.others_active(id) {
            return LAST;
        }
        if let Some(email) = email {
            if self
                .0
                .iter()
                .any(|person| person.id != id && person.email == email)
            {
                return EMAIL_TAKEN;
            }
            new.email = email;
        }
        self.0[place] = new;
        OK
    }

    fn delete(&mut self, (by, actor): (Role, &str), id: &str) -> Answer {
        if !by.permissions().any(|p| p == Permission::UsersManage) {
            return MISSING;
        }
        let by = match self.judge(by, actor) {
            Ok(by) => by,
            Err(refused) => return refused,
        };
        let Some(place) = self.0.iter().position(|person| person.id == id) else {
            return NOT_FOUND;
        };
        let person = &self.0[place];
        if person.is_system {
            return SYSTEM;
        }
        if by != Role::SuperAdmin && person.roles.contains(&Role::SuperAdmin) {
            return TOUCH;
        }
        if person.is_active_super_admin() && !self.others_active(id) {
            return LAST;
        }
        self.0.remove(place);
        OK
    }
}

/// The roles of these names in order of power, if each exists and none is repeated.
fn known(names: &[&str]) -> Option<Vec<Role>> {
    let roles: Option<Vec<Role>> = names.iter().map(|name| Role::from_name(name)).collect();
    let mut roles = roles?;
    roles.sort();
    let before = roles.len();
    roles.dedup();
    (roles.len() == before).then_some(roles)
}

fn role_name(index: usize) -> &'static str {
    Role::ALL.get(index).map_or("OWNER", |role| role.name())
}

fn names_of(roles: &[usize]) -> Vec<&'static str> {
    roles.iter().map(|index| role_name(*index)).collect()
}

fn email_of(index: usize) -> String {
    if index == 0 {
        "admin@example.org".to_owned()
    } else {
        format!("e{index}@example.org")
    }
}

fn actor() -> impl Strategy<Value = Actor> {
    // Roles with permissions to manage users come up more often.
    let role = prop_oneof![
        5 => Just(Role::SuperAdmin),
        3 => Just(Role::Administrator),
        1 => prop::sample::select(Role::ALL),
    ];
    (0..8_usize, role).prop_map(|(place, role)| Actor { place, role })
}

fn role_list() -> impl Strategy<Value = Vec<usize>> {
    vec(prop_oneof![3 => Just(0_usize), 5 => 0..6_usize], 1..4)
}

fn op() -> impl Strategy<Value = Op> {
    let create = (actor(), 0..NAMES, 0..NAMES, role_list()).prop_map(|(by, name, email, roles)| Op::Create {
        by,
        name,
        email,
        roles,
    });
    let update = (
        actor(),
        0..8_usize,
        prop::option::weighted(0.2, 0..NAMES),
        prop::option::of(any::<bool>()),
        prop::option::of(role_list()),
    )
        .prop_map(|(by, target, email, is_active, roles)| Op::Update {
            by,
            target,
            email,
            is_active,
            roles,
        });
    let delete = (actor(), 0..8_usize).prop_map(|(by, target)| Op::Delete { by, target });
    prop_oneof![3 => create, 5 => update, 2 => delete]
}

/// The users as the API lists them.
async fn listed(surface: &Surface) -> Vec<Person> {
    let token = surface.token_claiming(STRANGER, &[Role::SuperAdmin]);
    let (_, body) = surface
        .call(Method::GET, "/api/users?pageSize=200", Some(&token), Value::Null)
        .await;
    let items = body["items"].as_array().expect("a list");
    items
        .iter()
        .map(|item| Person {
            id: text(&item["id"]).to_owned(),
            name: text(&item["username"]).to_owned(),
            email: text(&item["email"]).to_owned(),
            is_active: item["isActive"] == json!(true),
            is_system: item["isSystem"] == json!(true),
            roles: serde_json::from_value(item["roles"].clone()).expect("roles"),
        })
        .collect()
}

/// The service's answer to `op`.
async fn real(surface: &Surface, model: &Model, op: &Op) -> (StatusCode, Value) {
    let (by, method, path, body) = match op {
        Op::Create {
            by,
            name,
            email,
            roles,
        } => {
            let body = json!({
                "username": format!("user{name}"),
                "email": email_of(*email),
                "password": PASSWORD,
                "roleNames": names_of(roles),
            });
            (by, Method::POST, "/api/users".to_owned(), body)
        }
        Op::Update {
            by,
            target,
            email,
            is_active,
            roles,
        } => {
            let mut body = json!({});
            if let Some(email) = email {
                body["email"] = json!(email_of(*email));
            }
            if let Some(is_active) = is_active {
                body["isActive"] = json!(is_active);
            }
            if let Some(roles) = roles {
                body["roleNames"] = json!(names_of(roles));
            }
            let path = format!("/api/users/{}", model.id(*target));
            (by, Method::PATCH, path, body)
        }
        Op::Delete { by, target } => {
            let path = format!("/api/users/{}", model.id(*target));
            (by, Method::DELETE, path, Value::Null)
        }
    };
    let token = surface.token_claiming(model.id(by.place), &[by.role]);
    surface.call(method, &path, Some(&token), body).await
}

fn expected(model: &mut Model, op: &Op) -> Answer {
    match op {
        Op::Create {
            by,
            name,
            email,
            roles,
        } => {
            let actor = model.id(by.place).to_owned();
            let name = format!("user{name}");
            model.create((by.role, &actor), name, email_of(*email), &names_of(roles))
        }
        Op::Update {
            by,
            target,
            email,
            is_active,
            roles,
        } => {
            let actor = model.id(by.place).to_owned();
            let target = model.id(*target).to_owned();
            let names = roles.as_deref().map(names_of);
            model.update(
                (by.role, &actor),
                &target,
                email.map(email_of),
                *is_active,
                names.as_deref(),
            )
        }
        Op::Delete { by, target } => {
            let actor = model.id(by.place).to_owned();
            let target = model.id(*target).to_owned();
            model.delete((by.role, &actor), &target)
        }
    }
}

async fn play(surface: &Surface, ops: &[Op]) -> Result<(), TestCaseError> {
    let mut tx = surface.house.db.begin_write().await.expect("begun");
    let _ = qm_db::exec!(&mut tx, DELETE_ALL).await.expect("deleted");
    tx.commit().await.expect("committed");
    surface.house.identity.seed(&admin()).await.expect("seeded");
    let mut model = Model(listed(surface).await);
    prop_assert_eq!(model.0.len(), 1);
    for op in ops {
        // Users are listed by age, so each operation has its own time.
        surface.house.clock.advance(Duration::from_millis(1));
        let (status, body) = real(surface, &model, op).await;
        let (expected, message) = expected(&mut model, op);
        prop_assert_eq!(
            (status, body["message"].as_str()),
            (expected, message),
            "{:?}",
            op
        );
        if status == StatusCode::CREATED
            && let Some(person) = model.0.last_mut()
        {
            text(&body["id"]).clone_into(&mut person.id);
        }
        let stored = listed(surface).await;
        prop_assert!(
            stored.iter().any(Person::is_active_super_admin),
            "nobody is left after {:?}",
            op
        );
        prop_assert_eq!(format!("{stored:?}"), format!("{:?}", model.0), "after {:?}", op);
    }
    Ok(())
}

qm_db::db_test! {
    async fn every_sequence_leaves_a_super_admin_and_answers_as_the_model_does(db: Db) {
        let surface = Surface::with_limit(db, 0).await;
        let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
        let mut runner = TestRunner::new(config);
        let handle = tokio::runtime::Handle::current();
        let outcome = runner.run(&vec(op(), 1..LONGEST), |ops| {
            tokio::task::block_in_place(|| handle.block_on(play(&surface, &ops)))
        });
        if let Err(failure) = outcome {
            panic!("{failure}");
        }
    }
}
