//! The guard of data: who else uses what a removal or a move would take.
//!
//! Asked before any client is: over the last lists of all engines, those of engines that are away too. Torrents meet where their
//! content is one path or lies in one another, by the paths that clients tell and by what the file system says. A second link
//! to a file is data of its own. Of torrents that meet, the lists of files decide where both are known whole: two seasons in
//! one folder are nobody's shared data. What is not known counts as shared.
//!
//! Bounds: one pass over the lists and one look at each directory for any number of torrents; [`ASKED`] other torrents are
//! asked about of one, and lists of [`FILES`] files are compared.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::{StreamExt as _, stream};
use qm_db::DbError;
use qm_engines::model::paths::normalised;
use qm_engines::model::unshared::Unshared;
use qm_engines::repo::snapshots::StoredPlace;
use qm_engines::repo::{engines, snapshots};
use qm_engines::{Engine, TorrentsError};
use qm_ports::action::TorrentRef;
use qm_ports::engine::{EngineError, Torrent, TorrentState};
use qm_torrent_lists::TorrentEntry;

use super::TorrentData;
use super::payloads::data_path;
use crate::model::places::{Meeting, Place, Places, is_garbled};

/// Time limit on waiting for a list, or for one answer of an engine.
const FRESH: Duration = Duration::from_secs(3);
/// Time limit on an exact list: a client needs seconds for 30,000 torrents, and the read under way ends first.
const LIST: Duration = Duration::from_secs(30);
/// Other torrents that are asked about; of more than those all count.
const ASKED: usize = 16;
/// Torrents whose files are compared with those of one; of more than those all count.
const COMPARED: usize = 64;
/// Torrents of one order that their clients are asked for one by one; of more the lists are read again, exactly.
const ONE_BY_ONE: usize = 20;
/// Questions to clients at the same time.
const AT_ONCE: usize = 8;
/// Files of a list that is compared.
const FILES: usize = 100_000;
/// Torrents that an error names.
const NAMED: usize = 3;

/// A torrent of an engine.
pub type Subject = (Arc<Engine>, String);

/// A torrent with data.
pub(super) struct User {
    engine_id: Arc<str>,
    engine_name: Arc<String>,
    /// None: it is not loaded, or was not read yet; then the torrent is as it was stored.
    engine: Option<Arc<Engine>>,
    entry: Arc<TorrentEntry>,
    /// Its files lie in a directory that is not its own.
    is_loose: bool,
}

/// The data of all torrents, and the places where it lies.
pub(super) struct Uses {
    users: Vec<User>,
    places: Places,
    /// The user of each place.
    owners: Vec<usize>,
    /// The places of each user.
    of: Vec<Vec<usize>>,
}

/// Knowledge of the data of one torrent.
#[derive(Clone, Debug, Default)]
pub(super) struct Verdict {
    /// Other torrents that use some of it, by their numbers.
    pub shared: BTreeSet<usize>,
    /// Other torrents whose files lie between its own.
    pub apart: BTreeSet<usize>,
}

impl User {
    fn new(engine: &Arc<Engine>, entry: Arc<TorrentEntry>) -> Self {
        Self {
            engine_id: engine.id.clone(),
            engine_name: engine.name(),
            engine: Some(engine.clone()),
            is_loose: is_loose(&entry.torrent),
            entry,
        }
    }

    /// Its engine, if that may be asked.
    fn asked(&self) -> Option<&Arc<Engine>> {
        self.engine.as_ref().filter(|engine| !engine.is_down())
    }

    pub fn torrent(&self) -> &Torrent {
        &self.entry.torrent
    }

    /// As an error names it.
    fn named(&self) -> String {
        format!("{} ({})", self.torrent().name, self.engine_name)
    }

    fn is_torrent(&self, torrent: &TorrentRef) -> bool {
        *self.engine_id == *torrent.engine_id && *self.torrent().hash == *torrent.hash
    }
}

