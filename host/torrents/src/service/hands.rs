//! Operations of rules on torrents: [`TorrentHands`], built on the functions that the routes call, without a caller and
//! without audit rows.

use std::sync::Arc;

use async_trait::async_trait;
use qm_engines::model::paths::{PathError, check_category};
use qm_engines::{Engine, TorrentsError};
use qm_kernel::ErrorKind;
use qm_ports::action::{ActionError, TagKeeper, TorrentHands, TorrentRef};
use qm_ports::engine::{Command, EngineError};
use qm_ports::{Removal, placeholders};
use qm_torrent_data::checked_hash;
use serde_json::{Map, Value};

use super::Torrents;

impl Torrents {
    async fn do_for_rule(&self, torrent: &TorrentRef, command: Command) -> Result<(), ActionError> {
        let done = async {
            let engine = self.resolve(Some(&torrent.engine_id))?;
            self.obey(&engine, &checked_hash(&torrent.hash)?, command).await?;
            engine.show_change(false).await;
            Ok(())
        };
        done.await.map_err(shape_error)
    }

    async fn retag_one(
        &self,
        torrent: &TorrentRef,
        add: &[String],
        remove: &[String],
    ) -> Result<Arc<Engine>, ActionError> {
        let done = async {
            let engine = self.resolve(Some(&torrent.engine_id))?;
            let hash = checked_hash(&torrent.hash)?;
            self.retag(&engine, &hash, add, remove).await.map(|()| engine)
        };
        done.await.map_err(shape_error)
    }
}

#[async_trait]
impl TorrentHands for Torrents {
    async fn read(&self, torrent: &TorrentRef) -> Result<Option<Map<String, Value>>, ActionError> {
        let found = match self.find(Some(&torrent.engine_id), &torrent.hash).await {
            Ok(found) => found,
            Err(TorrentsError::NoSuchTorrent) => return Ok(None),
            Err(error) => return Err(shape_error(error)),
        };
        let read = serde_json::from_slice(&found.entry.shown(found.stale));
        read.map(Some)
            .map_err(|error| ActionError::Protocol(format!("the torrent cannot be read: {error}")))
    }

    async fn pause(&self, torrent: &TorrentRef) -> Result<(), ActionError> {
        self.do_for_rule(torrent, Command::Pause).await
    }

    async fn stop(&self, torrent: &TorrentRef) -> Result<(), ActionError> {
        self.do_for_rule(torrent, Command::Stop).await
    }

    async fn start(&self, torrent: &TorrentRef) -> Result<(), ActionError> {
        self.do_for_rule(torrent, Command::Start).await
    }

    async fn relocate(&self, torrent: &TorrentRef, destination: &str) -> Result<(), ActionError> {
        let destination = if destination.contains('{') {
            let found = self.find(Some(&torrent.engine_id), &torrent.hash).await;
            let found = found.map_err(shape_error)?;
            placeholders::filled(destination, &found.entry.torrent).map_err(ActionError::InvalidParams)?
        } else {
            destination.to_owned()
        };
        let moving = self
            .data
            .relocate_by(None, Some(&torrent.engine_id), &torrent.hash, &destination);
        match moving.await.map_err(shape_error)? {
            None => Ok(()),
            // What comes after it in the rule counts on the data being there.
            Some(operation) => Err(ActionError::Timeout(format!(
                "Moving the data takes long: it goes on as the file operation {operation}"
            ))),
        }
    }

    async fn remove(&self, torrent: &TorrentRef, removal: Removal<'_>) -> Result<(), ActionError> {
        let removed = self.remove_by(None, Some(&torrent.engine_id), &torrent.hash, removal);
        removed.await.map_err(shape_error)
    }

    async fn label(&self, torrent: &TorrentRef, label: &str) -> Result<(), ActionError> {
        let label = label.trim().to_owned();
        check_category(&label).map_err(|error| shape_error(error.into()))?;
        let done = async {
            let engine = self.resolve(Some(&torrent.engine_id))?;
            let command = Command::SetLabel { label };
            let hash = checked_hash(&torrent.hash)?;
            self.data.follow_category(None, &engine, &hash, &command).await?;
            engine.show_change(false).await;
            Ok(())
        };
        done.await.map_err(shape_error)
    }

    async fn tags(&self, torrent: &TorrentRef, add: &[String], remove: &[String]) -> Result<(), ActionError> {
        // What is kept here is shown by the next read; the rule's next action may look at it.
        let engine = self.retag_one(torrent, add, remove).await?;
        engine.show_change(true).await;
        Ok(())
    }
}

#[async_trait]
impl TagKeeper for Torrents {
    async fn keep_tags(
        &self,
        torrent: &TorrentRef,
        add: &[String],
        remove: &[String],
    ) -> Result<(), ActionError> {
        self.retag_one(torrent, add, remove).await.map(drop)
    }
}

