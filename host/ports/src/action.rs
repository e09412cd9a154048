//! Actions that rules run, as the host sees them. One trait, [`Actions`], hides the product behind an action and the
//! version of the plugin API that its component was written against. [`TorrentHands`] and [`MediaHands`] are the
//! operations that an action has on torrents and on media.

use std::sync::{Arc, RwLock, Weak};

use async_trait::async_trait;
use qm_kernel::{ErrorKind, Permission, PermissionSet};
use qm_lanes::IgnorePoison;
use serde_json::{Map, Value};

use crate::library::Owned;
use crate::payload::Removal;
use crate::settling::Settling;

/// A kind of trigger that an action can follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Occasion {
    /// A torrent did something; the context is the torrent.
    Torrent,
    /// Something became known of media in a torrent; the context is the torrent.
    Media,
    /// Any other event; the context is a flat object.
    Event,
}

/// An action that an installed plugin provides.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionKind {
    /// The id that rules store, e.g. `delete_with_data`.
    pub id: String,
    /// Its name for people.
    pub label: String,
    /// The heading it is shown under, e.g. `torrent`.
    pub category: String,
    /// The triggers that it may follow.
    pub occasions: Vec<Occasion>,
    /// JSON Schema of its parameters.
    pub params_schema: Value,
    /// Running it twice does no more than running it once, so that it may be run again when nobody knows whether it ran.
    pub idempotent: bool,
    /// Permissions that a person needs to do the same by hand. Whoever stores or enables a rule with this action must
    /// hold all of them, and so must the rule's author at each run. Never empty: an action that needs nothing else
    /// needs `automation.manage`.
    pub needs: Vec<Permission>,
    /// Id of the plugin that provides it; [`HOUSE`]: an area of the host does.
    pub plugin: String,
}

/// The torrent that an action is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TorrentRef {
    pub engine_id: String,
    /// Lower-case hexadecimal info-hash.
    pub hash: String,
}

/// One run of an action.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionCall {
    /// The same for the same run, however often it is tried.
    pub run_id: String,
    pub occasion: Occasion,
    /// Parameters that the rule's author entered.
    pub params: Map<String, Value>,
    /// The torrent as `GET /api/torrents` shows it, or the event as a flat object.
    pub context: Map<String, Value>,
    /// The torrent of the context; none for an event without one. Only this one may be touched.
    pub torrent: Option<TorrentRef>,
    /// Id of the rule's author, for whom it acts; none where nobody is known to have written it.
    pub author: Option<String>,
    /// Permissions of the run: those that its action needs, all of which the rule's author holds now. A plugin gets no
    /// more for this run, whatever it asks for.
    pub powers: PermissionSet,
}

impl ActionKind {
    /// The needed permissions that are not among `held`, in the order in which they are declared. An action that
    /// declares none needs all of them, so that a missing declaration gives nothing away.
    pub fn lacking(&self, held: PermissionSet) -> Vec<Permission> {
        let needs: &[Permission] = if self.needs.is_empty() {
            Permission::ALL
        } else {
            &self.needs
        };
        needs
            .iter()
            .copied()
            .filter(|need| !held.contains(*need))
            .collect()
    }
}

/// Why an action failed. None of them is a bug of the host. The texts are sentences for the rule's log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ActionError {
    /// No installed plugin provides it.
    #[error("Unknown action type: {0}")]
    Unknown(String),
    /// The parameters do not fit the action's schema, or make no sense.
    #[error("{0}")]
    InvalidParams(String),
    #[error("{0}")]
    NotFound(String),
    #[error("{0}")]
    Unsupported(String),
    /// The product, the engine or the host examined what was asked and refused it.
    #[error("{0}")]
    Rejected(String),
    #[error("{0}")]
    Unreachable(String),
    #[error("{0}")]
    Timeout(String),
    #[error("{0}")]
    Protocol(String),
    #[error("the product refused the credentials: {0}")]
    Auth(String),
    /// The product asks to come back after so many seconds, when it says so.
    #[error("the product asks to be left alone for a while")]
    Throttled(Option<u32>),
    /// The plugin asked for something nobody granted it.
    #[error("its plugin may not do that: {0}")]
    Denied(String),
    /// Too many runs wait for this plugin.
    #[error("too many runs of it wait")]
    Busy,
    /// The plugin trapped, ran out of its budget or is parked after too many strikes.
    #[error("its plugin failed: {0}")]
    Plugin(String),
}

