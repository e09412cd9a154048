//! The store, loaded and asked, on both databases.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use qm_db::testing::Scratch;
use qm_db::{Backend, Db, db_test};

use super::load::{LoadError, Watch, load};
use super::store::Store;
use crate::model::plan::{Loaded, Plan, Strategy};
use crate::repo::{names, schema, search, titles};
use crate::testing::{Size, write};

pub fn everything() -> Plan {
    Plan {
        strategy: Strategy::Full,
        min_year: 1970,
        tv: true,
        akas: true,
        crew: true,
        people: true,
        regions: Vec::new(),
        languages: Vec::new(),
    }
}

/// Ends a load after so many steps.
struct Steps(AtomicUsize);

#[async_trait]
impl Watch for Steps {
    async fn step(&self, percent: f64, _: &str, _: &Loaded) -> Result<(), LoadError> {
        assert!((0.0..=100.0).contains(&percent));
        match self.0.fetch_sub(1, Ordering::SeqCst) {
            0 | 1 => Err(LoadError::Stopped),
            _ => Ok(()),
        }
    }
}

const ENDLESS: usize = 1_000_000;

db_test! {
    async fn a_load_that_is_stopped_again_and_again_ends_as_one_that_is_not(db: Db) {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), Size::SMALL, 7).unwrap();
        let store = Store::new(db.clone(), folder.path().to_owned());
        assert!(store.live().await.unwrap().is_none());
        let mut stops = 0;
        let loaded = loop {
            // A store that is opened anew each time, as after a kill.
            let store = Store::new(db.clone(), folder.path().to_owned());
            match load(&store, folder.path(), &everything(), &Steps(AtomicUsize::new(1 + stops))).await {
                Ok(loaded) => break loaded,
                Err(LoadError::Stopped) => stops += 1,
                Err(error) => panic!("{error:?}"),
            }
            assert!(store.live().await.unwrap().is_none(), "nothing is there before all of it is");
            assert!(stops < 100, "it gets nowhere");
        };
        assert!(stops > 5, "{stops}");
        let store = Store::new(db.clone(), folder.path().to_owned());
        let rows = Size::SMALL;
        let expected = rows.titles * 2 + rows.titles * 2 / 3 + rows.akas + rows.episodes + rows.principals + rows.persons;
        assert_eq!((loaded.stats.rows_imported, loaded.stats.errors), (expected, 0));
        let live = store.live().await.unwrap().unwrap();
        assert_eq!(live.loaded, loaded);
        assert_eq!(loaded.stats.datasets.len(), 7);
        let mut tx = live.read().await.unwrap();
        for (table, count) in [("titles", rows.titles), ("akas", rows.akas), ("episodes", rows.episodes),
            ("principals", rows.principals), ("persons", rows.persons)] {
            assert_eq!(schema::count(&mut tx, table).await.unwrap(), count as i64, "{table}");
        }
    }

    async fn every_statement_of_the_store_is_one(db: Db) {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), Size::SMALL, 7).unwrap();
        let store = Store::new(db.clone(), folder.path().to_owned());
        load(&store, folder.path(), &everything(), &Steps(AtomicUsize::new(ENDLESS))).await.unwrap();
        let live = store.live().await.unwrap().unwrap();
        let mut tx = live.read().await.unwrap();
        let [sqlite, postgres, both] = search::STATEMENTS;
        let [sqlite_too, postgres_too, titles] = titles::STATEMENTS;
        let (own, titles_own) = match db.backend() {
            qm_db::Backend::Sqlite => (sqlite, sqlite_too),
            qm_db::Backend::Postgres => (postgres, postgres_too),
        };
        for statement in [schema::STATEMENTS, crate::repo::load::STATEMENTS, names::STATEMENTS, titles, titles_own, own, both]
            .into_iter()
            .flatten()
        {
            schema::prepare(&mut tx, *statement).await.unwrap_or_else(|error| panic!("{}: {error:?}", statement.text));
        }
    }
}

/// Its address and its directory, for the process that is killed.
const CHILD: &str = "QM_TITLEDB_TEST_CHILD";
const MIDDLE: Size = Size {
    titles: 20_000,
    akas: 60_000,
    episodes: 20_000,
    principals: 40_000,
    persons: 5_000,
};

/// Not a test by itself: what [`killed_while_it_loads`] starts.
#[test]
fn child() {
    let Ok(told) = std::env::var(CHILD) else {
        return;
    };
    let (url, folder) = told.split_once('|').unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let db = Db::open(url).await.unwrap();
        let store = Store::new(db.clone(), folder.into());
        load(
            &store,
            Path::new(folder),
            &everything(),
            &Steps(AtomicUsize::new(ENDLESS)),
        )
        .await
        .unwrap();
    });
}

fn killed_while_it_loads(backend: Backend) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let Some(scratch) = Scratch::new(backend).await else {
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), MIDDLE, 11).unwrap();
        scratch.open().await.close().await;
        let mut killed = 0;
        let mut patience = Duration::from_millis(200);
        loop {
            let mut child = tokio::process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "service::tests::child", "--nocapture"])
                .env(CHILD, format!("{}|{}", scratch.url(), folder.path().display()))
                .stdout(std::process::Stdio::null())
                .kill_on_drop(true)
                .spawn()
                .unwrap();
            match tokio::time::timeout(patience, child.wait()).await {
                Ok(ended) => {
                    assert!(ended.unwrap().success());
                    break;
                }
                Err(_) => {
                    child.kill().await.unwrap();
                    killed += 1;
                    patience += Duration::from_millis(200);
                    assert!(killed < 100, "it gets nowhere");
                }
            }
        }
        assert!(killed > 0, "it was too quick to be killed");
        let db = scratch.open().await;
        let store = Store::new(db.clone(), folder.path().to_owned());
        let live = store.live().await.unwrap().unwrap();
        let mut tx = live.read().await.unwrap();
        for (table, count) in [
            ("titles", MIDDLE.titles),
            ("akas", MIDDLE.akas),
            ("episodes", MIDDLE.episodes),
            ("principals", MIDDLE.principals),
            ("persons", MIDDLE.persons),
            ("ratings", MIDDLE.titles - MIDDLE.titles / 3),
            ("crew", MIDDLE.titles),
        ] {
            assert_eq!(
                schema::count(&mut tx, table).await.unwrap(),
                count as i64,
                "{table}"
            );
        }
        drop(tx);
        db.close().await;
        scratch.remove().await;
    });
}

#[test]
fn killed_while_it_loads_sqlite() {
    killed_while_it_loads(Backend::Sqlite);
}

#[test]
fn killed_while_it_loads_postgres() {
    killed_while_it_loads(Backend::Postgres);
}