/// True if its files lie in the directory that it shares, as far as its client tells.
fn is_loose(torrent: &Torrent) -> bool {
    torrent.save_path.starts_with('/') && normalised(&torrent.content_path) == normalised(&torrent.save_path)
}

impl Uses {
    pub fn user(&self, at: usize) -> Option<&User> {
        self.users.get(at)
    }

    /// The paths of a user, for the time in which its data is taken.
    pub fn paths(&self, at: usize) -> Vec<String> {
        let places = self.of.get(at).into_iter().flatten();
        places
            .filter_map(|place| Some(self.places.place(*place)?.path.clone()))
            .collect()
    }

    /// The other users that meet a user.
    fn meeting(&self, at: usize) -> Vec<(usize, Meeting)> {
        let mut found: HashMap<usize, Meeting> = HashMap::new();
        for place in self.of.get(at).into_iter().flatten() {
            for (other, meeting) in self.places.meeting(*place) {
                let known = found.entry(self.owners[other]).or_insert(meeting);
                if meeting == Meeting::Path {
                    *known = meeting;
                }
            }
        }
        found.remove(&at);
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_unstable_by_key(|(at, _)| *at);
        found
    }

    /// A few of these users, by name.
    pub fn named(&self, users: &BTreeSet<usize>) -> String {
        let names = users
            .iter()
            .filter_map(|at| self.users.get(*at))
            .take(NAMED)
            .map(User::named);
        let names = names.collect::<Vec<_>>().join(", ");
        match users.len().saturating_sub(NAMED) {
            0 => names,
            more => format!("{names} and {more} more"),
        }
    }
}

/// Where the files of a torrent may lie: what clients tell is below the save path, or below the torrent's own folder. None
/// where that is not known by its bytes.
fn spread(torrent: &Torrent, files: &[String]) -> Option<HashSet<String>> {
    if files.is_empty() || files.len() > FILES {
        return None;
    }
    let save_path = normalised(&torrent.save_path);
    let own = data_path(torrent)?;
    let (above, name) = own.rsplit_once('/')?;
    let mut spread = HashSet::with_capacity(files.len());
    for file in files {
        let file = file.trim_matches('/').trim_end_matches(".!qB");
        if file.is_empty() || is_garbled(file) || is_garbled(&own) {
            return None;
        }
        let is_own_name = file == name || (files.len() == 1 && file.rsplit('/').next() == Some(name));
        let is_below_own = file.split('/').next() == Some(name);
        let mut put = |path: String| spread.insert(normalised(&path).to_lowercase());
        if is_loose(torrent) {
            put(format!("{save_path}/{file}"));
        }
        if is_own_name {
            put(own.clone().into_owned());
        }
        if is_below_own {
            put(format!("{above}/{file}"));
        }
        if !is_loose(torrent) {
            put(format!("{own}/{file}"));
        }
    }
    Some(spread)
}

/// True if a file of one is, or may be, a file of the other.
fn do_overlap(a: &HashSet<String>, b: &HashSet<String>) -> bool {
    let is_in = |path: &String, others: &HashSet<String>| {
        let above = path.match_indices('/').skip(1).map(|(end, _)| &path[..end]);
        others.contains(path.as_str()) || above.into_iter().any(|above| others.contains(above))
    };
    a.iter().any(|path| is_in(path, b)) || b.iter().any(|path| is_in(path, a))
}

async fn ask_files(engine: &Engine, hash: &str) -> Option<Vec<String>> {
    let asked = tokio::time::timeout(FRESH, engine.driver.files(hash)).await;
    let files = asked.ok()?.ok()?;
    Some(files.into_iter().map(|file| file.path).collect())
}

