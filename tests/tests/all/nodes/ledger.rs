//! The transfer ledger over take-overs: however a node ends, the ledger's sum is what the client counted, to the byte.

use std::time::Duration;

use qm_db::{Db, one, opt, sql, value};
use qm_testkit::binary::Binary;
use qm_testkit::counting::{CountingClient, Moved};
use qm_testkit::wait::{until, until_true};
use qm_testkit::{Api, TestDb};
use tokio::time::{Instant, sleep};

use super::{FROZEN, Place, api_on, on_postgres, open, takes_over};

const TORRENTS: usize = 5;
/// Take-overs by a kill, one after another.
const KILLS: u64 = 3;

sql! {
    LEDGER = "SELECT baseline_downloaded + accrued_downloaded, baseline_uploaded + accrued_uploaded, resets_observed \
        FROM transfer_ledger WHERE engine_id = $1";
    ROWS = "SELECT CAST(SUM(downloaded) AS BIGINT), CAST(SUM(uploaded) AS BIGINT) FROM torrent_snapshots WHERE engine_id = $1";
    ENGINES = "SELECT COUNT(*) FROM transfer_ledger";
}

/// Two nodes, and a client that goes on counting whatever happens to them.
struct Counted {
    client: CountingClient,
    database: Db,
    /// Signed in at the first node; the token is good at both.
    admin: Api,
    /// The id of the client.
    engine: String,
    /// The place of the active node, then that of the other one.
    places: [Place; 2],
    active: Binary,
    standby: Binary,
}

impl Counted {
    async fn start(db: &TestDb) -> Counted {
        let places = ["here", "there"].map(|name| Place::with(name, "transmission.wasm"));
        let client = CountingClient::start(TORRENTS).await;
        let active = places[0].active(db).await;
        let admin = active.admin().await;
        let engine = admin
            .add_engine("Counting", "transmission", client.config())
            .await;
        let database = open(db).await;
        let standby = places[1].standby(db).await;
        let counted = Counted {
            client,
            database,
            admin,
            engine,
            places,
            active,
            standby,
        };
        // From here on every byte is the ledger's business.
        until("the ledger to begin", || counted.ledger()).await;
        counted.client.grow(true);
        counted
    }

    /// The sum of the ledger, as it is stored; `None` before it has begun.
    async fn ledger(&self) -> Option<Moved> {
        let mut tx = self.database.begin_read().await.expect("a transaction");
        let row = opt!(&mut tx, (i64, i64, i64), LEDGER, &self.engine)
            .await
            .expect("the ledger");
        let (downloaded, uploaded, resets) = row?;
        assert_eq!(resets, 0, "no counter ever fell");
        Some(moved((downloaded, uploaded)))
    }

    /// Waits until the active node has stored a part of what was counted since now, and has just been told more, which it
    /// may be storing: the moment to end it.
    async fn in_the_middle(&self) {
        let before = self.ledger().await;
        until_true("some of it to be stored", async || self.ledger().await != before).await;
        self.client.listed(1).await;
    }

    /// Checks that some of what the client counted stands in no row: the next node has to find it.
    async fn is_owed(&self, how: &str) {
        let (counted, stored) = (self.client.moved(), self.ledger().await.expect("a ledger"));
        assert!(
            stored.downloaded < counted.downloaded,
            "{stored:?} of {counted:?}"
        );
        let owed = counted.downloaded - stored.downloaded;
        eprintln!(
            "{owed} bytes of {} were not stored when the node was {how}",
            counted.downloaded
        );
    }

    /// The ledger comes to what the client counted, and stays there; so do the rows, and what people are shown.
    async fn agrees(&self) {
        self.client.grow(false);
        let counted = self.client.moved();
        let reached = until("everything to be stored", async || {
            let stored = self.ledger().await?;
            (stored.downloaded >= counted.downloaded && stored.uploaded >= counted.uploaded).then_some(stored)
        })
        .await;
        assert_eq!(reached, counted, "the ledger, and the client");
        self.client.listed(3).await;
        assert_eq!(self.ledger().await, Some(counted), "further polls add nothing");
        let mut tx = self.database.begin_read().await.expect("a transaction");
        let rows = one!(&mut tx, (i64, i64), ROWS, &self.engine)
            .await
            .expect("the rows");
        assert_eq!(moved(rows), counted, "the torrents' rows");
        assert_eq!(value!(&mut tx, i64, ENGINES).await.expect("a count"), 1);
        drop(tx);
        let admin = api_on(&self.active, &self.admin);
        let shown = admin.get("/api/dashboard/summary").await;
        assert_eq!(shown["totalDownloaded"], counted.downloaded, "{shown}");
        assert_eq!(shown["totalUploaded"], counted.uploaded, "{shown}");
        eprintln!("{counted:?}, in the ledger as with the client");
    }
}

fn moved((downloaded, uploaded): (i64, i64)) -> Moved {
    let bytes = |count| u64::try_from(count).expect("no count is below nothing");
    Moved {
        downloaded: bytes(downloaded),
        uploaded: bytes(uploaded),
    }
}

#[test]
fn the_ledger_counts_on_over_nodes_that_are_killed() {
    on_postgres(async |db| {
        let mut nodes = Counted::start(db).await;
        for round in 0..KILLS {
            nodes.in_the_middle().await;
            // At once, while it stores what it was told, and after that.
            sleep(Duration::from_millis(20 * round)).await;
            nodes.active.kill();
            let since = Instant::now();
            nodes.is_owed("killed").await;
            takes_over(&nodes.standby, since, "killed").await;
            nodes.places.swap(0, 1);
            let next = nodes.places[1].standby(db).await;
            nodes.active = std::mem::replace(&mut nodes.standby, next);
        }
        nodes.in_the_middle().await;
        nodes.agrees().await;
        nodes.database.close().await;
    });
}

#[test]
fn a_node_that_wakes_up_late_adds_nothing_to_the_ledger() {
    on_postgres(async |db| {
        let mut nodes = Counted::start(db).await;
        nodes.in_the_middle().await;
        nodes.active.process().signal("STOP");
        let since = Instant::now();
        nodes.is_owed("frozen").await;
        takes_over(&nodes.standby, since, "frozen").await;
        nodes.in_the_middle().await;
        sleep(FROZEN.saturating_sub(since.elapsed())).await;
        nodes.active.process().signal("CONT");
        let ended = nodes.active.ended().await;
        assert_eq!(ended.code(), Some(4), "{}", nodes.active.process().output());
        nodes.places.swap(0, 1);
        let next = nodes.places[1].standby(db).await;
        nodes.active = std::mem::replace(&mut nodes.standby, next);
        nodes.in_the_middle().await;
        nodes.agrees().await;
        nodes.database.close().await;
    });
}
