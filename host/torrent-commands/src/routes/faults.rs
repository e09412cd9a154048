//! The errors of this area by which each operation may refuse, for the API document.

use qm_engines::TorrentsError as T;
use qm_engines::model::abilities::{self as can, Ability};
use qm_engines::samples::{of_asking, of_carrying, of_category, of_engine, of_lack, of_path, of_torrent};
use qm_kernel::Permission;
use qm_ports::action::ActionError;
use qm_ports::engine::{EngineError, Subject};
use qm_web::faults;

use crate::error::CommandsError as E;
use crate::model::kinds::KINDS;

faults! {
    /// A command for one torrent that every client knows.
    OfTorrent => torrent();
    OfCategory => with(torrent(), [value()].into_iter().chain(of_category().into_iter().map(E::from)));
    OfTags => with(torrent(), [value(), E::Hands(ActionError::Rejected(some()))]);
    OfReannounce => able(&can::REANNOUNCE);
    OfQueue => able(&can::QUEUE);
    OfSequential => able(&can::SEQUENTIAL);
    OfFirstLast => able(&can::FIRST_LAST);
    OfSuperSeeding => able(&can::SUPER_SEEDING);
    OfAutoManage => with(torrent(), of_category().into_iter().map(E::from));
    OfDownloadPath => with(able(&can::DOWNLOAD_PATH), paths().into_iter().chain(unmoved()));
    OfFile => with(able(&can::RENAME_FILE), renames().into_iter().chain([missing(Subject::File)]));
    OfFolder => with(able(&can::RENAME_FOLDER), renames().into_iter().chain([E::NoSuchFolder(some())]));
    OfTracker => with(able(&can::REPLACE_TRACKER), [value(), missing(Subject::Tracker)]);
    OfPeers => with(able(&can::BAN_PEERS), [value()]);
    Export => with(able(&can::EXPORT), [E::ExportTooLarge(some())]);
    Location => with(torrent(), [T::NoMover.into()]);
    Bulk => with(
        many(),
        KINDS.iter().filter_map(|kind| kind.ability).map(lacks).chain([E::MissingPermission(Permission::TorrentsDelete.key()), E::Name(some())]),
    );
    ReplaceHost => with(many(), [lacks(&can::REPLACE_TRACKER)]);
    ShowBulk => [E::NoSuchBulk];
}

/// A stand-in for a text that is known only when the error happens.
fn some() -> String {
    "…".to_owned()
}

fn value() -> E {
    E::Value(some())
}

fn lacks(ability: &'static Ability) -> E {
    of_lack(ability).into()
}

fn missing(subject: Subject) -> E {
    of_engine(EngineError::NotFound(subject)).into()
}

/// The engine that the request names, or the default one, which is asked.
fn asked() -> Vec<E> {
    of_asking().into_iter().map(E::from).collect()
}

fn torrent() -> Vec<E> {
    of_torrent().into_iter().map(E::from).collect()
}

fn able(ability: &'static Ability) -> Vec<E> {
    with(torrent(), [lacks(ability)])
}

fn many() -> Vec<E> {
    with(
        asked(),
        [
            value(),
            E::TooManyTorrents(10_001),
            E::TooManyOfYours(2),
            E::TooManyBulks,
        ],
    )
}

/// The reasons why a client does not move data by itself.
fn unmoved() -> [E; 2] {
    [T::SharedMove(some()), T::DataBusy].map(E::from)
}

/// The reasons to refuse a directory, by its text and by where it leads.
fn paths() -> Vec<E> {
    let all = of_path("download path").into_iter();
    all.map(|error| T::from(error).into()).collect()
}

/// The reasons to refuse a new name of files, of this area and of the file manager.
fn renames() -> Vec<E> {
    let own = [
        value(),
        E::Name(some()),
        E::SharedNames(some()),
        E::NameTaken(some()),
        T::DataBusy.into(),
    ];
    let of_files = of_carrying().into_iter().map(E::Carry);
    own.into_iter().chain(of_files).chain(paths()).collect()
}

fn with(mut faults: Vec<E>, more: impl IntoIterator<Item = E>) -> Vec<E> {
    faults.extend(more);
    faults
}
