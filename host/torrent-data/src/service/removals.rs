//! Removals of torrents with their data.
//!
//! The guard is asked first (`shared_data`). What nobody else uses the client removes; of a torrent whose files lie between
//! those of others, it removes only the torrent, and the server its files. Several that share data and go together go one
//! after the other, and the data with the last. Then the server looks: what is still there it removes itself, by the files
//! it saw before, and what stays is an error. What the server does not see it takes the client's word for.
//!
//! A row of `torrent_removals`, written before the client is told anything, is there until the data was seen to be gone: what a
//! crash cut short is settled by the next start.
//! Bounds: a client has [`GONE`] to remove what it said it would; rows hold [`NOTED`] bytes of names each.

mod settle;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use qm_db::DbError;
use qm_engines::model::paths::normalised;
use qm_engines::repo::intake;
use qm_engines::{Engine, TorrentsError};
use qm_metainfo::Contents;
use qm_ports::action::TorrentRef;
use qm_ports::carry::{DataMover, DataPlace, DataSeen, Stayed};
use qm_ports::engine::{Command, EngineError, Torrent};

use super::TorrentData;
use super::shared_data::{Subject, Uses, Verdict, prove};
use crate::model::places::is_garbled;
use crate::repo;
use crate::repo::removals::RemovalRow;

/// Hashes in one call to a driver.
const CHUNK: usize = 50;
/// Torrents whose files are looked for at the same time.
const AT_ONCE: usize = 8;
/// Time in which a client removes the data it was told to; some answer before they have.
const GONE: Duration = Duration::from_secs(3);
/// Between two looks at data that is going.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// Time limit on the list of files of a torrent.
const FILES: Duration = Duration::from_secs(10);
/// Bytes of names that a row may hold; a longer list is not noted.
const NOTED: usize = 4 << 20;

/// Manner of a removal with data.
#[derive(Clone, Copy, Default)]
pub struct How<'a> {
    pub keep_shared: bool,
    /// Torrents that go by the same order.
    pub along: &'a [TorrentRef],
    /// Person who asked; empty when nobody did.
    pub user_id: &'a str,
}

/// The way in which a torrent goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Without its data.
    Keep,
    /// Without its data, which the server removes.
    Erase,
    /// With its data.
    Take,
}

/// A torrent on its way out.
struct Leaving {
    engine: Arc<Engine>,
    hash: String,
    user: usize,
    /// Others of the same order that share its data, by their numbers in it.
    mates: BTreeSet<usize>,
    way: Way,
    seen: Vec<DataSeen>,
    /// Its client tells a name that it could not write, and nothing was found.
    is_unfound: bool,
    row: Option<RemovalRow>,
    result: Option<Result<(), TorrentsError>>,
}

impl TorrentData {
    /// Removes torrents with their data; one that fails stops no other. One result a torrent, in their order.
    pub async fn remove_with_data(
        &self,
        subjects: &[Subject],
        how: How<'_>,
    ) -> Vec<Result<(), TorrentsError>> {
        let free: Vec<Result<(), TorrentsError>> = subjects
            .iter()
            .map(|(engine, hash)| self.moves.refuse_busy(engine, hash))
            .collect();
        let going: Vec<Subject> = subjects
            .iter()
            .zip(&free)
            .filter(|(_, free)| free.is_ok())
            .map(|(one, _)| one.clone())
            .collect();
        let mut done = self.remove_free(&going, how).await.into_iter();
        let lost = || Err(TorrentsError::NoSuchTorrent);
        free.into_iter()
            .map(|free| free.and_then(|()| done.next().unwrap_or_else(lost)))
            .collect()
    }

