//! With which errors of this area each operation may refuse, for the document. What every guarded operation may answer
//! is known without them.

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
