//! Table `rss_rules`.

use qm_db::{DbError, FromRow, Tx, sql};
use qm_kernel::Timestamp;

use super::{json, parsed};
use crate::model::rule::{ImportMode, Origin, Rule, ShowSnapshot};

macro_rules! columns {
    () => {
        "id, feed_id, name, include_regex, exclude_regex, category_id, save_path, auto_download, is_enabled, import_mode, \
         storage_profile_id, pre_migration_save_path, media_type, show_status, show_status_provider, \
         show_status_provider_id, show_status_checked_at, show_status_recommendation, show_first_air_date, \
         show_last_air_date, show_next_episode_air_date, show_status_warnings, allow_inactive_show_monitoring, \
         generated_by_discovery, discovery_template_id, acquisition_template_id, acquisition_template_version, \
         discovered_media_id, user_modified_at, created_at, updated_at"
    };
}

sql! {
    LIST = concat!("SELECT ", columns!(), " FROM rss_rules ORDER BY created_at, id");
    FIND = concat!("SELECT ", columns!(), " FROM rss_rules WHERE id = $1");
    NAMED = concat!("SELECT ", columns!(), " FROM rss_rules WHERE feed_id = $1 AND name = $2 ORDER BY created_at, id LIMIT 1");
    NAMES = "SELECT id, name, save_path FROM rss_rules ORDER BY created_at, id";
    COUNT = "SELECT COUNT(*) FROM rss_rules";
    INSERT = concat!("INSERT INTO rss_rules (", columns!(), ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, \
        $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31)");
    UPDATE = "UPDATE rss_rules SET name = $2, include_regex = $3, exclude_regex = $4, category_id = $5, save_path = $6,  \
        auto_download = $7, is_enabled = $8, import_mode = $9, storage_profile_id = $10,  \
        pre_migration_save_path = $11, media_type = $12, show_status = $13, show_status_provider = $14,  \
        show_status_provider_id = $15, show_status_checked_at = $16, show_status_recommendation = $17,  \
        show_first_air_date = $18, show_last_air_date = $19, show_next_episode_air_date = $20,  \
        show_status_warnings = $21, allow_inactive_show_monitoring = $22, user_modified_at = $23,  \
        updated_at = $24 WHERE id = $1";
    SET_AUTHOR = "UPDATE rss_rules SET author_id = $2 WHERE id = $1";
    AUTHOR = "SELECT author_id FROM rss_rules WHERE id = $1";
    DELETE = "DELETE FROM rss_rules WHERE id = $1";
    SHOW_TOLD = "UPDATE rss_rules SET show_status = $3, show_status_recommendation = $4, show_status_checked_at = $5, \
        show_last_air_date = $6, show_next_episode_air_date = $7 \
        WHERE show_status_provider = $1 AND show_status_provider_id = $2";
    WATCHED = "SELECT DISTINCT show_status_provider, show_status_provider_id FROM rss_rules \
        WHERE show_status_provider IS NOT NULL AND show_status_provider_id IS NOT NULL";
    OF_SHOW = "SELECT id FROM rss_rules WHERE show_status_provider = $1 AND show_status_provider_id = $2 ORDER BY created_at, id";
    DISABLE = "UPDATE rss_rules SET is_enabled = $2, updated_at = $3 WHERE id = $1 AND is_enabled <> $2";
    STOP_GRABBING = "UPDATE rss_rules SET auto_download = $2, updated_at = $3 WHERE id = $1 AND auto_download <> $2";
}

#[derive(FromRow)]
struct Row {
    id: String,
    feed_id: String,
    name: String,
    include_regex: Option<String>,
    exclude_regex: Option<String>,
    category_id: Option<String>,
    save_path: Option<String>,
    auto_download: bool,
    is_enabled: bool,
    import_mode: String,
    storage_profile_id: Option<String>,
    pre_migration_save_path: Option<String>,
    media_type: Option<String>,
    show_status: Option<String>,
    show_status_provider: Option<String>,
    show_status_provider_id: Option<String>,
    show_status_checked_at: Option<i64>,
    show_status_recommendation: Option<String>,
    show_first_air_date: Option<String>,
    show_last_air_date: Option<String>,
    show_next_episode_air_date: Option<String>,
    show_status_warnings: String,
    allow_inactive_show_monitoring: bool,
    generated_by_discovery: bool,
    discovery_template_id: Option<String>,
    acquisition_template_id: Option<String>,
    acquisition_template_version: Option<i64>,
    discovered_media_id: Option<String>,
    user_modified_at: Option<i64>,
    created_at: i64,
    updated_at: i64,
}

