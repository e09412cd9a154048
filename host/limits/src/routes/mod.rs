//! `/api/…/share-limits` of torrents, categories and engines, and `/api/engines/{id}/speed`.

mod share;
mod speed;

use std::sync::Arc;

use axum::extract::State;
use qm_engines::model::abilities::{Ability, GLOBAL_LIMITS, SUPER_SEEDING};
use qm_engines::samples::{of_asking, of_lack};
use qm_kernel::Permission as P;
use qm_platform::ActingError;
use qm_ports::engine::ShareAction;
use qm_web::{Routes, faults, routes};

use crate::error::LimitsError as E;
use crate::model::share::{ACTIONS, ON_CATEGORY, ON_ENGINE, ON_TORRENT, permission_of, read_action};
use crate::service::{Limits, TO_CHOOSE, TO_SET};

type App = State<Arc<Limits>>;

faults! {
    Torrent => torrent();
    ChangeTorrent => with_user(with(torrent(), [E::NoSuchEngine, lacks(&SUPER_SEEDING), E::NotCleared(some())]));
    Category => vec![E::NoSuchCategory];
    ChangeCategory => with_user(vec![E::NoSuchCategory]);
    Engine => vec![E::NoSuchEngine];
    ChangeEngine => with_user(vec![E::NoSuchEngine, lacks(&SUPER_SEEDING)]);
    SetSpeed => with_user(vec![E::NoSuchEngine, lacks(&GLOBAL_LIMITS)]);
    ChooseMode => with_user(vec![E::NoSuchEngine, E::NoSpeed(some())]);
}

/// A stand-in for a text that is known only when the error happens.
fn some() -> String {
    "…".to_owned()
}

fn lacks(ability: &'static Ability) -> E {
    of_lack(ability).into()
}

/// Errors of the engine that a torrent is looked for on.
fn torrent() -> Vec<E> {
    let asked = of_asking().into_iter().map(E::Engine);
    asked.chain([E::NoSuchTorrent]).collect()
}

fn with(mut errors: Vec<E>, more: impl IntoIterator<Item = E>) -> Vec<E> {
    errors.extend(more);
    errors
}

fn with_user(errors: Vec<E>) -> Vec<E> {
    let acting = [
        ActingError::Gone,
        ActingError::Inactive,
        ActingError::Lacks(some()),
    ];
    with(errors, acting.map(E::Acting))
}

/// Permissions by the action of a body.
fn by_action() -> impl Iterator<Item = (&'static str, P)> {
    let named = ACTIONS.iter().map(|word| (*word, read_action(word)));
    named
        .filter(|(_, action)| *action != ShareAction::SuperSeed)
        .map(|(word, action)| (word, permission_of(action)))
}

/// All routes of this area, still without their state.
pub fn routes() -> Routes<Arc<Limits>> {
    Routes::new()
        .add(routes!(share::show_torrent).need(P::TorrentsView))
        .add(
            routes!(share::set_torrent)
                .need_all(ON_TORRENT)
                .needs_by("action", by_action()),
        )
        .add(routes!(share::clear_torrent).need_all(ON_TORRENT))
        .add(routes!(share::show_category).need(P::TorrentsView))
        .add(
            routes!(share::set_category)
                .need_all(ON_CATEGORY)
                .needs_by("action", by_action()),
        )
        .add(routes!(share::clear_category).need_all(ON_CATEGORY))
        .add(routes!(share::show_engine).need(P::SystemView))
        .add(
            routes!(share::set_engine)
                .need_all(ON_ENGINE)
                .needs_by("action", by_action()),
        )
        .add(routes!(share::clear_engine).need_all(ON_ENGINE))
        .add(routes!(speed::show_speed).need(P::TorrentsView))
        .add(routes!(speed::set_speed).need_all(TO_SET))
        .add(routes!(speed::clear_speed).need_all(TO_SET))
        .add(routes!(speed::choose_mode).need_all(TO_CHOOSE))
}
