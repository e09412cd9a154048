//! Tests of copying the SQLite file under load and of restoring it: complete, or refused with nothing
//! changed.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use qm_db::{Db, SqliteFile, all, exec, sql, value};

sql! {
    ADD = "INSERT INTO settings (key, value, updated_at) VALUES ($1, $2, $3)";
    KEYS = "SELECT key FROM settings";
    /// A transaction adds two rows with the same number, so every snapshot has an even count.
    HALVES = "SELECT CAST(COUNT(*) AS BIGINT) FROM (SELECT updated_at FROM settings GROUP BY updated_at \
        HAVING COUNT(*) <> 2) AS halves";
    FROM_THE_FUTURE = "INSERT INTO schema_migrations (version, name, checksum) VALUES (99999, '99999_later', '')";
    STRANGER = "CREATE TABLE strangers (name TEXT)";
}

/// A folder with a database `x.db` in it.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn url(&self, name: &str) -> String {
        format!("sqlite:{}", self.path(name).display())
    }

    fn file(&self) -> SqliteFile {
        SqliteFile::from_url(&self.url("x.db")).unwrap().unwrap()
    }

    async fn open(&self, name: &str) -> Db {
        let db = Db::open(&self.url(name)).await.unwrap();
        db.migrate().await.unwrap();
        db
    }

    /// A closed database of that name with the rows `numbers`.
    async fn holding(&self, name: &str, numbers: impl Iterator<Item = i64>) {
        let db = self.open(name).await;
        for number in numbers {
            add(&db, number).await;
        }
        self.close(name, db).await;
    }

    /// Closes it; its log is gone with the last connection, which may be a moment later.
    async fn close(&self, name: &str, db: Db) {
        db.close().await;
        drop(db);
        while self.path(&format!("{name}-wal")).exists() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// The rows of a closed database.
    async fn rows(&self, name: &str) -> BTreeSet<String> {
        let db = Db::open(&self.url(name)).await.unwrap();
        let keys = keys(&db).await;
        self.close(name, db).await;
        keys
    }

    /// Every file with its content.
    fn contents(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found: Vec<_> = std::fs::read_dir(self.0.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.clone(), std::fs::read(path).unwrap()))
            .collect();
        found.sort();
        found
    }

    fn names(&self) -> Vec<String> {
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        self.contents().iter().map(|(path, _)| name(path)).collect()
    }
}

async fn add(db: &Db, number: i64) {
    let mut tx = db.begin_write().await.unwrap();
    for half in ["a", "b"] {
        let (key, value) = (format!("{number} {half}"), "x".repeat(300));
        exec!(&mut tx, ADD, key, value, number)
            .await
            .unwrap()
            .exactly(1)
            .unwrap();
    }
    tx.commit().await.unwrap();
}

async fn keys(db: &Db) -> BTreeSet<String> {
    let mut tx = db.begin_read().await.unwrap();
    let rows = all!(&mut tx, (String,), KEYS).await.unwrap();
    rows.into_iter().map(|(key,)| key).collect()
}

