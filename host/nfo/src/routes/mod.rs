//! `/api/media`: notes (NFO).

#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::extract::State;
use qm_confined::FsError;
use qm_lanes::LaneError;
use qm_platform::ActingError;
use qm_ports::notes::NotesUnread;
use qm_web::{ApiResult, Body, By, Created, Routes, faults, routes};

use crate::dto::{AcceptedView, GeneratedView, NfoInput, NfoItemsInput};
use crate::error::NfoError as E;
use crate::model::keep::Unkept;
use crate::service::{NEEDED, Nfo};

type App = State<Arc<Nfo>>;

faults! {
    Generate => generate();
    Bulk => with_user(vec![E::NoItems, E::TooManyItems]);
}

/// Placeholder for a part of a message that is known only at run time.
fn some() -> String {
    "…".to_owned()
}

fn with_user(mut errors: Vec<E>) -> Vec<E> {
    errors.push(E::Notes(NotesUnread(some())));
    errors.extend(ActingError::list_refusals().map(E::Acting));
    errors
}

fn generate() -> Vec<E> {
    let mut errors = with_user(vec![
        E::NoSuchItem,
        E::NoSuchLibrary,
        E::NothingGiven,
        E::Disabled,
        E::TooLarge,
        E::Locked,
        E::Exists(some()),
        E::Unkept(some(), Unkept::Malformed),
        E::Shared(some(), some()),
        E::Changed(some()),
        E::Lane(LaneError::Full("…")),
        E::Path(FsError::NoSpace(some())),
        E::Path(FsError::ReadOnly(some())),
    ]);
    errors.extend(FsError::list_for_reading("…").map(E::Path));
    errors
}

/// All routes of this area, still without their state.
pub fn routes() -> Routes<Arc<Nfo>> {
    Routes::new()
        .add(routes!(generate_nfo).need(NEEDED))
        .add(routes!(generate_nfo_of_items).need(NEEDED))
}

/// Writes the note (NFO) about an item, or those about all unlocked items of a library. A note that somebody else wrote stays,
/// unless `overwrite` is true.
#[utoipa::path(
    post, path = "/api/media/nfo/generate", tag = "media", request_body = Body<NfoInput>,
    responses((status = 201, body = GeneratedView), Generate)
)]
async fn generate_nfo(
    State(app): App,
    By(requester): By,
    Body(input): Body<NfoInput>,
) -> ApiResult<Created<GeneratedView>> {
    let caller = requester.caller();
    let given = |id: Option<String>| id.filter(|id| !id.trim().is_empty());
    let written = match (given(input.item_id), given(input.library_id)) {
        (Some(item), _) => vec![app.generate(caller, &item, input.overwrite).await?],
        (None, Some(library)) => app.generate_all(caller, &library, input.overwrite).await?,
        (None, None) => return Err(E::NothingGiven.into()),
    };
    Ok(Created(GeneratedView::new(written)))
}

/// Has the notes about items written, as a job; locked items are left out.
#[utoipa::path(
    post, path = "/api/media/items/bulk/nfo", tag = "media", request_body = Body<NfoItemsInput>,
    responses((status = 201, body = AcceptedView), Bulk)
)]
async fn generate_nfo_of_items(
    State(app): App,
    By(requester): By,
    Body(input): Body<NfoItemsInput>,
) -> ApiResult<Created<AcceptedView>> {
    let ids = input.item_ids.unwrap_or_default();
    let accepted = app
        .generate_some(requester.caller(), ids, input.overwrite)
        .await?;
    Ok(Created(AcceptedView {
        job_id: accepted.job_id,
        accepted: accepted.count,
        missing: accepted.missing,
    }))
}
