//! With which errors of this area each operation may refuse, for the document. What every guarded operation may answer
//! is known without them.

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
