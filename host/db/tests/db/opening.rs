//! Tests of the operator's error line when the database cannot be opened, with its remedy.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use qm_db::{Backend, Db, DbError, testing};

async fn refusal(url: &str) -> String {
    let Err(error) = Db::open(url).await else {
        panic!("`{url}` was opened")
    };
    assert!(matches!(error, DbError::Open(_)), "{error:?}");
    let line = error.to_string();
    assert!(!line.contains('\n') && !line.contains("s3cret"), "{line}");
    line
}

#[tokio::test]
async fn addresses_that_name_no_database_are_refused() {
    for url in [
        "",
        "file.db",
        "mysql://host/db",
        "sqlite:",
        "sqlite::memory:",
        "sqlite:a.db?mode=rwc",
    ] {
        assert!(refusal(url).await.contains("sqlite:/path/to/file.db"), "{url}");
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_opened_is_named_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| format!("sqlite:{}", folder.path().join(name).display());
    assert!(
        refusal(&at("missing/x.db"))
            .await
            .contains("make its directory first")
    );
    assert!(refusal(&at("")).await.contains("is a directory"));
    let text = folder.path().join("text.db");
    std::fs::write(
        &text,
        "this is no database at all, it is only some text that goes on for a while",
    )
    .unwrap();
    let line = refusal(&at("text.db")).await;
    assert!(
        line.contains("not an SQLite database") && line.contains("text.db"),
        "{line}"
    );
    std::fs::write(folder.path().join("file"), "").unwrap();
    assert!(
        refusal(&at("file/x.db"))
            .await
            .contains("make its directory first")
    );
}

#[tokio::test]
async fn a_new_file_is_closed_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.db");
    let db = Db::open(&format!("sqlite://{}", path.display())).await.unwrap();
    db.migrate().await.unwrap();
    for name in ["new.db", "new.db-wal", "new.db-shm"] {
        let mode = std::fs::metadata(folder.path().join(name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let log = std::fs::metadata(folder.path().join("new.db-wal")).unwrap();
    assert_eq!(
        log.len(),
        0,
        "what was migrated stands in the file: whoever is killed now reads no log"
    );
    assert!(db.ping().await);
    db.close().await;
    assert!(!db.ping().await);
    assert!(
        !folder.path().join("new.db-wal").exists(),
        "the log is folded into the file"
    );
}

#[tokio::test]
async fn an_unreachable_server_is_named_without_the_password() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    drop(taken);
    let line = refusal(&format!("postgres://qm:s3cret@127.0.0.1:{port}/qm")).await;
    assert!(
        line.contains(&format!("127.0.0.1:{port}")) && line.contains("DATABASE_URL"),
        "{line}"
    );
    assert!(
        refusal("postgres://qm:s3cret@127.0.0.1:notaport/qm")
            .await
            .contains("not a PostgreSQL address")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_database_on_a_server_is_named_with_the_remedy() {
    let Some(scratch) = testing::Scratch::new(Backend::Postgres).await else {
        return;
    };
    let line = refusal(&scratch.url().replace("qm_test", "qm_absent")).await;
    assert!(line.contains("createdb"), "{line}");
    scratch.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_goes_away_shows_in_ping() {
    let Ok(server) = testing::PostgresServer::start() else {
        return;
    };
    let db = Db::open(server.url()).await.unwrap();
    assert!(!db.ping().await, "there is nothing to write to yet");
    db.migrate().await.unwrap();
    assert!(db.ping().await);
    drop(server);
    assert!(
        !tokio::time::timeout(Duration::from_mins(1), db.ping())
            .await
            .expect("ping is bounded")
    );
}
