//! Table `notification_preferences`.

use std::collections::BTreeSet;

use qm_db::{DbError, FromRow, Json, Tx, sql};
use qm_kernel::Timestamp;

use crate::model::preference::Preference;

sql! {
    OF_USER = "SELECT event_key AS whose, is_enabled, in_app, channels FROM notification_preferences WHERE user_id = $1";
    OF_EVENT = "SELECT user_id AS whose, is_enabled, in_app, channels FROM notification_preferences WHERE event_key = $1";
    PUT = "INSERT INTO notification_preferences (user_id, event_key, is_enabled, in_app, channels, updated_at) \
        VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (user_id, event_key) DO UPDATE SET is_enabled = excluded.is_enabled, \
            in_app = excluded.in_app, channels = excluded.channels, updated_at = excluded.updated_at";
}

#[derive(FromRow)]
struct Row {
    whose: String,
    is_enabled: bool,
    in_app: bool,
    channels: Json<BTreeSet<String>>,
}

impl Row {
    fn named(self) -> (String, Preference) {
        let preference = Preference {
            enabled: self.is_enabled,
            in_app: self.in_app,
            channels: self.channels.0,
        };
        (self.whose, preference)
    }
}

/// Stored preferences of a user, by event key.
pub async fn of_user<C: FromIterator<(String, Preference)>>(
    tx: &mut Tx,
    user_id: &str,
) -> Result<C, DbError> {
    let rows = qm_db::all!(tx, Row, OF_USER, user_id).await?;
    Ok(rows.into_iter().map(Row::named).collect())
}

/// Stored preferences for an event, by user id.
pub async fn of_event<C: FromIterator<(String, Preference)>>(tx: &mut Tx, key: &str) -> Result<C, DbError> {
    let rows = qm_db::all!(tx, Row, OF_EVENT, key).await?;
    Ok(rows.into_iter().map(Row::named).collect())
}

pub async fn put(
    tx: &mut Tx,
    user_id: &str,
    key: &str,
    preference: &Preference,
    at: Timestamp,
) -> Result<(), DbError> {
    qm_db::exec!(
        tx,
        PUT,
        user_id,
        key,
        preference.enabled,
        preference.in_app,
        Json(&preference.channels),
        at.ms()
    )
    .await?
    .exactly(1)
}
