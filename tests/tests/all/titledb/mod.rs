//! The data set of titles: an import by a server that is killed in the middle of it.

use std::path::Path;

use qm_testkit::binary::Binary;
use qm_testkit::wait::until;
use qm_testkit::{Api, TestDb, both_databases};
use qm_titledb::testing::{Size, write};
use serde_json::{Value, json};

const SIZE: Size = Size {
    titles: 20_000,
    akas: 60_000,
    episodes: 20_000,
    principals: 40_000,
    persons: 5_000,
};
const DATASET: &str = "/api/media/providers/titledb/dataset";
/// Titles that are compared, all over the set.
const COMPARED: u64 = 100;

async fn start(dir: &Path, db: &TestDb, files: &Path) -> (Binary, Api) {
    let roots = files.display().to_string();
    let env = [
        ("THROTTLE_LIMIT", "1000000"),
        ("FILE_MANAGER_ROOTS", roots.as_str()),
    ];
    let server = Binary::start_with(dir, db.url(), &env).await;
    let admin = server.admin().await;
    (server, admin)
}

async fn newest(admin: &Api) -> Value {
    admin.get(&format!("{DATASET}/imports")).await[0].clone()
}

async fn begin(admin: &Api, files: &Path) -> String {
    let path = json!({ "datasetPath": files });
    let import = admin.post(&format!("{DATASET}/import"), path).await;
    import["id"].as_str().expect("an id").to_owned()
}

fn imported(import: &Value) -> u64 {
    import["recordsImported"].as_u64().unwrap_or(0)
}

/// Waits until the import has so many rows, none fewer than `least` at any time.
async fn reaches(admin: &Api, id: &str, least: u64, rows: u64) -> Value {
    until("the import to come so far", || async {
        let import = newest(admin).await;
        assert_eq!(import["id"], id, "it is the same import: {import}");
        assert!(imported(&import) >= least, "it goes on where it was: {import}");
        let is_over = !matches!(import["status"].as_str(), Some("pending" | "running"));
        (is_over || imported(&import) >= rows).then_some(import)
    })
    .await
}

/// Everything that was imported: the statistics, some titles, and the number of titles.
async fn all(admin: &Api, import: &Value) -> Value {
    assert_eq!(import["status"], "completed", "{import}");
    let mut stats = import["stats"].clone();
    stats["durationMs"] = Value::Null;
    let mut titles = Vec::new();
    for at in 1..=COMPARED {
        let number = at * SIZE.titles / COMPARED;
        titles.push(
            admin
                .get(&format!("/api/media/providers/titledb/title/tt{number:07}"))
                .await,
        );
    }
    let status = admin.get("/api/media/providers/titledb/status").await;
    json!({ "stats": stats, "titles": titles, "count": status["datasetTitleCount"] })
}

both_databases! {
    async fn an_import_that_is_killed_again_and_again_ends_as_one_that_is_not(db: &TestDb) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let files = tempfile::tempdir().expect("a temporary directory");
        write(files.path(), SIZE, 7).expect("our own files");
        let (mut server, mut admin) = start(dir.path(), db, files.path()).await;
        let settings = json!({ "mode": "dataset", "importStrategy": "full" });
        admin.patch("/api/media/providers/titledb/settings", settings).await;
        let undisturbed = begin(&admin, files.path()).await;
        let import = reaches(&admin, &undisturbed, 0, u64::MAX).await;
        let rows = imported(&import);
        assert!(rows > SIZE.titles + SIZE.akas + SIZE.episodes + SIZE.principals, "{import}");
        let wanted = all(&admin, &import).await;
        admin.post(&format!("{DATASET}/reset"), json!({})).await;
        let id = begin(&admin, files.path()).await;
        let mut least = 0;
        for part in [1, 2, 3] {
            let import = reaches(&admin, &id, least, rows * part / 5).await;
            assert_eq!(import["status"], "running", "it is caught at it: {import}");
            server.kill();
            least = imported(&import);
            (server, admin) = start(dir.path(), db, files.path()).await;
        }
        let import = reaches(&admin, &id, least, u64::MAX).await;
        assert_eq!(all(&admin, &import).await, wanted);
        assert!(server.stop().await.success());
    }
}