    async fn remove_free(&self, subjects: &[Subject], how: How<'_>) -> Vec<Result<(), TorrentsError>> {
        let (uses, found) = self.gather(subjects).await;
        let known: Vec<usize> = found
            .iter()
            .filter_map(|found| found.as_ref().ok().copied())
            .collect();
        let paths = known.iter().flat_map(|at| uses.paths(*at));
        let Some(_claim) = self.claims.take(paths).await else {
            return subjects.iter().map(|_| Err(TorrentsError::DataBusy)).collect();
        };
        let verdicts = self.judge_data(&uses, &known, how.along).await;
        let mut leaving = Vec::with_capacity(known.len());
        for ((engine, hash), user) in subjects
            .iter()
            .zip(&found)
            .filter_map(|(one, found)| Some((one, *found.as_ref().ok()?)))
        {
            leaving.push(Leaving {
                engine: engine.clone(),
                hash: hash.clone(),
                user,
                mates: BTreeSet::new(),
                way: Way::Take,
                seen: Vec::new(),
                is_unfound: false,
                row: None,
                result: None,
            });
        }
        decide(&uses, &mut leaving, &verdicts, how.keep_shared);
        self.look_for_files(&uses, &mut leaving, &verdicts, how.keep_shared)
            .await;
        if let Err(error) = self.note_removals(&uses, &mut leaving, how.user_id).await {
            tracing::warn!(%error, "removals could not be noted: nothing was removed");
            return subjects.iter().map(|_| Err(TorrentsError::NotNoted)).collect();
        }
        self.tell_clients(&uses, &mut leaving).await;
        self.see_gone(&mut leaving).await;
        self.strike(&leaving).await;
        let mut done = leaving.into_iter().map(|one| one.result.unwrap_or(Ok(())));
        let lost = || Err(TorrentsError::NoSuchTorrent);
        found
            .into_iter()
            .map(|found| found.and_then(|_| done.next().unwrap_or_else(lost)))
            .collect()
    }

    /// Looks for the files of those that go with their data.
    async fn look_for_files(
        &self,
        uses: &Uses,
        leaving: &mut [Leaving],
        verdicts: &[Verdict],
        keep_shared: bool,
    ) {
        let Some(mover) = self.moves.mover() else { return };
        let wanted: Vec<usize> = (0..leaving.len())
            .filter(|at| leaving[*at].result.is_none() && leaving[*at].way != Way::Keep)
            .collect();
        let looking = wanted.iter().map(|at| {
            let one = &leaving[*at];
            let (engine, mover) = (one.engine.clone(), mover.clone());
            let torrent = uses.user(one.user).map(|user| user.torrent().clone());
            async move {
                match torrent {
                    Some(torrent) => self.find_files(&engine, &torrent, &mover).await,
                    None => (Vec::new(), false),
                }
            }
        });
        let looking: Vec<_> = looking.collect();
        let seen: Vec<_> = stream::iter(looking).buffered(AT_ONCE).collect().await;
        for (at, (seen, is_unfound)) in wanted.into_iter().zip(seen) {
            let one = &mut leaving[at];
            (one.seen, one.is_unfound) = (seen, is_unfound);
            // Its client would take the folder with what others have in it.
            let is_between = !verdicts[at].apart.is_empty();
            if one.way == Way::Erase && is_between && one.seen.is_empty() {
                if keep_shared {
                    one.way = Way::Keep;
                } else {
                    one.result = Some(Err(TorrentsError::SharedData(uses.named(&verdicts[at].apart))));
                }
            }
        }
    }

    /// Sight of a torrent's files that the server has; none: it does not see the place where they should be.
    pub(super) async fn see_files(
        &self,
        engine: &Engine,
        torrent: &Torrent,
        mover: &Arc<dyn DataMover>,
    ) -> Option<DataSeen> {
        let contents = self.contents_of(engine, &torrent.hash).await;
        let mut places: Vec<DataPlace> = contents
            .iter()
            .map(|contents| by_bytes(torrent, contents))
            .collect();
        let mut best: Option<DataSeen> = None;
        let mut is_asked = false;
        loop {
            for place in std::mem::take(&mut places) {
                let seen = match mover.see(&place).await {
                    Ok(Some(seen)) => seen,
                    Ok(None) => continue,
                    Err(error) => {
                        tracing::info!(hash = &*torrent.hash, %error, "the files of a torrent are not seen");
                        continue;
                    }
                };
                if best
                    .as_ref()
                    .is_none_or(|best| best.files.len() < seen.files.len())
                {
                    best = Some(seen);
                }
            }
            if is_asked || best.as_ref().is_some_and(|best| best.missing == 0) {
                break;
            }
            is_asked = true;
            let asked = tokio::time::timeout(FILES, engine.driver.files(&torrent.hash)).await;
            if let Ok(Ok(files)) = asked {
                let files: Vec<(String, u64)> =
                    files.into_iter().map(|file| (file.path, file.size)).collect();
                places = as_told(torrent, &files);
            }
        }
        best
    }

