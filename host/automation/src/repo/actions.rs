//! Table `automation_actions`: actions that rules use, as their plugins last declared them.

use qm_db::{DbError, Tx, sql};

use crate::model::action::KnownAction;

sql! {
    LIST = "SELECT id, label, category, plugin FROM automation_actions ORDER BY id";
    PUT = "INSERT INTO automation_actions (id, label, category, plugin) VALUES ($1, $2, $3, $4) \
        ON CONFLICT (id) DO UPDATE SET label = excluded.label, category = excluded.category, plugin = excluded.plugin";
}

pub async fn all(tx: &mut Tx) -> Result<Vec<KnownAction>, DbError> {
    let rows = qm_db::all!(tx, (String, String, String, String), LIST).await?;
    let known = rows.into_iter().map(|(id, label, category, plugin)| KnownAction {
        id,
        label,
        category,
        plugin,
    });
    Ok(known.collect())
}

pub async fn put(tx: &mut Tx, action: &KnownAction) -> Result<(), DbError> {
    qm_db::exec!(
        tx,
        PUT,
        &action.id,
        &action.label,
        &action.category,
        &action.plugin
    )
    .await?
    .exactly(1)
}
