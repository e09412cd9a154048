//! The errors of this area by which each operation may refuse, for the API document. Errors that every guarded
//! operation may answer are not repeated here.

use qm_confined::FsError;
use qm_engines::TorrentsError as E;
use qm_engines::model::abilities as can;
use qm_engines::model::paths::PathError;
use qm_engines::samples::{of_asking, of_choice, of_engine, of_lack, of_moving, of_path, of_torrent};
use qm_metainfo::{MagnetError, MetainfoError};
use qm_net::{GuardError, GuardKind};
use qm_ports::Settling;
use qm_ports::engine::{EngineError, Subject};
use qm_web::faults;

faults! {
    /// The engine that the request names, or the default one.
    Chosen => of_choice();
    /// Lists from a snapshot: an engine that has none yet was asked.
    List => with(of_asking(), [E::SlowFilter { judged: 64, seconds: 2 }]);
    /// One torrent, from the snapshot or from the engine; or a command for it.
    OfTorrent => of_torrent();
    RemoveData => with(of_torrent(), [
        E::SharedData(some()),
        E::DataBusy,
        E::DataStayed { count: 1, path: some(), why: some() },
        E::DataUnfound,
        E::NotNoted,
    ]);
    OfFile => with(of_torrent(), [of_engine(EngineError::NotFound(Subject::File))]);
    OfTracker => with(of_torrent(), [of_engine(EngineError::NotFound(Subject::Tracker))]);
    Relocate => with(of_torrent(), of_moving());
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
        of_path("savePath").into_iter().map(E::CategoryPath),
    );
    ChangeCategory => with(
        vec![E::NoSuchCategory, E::CategoryInUse { category: some(), used: 1 }],
        of_path("savePath").into_iter().map(E::CategoryPath),
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

/// The reasons to refuse a new torrent, wherever it comes from.
fn new_torrent() -> Vec<E> {
    let mut faults = of_torrent();
    faults.extend(of_path("save path").into_iter().map(E::Path));
    faults.extend(of_path("save path").into_iter().map(E::CategoryPath));
    faults.push(E::Path(PathError::CategoryName(some())));
    faults.push(E::Metainfo(MetainfoError::NoInfo));
    faults.extend([&can::SEQUENTIAL, &can::FIRST_LAST].map(of_lack));
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
