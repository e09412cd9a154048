//! Session and all-time statistics.

use serde::Deserialize;

use crate::error::{Error, garbled};
use crate::http::{Answer, Clock, Http};
use crate::kept::ServerState;
use crate::link::{Call, LARGE, SMALL, no_such_call};
use crate::pieces::{Pieces, Place, Sink};
use crate::session::{Session, read_pieces};
use crate::values::{Flag, Num, Text};
use engine_model::{SessionStats, Transfer};

#[derive(Default, Deserialize)]
#[serde(default)]
struct Preferences {
    listen_port: Num,
    dht: Flag,
    queueing_enabled: Flag,
    save_path: Text,
}

/// Takes `server_state` and lets the list go by.
struct ServerOnly(ServerState);

impl Sink for ServerOnly {
    fn wants(&self, place: Place) -> bool {
        place == Place::Member("server_state")
    }
    fn piece(&mut self, _: Place, json: &[u8]) -> Result<(), Error> {
        self.0.merge(json)
    }
}

impl<H: Http, C: Clock> Session<H, C> {
    pub fn session_stats(&mut self) -> Result<SessionStats, Error> {
        let engine_version = self.version()?;
        let call = Call::get("/app/preferences", &[], SMALL);
        let body = self.link.call(&call).map_err(no_such_call)?.read_to_end()?;
        let preferences: Preferences =
            serde_json::from_slice(&body).map_err(|error| garbled("app/preferences", &error))?;
        let port = preferences
            .listen_port
            .non_negative()
            .and_then(|port| u16::try_from(port).ok());
        // A disk that the polls found full.
        let full = self.kept.stats().free_disk_bytes.filter(|bytes| *bytes == 0);
        Ok(SessionStats {
            engine_version,
            listen_port: port.filter(|port| *port != 0), // 0 is "any"
            dht_enabled: preferences.dht.0.unwrap_or(false),
            queueing: preferences.queueing_enabled.0,
            default_save_path: preferences.save_path.non_empty(),
            free_disk_bytes: self.server_state()?.free_disk_bytes().or(full),
        })
    }

    pub fn all_time(&mut self) -> Result<Option<Transfer>, Error> {
        Ok(self.server_state()?.all_time())
    }

    fn server_state(&mut self) -> Result<ServerState, Error> {
        self.lose_track();
        let answer = self
            .link
            .call(&Call::get("/sync/maindata", &[("rid", "0")], LARGE))
            .map_err(no_such_call)?;
        let mut only = ServerOnly(ServerState::default());
        read_pieces(answer, Pieces::of_object(), &mut only)?;
        Ok(only.0)
    }
}
