//! Tests of the migration that finds authors for existing rules.

use qm_db::testing::{Scratch, migrate_to};
use qm_db::{Backend, Db, all, exec, sql};

/// Version of the schema before rules had authors.
const BEFORE: i64 = 45;

sql! {
    ADD_USER = "INSERT INTO users (id, username, email, password_hash, is_active, is_system, failed_login_attempts, \
            totp_enabled, recovery_codes, created_at, updated_at, email_folded) \
        VALUES ($1, $1, $1, '', $2, $3, 0, $3, '[]', 1, 1, $1)";
    ADD_RULE = "INSERT INTO automation_rules (id, name, trigger_key, conditions, actions, is_enabled, priority, created_at, \
            updated_at) VALUES ($1, $1, 't', '[]', '[]', $2, 0, 1, 1)";
    ADD_AUDIT = "INSERT INTO audit_logs (id, user_id, action, object_type, object_id, result, created_at) \
        VALUES ($1, $2, $3, 'automation_rule', $4, 'success', $5)";
    AUTHORS = "SELECT id, author_id FROM automation_rules ORDER BY id";
}

async fn rules_of_before(backend: Backend) {
    let Some(scratch) = Scratch::new(backend).await else {
        return;
    };
    let db = Db::open(scratch.url()).await.expect("opened");
    migrate_to(&db, BEFORE).await;
    let mut tx = db.begin_write().await.expect("begun");
    for user in ["ada", "bob"] {
        exec!(&mut tx, ADD_USER, user, true, false)
            .await
            .expect("added")
            .exactly(1)
            .expect("one");
    }
    let created = "automation.rules.create";
    let updated = "automation.rules.update";
    let told: [(&str, &[(Option<&str>, &str)]); 5] = [
        ("1 own", &[(Some("ada"), created), (Some("ada"), updated)]),
        (
            "2 changed by another",
            &[(Some("ada"), created), (Some("bob"), updated)],
        ),
        ("3 its beginning is gone", &[(Some("ada"), updated)]),
        (
            "4 changed by somebody gone",
            &[(Some("ada"), created), (None, updated)],
        ),
        ("5 nobody knows", &[]),
    ];
    for (rule, rows) in told {
        exec!(&mut tx, ADD_RULE, rule, true)
            .await
            .expect("added")
            .exactly(1)
            .expect("one");
        for (at, (user, action)) in rows.iter().enumerate() {
            let (id, user) = (format!("{rule} {at}"), user.map(str::to_owned));
            exec!(&mut tx, ADD_AUDIT, id, user, *action, rule, at as i64)
                .await
                .expect("added")
                .exactly(1)
                .expect("one");
        }
    }
    tx.commit().await.expect("committed");
    db.migrate().await.expect("migrated");
    let mut tx = db.begin_read().await.expect("begun");
    let authors = all!(&mut tx, (String, Option<String>), AUTHORS)
        .await
        .expect("read");
    let authors: Vec<_> = authors.iter().map(|(_, author)| author.as_deref()).collect();
    assert_eq!(
        authors,
        [Some("ada"), None, None, None, None],
        "nobody is taken for the author of what others changed"
    );
    drop(tx);
    db.close().await;
    scratch.remove().await;
}

#[tokio::test]
async fn authors_are_those_who_alone_wrote_a_rule_on_sqlite() {
    rules_of_before(Backend::Sqlite).await;
}

#[tokio::test]
async fn authors_are_those_who_alone_wrote_a_rule_on_postgres() {
    rules_of_before(Backend::Postgres).await;
}
