//! Errors that each operation may answer, for the OpenAPI document. Answers common to every guarded operation
//! are added elsewhere.

use qm_platform::ActingError;
use qm_web::faults;

use crate::error::TitledbError as E;

faults! {
    Change => with(path());
    Validate => with(path());
    Import => with(path());
    Test => with(Vec::new());
    Stop => with(vec![E::NotRunning]);
    Update => with(path());
    Reset => with([path(), vec![E::Active]].into_iter().flatten().collect());
    OfTitle => [E::InvalidId, E::NoSuchTitle];
}

fn path() -> Vec<E> {
    vec![E::NoPath, E::Protected, E::Outside("…".to_owned())]
}

fn with(mut errors: Vec<E>) -> Vec<E> {
    errors.extend([E::Acting(ActingError::Gone), E::Acting(ActingError::Inactive)]);
    errors
}
