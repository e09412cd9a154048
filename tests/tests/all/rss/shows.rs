//! Rules on shows over a whole server: a data set says that a show airs and then that it is over, automation hears of it,
//! and who may insists on a rule all the same.

use std::io::Write as _;
use std::path::Path;

use qm_db::{Db, exec, sql};
use qm_kernel::Role;
use qm_testkit::wait::until_true;
use qm_testkit::{Api, TestServer, both_databases};
use serde_json::{Value, json};

sql! {
    /// Takes the right to insist on a rule from the power users. Every role with feeds has it at first.
    TAKE_OVERRIDE = "DELETE FROM role_permissions WHERE role_id = (SELECT id FROM roles WHERE name = 'POWER_USER') \
        AND permission_id = (SELECT id FROM permissions WHERE key = 'rss.show_status.override')";
}

const SHOW: &str = "tt0000102";

/// Imports a data set in which the show ended then.
async fn import(admin: &Api, folder: &Path, end_year: &str) {
    let text = format!(
        "tconst\ttitleType\tprimaryTitle\toriginalTitle\tisAdult\tstartYear\tendYear\truntimeMinutes\tgenres\n\
         {SHOW}\ttvSeries\tHarbor Nine\tHarbor Nine\t0\t2023\t{end_year}\t40\tDrama\n"
    );
    let file = std::fs::File::create(folder.join("title.basics.tsv.gz")).expect("our own file");
    let mut gzip = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).expect("our own file");
    gzip.finish().expect("our own file");
    let settings = json!({ "mode": "dataset", "importStrategy": "full", "importTvShows": true });
    admin
        .patch("/api/media/providers/titledb/settings", settings)
        .await;
    let imports = "/api/media/providers/titledb/dataset/imports";
    let ended = |imports: &Value| {
        let imports = imports.as_array().map_or(&[][..], Vec::as_slice);
        imports
            .iter()
            .filter(|import| import["status"] == "completed")
            .count()
    };
    let before = ended(&admin.get(imports).await);
    let path = json!({ "datasetPath": folder });
    admin
        .post("/api/media/providers/titledb/dataset/import", path)
        .await;
    until_true("the data set to be imported", || async {
        ended(&admin.get(imports).await) > before
    })
    .await;
}

async fn status(admin: &Api) -> Value {
    let path = "/api/rss/show-status/lookup?title=Harbor%20Nine&provider=titledb";
    let told = admin.get(path).await;
    assert_eq!(told["providerShowId"], SHOW, "{told}");
    told["normalizedStatus"].clone()
}

async fn take_override(db: &Db) {
    let mut tx = db.begin_write().await.expect("a write");
    let taken = exec!(&mut tx, TAKE_OVERRIDE)
        .await
        .expect("a statement that holds");
    taken.exactly(1).expect("it had it");
    tx.commit().await.expect("a commit");
}

both_databases! {
    async fn a_rule_on_a_show_that_is_over_is_stored_for_who_may_insist_and_automation_hears_of_it(db: &TestDb) {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let server = TestServer::builder(db).start().await;
        let admin = server.admin();
        import(&admin, folder.path(), "\\N").await;
        assert_eq!(status(&admin).await, "continuing");
        let feed = admin.post("/api/rss/feeds", json!({ "name": "Main", "url": "http://127.0.0.1:9/rss", "isEnabled": false })).await;
        let about = |name: &str| json!({
            "feedId": feed["id"], "name": name, "mediaType": "tv", "showStatusProvider": "titledb", "showStatusProviderId": SHOW,
        });
        let rule = admin.post("/api/rss/rules", about("airs")).await;
        assert_eq!((&rule["showStatus"], &rule["isEnabled"]), (&json!("continuing"), &json!(true)), "{rule}");

        // It ends; the show of the event is the one whose rules are disabled.
        let automation = admin.post("/api/automation/rules", json!({
            "name": "over", "trigger": "rss.show_status.changed", "conditions": [{ "field": "to", "op": "eq", "value": "ended" }],
            "actions": [{ "type": "disable_rss_rule", "params": {} }],
        })).await;
        import(&admin, folder.path(), "2025").await;
        assert_eq!(status(&admin).await, "ended");
        until_true("automation to have disabled the rule", || async {
            admin.get("/api/rss/rules").await[0]["isEnabled"] == false
        }).await;
        let log = format!("/api/automation/rules/{}/logs", automation["id"].as_str().expect("an id"));
        until_true("the run to be in the log", || async {
            let lines = admin.get(&log).await;
            lines["total"] == 1 && lines["items"][0]["status"] == "success"
        }).await;

        // Another rule on it is refused; who may not insist is, too; who may is heard, and automation hears of that.
        let heard = admin.post("/api/automation/rules", json!({
            "name": "heard", "trigger": "rss.rule.created_for_inactive_show", "conditions": [],
            "actions": [{ "type": "convert_rule_to_backfill", "params": {} }],
        })).await;
        let refused = admin.send("POST", "/api/rss/rules", Some(&about("again"))).await;
        let told = refused.json()["message"].as_str().unwrap_or_default().to_owned();
        assert_eq!(refused.status, 400, "{told}");
        assert!(told.starts_with("\"Harbor Nine\" appears to be ended. Confirm "), "{told}");
        let mut insisting = about("again");
        insisting["allowInactiveShowMonitoring"] = true.into();
        let somebody = server.user(Role::PowerUser);
        take_override(server.db()).await;
        let refused = somebody.send("POST", "/api/rss/rules", Some(&insisting)).await;
        assert_eq!((refused.status, &refused.json()["message"]), (403, &json!("Missing permission(s): rss.show_status.override")));
        assert_eq!(admin.get("/api/rss/rules").await.as_array().map(Vec::len), Some(1), "nothing of it was stored");
        let stored = admin.post("/api/rss/rules", insisting).await;
        assert_eq!((&stored["showStatus"], &stored["allowInactiveShowMonitoring"]), (&json!("ended"), &json!(true)), "{stored}");
        let log = format!("/api/automation/rules/{}/logs", heard["id"].as_str().expect("an id"));
        until_true("automation to have heard of it", || async {
            admin.get(&log).await["items"][0]["status"] == "success"
        }).await;
        let feeds = admin.get("/api/rss/feeds").await;
        let rules = feeds[0]["rules"].as_array().expect("rules").iter();
        let mut stood: Vec<_> = rules.map(|rule| (rule["name"].as_str(), rule["isEnabled"] == true, rule["autoDownload"] == true)).collect();
        stood.sort_unstable();
        assert_eq!(stood, [(Some("again"), true, false), (Some("airs"), false, false)]);
        let audit = admin.get("/api/audit?action=rss.rule.created_for_inactive_show").await;
        assert_eq!(audit["total"], 1, "{audit}");
        server.end().await;
    }
}
