//! Backup, restore, and the copy before a migration.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};

use qm_db::{Db, all, exec, sql, testing};

use crate::place::{PATIENCE, Place, STRONG_A, text};

/// The schema of a version that has been released.
const OLD_SCHEMA: i64 = 3;

sql! {
    ADD = "INSERT INTO settings (key, value, updated_at) VALUES ($1, $2, 0)";
    KEYS = "SELECT key FROM settings WHERE key LIKE 'row %'";
}

async fn add(db: &Db, number: i64, size: usize) {
    let mut tx = db.begin_write().await.expect("begun");
    let (key, value) = (format!("row {number}"), format!("\"{}\"", "x".repeat(size)));
    let added = exec!(&mut tx, ADD, key, value).await;
    added.expect("added").exactly(1).expect("one row");
    tx.commit().await.expect("committed");
}

async fn rows(url: &str) -> BTreeSet<String> {
    let db = Db::open(url).await.expect("opened");
    let mut tx = db.begin_read().await.expect("begun");
    let rows = all!(&mut tx, (String,), KEYS).await.expect("read");
    drop(tx);
    db.close().await;
    rows.into_iter().map(|(key,)| key).collect()
}

fn numbered(numbers: std::ops::RangeInclusive<i64>) -> BTreeSet<String> {
    numbers.map(|number| format!("row {number}")).collect()
}

/// A database of the old schema with one row, where a server makes its own.
async fn old_database(place: &Place) {
    std::fs::create_dir_all(place.path("data")).expect("made");
    let db = Db::open(&place.database_url()).await.expect("opened");
    testing::migrate_to(&db, OLD_SCHEMA).await;
    add(&db, 1, 1000).await;
    db.close().await;
}

