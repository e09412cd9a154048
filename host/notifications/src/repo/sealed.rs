//! Encrypted columns of this area: configurations and destinations in `notification_channels`.

use async_trait::async_trait;
use qm_db::{DbError, Tx, all, exec, sql};
use qm_platform::{SealedPage, SealedRow, SealedValues};

const CONFIG: &str = "config";
const STATE: &str = "state";

sql! {
    LIST = "SELECT id, config, state FROM notification_channels WHERE id > $1 ORDER BY id LIMIT $2";
    REPLACE_CONFIG = "UPDATE notification_channels SET config = $3 WHERE id = $1 AND config = $2";
    REPLACE_STATE = "UPDATE notification_channels SET state = $3 WHERE id = $1 AND state = $2";
}

/// Access to the encrypted columns, for a change of the encryption key.
pub struct ChannelSecrets;

#[async_trait]
impl SealedValues for ChannelSecrets {
    fn area(&self) -> &'static str {
        "notifications"
    }

    async fn list(&self, tx: &mut Tx, after: Option<&str>, limit: u32) -> Result<SealedPage, DbError> {
        type Row = (String, Option<String>, Option<String>);
        let channels = all!(tx, Row, LIST, after.unwrap_or_default(), i64::from(limit)).await?;
        let found = channels
            .into_iter()
            .map(|(id, config, state)| (id, [config, state]));
        Ok(SealedPage::of_fields([CONFIG, STATE], found.collect(), limit))
    }

    async fn replace(&self, tx: &mut Tx, row: &SealedRow, new: &str) -> Result<bool, DbError> {
        let statement = match row.field.as_str() {
            CONFIG => REPLACE_CONFIG,
            _ => REPLACE_STATE,
        };
        let done = exec!(tx, statement, &row.object, &row.stored, new).await?;
        Ok(done.rows() == 1)
    }
}
