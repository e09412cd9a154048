//! Errors of the routes, for their document.

use qm_confined::FsError;
use qm_lanes::LaneError;
use qm_platform::ActingError;
use qm_ports::metadata::Unsettled;
use qm_ports::subjects::SubjectsUnread;
use qm_web::faults;

use crate::error::ArtworkError as E;
use crate::model::picture::{Format, Refused};

faults! {
    ItemList => with_library(vec![E::NoSuchItem]);
    Scan => with_user(vec![E::NoSuchItem]);
    ShowList => with_library(vec![E::NoSuchShow, E::BadSeason]);
    ItemSelect => with_user(vec![E::NoSuchItem, E::NoSuchArtwork]);
    ShowSelect => with_user(vec![E::NoSuchShow, E::NoSuchArtwork]);
    ItemUpload => upload(E::NoSuchItem);
    ShowUpload => upload(E::NoSuchShow);
    ItemImport => import(vec![E::NoSuchItem, E::Cancelled]);
    ShowImport => import(vec![E::NoSuchShow, E::BadSeason]);
    Image => image();
}

/// Placeholder for a part of a message that is known only at run time.
fn some() -> String {
    "…".to_owned()
}

fn with_library(mut errors: Vec<E>) -> Vec<E> {
    errors.extend([E::Subjects(SubjectsUnread(some())), E::Lane(LaneError::Full("…"))]);
    errors
}

fn with_user(errors: Vec<E>) -> Vec<E> {
    let mut errors = with_library(errors);
    errors.extend(ActingError::list_refusals().map(E::Acting));
    errors
}

fn storing(errors: Vec<E>) -> Vec<E> {
    let mut errors = with_user(errors);
    errors.extend([
        E::NoRoot,
        E::Path(FsError::NoSpace(some())),
        E::Path(FsError::ReadOnly(some())),
        E::Path(FsError::Denied(some())),
        E::Path(FsError::Disk(some())),
    ]);
    errors
}

fn upload(owner: E) -> Vec<E> {
    let mut errors = storing(vec![owner, E::BadType(some()), E::NotBase64]);
    errors.extend([
        E::OtherMime(some(), Format::Png),
        E::OtherName(some(), Format::Png),
        E::Refused(Refused::Unknown),
    ]);
    errors
}

fn import(errors: Vec<E>) -> Vec<E> {
    let mut errors = storing(errors);
    errors.extend([E::Silent(some(), some()), E::Unsettled(Unsettled(some()))]);
    errors
}

fn image() -> Vec<E> {
    let mut errors = with_library(vec![
        E::NoSuchArtwork,
        E::NotStored,
        E::FileGone,
        E::Unusable(Refused::Unknown),
    ]);
    errors.extend(FsError::list_for_reading("…").map(E::Path));
    errors
}