/// The files in `data/backups`, by name.
fn backups(place: &Place) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(place.path("data/backups"))
        .map(|entries| entries.map(|entry| entry.expect("readable").path()).collect())
        .unwrap_or_default();
    found.sort();
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_of_a_running_server_brings_back_what_was_acknowledged() {
    let place = Place::new();
    let server = place.serve(&[]);
    let db = Db::open(&place.database_url()).await.expect("opened");
    let (written, stop) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicBool::new(false)));
    let writer = tokio::spawn({
        let (db, written, stop) = (db.clone(), written.clone(), stop.clone());
        async move {
            while !stop.load(Ordering::Relaxed) {
                let next = written.load(Ordering::Relaxed) + 1;
                add(&db, next, 100).await;
                written.store(next, Ordering::SeqCst);
            }
        }
    });
    while written.load(Ordering::SeqCst) < 50 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let before = written.load(Ordering::SeqCst);
    let said = place.output_of(&["backup", "copy.db"], &[], 0);
    assert!(
        said.contains("`copy.db` is a backup of") && said.contains("data/secrets.json"),
        "{said}"
    );
    stop.store(true, Ordering::Relaxed);
    writer.await.expect("written");
    db.close().await;

    let before_refusal = std::fs::read(place.path("data/quartermaster.db"))
        .expect("read")
        .len();
    let line = place.complaint(&["restore", "copy.db"], &[]);
    assert!(
        line.contains("in use by another Quartermaster (process "),
        "{line}"
    );
    assert!(server.get("/api/system/ready").contains("\"database\":true"));
    let after_refusal = std::fs::read(place.path("data/quartermaster.db"))
        .expect("read")
        .len();
    assert_eq!(after_refusal, before_refusal);

    let line = place.complaint(&[], &[]);
    assert!(
        line.contains("in use by another Quartermaster"),
        "two servers on one database: {line}"
    );
    let (status, _) = server.stop("-TERM");
    assert!(status.success(), "{status}");

    let all = rows(&place.database_url()).await;
    let said = place.output_of(&["restore", "copy.db"], &[], 0);
    let replaced = said
        .split('`')
        .find(|part| part.contains(".replaced-"))
        .expect("named")
        .to_owned();
    let restored = rows(&place.database_url()).await;
    assert!(
        restored.is_superset(&numbered(1..=before)),
        "an acknowledged row is not in the backup"
    );
    assert!(all.is_superset(&restored));
    assert_eq!(
        rows(&format!("sqlite:{}", place.path(&replaced).display())).await,
        all
    );
    let server = place.serve(&[]);
    assert!(server.get("/api/system/ready").contains("\"database\":true"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_backup_changes_nothing() {
    let place = Place::new();
    place.output_of(&["migrate"], &[], 0);
    std::fs::write(place.path("garbage"), "no database ".repeat(500)).expect("written");
    let before = place.contents();
    for (arguments, reason) in [
        (&["restore", "garbage"][..], "not an SQLite database"),
        (&["restore", "nowhere"], "no such file"),
        (
            &["restore", "data/quartermaster.db"],
            "belongs to the database itself",
        ),
        (&["backup", "garbage"], "--force"),
        (&["backup", "nowhere/copy.db"], "no such file"),
        (
            &["backup", "data/quartermaster.db", "--force"],
            "belongs to the database itself",
        ),
    ] {
        let line = place.complaint(arguments, &[]);
        assert!(line.contains(reason), "{arguments:?}: {line}");
        assert_eq!(place.contents(), before, "{arguments:?}");
    }

    let empty = Place::new();
    let before = empty.contents();
    for arguments in [&["backup", "copy.db"], &["restore", "copy.db"]] {
        empty.complaint(arguments, &[]);
        assert_eq!(empty.contents(), before, "{arguments:?}: something was made");
    }
}

#[test]
fn postgresql_has_tools_of_its_own() {
    let place = Place::new();
    let url = ("DATABASE_URL", "postgres://qm:hunter2@db.example/media");
    for (arguments, command) in [
        (
            ["backup", "x"],
            "pg_dump --format=custom --exclude-schema='titledb*' --file=x --host=db.example --port=5432 --username=qm --dbname=media",
        ),
        (
            ["restore", "x"],
            "pg_restore --clean --if-exists --no-owner --host=db.example",
        ),
    ] {
        let line = place.complaint(&arguments, &[url]);
        assert!(line.contains(command) && !line.contains("hunter2"), "{line}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_that_is_killed_leaves_nothing_under_its_name() {
    let place = Place::new();
    place.output_of(&["migrate"], &[], 0);
    let db = Db::open(&place.database_url()).await.expect("opened");
    for number in 1..=200 {
        add(&db, number, 200_000).await;
    }
    db.close().await;
    let deadline = Instant::now() + PATIENCE;
    loop {
        let mut backup = place
            .command(&["backup", "copy.db"], &[])
            .stdout(Stdio::null())
            .spawn()
            .expect("the binary runs");
        let under_way = || {
            let parts = std::fs::read_dir(place.path(".")).expect("readable").flatten();
            parts
                .filter(|entry| entry.file_name().to_string_lossy().ends_with(".part"))
                .any(|entry| entry.metadata().is_ok_and(|found| found.len() > 0))
        };
        while !under_way() && backup.try_wait().expect("waited").is_none() {
            std::hint::spin_loop();
        }
        backup.kill().expect("killed or gone");
        let status = backup.wait().expect("waited");
        if !status.success() {
            break;
        }
        // It was faster than the kill.
        std::fs::remove_file(place.path("copy.db")).expect("there");
        assert!(Instant::now() < deadline, "no backup is slow enough to be killed");
    }
    assert!(
        !place.path("copy.db").exists(),
        "half a backup has the name of a whole one"
    );
    place.output_of(&["backup", "copy.db"], &[], 0);
    assert_eq!(
        rows(&format!("sqlite:{}", place.path("copy.db").display())).await,
        numbered(1..=200)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_is_preceded_by_a_copy_and_five_are_kept() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("data/backups")).expect("made");
    std::fs::write(place.path("data/backups/mine.db"), "").expect("written");
    std::fs::write(place.path("data/backups/auto-x.db.1-0.part"), "").expect("written");
    let mut seen = Vec::new();
    for round in 0..7 {
        for name in ["quartermaster.db", "quartermaster.db-wal", "quartermaster.db-shm"] {
            drop(std::fs::remove_file(place.path("data").join(name)));
        }
        old_database(&place).await;
        if round == 0 {
            let (status, _) = place.serve(&[]).stop("-TERM");
            assert!(status.success(), "{status}");
        } else {
            place.output_of(&["migrate"], &[], 0);
        }
        place.output_of(&["migrate"], &[], 0);
        let newest = backups(&place)
            .into_iter()
            .rfind(|path| !seen.contains(path) && !path.ends_with("mine.db"));
        seen.push(newest.expect("one copy a migration"));
    }
    let mut expected = seen[2..].to_vec();
    expected.push(place.path("data/backups/mine.db"));
    assert_eq!(backups(&place), expected, "the last five, and what is not ours");

    let copy = seen.last().expect("made");
    assert!(text(copy).ends_with("-schema-3.db"), "{copy:?}");
    let url = format!("sqlite:{}", copy.display());
    let db = Db::open(&url).await.expect("opened");
    let outdated = db.outdated().await.expect("read").expect("an old schema");
    assert_eq!(outdated.version, Some(OLD_SCHEMA));
    db.close().await;
    assert_eq!(rows(&url).await, numbered(1..=1));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_room_for_the_copy_nothing_is_migrated() {
    let place = Place::new();
    old_database(&place).await;
    std::fs::write(place.path("data/backups"), "a file").expect("written");
    let line = place.complaint(&["migrate"], &[]);
    assert!(
        line.contains("data/backups") && line.contains("backup before a migration"),
        "{line}"
    );
    std::fs::remove_file(place.path("data/backups")).expect("there");

    // Room for what SQLite keeps beside the database, not for a second database.
    let db = Db::open(&place.database_url()).await.expect("opened");
    add(&db, 2, 1_000_000).await;
    db.close().await;

    let output = std::process::Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 400; exec \"$0\" migrate"])
        .arg(env!("CARGO_BIN_EXE_quartermaster"))
        .env_clear()
        .current_dir(place.path("."))
        .output()
        .expect("sh runs");
    let line = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{line}");
    assert!(
        line.contains("was not begun") && line.matches('\n').count() == 1,
        "{line}"
    );
    assert!(backups(&place).is_empty(), "{:?}", backups(&place));

    let db = Db::open(&place.database_url()).await.expect("opened");
    let outdated = db.outdated().await.expect("read").expect("still the old schema");
    assert_eq!(outdated.version, Some(OLD_SCHEMA));
    db.close().await;
}

#[test]
fn the_key_is_named_where_it_is() {
    let place = Place::new();
    place.output_of(&["migrate"], &[], 0);
    let said = place.output_of(&["backup", "copy.db"], &[("ENCRYPTION_KEY", STRONG_A)], 0);
    assert!(
        said.contains("ENCRYPTION_KEY is not in it") && !said.contains(STRONG_A),
        "{said}"
    );
    assert!(
        !place.path("data/backups").exists(),
        "a new database needs no copy"
    );
}