impl TorrentData {
    /// The data of all torrents, with these torrents as their clients tell them at this moment. A torrent that cannot
    /// be read has its error in the place of its number.
    pub(super) async fn gather(&self, subjects: &[Subject]) -> (Uses, Vec<Result<usize, TorrentsError>>) {
        // The list of an engine that nobody looked at is some seconds old. Of one that is away, what it last told.
        let engines = self.engines.all();
        let is_long = subjects.len() > ONE_BY_ONE;
        let reading = engines.iter().map(|engine| {
            let is_asked = is_long && subjects.iter().any(|(asked, _)| asked.id == engine.id);
            async move {
                // What a list says decides on data here: one that is some seconds old is no proof.
                let unread = if is_asked {
                    engine.refresh_exactly(LIST).await.err()
                } else {
                    None
                };
                let _ = tokio::time::timeout(FRESH, engine.listed()).await;
                Some((engine.id.clone(), unread?))
            }
        });
        let unread: HashMap<Arc<str>, EngineError> = join_all(reading).await.into_iter().flatten().collect();
        let fresh: Vec<Result<Option<Torrent>, EngineError>> = if is_long {
            let told = |(engine, _): &Subject| unread.get(&engine.id).cloned().map_or(Ok(None), Err);
            subjects.iter().map(told).collect()
        } else {
            let asking: Vec<_> = subjects
                .iter()
                .map(|(engine, hash)| engine.driver.get(hash))
                .collect();
            stream::iter(asking).buffered(AT_ONCE).collect().await
        };
        let mut users = Vec::new();
        for engine in engines {
            let Some(snapshot) = engine.snapshot() else {
                continue;
            };
            for entry in snapshot.entries() {
                users.push(User::new(&engine, entry.clone()));
            }
        }
        users.extend(self.stored_users().await);
        let mut at: HashMap<(Arc<str>, Arc<str>), usize> = HashMap::with_capacity(users.len());
        for (number, user) in users.iter().enumerate() {
            at.insert((user.engine_id.clone(), user.torrent().hash.clone()), number);
        }
        let mut found = Vec::with_capacity(subjects.len());
        for ((engine, hash), fresh) in subjects.iter().zip(fresh) {
            let key = (engine.id.clone(), Arc::from(hash.as_str()));
            let known = at.get(&key).copied();
            found.push(match fresh {
                Err(error) => Err(TorrentsError::blame_engine(&engine.name())(error)),
                Ok(None) if is_long => known.ok_or(TorrentsError::NoSuchTorrent),
                Ok(None) => Err(TorrentsError::NoSuchTorrent),
                Ok(Some(torrent)) => {
                    let user = User::new(engine, Arc::new(TorrentEntry::new(&engine.id, torrent)));
                    let number = known.unwrap_or(users.len());
                    if known.is_some() {
                        users[number] = user;
                    } else {
                        users.push(user);
                        at.insert(key, number);
                    }
                    Ok(number)
                }
            });
        }
        let wanted: HashSet<usize> = found
            .iter()
            .filter_map(|found| found.as_ref().ok().copied())
            .collect();
        (self.locate(users, &wanted).await, found)
    }

    /// The torrents of engines that are not loaded, or were not read yet, as they were stored.
    async fn stored_users(&self) -> Vec<User> {
        let stored = async {
            let mut tx = self.db.begin_read().await?;
            let mut users = Vec::new();
            for row in engines::list(&mut tx).await? {
                let engine = self.engines.get(&row.id);
                if engine.is_some_and(|engine| engine.snapshot().is_some()) {
                    continue;
                }
                let (id, name) = (Arc::<str>::from(row.id.as_str()), Arc::new(row.name));
                for place in snapshots::places(&mut tx, &row.id).await? {
                    let torrent = of_stored(place);
                    users.push(User {
                        engine_id: id.clone(),
                        engine_name: name.clone(),
                        engine: None,
                        is_loose: is_loose(&torrent),
                        entry: Arc::new(TorrentEntry::new(&id, torrent)),
                    });
                }
            }
            Ok::<_, DbError>(users)
        };
        stored.await.unwrap_or_else(|error| {
            tracing::warn!(%error, "the data of engines that are not loaded is not known");
            Vec::new()
        })
    }

