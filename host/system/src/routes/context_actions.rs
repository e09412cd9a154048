//! Route of the context actions, from which clients build toolbars. It is no access control: the routes of
//! the actions are.

use axum::extract::State;
use qm_platform::area::ContextAction;
use qm_web::{Auth, Json};
use serde::Serialize;
use utoipa::ToSchema;

use super::System;

/// Context actions of the caller.
#[derive(Serialize, ToSchema)]
pub(super) struct ContextActions {
    /// In the order in which the areas list them.
    actions: Vec<ContextActionView>,
    diagnostics: ContextDiagnostics,
}

/// Number of withheld actions, by reason.
#[derive(Serialize, ToSchema)]
pub(super) struct ContextDiagnostics {
    /// All that there are.
    total: usize,
    withheld: Withheld,
}

/// Actions that are left out, by the first reason.
#[derive(Serialize, ToSchema)]
pub(super) struct Withheld {
    /// The caller lacks a permission.
    permission: usize,
    /// The module is off: none is.
    module: usize,
    /// A feature is off: none is.
    feature: usize,
    /// No provider can do it: of what is listed all can.
    provider: usize,
}

/// Something that people do with things.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ContextAction)]
pub(super) struct ContextActionView {
    id: &'static str,
    /// The group of the toolbar, e.g. `maintenance`.
    group: &'static str,
    /// The kinds of things it is about, e.g. `torrent`.
    entity_types: Vec<&'static str>,
    /// Size of the selection: `none`, `single`, `multi`, `any`.
    arity: &'static str,
    /// For views of the running of things only.
    operations_only: bool,
    destructive: bool,
    /// Capability that the object needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    requires_entity_capability: Option<&'static str>,
    /// Things at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u32, required = false)]
    max_selection: Option<u32>,
    /// Where it cannot be done: `hide` or `disable`.
    when_unavailable: &'static str,
    /// It goes on after it was answered.
    r#async: bool,
    icon: &'static str,
    /// Lowest first within its group.
    order: u16,
}

impl From<&ContextAction> for ContextActionView {
    fn from(action: &ContextAction) -> Self {
        Self {
            id: action.id,
            group: action.group,
            entity_types: action.entity.into_iter().collect(),
            arity: action.arity,
            operations_only: action.operations_only,
            destructive: action.destructive,
            requires_entity_capability: action.capability,
            max_selection: action.max_selection,
            when_unavailable: if action.shown_disabled { "disable" } else { "hide" },
            r#async: action.goes_on,
            icon: action.icon,
            order: action.order,
        }
    }
}

/// Actions that the caller may perform on torrents, files, jobs and media items, for toolbars.
#[utoipa::path(
    get, path = "/api/context-actions/catalog", tag = "context-actions", responses((status = 200, body = ContextActions))
)]
pub(super) async fn context_actions(
    State(app): State<System>,
    Auth(principal): Auth,
) -> Json<ContextActions> {
    let all = app.context_actions.iter().copied();
    let (allowed, refused): (Vec<&ContextAction>, Vec<&ContextAction>) =
        all.partition(|action| principal.missing(action.permissions).is_empty());
    Json(ContextActions {
        actions: allowed.iter().copied().map(ContextActionView::from).collect(),
        diagnostics: ContextDiagnostics {
            total: allowed.len() + refused.len(),
            withheld: Withheld {
                permission: refused.len(),
                module: 0,
                feature: 0,
                provider: 0,
            },
        },
    })
}
