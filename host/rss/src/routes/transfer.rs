//! Export and import of rules.

use axum::extract::State;
use qm_kernel::{Permission, Principal};
use qm_web::{ApiResult, Auth, Body, By, Created, Json, Params, Path};
use serde_json::Value;

use super::{App, faults};
use crate::dto::answers::ImportedView;
use crate::dto::requests::{BundleBody, ExportQuery, ImportQuery};
use crate::error::RssError;
use crate::model::bundle::{self, Mode};

/// The rules of a feed, with their candidates. Without `rss.manage` keys in addresses are masked.
#[utoipa::path(
    get, path = "/api/rss/feeds/{id}/rules-export", tag = "rss", params(("id" = String, Path)),
    responses((status = 200, body = Object), faults::Export)
)]
pub async fn export_feed_rules(
    State(app): App,
    Auth(principal): Auth,
    Path(id): Path<String>,
) -> ApiResult<Json<Value>> {
    Ok(Json(seen_by(app.export(Some(&id), None).await?, &principal)))
}

/// Rules with their feeds and candidates: of a feed (`feedId`), or those that are named (`ruleIds`), or both; all without either.
/// Without `rss.manage` keys in addresses are masked.
#[utoipa::path(
    get, path = "/api/rss/rules-export", tag = "rss", params(Params::<ExportQuery>),
    responses((status = 200, body = Object), faults::Export)
)]
pub async fn export_rules(
    State(app): App,
    Auth(principal): Auth,
    Params(query): Params<ExportQuery>,
) -> ApiResult<Json<Value>> {
    let ids = query.rule_ids.as_deref();
    let bundle = app.export(query.feed_id.as_deref(), ids).await?;
    Ok(Json(seen_by(bundle, &principal)))
}

/// The bundle as `reader` may see it: keys masked without `rss.manage`.
fn seen_by(bundle: Value, reader: &Principal) -> Value {
    if reader.has_permission(Permission::RssManage) {
        bundle
    } else {
        bundle::without_keys(bundle)
    }
}

/// Takes over a bundle of rules. What is there is left (`skip`), replaced (`overwrite`) or added to (`merge`). A row that cannot be
/// read is left out and named in `problems`.
#[utoipa::path(
    post, path = "/api/rss/rules-import", tag = "rss", params(Params::<ImportQuery>), request_body = Body<BundleBody>,
    responses((status = 201, body = ImportedView), faults::Import)
)]
pub async fn import_rules(
    State(app): App,
    By(requester): By,
    Params(query): Params<ImportQuery>,
    Body(body): Body<BundleBody>,
) -> ApiResult<Created<ImportedView>> {
    let mode = Mode::from_word(&query.mode);
    let rows = body.rows().ok_or(RssError::NoBundle)?;
    let imported = app.import(requester.caller(), rows, mode).await?;
    Ok(Created(ImportedView::new(mode, imported)))
}