    /// Finds out where everybody's data lies.
    async fn locate(&self, users: Vec<User>, wanted: &HashSet<usize>) -> Uses {
        let mut paths: Vec<(usize, String)> = Vec::with_capacity(users.len());
        for (number, user) in users.iter().enumerate() {
            let torrent = user.torrent();
            let own = data_path(torrent).map(std::borrow::Cow::into_owned);
            if !user.is_loose {
                paths.extend(own.map(|own| (number, own)));
                continue;
            }
            let save_path = normalised(&torrent.save_path).into_owned();
            let files = match user.asked().filter(|_| wanted.contains(&number)) {
                Some(engine) => ask_files(engine, &torrent.hash).await,
                None => None,
            };
            match files {
                Some(files) => {
                    let tops: BTreeSet<&str> = files
                        .iter()
                        .filter_map(|file| file.trim_matches('/').split('/').next())
                        .collect();
                    paths.extend(
                        tops.into_iter()
                            .map(|top| (number, normalised(&format!("{save_path}/{top}")).into_owned())),
                    );
                }
                // Without data it has only a place to be.
                None if torrent.downloaded == 0 => paths.extend(own.map(|own| (number, own))),
                None => paths.push((number, save_path)),
            }
        }
        let asked: Vec<String> = paths.iter().map(|(_, path)| path.clone()).collect();
        let seen = match self.moves.mover() {
            Some(mover) => mover.sight(asked).await.unwrap_or_else(|error| {
                tracing::warn!(%error, "where data lies is compared by the paths alone");
                Vec::new()
            }),
            None => Vec::new(),
        };
        let mut seen = seen.into_iter();
        let mut of = vec![Vec::new(); users.len()];
        let mut owners = Vec::with_capacity(paths.len());
        let mut places = Vec::with_capacity(paths.len());
        for (number, path) in paths {
            of[number].push(places.len());
            owners.push(number);
            places.push(Place {
                path,
                seen: seen.next().flatten(),
            });
        }
        Uses {
            users,
            places: Places::new(places),
            owners,
            of,
        }
    }

    /// Finds out who else uses the data of these users; those that go `along` count for nobody.
    pub(super) async fn judge_data(
        &self,
        uses: &Uses,
        asked: &[usize],
        along: &[TorrentRef],
    ) -> Vec<Verdict> {
        let mut files: HashMap<usize, Option<HashSet<String>>> = HashMap::new();
        let mut present: HashMap<usize, bool> = HashMap::new();
        let going: HashSet<usize> = asked.iter().copied().collect();
        let mut verdicts = Vec::with_capacity(asked.len());
        for at in asked {
            let mut verdict = Verdict::default();
            let is_other =
                |other: &usize| !along.iter().any(|torrent| uses.users[*other].is_torrent(torrent));
            let met = uses.meeting(*at).into_iter().filter(|(other, _)| is_other(other));
            let met: Vec<(usize, Meeting)> = met.collect();
            let others = met.iter().filter(|(other, _)| !going.contains(other)).count();
            let are_many = others > ASKED || met.len() > COMPARED;
            for (other, meeting) in met {
                if !are_many && !going.contains(&other) && !is_present(uses, other, &mut present).await {
                    continue;
                }
                let is_apart =
                    !are_many && meeting == Meeting::Path && are_apart(uses, (*at, other), &mut files).await;
                if is_apart {
                    verdict.apart.insert(other);
                } else {
                    verdict.shared.insert(other);
                }
            }
            verdicts.push(verdict);
        }
        verdicts
    }

