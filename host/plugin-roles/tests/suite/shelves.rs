//! `media`: what an action may have done to media libraries and media servers, and what it is not told without a grant.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use qm_plugin_host::Limits;
use qm_ports::action::{ActionCall, ActionError, MediaHands, MediaPlace, MediaPlayer, Occasion, TorrentRef};
use qm_ports::library::Owned;
use serde_json::{Value, json};

use crate::actions::{PORTER, call, grant, rejected_text, run};
use crate::bench::{Bench, limits};

/// Media that note what they were told to do.
#[derive(Default)]
struct Shelves {
    done: Mutex<Vec<String>>,
    /// Error that they answer instead.
    failure: Mutex<Option<ActionError>>,
    /// Time that they take.
    pause: Mutex<Duration>,
    /// Items of every torrent, and the bytes of each one's path.
    items: Mutex<(usize, usize)>,
}

impl Shelves {
    async fn note(&self, what: String) -> Result<(), ActionError> {
        let pause = *self.pause.lock().unwrap();
        tokio::time::sleep(pause).await;
        self.done.lock().unwrap().push(what);
        self.failure.lock().unwrap().clone().map_or(Ok(()), Err)
    }

    fn done(&self) -> Vec<String> {
        std::mem::take(&mut *self.done.lock().unwrap())
    }
}

#[async_trait]
impl MediaHands for Shelves {
    async fn libraries(&self, most: usize) -> Result<Vec<MediaPlace>, ActionError> {
        self.note(format!("{most} libraries")).await?;
        Ok(vec![MediaPlace {
            id: "l1".to_owned(),
            name: "Films".to_owned(),
            kind: "movie".to_owned(),
            path: "/films".to_owned(),
            is_enabled: false,
        }])
    }

    async fn servers(&self, most: usize) -> Result<Vec<MediaPlayer>, ActionError> {
        self.note(format!("{most} servers")).await?;
        Ok(vec![MediaPlayer {
            id: "s1".to_owned(),
            name: "Den".to_owned(),
            kind: "jellyfin".to_owned(),
            is_enabled: true,
        }])
    }

    async fn items(
        &self,
        torrent: &TorrentRef,
        after: Option<&str>,
        most: usize,
    ) -> Result<Vec<Owned>, ActionError> {
        let behind = after.unwrap_or_default();
        self.note(format!("items of {} behind `{behind}`", torrent.engine_id))
            .await?;
        let (count, path) = *self.items.lock().unwrap();
        let item = |number: usize| Owned {
            item_id: format!("i{number:03}"),
            library_id: "l1".to_owned(),
            media_type: "tv".to_owned(),
            title: "Tide".to_owned(),
            year: None,
            season: Some(1),
            episode: Some(-2),
            episode_end: None,
            is_known: true,
            path: "p".repeat(path),
            size: 5 << 30,
            quality: None,
            resolution: None,
            video_codec: None,
            audio_codec: None,
            hdr: None,
            release_group: None,
            is_measured: false,
        };
        let all = (1..=count)
            .map(item)
            .filter(|item| item.item_id.as_str() > behind);
        Ok(all.take(most).collect())
    }

    async fn scan(&self, library: &str) -> Result<(), ActionError> {
        self.note(format!("scan {library}")).await
    }

    async fn identify(&self, item: &str) -> Result<(), ActionError> {
        self.note(format!("identify {item}")).await
    }

    async fn fetch_metadata(&self, item: &str) -> Result<(), ActionError> {
        self.note(format!("fetch {item}")).await
    }

    async fn refresh(&self, server: &str) -> Result<(), ActionError> {
        self.note(format!("refresh {server}")).await
    }
}

/// A host with the fixture installed and media wired; they live as long as their value.
async fn with_shelves(limits: Limits) -> (Bench, Arc<Shelves>, Arc<dyn MediaHands>) {
    let bench = Bench::with(PORTER, limits).await;
    let shelves = Arc::new(Shelves::default());
    let wired: Arc<dyn MediaHands> = shelves.clone();
    bench.host.use_media(&wired);
    (bench, shelves, wired)
}

fn mode(mode: &str, key: &str) -> Value {
    json!({ "mode": mode, "key": key })
}

const LOOKS: [&str; 3] = ["media_libraries", "media_servers", "media_all_items"];
const CHORES: [&str; 4] = ["media_scan", "media_identify", "media_fetch", "media_refresh"];

