//! The example of an engine kind in Rust, every command of it against the real daemon: what was asked, and what the daemon itself
//! says then.

use std::sync::Arc;

use qm_ports::engine::{
    AddOptions, AddRequest, Command, EngineConfig, EngineDriver, EngineError, RateLimits, RateMode, Source,
    Subject, Torrent, TorrentState, capability,
};
use qm_testkit::generations::Program;
use qm_testkit::sample::{Format, Sample};
use qm_testkit::transmission::Transmission;
use qm_testkit::wait::{until, until_true};
use qm_testkit::{TestDb, TestServer, every_generation};
use serde_json::{Value, json};

every_generation! { transmission: every_command_does_what_it_says }

const ANNOUNCE: &str = "http://127.0.0.1:9/announce";
const UNKNOWN: &str = "00000000000000000000000000000000000000ff";

/// The driver as the server has it, and the daemon.
struct Site {
    driver: Arc<dyn EngineDriver>,
    client: Transmission,
    sample: Sample,
}

impl Site {
    async fn result(&self, hash: &str, command: Command) -> Result<(), EngineError> {
        let outcomes = self
            .driver
            .run(&[hash.to_owned()], command)
            .await
            .expect("it is tried");
        assert_eq!((outcomes.len(), outcomes[0].hash.as_str()), (1, hash));
        outcomes.into_iter().next().expect("one").result
    }

    async fn ask(&self, command: Command) -> Result<(), EngineError> {
        self.result(&self.sample.hash, command).await
    }

    async fn done(&self, command: Command) {
        let what = format!("{command:?}");
        assert_eq!(self.ask(command).await, Ok(()), "{what}");
    }

    async fn listed(&self) -> Torrent {
        let found = self.driver.get(&self.sample.hash).await.expect("it answers");
        found.expect("it lists the torrent")
    }

    /// One field, asked of the daemon directly.
    async fn field(&self, name: &str) -> Value {
        let rows = self.client.torrents(&[name]).await;
        rows.first().map(|row| row[name].clone()).unwrap_or_default()
    }

    async fn until_state(&self, state: TorrentState) {
        let is_so = || async { self.listed().await.state == state };
        until_true(&format!("{state:?}"), is_so).await;
    }
}

async fn every_command_does_what_it_says(db: &TestDb, program: &Program) {
    let server = TestServer::builder(db)
        .plugins(&["transmission.wasm"])
        .start()
        .await;
    server.plugins().settled().await;
    let client = Transmission::start_program(program).await;
    let config = EngineConfig {
        fields: client.config().as_object().cloned().unwrap_or_default(),
        ..EngineConfig::default()
    };
    let driver = server
        .plugins()
        .engine_kinds()
        .open("direct", "transmission", config)
        .await
        .expect("it opens");
    let sample = Sample::new("example.bin", 300_000, 81, Format::V1, ANNOUNCE);
    let site = Site {
        driver,
        client,
        sample,
    };
    adding(&site).await;
    running(&site).await;
    names(&site).await;
    labels(&site).await;
    limits(&site).await;
    trackers(&site).await;
    strangers(&site).await;
    moving(&site).await;
    site.done(Command::Remove { with_data: true }).await;
    assert!(site.client.torrents(&["id"]).await.is_empty(), "asked directly");
    let elsewhere = site.client.downloads().join("elsewhere");
    until_true("its data to be gone", || async { !site.sample.is_in(&elsewhere) }).await;
    server.end().await;
}

async fn adding(site: &Site) {
    let (driver, sample) = (&site.driver, &site.sample);
    assert!(
        driver
            .health()
            .await
            .expect("it answers")
            .version
            .starts_with(|c: char| c.is_ascii_digit())
    );
    let request = |options| AddRequest {
        hash: sample.hash.clone(),
        source: Source::Metainfo(sample.metainfo.clone().into()),
        options,
    };
    let options = AddOptions {
        start_paused: true,
        tags: vec!["one".into()],
        category: Some("films".into()),
        upload_limit: Some(50_000),
        ..AddOptions::default()
    };
    driver.add(request(options)).await.expect("it is taken");
    driver
        .add(request(AddOptions::default()))
        .await
        .expect("what it has already is a success");
    // Old daemons look for its data first.
    site.until_state(TorrentState::Stopped).await;
    let told = site.listed().await;
    assert_eq!(
        (told.state, told.name.as_str(), told.progress),
        (TorrentState::Stopped, "example.bin", 0.0)
    );
    assert_eq!(
        (told.tags, told.label, told.tracker_host.as_deref()),
        (vec!["one".into(), "films".into()], None, Some("127.0.0.1"))
    );
    assert_eq!(site.field("uploadLimit").await, json!(50));
    let garbage = AddRequest {
        source: Source::Metainfo(b"d4:infod6:length3:abcee".as_slice().into()),
        ..request(AddOptions::default())
    };
    assert!(matches!(driver.add(garbage).await, Err(EngineError::Rejected(_))));
}