impl ActionError {
    pub const fn kind(&self) -> ErrorKind {
        match self {
            ActionError::Unreachable(_)
            | ActionError::Auth(_)
            | ActionError::Protocol(_)
            | ActionError::Denied(_)
            | ActionError::Plugin(_) => ErrorKind::Upstream,
            ActionError::Timeout(_) => ErrorKind::UpstreamTimeout,
            ActionError::Unknown(_) | ActionError::NotFound(_) => ErrorKind::NotFound,
            ActionError::InvalidParams(_) | ActionError::Unsupported(_) | ActionError::Rejected(_) => {
                ErrorKind::BadRequest
            }
            ActionError::Throttled(_) | ActionError::Busy => ErrorKind::Unavailable,
        }
    }
}

/// The actions that installed plugins provide. Calls never panic and never block a thread; every one ends.
#[async_trait]
pub trait Actions: Send + Sync {
    /// Every action, sorted by id.
    fn actions(&self) -> Vec<ActionKind>;
    /// A notice that a plugin which may provide this action is still being loaded; `None` once there is no such plugin.
    fn settling(&self, _action: &str) -> Option<Settling> {
        None
    }

    /// Waits until every installed plugin has been loaded or refused, however long it takes to compile. Until then an action
    /// may be missing that is there.
    async fn settled(&self) {}

    /// Runs one. Success means that the effect is there, not that it was asked for.
    async fn run(&self, action: &str, call: ActionCall) -> Result<(), ActionError>;
}

/// Value of [`ActionKind::plugin`] for an action that an area of the host provides.
pub const HOUSE: &str = "quartermaster";

/// The actions of areas of the host, and those that plugins provide. If several have one id, that of the area added
/// first counts, and a plugin's comes last.
pub struct HouseFirst {
    house: RwLock<Vec<Weak<dyn Actions>>>,
    plugins: Arc<dyn Actions>,
}

impl HouseFirst {
    pub fn new(plugins: Arc<dyn Actions>) -> Self {
        Self {
            house: RwLock::default(),
            plugins,
        }
    }

    /// Adds the actions of an area, for as long as the area is there. It may come after automation was handed this list: an
    /// area whose events run rules needs automation first.
    pub fn add(&self, area: &Arc<impl Actions + 'static>) -> &Self {
        let area: Arc<dyn Actions> = area.clone();
        let mut house = self.house.write().ignore_poison();
        house.push(Arc::downgrade(&area));
        drop(house);
        self
    }

    /// Every provider, in the order in which an id is looked for.
    fn providers(&self) -> Vec<Arc<dyn Actions>> {
        let house = self.house.read().ignore_poison();
        let areas = house.iter().filter_map(Weak::upgrade);
        areas.chain([self.plugins.clone()]).collect()
    }
}

#[async_trait]
impl Actions for HouseFirst {
    fn actions(&self) -> Vec<ActionKind> {
        let mut all: Vec<ActionKind> = Vec::new();
        for provider in self.providers() {
            let mut more = provider.actions();
            more.retain(|kind| all.iter().all(|own| own.id != kind.id));
            all.append(&mut more);
        }
        all.sort_by(|a, b| a.id.cmp(&b.id));
        all
    }

    fn settling(&self, action: &str) -> Option<Settling> {
        self.plugins.settling(action)
    }

    async fn settled(&self) {
        for provider in self.providers() {
            provider.settled().await;
        }
    }

