//! Refusals that operations of several rooms have in common, for the document.

use qm_platform::ActingError;

use crate::LibraryError as E;

/// Text that is known only when it happens.
pub fn some() -> String {
    "…".to_owned()
}

pub fn with(mut errors: Vec<E>, others: impl IntoIterator<Item = E>) -> Vec<E> {
    errors.extend(others);
    errors
}

/// Refusals of an account whose token outlives it.
pub fn own() -> Vec<E> {
    vec![
        E::Acting(ActingError::Gone),
        E::Acting(ActingError::Inactive),
        E::Acting(ActingError::Lacks(some())),
    ]
}
