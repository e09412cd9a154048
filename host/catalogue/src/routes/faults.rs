//! Errors with which each operation of this room may refuse, for the document.

use qm_media::LibraryError as E;
use qm_web::faults;

faults! {
    Item => [E::NoSuchItem];
    Series => [E::NoSeriesKey];
    Show => [E::NoSuchShow];
    ShowKey => [E::NoSuchKey];
}
