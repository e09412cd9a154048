//! Actions of plugins on libraries and media servers: [`MediaHands`], built on the actions of this area. It acts for no
//! user: the author of the rule was checked when it was written, the plugin was granted the right, and the run is what is
//! audited.

use async_trait::async_trait;
use qm_catalogue::owned_by_ids;
use qm_media::repo;
use qm_ports::action::{ActionError, MediaHands, MediaPlace, MediaPlayer, TorrentRef};
use qm_ports::library::Owned;
use qm_ports::media_server::{Extent, MediaServerError};
use qm_scan::below;
use serde_json::{Map, Value};

use super::Orders;
use super::actions::stored;

#[async_trait]
impl MediaHands for Orders {
    async fn libraries(&self, most: usize) -> Result<Vec<MediaPlace>, ActionError> {
        let mut tx = self.db.begin_read().await.map_err(stored)?;
        let all = repo::libraries::all(&mut tx).await.map_err(stored)?;
        let shown = all.into_iter().take(most).map(|library| MediaPlace {
            kind: library.kind.as_str().to_owned(),
            is_enabled: library.is_enabled,
            id: library.id,
            name: library.name,
            path: library.path,
        });
        Ok(shown.collect())
    }

    async fn servers(&self, most: usize) -> Result<Vec<MediaPlayer>, ActionError> {
        let all = self.outside.servers.servers().await.map_err(to_action_error)?;
        let shown = all.into_iter().take(most).map(|server| MediaPlayer {
            id: server.id,
            name: server.name,
            kind: server.kind,
            is_enabled: server.is_enabled,
        });
        Ok(shown.collect())
    }

    async fn items(
        &self,
        torrent: &TorrentRef,
        after: Option<&str>,
        most: usize,
    ) -> Result<Vec<Owned>, ActionError> {
        let listed = self.outside.hands.read(torrent).await?;
        let listed = listed.ok_or_else(|| ActionError::NotFound("Torrent not found".to_owned()))?;
        let Some(path) = data_of(&listed) else {
            return Ok(Vec::new());
        };
        let mut tx = self.db.begin_read().await.map_err(stored)?;
        let libraries = repo::libraries::all(&mut tx).await.map_err(stored)?;
        let mut ids = Vec::new();
        for library in &libraries {
            if let Some(at) = below(library, &path) {
                let found = repo::downloads::at_or_below(&mut tx, &library.id, &at).await;
                ids.append(&mut found.map_err(stored)?);
            }
        }
        ids.retain(|id| after.is_none_or(|after| id.as_str() > after));
        ids.sort();
        ids.truncate(most);
        owned_by_ids(&mut tx, &libraries, &ids).await.map_err(stored)
    }

    async fn scan(&self, library: &str) -> Result<(), ActionError> {
        self.in_time("The scan", self.scan_for_a_rule(library)).await
    }

    async fn identify(&self, item: &str) -> Result<(), ActionError> {
        self.in_time("The identification", self.match_for_a_rule(item))
            .await
    }

    async fn fetch_metadata(&self, item: &str) -> Result<(), ActionError> {
        self.in_time("The look-up", self.describe_for_a_rule(item)).await
    }

    async fn refresh(&self, server: &str) -> Result<(), ActionError> {
        // Its plugin's time limit is shorter than ours.
        let asked = self.outside.servers.refresh(server, Extent::default());
        asked.await.map_err(to_action_error)
    }
}

impl Orders {
    /// Waits for a job up to a time limit; the job goes on after it.
    async fn in_time(
        &self,
        what: &str,
        work: impl Future<Output = Result<(), ActionError>>,
    ) -> Result<(), ActionError> {
        let waited = tokio::time::timeout(self.pace.lingers, work).await;
        waited.unwrap_or_else(|_| {
            Err(ActionError::Timeout(format!(
                "{what} takes long: it goes on by itself"
            )))
        })
    }
}

/// Path of a torrent's data, as its engine reports it.
fn data_of(listed: &Map<String, Value>) -> Option<String> {
    let text = |name: &str| {
        let text = listed.get(name).and_then(Value::as_str)?;
        (!text.is_empty()).then_some(text)
    };
    match (text("contentPath"), text("savePath"), text("name")) {
        (Some(path), ..) => Some(path.to_owned()),
        (None, Some(directory), Some(name)) => Some(format!("{}/{name}", directory.trim_end_matches('/'))),
        _ => None,
    }
}

fn to_action_error(error: MediaServerError) -> ActionError {
    use ActionError as E;
    use MediaServerError as M;
    let text = error.to_string();
    match error {
        M::Unreachable(_) | M::Storage(_) => E::Unreachable(text),
        M::Timeout(_) => E::Timeout(text),
        M::Auth(_) => E::Auth(text),
        M::Missing(_) => E::NotFound(text),
        M::Unsupported(_) => E::Unsupported(text),
        M::Status { .. } | M::Unparsable(_) | M::TooLarge(_) | M::Redirected(_) => E::Protocol(text),
        M::InvalidConfig(_) | M::Disabled => E::Rejected(text),
        M::Busy => E::Unreachable(format!("The media server {text}")),
        M::Denied(_) | M::Plugin(_) => E::Unreachable(text),
    }
}
