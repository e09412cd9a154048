//! `media`: the media libraries, what lies in them, and the media servers. Granted by an administrator, by the word `media`; a
//! guest names libraries, items and servers by their ids, but which torrent's files are meant stands in the rights of the
//! instance.
//!
//! Bounds: 32 calls in one run, ids of 256 bytes, [`PLACES`] libraries or servers and [`ITEMS`] items an answer, charged as what
//! they may hold before they are there.

use std::sync::Arc;

use qm_kernel::Permission;
use qm_ports::action::{ActionError, MediaHands, MediaPlace, MediaPlayer, TorrentRef};
use qm_ports::library::Owned;
use wasmtime::Result;

use crate::services::capability::MEDIA;
use crate::state::{State, at_work};

/// Bytes of an id, at most.
const ID: usize = 256;
/// Libraries, or servers, of one answer.
const PLACES: usize = 500;
/// Items of one answer.
const ITEMS: usize = 200;
/// Bytes of a record whose texts are long, such as a path; until it is there it counts as one.
const LARGE: usize = 4 << 10;
/// Bytes of a record beside its texts, in either form.
const RECORD: usize = 512;

/// Work that is done for a guest.
pub enum Chore {
    Scan,
    Identify,
    FetchMetadata,
    Refresh,
}

impl Chore {
    /// Permission by which a person does the same.
    const fn need(&self) -> Permission {
        match self {
            Chore::Scan => Permission::MediaManagerScan,
            Chore::Identify => Permission::MediaManagerMatch,
            Chore::FetchMetadata => Permission::MediaManagerEditMetadata,
            Chore::Refresh => Permission::MediaManagerManageIntegrations,
        }
    }
}

/// Hands that do what this permission is for; the grant comes first.
fn hand(state: &mut State, need: Permission) -> Result<Arc<dyn MediaHands>, ActionError> {
    state.check_grant(MEDIA).map_err(ActionError::Denied)?;
    state.errands.demand(need).map_err(ActionError::Denied)?;
    state.errands.count_media().map_err(ActionError::Rejected)?;
    let media = state.errands.services.media();
    media.ok_or_else(|| {
        ActionError::Unreachable("the server is starting or ending: no media can be looked at".to_owned())
    })
}

/// An id that may be one.
fn sound(id: &str) -> Result<(), ActionError> {
    if id.len() > ID || id.contains('\0') {
        let why = format!("an id has {ID} bytes at most, and no NUL");
        return Err(ActionError::Rejected(why));
    }
    Ok(())
}

/// Does it to what has this id.
pub async fn run(state: &mut State, chore: Chore, id: String) -> Result<Result<(), ActionError>> {
    let _held = state.account.charge(id.len())?;
    let hands = match hand(state, chore.need()).and_then(|hands| sound(&id).map(|()| hands)) {
        Ok(hands) => hands,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let progress = state.network.progress.clone();
    let work = async {
        match chore {
            Chore::Scan => hands.scan(&id).await,
            Chore::Identify => hands.identify(&id).await,
            Chore::FetchMetadata => hands.fetch_metadata(&id).await,
            Chore::Refresh => hands.refresh(&id).await,
        }
    };
    Ok(at_work(&progress, work).await)
}

/// Size of the texts that a record holds.
trait Held {
    fn bytes(&self) -> usize;
}

impl Held for MediaPlace {
    fn bytes(&self) -> usize {
        self.id.len() + self.name.len() + self.kind.len() + self.path.len()
    }
}

impl Held for MediaPlayer {
    fn bytes(&self) -> usize {
        self.id.len() + self.name.len() + self.kind.len()
    }
}

impl Held for Owned {
    fn bytes(&self) -> usize {
        let texts = [
            &self.quality,
            &self.resolution,
            &self.video_codec,
            &self.audio_codec,
            &self.hdr,
            &self.release_group,
        ];
        let told = texts.into_iter().flatten().map(String::len).sum::<usize>();
        let (ids, names) = (
            self.item_id.len() + self.library_id.len(),
            self.media_type.len() + self.title.len(),
        );
        ids + names + self.path.len() + told
    }
}

/// Waits for an answer of so many records at most.
async fn answer<T: Held>(
    state: &mut State,
    most: usize,
    asked: impl Future<Output = Result<Vec<T>, ActionError>>,
) -> Result<Result<Vec<T>, ActionError>> {
    let mut held = state.account.charge(most * LARGE)?;
    let progress = state.network.progress.clone();
    let found = at_work(&progress, asked).await;
    let all = found.as_deref().unwrap_or_default();
    held.resize(all.iter().map(|one| RECORD + one.bytes()).sum())?;
    state.hand_over(held);
    Ok(found)
}

pub async fn libraries(state: &mut State) -> Result<Result<Vec<MediaPlace>, ActionError>> {
    match hand(state, Permission::MediaManagerView) {
        Ok(hands) => answer(state, PLACES, hands.libraries(PLACES)).await,
        Err(refusal) => Ok(Err(refusal)),
    }
}

pub async fn servers(state: &mut State) -> Result<Result<Vec<MediaPlayer>, ActionError>> {
    match hand(state, Permission::MediaManagerManageIntegrations) {
        Ok(hands) => answer(state, PLACES, hands.servers(PLACES)).await,
        Err(refusal) => Ok(Err(refusal)),
    }
}

/// The items of the run's torrent, behind `after`.
pub async fn items(state: &mut State, after: Option<String>) -> Result<Result<Vec<Owned>, ActionError>> {
    let _held = state.account.charge(after.as_ref().map_or(0, String::len))?;
    let looked = hand(state, Permission::MediaManagerView).and_then(|hands| {
        sound(after.as_deref().unwrap_or_default())?;
        Ok((hands, of_run(state)?))
    });
    match looked {
        Ok((hands, torrent)) => {
            let asked = hands.items(&torrent, after.as_deref(), ITEMS);
            answer(state, ITEMS, asked).await
        }
        Err(refusal) => Ok(Err(refusal)),
    }
}

/// The torrent that the run is about.
fn of_run(state: &State) -> Result<TorrentRef, ActionError> {
    let torrent = state.errands.rights.torrent.clone();
    torrent.ok_or_else(|| ActionError::Rejected("this run is about no torrent".to_owned()))
}
