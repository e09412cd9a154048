//! Tests of the statements on both databases.

use qm_db::{Db, db_test};

db_test! {
    async fn every_statement_is_taken(db: Db) {
        qm_db::testing::prepare_all(&db).await;
    }
}