impl From<Row> for Rule {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            feed_id: row.feed_id,
            name: row.name,
            include_regex: row.include_regex,
            exclude_regex: row.exclude_regex,
            category_id: row.category_id,
            save_path: row.save_path,
            auto_download: row.auto_download,
            is_enabled: row.is_enabled,
            import_mode: row.import_mode.parse().unwrap_or(ImportMode::LegacyDirect),
            storage_profile_id: row.storage_profile_id,
            pre_migration_save_path: row.pre_migration_save_path,
            media_type: row.media_type,
            show: ShowSnapshot {
                status: row.show_status,
                provider: row.show_status_provider,
                provider_id: row.show_status_provider_id,
                checked_at: row.show_status_checked_at.map(Timestamp::from_ms),
                recommendation: row.show_status_recommendation,
                first_air_date: row.show_first_air_date,
                last_air_date: row.show_last_air_date,
                next_episode_air_date: row.show_next_episode_air_date,
                warnings: parsed(&row.show_status_warnings),
            },
            allow_inactive_show_monitoring: row.allow_inactive_show_monitoring,
            origin: Origin {
                is_generated: row.generated_by_discovery,
                discovery_template_id: row.discovery_template_id,
                acquisition_template_id: row.acquisition_template_id,
                acquisition_template_version: row.acquisition_template_version,
                discovered_media_id: row.discovered_media_id,
                user_modified_at: row.user_modified_at.map(Timestamp::from_ms),
            },
            created_at: Timestamp::from_ms(row.created_at),
            updated_at: Timestamp::from_ms(row.updated_at),
        }
    }
}

/// Every rule, the oldest first.
pub async fn all(tx: &mut Tx) -> Result<Vec<Rule>, DbError> {
    let rows = qm_db::all!(tx, Row, LIST).await?;
    Ok(rows.into_iter().map(Rule::from).collect())
}

pub async fn find(tx: &mut Tx, id: &str) -> Result<Option<Rule>, DbError> {
    Ok(qm_db::opt!(tx, Row, FIND, id).await?.map(Rule::from))
}

/// The rule of a feed with exactly this name.
pub async fn named(tx: &mut Tx, feed_id: &str, name: &str) -> Result<Option<Rule>, DbError> {
    Ok(qm_db::opt!(tx, Row, NAMED, feed_id, name).await?.map(Rule::from))
}

/// Id, name and save path of every rule.
pub async fn names(tx: &mut Tx) -> Result<Vec<(String, String, Option<String>)>, DbError> {
    qm_db::all!(tx, (String, String, Option<String>), NAMES).await
}

pub async fn count(tx: &mut Tx) -> Result<u64, DbError> {
    Ok(qm_db::value!(tx, i64, COUNT).await?.unsigned_abs())
}

pub async fn insert(tx: &mut Tx, rule: &Rule) -> Result<(), DbError> {
    qm_db::exec!(
        tx,
        INSERT,
        &rule.id,
        &rule.feed_id,
        &rule.name,
        rule.include_regex.as_deref(),
        rule.exclude_regex.as_deref(),
        rule.category_id.as_deref(),
        rule.save_path.as_deref(),
        rule.auto_download,
        rule.is_enabled,
        rule.import_mode.as_str(),
        rule.storage_profile_id.as_deref(),
        rule.pre_migration_save_path.as_deref(),
        rule.media_type.as_deref(),
        rule.show.status.as_deref(),
        rule.show.provider.as_deref(),
        rule.show.provider_id.as_deref(),
        rule.show.checked_at.map(Timestamp::ms),
        rule.show.recommendation.as_deref(),
        rule.show.first_air_date.as_deref(),
        rule.show.last_air_date.as_deref(),
        rule.show.next_episode_air_date.as_deref(),
        json(&rule.show.warnings),
        rule.allow_inactive_show_monitoring,
        rule.origin.is_generated,
        rule.origin.discovery_template_id.as_deref(),
        rule.origin.acquisition_template_id.as_deref(),
        rule.origin.acquisition_template_version,
        rule.origin.discovered_media_id.as_deref(),
        rule.origin.user_modified_at.map(Timestamp::ms),
        rule.created_at.ms(),
        rule.updated_at.ms(),
    )
    .await?
    .exactly(1)
}

