//! Tests of the lease of the active node, and of the fence against writes of an earlier one. PostgreSQL only:
//! an SQLite file has one server by a lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use qm_db::private::{Connection, sqlx};
use qm_db::testing::Scratch;
use qm_db::{Backend, Db, DbError, Lease, Node, Tx, exec, sql, value};
use qm_kernel::Mandate;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

const LONG: Duration = Duration::from_mins(10);
const SHORT: Duration = Duration::from_millis(300);

sql! {
    ADD = "INSERT INTO settings (key, value, updated_at) VALUES ($1, '1', 0)";
    COUNT = "SELECT COUNT(*) FROM settings";
}

fn node(name: &str) -> Node {
    Node {
        name: name.to_owned(),
        address: format!("{name}:4000"),
        session: String::new(),
        place: format!("place of {name}"),
        secrets: "keys".to_owned(),
    }
}

/// Runs a test on its own database; skipped with a message on a machine without PostgreSQL.
fn on_postgres(body: impl AsyncFnOnce(&Scratch)) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let Some(scratch) = Scratch::new(Backend::Postgres).await else {
            return;
        };
        body(&scratch).await;
        scratch.remove().await;
    });
}

fn lease(db: &Db, name: &str, length: Duration) -> Lease {
    db.lease(node(name), length).unwrap()
}

async fn add(db: &Db, key: &str) -> Result<(), DbError> {
    let mut tx = db.begin_write().await?;
    exec!(&mut tx, ADD, key).await?.exactly(1)?;
    tx.commit().await
}

async fn count(db: &Db) -> i64 {
    let mut tx = db.begin_read().await.unwrap();
    value!(&mut tx, i64, COUNT).await.unwrap()
}

fn in_term(db: &Db, term: i64) -> (Db, Mandate, Arc<Notify>) {
    let mandate = Mandate::until(Mandate::clock() + LONG);
    let refused = Arc::new(Notify::new());
    (
        db.clone().in_term(term, mandate.clone(), refused.clone()),
        mandate,
        refused,
    )
}

#[test]
fn a_database_that_was_never_migrated_knows_no_leases() {
    on_postgres(async |scratch| {
        let db = Db::open(scratch.url()).await.unwrap();
        assert!(lease(&db, "a", LONG).look().await.unwrap().is_none());
        db.migrate().await.unwrap();
        let nobody = lease(&db, "a", LONG).look().await.unwrap().unwrap();
        assert_eq!((nobody.term, nobody.left), (0, None));
        db.close().await;
    });
}

#[test]
fn of_many_that_try_at_once_one_wins_each_term() {
    on_postgres(async |scratch| {
        let db = scratch.open().await;
        for term in 0..5 {
            let tries = (0..8).map(|number| {
                let mut lease = lease(&db, &format!("n{number}"), LONG);
                tokio::spawn(async move {
                    // Later ones find a lock for at most as long as the first one needs it.
                    let taken = lease.take(term, false).await.unwrap();
                    (lease, taken)
                })
            });
            let mut won = Vec::new();
            for outcome in tries.collect::<Vec<_>>() {
                let (lease, taken) = outcome.await.unwrap();
                won.extend(taken.map(|term| (lease, term)));
            }
            assert_eq!(won.len(), 1, "of term {}", term + 1);
            let (mut lease, new) = won.remove(0);
            assert_eq!(new, term + 1, "terms grow by one");
            assert!(lease.renew(new).await.unwrap());
            assert!(!lease.renew(term).await.unwrap(), "an earlier term is over");
            lease.give_back(new).await.unwrap();
        }
        db.close().await;
    });
}

#[test]
fn a_lease_keeps_others_off_until_it_is_over_or_given_back() {
    on_postgres(async |scratch| {
        let db = scratch.open().await;
        let mut first = lease(&db, "a", SHORT);
        let mut second = lease(&db, "b", LONG);
        assert_eq!(first.take(0, false).await.unwrap(), Some(1));
        let seen = second.look().await.unwrap().unwrap();
        assert_eq!(
            (seen.name.as_str(), seen.address.as_str(), seen.term),
            ("a", "a:4000", 1)
        );
        assert_eq!(seen.place, "place of a");
        // Renewed in time, it never ends.
        for _ in 0..10 {
            sleep(SHORT / 3).await;
            assert!(first.renew(1).await.unwrap());
            assert_eq!(second.take(1, false).await.unwrap(), None);
        }
        sleep(SHORT * 2).await;
        assert_eq!(second.look().await.unwrap().unwrap().left, None, "it is over");
        assert!(
            first.renew(1).await.unwrap(),
            "and nobody has taken it: it goes on"
        );
        assert_eq!(second.take(1, false).await.unwrap(), None);
        first.give_back(1).await.unwrap();
        assert_eq!(
            second.take(0, false).await.unwrap(),
            None,
            "what it saw is long past"
        );
        assert_eq!(second.take(1, false).await.unwrap(), Some(2));
        assert!(!first.renew(1).await.unwrap());
        first.give_back(1).await.unwrap();
        assert!(
            second.look().await.unwrap().unwrap().left.is_some(),
            "that was no longer its own"
        );
        assert_eq!(first.take(2, false).await.unwrap(), None);
        assert_eq!(
            first.take(2, true).await.unwrap(),
            Some(3),
            "who knows that it is gone need not wait"
        );
        db.close().await;
    });
}

