//! Tables `media_duplicate_groups`, `media_duplicate_candidates` and `media_duplicate_scans`, as detections write them.

use qm_db::{DbError, FromRow, Json, Tx, bulk, sql};
use qm_duplicate_groups::{Verdict, Warning};
use qm_kernel::Timestamp;

use super::clean;
use crate::model::{Candidate, Status, StoredGroup};

macro_rules! columns {
    () => {
        "g.id, g.group_key, g.group_type, g.reason, g.status, g.confidence, g.requires_review, g.savings, \
         g.recommended_item_id, g.recommendation, g.warnings, g.version, g.content_digest, g.members, g.title_key, \
         g.ignored_reason, g.ignored_by, g.ignored_at, g.resolved_by, g.resolved_at, g.created_at, g.updated_at"
    };
}
pub(super) use columns;

sql! {
    FIND = concat!("SELECT ", columns!(), " FROM media_duplicate_groups g WHERE g.id = $1");
    INSERT = "INSERT INTO media_duplicate_groups (id, group_key, key_digest, group_type, reason, status, confidence, \
        requires_review, savings, recommended_item_id, recommendation, warnings, version, content_digest, members, title_key, \
        created_at, updated_at) VALUES ($1, $2, $3, $4, $5, 'open', $6, $7, $8, $9, $10, $11, 1, $12, $13, $14, $15, $15)";
    // Only from the version that was read: a plan may have changed the group meanwhile.
    UPDATE = "UPDATE media_duplicate_groups SET reason = $2, confidence = $3, requires_review = $4, savings = $5, \
        recommended_item_id = $6, recommendation = $7, warnings = $8, version = version + 1, content_digest = $9, members = $10, \
        title_key = $11, updated_at = $12 WHERE id = $1 AND version = $13";
    SET_STATUS = "UPDATE media_duplicate_groups SET status = $2, ignored_reason = $3, ignored_by = $4, ignored_at = $5, \
        resolved_by = $6, resolved_at = $7, updated_at = $8 WHERE id = $1";
    OPEN = "SELECT id FROM media_duplicate_groups WHERE status = 'open' AND id > $1 ORDER BY id LIMIT $2";
    COUNT_ALL = "SELECT COUNT(*) FROM media_duplicate_groups";
    COUNT_OPEN = "SELECT COUNT(*) FROM media_duplicate_groups WHERE status = 'open'";
    DELETE_OPEN = "DELETE FROM media_duplicate_groups WHERE id = $1 AND status = 'open'";
    // The digest is that of no content: the next detection writes the group anew.
    MEMBERS_WENT = "UPDATE media_duplicate_groups SET version = version + 1, content_digest = '', members = $2, updated_at = $3 \
        WHERE id = $1";
    DELETE_CANDIDATES = "DELETE FROM media_duplicate_candidates WHERE group_id = $1";
    DELETE_CANDIDATE = "DELETE FROM media_duplicate_candidates WHERE group_id = $1 AND item_id = $2";
    COUNT_CANDIDATES = "SELECT COUNT(*) FROM media_duplicate_candidates WHERE group_id = $1";
    CANDIDATES = "SELECT group_id, item_id, library_id, media_type, title_key, path_key, size, quality, rank \
        FROM media_duplicate_candidates WHERE group_id = $1 ORDER BY rank, item_id";
    LAST_SCAN = "SELECT digest, at FROM media_duplicate_scans";
    PUT_SCAN = "INSERT INTO media_duplicate_scans (one, digest, at) VALUES (1, $1, $2) \
        ON CONFLICT (one) DO UPDATE SET digest = excluded.digest, at = excluded.at";
    FORGET_DIGEST = "UPDATE media_duplicate_scans SET digest = ''";
}

bulk! {
    BY_KEY = "SELECT g.key_digest, g.id, g.version, g.content_digest FROM (VALUES", 1,
        ") w CROSS JOIN media_duplicate_groups g WHERE g.key_digest = w.column1";
    INSERT_CANDIDATES = "INSERT INTO media_duplicate_candidates (group_id, item_id, library_id, media_type, title_key, \
        path_key, size, quality, rank) VALUES", 9, "";
}

