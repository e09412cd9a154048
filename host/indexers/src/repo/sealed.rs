//! Encrypted columns of this area: keys and configurations in `indexers`.

use async_trait::async_trait;
use qm_db::{DbError, Tx, all, exec, sql};
use qm_platform::{SealedPage, SealedRow, SealedValues};

const API_KEY: &str = "api_key";
const CONFIG: &str = "config";

sql! {
    LIST = "SELECT id, api_key, config FROM indexers WHERE id > $1 ORDER BY id LIMIT $2";
    REPLACE_API_KEY = "UPDATE indexers SET api_key = $3 WHERE id = $1 AND api_key = $2";
    REPLACE_CONFIG = "UPDATE indexers SET config = $3 WHERE id = $1 AND config = $2";
}

/// Access to the encrypted columns, for a change of the encryption key.
pub struct IndexerSecrets;

#[async_trait]
impl SealedValues for IndexerSecrets {
    fn area(&self) -> &'static str {
        "indexers"
    }

    async fn list(&self, tx: &mut Tx, after: Option<&str>, limit: u32) -> Result<SealedPage, DbError> {
        type Row = (String, Option<String>, Option<String>);
        let indexers = all!(tx, Row, LIST, after.unwrap_or_default(), i64::from(limit)).await?;
        let found = indexers
            .into_iter()
            .map(|(id, api_key, config)| (id, [api_key, config]));
        Ok(SealedPage::of_fields([API_KEY, CONFIG], found.collect(), limit))
    }

    async fn replace(&self, tx: &mut Tx, row: &SealedRow, new: &str) -> Result<bool, DbError> {
        let statement = match row.field.as_str() {
            API_KEY => REPLACE_API_KEY,
            _ => REPLACE_CONFIG,
        };
        let done = exec!(tx, statement, &row.object, &row.stored, new).await?;
        Ok(done.rows() == 1)
    }
}
