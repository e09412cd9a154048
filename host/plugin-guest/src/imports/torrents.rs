//! `torrents`: the torrent that a run is about, and no other. Granted by an administrator, by the word `torrents`; which torrent
//! it is stands in the rights of the instance, never in what the guest says. So do the permissions of the run: a function that a
//! person would need another one for is denied.
//!
//! Bounds: 32 calls in one run; names of labels, tags and directories as long as any engine takes them.

use std::sync::Arc;

use qm_kernel::Permission;
use qm_ports::Removal;
use qm_ports::action::{ActionError, TorrentHands, TorrentRef};
use serde_json::Value;
use wasmtime::Result;

use crate::services::capability::TORRENTS;
use crate::state::{State, at_work};

/// Bytes of the names in one call, at most; a path has 4 KiB at most.
const NAMES: usize = 16 << 10;

/// Work that is done to the torrent.
pub enum Errand {
    Pause,
    Stop,
    Start,
    Relocate(String),
    Remove { with_data: bool },
    Label(String),
    Tags { add: Vec<String>, remove: Vec<String> },
}

impl Errand {
    /// Permissions by which a person does the same.
    fn needs(&self) -> &'static [Permission] {
        use Permission as P;
        match self {
            Errand::Pause => &[P::TorrentsPause],
            Errand::Stop => &[P::TorrentsStop],
            Errand::Start => &[P::TorrentsStart],
            Errand::Relocate(_) => &[P::TorrentsMove],
            Errand::Remove { with_data: false } => &[P::TorrentsDelete],
            Errand::Remove { with_data: true } => &[P::TorrentsDeleteData],
            Errand::Label(_) => &[P::CategoriesManage],
            Errand::Tags { .. } => &[P::TagsManage],
        }
    }

    /// Bytes of what it names.
    fn size(&self) -> usize {
        match self {
            Errand::Pause | Errand::Stop | Errand::Start | Errand::Remove { .. } => 0,
            Errand::Relocate(text) | Errand::Label(text) => text.len(),
            Errand::Tags { add, remove } => {
                let names = add.iter().chain(remove);
                names.map(|name| name.len() + size_of::<String>()).sum()
            }
        }
    }

    async fn run(
        &self,
        hands: &dyn TorrentHands,
        torrent: &TorrentRef,
        keep_shared: bool,
    ) -> Result<(), ActionError> {
        match self {
            Errand::Pause => hands.pause(torrent).await,
            Errand::Stop => hands.stop(torrent).await,
            Errand::Start => hands.start(torrent).await,
            Errand::Relocate(destination) => hands.relocate(torrent, destination).await,
            Errand::Remove { with_data } => {
                let removal = Removal {
                    with_data: *with_data,
                    keep_shared,
                    along: &[],
                };
                hands.remove(torrent, removal).await
            }
            Errand::Label(label) => hands.label(torrent, label).await,
            Errand::Tags { add, remove } => hands.tags(torrent, add, remove).await,
        }
    }
}

/// The hands that do it, and the torrent they do it to; the grant comes first.
fn hand(state: &mut State) -> Result<(Arc<dyn TorrentHands>, TorrentRef), ActionError> {
    state.check_grant(TORRENTS).map_err(ActionError::Denied)?;
    state.errands.count_torrent().map_err(ActionError::Rejected)?;
    let torrent = state.errands.rights.torrent.clone();
    let torrent = torrent.ok_or_else(|| ActionError::Rejected("this run is about no torrent".to_owned()))?;
    let hands = state.errands.services.hands();
    let hands = hands.ok_or_else(|| {
        ActionError::Unreachable("the server is starting or ending: no torrent can be touched".to_owned())
    })?;
    Ok((hands, torrent))
}

/// Does it to the torrent of the run.
pub async fn run(state: &mut State, errand: Errand) -> Result<Result<(), ActionError>> {
    let size = errand.size();
    let _held = state.account.charge(size)?;
    let (hands, torrent) = match hand(state) {
        Ok(hand) => hand,
        Err(refusal) => return Ok(Err(refusal)),
    };
    for need in errand.needs() {
        if let Err(why) = state.errands.demand(*need) {
            return Ok(Err(ActionError::Denied(why)));
        }
    }
    if size > NAMES {
        let why = format!("its names have more than {} KiB", NAMES >> 10);
        return Ok(Err(ActionError::Rejected(why)));
    }
    let progress = state.network.progress.clone();
    let keep_shared = state.errands.rights.keep_shared;
    Ok(at_work(&progress, errand.run(&*hands, &torrent, keep_shared)).await)
}

/// The torrent of the run as a JSON object.
pub async fn read(state: &mut State) -> Result<Result<Option<String>, ActionError>> {
    let (hands, torrent) = match hand(state) {
        Ok(hand) => hand,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let progress = state.network.progress.clone();
    let found = at_work(&progress, hands.read(&torrent)).await;
    let text = found.map(|found| found.map(|torrent| Value::Object(torrent).to_string()));
    let size = text.as_ref().ok().and_then(Option::as_ref).map_or(0, String::len);
    let held = state.account.charge(size)?;
    state.hand_over(held);
    Ok(text)
}
