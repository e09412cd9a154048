//! Errors that each operation may answer, for the OpenAPI document. Answers common to every guarded operation
//! are added elsewhere.

use qm_ports::Settling;
use qm_web::faults;

use crate::error::AutomationError as E;

faults! {
    Create => [
        E::TooManyRules(500), E::TooManyPatterns(1001), E::Placeholder(String::new()), E::NoSchedule, E::NoStalledHours,
        E::Parameter(String::new()), E::Powers(String::new()), E::Settling(Settling::unknown())
    ];
    Change => [
        E::NoSuchRule, E::TooManyPatterns(1001), E::Placeholder(String::new()), E::NoSchedule, E::NoStalledHours,
        E::Parameter(String::new()), E::Powers(String::new()), E::Settling(Settling::unknown())
    ];
    Preview => [E::Settling(Settling::unknown())];
    OfRule => [E::NoSuchRule];
    Explain => [E::NoSuchRule, E::NoSuchTorrent];
}