    /// Refuses when others than these torrents use data of theirs. One whose client does not answer is judged by what it told last.
    pub async fn check_taking(&self, subjects: &[Subject]) -> Result<(), TorrentsError> {
        let (uses, found) = self.gather(subjects).await;
        let unread: HashSet<(&str, &str)> = subjects
            .iter()
            .zip(&found)
            .filter(|(_, found)| matches!(found, Err(TorrentsError::Engine { .. })))
            .map(|((engine, hash), _)| (&*engine.id, hash.as_str()))
            .collect();
        let mut known: Vec<usize> = found
            .iter()
            .filter_map(|found| found.as_ref().ok().copied())
            .collect();
        let is_unread = |user: &User| unread.contains(&(&*user.engine_id, &*user.torrent().hash));
        let users = uses.users.iter().enumerate();
        known.extend(users.filter(|(_, user)| is_unread(user)).map(|(at, _)| at));
        let mut others: BTreeSet<usize> = BTreeSet::new();
        for verdict in self.judge_data(&uses, &known, &[]).await {
            others.extend(verdict.shared.iter().filter(|user| !known.contains(user)));
        }
        if others.is_empty() {
            return Ok(());
        }
        Err(TorrentsError::SharedData(uses.named(&others)))
    }

    /// Refuses the move of a torrent whose data others use. `takes_folder`: whatever lies in its folder would go along.
    pub(super) async fn refuse_shared(
        &self,
        subject: &Subject,
        takes_folder: bool,
    ) -> Result<Unshared, TorrentsError> {
        let (uses, mut found) = self.gather(std::slice::from_ref(subject)).await;
        let at = found.pop().unwrap_or(Err(TorrentsError::NoSuchTorrent))?;
        let mut verdicts = self.judge_data(&uses, &[at], &[]).await;
        let mut verdict = verdicts.pop().unwrap_or_default();
        if takes_folder {
            verdict.shared.append(&mut verdict.apart);
        }
        if verdict.shared.is_empty() {
            Ok(prove([subject.1.clone()]))
        } else {
            Err(TorrentsError::SharedMove(uses.named(&verdict.shared)))
        }
    }
}

/// A torrent of which no more is known than where its data lay.
pub(super) fn of_stored(place: StoredPlace) -> Torrent {
    let content_path = place.content_path.filter(|path| !path.is_empty());
    Torrent {
        content_path: content_path.unwrap_or_else(|| format!("{}/{}", place.save_path, place.name)),
        hash: place.hash.into(),
        name: place.name,
        save_path: place.save_path,
        downloaded: place.downloaded.unsigned_abs(),
        state: TorrentState::Unknown,
        ..Torrent::default()
    }
}

/// True if a torrent is still in its client; one whose client does not say is.
async fn is_present(uses: &Uses, at: usize, known: &mut HashMap<usize, bool>) -> bool {
    if let Some(known) = known.get(&at) {
        return *known;
    }
    let user = &uses.users[at];
    let is_gone = match user.asked() {
        Some(engine) => {
            let asked = tokio::time::timeout(FRESH, engine.driver.get(&user.torrent().hash)).await;
            matches!(asked, Ok(Ok(None)))
        }
        None => false,
    };
    known.insert(at, !is_gone);
    !is_gone
}

/// The proof for torrents whose data is theirs alone, or goes with that of all who use it.
pub(super) fn prove(hashes: impl IntoIterator<Item = String>) -> Unshared {
    Unshared::judged(hashes)
}

/// True if the lists of files of two torrents are known, and have no file in common.
async fn are_apart(
    uses: &Uses,
    (a, b): (usize, usize),
    known: &mut HashMap<usize, Option<HashSet<String>>>,
) -> bool {
    if uses.users[a].torrent().hash == uses.users[b].torrent().hash {
        return false;
    }
    for at in [a, b] {
        if let Entry::Vacant(vacant) = known.entry(at) {
            let user = &uses.users[at];
            let asked = match user.asked() {
                Some(engine) => ask_files(engine, &user.torrent().hash).await,
                None => None,
            };
            vacant.insert(asked.and_then(|files| spread(user.torrent(), &files)));
        }
    }
    match (known.get(&a), known.get(&b)) {
        (Some(Some(a)), Some(Some(b))) => !do_overlap(a, b),
        _ => false,
    }
}