#[derive(FromRow)]
pub(super) struct Row {
    id: String,
    group_key: String,
    group_type: String,
    reason: String,
    status: String,
    confidence: i64,
    requires_review: bool,
    savings: i64,
    recommended_item_id: Option<String>,
    recommendation: Json<Vec<Verdict>>,
    warnings: Json<Vec<Warning>>,
    version: i64,
    content_digest: String,
    members: i64,
    title_key: String,
    ignored_reason: Option<String>,
    ignored_by: Option<String>,
    ignored_at: Option<i64>,
    resolved_by: Option<String>,
    resolved_at: Option<i64>,
    created_at: i64,
    updated_at: i64,
}

impl From<Row> for StoredGroup {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            key: row.group_key,
            group_type: row.group_type,
            reason: row.reason,
            status: Status::from_word(&row.status),
            confidence: row.confidence,
            requires_review: row.requires_review,
            savings: row.savings,
            recommended_item_id: row.recommended_item_id,
            verdicts: row.recommendation.0,
            warnings: row.warnings.0,
            version: row.version,
            content_digest: row.content_digest,
            members: row.members,
            title_key: row.title_key,
            ignored_reason: row.ignored_reason,
            ignored_by: row.ignored_by,
            ignored_at: row.ignored_at.map(Timestamp::from_ms),
            resolved_by: row.resolved_by,
            resolved_at: row.resolved_at.map(Timestamp::from_ms),
            created_at: Timestamp::from_ms(row.created_at),
            updated_at: Timestamp::from_ms(row.updated_at),
        }
    }
}

#[derive(FromRow)]
pub(super) struct CandidateRow {
    group_id: String,
    item_id: String,
    library_id: String,
    media_type: String,
    title_key: String,
    path_key: String,
    size: i64,
    quality: i64,
    rank: i64,
}

impl From<CandidateRow> for Candidate {
    fn from(row: CandidateRow) -> Self {
        Self {
            group_id: row.group_id,
            item_id: row.item_id,
            library_id: row.library_id,
            media_type: row.media_type,
            title_key: row.title_key,
            path_key: row.path_key,
            size: row.size,
            quality: row.quality,
            rank: row.rank,
        }
    }
}

/// Stored state that a detection compares a group with.
#[derive(FromRow)]
pub struct Known {
    pub key_digest: String,
    pub id: String,
    pub version: i64,
    pub content_digest: String,
}

pub async fn find(tx: &mut Tx, id: &str) -> Result<Option<StoredGroup>, DbError> {
    // PostgreSQL takes no NUL, and no id has one.
    if id.contains('\0') {
        return Ok(None);
    }
    Ok(qm_db::opt!(tx, Row, FIND, id).await?.map(StoredGroup::from))
}

/// Stored groups with these digests of their keys.
pub async fn by_keys(tx: &mut Tx, digests: &[String]) -> Result<Vec<Known>, DbError> {
    qm_db::each!(tx, Known, BY_KEY, digests, |digest| digest).await
}

/// Stores a new, open group of version 1.
pub async fn insert(tx: &mut Tx, group: &StoredGroup, key_digest: &str) -> Result<(), DbError> {
    qm_db::exec!(
        tx,
        INSERT,
        &group.id,
        clean(&group.key),
        key_digest,
        &group.group_type,
        &group.reason,
        group.confidence,
        group.requires_review,
        group.savings,
        group.recommended_item_id.as_deref(),
        Json(&group.verdicts),
        Json(&group.warnings),
        &group.content_digest,
        group.members,
        clean(&group.title_key),
        group.updated_at.ms()
    )
    .await?
    .exactly(1)
}

