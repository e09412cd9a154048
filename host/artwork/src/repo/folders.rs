//! Table `media_picture_folders`.

use qm_db::{DbError, Tx, sql};

sql! {
    FIND = "SELECT digest FROM media_picture_folders WHERE directory_id = $1";
    PUT = "INSERT INTO media_picture_folders (directory_id, digest) VALUES ($1, $2) \
        ON CONFLICT (directory_id) DO UPDATE SET digest = excluded.digest";
}

/// Digest of the names of pictures in a directory when all items below it were looked at last.
pub async fn find(tx: &mut Tx, directory: &str) -> Result<Option<String>, DbError> {
    let row = qm_db::opt!(tx, (String,), FIND, directory).await?;
    Ok(row.map(|(digest,)| digest))
}

/// Stores that all items below a directory were looked at.
pub async fn put(tx: &mut Tx, directory: &str, digest: &str) -> Result<(), DbError> {
    qm_db::exec!(tx, PUT, directory, digest).await?.exactly(1)
}
