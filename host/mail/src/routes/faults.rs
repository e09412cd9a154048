//! Errors that each operation may answer, for the OpenAPI document. Answers common to every guarded operation
//! are added elsewhere.

use qm_platform::ActingError;
use qm_ports::mail::MailError;
use qm_web::faults;

use crate::error::MailAreaError as E;

faults! {
    Change => acting();
    Try => with(
        acting(),
        [
            E::Mail(MailError::NotConfigured),
            E::Mail(MailError::Invalid(some())),
            E::Mail(MailError::Refused(some())),
            E::Mail(MailError::Auth(some())),
            E::Mail(MailError::Unreachable(some())),
            E::Mail(MailError::Timeout),
            E::Mail(MailError::Later(some())),
            E::Mail(MailError::Busy),
        ],
    );
}

/// Placeholder for a part of a message that is known only at run time.
fn some() -> String {
    "…".to_owned()
}

fn with(mut errors: Vec<E>, more: impl IntoIterator<Item = E>) -> Vec<E> {
    errors.extend(more);
    errors
}

fn acting() -> Vec<E> {
    vec![E::Acting(ActingError::Gone), E::Acting(ActingError::Inactive)]
}