/// Stores the content of a known group, whose version grows; false if it has another version than was read.
pub async fn update(tx: &mut Tx, group: &StoredGroup, version: i64) -> Result<bool, DbError> {
    let changed = qm_db::exec!(
        tx,
        UPDATE,
        &group.id,
        &group.reason,
        group.confidence,
        group.requires_review,
        group.savings,
        group.recommended_item_id.as_deref(),
        Json(&group.verdicts),
        Json(&group.warnings),
        &group.content_digest,
        group.members,
        clean(&group.title_key),
        group.updated_at.ms(),
        version
    )
    .await?;
    Ok(changed.rows() == 1)
}

/// Stores the state of a group, and who brought it there.
pub async fn set_status(tx: &mut Tx, group: &StoredGroup) -> Result<(), DbError> {
    qm_db::exec!(
        tx,
        SET_STATUS,
        &group.id,
        group.status.as_str(),
        group.ignored_reason.as_deref().map(clean),
        group.ignored_by.as_deref(),
        group.ignored_at.map(Timestamp::ms),
        group.resolved_by.as_deref(),
        group.resolved_at.map(Timestamp::ms),
        group.updated_at.ms()
    )
    .await?
    .exactly(1)
}

/// Ids of open groups behind `after`, in their order.
pub async fn open_behind(tx: &mut Tx, after: &str, most: i64) -> Result<Vec<String>, DbError> {
    let rows = qm_db::all!(tx, (String,), OPEN, after, most).await?;
    Ok(rows.into_iter().map(|(id,)| id).collect())
}

/// Number of groups, whatever became of them.
pub async fn count_all(tx: &mut Tx) -> Result<i64, DbError> {
    qm_db::value!(tx, i64, COUNT_ALL).await
}

pub async fn count_open(tx: &mut Tx) -> Result<i64, DbError> {
    qm_db::value!(tx, i64, COUNT_OPEN).await
}

/// Deletes a group if it is open; true if it was.
pub async fn delete_open(tx: &mut Tx, id: &str) -> Result<bool, DbError> {
    Ok(qm_db::exec!(tx, DELETE_OPEN, id).await?.rows() > 0)
}

/// Replaces the members of a group.
pub async fn put_candidates(tx: &mut Tx, group_id: &str, candidates: &[Candidate]) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, DELETE_CANDIDATES, group_id).await?;
    let _ = qm_db::batch!(
        tx,
        INSERT_CANDIDATES,
        candidates,
        |candidate| group_id,
        &candidate.item_id,
        &candidate.library_id,
        &candidate.media_type,
        clean(&candidate.title_key),
        clean(&candidate.path_key),
        candidate.size,
        candidate.quality,
        candidate.rank,
    )
    .await?;
    Ok(())
}

/// Members of a group, the best first.
pub async fn candidates(tx: &mut Tx, group_id: &str) -> Result<Vec<Candidate>, DbError> {
    let rows = qm_db::all!(tx, CandidateRow, CANDIDATES, group_id).await?;
    Ok(rows.into_iter().map(Candidate::from).collect())
}

/// Takes members out of a group, whose version grows; returns the number of those that are left.
pub async fn remove_members(
    tx: &mut Tx,
    group_id: &str,
    items: &[String],
    now: Timestamp,
) -> Result<i64, DbError> {
    for item in items {
        let _ = qm_db::exec!(tx, DELETE_CANDIDATE, group_id, item).await?;
    }
    let left = qm_db::value!(tx, i64, COUNT_CANDIDATES, group_id).await?;
    let _ = qm_db::exec!(tx, MEMBERS_WENT, group_id, left, now.ms()).await?;
    // The same items again would be another content than what is stored.
    let _ = qm_db::exec!(tx, FORGET_DIGEST).await?;
    Ok(left)
}

/// Digest and time of the last detection that went through.
pub async fn last_scan(tx: &mut Tx) -> Result<Option<(String, Timestamp)>, DbError> {
    let last = qm_db::opt!(tx, (String, i64), LAST_SCAN).await?;
    Ok(last.map(|(digest, at)| (digest, Timestamp::from_ms(at))))
}

pub async fn put_scan(tx: &mut Tx, digest: &str, at: Timestamp) -> Result<(), DbError> {
    qm_db::exec!(tx, PUT_SCAN, digest, at.ms()).await?.exactly(1)
}