fn both_of(numbers: impl Iterator<Item = i64>) -> BTreeSet<String> {
    numbers
        .flat_map(|number| [format!("{number} a"), format!("{number} b")])
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_under_load_is_one_state_and_holds_what_was_acknowledged() {
    let place = Place::new();
    let db = place.open("x.db").await;
    let (acknowledged, stop) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicBool::new(false)));
    let writer = tokio::spawn({
        let (db, acknowledged, stop) = (db.clone(), acknowledged.clone(), stop.clone());
        async move {
            let mut number = 0;
            while !stop.load(Ordering::Relaxed) {
                number += 1;
                add(&db, number).await;
                acknowledged.store(number, Ordering::SeqCst);
            }
        }
    });
    for round in 0..8 {
        let goal = (round + 1) * 25;
        while acknowledged.load(Ordering::SeqCst) < goal {
            tokio::task::yield_now().await;
        }
        let before = acknowledged.load(Ordering::SeqCst);
        let name = format!("copy {round}.db");
        let copied = place.file().backup(&place.path(&name), false).await.unwrap();
        assert_eq!(copied.bytes, std::fs::metadata(place.path(&name)).unwrap().len());
        let copy = Db::open(&place.url(&name)).await.unwrap();
        assert!(
            keys(&copy).await.is_superset(&both_of(1..=before)),
            "an acknowledged row is missing"
        );
        let halves = value!(&mut copy.begin_read().await.unwrap(), i64, HALVES)
            .await
            .unwrap();
        assert_eq!(halves, 0, "a transaction is there by half");
        copy.close().await;
    }
    stop.store(true, Ordering::Relaxed);
    writer.await.unwrap();
    let all = keys(&db).await;
    assert_eq!(
        all,
        both_of(1..=acknowledged.load(Ordering::SeqCst)),
        "the source lost nothing"
    );
    db.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_has_one_owner_and_replaces_only_when_told_to() {
    let place = Place::new();
    place.holding("x.db", 0..3).await;
    let to = place.path("copy.db");
    let copied = place.file().backup(&to, false).await.unwrap();
    assert!(copied.schema.starts_with("00"), "{copied:?}");
    assert_eq!(
        std::fs::metadata(&to).unwrap().permissions().mode() & 0o777,
        0o600
    );

    let before = place.contents();
    let line = place.file().backup(&to, false).await.unwrap_err().to_string();
    assert!(
        line.contains("exists already") && line.contains("--force"),
        "{line}"
    );
    for own in ["x.db", "missing/copy.db"] {
        place.file().backup(&place.path(own), true).await.unwrap_err();
    }
    std::fs::hard_link(place.path("x.db"), place.path("link")).unwrap();
    place.file().backup(&place.path("link"), true).await.unwrap_err();
    std::fs::remove_file(place.path("link")).unwrap();
    assert_eq!(place.contents(), before, "what was refused changed nothing");

    place.holding("x.db", 3..5).await;
    place.file().backup(&to, true).await.unwrap();
    assert_eq!(place.rows("copy.db").await, both_of(0..5));
    assert!(
        place.names().iter().all(|name| !name.contains("part")),
        "{:?}",
        place.names()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_database_is_not_copied() {
    let place = Place::new();
    place.holding("x.db", 0..400).await;
    let mut bytes = std::fs::read(place.path("x.db")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 20_000].fill(0xa5);
    std::fs::write(place.path("x.db"), bytes).unwrap();
    let before = place.contents();
    let line = place
        .file()
        .backup(&place.path("copy.db"), false)
        .await
        .unwrap_err()
        .to_string();
    assert!(line.contains("damaged") && line.contains("x.db"), "{line}");
    assert_eq!(place.contents(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_database_is_the_copy_and_the_old_one_is_kept() {
    let place = Place::new();
    place.holding("x.db", 0..10).await;
    place.file().backup(&place.path("copy.db"), false).await.unwrap();
    place.holding("x.db", 10..20).await;
    let restored = place
        .file()
        .restore(&place.path("copy.db"), "then")
        .await
        .unwrap();
    assert_eq!(restored.replaced, Some(place.path("x.db.replaced-then")));
    assert_eq!(place.rows("x.db").await, both_of(0..10));
    assert_eq!(place.rows("x.db.replaced-then").await, both_of(0..20));

    let elsewhere = SqliteFile::from_url(&place.url("new.db")).unwrap().unwrap();
    let restored = elsewhere.restore(&place.path("copy.db"), "then").await.unwrap();
    assert_eq!(restored.replaced, None);
    assert_eq!(place.rows("new.db").await, both_of(0..10));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_left_by_a_kill_goes_with_its_own_database() {
    let place = Place::new();
    place.holding("x.db", 0..5).await;
    place.file().backup(&place.path("copy.db"), false).await.unwrap();
    let db = place.open("x.db").await;
    for number in 5..9 {
        add(&db, number).await;
    }
    // State after a kill: the file and its log.
    for damaged in [false, true] {
        let other = Place::new();
        for name in ["x.db", "x.db-wal", "x.db-shm", "copy.db"] {
            std::fs::copy(place.path(name), other.path(name)).unwrap();
        }
        if damaged {
            std::fs::write(other.path("x.db"), "no database any more").unwrap();
        }
        let restored = other
            .file()
            .restore(&other.path("copy.db"), "then")
            .await
            .unwrap();
        assert!(restored.replaced.is_some());
        assert_eq!(
            other.rows("x.db").await,
            both_of(0..5),
            "the old log was applied to the new file"
        );
        if damaged {
            let log = std::fs::read(other.path("x.db.replaced-then-wal")).unwrap();
            assert_eq!(log, std::fs::read(place.path("x.db-wal")).unwrap());
        } else {
            assert_eq!(other.rows("x.db.replaced-then").await, both_of(0..9));
        }
    }
    // A copy made by hand includes its log.
    let other = Place::new();
    for name in ["x.db", "x.db-wal"] {
        std::fs::copy(place.path(name), other.path(&name.replace('x', "by hand"))).unwrap();
    }
    other
        .file()
        .restore(&other.path("by hand.db"), "then")
        .await
        .unwrap();
    assert_eq!(other.rows("x.db").await, both_of(0..9));
    db.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_sound_backup_of_ours_is_refused_and_nothing_is_changed() {
    let place = Place::new();
    place.holding("x.db", 0..60).await;
    place.file().backup(&place.path("good"), false).await.unwrap();
    let whole = std::fs::read(place.path("good")).unwrap();
    std::fs::write(place.path("truncated"), &whole[..whole.len() / 2]).unwrap();
    std::fs::write(place.path("cut"), &whole[..whole.len() - 1000]).unwrap();
    std::fs::write(place.path("empty"), "").unwrap();
    std::fs::write(place.path("garbage"), "no database ".repeat(900)).unwrap();
    let mut noise = whole[..100].to_vec();
    noise.extend("noise".repeat(4000).bytes());
    std::fs::write(place.path("noise"), noise).unwrap();
    for (name, change) in [("newer", FROM_THE_FUTURE), ("stranger", STRANGER)] {
        let db = Db::open(&place.url(name)).await.unwrap();
        if name == "newer" {
            db.migrate().await.unwrap();
        }
        let mut tx = db.begin_write().await.unwrap();
        let _ = exec!(&mut tx, change).await.unwrap();
        tx.commit().await.unwrap();
        place.close(name, db).await;
    }
    let before = place.contents();
    for (name, reason) in [
        ("truncated", "damaged"),
        ("cut", "damaged"),
        ("empty", "not an SQLite database"),
        ("garbage", "not an SQLite database"),
        ("noise", "damaged"),
        ("missing", "no such file"),
        ("newer", "newer version"),
        ("stranger", "not a database of Quartermaster"),
        ("x.db", "belongs to the database itself"),
    ] {
        let line = place
            .file()
            .restore(&place.path(name), "then")
            .await
            .unwrap_err()
            .to_string();
        assert!(line.contains(reason) && !line.contains('\n'), "{name}: {line}");
        assert_eq!(place.contents(), before, "{name}: something was changed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_in_use_is_not_replaced() {
    let place = Place::new();
    place.holding("x.db", 0..3).await;
    place.file().backup(&place.path("copy.db"), false).await.unwrap();

    let server = Db::open_alone(&place.url("x.db"), "test").await.unwrap();
    add(&server, 3).await;
    let line = place
        .file()
        .restore(&place.path("copy.db"), "then")
        .await
        .unwrap_err()
        .to_string();
    assert!(line.contains("in use by another Quartermaster"), "{line}");
    let line = Db::open_alone(&place.url("x.db"), "test")
        .await
        .err()
        .unwrap()
        .to_string();
    assert!(line.contains("in use by another Quartermaster"), "{line}");
    place
        .file()
        .backup(&place.path("copy 2.db"), false)
        .await
        .unwrap();
    server.close().await;
    drop(server);

    // A tool that has it open holds no lock, but its writes would be lost.
    let tool = Db::open(&place.url("x.db")).await.unwrap();
    add(&tool, 4).await;
    let line = place
        .file()
        .restore(&place.path("copy.db"), "then")
        .await
        .unwrap_err()
        .to_string();
    assert!(line.contains("another process has it open"), "{line}");
    assert_eq!(keys(&tool).await, both_of(0..5));
    tool.close().await;
    place
        .file()
        .restore(&place.path("copy.db"), "then")
        .await
        .unwrap();
    assert_eq!(place.rows("x.db").await, both_of(0..3));
}
