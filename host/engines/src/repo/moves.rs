//! Table `torrent_moves`, as far as it stands in the way of changing an engine.

use qm_db::{DbError, Tx, sql};
use qm_kernel::Timestamp;

sql! {
    UNDER_WAY = "SELECT name, destination FROM torrent_moves WHERE engine_id = $1 AND is_waiting = $2 AND beat_at >= $3 \
        ORDER BY begun_at, id LIMIT 1";
}

/// A move of an engine's torrents that somebody has worked on since `alive_since`: the torrent's name and where it goes.
pub async fn under_way(
    tx: &mut Tx,
    engine_id: &str,
    alive_since: Timestamp,
) -> Result<Option<(String, String)>, DbError> {
    qm_db::opt!(
        tx,
        (String, String),
        UNDER_WAY,
        engine_id,
        false,
        alive_since.ms()
    )
    .await
}