/// Stores the editable fields of a rule: not its feed, nor its origin.
pub async fn update(tx: &mut Tx, rule: &Rule) -> Result<(), DbError> {
    qm_db::exec!(
        tx,
        UPDATE,
        &rule.id,
        &rule.name,
        rule.include_regex.as_deref(),
        rule.exclude_regex.as_deref(),
        rule.category_id.as_deref(),
        rule.save_path.as_deref(),
        rule.auto_download,
        rule.is_enabled,
        rule.import_mode.as_str(),
        rule.storage_profile_id.as_deref(),
        rule.pre_migration_save_path.as_deref(),
        rule.media_type.as_deref(),
        rule.show.status.as_deref(),
        rule.show.provider.as_deref(),
        rule.show.provider_id.as_deref(),
        rule.show.checked_at.map(Timestamp::ms),
        rule.show.recommendation.as_deref(),
        rule.show.first_air_date.as_deref(),
        rule.show.last_air_date.as_deref(),
        rule.show.next_episode_air_date.as_deref(),
        json(&rule.show.warnings),
        rule.allow_inactive_show_monitoring,
        rule.origin.user_modified_at.map(Timestamp::ms),
        rule.updated_at.ms(),
    )
    .await?
    .exactly(1)
}

/// Stores the user on whose behalf a rule grabs: the one who saved it last.
pub async fn set_author(tx: &mut Tx, id: &str, user_id: &str) -> Result<(), DbError> {
    qm_db::exec!(tx, SET_AUTHOR, id, user_id).await?.exactly(1)
}

/// Id of the user on whose behalf a rule grabs; `None` if it was never recorded.
pub async fn author(tx: &mut Tx, id: &str) -> Result<Option<String>, DbError> {
    let row = qm_db::opt!(tx, (Option<String>,), AUTHOR, id).await?;
    Ok(row.and_then(|(author,)| author))
}

/// Deletes a rule with its candidates, evaluations, holds and grabs.
pub async fn delete(tx: &mut Tx, id: &str) -> Result<(), DbError> {
    qm_db::exec!(tx, DELETE, id).await?.exactly(1)
}

/// Stores the new airing status in every rule of the show; returns the number of changed rules.
pub async fn show_told(tx: &mut Tx, told: &qm_ports::shows::ShowSnapshot) -> Result<u64, DbError> {
    let done = qm_db::exec!(
        tx,
        SHOW_TOLD,
        &told.provider,
        &told.provider_show_id,
        told.status.as_str(),
        told.recommendation.as_str(),
        told.checked_at.ms(),
        told.last_air_date.as_deref(),
        told.next_episode_air_date.as_deref(),
    )
    .await?;
    Ok(done.rows())
}

/// Provider and id of every show that has a rule.
pub async fn watched(tx: &mut Tx) -> Result<Vec<(String, String)>, DbError> {
    qm_db::all!(tx, (String, String), WATCHED).await
}

/// Ids of the rules on a show.
pub async fn of_show(tx: &mut Tx, provider: &str, id: &str) -> Result<Vec<String>, DbError> {
    let rows = qm_db::all!(tx, (String,), OF_SHOW, provider, id).await?;
    Ok(rows.into_iter().map(|(id,)| id).collect())
}

/// Disables a rule; a missing or disabled rule stays unchanged.
pub async fn disable(tx: &mut Tx, id: &str, now: Timestamp) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, DISABLE, id, false, now.ms()).await?;
    Ok(())
}

/// Turns off the downloads of a rule, which goes on to record matches; a missing rule changes nothing.
pub async fn stop_grabbing(tx: &mut Tx, id: &str, now: Timestamp) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, STOP_GRABBING, id, false, now.ms()).await?;
    Ok(())
}
