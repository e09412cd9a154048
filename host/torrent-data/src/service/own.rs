//! Data of one torrent, for orders that neither move nor remove it: a hold on what nobody else uses, and a look at what is there.

use qm_engines::model::unshared::Unshared;
use qm_engines::{Engine, TorrentsError};

use super::TorrentData;
use super::claims::Claim;
use super::shared_data::{Subject, prove};

/// Hold on the data of torrents that nobody else uses. Until it is dropped, whoever wants that data waits.
pub struct OwnData {
    proof: Unshared,
    _claim: Claim,
}

impl OwnData {
    /// Proof for a command that takes the data.
    pub const fn proof(&self) -> &Unshared {
        &self.proof
    }
}

/// The files of a torrent, as the server sees them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataSight {
    /// As the client tells it.
    pub save_path: String,
    /// As the client tells it.
    pub content_path: String,
    /// The server sees the place where they should be.
    pub is_seen: bool,
    /// Files that are there.
    pub found: usize,
    /// Files that are not.
    pub missing: usize,
}

impl TorrentData {
    /// Holds the data of a torrent, unless others use it: [`TorrentsError::SharedData`] names them.
    pub async fn hold_own(&self, subject: &Subject) -> Result<OwnData, TorrentsError> {
        let (held, mut results) = self.hold_all(std::slice::from_ref(subject)).await;
        results.pop().unwrap_or(Err(TorrentsError::NoSuchTorrent))?;
        held.ok_or(TorrentsError::DataBusy)
    }

    /// Holds the data of torrents of one engine, as far as nobody else uses it; also not another one of these. One result a torrent.
    pub async fn hold_all(&self, subjects: &[Subject]) -> (Option<OwnData>, Vec<Result<(), TorrentsError>>) {
        let (uses, found) = self.gather(subjects).await;
        let known: Vec<usize> = found
            .iter()
            .filter_map(|found| found.as_ref().ok().copied())
            .collect();
        let claim = self
            .claims
            .take(known.iter().flat_map(|at| uses.paths(*at)))
            .await;
        let Some(claim) = claim else {
            return (
                None,
                subjects.iter().map(|_| Err(TorrentsError::DataBusy)).collect(),
            );
        };
        let mut verdicts = self.judge_data(&uses, &known, &[]).await.into_iter();
        let mut results = Vec::with_capacity(subjects.len());
        let mut own = Vec::new();
        for ((engine, hash), found) in subjects.iter().zip(found) {
            let judged = found.and_then(|_| {
                let verdict = verdicts.next().unwrap_or_default();
                self.refuse_busy(engine, hash)?;
                if verdict.shared.is_empty() {
                    Ok(())
                } else {
                    Err(TorrentsError::SharedData(uses.named(&verdict.shared)))
                }
            });
            if judged.is_ok() {
                own.push(hash.clone());
            }
            results.push(judged);
        }
        let held = OwnData {
            proof: prove(own),
            _claim: claim,
        };
        (Some(held), results)
    }

    /// Looks whether the data of a torrent is where its client says at this moment.
    pub async fn look_for_data(&self, engine: &Engine, hash: &str) -> Result<DataSight, TorrentsError> {
        let mover = self.moves.mover().ok_or(TorrentsError::NoMover)?;
        let torrent = engine.driver.get(hash).await;
        let torrent = torrent.map_err(TorrentsError::blame_engine(&engine.name()))?;
        let torrent = torrent.ok_or(TorrentsError::NoSuchTorrent)?;
        let seen = self.see_files(engine, &torrent, &mover).await;
        Ok(DataSight {
            save_path: torrent.save_path,
            content_path: torrent.content_path,
            is_seen: seen.is_some(),
            found: seen.as_ref().map_or(0, |seen| seen.files.len()),
            missing: seen.map_or(0, |seen| seen.missing),
        })
    }
}
