//! Refusals that operations of several rooms have in common, for the document.

use qm_platform::ActingError;

use crate::LibraryError as E;

/// Placeholder for a text that is known only when the error happens.
pub fn some() -> String {
    "…".to_owned()
}

pub fn with(mut errors: Vec<E>, others: impl IntoIterator<Item = E>) -> Vec<E> {
    errors.extend(others);
    errors
}

/// Refusals of an account that was changed while its token is still valid.
pub fn own() -> Vec<E> {
    ActingError::list_refusals().map(E::Acting).into()
}
