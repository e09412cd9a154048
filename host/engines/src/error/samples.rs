//! Errors as API documents show them, for every area that asks engines. A `…` stands for a text that is known only when the error
//! happens.

use qm_confined::FsError;
use qm_kernel::ErrorKind;
use qm_ports::Settling;
use qm_ports::carry::CarryError;
use qm_ports::engine::EngineError;

use super::TorrentsError;
use crate::model::abilities::Ability;
use crate::model::paths::PathError;

fn some() -> String {
    "…".to_owned()
}

/// An error of the engine that was asked.
pub fn of_engine(source: EngineError) -> TorrentsError {
    TorrentsError::Engine {
        engine: "<engine>".to_owned(),
        source,
    }
}

/// The error of an ability that the engine lacks.
pub fn of_lack(ability: &'static Ability) -> TorrentsError {
    TorrentsError::Lacks {
        engine: some(),
        ability,
    }
}

/// The engine that the request names, or the default one.
pub fn of_choice() -> Vec<TorrentsError> {
    vec![
        TorrentsError::NoEngine,
        TorrentsError::EngineUnavailable(some()),
        TorrentsError::Settling(Settling::unknown()),
    ]
}

/// The same engine, which is asked.
pub fn of_asking() -> Vec<TorrentsError> {
    let asked = [
        EngineError::Unreachable(some()),
        EngineError::Timeout(some()),
        EngineError::Auth(some()),
        EngineError::Protocol(some()),
        EngineError::Plugin(some()),
        EngineError::Busy,
    ];
    of_choice().into_iter().chain(asked.map(of_engine)).collect()
}

/// One torrent, or a command for it.
pub fn of_torrent() -> Vec<TorrentsError> {
    let refused = [
        EngineError::Unsupported(some()),
        EngineError::Rejected(some()),
        EngineError::InvalidConfig(some()),
    ];
    let mut errors = of_asking();
    errors.extend([TorrentsError::NoSuchTorrent, TorrentsError::Moving]);
    errors.extend(refused.map(of_engine));
    errors
}

/// The reasons to refuse a directory, by its text and by where it leads.
pub fn of_path(label: &'static str) -> Vec<PathError> {
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

/// The reasons to refuse a move, of the areas that know torrents and of the file manager.
pub fn of_moving() -> Vec<TorrentsError> {
    let mut errors = vec![
        TorrentsError::NoFolderOfItsOwn(some()),
        TorrentsError::DataNotSeen(some()),
        TorrentsError::SharedMove(some()),
        TorrentsError::DataBusy,
        TorrentsError::NoMover,
        TorrentsError::EngineChanged,
    ];
    errors.extend(of_path("destination").into_iter().map(TorrentsError::Path));
    errors.extend(of_carrying().into_iter().map(TorrentsError::Carry));
    errors
}

/// The reasons why a torrent cannot follow its category.
pub fn of_category() -> Vec<TorrentsError> {
    let mut errors = of_moving();
    errors.extend(of_path("save path").into_iter().map(TorrentsError::CategoryPath));
    errors.push(TorrentsError::CategoryElsewhere {
        engine: "<engine>".to_owned(),
        category: some(),
        theirs: some(),
        ours: some(),
        used: 1,
    });
    errors
}

/// Errors of the file manager, which moves and renames data.
pub fn of_carrying() -> Vec<CarryError> {
    let of_kinds = [
        ErrorKind::BadRequest,
        ErrorKind::Forbidden,
        ErrorKind::Conflict,
        ErrorKind::Unavailable,
    ];
    let of_kinds = of_kinds.map(|kind| (kind, kind.code()));
    let all = CarryError::CODES.iter().copied().chain(of_kinds);
    let shown = |(kind, code)| CarryError {
        kind,
        code,
        message: some(),
    };
    all.map(shown).collect()
}
