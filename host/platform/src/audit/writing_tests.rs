//! Writing audit rows, on both databases.

use std::net::{IpAddr, Ipv4Addr};

use qm_db::{Db, Json, Statement, all, db_test, exec, sql};
use qm_kernel::event::{Cause, DomainEvent};
use qm_kernel::{ClientInfo, Ctx};
use serde_json::{Value, json};

use crate::audit::{Audit, AuditEntry, AuditResult};

sql! {
    LIST = "SELECT user_id, action, object_type, object_id, result, ip_address, user_agent, metadata \
        FROM audit_logs ORDER BY action";
    ADD_USER = "INSERT INTO users (id, username, email, password_hash, created_at, updated_at) \
        VALUES ('u', 'u', 'u@example.org', '', 0, 0)";
    DELETE_USER = "DELETE FROM users WHERE id = 'u'";
    EVENTS = "SELECT event_key FROM outbox ORDER BY position";
    NO_TRAIL = "DROP TABLE audit_logs";
    NO_OUTBOX = "DROP TABLE outbox";
}

type Row = (
    Option<String>,
    String,
    Option<String>,
    Option<String>,
    String,
    Option<String>,
    Option<String>,
    Option<Json<Value>>,
);

async fn rows(db: &Db) -> Vec<Row> {
    all!(&mut db.begin_read().await.unwrap(), Row, LIST)
        .await
        .unwrap()
}

async fn run(db: &Db, statement: Statement) {
    let mut tx = db.begin_write().await.unwrap();
    let _ = exec!(&mut tx, statement).await.unwrap();
    tx.commit().await.unwrap();
}

async fn events(db: &Db) -> Vec<String> {
    let mut tx = db.begin_read().await.unwrap();
    let found = all!(&mut tx, (String,), EVENTS).await.unwrap();
    found.into_iter().map(|(key,)| key).collect()
}

qm_kernel::events! {
    struct Moved: "test.moved" about "file" {
        to: String,
    }
}

fn entry(action: &'static str) -> AuditEntry<'static> {
    AuditEntry {
        user_id: Some("u".into()),
        action,
        ..AuditEntry::default()
    }
}

db_test! {
    async fn a_row_commits_with_its_change_or_not_at_all(db: Db) {
        let audit = Audit::new(Ctx::system());
        let mut tx = db.begin_write().await.unwrap();
        let _ = exec!(&mut tx, ADD_USER).await.unwrap();
        audit.record(&mut tx, entry("users.create")).await.unwrap();
        drop(tx);
        assert!(rows(&db).await.is_empty());
        let mut tx = db.begin_write().await.unwrap();
        let _ = exec!(&mut tx, ADD_USER).await.unwrap();
        audit.record(&mut tx, entry("users.create")).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(rows(&db).await.len(), 1);
    }

    async fn an_event_goes_out_with_its_row_and_without_it_too(db: Db) {
        let (ctx, audit) = (Ctx::system(), Audit::new(Ctx::system()));
        let moved = || DomainEvent::new(&ctx, Cause::NONE, "a", &Moved { to: "b".into() });
        audit.record_and_tell(&db, entry("file.renamed"), moved()).await;
        assert_eq!((rows(&db).await.len(), events(&db).await), (1, vec!["test.moved".to_owned()]));
        run(&db, NO_TRAIL).await;
        audit.record_and_tell(&db, entry("file.renamed"), moved()).await;
        assert_eq!(events(&db).await, ["test.moved", "test.moved"], "the file was moved whatever the database says");
    }

    async fn a_row_is_written_whose_event_is_refused(db: Db) {
        let (ctx, audit) = (Ctx::system(), Audit::new(Ctx::system()));
        run(&db, NO_OUTBOX).await;
        let moved = DomainEvent::new(&ctx, Cause::NONE, "a", &Moved { to: "b".into() });
        audit.record_and_tell(&db, entry("file.renamed"), moved).await;
        assert_eq!(rows(&db).await.len(), 1);
    }

    async fn a_row_holds_only_so_much_of_what_a_caller_sent(db: Db) {
        let audit = Audit::new(Ctx::system());
        let long = "é".repeat(5_000_000);
        let entry = AuditEntry {
            object_id: Some(format!("x{long}")),
            metadata: Some(json!({ "error": long, "resolutions": vec!["skip"; 300_000], "list": [{ "path": long }], "n": 1 })),
            ..entry("file.operation_failed")
        };
        audit.record_alone(&db, entry).await;
        let (_, _, _, id, _, _, _, metadata) = rows(&db).await.remove(0);
        assert_eq!(id, Some(format!("x{}…", "é".repeat(2047))), "cut between two characters");
        let cut = format!("{}…", "é".repeat(2048));
        let expected = json!({ "error": cut, "resolutions": vec!["skip"; 1000], "list": [{ "path": cut }], "n": 1 });
        assert_eq!(metadata.unwrap().0, expected);
    }

    async fn a_row_outlives_its_user_and_is_never_refused_for_want_of_one(db: Db) {
        let audit = Audit::new(Ctx::system());
        let mut tx = db.begin_write().await.unwrap();
        let _ = exec!(&mut tx, ADD_USER).await.unwrap();
        tx.commit().await.unwrap();
        audit.record_alone(&db, entry("a.first")).await;
        let mut tx = db.begin_write().await.unwrap();
        exec!(&mut tx, DELETE_USER).await.unwrap().exactly(1).unwrap();
        tx.commit().await.unwrap();
        audit.record_alone(&db, entry("b.second")).await;
        let users: Vec<_> = rows(&db).await.into_iter().map(|row| (row.1, row.0)).collect();
        assert_eq!(users, [("a.first".into(), None), ("b.second".into(), None)]);
    }

    async fn every_column_is_kept(db: Db) {
        let client = ClientInfo {
            ip: IpAddr::V4(Ipv4Addr::LOCALHOST),
            forwarded: "198.51.100.7, 203.0.113.1".into(),
            user_agent: Some("agent\0".into()),
            request_id: String::new(),
        };
        let entry = AuditEntry {
            action: "engines.create",
            object_type: Some("torrent_engine"),
            object_id: Some("e\0".into()),
            result: AuditResult::Failure,
            client: Some(&client),
            metadata: Some(json!({ "name": "a\0b", "count": 3 })),
            ..AuditEntry::default()
        };
        Audit::new(Ctx::system()).record_alone(&db, entry).await;
        let expected = (
            None,
            "engines.create".to_owned(),
            Some("torrent_engine".to_owned()),
            Some("e\u{fffd}".to_owned()),
            "failure".to_owned(),
            Some("198.51.100.7, 203.0.113.1".to_owned()),
            Some("agent\u{fffd}".to_owned()),
            Some(Json(json!({ "name": "a\0b", "count": 3 }))),
        );
        assert_eq!(rows(&db).await, [expected]);
    }
}
