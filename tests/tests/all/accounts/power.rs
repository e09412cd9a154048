//! Routes that hand out power, attacked with tokens that outlive their user's rights: the user was deactivated, demoted
//! or deleted.
//!
//! The routes come from the document: all that change something and need a permission that hands out power, and those
//! of one's own account. Each answers 403 and changes nothing.

use qm_db::{Db, all, sql};
use qm_kernel::{Permission, Role};
use qm_test_base::engine::FakeKinds;
use qm_testkit::server::PASSWORD;
use qm_testkit::ws::Ws;
use qm_testkit::{Api, TestServer, both_databases};
use serde_json::{Value, json};

use crate::document::{NOBODY, Operation, fresh, operations};
use crate::table::TABLE;

sql! {
    USERS = "SELECT id || '|' || username || '|' || email || '|' || COALESCE(display_name, '') || '|' || password_hash \
        || '|' || COALESCE(timezone, '') || '|' || COALESCE(totp_secret, '') || '|' || recovery_codes || '|' \
        || CAST(is_active AS TEXT) FROM users ORDER BY id";
    GRANTS = "SELECT user_id || '|' || role_id FROM user_roles ORDER BY user_id, role_id";
    KEYS = "SELECT id || '|' || user_id || '|' || COALESCE(CAST(revoked_at AS TEXT), '') FROM api_keys ORDER BY id";
    SETTINGS = "SELECT key || '|' || value FROM settings ORDER BY key";
    ENGINES = "SELECT id || '|' || name || '|' || config FROM torrent_engines ORDER BY id";
    AUDIT = "SELECT id || '|' || action FROM audit_logs ORDER BY id";
}

/// Everything that power is made of, and the audit trail.
async fn state(db: &Db) -> Vec<String> {
    let mut tx = db.begin_read().await.expect("a read");
    let mut state = Vec::new();
    for statement in [USERS, GRANTS, KEYS, SETTINGS, ENGINES, AUDIT] {
        let rows = all!(&mut tx, (String,), statement).await.expect("rows");
        state.extend(rows.into_iter().map(|(row,)| row));
    }
    state
}

/// A user whose token still says what the user no longer is.
struct Fallen {
    how: &'static str,
    id: String,
    key: String,
    api: Api,
}

impl Fallen {
    /// Signs in as a super administrator, leaves an API key behind, and falls.
    async fn new(server: &TestServer, how: &'static str) -> Fallen {
        let root = server.admin();
        let user = json!({
            "username": how, "email": format!("{how}@example.org"), "password": PASSWORD, "roleNames": ["SUPER_ADMIN"],
        });
        let id = word(&root.post("/api/users", user).await["id"]);
        let login = json!({ "username": how, "password": PASSWORD });
        let reply = fresh(&server.anonymous(), "POST", "/api/auth/login")
            .json(&login)
            .send()
            .await;
        let token = word(&reply.expect("an answer").json()["accessToken"]);
        let api = server.anonymous().with_token(Some(token));
        api.post("/api/api-keys", json!({ "name": "left behind" })).await;
        let keys = api.get("/api/api-keys").await;
        let path = format!("/api/users/{id}");
        match how {
            "deactivated" => drop(root.patch(&path, json!({ "isActive": false })).await),
            "demoted" => drop(root.patch(&path, json!({ "roleNames": ["READ_ONLY"] })).await),
            "deleted" => drop(root.delete(&path).await),
            other => panic!("nobody knows how to be {other}"),
        }
        Fallen {
            how,
            id,
            key: word(&keys[0]["id"]),
            api,
        }
    }
}

fn word(value: &Value) -> String {
    value
        .as_str()
        .unwrap_or_else(|| panic!("no text: {value}"))
        .to_owned()
}

/// True if the operation writes and needs a permission that hands out power.
fn hands_out_power(operation: &Operation) -> bool {
    operation.method != "GET"
        && operation
            .needed
            .iter()
            .any(|permission| permission.hands_out_power())
}

/// True if it changes the caller's own account.
fn is_own_account(operation: &Operation) -> bool {
    let own = operation.path.starts_with("/api/account/") || operation.path == "/api/auth/change-password";
    own && operation.method != "GET"
}

/// Routes that a deactivated user may still call until their token expires: they give nobody anything that lasts
/// longer.
const BY_TOKEN: &[&str] = &[
    // What is done to torrents, files and jobs is done once, and seen in the audit.
    "/api/torrents",
    "/api/categories",
    "/api/tags",
    "/api/files/",
    "/api/jobs/",
    // Nothing is stored of what is tried, looked up or searched for.
    "/api/media/preview",
    "/api/rss/rules/preview",
    "/api/rss/rules/{id}/test-",
    "/api/rss/convert-to-regex",
    "/api/rss/smart-match/",
    "/api/rss/show-status/",
    "/api/indexers/search",
    "/api/system/update/check",
];

