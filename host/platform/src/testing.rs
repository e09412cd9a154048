//! Helpers for tests and benchmarks of other crates.

use std::sync::Arc;

use async_trait::async_trait;
use prometheus::Registry;
use qm_db::{Db, DbError, Tx, exec, sql};
use qm_kernel::event::{EventSink, EventSpec};
use qm_kernel::{Ctx, Permission, PermissionSet, Principal, Secret, Timestamp};

use crate::acting::{Acting, ActingError, Actor};
use crate::background::Background;
use crate::bus::Bus;
use crate::cipher::Cipher;
use crate::ground::Ground;
use crate::outbox::{Outbox, OutboxMetrics, Patience};

sql! {
    /// One statement for any number of rows; a million rows take some seconds. It can be run by hand too: $1
    /// is the number of rows, $2 the time of the newest row (Unix milliseconds), $3 the milliseconds between
    /// two rows.
    FILL = "INSERT INTO audit_logs (id, action, object_type, object_id, result, ip_address, user_agent, metadata, \
            created_at) \
        WITH RECURSIVE n(i) AS \
            (SELECT CAST(0 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < CAST($1 AS BIGINT)) \
        SELECT '00000000-0000-4000-8000-' || substr(CAST(1000000000000 + i AS TEXT), 2), \
            CASE WHEN i % 100 = 0 THEN 'users.update' WHEN i % 10 < 3 THEN 'auth.login' WHEN i % 10 < 6 \
                THEN 'torrents.add' ELSE 'torrents.delete' END, \
            CASE WHEN i % 10 < 3 THEN NULL ELSE 'torrent' END, \
            CASE WHEN i % 10 < 3 THEN NULL ELSE 'b415c913643e5ff49fe37d304bbb5e6e11ad5101' END, \
            CASE WHEN i % 20 = 1 THEN 'failure' ELSE 'success' END, '203.0.113.7', 'Mozilla/5.0', \
            CASE WHEN i % 10 < 3 THEN NULL ELSE '{\"name\":\"Orchard.Lane.S02E07.1080p.WEB-DL.x264-KESTREL\"}' END, \
            CAST($2 AS BIGINT) - i * CAST($3 AS BIGINT) FROM n";
    /// Updates the planner's statistics, as a server in use does by itself: without it PostgreSQL assumes a
    /// small table.
    ANALYZE = "ANALYZE audit_logs";
}

/// Adds `rows` audit rows, the newest at `newest`, `apart_ms` between two of them. Call it once per database:
/// the ids are fixed. Fill before the list is first read, or with rows newer than the present ones; on
/// PostgreSQL run `VACUUM audit_logs` before measuring, as a server in use does by itself.
pub async fn fill_audit(db: &Db, rows: u64, newest: Timestamp, apart_ms: i64) -> Result<(), DbError> {
    let mut tx = db.begin_write().await?;
    exec!(&mut tx, FILL, rows as i64, newest.ms(), apart_ms)
        .await?
        .exactly(rows)?;
    let _ = exec!(&mut tx, ANALYZE).await?;
    tx.commit().await
}

/// Ground of an area that is tested by itself, under a fixed key.
///
/// # Panics
/// When the counters of an empty registry cannot be made.
pub fn ground(db: &Db, ctx: &Ctx, acting: Arc<dyn Acting>) -> Ground {
    let cipher = Cipher::new(&Secret::new("a key of thirty-two characters !"), ctx.clone());
    Ground::new(db.clone(), ctx.clone(), cipher, acting).expect("fresh metrics")
}

/// Trusts the claims of every token, where no users are stored.
pub struct Claims;

#[async_trait]
impl Acting for Claims {
    async fn judge(&self, _: &mut Tx, who: &Principal, needed: &[Permission]) -> Result<Actor, ActingError> {
        ActingError::check(&who.roles, who.permissions, needed)?;
        Ok(Actor::new(who.user_id.to_string(), who.roles.clone()))
    }

    /// No users are stored: every author still holds all permissions.
    async fn powers(&self, _: &mut Tx, _: &str) -> Result<PermissionSet, ActingError> {
        Ok(PermissionSet::all())
    }
}

/// Outbox of one server, with its dependencies.
pub struct Wired {
    /// Publishes the events of its transactions to `bus`.
    pub db: Db,
    pub bus: Bus,
    /// No consumer is started yet.
    pub outbox: Outbox,
    pub background: Background,
    pub metrics: Registry,
}

impl Wired {
    /// One more server on a database, with these kinds of events.
    ///
    /// # Panics
    /// When the database cannot be read.
    pub async fn new(db: &Db, ctx: &Ctx, kinds: &'static [EventSpec], patience: Patience) -> Wired {
        Self::telling(db, ctx, kinds, patience, |bus| Arc::new(bus.clone())).await
    }

    /// As [`Wired::new`]; published events go to `sink`, which passes them on to the bus.
    ///
    /// # Panics
    /// As above.
    pub async fn telling(
        db: &Db,
        ctx: &Ctx,
        kinds: &'static [EventSpec],
        patience: Patience,
        sink: impl FnOnce(&Bus) -> Arc<dyn EventSink>,
    ) -> Wired {
        let bus = Bus::new(ctx.clone());
        bus.register(kinds);
        let db = db.clone().telling(sink(&bus));
        let metrics = Registry::new();
        let figures = OutboxMetrics::new(&metrics).expect("fresh metrics");
        let outbox = Outbox::open(&db, &bus, ctx, figures, patience)
            .await
            .expect("the database can be read");
        let background = Background::new(&metrics).expect("fresh metrics");
        Wired {
            db,
            bus,
            outbox,
            background,
            metrics,
        }
    }
}
