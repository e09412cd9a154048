//! Table `rss_smart_templates`.

use qm_db::{DbError, Tx, sql};
use qm_kernel::Timestamp;
use serde_json::Value;

use super::clean;

sql! {
    INSERT = "INSERT INTO rss_smart_templates (id, rule_id, source_name, parsed_metadata, generated_candidates, \
        confidence_score, user_edited, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
}

/// Suggestions that a user took over, and the name they were made from.
pub struct Template<'a> {
    pub id: String,
    pub rule_id: &'a str,
    pub source_name: Option<String>,
    pub parsed_metadata: Value,
    pub generated_candidates: Value,
    pub confidence_score: Option<f64>,
    pub user_edited: bool,
    pub at: Timestamp,
}

pub async fn insert(tx: &mut Tx, template: &Template<'_>) -> Result<(), DbError> {
    qm_db::exec!(
        tx,
        INSERT,
        &template.id,
        template.rule_id,
        template.source_name.as_deref().map(clean),
        clean(&template.parsed_metadata.to_string()),
        clean(&template.generated_candidates.to_string()),
        template.confidence_score,
        template.user_edited,
        template.at.ms(),
    )
    .await?
    .exactly(1)
}
