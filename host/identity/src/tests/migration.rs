//! Tests of migrations of existing accounts.

use qm_db::testing::{Scratch, migrate_to};
use qm_db::{Backend, all, exec};
use serde_json::json;

use super::*;

/// Version of the schema before addresses were normalised and tokens recorded how they ended.
const BEFORE: i64 = 7;

sql! {
    ADD_USER = "INSERT INTO users (id, username, email, password_hash, created_at, updated_at) \
        VALUES ($1, $1, $2, '', $3, $3)";
    ADD_TOKEN = "INSERT INTO refresh_tokens (id, user_id, token_hash, family, expires_at, revoked_at, created_at) \
        VALUES ($1, 'b', $1, 'f', 9000, $2, $3)";
    EMAILS = "SELECT id, email, email_folded FROM users ORDER BY id";
    ROTATED = "SELECT id, rotated_at FROM refresh_tokens ORDER BY id";
}

async fn accounts_of_before(backend: Backend) {
    let Some(scratch) = Scratch::new(backend).await else {
        return;
    };
    let db = Db::open(scratch.url()).await.expect("opened");
    migrate_to(&db, BEFORE).await;
    let none: Option<i64> = None;
    let mut tx = db.begin_write().await.expect("begun");
    let users: [(&str, &str, i64); 4] = [
        ("a", "Jo@Example.org", 2),
        ("b", "jo@example.org", 1),
        ("c", "JO@EXAMPLE.ORG", 2),
        ("d", "x@y.org", 3),
    ];
    for (id, email, created) in users {
        exec!(&mut tx, ADD_USER, id, email, created)
            .await
            .expect("added")
            .exactly(1)
            .expect("one");
    }
    for (id, revoked, created) in [
        ("first", Some(20), 10_i64),
        ("second", Some(30), 20),
        ("third", none, 40),
    ] {
        exec!(&mut tx, ADD_TOKEN, id, revoked, created)
            .await
            .expect("added")
            .exactly(1)
            .expect("one");
    }
    tx.commit().await.expect("committed");
    db.migrate().await.expect("migrated");

    let mut tx = db.begin_read().await.expect("begun");
    let emails = all!(&mut tx, (String, String, String), EMAILS)
        .await
        .expect("read");
    let wanted = [
        ("a", "duplicate.a.Jo@Example.org", "duplicate.a.jo@example.org"),
        ("b", "jo@example.org", "jo@example.org"),
        ("c", "duplicate.c.JO@EXAMPLE.ORG", "duplicate.c.jo@example.org"),
        ("d", "x@y.org", "x@y.org"),
    ];
    assert_eq!(
        emails,
        wanted.map(|(id, email, folded)| (id.to_owned(), email.to_owned(), folded.to_owned()))
    );
    let rows = all!(&mut tx, AuditRow, AUDIT_ROWS).await.expect("read");
    let mut told: Vec<_> = rows
        .iter()
        .map(|row| (row.object_id.as_deref(), row.metadata()))
        .collect();
    told.sort_by_key(|(id, _)| *id);
    assert_eq!(
        told,
        [
            (Some("a"), json!({ "formerEmail": "Jo@Example.org" })),
            (Some("c"), json!({ "formerEmail": "JO@EXAMPLE.ORG" })),
        ]
    );
    let rotated = all!(&mut tx, (String, Option<i64>), ROTATED).await.expect("read");
    let wanted = [("first", Some(20)), ("second", None), ("third", None)];
    assert_eq!(
        rotated,
        wanted.map(|(id, at)| (id.to_owned(), at)),
        "the first was exchanged for the second"
    );
    drop(tx);
    db.close().await;
    scratch.remove().await;
}

#[tokio::test]
async fn accounts_of_before_on_sqlite() {
    accounts_of_before(Backend::Sqlite).await;
}

#[tokio::test]
async fn accounts_of_before_on_postgres() {
    accounts_of_before(Backend::Postgres).await;
}
