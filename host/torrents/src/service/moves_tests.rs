//! Moves over a client and a file manager in memory: what is refused, what is done in which order, and what becomes of a
//! move whose process was killed at any of its steps.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use qm_db::{Db, db_test};
use qm_engines::TorrentsError;
use qm_engines::dto::engines::UpdateEngine;
use qm_kernel::{ErrorKind, Permission, Timestamp};
use qm_ports::engine::{Attention, Command, EngineError, Torrent, TorrentState, capability};
use qm_test_base::FakeEngine;
use qm_test_base::blank::{hash, torrent};
use qm_torrent_data::How;
use qm_torrent_data::repo::moves::{self, MoveRow};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::testing::{House, audited, eventually};

const OLD: &str = "/downloads/x";
const NEW: &str = "/downloads/new/x";

struct Site {
    db: Db,
    house: House,
    client: Arc<FakeEngine>,
    engine: String,
}

impl Site {
    /// One torrent that seeds, its data where it says.
    async fn new(db: &Db, follows: bool) -> Self {
        let house = House::new(db, &["fake"]).await;
        let client = house.kinds.engine("a");
        if follows {
            client.offer(capability::FOLLOWS_DATA);
        }
        client.put(Torrent {
            state: TorrentState::Seeding,
            downloaded: 1000,
            progress: 1.0,
            ..torrent(1)
        });
        house.mover.put(OLD);
        let engine = house.engine("seedbox", "a").await;
        house.torrents.resolve(None).unwrap().listed().await.unwrap();
        Self {
            db: db.clone(),
            house,
            client,
            engine,
        }
    }

    async fn relocate(&self, destination: &str) -> Result<Option<String>, TorrentsError> {
        self.house
            .torrents
            .data
            .relocate(self.house.caller(), None, &hash(1), destination)
            .await
    }

    async fn refused(&self, destination: &str) -> String {
        self.relocate(destination)
            .await
            .expect_err("it is refused")
            .to_string()
    }

    /// Where the torrent points, what it does, and where the data is.
    fn now(&self) -> (String, TorrentState, Vec<String>) {
        let torrent = self.client.torrent(&hash(1)).unwrap();
        (torrent.save_path.clone(), torrent.state, self.house.mover.paths())
    }

    fn given(&self) -> Vec<String> {
        let commands = self.client.commands();
        commands
            .into_iter()
            .map(|(_, command)| format!("{command:?}"))
            .collect()
    }

    async fn rows(&self) -> Vec<MoveRow> {
        moves::list(&mut self.db.begin_read().await.unwrap())
            .await
            .unwrap()
    }

    /// The row of a process that said something last so long ago.
    async fn left_behind(&self, owner: &str, ms_ago: i64) {
        let row = MoveRow {
            id: "m".into(),
            engine_id: self.engine.clone(),
            hash: hash(1).to_string(),
            name: "torrent 1".into(),
            source: OLD.into(),
            save_path: "/downloads".into(),
            destination: "/downloads/new".into(),
            ran: true,
            user_id: "u".into(),
        };
        let at = self.house.torrents.ctx.now().ms() - ms_ago;
        let mut tx = self.db.begin_write().await.unwrap();
        moves::insert(&mut tx, &row, owner, Timestamp::from_ms(at))
            .await
            .unwrap()
            .exactly(1)
            .unwrap();
        tx.commit().await.unwrap();
    }

    async fn command(&self, permission: Permission, command: Command) -> Result<(), TorrentsError> {
        let (torrents, caller) = (&self.house.torrents, self.house.caller());
        torrents
            .command(caller, None, &hash(1), permission, command)
            .await
    }

    async fn settle(&self) {
        self.house
            .torrents
            .data
            .settle_moves(&CancellationToken::new())
            .await
            .unwrap();
    }

    async fn moves_audited(&self) -> Vec<(String, bool)> {
        let rows = audited(&self.db).await;
        let moves = rows.into_iter().filter(|row| row.action == "torrents.move");
        moves
            .map(|row| {
                (
                    row.result,
                    row.metadata.is_some_and(|told| told.0["recovered"] == true),
                )
            })
            .collect()
    }
}

fn there(path: &str) -> Vec<String> {
    vec![path.to_owned()]
}

/// Moves a torrent by these commands, and once more to where it is.
async fn moves(db: &Db, follows: bool, commands: &[&str]) {
    let site = Site::new(db, follows).await;
    assert_eq!(site.relocate("/downloads/new/").await.unwrap(), None);
    assert_eq!(site.now().0, "/downloads/new");
    assert_eq!(site.now().2, there(NEW));
    assert_eq!(site.given(), commands);
    assert!(site.rows().await.is_empty());
    // It is there already: nothing is done, and that is a success too.
    assert_eq!(site.relocate("/downloads/new").await.unwrap(), None);
    assert_eq!(site.given().len(), commands.len());
    assert_eq!(site.moves_audited().await, vec![("success".to_owned(), false); 2]);
    site.house.torrents.shutdown().await;
}

