//! The encrypted values of this area: the secret fields in `torrent_engines.config`.

use async_trait::async_trait;
use qm_db::{DbError, Json, Tx, all, exec, opt, sql};
use qm_platform::{SealedPage, SealedRow, SealedValues};
use serde_json::{Map, Value};

sql! {
    LIST = "SELECT id, config, secret_fields FROM torrent_engines WHERE id > $1 ORDER BY id LIMIT $2";
    FIND = "SELECT config FROM torrent_engines WHERE id = $1";
    /// The whole text is compared: another field that was changed meanwhile must not be set back.
    REPLACE = "UPDATE torrent_engines SET config = $3 WHERE id = $1 AND config = $2";
}

/// The passwords of engines.
pub struct EngineSecrets;

#[async_trait]
impl SealedValues for EngineSecrets {
    fn area(&self) -> &'static str {
        "torrents"
    }

    async fn list(&self, tx: &mut Tx, after: Option<&str>, limit: u32) -> Result<SealedPage, DbError> {
        type Row = (String, Json<Map<String, Value>>, Json<Vec<String>>);
        let engines = all!(tx, Row, LIST, after.unwrap_or_default(), i64::from(limit)).await?;
        let next = engines
            .last()
            .filter(|_| engines.len() == limit as usize)
            .map(|(id, ..)| id.clone());
        let mut rows = Vec::new();
        for (object, Json(config), Json(fields)) in engines {
            for field in fields {
                if let Some(stored) = config.get(&field).and_then(Value::as_str) {
                    rows.push(SealedRow {
                        object: object.clone(),
                        stored: stored.to_owned(),
                        field,
                    });
                }
            }
        }
        Ok(SealedPage { rows, next })
    }

    async fn replace(&self, tx: &mut Tx, row: &SealedRow, new: &str) -> Result<bool, DbError> {
        let Some((before,)) = opt!(&mut *tx, (String,), FIND, &row.object).await? else {
            return Ok(false);
        };
        let Ok(mut config) = serde_json::from_str::<Map<String, Value>>(&before) else {
            return Ok(false);
        };
        match config.get_mut(&row.field) {
            Some(Value::String(stored)) if *stored == row.stored => new.clone_into(stored),
            _ => return Ok(false),
        }
        let done = exec!(tx, REPLACE, &row.object, before, Json(config)).await?;
        Ok(done.rows() == 1)
    }
}
