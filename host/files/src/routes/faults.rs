//! Errors of this area that each operation may answer, for the API document. Errors that every guarded operation may answer
//! are not listed here.

use qm_kernel::Permission;
use qm_web::faults;

use crate::error::FilesError as E;
use qm_confined::FsError;

faults! {
    /// A path that is walked, and what is at its end.
    Read => read();
    /// Preview of a change: nothing is changed yet.
    DeletePreview => before_change();
    Preview => with(read(), [E::PreviewsDirectory]);
    Download => with(read(), [E::DownloadsDirectory]);
    Ticket => with(read(), [E::StreamsDirectory]);
    Stream => with(read(), [
        E::StreamsDirectory,
        E::BadTicket,
        E::OtherPath,
        E::OtherFile,
        E::HolderUnknown(String::new()),
    ]);
    Inspect => with(read(), [E::NoPath]);
    SetRoot => with(read(), [E::NoPath, E::Root("…".to_owned())]);
    /// One item that is written.
    Change => change();
    EnsureDirectory => with(change(), [E::NoPath]);
    Transfer => transfer();
    Delete => with(operation(), [
        E::NoSuchItem,
        E::MayNotStopTorrent,
        E::MayNotDeletePayload,
        E::SharedData(String::new()),
        E::Fs(FsError::TrashUnusable(path())),
    ]);
    Bulk => with(operation(), [
        E::MissingPermission(Permission::FilesDelete.key()),
        E::NoDestination("move"),
        E::MayNotStopTorrent,
        E::MayNotDeletePayload,
    ]);
    FindConflicts => with(before_change(), [E::DestinationNoDirectory]);
    ResolveConflicts => with(operation(), [E::DestinationNoDirectory]);
    CleanupPreview => with(before_change(), [E::CleansNoDirectory, E::TooLarge(path())]);
    Cleanup => with(operation(), [E::CleansNoDirectory, E::TooLarge(path())]);
    Purge => of_trash();
    Restore => with(of_trash(), [E::OriginalOutside, E::OriginalTaken, E::TooManyOperations]);
    EmptyTrash => operation();
    Cancel => [E::NoSuchOperation, E::MissingPermission(Permission::FilesDelete.key())];
}

/// Stands for the path.
fn path() -> String {
    "<path>".to_owned()
}

fn read() -> Vec<E> {
    let faults = FsError::list_for_reading(&path()).into_iter();
    faults.chain([FsError::Standby]).map(E::Fs).collect()
}

fn before_change() -> Vec<E> {
    with(read(), [FsError::Protected(path()), FsError::InTrash].map(E::Fs))
}

fn change() -> Vec<E> {
    let written = [
        FsError::InvalidFileName,
        FsError::InvalidFolderName,
        FsError::InTrash,
        FsError::TooManyMissing(path()),
        FsError::NoSpace(path()),
        FsError::FileTooLarge(path()),
        FsError::Protected(path()),
        FsError::SystemDirectory(path()),
        FsError::ReadOnly(path()),
        FsError::Exists,
        FsError::MixedKinds(path()),
        FsError::NotEmpty(path()),
        FsError::InUse(path()),
        FsError::NotNoted(path()),
        FsError::Standby,
    ];
    with(read(), written.map(E::Fs))
}

/// One operation that may take long, and be cancelled.
fn operation() -> Vec<E> {
    with(change(), [E::Fs(FsError::Cancelled), E::TooManyOperations])
}

fn transfer() -> Vec<E> {
    let faults = [
        FsError::IntoItself,
        FsError::ContainsSource,
        FsError::DestinationExists,
        FsError::SourceKept {
            path: path(),
            source: Box::new(FsError::Denied(path())),
        },
        FsError::Mismatch(path()),
    ];
    with(operation(), faults.map(E::Fs))
}

fn of_trash() -> Vec<E> {
    with(
        change(),
        [E::NoSuchTrashItem, E::RootGone, E::TrashAbsent(path())],
    )
}

fn with(mut faults: Vec<E>, more: impl IntoIterator<Item = E>) -> Vec<E> {
    faults.extend(more);
    faults
}

#[cfg(test)]
mod tests {
    use qm_ports::carry::CarryError;

    use super::*;

    #[test]
    fn whoever_asks_for_a_move_knows_every_code() {
        for fault in transfer() {
            let told = CarryError::from(fault);
            assert!(
                CarryError::CODES.contains(&(told.kind, told.code)),
                "`CarryError::CODES` lacks {told:?}"
            );
        }
    }
}