/// Writers of the old node inside their transactions, during repeated take-overs.
#[test]
fn nothing_is_written_after_a_take_over() {
    on_postgres(async |scratch| {
        let db = scratch.open().await;
        let (mut taker, mut other) = (lease(&db, "next", LONG), lease(&db, "other", LONG));
        let next = Arc::new(AtomicU64::new(0));
        let mut last = 0;
        for _ in 0..10 {
            let term = taker.take(last, true).await.unwrap().unwrap();
            let (old, mandate, refused) = in_term(&db, term);
            let stop = Arc::new(AtomicBool::new(false));
            let writers: Vec<_> = (0..10)
                .map(|_| tokio::spawn(write(old.clone(), stop.clone(), next.clone())))
                .collect();
            let before = count(&db).await;
            timeout(Duration::from_mins(1), async {
                while count(&db).await < before + 20 {
                    sleep(Duration::from_millis(5)).await;
                }
            })
            .await
            .unwrap();
            // They write until they are stopped below: a take-over that waited for them would wait for ever.
            let taken = timeout(Duration::from_mins(1), other.take(term, true)).await;
            assert_eq!(taken.expect("writers hold up nobody").unwrap(), Some(term + 1));
            // Rows present now existed when the new term began; none is added later.
            let at_the_take_over = count(&db).await;
            sleep(Duration::from_millis(100)).await;
            assert_eq!(count(&db).await, at_the_take_over);
            stop.store(true, Ordering::SeqCst);
            for writer in writers {
                let (written, turned_away) = writer.await.unwrap();
                assert!(turned_away > 0, "{written} written");
            }
            assert!(
                !mandate.holds(),
                "who was refused once does nothing elsewhere either"
            );
            timeout(Duration::from_mins(1), refused.notified()).await.unwrap();
            last = term + 1;
        }
        db.close().await;
    });
}

/// Writes until stopped: number of successful and of refused writes.
async fn write(db: Db, stop: Arc<AtomicBool>, next: Arc<AtomicU64>) -> (u32, u32) {
    let (mut written, mut turned_away) = (0, 0);
    while !stop.load(Ordering::SeqCst) {
        let key = format!("key {}", next.fetch_add(1, Ordering::SeqCst));
        match add(&db, &key).await {
            Ok(()) => written += 1,
            Err(DbError::Succeeded) => turned_away += 1,
            Err(other) => panic!("{other}"),
        }
    }
    (written, turned_away)
}

/// Locks everything that a commit locks before its last statement.
async fn hold(tx: &mut Tx) {
    let Connection::Postgres(connection) = tx.connection() else {
        panic!("this is about PostgreSQL");
    };
    let lock = sqlx::query("LOCK TABLE node_lease IN ROW SHARE MODE");
    lock.execute(&mut **connection).await.unwrap();
}

#[test]
fn a_commit_that_was_stopped_in_the_middle_is_cut_off() {
    on_postgres(async |scratch| {
        let db = scratch.open().await;
        let session = "quartermaster of the old node";
        let old = Db::open_alone(scratch.url(), session).await.unwrap();
        let entered = Node {
            session: session.to_owned(),
            ..node("old")
        };
        let mut first = old.lease(entered, SHORT).unwrap();
        assert_eq!(first.take(0, false).await.unwrap(), Some(1));
        let (old, ..) = in_term(&old, 1);
        // A commit up to its last statement.
        let mut tx = old.begin_write().await.unwrap();
        exec!(&mut tx, ADD, "half").await.unwrap().exactly(1).unwrap();
        hold(&mut tx).await;
        let mut second = lease(&db, "new", LONG);
        sleep(SHORT * 2).await;
        let taken = timeout(Duration::from_mins(1), second.take(1, false)).await;
        assert_eq!(
            taken.expect("the half transaction holds up nobody").unwrap(),
            Some(2)
        );
        assert!(
            tx.commit().await.is_err(),
            "it wakes up, and its transaction is gone"
        );
        assert!(matches!(add(&old, "afterwards").await, Err(DbError::Succeeded)));
        assert_eq!(count(&db).await, 0);
        add(&db, "by a command, which is no node").await.unwrap();
        old.close().await;
        db.close().await;
    });
}

#[test]
fn an_sqlite_file_has_no_lease_and_one_server() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("x.db").display());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let db = Db::open_alone(&url, "test").await.unwrap();
        assert!(db.lease(node("a"), LONG).is_none());
        assert!(db.is_sole() && db.mandate().holds());
        db.close().await;
        let beside = Db::open(&url).await.unwrap();
        assert!(!beside.is_sole(), "as a command does");
        beside.close().await;
    });
}