    /// The files of a torrent that the server sees; and whether it should see some by names that its client cannot write.
    async fn find_files(
        &self,
        engine: &Engine,
        torrent: &Torrent,
        mover: &Arc<dyn DataMover>,
    ) -> (Vec<DataSeen>, bool) {
        let best = self.see_files(engine, torrent, mover).await;
        let is_seen = best.is_some();
        let found = best.filter(|best| !best.files.is_empty());
        let is_garbled = is_garbled(&torrent.content_path) || is_garbled(&torrent.name);
        let is_unfound = found.is_none() && is_seen && is_garbled && torrent.downloaded > 0;
        let mut seen: Vec<DataSeen> = found.into_iter().collect();
        // Pieces that qBittorrent keeps of files nobody wants.
        let parts = DataPlace {
            top: format!("{}/.{}.parts", normalised(&torrent.save_path), torrent.hash).into_bytes(),
            ..DataPlace::default()
        };
        if !seen.is_empty()
            && let Ok(Some(parts)) = mover.see(&parts).await
            && !parts.files.is_empty()
        {
            seen.push(parts);
        }
        (seen, is_unfound)
    }

    async fn contents_of(&self, engine: &Engine, hash: &str) -> Option<Contents> {
        let stored = async {
            let mut tx = self.db.begin_read().await?;
            intake::contents(&mut tx, &engine.id, hash).await
        };
        Contents::of_stored(&stored.await.ok().flatten()?)
    }

    /// Notes what is about to be removed, so that it is finished whatever happens.
    async fn note_removals(
        &self,
        uses: &Uses,
        leaving: &mut [Leaving],
        user_id: &str,
    ) -> Result<(), DbError> {
        let mut rows = Vec::new();
        for (at, one) in leaving.iter().enumerate() {
            if one.result.is_some() || one.seen.is_empty() || one.way == Way::Keep {
                continue;
            }
            let seen = serde_json::to_string(&one.seen).unwrap_or_default();
            if seen.is_empty() || seen.len() > NOTED {
                continue;
            }
            let name = uses.user(one.user).map(|user| user.torrent().name.clone());
            let row = RemovalRow {
                id: self.ctx.id(),
                engine_id: one.engine.id.to_string(),
                hash: one.hash.clone(),
                name: name.unwrap_or_default(),
                seen,
                user_id: user_id.to_owned(),
                owner: self.moves.owner().to_owned(),
            };
            rows.push((at, row));
        }
        let now = self.ctx.now();
        for rows in rows.chunks(500) {
            let mut tx = self.db.begin_write().await?;
            for (_, row) in rows {
                repo::removals::insert(&mut tx, row, now).await?;
            }
            tx.commit().await?;
        }
        for (at, row) in rows {
            leaving[at].row = Some(row);
        }
        Ok(())
    }

    /// Has the clients remove the torrents: first those that leave their data, then those that take it, unless somebody who
    /// was to go before them is still there.
    async fn tell_clients(&self, uses: &Uses, leaving: &mut [Leaving]) {
        self.tell(leaving, false).await;
        for at in 0..leaving.len() {
            if leaving[at].result.is_some() || leaving[at].way != Way::Take {
                continue;
            }
            let failed = |mate: &usize| matches!(leaving[*mate].result, Some(Err(_)));
            let staying: BTreeSet<usize> = leaving[at]
                .mates
                .iter()
                .filter(|mate| failed(mate))
                .map(|mate| leaving[*mate].user)
                .collect();
            if !staying.is_empty() {
                leaving[at].result = Some(Err(TorrentsError::SharedData(uses.named(&staying))));
            }
        }
        self.tell(leaving, true).await;
    }

    async fn tell(&self, leaving: &mut [Leaving], with_data: bool) {
        let mut by_engine: HashMap<Arc<str>, Vec<usize>> = HashMap::new();
        for (at, one) in leaving.iter().enumerate() {
            if one.result.is_none() && (one.way == Way::Take) == with_data {
                by_engine.entry(one.engine.id.clone()).or_default().push(at);
            }
        }
        for of_engine in by_engine.into_values() {
            let mut gone: Option<EngineError> = None;
            for chunk in of_engine.chunks(CHUNK) {
                let engine = leaving[chunk[0]].engine.clone();
                let name = engine.name();
                if let Some(error) = &gone {
                    for at in chunk {
                        leaving[*at].result = Some(Err(TorrentsError::blame_engine(&name)(error.clone())));
                    }
                    continue;
                }
                let hashes: Vec<String> = chunk.iter().map(|at| leaving[*at].hash.clone()).collect();
                let command = Command::Remove { with_data };
                let told = if with_data {
                    let proof = prove(hashes.iter().cloned());
                    engine.order_taking(&hashes, command, &proof).await
                } else {
                    engine.order(&hashes, command).await
                };
                match told {
                    Ok(outcomes) => {
                        let mut outcomes: HashMap<String, _> = outcomes
                            .into_iter()
                            .map(|outcome| (outcome.hash, outcome.result))
                            .collect();
                        for at in chunk {
                            let silent =
                                || EngineError::Protocol("it did not tell what became of the torrent".into());
                            let outcome = outcomes
                                .remove(&leaving[*at].hash)
                                .unwrap_or_else(|| Err(silent()));
                            leaving[*at].result = Some(outcome.map_err(TorrentsError::blame_engine(&name)));
                        }
                    }
                    Err(error) => {
                        tracing::warn!(engine.id = %engine.id, %error, "torrents were not removed");
                        for at in chunk {
                            leaving[*at].result =
                                Some(Err(TorrentsError::blame_engine(&name)(error.clone())));
                        }
                        gone = error.is_transport().then_some(error);
                    }
                }
            }
        }
    }

