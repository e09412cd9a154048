//! Encrypted columns of this area: configurations in `media_server_integrations`.

use async_trait::async_trait;
use qm_db::{DbError, Tx, all, exec, sql};
use qm_platform::{SealedPage, SealedRow, SealedValues};

const CONFIG: &str = "config";

sql! {
    LIST = "SELECT id, config FROM media_server_integrations WHERE id > $1 ORDER BY id LIMIT $2";
    REPLACE = "UPDATE media_server_integrations SET config = $3 WHERE id = $1 AND config = $2";
}

/// Access to the encrypted columns, for a change of the encryption key.
pub struct MediaServerSecrets;

#[async_trait]
impl SealedValues for MediaServerSecrets {
    fn area(&self) -> &'static str {
        "media_servers"
    }

    async fn list(&self, tx: &mut Tx, after: Option<&str>, limit: u32) -> Result<SealedPage, DbError> {
        let rows = all!(
            tx,
            (String, String),
            LIST,
            after.unwrap_or_default(),
            i64::from(limit)
        )
        .await?;
        let found = rows.into_iter().map(|(id, config)| (id, [Some(config)]));
        Ok(SealedPage::of_fields([CONFIG], found.collect(), limit))
    }

    async fn replace(&self, tx: &mut Tx, row: &SealedRow, new: &str) -> Result<bool, DbError> {
        let done = exec!(tx, REPLACE, &row.object, &row.stored, new).await?;
        Ok(done.rows() == 1)
    }
}