    async fn run(&self, action: &str, call: ActionCall) -> Result<(), ActionError> {
        let providers = self.providers();
        let mut areas = providers.iter().take(providers.len() - 1);
        let area = areas.find(|area| area.actions().iter().any(|kind| kind.id == action));
        area.unwrap_or(&self.plugins).run(action, call).await
    }
}

/// Operations of an action on the torrent it is about. They are done for the author of the rule. The author's
/// permissions are judged before the run ([`ActionCall::powers`]), and its audit names the author; nothing is judged
/// again here.
#[async_trait]
pub trait TorrentHands: Send + Sync {
    /// The torrent as `GET /api/torrents` shows it; none when its engine does not list it.
    async fn read(&self, torrent: &TorrentRef) -> Result<Option<Map<String, Value>>, ActionError>;
    async fn pause(&self, torrent: &TorrentRef) -> Result<(), ActionError>;
    async fn stop(&self, torrent: &TorrentRef) -> Result<(), ActionError>;
    async fn start(&self, torrent: &TorrentRef) -> Result<(), ActionError>;
    /// Moves its data into the absolute directory `destination`, which must lie inside the file manager's roots. A move that
    /// takes longer than a run may is a `Timeout` and goes on by itself; asked again it says so until the data is there.
    async fn relocate(&self, torrent: &TorrentRef, destination: &str) -> Result<(), ActionError>;
    /// Removes it from its engine, and its data when asked. Data that another torrent uses is never removed.
    async fn remove(&self, torrent: &TorrentRef, removal: Removal<'_>) -> Result<(), ActionError>;
    /// Sets its label (category); an empty one takes it away.
    async fn label(&self, torrent: &TorrentRef, label: &str) -> Result<(), ActionError>;
    /// Adds and takes tags away, by name.
    async fn tags(&self, torrent: &TorrentRef, add: &[String], remove: &[String]) -> Result<(), ActionError>;
}

/// Keeper of tags for clients that have none. A change is there when it returns, and the list shows it with its next read.
#[async_trait]
pub trait TagKeeper: Send + Sync {
    async fn keep_tags(
        &self,
        torrent: &TorrentRef,
        add: &[String],
        remove: &[String],
    ) -> Result<(), ActionError>;
}

/// A media library, as an action is shown it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaPlace {
    pub id: String,
    pub name: String,
    /// e.g. `movie`
    pub kind: String,
    /// Absolute.
    pub path: String,
    pub is_enabled: bool,
}

/// A media server, as an action is shown it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaPlayer {
    pub id: String,
    pub name: String,
    /// e.g. `jellyfin`
    pub kind: String,
    pub is_enabled: bool,
}

/// Operations of an action on the media libraries and the media servers, done for the author of the rule as those of
/// [`TorrentHands`] are. One that takes longer than a run may is a `Timeout` and goes on by itself. An unknown id is
/// `NotFound`.
#[async_trait]
pub trait MediaHands: Send + Sync {
    /// The oldest first, `most` of them at most.
    async fn libraries(&self, most: usize) -> Result<Vec<MediaPlace>, ActionError>;
    /// The oldest first, `most` of them at most.
    async fn servers(&self, most: usize) -> Result<Vec<MediaPlayer>, ActionError>;
    /// Files of a torrent that the libraries know, sorted by id: those with ids greater than `after`, at most `most` of
    /// them.
    async fn items(
        &self,
        torrent: &TorrentRef,
        after: Option<&str>,
        most: usize,
    ) -> Result<Vec<Owned>, ActionError>;
    async fn scan(&self, library: &str) -> Result<(), ActionError>;
    /// Reads again what an item is.
    async fn identify(&self, item: &str) -> Result<(), ActionError>;
    /// Asks providers of metadata what an item is about.
    async fn fetch_metadata(&self, item: &str) -> Result<(), ActionError>;
    /// Has a media server look for files.
    async fn refresh(&self, server: &str) -> Result<(), ActionError>;
}
