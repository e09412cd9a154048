//! Table `share_limits`, and the names that its rows refer to.

use qm_db::{DbError, FromRow, Tx, sql};
use qm_kernel::Timestamp;
use qm_ports::engine::{Limit, ShareLimits};

use super::{signed, unsigned};
use crate::model::share::{Layer, Scope, action_word, read_action};

/// No limit, which ends inheritance.
const NO_LIMIT: i64 = -1;

sql! {
    ALL = "SELECT l.engine_id, l.hash, l.category_id, l.ratio, l.seeding_time, l.inactive_time, l.action, l.set_by, l.set_at, \
        c.name FROM share_limits l LEFT JOIN torrent_categories c ON c.id = l.category_id";
    FIND = "SELECT l.engine_id, l.hash, l.category_id, l.ratio, l.seeding_time, l.inactive_time, l.action, l.set_by, l.set_at, \
        c.name FROM share_limits l LEFT JOIN torrent_categories c ON c.id = l.category_id WHERE l.scope = $1";
    CATEGORIES = "SELECT c.id, c.name FROM share_limits l JOIN torrent_categories c ON c.id = l.category_id ORDER BY c.id";
    PUT = "INSERT INTO share_limits (scope, engine_id, hash, category_id, ratio, seeding_time, inactive_time, action, set_by, \
        set_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (scope) DO UPDATE SET ratio = excluded.ratio, \
        seeding_time = excluded.seeding_time, inactive_time = excluded.inactive_time, action = excluded.action, \
        set_by = excluded.set_by, set_at = excluded.set_at";
    DELETE = "DELETE FROM share_limits WHERE scope = $1";
    ENGINE = "SELECT COUNT(*) FROM torrent_engines WHERE id = $1 AND deleted_at IS NULL";
    CATEGORY = "SELECT name FROM torrent_categories WHERE id = $1";
    /// Torrents that left their engine before $1 and did not come back.
    GONE = "DELETE FROM share_limits WHERE hash IS NOT NULL AND EXISTS (SELECT 1 FROM torrent_archive a \
        WHERE a.engine_id = share_limits.engine_id AND a.hash = share_limits.hash AND a.retired_at < $1 \
        AND a.retired_at > share_limits.set_at) \
        AND NOT EXISTS (SELECT 1 FROM torrent_snapshots s WHERE s.engine_id = share_limits.engine_id AND s.hash = share_limits.hash)";
}

#[derive(FromRow)]
struct Row {
    engine_id: Option<String>,
    hash: Option<String>,
    category_id: Option<String>,
    ratio: Option<f64>,
    seeding_time: Option<i64>,
    inactive_time: Option<i64>,
    action: Option<String>,
    set_by: String,
    set_at: i64,
    /// Name of the category.
    name: Option<String>,
}

/// A stored layer, and the name of its category.
pub struct Stored {
    pub layer: Layer,
    pub category: Option<String>,
}

fn read_seconds(stored: Option<i64>) -> Limit<u64> {
    match stored {
        None => Limit::Inherit,
        Some(NO_LIMIT) => Limit::Unlimited,
        Some(seconds) => Limit::At(unsigned(seconds)),
    }
}

fn store_seconds(limit: Limit<u64>) -> Option<i64> {
    match limit {
        Limit::Inherit => None,
        Limit::Unlimited => Some(NO_LIMIT),
        Limit::At(seconds) => Some(signed(seconds)),
    }
}

impl Row {
    /// None for a row whose scope nobody knows.
    fn into_stored(self) -> Option<Stored> {
        let scope = match (self.engine_id, self.hash, self.category_id) {
            (Some(engine_id), Some(hash), _) => Scope::Torrent { engine_id, hash },
            (Some(engine_id), None, _) => Scope::Engine(engine_id),
            (None, _, Some(category_id)) => Scope::Category(category_id),
            (None, _, None) => return None,
        };
        let limits = ShareLimits {
            ratio: match self.ratio {
                None => Limit::Inherit,
                Some(ratio) if ratio < 0.0 => Limit::Unlimited,
                Some(ratio) => Limit::At(ratio),
            },
            seeding_time: read_seconds(self.seeding_time),
            inactive_time: read_seconds(self.inactive_time),
            action: read_action(self.action.as_deref().unwrap_or_default()),
        };
        let layer = Layer {
            scope,
            limits,
            set_by: self.set_by,
            set_at: Timestamp::from_ms(self.set_at),
        };
        Some(Stored {
            layer,
            category: self.name,
        })
    }
}

/// Every layer.
pub async fn list(tx: &mut Tx) -> Result<Vec<Stored>, DbError> {
    let rows = qm_db::all!(tx, Row, ALL).await?;
    Ok(rows.into_iter().filter_map(Row::into_stored).collect())
}

/// The layer of a scope.
pub async fn find(tx: &mut Tx, scope: &Scope) -> Result<Option<Stored>, DbError> {
    let row = qm_db::opt!(tx, Row, FIND, scope.key()).await?;
    Ok(row.and_then(Row::into_stored))
}

/// Ids and names of the categories that have limits: they change when one is deleted or renamed.
pub async fn list_categories(tx: &mut Tx) -> Result<Vec<(String, String)>, DbError> {
    qm_db::all!(tx, (String, String), CATEGORIES).await
}

/// Stores a layer in place of the one before.
pub async fn put(tx: &mut Tx, layer: &Layer) -> Result<(), DbError> {
    let (engine_id, hash, category_id) = match &layer.scope {
        Scope::Torrent { engine_id, hash } => (Some(&**engine_id), Some(&**hash), None),
        Scope::Category(id) => (None, None, Some(&**id)),
        Scope::Engine(id) => (Some(&**id), None, None),
    };
    let limits = layer.limits;
    let ratio = match limits.ratio {
        Limit::Inherit => None,
        Limit::Unlimited => Some(-1.0),
        Limit::At(ratio) => Some(ratio),
    };
    qm_db::exec!(
        tx,
        PUT,
        layer.scope.key(),
        engine_id,
        hash,
        category_id,
        ratio,
        store_seconds(limits.seeding_time),
        store_seconds(limits.inactive_time),
        action_word(limits.action),
        &layer.set_by,
        layer.set_at.ms()
    )
    .await?
    .exactly(1)
}

/// Deletes the layer of a scope, if there is one.
pub async fn delete(tx: &mut Tx, scope: &Scope) -> Result<(), DbError> {
    qm_db::exec!(tx, DELETE, scope.key()).await.map(|done| {
        let _ = done.rows();
    })
}

/// True for an engine that is configured.
pub async fn has_engine(tx: &mut Tx, id: &str) -> Result<bool, DbError> {
    Ok(qm_db::value!(tx, i64, ENGINE, id).await? > 0)
}

/// Name of a category.
pub async fn find_category(tx: &mut Tx, id: &str) -> Result<Option<String>, DbError> {
    Ok(qm_db::opt!(tx, (String,), CATEGORY, id)
        .await?
        .map(|(name,)| name))
}

/// Deletes limits of torrents that left their engine before an instant.
pub async fn forget_gone(tx: &mut Tx, before: Timestamp) -> Result<u64, DbError> {
    Ok(qm_db::exec!(tx, GONE, before.ms()).await?.rows())
}
