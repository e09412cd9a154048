//! Services of the rest of the server for plugins, and the rights of one instance to them.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use qm_kernel::PermissionSet;
use qm_ports::action::{MediaHands, TorrentHands, TorrentRef};
use qm_ports::mail::Mailer;
use serde_json::{Map, Value};

use crate::values::Values;

/// Judges what a user entered by the JSON Schema that a plugin gave: what is wrong with it, by name and never by value.
pub type Judge = fn(schema: &Value, given: &Map<String, Value>) -> Result<(), String>;

/// Parts of the server that work for plugins.
pub struct Services {
    pub values: Arc<dyn Values>,
    pub judge: Judge,
    /// Not an owner: the area of torrents knows the plugin host too, and is made after it.
    hands: OnceLock<Weak<dyn TorrentHands>>,
    /// Nor of the media library, for the same reason.
    media: OnceLock<Weak<dyn MediaHands>>,
    mailer: OnceLock<Arc<dyn Mailer>>,
}

impl Services {
    pub fn new(values: Arc<dyn Values>, judge: Judge) -> Arc<Self> {
        Arc::new(Self {
            values,
            judge,
            hands: OnceLock::new(),
            media: OnceLock::new(),
            mailer: OnceLock::new(),
        })
    }

    /// Says who touches torrents. Wired once.
    pub fn use_hands(&self, hands: &Arc<dyn TorrentHands>) {
        let _ = self.hands.set(Arc::downgrade(hands));
    }

    pub fn hands(&self) -> Option<Arc<dyn TorrentHands>> {
        self.hands.get().and_then(Weak::upgrade)
    }

    /// Says who knows media. Wired once.
    pub fn use_media(&self, media: &Arc<dyn MediaHands>) {
        let _ = self.media.set(Arc::downgrade(media));
    }

    pub fn media(&self) -> Option<Arc<dyn MediaHands>> {
        self.media.get().and_then(Weak::upgrade)
    }

    /// Says who sends mail. Wired once.
    pub fn use_mailer(&self, mailer: Arc<dyn Mailer>) {
        let _ = self.mailer.set(mailer);
    }

    pub fn mailer(&self) -> Option<Arc<dyn Mailer>> {
        self.mailer.get().cloned()
    }
}

/// Words for interfaces that a plugin asks for and an administrator grants.
pub mod capability {
    /// To touch the torrent that a run is about.
    pub const TORRENTS: &str = "torrents";
    /// To look into the media libraries, to have them scanned and media servers refreshed.
    pub const MEDIA: &str = "media";
    /// To send to addresses that users choose.
    pub const HTTP_GUARDED: &str = "http-guarded";
    /// To send mail by the operator's server.
    pub const MAIL: &str = "mail";
}

/// Rights of one instance to the services.
#[derive(Clone, Debug, Default)]
pub struct Rights {
    /// Granted ones, by [`capability`].
    pub capabilities: Vec<String>,
    /// Its role keeps values.
    pub keeps_values: bool,
    /// The torrent that the run is about: it may be touched, and what lies there looked at, with the capabilities.
    pub torrent: Option<TorrentRef>,
    /// Permissions that the run has of its rule's author: what a capability offers is done within them alone.
    pub powers: PermissionSet,
    /// Data of that torrent which others use is kept when it is removed with its data; otherwise that is refused.
    pub keep_shared: bool,
    /// Silence of a product that is waited for, where it is longer than usual.
    pub patience: Option<Duration>,
}

/// Facts about one call beside its configuration.
#[derive(Clone, Debug, Default)]
pub struct CallContext {
    /// Texts never to be logged, beside the secrets of the configuration.
    pub secrets: Vec<String>,
    pub torrent: Option<TorrentRef>,
    /// As in [`Rights`].
    pub powers: PermissionSet,
    pub keep_shared: bool,
    /// Schema of the configuration, where it is not the plugin's one for all.
    pub schema: Option<Arc<Value>>,
    /// As in [`Rights`].
    pub patience: Option<Duration>,
    /// The configuration is that of a person who is no operator: what it names leads outside only. A number that stands for
    /// it, against which its failures are held.
    pub of_a_person: Option<u64>,
}
