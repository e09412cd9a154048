//! Route of the audit trail.

use axum::extract::State;
use qm_kernel::{PageQuery, Timestamp};
use qm_platform::{AuditRecord, AuditUser, Target};
use qm_web::{ApiResult, FromQuery, Json, Params};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::System;
use crate::error::SystemError;

const MAX_PAGE: u64 = 200;

/// An action that no row can have, for what PostgreSQL's TEXT cannot hold.
fn without_nul(action: &str) -> String {
    action.replace('\0', "\u{fffd}")
}

/// Filter and page of the audit trail.
#[derive(FromQuery)]
pub(super) struct AuditQuery {
    #[field(page = MAX_PAGE)]
    page: PageQuery,
    #[field(given, map = without_nul)]
    action: Option<String>,
}

/// A page of the audit trail, newest first.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct AuditPage {
    items: Vec<AuditItem>,
    /// Rows over all pages.
    total: u64,
    /// The page used, from 1.
    page: u64,
    /// The page size used.
    page_size: u64,
}

/// An audited action.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct AuditItem {
    id: String,
    /// `null`: the system itself, somebody unknown, or a user since deleted.
    user_id: Option<String>,
    /// Dotted, e.g. `torrents.add`.
    action: String,
    object_type: Option<String>,
    object_id: Option<String>,
    /// `success` or `failure`.
    result: String,
    /// The addresses of `X-Forwarded-For` when there were any, else the peer's.
    ip_address: Option<String>,
    user_agent: Option<String>,
    metadata: Option<Value>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    user: Option<AuditActor>,
    /// The movie or episode it is about, as far as a release name tells.
    target: Option<AuditTarget>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct AuditActor {
    username: String,
    display_name: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub(super) struct AuditTarget {
    /// The title, with the episode when that is known: `Orchard Lane (2021) — S02E07`.
    label: String,
    title: String,
    season: Option<u32>,
    episode: Option<u32>,
}

impl From<AuditRecord> for AuditItem {
    fn from(record: AuditRecord) -> Self {
        Self {
            id: record.id,
            user_id: record.user_id,
            action: record.action,
            object_type: record.object_type,
            object_id: record.object_id,
            result: record.result,
            ip_address: record.ip_address,
            user_agent: record.user_agent,
            metadata: record.metadata,
            created_at: record.created_at,
            user: record.user.map(AuditActor::from),
            target: record.target.map(AuditTarget::from),
        }
    }
}

impl From<AuditUser> for AuditActor {
    fn from(user: AuditUser) -> Self {
        Self {
            username: user.username,
            display_name: user.display_name,
        }
    }
}

impl From<Target> for AuditTarget {
    fn from(target: Target) -> Self {
        Self {
            label: target.label,
            title: target.title,
            season: target.season,
            episode: target.episode,
        }
    }
}

/// Audit trail, the newest entry first.
#[utoipa::path(
    get,
    path = "/api/audit",
    tag = "audit",
    params(
        ("page" = Option<u64>, Query, description = "From 1."),
        ("pageSize" = Option<u64>, Query, description = "At most 200, default 50."),
        ("action" = Option<String>, Query, description = "Exact action."),
        Params::<AuditQuery>,
    ),
    responses((status = 200, body = AuditPage))
)]
pub(super) async fn list_audit(
    State(system): State<System>,
    Params(query): Params<AuditQuery>,
) -> ApiResult<Json<AuditPage>> {
    let (records, total) = system
        .trail
        .page(query.page, query.action.as_deref())
        .await
        .map_err(SystemError::from)?;
    Ok(Json(AuditPage {
        items: records.into_iter().map(AuditItem::from).collect(),
        total,
        page: query.page.page,
        page_size: query.page.page_size,
    }))
}
