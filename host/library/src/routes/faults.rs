//! With which errors of this area each operation may refuse, for the document. What every guarded operation may answer
//! is known without them.

use qm_web::faults;

use qm_media::LibraryError as E;
use qm_media::dto::faults::{own, some, with};

faults! {
    Create => with(input(), [E::TooMany(500), E::SamePath(some())]);
    Update => with(input(), [E::NoSuchLibrary, E::SamePath(some())]);
    Ignore => with(own(), [E::NoSuchLibrary, E::OutsideLibrary, E::TooManyIgnored(20_000)]);
    Heed => with(own(), [E::NotIgnored]);
    Delete => with(own(), [E::NoSuchLibrary]);
    Scan => own();
    Library => [E::NoSuchLibrary];
    Order => with(own(), order());
    Erase => with(own(), with(order(), [E::SharedData(some())]));
    Preview => with(own(), [E::TooManySelected(1001)]);
    Move => with(own(), with(order(), [E::NoTarget, E::NoSuchTarget]));
}

fn order() -> Vec<E> {
    vec![E::NothingSelected, E::TooManySelected(1001)]
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
