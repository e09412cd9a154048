//! Powers of rules over a whole server: with the actions there are, whoever provides them.

use qm_kernel::{Permission, Role};
use qm_ports::engine::TorrentState;
use qm_test_base::engine::{FakeKinds, torrent};
use qm_testkit::wait::until;
use qm_testkit::{Api, TestServer, both_databases};
use serde_json::{Value, json};

use super::plugins::grant;

const RULES: &str = "/api/automation/rules";

fn rule(action: &Value) -> Value {
    json!({ "name": "r", "trigger": "torrent.completed", "actions": [{ "type": action, "params": {} }] })
}

/// The permissions that an action of the catalogue declares.
fn declared(action: &Value) -> Vec<Permission> {
    let keys = action["permissions"].as_array().into_iter().flatten();
    keys.map(|key| {
        let key = key.as_str().unwrap_or_default();
        Permission::from_key(key).unwrap_or_else(|| panic!("{action} declares `{key}`"))
    })
    .collect()
}

/// Waits until a rule's log has a line, and answers its message.
async fn logged(api: &Api, id: &str) -> Value {
    until("the rule to have run", || async {
        let page = api.get(&format!("{RULES}/{id}/logs")).await;
        page["items"]
            .as_array()?
            .first()
            .map(|line| line["message"].clone())
    })
    .await
}

both_databases! {
    /// Every action declares permissions, whatever area or plugin provides it, and a rule with it is stored only by
    /// users who may do the same by hand.
    async fn every_action_of_the_catalogue_is_stored_by_those_alone_who_may_do_it(db: &TestDb) {
        let files = &["torrent_actions.wasm", "webhook.wasm"];
        let server = TestServer::builder(db).plugins(files).start().await;
        let catalogue = server.admin().get("/api/automation/catalog").await;
        let actions = catalogue["actions"].as_array().cloned().unwrap_or_default();
        assert!(actions.len() >= 13, "{catalogue}");
        for action in actions {
            let needs = declared(&action);
            assert!(!needs.is_empty(), "the action {} declares no permission", action["id"]);
            for &role in Role::ALL {
                let may = |need: Permission| role == Role::SuperAdmin || role.permissions().any(|held| held == need);
                let expected = may(Permission::AutomationManage) && needs.iter().all(|need| may(*need));
                let reply = server.user(role).send("POST", RULES, Some(&rule(&action["id"]))).await;
                assert_eq!(reply.status, if expected { 201 } else { 403 }, "{} by {role:?}: {}", action["id"], reply.text());
                if !expected && may(Permission::AutomationManage) {
                    let told = reply.json()["message"].to_string();
                    let lacks = |need: &&Permission| !may(**need);
                    let lacking = needs.iter().find(lacks).map_or("", |need| need.key());
                    assert!(told.contains(lacking) && told.contains(action["id"].as_str().unwrap_or("?")), "{told}");
                }
            }
        }
        let delete = catalogue["actions"].as_array().into_iter().flatten().find(|action| action["id"] == "delete_with_data");
        assert_eq!(delete.map(|action| &action["permissions"]), Some(&json!(["torrents.delete_data"])));
        server.end().await;
    }

    async fn a_rule_does_not_do_what_its_author_may_no_longer(db: &TestDb) {
        let kinds = FakeKinds::first_party();
        let engine = kinds.engine("one");
        engine.put(torrent(1));
        let server = TestServer::builder(db).kinds(kinds).plugins(&["torrent_actions.wasm"]).start().await;
        let admin = server.admin();
        grant(&admin, "torrent_actions", "torrents").await;
        let id = admin.add_engine("fake", "scgi_client", json!({ "host": "one" })).await;
        admin.until_torrent(&id, &torrent(1).hash, "the torrent to be listed", |_| true).await;
        let author = server.user(Role::Administrator);
        let made = author.post(RULES, rule(&json!("delete_with_data"))).await;
        let made = made["id"].as_str().expect("an id").to_owned();
        let account = format!("/api/users/{}", server.user_id(Role::Administrator));
        admin.patch(&account, json!({ "roleNames": ["POWER_USER"] })).await;
        let complete = || engine.change(&torrent(1).hash, |torrent| {
            torrent.progress = 1.0;
            torrent.state = TorrentState::Seeding;
        });
        complete();
        let told = logged(&admin, &made).await;
        let why = "The rule does not run: its author may not do what \"delete_with_data\" does: torrents.delete_data is missing. \
                   Whoever saves it again becomes its author";
        assert_eq!(told, json!(why));
        assert!(engine.commands().is_empty(), "nothing was asked of the client");
        let listed = admin.get(RULES).await;
        assert_eq!((&listed[0]["problem"], &listed[0]["author"]), (&json!(why), &json!(server.user_id(Role::Administrator))));
        // Nor may they store it again; whoever may, may.
        let again = format!("{RULES}/{made}");
        let refused = author.send("PATCH", &again, Some(&json!({ "isEnabled": true }))).await;
        assert_eq!((refused.status, &refused.json()["code"]), (403, &json!("forbidden.action")), "{}", refused.text());
        let saved = admin.patch(&again, json!({ "isEnabled": true })).await;
        assert_eq!((&saved["problem"], &saved["author"]), (&Value::Null, &json!(server.user_id(Role::SuperAdmin))));
        until("the torrent to be removed", || async { (!engine.commands().is_empty()).then_some(()) }).await;
        let audit = admin.get("/api/audit?action=automation.rule.executed").await;
        assert!(audit["items"].as_array().into_iter().flatten().any(|row| row["metadata"]["ruleId"] == json!(made)), "{audit}");
        server.end().await;
    }
}
