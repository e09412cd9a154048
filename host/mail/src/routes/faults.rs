//! With which errors of this area each operation may refuse, for the document. What every guarded operation may answer
//! is known without them.

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

/// Stands for what is known only when it happens.
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
