//! The errors of this area by which each operation may refuse, for the API document. Errors that every guarded
//! operation may answer are not repeated here.

use qm_confined::FsError;
use qm_engines::TorrentsError as E;
use qm_engines::model::abilities as can;
use qm_engines::model::paths::PathError;
use qm_kernel::ErrorKind;
use qm_metainfo::{MagnetError, MetainfoError};
use qm_net::{GuardError, GuardKind};
use qm_ports::Settling;
use qm_ports::carry::CarryError;
use qm_ports::engine::{EngineError, Subject};
use qm_web::faults;

faults! {
    /// The engine that the request names, or the default one.
    Chosen => chosen();
    /// Lists from a snapshot: an engine that has none yet was asked.
    List => with(asked(), [E::SlowFilter { judged: 64, seconds: 2 }]);
    /// One torrent, from the snapshot or from the engine; or a command for it.
    OfTorrent => torrent();
    RemoveData => with(torrent(), [
        E::SharedData(some()),
        E::DataBusy,
        E::DataStayed { count: 1, path: some(), why: some() },
        E::DataUnfound,
        E::NotNoted,
    ]);
    OfFile => with(torrent(), [engine(EngineError::NotFound(Subject::File))]);
    OfTracker => with(torrent(), [engine(EngineError::NotFound(Subject::Tracker))]);
    Relocate => with(torrent(), relocate());
    Add => add();
    Upload => with(new_torrent(), [E::NoFile]);
    CreateEngine => [E::Fields(Vec::new()), E::Settling(Settling::unknown()), busy_disk()];
    /// The trial of an engine that an id names.
    TestEngine => [E::NoSuchEngine, E::Fields(Vec::new()), E::Settling(Settling::unknown())];
    /// The engine that an id names, for a change or a deletion.
    OfEngine => [
        E::NoSuchEngine,
        E::Fields(Vec::new()),
        E::Settling(Settling::unknown()),
        E::EngineMoves { name: some(), destination: some() },
        busy_disk(),
    ];
    CheckPaths => [E::NoSuchEngine, E::Fields(Vec::new()), busy_disk()];
    CreateCategory => with(
        vec![
            E::CategoryTaken,
            E::Path(PathError::IllegalCharacters("category")),
            E::Path(PathError::CategoryName(some())),
        ],
        paths("savePath").into_iter().map(E::CategoryPath),
    );
    DeleteCategory => [E::NoSuchCategory];
    CreateTag => [E::TagTaken, E::Path(PathError::IllegalCharacters("tag"))];
    DeleteTag => [E::NoSuchTag];
}

/// A directory that could not be judged because its disk hangs.
fn busy_disk() -> E {
    E::Path(PathError::of_place(some(), &FsError::Busy))
}

/// A stand-in for a text that is known only when the error happens.
const SOME: &str = "…";

fn some() -> String {
    SOME.to_owned()
}

fn engine(source: EngineError) -> E {
    E::Engine {
        engine: "<engine>".to_owned(),
        source,
    }
}

fn chosen() -> Vec<E> {
    vec![
        E::NoEngine,
        E::EngineUnavailable(some()),
        E::Settling(Settling::unknown()),
    ]
}

/// The errors of an engine that was asked.
fn asked() -> Vec<E> {
    let mut faults = chosen();
    faults.extend(
        [
            EngineError::Unreachable(some()),
            EngineError::Timeout(some()),
            EngineError::Auth(some()),
            EngineError::Protocol(some()),
            EngineError::Plugin(some()),
            EngineError::Busy,
        ]
        .map(engine),
    );
    faults
}

/// One torrent, from the snapshot or from the engine.
fn torrent() -> Vec<E> {
    let mut faults = asked();
    faults.extend([E::NoSuchTorrent, E::Moving]);
    faults.extend(
        [
            EngineError::Unsupported(some()),
            EngineError::Rejected(some()),
            EngineError::InvalidConfig(some()),
        ]
        .map(engine),
    );
    faults
}

/// The reasons to refuse a directory, by its text and by where it leads.
fn paths(label: &'static str) -> Vec<PathError> {
    let named = [
        PathError::IllegalCharacters(label),
        PathError::Blank,
        PathError::SystemDirectory,
        PathError::OutsideRoots(some()),
    ];
    let found = [
        FsError::NotADirectory(some()),
        FsError::TooManyLinks(some()),
        FsError::NameTooLong(some()),
        FsError::Denied(some()),
        FsError::Reserved(some()),
        FsError::Changed(some()),
        FsError::Busy,
        FsError::Disk(some()),
    ];
    let found = found.iter().map(|error| PathError::of_place(some(), error));
    named.into_iter().chain(found).collect()
}

/// The reasons to refuse a move, of this area and of the file manager.
fn relocate() -> Vec<E> {
    let mut faults = vec![
        E::NoFolderOfItsOwn(some()),
        E::DataNotSeen(some()),
        E::SharedMove(some()),
        E::DataBusy,
        E::NoMover,
        E::EngineChanged,
    ];
    faults.extend(paths("destination").into_iter().map(E::Path));
    let of_kinds = [
        ErrorKind::BadRequest,
        ErrorKind::Forbidden,
        ErrorKind::Conflict,
        ErrorKind::Unavailable,
    ];
    let of_kinds = of_kinds.map(|kind| (kind, kind.code()));
    let of_files = CarryError::CODES.iter().copied().chain(of_kinds);
    faults.extend(of_files.map(|(kind, code)| {
        E::Carry(CarryError {
            kind,
            code,
            message: some(),
        })
    }));
    faults
}

/// The reasons to refuse a new torrent, wherever it comes from.
fn new_torrent() -> Vec<E> {
    let mut faults = torrent();
    faults.extend(paths("save path").into_iter().map(E::Path));
    faults.extend(paths("save path").into_iter().map(E::CategoryPath));
    faults.push(E::Path(PathError::CategoryName(some())));
    faults.push(E::Metainfo(MetainfoError::NoInfo));
    faults.extend([&can::SEQUENTIAL, &can::FIRST_LAST].map(|ability| E::Lacks {
        engine: some(),
        ability,
    }));
    faults
}

fn add() -> Vec<E> {
    let kind = GuardKind::TorrentUrl;
    let mut faults = new_torrent();
    faults.push(E::NoSource);
    faults.extend([MagnetError::NotMagnet, MagnetError::NoHash].map(E::Magnet));
    faults.extend(
        [
            GuardError::Invalid(kind),
            GuardError::Scheme(kind),
            GuardError::Unresolved(kind),
            GuardError::Blocked(kind),
            GuardError::Never(kind),
            GuardError::Fetch { kind, reason: some() },
            GuardError::Status { kind, status: 404 },
            GuardError::TooLarge(kind),
        ]
        .map(E::Fetch),
    );
    faults
}

fn with(mut faults: Vec<E>, more: impl IntoIterator<Item = E>) -> Vec<E> {
    faults.extend(more);
    faults
}
