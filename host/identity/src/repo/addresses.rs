//! Table `known_addresses`: addresses from which accounts have signed in.
//!
//! Bounds: the latest [`KEPT`] per account.

use qm_db::{DbError, Tx, sql};
use qm_kernel::{AddressBlock, Timestamp};

/// Largest number of stored addresses per account.
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

/// True when the user has signed in from this address. Also run for unknown users, so that both cases take
/// the same time.
pub async fn is_known(tx: &mut Tx, user_id: Option<&str>, block: AddressBlock) -> Result<bool, DbError> {
    let found = qm_db::value!(tx, i64, IS_KNOWN, user_id.unwrap_or_default(), text(block)).await?;
    Ok(found > 0)
}

/// Stores the address of a complete login. The caller has locked the user's row.
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

/// Deletes the addresses except one: after a change of the password only the user who set it is known.
pub async fn forget(tx: &mut Tx, user_id: &str, but: Option<AddressBlock>) -> Result<(), DbError> {
    match but {
        Some(block) => qm_db::exec!(tx, FORGET_OTHERS, user_id, text(block))
            .await
            .map(drop),
        None => qm_db::exec!(tx, FORGET_ALL, user_id).await.map(drop),
    }
}