/// The sentence that the route would answer, by what it means for a rule.
fn shape_error(error: TorrentsError) -> ActionError {
    use ActionError as E;
    let text = error.to_string();
    match error {
        TorrentsError::NoEngine
        | TorrentsError::EngineUnavailable(_)
        | TorrentsError::NoSuchEngine
        | TorrentsError::NoSuchTorrent => E::NotFound(text),
        TorrentsError::Engine { source, .. } => match source {
            EngineError::NotFound(_) => E::NotFound(text),
            EngineError::Unsupported(_) => E::Unsupported(text),
            EngineError::Rejected(_) | EngineError::InvalidConfig(_) => E::Rejected(text),
            EngineError::Timeout(_) => E::Timeout(text),
            EngineError::Protocol(_) => E::Protocol(text),
            EngineError::Unreachable(_)
            | EngineError::Auth(_)
            | EngineError::Busy
            | EngineError::Plugin(_) => E::Unreachable(text),
        },
        TorrentsError::Path(
            PathError::Blank | PathError::IllegalCharacters(_) | PathError::CategoryName(_),
        ) => E::InvalidParams(text),
        // A disk that does not answer now may do later.
        TorrentsError::Path(error) if error.kind() == ErrorKind::Unavailable => E::Unreachable(text),
        TorrentsError::NoMover
        | TorrentsError::Settling(_)
        | TorrentsError::NotNoted
        | TorrentsError::DataBusy
        | TorrentsError::Database(_)
        | TorrentsError::MoveFailed(_) => E::Unreachable(text),
        _ => E::Rejected(text),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use qm_db::{Db, db_test};
    use qm_kernel::ErrorKind;
    use qm_ports::Removal;
    use qm_ports::action::{ActionError, TorrentHands, TorrentRef};
    use qm_ports::engine::{EngineError, Torrent, TorrentState, capability};
    use qm_test_base::blank::{hash, torrent};
    use qm_test_base::{FakeEngine, FakeKinds};
    use serde_json::json;
    use tokio::sync::Semaphore;

    use crate::testing::{House, audited};

    const OLD: &str = "/downloads/x";

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    async fn site(db: &Db) -> (House, Arc<FakeEngine>, TorrentRef) {
        let house = House::new(db, &["fake"]).await;
        let client = house.kinds.engine("a");
        client.put(Torrent {
            state: TorrentState::Seeding,
            downloaded: 1000,
            progress: 1.0,
            ..torrent(1)
        });
        house.mover.put(OLD);
        let engine_id = house.engine("seedbox", "a").await;
        house.torrents.resolve(None).unwrap().listed().await.unwrap();
        let subject = TorrentRef {
            engine_id,
            hash: hash(1).to_string(),
        };
        (house, client, subject)
    }

    db_test! {
        async fn a_rule_does_what_routes_do_and_audits_nothing(db: Db) {
            let (house, client, subject) = site(&db).await;
            let before = audited(&db).await.len();
            let hands: &dyn TorrentHands = &*house.torrents;
            let read = hands.read(&subject).await.unwrap().unwrap();
            assert_eq!((&read["hash"], &read["engineId"]), (&json!(*hash(1)), &json!(subject.engine_id)));
            hands.stop(&subject).await.unwrap();
            hands.start(&subject).await.unwrap();
            hands.pause(&subject).await.unwrap();
            hands.relocate(&subject, "/downloads/new").await.unwrap();
            assert_eq!(house.mover.paths(), ["/downloads/new/x"]);
            hands.relocate(&subject, "/downloads/new/").await.unwrap();
            let removal = Removal { with_data: true, ..Removal::default() };
            hands.remove(&subject, removal).await.unwrap();
            assert_eq!(hands.read(&subject).await.unwrap(), None);
            assert!(client.torrent(&hash(1)).is_none());
            let asked = client.commands();
            assert!(asked.len() >= 5, "{asked:?}");
            assert_eq!(audited(&db).await.len(), before, "the rule's run is what is audited");
        }
    }

    db_test! {
        async fn a_rule_moves_to_where_the_torrent_says(db: Db) {
            let (house, client, subject) = site(&db).await;
            let hands: &dyn TorrentHands = &*house.torrents;
            let refused = hands.relocate(&subject, "/downloads/{lable}").await.unwrap_err();
            assert!(matches!(refused, ActionError::InvalidParams(why) if why.contains("{lable}")));
            client.put(Torrent { label: Some("../tv".into()), ..client.torrent(&hash(1)).unwrap() });
            let engine = house.torrents.resolve(None).unwrap();
            engine.refresh(std::time::Duration::from_mins(1)).await;
            hands.relocate(&subject, "/downloads/{label}").await.unwrap();
            assert_eq!(house.mover.paths(), ["/downloads/_._tv/x"]);
            house.torrents.shutdown().await;
        }
    }

    db_test! {
        async fn what_a_route_refuses_a_rule_is_refused_too(db: Db) {
            let (house, client, subject) = site(&db).await;
            let hands: &dyn TorrentHands = &*house.torrents;
            let refused = async |to: &str| hands.relocate(&subject, to).await.unwrap_err();
            assert!(matches!(refused("/etc").await, ActionError::Rejected(why) if why.contains("protected")));
            assert!(matches!(refused("/downloads/../srv/x").await, ActionError::Rejected(why) if why.contains("/downloads")));
            assert!(matches!(refused(" ").await, ActionError::InvalidParams(_)));
            house.mover.fail(ErrorKind::Conflict, "Destination already exists");
            assert_eq!(refused("/downloads/new").await, ActionError::Rejected("Destination already exists".into()));
            let other = TorrentRef { hash: hash(2).to_string(), ..subject.clone() };
            assert!(matches!(hands.stop(&other).await, Err(ActionError::NotFound(_))));
            let nobody = TorrentRef { engine_id: "gone".into(), ..subject.clone() };
            assert_eq!(hands.stop(&nobody).await, Err(ActionError::NotFound("Engine gone is not available".into())));
            assert!(matches!(hands.label(&subject, "a\nb").await, Err(ActionError::InvalidParams(why)) if why.contains("category")));
            let long = vec!["x".repeat(201)];
            assert!(matches!(hands.tags(&subject, &long, &[]).await, Err(ActionError::Rejected(why)) if why.contains("200")));
            let many: Vec<String> = (0..101).map(|n| n.to_string()).collect();
            assert!(matches!(hands.tags(&subject, &many, &[]).await, Err(ActionError::Rejected(why)) if why.contains("100")));
            assert!(matches!(hands.tags(&other, &["x".to_owned()], &[]).await, Err(ActionError::NotFound(_))));
            client.fail(Some(EngineError::Unreachable("no route".into())));
            assert!(matches!(hands.stop(&subject).await, Err(ActionError::Unreachable(why)) if why.contains("seedbox")));
        }
    }

    db_test! {
        async fn labels_and_tags_of_a_client_that_keeps_them_are_its_own(db: Db) {
            let (house, client, subject) = site(&db).await;
            client.offer(capability::TAGS);
            let hands: &dyn TorrentHands = &*house.torrents;
            hands.label(&subject, " films ").await.unwrap();
            hands.tags(&subject, &texts(&["a", "b", " "]), &[]).await.unwrap();
            hands.tags(&subject, &texts(&["c"]), &texts(&["a", "never"])).await.unwrap();
            let told = client.torrent(&hash(1)).unwrap();
            assert_eq!((told.label.as_deref(), told.tags), (Some("films"), texts(&["b", "c"])));
            let read = hands.read(&subject).await.unwrap().unwrap();
            assert_eq!((&read["label"], &read["tags"]), (&json!("films"), &json!(["b", "c"])));
            hands.label(&subject, "").await.unwrap();
            assert_eq!(client.torrent(&hash(1)).unwrap().label, None);
        }
    }

    db_test! {
        async fn tags_of_a_client_that_has_none_are_kept_here_and_outlive_the_server(db: Db) {
            let (house, client, subject) = site(&db).await;
            let hands: &dyn TorrentHands = &*house.torrents;
            let added_at = hands.read(&subject).await.unwrap().unwrap()["addedAt"].clone();
            hands.tags(&subject, &texts(&["a", "b"]), &[]).await.unwrap();
            hands.tags(&subject, &texts(&["c", "b"]), &texts(&["a"])).await.unwrap();
            let read = hands.read(&subject).await.unwrap().unwrap();
            assert_eq!((&read["tags"], &read["addedAt"]), (&json!(["b", "c"]), &added_at), "shown at once");
            assert!(client.commands().is_empty() && client.torrent(&hash(1)).unwrap().tags.is_empty());
            house.torrents.shutdown().await;

            let kinds = FakeKinds::new(&["fake"]);
            kinds.engine("a").put(client.torrent(&hash(1)).unwrap());
            let house = House::over(&db, kinds).await;
            house.torrents.resolve(None).unwrap().listed().await.unwrap();
            let hands: &dyn TorrentHands = &*house.torrents;
            let read = hands.read(&subject).await.unwrap().unwrap();
            assert_eq!((&read["tags"], &read["addedAt"]), (&json!(["b", "c"]), &added_at), "after a restart");
            hands.tags(&subject, &[], &texts(&["b", "c"])).await.unwrap();
            assert_eq!(hands.read(&subject).await.unwrap().unwrap()["tags"], json!([]));
            house.torrents.shutdown().await;
        }
    }

    db_test! {
        async fn a_move_that_takes_long_is_no_success_yet_and_then_one(db: Db) {
            let (house, _client, subject) = site(&db).await;
            let gate = Arc::new(Semaphore::new(0));
            *house.mover.gate.lock().unwrap() = Some(gate.clone());
            let hands: &dyn TorrentHands = &*house.torrents;
            let slow = hands.relocate(&subject, "/downloads/new").await.unwrap_err();
            assert!(matches!(slow, ActionError::Timeout(why) if why.contains("file operation")));
            let again = hands.relocate(&subject, "/downloads/new").await.unwrap_err();
            assert!(matches!(again, ActionError::Rejected(why) if why.contains("being moved")));
            gate.add_permits(1);
            let mut last = Ok(());
            for _ in 0..3000 {
                last = hands.relocate(&subject, "/downloads/new").await;
                if last.is_ok() {
                    break;
                }
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
            assert_eq!(last, Ok(()));
        }
    }
}