/// True if it writes, needs a permission, and has effects beyond its answer: a lasting change, or a request to somebody
/// else's server.
fn outlasts_its_token(operation: &Operation) -> bool {
    let by_token = BY_TOKEN.iter().any(|path| operation.path.starts_with(path));
    operation.method != "GET" && !operation.needed.is_empty() && (!by_token || hands_out_power(operation))
}

/// A good body of the route, with the right password in it.
fn good_body(operation: &Operation, root: &str) -> Option<Value> {
    let row = TABLE.iter().find(|row| row.route == operation.name());
    let row = row.unwrap_or_else(|| panic!("`{}` has no row in table.rs", operation.name()));
    let text = row
        .body?
        .replace("{root}", root)
        .replace("not the password", PASSWORD);
    Some(serde_json::from_str(&text).expect("bodies of the table are JSON"))
}

async fn attack(who: &Fallen, operation: &Operation, target: &str, body: Option<&Value>) {
    let request = fresh(&who.api, &operation.method, target);
    let request = match body {
        Some(body) => request.json(body),
        None => request,
    };
    let reply = request.send().await.expect("an answer");
    assert_eq!(
        reply.status,
        403,
        "{target} by somebody {}: {}",
        who.how,
        reply.text()
    );
}

both_databases! {
    async fn who_has_lost_power_hands_out_none(db: &TestDb) {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let root_path = folder.path().display().to_string();
        let kinds = FakeKinds::first_party();
        kinds.engine("one");
        let server = TestServer::builder(db).kinds(kinds).env("FILE_MANAGER_ROOTS", &root_path).start().await;
        let root = server.admin();
        let config = json!({ "host": "one", "password": "a stored secret" });
        let engine = root.add_engine("seedbox", "scgi_client", config).await;
        let bystander = json!({
            "username": "bystander", "email": "bystander@example.org", "password": PASSWORD, "roleNames": ["USER"],
        });
        let bystander = word(&root.post("/api/users", bystander).await["id"]);
        let mut fallen = Vec::new();
        for how in ["deactivated", "demoted", "deleted"] {
            fallen.push(Fallen::new(&server, how).await);
        }

        let all = operations(&server.anonymous()).await;
        let powers: Vec<&Operation> = all.iter().filter(|operation| hands_out_power(operation)).collect();
        let own: Vec<&Operation> = all.iter().filter(|operation| is_own_account(operation)).collect();
        assert!(powers.len() >= 13 && own.len() >= 7, "{} and {}", powers.len(), own.len());
        let before = state(server.db()).await;
        for who in &fallen {
            // Whoever was demoted goes on with what every role may do.
            let lost = |operation: &&&Operation| {
                let mut needed = operation.needed.iter();
                who.how != "demoted" || needed.any(|permission| !permission.roles().contains(&Role::ReadOnly))
            };
            for operation in powers.iter().filter(lost) {
                let target = operation.with(|_| match operation.path.split('/').nth(2) {
                    Some("users") => bystander.clone(),
                    Some("engines") => engine.clone(),
                    Some("api-keys") => who.key.clone(),
                    Some("settings") => "general.theme".to_owned(),
                    _ => NOBODY.to_owned(),
                });
                attack(who, operation, &target, good_body(operation, &root_path).as_ref()).await;
            }
            for operation in own.iter().filter(|_| who.how != "demoted") {
                attack(who, operation, &operation.target(), good_body(operation, &root_path).as_ref()).await;
            }
            let changes_user = powers.iter().find(|operation| operation.name() == "PATCH /api/users/{id}");
            let changes_user = changes_user.expect("users can be changed");
            let itself = format!("/api/users/{}", who.id);
            attack(who, changes_user, &itself, Some(&json!({ "isActive": true }))).await;
            let makes_user = powers.iter().find(|operation| operation.name() == "POST /api/users");
            let successor = json!({
                "username": "successor", "email": "successor@example.org", "password": PASSWORD,
                "roleNames": ["SUPER_ADMIN"],
            });
            attack(who, makes_user.expect("users can be made"), "/api/users", Some(&successor)).await;
            let tests = powers.iter().find(|operation| operation.name() == "POST /api/engines/test");
            let stored = json!({ "kind": "scgi_client", "engineId": engine, "config": { "host": "one" } });
            attack(who, tests.expect("engines can be tried"), "/api/engines/test", Some(&stored)).await;
            assert_eq!(state(server.db()).await, before, "something changed by somebody {}", who.how);
        }
    }

    async fn who_is_deactivated_changes_nothing_that_lasts(db: &TestDb) {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let root_path = folder.path().display().to_string();
        let kinds = FakeKinds::first_party();
        kinds.engine("one");
        let server = TestServer::builder(db).kinds(kinds).env("FILE_MANAGER_ROOTS", &root_path).start().await;
        let who = Fallen::new(&server, "deactivated").await;
        let all = operations(&server.anonymous()).await;
        for path in BY_TOKEN {
            assert!(all.iter().any(|operation| operation.path.starts_with(path)), "nothing is at {path}");
        }
        let before = state(server.db()).await;
        let lasting: Vec<&Operation> = all.iter().filter(|operation| outlasts_its_token(operation)).collect();
        assert!(lasting.len() > 80, "{}", lasting.len());
        let mut done = Vec::new();
        for operation in lasting {
            let target = operation.with(|name| match name {
                "eventKey" => "torrent.completed".to_owned(),
                "key" => "general.theme".to_owned(),
                "seasonNumber" => "1".to_owned(),
                _ => NOBODY.to_owned(),
            });
            let request = fresh(&who.api, &operation.method, &target);
            let request = match good_body(operation, &root_path) {
                Some(body) => request.json(&body),
                None => request,
            };
            let reply = request.send().await.expect("an answer");
            if reply.status != 403 || reply.json()["code"] != "forbidden.account_inactive" {
                done.push(format!("{}: {} {}", operation.name(), reply.status, reply.text()));
            }
        }
        assert!(done.is_empty(), "by somebody deactivated:\n{}", done.join("\n"));
        assert_eq!(state(server.db()).await, before, "something changed");
    }

    async fn sockets_of_whom_lost_the_account_or_changed_the_password_close_on_every_server(db: &TestDb) {
        let (one, two) = (TestServer::builder(db).start().await, TestServer::builder(db).start().await);
        let root = one.admin();
        for how in ["deactivated", "deleted", "new password"] {
            let name = how.replace(' ', "-");
            let user = json!({
                "username": name, "email": format!("{name}@example.org"), "password": PASSWORD, "roleNames": ["USER"],
            });
            let id = word(&root.post("/api/users", user).await["id"]);
            let login = json!({ "username": name, "password": PASSWORD });
            let reply = fresh(&one.anonymous(), "POST", "/api/auth/login").json(&login).send().await;
            let token = word(&reply.expect("an answer").json()["accessToken"]);
            let here = one.anonymous().with_token(Some(token.clone()));
            let there = two.anonymous().with_token(Some(token));
            let (mut near, mut far) = (Ws::connect(&here).await, Ws::connect(&there).await);
            for socket in [&mut near, &mut far] {
                socket.until("admission", |event, _| (event == "auth:ok").then_some(())).await;
            }
            let path = format!("/api/users/{id}");
            match how {
                "deactivated" => drop(root.patch(&path, json!({ "isActive": false })).await),
                "deleted" => drop(root.delete(&path).await),
                _ => {
                    let change = json!({ "currentPassword": PASSWORD, "newPassword": "another good password" });
                    here.post("/api/account/password", change).await;
                }
            }
            for socket in [&mut near, &mut far] {
                while socket.next().await.is_some() {}
            }
            if how != "new password" {
                let mut back = Ws::connect(&there).await;
                back.until("a refusal", |event, _| (event == "auth:error").then_some(())).await;
            }
        }
    }

    async fn a_super_admin_who_is_one_no_longer_makes_none(db: &TestDb) {
        let server = TestServer::builder(db).start().await;
        let root = server.admin();
        let fallen = Fallen::new(&server, "demoted").await;
        let path = format!("/api/users/{}", fallen.id);
        // Still an administrator who manages users, but nobody who may make or change a super administrator.
        root.patch(&path, json!({ "roleNames": ["ADMINISTRATOR"] })).await;
        let user = |name: &str, role: Role| json!({
            "username": name, "email": format!("{name}@example.org"), "password": PASSWORD, "roleNames": [role.name()],
        });
        fallen.api.post("/api/users", user("one", Role::User)).await;
        let reply = fallen.api.send("POST", "/api/users", Some(&user("two", Role::SuperAdmin))).await;
        assert_eq!(reply.status, 403, "{}", reply.text());
        let admin = word(&root.get("/api/auth/me").await["id"]);
        let reply = fallen.api.send("PATCH", &format!("/api/users/{admin}"), Some(&json!({ "displayName": "x" }))).await;
        assert_eq!(reply.status, 403, "{}", reply.text());
        let reply = fallen.api.send("PATCH", "/api/system/update/settings", Some(&json!({ "enabled": true }))).await;
        let wanted = format!("Missing permission(s): {}", Permission::SystemManage.key());
        assert_eq!((reply.status, &reply.json()["message"]), (403, &json!(wanted)));
    }
}