db_test! {
    async fn the_data_moves_between_letting_go_and_following(db: Db) {
        moves(&db, true, &["Detach", "Attach { save_path: \"/downloads/new\" }"]).await;
    }

    async fn of_a_client_that_cannot_follow_it_moves_while_the_torrent_is_stopped(db: Db) {
        moves(&db, false, &["Stop", "Move { destination: \"/downloads/new\" }", "Start"]).await;
    }

    async fn what_cannot_be_moved_is_refused_before_anything_changes(db: Db) {
        let site = Site::new(&db, true).await;
        assert_eq!(site.refused("/srv/x").await, "Path is outside the allowed storage roots (/downloads).");
        assert_eq!(site.refused("/downloads/a\u{1}").await, "Invalid destination: illegal characters");
        site.house.mover.put(NEW);
        assert_eq!(site.refused("/downloads/new").await, "Destination already exists");
        site.house.mover.there.lock().unwrap().clear();
        let unseen = site.refused("/downloads/new").await;
        assert!(unseen.starts_with("The torrent's data is not at /downloads/x as this server sees it"), "{unseen}");
        site.house.mover.put(OLD);
        site.client.put(Torrent { content_path: OLD.into(), ..torrent(2) });
        site.house.torrents.resolve(None).unwrap().poke();
        eventually("the other is listed", || site.house.torrents.torrent(&site.engine, &hash(2)).is_some()).await;
        assert_eq!(site.refused("/downloads/new").await, "Other torrents use the data too: torrent 2 (seedbox). It is not moved: remove or move those first");
        site.client.put(Torrent { content_path: "/downloads".into(), downloaded: 5, ..torrent(1) });
        let loose = site.refused("/downloads/new").await;
        assert!(loose.starts_with("The files of the torrent lie in /downloads itself"), "{loose}");
        let missing = site.house.torrents.data.relocate(site.house.caller(), None, &hash(9), "/downloads/new").await;
        assert_eq!(missing.expect_err("there is none").to_string(), "Torrent not found");
        assert!(site.given().is_empty() && site.rows().await.is_empty());
        assert_eq!(site.house.mover.paths(), there(OLD));
        assert!(site.moves_audited().await.is_empty());
        site.house.torrents.shutdown().await;
    }

    async fn a_move_that_fails_leaves_all_as_it_was(db: Db) {
        let site = Site::new(&db, true).await;
        let as_it_was = ("/downloads".to_owned(), TorrentState::Seeding, there(OLD));
        site.house.mover.fail(ErrorKind::BadRequest, "No space left on the device");
        assert_eq!(site.refused("/downloads/new").await, "No space left on the device");
        assert_eq!(site.now(), as_it_was);
        // The client does not let go; or it does, and its answer gets lost.
        for done in [false, true] {
            site.client.refusals.lock().unwrap().push((done, EngineError::Rejected("no".into())));
            assert_eq!(site.refused("/downloads/new").await, "seedbox refused it: no");
            assert_eq!(site.now(), as_it_was);
        }
        // It lets go, and then does not want to follow: the data comes back.
        let refusals = vec![(false, EngineError::Rejected("not there".into()))];
        let gate = Arc::new(Semaphore::new(0));
        *site.house.mover.gate.lock().unwrap() = Some(gate.clone());
        let (moved, ()) = tokio::join!(site.refused("/downloads/new"), async {
            eventually("it has let go", || site.given().len() == 7).await;
            *site.client.refusals.lock().unwrap() = refusals;
            gate.add_permits(2);
        });
        assert_eq!(moved, "seedbox refused it: not there");
        assert_eq!(site.now(), as_it_was);
        assert!(site.rows().await.is_empty() && site.moves_audited().await.is_empty());
        site.house.torrents.shutdown().await;
    }

    async fn nothing_else_is_done_to_a_torrent_that_is_being_moved(db: Db) {
        let site = Site::new(&db, true).await;
        let gate = Arc::new(Semaphore::new(0));
        *site.house.mover.gate.lock().unwrap() = Some(gate.clone());
        let (moved, ()) = tokio::join!(site.relocate("/downloads/new"), async {
            eventually("it has let go", || site.given().len() == 1).await;
            let started = site.command(Permission::TorrentsStart, Command::Start).await;
            assert!(matches!(started, Err(TorrentsError::Moving)));
            assert!(matches!(site.relocate("/downloads/third").await, Err(TorrentsError::Moving)));
            let engine = site.house.torrents.resolve(None).unwrap();
            let done = site.house.torrents.data.remove_with_data(&[(engine, hash(1).to_string())], How::default()).await;
            assert!(matches!(done.as_slice(), [Err(TorrentsError::Moving)]), "{done:?}");
            // Its own process says that it is at work: nobody takes the move over.
            site.settle().await;
            gate.add_permits(1);
        });
        assert_eq!(moved.unwrap(), None);
        assert_eq!(site.now(), ("/downloads/new".to_owned(), TorrentState::Seeding, there(NEW)));
        site.house.torrents.shutdown().await;
    }

    async fn a_client_that_goes_away_is_told_when_it_is_back(db: Db) {
        let site = Site::new(&db, true).await;
        let gate = Arc::new(Semaphore::new(0));
        *site.house.mover.gate.lock().unwrap() = Some(gate.clone());
        let (moved, ()) = tokio::join!(site.refused("/downloads/new"), async {
            eventually("it has let go", || site.given().len() == 1).await;
            site.client.fail(Some(EngineError::Unreachable("gone".into())));
            gate.add_permits(1);
        });
        assert_eq!(moved, "seedbox cannot be reached: gone");
        assert_eq!((site.now().2, site.rows().await.len()), (there(NEW), 1));
        site.settle().await;
        assert_eq!(site.rows().await.len(), 1, "it is still away");
        site.client.fail(None);
        let started = site.command(Permission::TorrentsStart, Command::Start).await;
        assert!(matches!(started, Err(TorrentsError::Moving)), "it would make its files anew");
        site.settle().await;
        assert_eq!(site.now(), ("/downloads/new".to_owned(), TorrentState::Seeding, there(NEW)));
        assert!(site.rows().await.is_empty());
        assert_eq!(site.moves_audited().await, [("success".to_owned(), true)]);
        let stopped = site.command(Permission::TorrentsStop, Command::Stop).await;
        stopped.expect("it is an ordinary torrent again");
        site.house.torrents.shutdown().await;
    }

    async fn a_killed_move_is_settled_by_where_the_data_is(db: Db) {
        let site = Site::new(&db, true).await;
        let let_go = || {
            site.client.let_go.lock().unwrap().insert(hash(1).to_string(), TorrentState::Seeding);
            site.client.put(Torrent { state: TorrentState::Stopped, downloaded: 1000, progress: 1.0, ..torrent(1) });
        };
        let mover = &site.house.mover;
        let at_old = ("/downloads".to_owned(), TorrentState::Seeding, there(OLD));
        let at_new = ("/downloads/new".to_owned(), TorrentState::Seeding, there(NEW));

        // Noted, and nothing more.
        site.left_behind("dead", 60_000).await;
        site.settle().await;
        assert_eq!((site.now(), site.rows().await.len()), (at_old.clone(), 0));
        // It had let go.
        let_go();
        site.left_behind("dead", 60_000).await;
        site.settle().await;
        assert_eq!((site.now(), site.rows().await.len()), (at_old, 0));
        assert!(site.moves_audited().await.is_empty());
        // The copy was in its place, the original not gone yet.
        let_go();
        mover.put(NEW);
        site.left_behind("dead", 60_000).await;
        site.settle().await;
        assert_eq!((site.now(), site.rows().await.len()), (at_new.clone(), 0));
        assert_eq!(site.moves_audited().await, [("success".to_owned(), true)]);
        // It was moved, and the client was told nothing.
        let_go();
        site.left_behind("dead", 60_000).await;
        site.settle().await;
        assert_eq!((site.now(), site.rows().await.len()), (at_new.clone(), 0));
        // All was done but the note struck.
        site.left_behind("dead", 60_000).await;
        site.settle().await;
        assert_eq!((site.now(), site.rows().await.len()), (at_new, 0));
        // Something else turned up at the new place.
        let_go();
        mover.put(OLD);
        mover.differ.store(true, Ordering::SeqCst);
        site.left_behind("dead", 60_000).await;
        site.settle().await;
        let both = vec![NEW.to_owned(), OLD.to_owned()];
        assert_eq!((site.now(), site.rows().await.len()), (("/downloads".to_owned(), TorrentState::Seeding, both), 0));
        // No disk: nothing is concluded.
        let_go();
        mover.there.lock().unwrap().clear();
        site.left_behind("dead", 60_000).await;
        site.settle().await;
        assert_eq!((site.now().1, site.rows().await.len()), (TorrentState::Stopped, 1));
        site.house.torrents.shutdown().await;
    }

    async fn a_move_of_a_living_process_is_left_to_it(db: Db) {
        let site = Site::new(&db, true).await;
        site.left_behind("alive", 1_000).await;
        site.settle().await;
        assert_eq!(site.rows().await.len(), 1);
        assert!(site.given().is_empty());
        assert!(matches!(site.relocate("/downloads/other").await, Err(TorrentsError::Moving)), "nor is it begun twice");
        site.house.torrents.shutdown().await;
        // The next start knows of it before it answers anybody.
        let next = House::new(&db, &["fake"]).await;
        next.torrents.resolve(None).unwrap().listed().await.unwrap();
        let (caller, permission) = (next.caller(), Permission::TorrentsStart);
        let started = next.torrents.command(caller, None, &hash(1), permission, Command::Start).await;
        let error = started.expect_err("it is being moved");
        assert!(matches!(error, TorrentsError::Moving), "{error}");
        next.torrents.shutdown().await;
    }

    async fn an_engine_stays_as_it_is_while_one_of_its_torrents_is_moved(db: Db) {
        let site = Site::new(&db, true).await;
        let (torrents, caller, id) = (&site.house.torrents, site.house.caller(), &site.engine);
        let host = |host: &str| UpdateEngine {
            config: json!({ "host": host }).as_object().cloned(),
            ..UpdateEngine::default()
        };
        let off = || UpdateEngine { is_enabled: Some(false), ..UpdateEngine::default() };
        let named = || UpdateEngine { name: Some("another name".into()), ..UpdateEngine::default() };
        let gate = Arc::new(Semaphore::new(0));
        *site.house.mover.gate.lock().unwrap() = Some(gate.clone());
        let (moved, ()) = tokio::join!(site.relocate("/downloads/new"), async {
            eventually("it has let go", || site.given().len() == 1).await;
            let refusals = [
                torrents.engines.delete_engine(caller, id).await,
                torrents.engines.update_engine(caller, id, host("b")).await.map(drop),
                torrents.engines.update_engine(caller, id, off()).await.map(drop),
            ];
            for refused in refusals {
                let said = "The engine's torrent \"torrent 1\" is being moved to /downloads/new: \
                    wait until that has ended, or cancel the file operation";
                assert_eq!(refused.expect_err("its torrent would be lost").to_string(), said);
            }
            torrents.engines.update_engine(caller, id, named()).await.expect("what it is called is another matter");
            torrents.engines.update_engine(caller, id, host("a")).await.expect("nothing changes");
            gate.add_permits(1);
        });
        assert_eq!(moved.unwrap(), None);
        // A move that waits for a client that may be gone for good is in nobody's way.
        site.client.fail(Some(EngineError::Unreachable("gone".into())));
        site.left_behind("dead", 60_000).await;
        site.settle().await;
        assert_eq!(site.rows().await.len(), 1);
        torrents.engines.update_engine(caller, id, off()).await.unwrap();
        torrents.engines.delete_engine(caller, id).await.unwrap();
        assert!(site.rows().await.is_empty());
        site.house.torrents.shutdown().await;
    }

    /// By another process, whose changes this one does not hear of.
    async fn no_move_begins_on_an_engine_that_was_changed(db: Db) {
        let site = Site::new(&db, true).await;
        let engine = site.house.torrents.resolve(None).unwrap();
        let other = House::new(&db, &["fake"]).await;
        let changed = UpdateEngine {
            config: json!({ "host": "b", "password": "secret" }).as_object().cloned(),
            ..UpdateEngine::default()
        };
        other.torrents.engines.update_engine(other.caller(), &site.engine, changed).await.unwrap();
        assert_eq!(site.refused("/downloads/new").await, "The engine was changed a moment ago: try again");
        let now = site.house.torrents.resolve(None).unwrap();
        assert!(!Arc::ptr_eq(&engine, &now), "from now on it is as it was changed");
        other.torrents.engines.delete_engine(other.caller(), &site.engine).await.unwrap();
        site.house.kinds.engine("b").put(torrent(1));
        assert_eq!(site.refused("/downloads/new").await, format!("Engine {} is not available", site.engine));
        assert!(site.given().is_empty() && site.rows().await.is_empty());
        other.torrents.shutdown().await;
        site.house.torrents.shutdown().await;
    }

    /// A quiet client's list is some seconds old: it is read before the data of two torrents is taken from one.
    async fn a_torrent_that_was_added_a_moment_ago_shares_data_too(db: Db) {
        let site = Site::new(&db, true).await;
        let client = site.house.kinds.engine("b");
        site.house.engine("other", "b").await;
        let other = site.house.torrents.engines.all().pop().unwrap();
        other.listed().await.unwrap();
        other.note_read(Attention::Quiet, Some(Timestamp::from_ms(1)));
        client.put(Torrent { content_path: OLD.into(), ..torrent(2) });
        assert_eq!(site.refused("/downloads/new").await, "Other torrents use the data too: torrent 2 (other). It is not moved: remove or move those first");
        site.house.torrents.shutdown().await;
    }
}