async fn running(site: &Site) {
    // What lies there when it is added it would find by itself.
    site.sample.write_to(&site.client.downloads());
    site.done(Command::Recheck).await;
    until_true("its data to be found", || async {
        site.listed().await.progress >= 1.0
    })
    .await;
    for (go, halt) in [
        (Command::Start, Command::Stop),
        (Command::Resume, Command::Pause),
        (Command::ForceStart(true), Command::Stop),
    ] {
        site.done(go).await;
        site.until_state(TorrentState::Seeding).await;
        assert_eq!(site.field("status").await, json!(6), "asked directly");
        site.done(halt).await;
        site.until_state(TorrentState::Stopped).await;
    }
    site.done(Command::ForceStart(false)).await;
    assert_eq!(site.field("status").await, json!(0), "it starts nothing");
    for (priority, native) in [(1, -1), (2, 0), (3, 1)] {
        site.done(Command::Priority(priority)).await;
        assert_eq!(site.field("bandwidthPriority").await, json!(native));
        assert_eq!(site.listed().await.priority, priority);
    }
    assert!(matches!(
        site.ask(Command::Priority(0)).await,
        Err(EngineError::Unsupported(_))
    ));
    for (priority, wanted, native) in [
        (0, json!([0]), None),
        (2, json!([1]), Some(1)),
        (1, json!([1]), Some(0)),
    ] {
        site.done(Command::FilePriority {
            indexes: vec![0],
            priority,
        })
        .await;
        let told = site.field("wanted").await;
        let flags = told.as_array().into_iter().flatten();
        // Old daemons say 0 and 1, new ones false and true.
        let flags: Vec<Value> = flags
            .map(|flag| json!(i64::from(*flag == json!(true) || *flag == json!(1))))
            .collect();
        assert_eq!(Value::from(flags), wanted, "{priority}");
        if let Some(native) = native {
            assert_eq!(site.field("priorities").await, json!([native]));
        }
        let files = site.driver.files(&site.sample.hash).await.expect("files");
        assert_eq!((files.len(), files[0].priority), (1, priority));
    }
    let none = site
        .ask(Command::FilePriority {
            indexes: vec![7],
            priority: 1,
        })
        .await;
    assert_eq!(none, Err(EngineError::NotFound(Subject::File)));
}

async fn names(site: &Site) {
    let downloads = site.client.downloads();
    for capability in [
        capability::RENAME,
        capability::RENAME_FILE,
        capability::TAGS,
        capability::GLOBAL_LIMITS,
    ] {
        assert!(site.driver.has(capability), "{capability}");
    }
    site.done(Command::Rename {
        name: "renamed ü.bin".into(),
    })
    .await;
    site.done(Command::Rename {
        name: "renamed ü.bin".into(),
    })
    .await;
    assert_eq!(site.field("name").await, json!("renamed ü.bin"));
    until_true("the file to have its name", || async {
        downloads.join("renamed ü.bin").exists()
    })
    .await;
    site.done(Command::RenameFile {
        index: 0,
        name: "example.bin".into(),
    })
    .await;
    assert_eq!(site.field("files").await[0]["name"], json!("example.bin"));
    until_true("the file to have its old name", || async {
        downloads.join("example.bin").exists()
    })
    .await;
    for name in ["", " ", "..", "a/b"] {
        let refused = site.ask(Command::Rename { name: name.into() }).await;
        assert!(
            matches!(refused, Err(EngineError::Rejected(_))),
            "{name:?}: {refused:?}"
        );
    }
    let elsewhere = site
        .ask(Command::RenameFile {
            index: 0,
            name: "a/b.bin".into(),
        })
        .await;
    assert!(
        matches!(elsewhere, Err(EngineError::Unsupported(_))),
        "{elsewhere:?}"
    );
    let none = site
        .ask(Command::RenameFile {
            index: 7,
            name: "x".into(),
        })
        .await;
    assert_eq!(none, Err(EngineError::NotFound(Subject::File)));
}

async fn labels(site: &Site) {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    site.done(Command::AddTags {
        tags: texts(&["two words", "one"]),
    })
    .await;
    assert_eq!(site.field("labels").await, json!(["one", "films", "two words"]));
    site.done(Command::RemoveTags {
        tags: texts(&["films", "never had"]),
    })
    .await;
    assert_eq!(site.field("labels").await, json!(["one", "two words"]));
    site.done(Command::AddTags { tags: vec![] }).await;
    site.done(Command::RemoveTags { tags: vec![] }).await;
    assert_eq!(site.listed().await.tags, texts(&["one", "two words"]));
    let comma = site
        .ask(Command::AddTags {
            tags: texts(&["a,b"]),
        })
        .await;
    assert!(matches!(comma, Err(EngineError::Rejected(_))), "{comma:?}");
    let label = site.ask(Command::SetLabel { label: "x".into() }).await;
    assert!(matches!(label, Err(EngineError::Unsupported(_))), "{label:?}");
}

