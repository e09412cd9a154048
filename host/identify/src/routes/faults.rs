//! Errors that every operation of this crate may return, for the API document.

use qm_media::LibraryError as E;
use qm_media::dto::faults::{own, some, with};
use qm_ports::metadata::Unsettled;
use qm_ports::titledb::TitleDataError;
use qm_web::faults;

faults! {
    EditShow => with(own(), [E::NoSuchShow]);
    RefreshShow => with(own(), [E::NoSuchShow, E::ShowChanged, E::Silent(some()), E::Unsettled(Unsettled(some()))]);
    EditSeason => with(own(), [E::NoSuchShow, E::NoSeason]);
    Edit => with(own(), [E::NoSuchItem, E::Locked]);
    Reidentify => with(own(), [E::NoSuchLibrary, E::Unfinished(some())]);
    RepairPreview => [E::Unsettled(Unsettled(some())), E::Titles(TitleDataError(some()))];
    Repair => with(own(), [E::Unfinished(some())]);
    Entitle => with(own(), [E::NoTitledbId, E::NoSuchItem, E::Titles(TitleDataError(some()))]);
    Lock => with(own(), [E::NoSuchItem]);
    Describe => with(own(), [E::NoSuchItem]);
    Fetch => with(own(), [E::NoSuchItem, E::Changed, E::Silent(some())]);
}
