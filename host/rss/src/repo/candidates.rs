//! Table `rss_candidates`.

use qm_db::{DbError, FromRow, Tx, sql};
use qm_kernel::Timestamp;
use qm_matching::{Candidate, MatchType};

use super::{clean, json, parsed};
use crate::model::candidate::StoredCandidate;

macro_rules! columns {
    () => {
        "id, rule_id, priority_order, name, description, is_enabled, match_type, pattern, required_terms, excluded_terms, \
         quality_rules, size_rules, feed_scope, last_matched_at, match_count, created_at, updated_at"
    };
}

sql! {
    LIST = concat!("SELECT ", columns!(), " FROM rss_candidates ORDER BY rule_id, priority_order, created_at, id");
    OF_RULE = concat!("SELECT ", columns!(), " FROM rss_candidates WHERE rule_id = $1 ORDER BY priority_order, created_at, id");
    INSERT = concat!("INSERT INTO rss_candidates (", columns!(), ") \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)");
    UPDATE = "UPDATE rss_candidates SET priority_order = $3, name = $4, description = $5, is_enabled = $6, match_type = $7, \
        pattern = $8, required_terms = $9, excluded_terms = $10, quality_rules = $11, size_rules = $12, feed_scope = $13, \
        updated_at = $14 WHERE id = $1 AND rule_id = $2";
    ORDER = "UPDATE rss_candidates SET priority_order = $3 WHERE id = $1 AND rule_id = $2";
    BUMP = "UPDATE rss_candidates SET match_count = match_count + 1, last_matched_at = $2 WHERE id = $1";
    DELETE = "DELETE FROM rss_candidates WHERE id = $1 AND rule_id = $2";
    DELETE_ALL = "DELETE FROM rss_candidates WHERE rule_id = $1";
}

#[derive(FromRow)]
struct Row {
    id: String,
    rule_id: String,
    priority_order: i64,
    name: String,
    description: Option<String>,
    is_enabled: bool,
    match_type: String,
    pattern: Option<String>,
    required_terms: String,
    excluded_terms: String,
    quality_rules: String,
    size_rules: String,
    feed_scope: String,
    last_matched_at: Option<i64>,
    match_count: i64,
    created_at: i64,
    updated_at: i64,
}

impl From<Row> for StoredCandidate {
    fn from(row: Row) -> Self {
        Self {
            rule_id: row.rule_id,
            candidate: Candidate {
                id: row.id,
                priority_order: row.priority_order,
                name: row.name,
                description: row.description,
                enabled: row.is_enabled,
                match_type: row.match_type.parse().unwrap_or(MatchType::ExactText),
                pattern: row.pattern,
                required_terms: parsed(&row.required_terms),
                excluded_terms: parsed(&row.excluded_terms),
                quality_rules: parsed(&row.quality_rules),
                size_rules: parsed(&row.size_rules),
                feed_scope: parsed(&row.feed_scope),
                exclude_regex: None,
            },
            last_matched_at: row.last_matched_at.map(Timestamp::from_ms),
            match_count: row.match_count,
            created_at: Timestamp::from_ms(row.created_at),
            updated_at: Timestamp::from_ms(row.updated_at),
            complaint: None,
        }
    }
}

fn stored(rows: Vec<Row>) -> Vec<StoredCandidate> {
    rows.into_iter().map(StoredCandidate::from).collect()
}

/// Candidates of all rules, by their place within the rule.
pub async fn all(tx: &mut Tx) -> Result<Vec<StoredCandidate>, DbError> {
    Ok(stored(qm_db::all!(tx, Row, LIST).await?))
}

/// Candidates of one rule, by place.
pub async fn of_rule(tx: &mut Tx, rule_id: &str) -> Result<Vec<StoredCandidate>, DbError> {
    Ok(stored(qm_db::all!(tx, Row, OF_RULE, rule_id).await?))
}

pub async fn insert(tx: &mut Tx, stored: &StoredCandidate) -> Result<(), DbError> {
    let candidate = &stored.candidate;
    qm_db::exec!(
        tx,
        INSERT,
        &candidate.id,
        &stored.rule_id,
        candidate.priority_order,
        clean(&candidate.name),
        candidate.description.as_deref().map(clean),
        candidate.enabled,
        candidate.match_type.as_str(),
        candidate.pattern.as_deref().map(clean),
        json(&candidate.required_terms),
        json(&candidate.excluded_terms),
        json(&candidate.quality_rules),
        json(&candidate.size_rules),
        json(&candidate.feed_scope),
        stored.last_matched_at.map(Timestamp::ms),
        stored.match_count,
        stored.created_at.ms(),
        stored.updated_at.ms(),
    )
    .await?
    .exactly(1)
}

pub async fn update(tx: &mut Tx, stored: &StoredCandidate) -> Result<(), DbError> {
    let candidate = &stored.candidate;
    qm_db::exec!(
        tx,
        UPDATE,
        &candidate.id,
        &stored.rule_id,
        candidate.priority_order,
        clean(&candidate.name),
        candidate.description.as_deref().map(clean),
        candidate.enabled,
        candidate.match_type.as_str(),
        candidate.pattern.as_deref().map(clean),
        json(&candidate.required_terms),
        json(&candidate.excluded_terms),
        json(&candidate.quality_rules),
        json(&candidate.size_rules),
        json(&candidate.feed_scope),
        stored.updated_at.ms(),
    )
    .await?
    .exactly(1)
}

pub async fn set_order(tx: &mut Tx, rule_id: &str, id: &str, order: i64) -> Result<(), DbError> {
    qm_db::exec!(tx, ORDER, id, rule_id, order).await?.exactly(1)
}

/// Counts a match; the candidate may have been deleted meanwhile.
pub async fn bump(tx: &mut Tx, id: &str, now: Timestamp) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, BUMP, id, now.ms()).await?;
    Ok(())
}

/// Deletes a candidate; `false` when it did not exist.
pub async fn delete(tx: &mut Tx, rule_id: &str, id: &str) -> Result<bool, DbError> {
    Ok(qm_db::exec!(tx, DELETE, id, rule_id).await?.rows() > 0)
}

pub async fn delete_all(tx: &mut Tx, rule_id: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, DELETE_ALL, rule_id).await?;
    Ok(())
}