    /// Looks whether the data is gone, removes what is not, and says what stayed.
    async fn see_gone(&self, leaving: &mut [Leaving]) {
        let Some(mover) = self.moves.mover() else { return };
        let mut going: Vec<usize> = (0..leaving.len())
            .filter(|at| matches!(leaving[*at].result, Some(Ok(()))) && leaving[*at].way != Way::Keep)
            .collect();
        // Its data was to go with one that is still there.
        let is_there = |mate: &usize| matches!(leaving[*mate].result, Some(Err(_)));
        let (left, now): (Vec<usize>, Vec<usize>) = going
            .into_iter()
            .partition(|at| leaving[*at].mates.iter().any(is_there));
        going = now;
        for at in left {
            let one = &mut leaving[at];
            if let Some(seen) = one.seen.first() {
                one.result = Some(Err(TorrentsError::DataStayed {
                    count: seen.files.len(),
                    path: String::from_utf8_lossy(&seen.top).into_owned(),
                    why: "another torrent of the request uses them, and was not removed".to_owned(),
                }));
            }
        }
        let looking = going.iter().map(|at| {
            let one = &leaving[*at];
            let (seen, patience) = (
                &one.seen,
                if one.way == Way::Take {
                    GONE
                } else {
                    Duration::ZERO
                },
            );
            let mover = mover.clone();
            async move { remove_seen(&mover, seen, patience).await }
        });
        let looking: Vec<_> = looking.collect();
        let stayed: Vec<_> = stream::iter(looking).buffered(AT_ONCE).collect().await;
        for (at, stayed) in going.into_iter().zip(stayed) {
            let one = &mut leaving[at];
            if let Some(first) = stayed.first() {
                one.result = Some(Err(TorrentsError::DataStayed {
                    count: stayed.len(),
                    path: first.path.clone(),
                    why: first.why.clone(),
                }));
            } else if one.is_unfound {
                one.result = Some(Err(TorrentsError::DataUnfound));
            }
        }
    }

    /// Strikes the notes of removals that are over.
    async fn strike(&self, leaving: &[Leaving]) {
        let rows: Vec<&RemovalRow> = leaving.iter().filter_map(|one| one.row.as_ref()).collect();
        for rows in rows.chunks(500) {
            let struck = async {
                let mut tx = self.db.begin_write().await?;
                for row in rows {
                    // None: another process has taken it over.
                    let _ = repo::removals::remove(&mut tx, &row.id, &row.owner).await?;
                }
                tx.commit().await
            };
            if let Err(error) = struck.await {
                // The next start finds nothing left to do.
                let error: DbError = error;
                tracing::warn!(%error, "removals are over and still noted");
            }
        }
    }
}

