//! Errors that each operation may answer, for the OpenAPI document. Answers common to every guarded operation
//! are added elsewhere.

use qm_platform::ActingError;
use qm_platform::config_schema::BadSchema;
use qm_ports::Settling;
use qm_web::faults;

use crate::error::MediaServersError as E;

faults! {
    Create => with(configuring(), [E::TooMany]);
    Change => with(configuring(), [E::NoSuchIntegration]);
    Of => with(acting(), [E::NoSuchIntegration]);
    Test => with(acting(), [E::NoSuchIntegration, E::Settling(Settling::unknown())]);
    Refresh => with(
        acting(),
        [E::NoSuchIntegration, E::Disabled, E::Refresh(some()), E::Settling(Settling::unknown())],
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

fn configuring() -> Vec<E> {
    with(
        acting(),
        [
            E::Nameless,
            E::NoSuchKind {
                asked: some(),
                known: some(),
            },
            E::Settling(Settling::unknown()),
            E::Config(vec![some()]),
            E::BadSchema(some(), BadSchema::unusable()),
        ],
    )
}
