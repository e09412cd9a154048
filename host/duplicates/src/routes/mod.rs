//! `/api/media/duplicates`: groups, plans, the schedule.

mod groups;
mod plans;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::extract::State;
use qm_kernel::ErrorKind;
use qm_platform::ActingError;
use qm_ports::inventory::StockUnread;
use qm_ports::trash::TrashError;
use qm_web::{Routes, faults, routes};

use crate::error::DuplicatesError as E;
use crate::service::{DELETE, Duplicates, MATCH, RENAME, SCAN, VIEW};

type App = State<Arc<Duplicates>>;

faults! {
    Read => vec![E::Stock(unread())];
    Detail => vec![E::NoSuchGroup, E::Stock(unread())];
    Change => with_user(vec![E::NoSuchGroup]);
    Settings => with_user(Vec::new());
    Detect => with_user(Vec::new());
    Trashed => vec![E::Trash(failing())];
    Preview => with_user(vec![
        E::NoSuchGroup,
        E::Resolved,
        E::TooFew,
        E::NeedsReview,
        E::NotAMember("keepItemId", some()),
        E::Stock(unread()),
        E::Trash(failing()),
    ]);
    Resolve => with_user(vec![
        E::NoSuchPlan,
        E::AlreadyRun("completed"),
        E::Blocked(some()),
        E::StalePlan,
        E::StaleKeeper,
        E::KeeperMissing,
        E::Permanent,
        E::Stock(unread()),
        E::Trash(failing()),
    ]);
    Repair => with_user(vec![E::Stock(unread()), E::Trash(failing())]);
    PreviewMany => with_user(Vec::new());
    ResolveMany => with_user(vec![E::Permanent]);
}

/// Placeholder for a part of a message that is known only at run time.
fn some() -> String {
    "…".to_owned()
}

fn unread() -> StockUnread {
    StockUnread(some())
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
pub fn routes() -> Routes<Arc<Duplicates>> {
    Routes::new()
        .add(routes!(groups::show_overview).need(VIEW))
        .add(routes!(groups::list_groups).need(VIEW))
        .add(routes!(groups::show_schedule).need(VIEW))
        .add(routes!(groups::change_schedule).need(SCAN))
        .add(routes!(groups::detect).need(SCAN))
        .add(routes!(plans::restore_suffixes).need(RENAME))
        .add(routes!(plans::list_clear).need(VIEW))
        .add(routes!(plans::preview_many).need(VIEW))
        .add(routes!(plans::resolve_many).need(DELETE))
        .add(routes!(plans::list_restorable).need(VIEW))
        .add(routes!(plans::resolve).need(DELETE))
        .add(routes!(groups::show_group).need(VIEW))
        .add(routes!(groups::ignore_group).need(MATCH))
        .add(routes!(groups::reopen_group).need(MATCH))
        .add(routes!(plans::preview_keeping).need(VIEW))
        .add(routes!(plans::preview_deleting).need(VIEW))
}
