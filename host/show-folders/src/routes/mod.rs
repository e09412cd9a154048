//! `/api/media/shows/duplicates`: families of folders, plans that merge them, merges.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::extract::State;
use qm_kernel::ErrorKind;
use qm_lanes::LaneError;
use qm_platform::ActingError;
use qm_ports::folders::FoldersUnread;
use qm_ports::trash::TrashError;
use qm_web::{ApiResult, Body, By, Created, Json, Params, Routes, faults, routes};

use crate::dto::{
    FamiliesQuery, FamiliesView, FamilyView, MemberView, MergeInput, MergedView, PlanView, PreviewInput,
    RefreshView, SidecarsView, canonical_of,
};
use crate::error::MergeError as E;
use crate::service::{Folders, Listed, MERGE, Member, VIEW, Wish};

type App = State<Arc<Folders>>;

faults! {
    List => vec![E::Library(unread()), E::Lane(LaneError::Full("…"))];
    Preview => with_user(vec![
        E::NoSuchShow(some()),
        E::NoDuplicates,
        E::IntoItself,
        E::OtherLibrary,
        E::TooManyFiles,
        E::Lane(LaneError::Full("…")),
        E::Library(unread()),
        E::Trash(failing()),
    ]);
    Merge => with_user(vec![
        E::NoSuchPlan,
        E::AlreadyRun("completed"),
        E::Blocked(some()),
        E::StalePlan,
        E::Lane(LaneError::Full("…")),
        E::Library(unread()),
        E::Trash(failing()),
    ]);
}

/// Placeholder for a part of a message that is known only at run time.
fn some() -> String {
    "…".to_owned()
}

fn unread() -> FoldersUnread {
    FoldersUnread(some())
}

fn failing() -> TrashError {
    TrashError::Failed {
        kind: ErrorKind::Unavailable,
        message: some(),
    }
}

fn with_user(mut errors: Vec<E>) -> Vec<E> {
    errors.extend(ActingError::list_refusals().map(E::Acting));
    errors
}

/// All routes of this area, still without their state.
pub fn routes() -> Routes<Arc<Folders>> {
    Routes::new()
        .add(routes!(list_families).need(VIEW))
        .add(routes!(preview_merge).need(VIEW))
        .add(routes!(merge_folders).need_all(&MERGE))
}

/// Lists shows of one library that seem to be one, and what their folders hold.
#[utoipa::path(
    get, path = "/api/media/shows/duplicates", tag = "media", params(Params::<FamiliesQuery>),
    responses((status = 200, body = FamiliesView), List)
)]
async fn list_families(
    State(app): App,
    By(requester): By,
    Params(query): Params<FamiliesQuery>,
) -> ApiResult<Json<FamiliesView>> {
    let limit = query.limit();
    let page = app
        .list_families(requester.caller(), query.library_id.as_deref(), limit)
        .await?;
    let families = page.families.into_iter().map(to_family).collect();
    Ok(Json(FamiliesView::new(families, page.total, limit)))
}

fn to_family(listed: Listed) -> FamilyView {
    let needs_review = listed.family.needs_review;
    let members: Vec<MemberView> = listed.members.into_iter().map(to_member).collect();
    FamilyView {
        reason: listed.family.tie.as_str(),
        needs_review,
        review_reason: needs_review.then_some("metadata_conflict"),
        colliding_episodes: listed.colliding,
        suggested_canonical_show_id: members
            .first()
            .map(|member| member.show_id.clone())
            .unwrap_or_default(),
        members,
    }
}

fn to_member(member: Member) -> MemberView {
    MemberView {
        show_id: member.show.id,
        path: member.show.path,
        title: member.show.title,
        year: member.show.year,
        titledb_id: member.show.titledb_id,
        video_count: member.videos,
        size_bytes: member.size,
        episodes: member.episodes,
        unique_episodes: member.unique,
        sidecars: SidecarsView {
            subtitles: member.subtitles,
            nfo: member.nfo,
            artwork: member.artwork,
            other: member.other,
        },
        watchlist_count: 0,
    }
}

/// Plans to put folders of shows into one. The plan is stored, and nothing is moved or deleted.
#[utoipa::path(
    post, path = "/api/media/shows/duplicates/preview", tag = "media", request_body = Body<PreviewInput>,
    responses((status = 201, body = PlanView), Preview)
)]
async fn preview_merge(
    State(app): App,
    By(requester): By,
    Body(input): Body<PreviewInput>,
) -> ApiResult<Created<PlanView>> {
    let wish = Wish {
        canonical: input.canonical_show_id,
        duplicates: input.duplicate_show_ids,
        choices: input.collision_choices,
        is_acknowledged: input.acknowledge_metadata_conflict,
    };
    let plan = app.preview(requester.caller(), wish).await?;
    Ok(Created(plan.into()))
}

/// Carries a plan out: files move, those that lose go into the trash, and the empty folders after them.
#[utoipa::path(
    post, path = "/api/media/shows/duplicates/merge", tag = "media", request_body = Body<MergeInput>,
    responses((status = 201, body = MergedView), Merge)
)]
async fn merge_folders(
    State(app): App,
    By(requester): By,
    Body(input): Body<MergeInput>,
) -> ApiResult<Created<MergedView>> {
    let outcome = app.merge(requester, &input.plan_id).await?;
    let tally = outcome.tally;
    Ok(Created(MergedView {
        canonical: canonical_of(&outcome.plan),
        plan_id: outcome.plan.id,
        status: outcome.status.as_str(),
        moved: tally.moved,
        trashed: tally.trashed,
        rescued: tally.rescued,
        deleted: tally.deleted,
        skipped: tally.skipped,
        failed: tally.failed,
        rebound: 0,
        reclaimed_bytes: tally.freed,
        library_id: outcome.plan.plan.library_id,
        rescan_job_id: outcome.scan,
        server_refresh: RefreshView {
            refreshed: outcome.refreshed,
            failed: outcome.refused,
        },
    }))
}
