//! Errors that each operation may answer, for the OpenAPI document. Answers common to every guarded operation
//! are added elsewhere.

use qm_platform::ActingError;
use qm_ports::Settling;
use qm_web::faults;

use crate::error::MetadataError as E;

faults! {
    Test => [
        E::Acting(ActingError::Gone),
        E::Acting(ActingError::Inactive),
        E::Settling(Settling::unknown()),
    ];
}
