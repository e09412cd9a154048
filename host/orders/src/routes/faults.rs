//! Errors that every operation of this crate may return, for the API document.

use qm_web::faults;

use qm_media::LibraryError as E;
use qm_media::dto::faults::{own, some, with};

faults! {
    Order => with(own(), order());
    Erase => with(own(), with(order(), [E::SharedData(some())]));
    Preview => with(own(), [E::TooManySelected(1001)]);
    Move => with(own(), with(order(), [E::NoTarget, E::NoSuchTarget]));
}

fn order() -> Vec<E> {
    vec![E::NothingSelected, E::TooManySelected(1001)]
}
