//! Table `known_addresses`: where accounts have signed in from.
//!
//! Bounds: [`KEPT`] an account, the latest.

use qm_db::{DbError, Tx, sql};
use qm_kernel::{AddressBlock, Timestamp};

/// Addresses remembered of one account.
const KEPT: i64 = 50;

sql! {
    IS_KNOWN = "SELECT COUNT(*) FROM known_addresses WHERE user_id = $1 AND block = $2";
    REMEMBER = "INSERT INTO known_addresses (user_id, block, seen_at) VALUES ($1, $2, $3) \
        ON CONFLICT (user_id, block) DO UPDATE SET seen_at = excluded.seen_at";
    TRIM = "DELETE FROM known_addresses WHERE user_id = $1 AND block NOT IN \
        (SELECT block FROM known_addresses WHERE user_id = $1 ORDER BY seen_at DESC, block LIMIT $2)";
    FORGET_ALL = "DELETE FROM known_addresses WHERE user_id = $1";
    FORGET_OTHERS = "DELETE FROM known_addresses WHERE user_id = $1 AND block <> $2";
}

fn text(block: AddressBlock) -> String {
    block.first().to_string()
}

/// Whether the user has signed in from there. Asked for users who do not exist too, so that both take as long.
pub async fn is_known(tx: &mut Tx, user_id: Option<&str>, block: AddressBlock) -> Result<bool, DbError> {
    let found = qm_db::value!(tx, i64, IS_KNOWN, user_id.unwrap_or_default(), text(block)).await?;
    Ok(found > 0)
}

/// Notes a full login. The caller holds the user's row.
pub async fn remember(
    tx: &mut Tx,
    user_id: &str,
    block: AddressBlock,
    now: Timestamp,
) -> Result<(), DbError> {
    qm_db::exec!(tx, REMEMBER, user_id, text(block), now.ms())
        .await?
        .exactly(1)?;
    qm_db::exec!(tx, TRIM, user_id, KEPT).await.map(drop)
}

/// Forgets them, all but the one that is kept: with a new password nobody is known but who set it.
pub async fn forget(tx: &mut Tx, user_id: &str, but: Option<AddressBlock>) -> Result<(), DbError> {
    match but {
        Some(block) => qm_db::exec!(tx, FORGET_OTHERS, user_id, text(block))
            .await
            .map(drop),
        None => qm_db::exec!(tx, FORGET_ALL, user_id).await.map(drop),
    }
}