async fn limits(site: &Site) {
    for (command, name) in [
        (Command::UploadLimit as fn(u64) -> Command, "upload"),
        (Command::DownloadLimit, "download"),
    ] {
        site.done(command(20_001)).await;
        let (limit, limited) = (format!("{name}Limit"), format!("{name}Limited"));
        assert_eq!(
            (site.field(&limit).await, site.field(&limited).await),
            (json!(21), json!(true))
        );
        site.done(command(0)).await;
        assert_eq!(site.field(&limited).await, json!(false));
    }
    assert_eq!(
        site.driver.rate_limits(RateMode::Normal).await,
        Ok(RateLimits::default())
    );
    let limits = RateLimits {
        download: Some(300_000),
        upload: None,
    };
    site.driver
        .set_rate_limits(RateMode::Normal, limits)
        .await
        .expect("it is set");
    assert_eq!(site.driver.rate_limits(RateMode::Normal).await, Ok(limits));
    let session = site.client.call("session-get", json!({})).await;
    assert_eq!(
        (
            session["speed-limit-down"].as_f64(),
            &session["speed-limit-up-enabled"]
        ),
        (Some(300.0), &json!(false))
    );
    site.driver
        .set_rate_limits(RateMode::Normal, RateLimits::default())
        .await
        .expect("it is set");
    let stats = site.driver.session_stats().await.expect("it answers");
    assert_eq!(stats.listen_port.map(u64::from), session["peer-port"].as_u64());
    assert!(site.driver.all_time().await.expect("it answers").is_some());
}

async fn trackers(site: &Site) {
    let urls = async || {
        let list = site.field("trackers").await;
        let urls = list.as_array().into_iter().flatten();
        urls.map(|tracker| tracker["announce"].as_str().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    let url = || "udp://127.0.0.1:9/x?key=a".to_owned();
    for _ in 0..2 {
        site.done(Command::AddTracker { url: url() }).await;
        assert_eq!(
            urls().await,
            [ANNOUNCE.to_owned(), url()],
            "once, however often it is added"
        );
    }
    let told = site.driver.trackers(&site.sample.hash).await.expect("trackers");
    assert_eq!(
        told.iter()
            .map(|tracker| tracker.url.as_str())
            .collect::<Vec<_>>(),
        [ANNOUNCE, &url()]
    );
    site.done(Command::RemoveTracker { url: url() }).await;
    assert_eq!(urls().await, [ANNOUNCE]);
    let none = site.ask(Command::RemoveTracker { url: url() }).await;
    assert_eq!(none, Err(EngineError::NotFound(Subject::Tracker)));
    let wrong = site
        .ask(Command::AddTracker {
            url: "nonsense".into(),
        })
        .await;
    assert!(matches!(wrong, Err(EngineError::Rejected(_))), "{wrong:?}");
    assert!(
        site.driver
            .peers(&site.sample.hash)
            .await
            .expect("peers")
            .is_empty()
    );
}

/// Commands for a torrent that the client does not have are refused as not found and touch no other torrent; detaching
/// and attaching are not supported at all.
async fn strangers(site: &Site) {
    let text = || "x".to_owned();
    for command in [
        Command::Start,
        Command::Stop,
        Command::Pause,
        Command::Resume,
        Command::ForceStart(true),
        Command::ForceStart(false),
        Command::Recheck,
        Command::Remove { with_data: true },
        Command::Move {
            destination: "/tmp/x".into(),
        },
        Command::Rename { name: text() },
        Command::RenameFile {
            index: 0,
            name: text(),
        },
        Command::FilePriority {
            indexes: vec![0],
            priority: 1,
        },
        Command::Priority(1),
        Command::UploadLimit(1),
        Command::DownloadLimit(1),
        Command::AddTracker { url: ANNOUNCE.into() },
        Command::RemoveTracker { url: ANNOUNCE.into() },
        Command::AddTags { tags: vec![text()] },
        Command::RemoveTags { tags: vec![text()] },
    ] {
        let what = format!("{command:?}");
        let told = site.result(UNKNOWN, command).await;
        assert_eq!(told, Err(EngineError::NotFound(Subject::Torrent)), "{what}");
    }
    assert!(site.driver.get(UNKNOWN).await.expect("it answers").is_none());
    assert!(matches!(
        site.ask(Command::Detach).await,
        Err(EngineError::Unsupported(_))
    ));
    let attach = Command::Attach {
        save_path: "/tmp".into(),
    };
    assert!(matches!(site.ask(attach).await, Err(EngineError::Unsupported(_))));
    assert_eq!(
        site.client.torrents(&["id"]).await.len(),
        1,
        "the other one was not touched"
    );
}

async fn moving(site: &Site) {
    let elsewhere = site.client.downloads().join("elsewhere");
    std::fs::create_dir(&elsewhere).expect("our own directory");
    let destination = elsewhere.to_string_lossy().into_owned();
    site.done(Command::Move {
        destination: destination.clone(),
    })
    .await;
    until("its data to be there", || async {
        site.sample.is_in(&elsewhere).then_some(())
    })
    .await;
    until_true("the list to say so", || async {
        site.listed().await.save_path == destination
    })
    .await;
    assert_eq!(
        site.listed().await.content_path,
        format!("{destination}/example.bin")
    );
}
