//! Errors that every operation of this crate may return, for the API document.

use qm_media::LibraryError as E;
use qm_web::faults;

faults! {
    Item => [E::NoSuchItem];
    Series => [E::NoSeriesKey];
    Show => [E::NoSuchShow];
    ShowKey => [E::NoSuchKey];
}
