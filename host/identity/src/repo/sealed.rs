//! Encrypted columns of this area: the TOTP seeds in `users`.

use async_trait::async_trait;
use qm_db::{DbError, Tx, all, exec, sql};
use qm_platform::{SealedPage, SealedRow, SealedValues};

const FIELD: &str = "totp_secret";

sql! {
    LIST = "SELECT id, totp_secret FROM users WHERE totp_secret IS NOT NULL AND id > $1 ORDER BY id LIMIT $2";
    REPLACE = "UPDATE users SET totp_secret = $3 WHERE id = $1 AND totp_secret = $2";
}

/// Access to the encrypted TOTP seeds, for a change of the encryption key.
pub struct TotpSeeds;

#[async_trait]
impl SealedValues for TotpSeeds {
    fn area(&self) -> &'static str {
        "identity"
    }

    async fn list(&self, tx: &mut Tx, after: Option<&str>, limit: u32) -> Result<SealedPage, DbError> {
        let seeds = all!(
            tx,
            (String, String),
            LIST,
            after.unwrap_or_default(),
            i64::from(limit)
        )
        .await?;
        Ok(SealedPage::of_one(FIELD, seeds, limit))
    }

    async fn replace(&self, tx: &mut Tx, row: &SealedRow, new: &str) -> Result<bool, DbError> {
        let done = exec!(tx, REPLACE, &row.object, &row.stored, new).await?;
        Ok(done.rows() == 1)
    }
}
