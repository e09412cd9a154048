//! Tests of the list of audit rows: every page equals that of sorting all rows, and no query reads the whole
//! table.

use std::time::Duration;

use qm_db::{Backend, Db, Statement, Tx, all, db_test, sql};
use qm_kernel::{PageQuery, Timestamp};
use qm_test_base::{Hands, START_MS};

use super::marks::STEP;
use super::repo;
use super::trail::AuditTrail;
use super::{Audit, AuditEntry};
use crate::testing::fill_audit;

sql! {
    EVERY_ID = "SELECT id, action FROM audit_logs ORDER BY created_at DESC, id DESC";
}

const NEWEST: i64 = START_MS;
/// An hour after the newest row.
const LATER: i64 = NEWEST + 3_600_000;

fn page(page: u64, page_size: u64) -> PageQuery {
    PageQuery { page, page_size }
}

async fn ids(trail: &AuditTrail, query: PageQuery, action: Option<&str>) -> (Vec<String>, u64) {
    let (rows, total) = trail.page(query, action).await.unwrap();
    (rows.into_iter().map(|row| row.id).collect(), total)
}

/// All ids and actions, the newest first.
async fn every_row(db: &Db) -> Vec<(String, String)> {
    all!(&mut db.begin_read().await.unwrap(), (String, String), EVERY_ID)
        .await
        .unwrap()
}

db_test! {
    async fn pages_are_slices_of_the_sorted_whole(db: Db) {
        // Several rows share a time, so that their order is tested too.
        fill_audit(&db, 4 * STEP + 321, Timestamp::from_ms(NEWEST), 0).await.unwrap();
        let rows = every_row(&db).await;
        let ctx = Hands::starting_at(LATER).ctx();
        let trail = AuditTrail::new(db.clone(), ctx);
        for action in [None, Some("torrents.delete"), Some("users.update"), Some("no.such")] {
            let whole: Vec<&String> = rows
                .iter()
                .filter(|(_, of)| action.is_none_or(|action| action == of))
                .map(|(id, _)| id)
                .collect();
            let pages = whole.len().div_ceil(200);
            for number in [1, 2, 10, 11, 12, 20, 25, pages / 2, pages.saturating_sub(1), pages, pages + 1] {
                let number = number.max(1);
                let (found, total) = ids(&trail, page(number as u64, 200), action).await;
                let expected: Vec<&String> = whole.iter().skip((number - 1) * 200).take(200).copied().collect();
                assert_eq!(total, whole.len() as u64, "{action:?}");
                assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{action:?}, page {number} of {pages}");
            }
        }
    }

    async fn rows_that_come_meanwhile_are_counted(db: Db) {
        fill_audit(&db, 2 * STEP, Timestamp::from_ms(NEWEST), 1).await.unwrap();
        let hands = Hands::starting_at(LATER);
        let ctx = hands.ctx();
        let (trail, audit) = (AuditTrail::new(db.clone(), ctx.clone()), Audit::new(ctx));
        let oldest = every_row(&db).await.pop().unwrap().0;
        for added in 0..3 {
            let (first, total) = ids(&trail, page(1, 1), None).await;
            assert_eq!(total, 2 * STEP + added);
            assert_eq!(ids(&trail, page(total, 1), None).await, (vec![oldest.clone()], total));
            let entry = AuditEntry { action: "torrents.add", ..AuditEntry::default() };
            audit.record_alone(&db, entry).await;
            hands.advance(Duration::from_secs(1));
            assert_ne!(ids(&trail, page(1, 1), None).await.0, first);
        }
    }

    async fn a_clock_set_back_loses_no_row(db: Db) {
        fill_audit(&db, 2 * STEP, Timestamp::from_ms(NEWEST), 1).await.unwrap();
        let hands = Hands::starting_at(LATER);
        let ctx = hands.ctx();
        let (trail, audit) = (AuditTrail::new(db.clone(), ctx.clone()), Audit::new(ctx));
        assert_eq!(ids(&trail, page(1, 1), None).await.1, 2 * STEP);
        hands.set(NEWEST - 2 * STEP as i64);
        let entry = AuditEntry { action: "torrents.add", ..AuditEntry::default() };
        audit.record_alone(&db, entry).await;
        assert_eq!(ids(&trail, page(1, 1), None).await.1, 2 * STEP + 1);
        hands.set(LATER);
        assert_eq!(ids(&trail, page(1, 1), None).await.1, 2 * STEP + 1);
    }

    async fn an_index_answers(db: Db) {
        fill_audit(&db, 60_000, Timestamp::from_ms(NEWEST), 10).await.unwrap();
        check_plans(&db).await;
    }
}

async fn check_plans(db: &Db) {
    let mut tx = db.begin_read().await.unwrap();
    let (late, size, skipped) = (NEWEST - 1000, 50_i64, 4999_i64);
    for (statement, numbers, index) in [
        (repo::NEWEST, &[size, skipped][..], "audit_logs_created_at"),
        (repo::AFTER, &[size, skipped, late], "audit_logs_created_at"),
        (repo::COUNT, &[late], "audit_logs_created_at"),
        (repo::NEXT, &[late], "audit_logs_created_at"),
        (repo::NEWEST_ACTION, &[size, skipped], "audit_logs_action"),
        (repo::AFTER_ACTION, &[size, skipped, late], "audit_logs_action"),
        (repo::COUNT_ACTION, &[late], "audit_logs_action"),
        (repo::NEXT_ACTION, &[late], "audit_logs_action"),
    ] {
        let plan = plan(&mut tx, db.backend(), statement, numbers).await;
        assert!(plan.contains(index), "{index} is not used:\n{plan}");
        // Neither the whole table nor rows out of order.
        for word in ["Seq Scan on audit_logs", "SCAN audit_logs\n", "SCAN a\n"] {
            assert!(!plan.contains(word), "{plan}");
        }
    }
}

/// Query plan of `statement` with these numbers as its first parameters and made-up texts for the others.
async fn plan(tx: &mut Tx, backend: Backend, statement: Statement, numbers: &[i64]) -> String {
    let explain = match backend {
        Backend::Sqlite => "EXPLAIN QUERY PLAN",
        Backend::Postgres => "EXPLAIN",
    };
    let mut text = format!("{explain} {}", statement.text);
    // Backwards, because `$1` is a prefix of `$10`.
    for parameter in (1..=5).rev() {
        let value = match numbers.get(parameter - 1) {
            Some(number) => number.to_string(),
            None if text.contains(&format!("created_at < ${parameter}")) => NEWEST.to_string(),
            None if text.contains(&format!("OFFSET ${parameter}"))
                || text.contains(&format!("LIMIT ${parameter}")) =>
            {
                "4999".to_owned()
            }
            None => "'torrents.delete'".to_owned(),
        };
        text = text.replace(&format!("${parameter}"), &value);
    }
    let explained = Statement {
        text: Box::leak(text.into_boxed_str()),
    };
    let lines = match backend {
        Backend::Sqlite => {
            let steps = all!(tx, (i64, i64, i64, String), explained).await.unwrap();
            steps
                .into_iter()
                .map(|(_, _, _, detail)| detail)
                .collect::<Vec<_>>()
        }
        Backend::Postgres => {
            let lines = all!(tx, (String,), explained).await.unwrap();
            lines.into_iter().map(|(line,)| line).collect()
        }
    };
    lines.join("\n") + "\n"
}
