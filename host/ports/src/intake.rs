//! Torrents that an area adds by itself: one trait, [`TorrentIntake`], over the torrents area and whatever clients it drives.
//! An area that remembers why it added one adds itself to [`IntakeTellers`], which torrents offers.

use std::sync::{Arc, RwLock, Weak};

use async_trait::async_trait;
use qm_kernel::Timestamp;
use qm_lanes::IgnorePoison;

/// A torrent to add.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTorrent {
    /// A magnet link, or the http(s) address of a .torrent, which the URL guard judges.
    pub source: String,
    /// `None`: the default engine.
    pub engine_id: Option<String>,
    /// `None`: the engine's own.
    pub save_path: Option<String>,
}

/// A torrent that a client has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenTorrent {
    /// The info-hash that the client lists it under, or will.
    pub hash: String,
    /// The client had it already.
    pub existed: bool,
}

/// Judge of torrents by the info-hashes that their sources tell, asked before any client is.
#[async_trait]
pub trait HashJudge: Send + Sync {
    /// True if the torrent that has all of these is wanted; an error where nobody can say now.
    async fn is_wanted(&self, hashes: &[String]) -> Result<bool, IntakeError>;
}

/// Why a torrent was not added, by what is to be done about it. Each text continues a sentence such as "Download failed: …".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IntakeError {
    /// Asking again changes nothing: the source, the path or the client says no.
    #[error("{0}")]
    Refused(String),
    /// The address of the .torrent did not answer.
    #[error("{0}")]
    Source(String),
    /// The [`HashJudge`] does not want the torrent with this info-hash; no client was asked to add it.
    #[error("The torrent is known already")]
    Unwanted { hash: String },
    /// There is no engine, or it did not answer; it is not known if it has the torrent.
    #[error("{0}")]
    Engine(String),
}

/// Adds torrents without a caller. A torrent that a client has already stays as it is, so adding one again does no harm.
#[async_trait]
pub trait TorrentIntake: Send + Sync {
    /// Id of the engine that a torrent goes to: the one that is named, if it is there, else the default.
    fn engine(&self, named: Option<&str>) -> Option<String>;

    /// A directory that torrents may be saved into, absolute and without links as far as it exists here; otherwise why it is
    /// none.
    async fn check_save_path(&self, path: &str) -> Result<String, String>;

    /// Hands a torrent to its engine and waits until the engine lists it. A torrent that `judge` does not want, once
    /// its info-hash is known, is not handed over.
    async fn take_in(
        &self,
        torrent: NewTorrent,
        judge: Option<&dyn HashJudge>,
    ) -> Result<TakenTorrent, IntakeError>;

    /// The engines that list a torrent, as far as is known.
    fn engines_with(&self, hash: &str) -> Vec<String>;

    /// Removes a torrent with its data from an engine. The same torrent on other engines loses its data too, so it has
    /// to be removed there as well. If another torrent uses the data, nothing is removed. A torrent that is not there
    /// counts as removed.
    async fn remove(&self, engine_id: &str, hash: &str) -> Result<(), IntakeError>;
}

/// Work that a torrent was taken in for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntakeKind {
    Movie,
    Series,
    Season,
    Episode,
}

impl IntakeKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Movie => "movie",
            Self::Series => "series",
            Self::Season => "season",
            Self::Episode => "episode",
        }
    }
}

/// Purpose of a torrent, as the area remembers it that grabbed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenFor {
    /// The area, e.g. `media_acquisition`.
    pub source: &'static str,
    pub kind: IntakeKind,
    /// Title of the film or the series.
    pub title: String,
    pub year: Option<i64>,
    pub season: Option<i64>,
    pub episode: Option<i64>,
    /// Entry of the watchlist.
    pub watchlist_item_id: Option<String>,
    /// Row of the wanted episode or film.
    pub wanted_id: Option<String>,
    /// Evaluation that decided for it.
    pub evaluation_id: Option<String>,
    /// Name of the release that was chosen.
    pub release_title: Option<String>,
    pub grabbed_at: Timestamp,
}

/// An area could not say what a torrent was taken in for; the text is for the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct IntakeUntold(pub String);

/// Remembers what it grabbed torrents for.
#[async_trait]
pub trait IntakeTeller: Send + Sync {
    /// The work that a torrent was taken in for; none where this area has not grabbed it. `hash`: lower-case.
    async fn tell_intake(&self, engine_id: &str, hash: &str) -> Result<Option<TakenFor>, IntakeUntold>;
}

/// Areas that remember what they grabbed torrents for.
#[derive(Default)]
pub struct IntakeTellers(RwLock<Vec<Weak<dyn IntakeTeller>>>);

impl IntakeTellers {
    /// Adds an area, for as long as it is there.
    pub fn add(&self, area: &Arc<impl IntakeTeller + 'static>) {
        let area: Arc<dyn IntakeTeller> = area.clone();
        self.0.write().ignore_poison().push(Arc::downgrade(&area));
    }

    /// The answer of the area that was added first, of those that have one. An area that cannot say counts as one that
    /// has none, if another has; otherwise its error is the answer.
    pub async fn tell(&self, engine_id: &str, hash: &str) -> Result<Option<TakenFor>, IntakeUntold> {
        let areas: Vec<_> = {
            let areas = self.0.read().ignore_poison();
            areas.iter().filter_map(Weak::upgrade).collect()
        };
        let mut untold = None;
        for area in areas {
            match area.tell_intake(engine_id, hash).await {
                Ok(Some(taken)) => return Ok(Some(taken)),
                Ok(None) => {}
                Err(error) => untold = untold.or(Some(error)),
            }
        }
        untold.map_or(Ok(None), Err)
    }
}