/// Waits for data to go, and removes what has not gone by then. Answers the files that stayed.
async fn remove_seen(mover: &Arc<dyn DataMover>, seen: &[DataSeen], patience: Duration) -> Vec<Stayed> {
    let end = tokio::time::Instant::now() + patience;
    let mut stayed = Vec::new();
    for seen in seen {
        while tokio::time::Instant::now() < end && !matches!(mover.count_remains(seen).await, Ok(0)) {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        match mover.remove_remains(seen).await {
            Ok(more) => stayed.extend(more),
            Err(error) => stayed.push(Stayed {
                path: String::from_utf8_lossy(&seen.top).into_owned(),
                why: error.message,
            }),
        }
    }
    stayed
}

/// Decides how each goes, or why it does not.
fn decide(uses: &Uses, leaving: &mut [Leaving], verdicts: &[Verdict], keep_shared: bool) {
    let position: HashMap<usize, usize> = leaving
        .iter()
        .enumerate()
        .map(|(at, one)| (one.user, at))
        .collect();
    let mut refused: Vec<usize> = Vec::new();
    for (at, verdict) in verdicts.iter().enumerate() {
        let (mates, others): (BTreeSet<usize>, BTreeSet<usize>) = verdict
            .shared
            .iter()
            .partition(|user| position.contains_key(user));
        leaving[at].mates = mates
            .iter()
            .filter_map(|user| position.get(user).copied())
            .collect();
        // Also of one that goes along: it may stay after all.
        let lies_between = !verdict.apart.is_empty();
        if others.is_empty() {
            if lies_between {
                leaving[at].way = Way::Erase;
            }
        } else if keep_shared {
            leaving[at].way = Way::Keep;
        } else {
            leaving[at].result = Some(Err(TorrentsError::SharedData(uses.named(&others))));
            refused.push(at);
        }
    }
    // Who shares with one that stays, stays.
    while let Some(at) = refused.pop() {
        let user = BTreeSet::from([leaving[at].user]);
        for mate in leaving[at].mates.clone() {
            if leaving[mate].result.is_none() {
                leaving[mate].result = Some(Err(TorrentsError::SharedData(uses.named(&user))));
                refused.push(mate);
            }
        }
    }
    // Of those that share with one another the outermost takes the data, when the others are gone.
    let depth = |at: usize| {
        uses.paths(leaving[at].user)
            .iter()
            .map(String::len)
            .min()
            .unwrap_or(usize::MAX)
    };
    let mut taken: BTreeSet<usize> = BTreeSet::new();
    let mut order: Vec<usize> = (0..leaving.len()).collect();
    order.sort_by_key(|at| depth(*at));
    let mut riders = Vec::new();
    for at in order {
        if leaving[at].result.is_some() || leaving[at].way != Way::Take || leaving[at].mates.is_empty() {
            continue;
        }
        if leaving[at].mates.is_disjoint(&taken) {
            taken.insert(at);
        } else {
            riders.push(at);
        }
    }
    for at in riders {
        leaving[at].way = Way::Erase;
    }
}

/// Where the files lie by the bytes of the file that described them.
fn by_bytes(torrent: &Torrent, contents: &Contents) -> DataPlace {
    let own = normalised(&torrent.content_path);
    let (above, told) = own.rsplit_once('/').unwrap_or(("", &own));
    let name = String::from_utf8_lossy(&contents.name);
    // A folder that was given another name keeps it.
    let is_alike = told == name || is_garbled(told) || own == normalised(&torrent.save_path);
    let above = if own == normalised(&torrent.save_path) {
        &*own
    } else {
        above
    };
    let top = if is_alike {
        [above.as_bytes(), b"/", contents.name.as_slice()].concat()
    } else {
        own.as_bytes().to_vec()
    };
    DataPlace {
        top,
        files: contents.files.clone(),
        sizes: contents.sizes.clone(),
        is_told: false,
    }
}

/// Where the files may lie by what the client tells: below the save path, or below the torrent's own folder.
fn as_told(torrent: &Torrent, files: &[(String, u64)]) -> Vec<DataPlace> {
    let own = normalised(&torrent.content_path);
    let save_path = normalised(&torrent.save_path);
    let place = |top: &str, files: Vec<(&str, u64)>| {
        let (files, sizes): (Vec<&str>, Vec<u64>) = files.into_iter().unzip();
        DataPlace {
            top: top.as_bytes().to_vec(),
            files: files.into_iter().map(|file| file.as_bytes().to_vec()).collect(),
            sizes,
            is_told: true,
        }
    };
    let plain = || files.iter().map(|(path, size)| (path.trim_matches('/'), *size));
    if own == save_path {
        return vec![place(&own, plain().collect())];
    }
    let mut places = Vec::new();
    if let [(_, size)] = files {
        let mut only = place(&own, Vec::new());
        only.sizes = vec![*size];
        places.push(only);
    }
    let folder = own.rsplit('/').next().unwrap_or_default();
    let below = plain().map(|(path, size)| Some((path.strip_prefix(folder)?.strip_prefix('/')?, size)));
    places.extend(below.collect::<Option<Vec<_>>>().map(|below| place(&own, below)));
    places.push(place(&own, plain().collect()));
    places
}
