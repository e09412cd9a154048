//! Every SQL statement of the whole program, prepared on both databases.

use std::collections::BTreeSet;

use qm_db::testing::prepare_all;
use qm_db::{Db, STATEMENTS};
use qm_testkit::both_databases;

/// The crates that own tables.
const OWNERS: &[&str] = &[
    "qm_engines",
    "qm_files",
    "qm_identity",
    "qm_jobs",
    "qm_platform",
    "qm_system",
    "qm_torrent_data",
    "qm_torrents",
];

both_databases! {
    async fn both_databases_take_every_statement(db: &TestDb) {
        let db = Db::open(db.url()).await.expect("a database");
        db.migrate().await.expect("the migrations");
        prepare_all(&db).await;
    }
}

/// The registry holds what is linked into this program; a crate that is missing here is not tested above.
#[test]
fn every_crate_with_tables_is_in_the_registry() {
    let linked: BTreeSet<&str> = STATEMENTS
        .iter()
        .filter_map(|statement| statement.name.split("::").next())
        .collect();
    for owner in OWNERS {
        assert!(linked.contains(owner), "{owner} is not among {linked:?}");
    }
}