#[tokio::test]
async fn media_are_looked_at_when_that_was_granted() {
    let (bench, shelves, wired) = with_shelves(limits()).await;
    *shelves.items.lock().unwrap() = (2, 2);
    let actions = bench.host.actions();
    // What is granted beside it is no word for it.
    grant(&bench, &["torrents", "http-guarded"]).await;
    let denied = Err(ActionError::Denied("`media` is not granted".to_owned()));
    for look in LOOKS.into_iter().chain(CHORES) {
        assert_eq!(run(&actions, mode(look, "x")).await, denied, "{look}");
    }
    assert_eq!(shelves.done(), Vec::<String>::new());
    let refusal = bench.status("porter.wasm").last_refusal.unwrap();
    assert_eq!(refusal.what, "`media` is not granted");

    grant(&bench, &["media"]).await;
    assert_eq!(bench.status("porter.wasm").granted_capabilities, ["media"]);
    let look = async |what| rejected_text(&actions, mode(what, "")).await;
    assert_eq!(look("media_libraries").await, "l1 Films movie /films false");
    assert_eq!(look("media_servers").await, "s1 Den jellyfin true");
    // A number that no file has is none.
    let expected = "i001 Tide (None, Some(1), None) true 5368709120 pp i002 Tide (None, Some(1), None) true 5368709120 pp";
    assert_eq!(look("media_items").await, expected);
    for chore in CHORES {
        assert_eq!(run(&actions, mode(chore, "id-7")).await, Ok(()), "{chore}");
    }
    assert_eq!(
        shelves.done(),
        [
            "500 libraries",
            "500 servers",
            "items of e1 behind ``",
            "scan id-7",
            "identify id-7",
            "fetch id-7",
            "refresh id-7",
        ]
    );

    for failure in [
        ActionError::NotFound("Library not found".to_owned()),
        ActionError::Rejected("Item is locked: unlock it first".to_owned()),
        ActionError::Timeout("The scan takes long: it goes on by itself".to_owned()),
    ] {
        *shelves.failure.lock().unwrap() = Some(failure.clone());
        for each in LOOKS.into_iter().chain(CHORES) {
            assert_eq!(
                run(&actions, mode(each, "x")).await,
                Err(failure.clone()),
                "{each}"
            );
        }
    }
    *shelves.failure.lock().unwrap() = None;
    grant(&bench, &[]).await;
    assert_eq!(run(&actions, mode("media_scan", "x")).await, denied, "taken back");
    grant(&bench, &["media"]).await;
    drop((shelves, wired));
    for each in LOOKS.into_iter().chain(CHORES) {
        let ending = run(&actions, mode(each, "x")).await;
        assert!(
            matches!(ending, Err(ActionError::Unreachable(_))),
            "{each}: {ending:?}"
        );
    }
    let status = bench.status("porter.wasm");
    assert_eq!((status.traps, status.timeouts), (0, 0));
}

#[tokio::test]
async fn the_items_are_those_of_the_runs_torrent_some_at_a_time() {
    let (bench, shelves, _wired) = with_shelves(limits()).await;
    *shelves.items.lock().unwrap() = (450, 10);
    grant(&bench, &["media"]).await;
    let actions = bench.host.actions();
    assert_eq!(rejected_text(&actions, mode("media_all_items", "")).await, "450");
    let asked = ["", "i200", "i400", "i450"].map(|behind| format!("items of e1 behind `{behind}`"));
    assert_eq!(shelves.done(), asked);
    // One that was found out by a media trigger is about its torrent too.
    let of_media = ActionCall {
        occasion: Occasion::Media,
        ..call(mode("media_all_items", ""))
    };
    let found = actions.run("shelve", of_media).await;
    assert_eq!(found, Err(ActionError::Rejected("450".to_owned())));
    shelves.done();
    let about_none = ActionCall {
        occasion: Occasion::Event,
        torrent: None,
        ..call(mode("media_all_items", ""))
    };
    let none = actions.run("shout", about_none).await;
    assert_eq!(
        none,
        Err(ActionError::Rejected("this run is about no torrent".to_owned()))
    );
    // Each of them is one more use.
    *shelves.items.lock().unwrap() = (40, 10);
    let many = run(&actions, mode("media_describe", "")).await;
    let bound = "one call may use `media` 32 times";
    assert_eq!(many, Err(ActionError::Rejected(bound.to_owned())));
    assert_eq!(shelves.done().len(), 32);
}

#[tokio::test]
async fn what_a_guest_asks_of_media_is_bounded() {
    let (bench, shelves, _wired) = with_shelves(limits()).await;
    grant(&bench, &["media"]).await;
    let actions = bench.host.actions();
    for id in ["x".repeat(257), "no\0where".to_owned()] {
        for chore in CHORES.into_iter().chain(["media_items"]) {
            let refused = run(&actions, mode(chore, &id)).await;
            let why = "an id has 256 bytes at most, and no NUL".to_owned();
            assert_eq!(refused, Err(ActionError::Rejected(why)), "{chore}");
        }
    }
    assert_eq!(shelves.done(), Vec::<String>::new());
    let often = run(&actions, mode("media_often", "s1")).await;
    assert!(
        matches!(&often, Err(ActionError::Rejected(why)) if why.contains("32 times")),
        "{often:?}"
    );
    assert_eq!(shelves.done().len(), 32);
    // More than the instance has memory for ends it, and nobody else.
    *shelves.items.lock().unwrap() = (200, 200 << 10);
    let large = run(&actions, mode("media_items", "")).await;
    assert!(
        matches!(&large, Err(ActionError::Plugin(why)) if why.contains("memory")),
        "{large:?}"
    );
    *shelves.items.lock().unwrap() = (1, 1);
    assert_eq!(rejected_text(&actions, mode("media_all_items", "")).await, "1");
}

#[tokio::test]
async fn slow_media_are_no_fault_of_the_plugin_and_a_run_has_a_total() {
    let limits = Limits {
        run_total: Duration::from_secs(4),
        ..limits()
    };
    let (bench, shelves, _wired) = with_shelves(limits).await;
    grant(&bench, &["media"]).await;
    let actions = bench.host.actions();
    // Longer than the silence that a plugin may keep here.
    *shelves.pause.lock().unwrap() = Duration::from_millis(1500);
    assert_eq!(run(&actions, mode("media_scan", "l1")).await, Ok(()));
    let status = bench.status("porter.wasm");
    assert_eq!((status.timeouts, status.traps), (0, 0));
    *shelves.pause.lock().unwrap() = Duration::from_hours(1);
    let late = run(&actions, mode("media_scan", "l1")).await;
    assert!(matches!(late, Err(ActionError::Timeout(_))), "{late:?}");
}
