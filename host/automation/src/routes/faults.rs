//! With which errors of this area each operation may refuse, for the document. What every guarded operation may answer
//! is known without them.

use qm_web::faults;

use crate::error::AutomationError as E;

faults! {
    Create => [E::TooManyRules(500), E::TooManyPatterns(1001), E::Powers(String::new())];
    Change => [E::NoSuchRule, E::TooManyPatterns(1001), E::Powers(String::new())];
    OfRule => [E::NoSuchRule];
    Explain => [E::NoSuchRule, E::NoSuchTorrent];
}
