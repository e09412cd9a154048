//! Errors that every operation of this crate may return, for the API document.

use qm_media::LibraryError as E;
use qm_media::dto::faults::{own, some, with};
use qm_web::faults;

faults! {
    Create => with(input(), [E::TooMany(500), E::SamePath(some())]);
    Update => with(input(), [E::NoSuchLibrary, E::SamePath(some())]);
    Ignore => with(own(), [E::NoSuchLibrary, E::OutsideLibrary, E::TooManyIgnored(20_000)]);
    Heed => with(own(), [E::NotIgnored]);
    Delete => with(own(), [E::NoSuchLibrary]);
    Scan => own();
    Library => [E::NoSuchLibrary];
}

fn input() -> Vec<E> {
    let mut errors = own();
    errors.extend([
        E::NameAndPath,
        E::NoPath,
        E::PreviewMode,
        E::UnknownMode(some()),
        E::Protected,
        E::Outside(some()),
    ]);
    errors
}
