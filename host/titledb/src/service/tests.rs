//! Tests of loading and searching a store, on both databases.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use qm_db::testing::Scratch;
use qm_db::{Access, Backend, Beside, Db, db_test};

use super::load::{LoadError, Watch, load};
use super::names::{Names, Way};
use super::store::Store;
use crate::model::file::Sort;
use crate::model::plan::{Loaded, Plan, Strategy};
use crate::model::trigrams::Narrow;
use crate::repo::{names, postings, schema, search, titles};
use crate::testing::{Size, title_name, write};
use qm_titles::{normalise, similarity};

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

/// Ends a load after this number of steps.
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
            // The store is opened anew each time, as after a crash.
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

    async fn names_are_found_as_by_looking_at_all_of_them(db: Db) {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), Size::SMALL, 7).unwrap();
        let store = Store::new(db.clone(), folder.path().to_owned());
        load(&store, folder.path(), &everything(), &Steps(AtomicUsize::new(ENDLESS))).await.unwrap();
        let live = store.live().await.unwrap().unwrap();
        let mut tx = live.read().await.unwrap();
        let all = postings::names(&mut tx, 0, i64::MAX).await.unwrap();
        assert_eq!(live.loaded.names, all.last().map(|last| last.rank));
        let whole = normalise(&title_name(7, 4));
        let part: String = whole.chars().skip(2).take(6).collect();
        let narrows = [
            Narrow::default(),
            Narrow { year: Some(1999), sort: None },
            Narrow { year: Some(2010), sort: Some(Sort::Tv) },
            Narrow { year: None, sort: Some(Sort::Movie) },
            Narrow { year: Some(1850), sort: None },
        ];
        for asked in [&*whole, part.trim(), "the", "of", "a", "night", "nothing has it", "%", "a_b"] {
            for narrow in narrows {
                let names = Names::new(&mut tx, &live.loaded, asked, narrow).await.unwrap();
                for way in [Way::Same, Way::Holding] {
                    let answers = |name: &str| match way {
                        Way::Same => name == asked,
                        _ if asked.chars().count() < 3 => name.split(' ').any(|word| word == asked),
                        _ => name.contains(asked),
                    };
                    for most in [3, 5_000] {
                        let found = names.find(&mut tx, way, most).await.unwrap();
                        let found: Vec<&str> = found.iter().map(|hit| &*hit.name).collect();
                        let expected = all
                            .iter()
                            .filter(|name| narrow.takes(name.year, name.sort) && answers(&name.name));
                        let expected: Vec<&str> = expected.map(|name| &*name.name).take(most).collect();
                        assert_eq!(found, expected, "{asked:?} {narrow:?} {way:?}");
                    }
                }
                for hit in names.find(&mut tx, Way::Alike, 120).await.unwrap() {
                    assert!(similarity(asked, &hit.name) >= 0.6 && narrow.takes(hit.year, hit.sort), "{hit:?}");
                }
            }
        }
        // Two letters are swapped.
        for number in 1..40 {
            let meant = normalise(&title_name(7, number));
            let mut letters: Vec<char> = meant.chars().collect();
            if letters.len() < 9 {
                continue;
            }
            letters.swap(4, 5);
            let wrong = normalise(&letters.into_iter().collect::<String>());
            let names = Names::new(&mut tx, &live.loaded, &wrong, Narrow::default()).await.unwrap();
            let found = names.find(&mut tx, Way::Alike, 120).await.unwrap();
            assert!(found.iter().any(|hit| hit.name == meant), "{wrong} for {meant}");
        }
    }

    async fn a_store_without_lists_is_loaded_anew(db: Db) {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), Size::SMALL, 7).unwrap();
        let endless = || Steps(AtomicUsize::new(ENDLESS));
        let store = Store::new(db.clone(), folder.path().to_owned());
        let loaded = load(&store, folder.path(), &everything(), &endless()).await.unwrap();
        let file = folder.path().join("titledb.db");
        let earlier = Beside { file: &file, schema: schema::LIVE, access: Access::Load };
        let earlier = db.open_beside(earlier).await.unwrap();
        let mut tx = earlier.begin_write().await.unwrap();
        schema::set_loaded(&mut tx, &Loaded { names: None, ..loaded }).await.unwrap();
        tx.commit().await.unwrap();
        earlier.close().await;
        let store = Store::new(db.clone(), folder.path().to_owned());
        assert!(store.live().await.unwrap().is_none(), "nothing is found in it");
        let loaded = load(&store, folder.path(), &everything(), &endless()).await.unwrap();
        assert!(loaded.names > Some(0));
        assert_eq!(store.live().await.unwrap().unwrap().loaded, loaded);
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
        let [sqlite_lists, postgres_lists, lists] = postings::STATEMENTS;
        let own = match db.backend() {
            qm_db::Backend::Sqlite => [sqlite, sqlite_too, sqlite_lists],
            qm_db::Backend::Postgres => [postgres, postgres_too, postgres_lists],
        };
        for statement in [schema::STATEMENTS, crate::repo::load::STATEMENTS, names::STATEMENTS, titles, both, lists]
            .into_iter()
            .chain(own)
            .flatten()
        {
            schema::prepare(&mut tx, *statement).await.unwrap_or_else(|error| panic!("{}: {error:?}", statement.text));
        }
    }
}

/// Environment variable with database and directory of the child process.
const CHILD: &str = "QM_TITLEDB_TEST_CHILD";
const MIDDLE: Size = Size {
    titles: 20_000,
    akas: 60_000,
    episodes: 20_000,
    principals: 40_000,
    persons: 5_000,
};

/// Body of the child process of [`killed_while_it_loads`].
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
