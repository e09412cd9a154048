//! The rules of docs/automation.md, read from the page, over one server with an rTorrent and a qBittorrent.
//!
//! Numbers, addresses and time tables for which a test would wait too long are changed; everything else is as it stands there.

use std::path::{Path, PathBuf};

use qm_testkit::receiver::Receiver;
use qm_testkit::rtorrent::Mode;
use qm_testkit::sample::{Format, Sample};
use qm_testkit::tracker::Tracker;
use qm_testkit::wait::{until, until_true};
use qm_testkit::{Api, TestServer, both_databases};
use serde_json::{Value, json};

use super::plugins::grant;
use crate::client::{Client, Doing};

const PAGE: &str = include_str!("../../../../docs/automation.md");
const EACH_MINUTE: &str = "* * * * *";
/// Rules of the page that the test below runs.
const RUN: &[&str] = &[
    "Stop at a ratio",
    "Delete at a ratio, with the data",
    "Seed for two weeks",
    "Move by category when complete",
    "Remove what its tracker does not know any more",
    "Pause downloads when the disk is full",
    "Resume them when there is room",
    "Limit uploads by night",
    "Lift the limit in the morning",
    "Label by tracker",
    "Tag by year",
    "Tell a chat",
    "Stop public torrents at once",
];

/// Rules of the page, each with its headline.
fn rules_of_page() -> Vec<(&'static str, Value)> {
    let (_, section) = PAGE.split_once("\n## Rules to begin with\n").expect("a section");
    let parts = section.split("\n### ").skip(1);
    parts
        .map(|part| {
            let (headline, rest) = part.split_once('\n').expect("a headline");
            let (_, rest) = rest.split_once("```json\n").expect("a rule");
            let (rule, _) = rest.split_once("\n```").expect("an end");
            let rule = serde_json::from_str(rule).unwrap_or_else(|error| panic!("{headline}: {error}"));
            (headline, rule)
        })
        .collect()
}

fn rule_of_page(headline: &str) -> Value {
    let mut rules = rules_of_page().into_iter();
    let found = rules.find(|(other, _)| *other == headline);
    found.unwrap_or_else(|| panic!("no rule \"{headline}\"")).1
}

#[test]
fn every_rule_of_the_page_is_run_by_a_test() {
    let headlines: Vec<&str> = rules_of_page()
        .into_iter()
        .map(|(headline, _)| headline)
        .collect();
    assert_eq!(headlines, RUN);
}

/// One client with its engine.
struct Side {
    client: Client,
    engine: String,
    root: PathBuf,
}

struct Site {
    server: TestServer,
    api: Api,
    sides: [Side; 2],
    tracker: Tracker,
    root: tempfile::TempDir,
}

impl Site {
    async fn start(db: &qm_testkit::TestDb) -> Site {
        let root = tempfile::tempdir().expect("a temporary directory");
        let files = &[
            "scgi_client.wasm",
            "webapi_client.wasm",
            "torrent_actions.wasm",
            "webhook.wasm",
        ];
        let server = TestServer::builder(db)
            .plugins(files)
            .env("FILE_MANAGER_ROOTS", root.path().display().to_string())
            .env("SSRF_ALLOW_HOSTS", "127.0.0.1")
            .start()
            .await;
        let api = server.admin();
        grant(&api, "torrent_actions", "torrents").await;
        grant(&api, "webhook", "http-guarded").await;
        let mut sides = Vec::new();
        for client in [Client::rtorrent(Mode::Tcp).await, Client::qbittorrent().await] {
            let engine = api
                .add_engine(client.kind(), client.kind(), client.config())
                .await;
            let own = root.path().join(client.kind());
            std::fs::create_dir(&own).expect("our own directory");
            sides.push(Side {
                client,
                engine,
                root: own,
            });
        }
        Site {
            server,
            api,
            sides: sides.try_into().unwrap_or_else(|_| unreachable!()),
            tracker: Tracker::start().await,
            root,
        }
    }

    /// Stores a rule of the page, changed so; its id.
    async fn store(&self, headline: &str, change: impl FnOnce(&mut Value)) -> String {
        let mut rule = rule_of_page(headline);
        change(&mut rule);
        let stored = self.api.post("/api/automation/rules", rule).await;
        assert_eq!(
            (&stored["problem"], stored.get("warnings")),
            (&Value::Null, None),
            "{stored}"
        );
        stored["id"].as_str().expect("an id").to_owned()
    }

    async fn drop_rule(&self, id: &str) {
        self.api.delete(&format!("/api/automation/rules/{id}")).await;
    }

    /// Waits for a success of the rule for a torrent.
    async fn until_done(&self, rule: &str, hash: &str) {
        let what = format!("the rule to have run for {hash}");
        let path = format!("/api/automation/rules/{rule}/logs?pageSize=100");
        until_true(&what, || async {
            let page = self.api.get(&path).await;
            let mut lines = page["items"].as_array().into_iter().flatten();
            lines.any(|line| line["context"]["hash"] == hash && line["status"] == "success")
        })
        .await;
    }
}

impl Side {
    fn hash<'a>(&self, sample: &'a Sample) -> &'a str {
        match self.client {
            Client::Rtorrent(_) => &sample.hash,
            Client::Qbittorrent(_) => &sample.qbittorrent_hash,
        }
    }

    /// Adds a torrent by the API, to be saved in a directory below the root of this side.
    async fn add(&self, api: &Api, sample: &Sample, directory: &str, category: &str) -> PathBuf {
        let place = self.root.join(directory);
        std::fs::create_dir_all(&place).expect("our own directory");
        let text = place.display().to_string();
        let mut fields = vec![("engineId", self.engine.as_str()), ("savePath", text.as_str())];
        if !category.is_empty() {
            fields.push(("category", category));
        }
        api.upload_torrent(&fields, &sample.metainfo).await;
        place
    }

    async fn until(&self, api: &Api, sample: &Sample, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        api.until_torrent(&self.engine, self.hash(sample), what, holds)
            .await
    }

    async fn until_doing(&self, sample: &Sample, doing: Doing) {
        let what = format!("{} to be {doing:?} in its client", sample.name);
        until_true(&what, || async {
            self.client.doing(self.hash(sample)).await == doing
        })
        .await;
    }

    async fn until_gone(&self, sample: &Sample) {
        let what = format!("{} to be gone from its client", sample.name);
        until_true(&what, || async { !self.client.lists(self.hash(sample)).await }).await;
    }
}

/// Completed ones are moved by their category, and a chat is told of them.
async fn completed(site: &Site, seeds: &[Sample; 2]) {
    let chat = Receiver::start(|_| ("204 Taken", Value::Null)).await;
    let archive = site.root.path().join("archive");
    let moves = site
        .store("Move by category when complete", |rule| {
            let there = archive.display().to_string();
            let params = &mut rule["actions"][0]["params"];
            let destination = params["destination"]
                .as_str()
                .expect("a path")
                .replace("/data", &there);
            params["destination"] = destination.into();
        })
        .await;
    let tells = site
        .store("Tell a chat", |rule| {
            rule["actions"][0]["params"]["url"] = format!("{}/hook", chat.origin()).into();
        })
        .await;
    for (side, sample) in site.sides.iter().zip(seeds) {
        let category = format!("cat-{}", side.client.kind());
        sample.write_to(&prepare(&side.root.join("incoming")));
        side.add(&site.api, sample, "incoming", &category).await;
        let there = archive.join(&category);
        side.until(&site.api, sample, "it to be moved", |torrent| {
            torrent["savePath"] == there.display().to_string()
        })
        .await;
        site.until_done(&moves, side.hash(sample)).await;
        site.until_done(&tells, side.hash(sample)).await;
        assert!(sample.is_in(&there), "{} lies there", sample.name);
        let told = chat.received();
        let content = format!(
            "{} is complete (cat\\-{})",
            sample.name.replace('.', "\\."),
            side.client.kind().replace('_', "\\_")
        );
        let body = told.iter().map(|received| &received.body);
        let mine: Vec<&Value> = body
            .filter(|body| body["content"] == content.replace('(', "\\(").replace(')', "\\)"))
            .collect();
        assert_eq!(mine.len(), 1, "{content}: {told:?}");
        assert_eq!(mine[0]["allowed_mentions"], json!({ "parse": [] }));
    }
    site.drop_rule(&moves).await;
    site.drop_rule(&tells).await;
}

/// Each client loads what the other one has: that one stops by its ratio, and goes with its data at the next due time.
async fn shared(site: &Site, seeds: &[Sample; 2]) {
    let low = |rule: &mut Value| rule["conditions"][0]["value"] = json!(0.3);
    let stops = site.store("Stop at a ratio", low).await;
    for (n, sample) in seeds.iter().enumerate() {
        let (seeder, leecher) = (&site.sides[n], &site.sides[1 - n]);
        site.tracker.until_seeded(&sample.hash).await;
        leecher.add(&site.api, sample, "leeched", "").await;
        site.until_done(&stops, seeder.hash(sample)).await;
        seeder.until_doing(sample, seeder.client.stopped()).await;
    }
    site.drop_rule(&stops).await;
    let deletes = site
        .store("Delete at a ratio, with the data", |rule| {
            rule["schedule"] = EACH_MINUTE.into();
            rule["conditions"][0]["value"] = json!(0.3);
            rule["conditions"][1]["value"] = json!(0);
        })
        .await;
    for (side, sample) in site.sides.iter().zip(seeds) {
        let category = format!("cat-{}", side.client.kind());
        side.until_gone(sample).await;
        site.until_done(&deletes, side.hash(sample)).await;
        let there = site.root.path().join("archive").join(category);
        assert!(!sample.is_in(&there), "the data of {} are gone", sample.name);
    }
    site.drop_rule(&deletes).await;
}

/// Torrents that seed for long enough stop.
async fn seeded(site: &Site, sample: &Sample) {
    for side in &site.sides {
        sample.write_to(&prepare(&side.root.join("seeded")));
        side.add(&site.api, sample, "seeded", "").await;
        side.until(&site.api, sample, "it to be seeded", |torrent| {
            torrent["state"] == "seeding"
        })
        .await;
    }
    let stops = site
        .store("Seed for two weeks", |rule| {
            rule["schedule"] = EACH_MINUTE.into();
            rule["conditions"][1]["value"] = json!(0);
        })
        .await;
    for side in &site.sides {
        site.until_done(&stops, side.hash(sample)).await;
        side.until_doing(sample, side.client.stopped()).await;
    }
    site.drop_rule(&stops).await;
}

/// A seeding torrent is limited by night and not by day.
async fn limited(site: &Site, sample: &Sample) {
    for side in &site.sides {
        sample.write_to(&prepare(&side.root.join("limited")));
        side.add(&site.api, sample, "limited", "").await;
        side.until(&site.api, sample, "it to be seeded", |torrent| {
            torrent["state"] == "seeding"
        })
        .await;
    }
    for (headline, is_limited) in [
        ("Limit uploads by night", true),
        ("Lift the limit in the morning", false),
    ] {
        let rule = site
            .store(headline, |rule| rule["schedule"] = EACH_MINUTE.into())
            .await;
        for side in &site.sides {
            site.until_done(&rule, side.hash(sample)).await;
            until_true(headline, || async {
                let (up, _) = side.client.limits(side.hash(sample)).await;
                (up > 0) == is_limited
            })
            .await;
        }
        site.drop_rule(&rule).await;
    }
}

/// A torrent gets the year of its addition as a tag, and the host of its tracker as its category once it is complete.
async fn named(site: &Site, sample: &Sample) {
    let labels = site.store("Label by tracker", |_| ()).await;
    let tags = site.store("Tag by year", |_| ()).await;
    for side in &site.sides {
        sample.write_to(&prepare(&side.root.join("named")));
        side.add(&site.api, sample, "named", "").await;
        site.until_done(&tags, side.hash(sample)).await;
        site.until_done(&labels, side.hash(sample)).await;
        side.until(&site.api, sample, "its names", |torrent| {
            let year = torrent["addedAt"].as_str().map(|added| &added[..4]);
            torrent["label"] == "127.0.0.1" && torrent["tags"] == json!([year])
        })
        .await;
    }
    site.drop_rule(&labels).await;
    site.drop_rule(&tags).await;
}

/// A public torrent stops when it is added, a private one does not.
async fn public(site: &Site, public: &Sample) {
    let stops = site.store("Stop public torrents at once", |_| ()).await;
    for side in &site.sides {
        side.add(&site.api, public, "public", "").await;
        site.until_done(&stops, side.hash(public)).await;
        side.until_doing(public, side.client.stopped()).await;
    }
    site.drop_rule(&stops).await;
}

/// Torrents that their tracker does not know are removed, their data stay, and the author is told.
async fn unregistered(site: &Site, lost: &Sample) {
    for side in &site.sides {
        sample_at(side, lost);
        side.add(&site.api, lost, "lost", "").await;
        side.until(
            &site.api,
            lost,
            "its tracker to say that it does not know it",
            |torrent| torrent["trackerStatus"] == "unregistered",
        )
        .await;
    }
    let removes = site
        .store("Remove what its tracker does not know any more", |rule| {
            rule["schedule"] = EACH_MINUTE.into();
        })
        .await;
    for side in &site.sides {
        side.until_gone(lost).await;
        site.until_done(&removes, side.hash(lost)).await;
        assert!(lost.is_in(&side.root.join("lost")), "the data stay");
    }
    site.drop_rule(&removes).await;
    let inbox = until("the author to be told", || async {
        let page = site
            .api
            .get("/api/account/notifications/inbox?pageSize=100")
            .await;
        page.to_string()
            .contains("is not registered any more")
            .then_some(page)
    })
    .await;
    assert!(inbox.to_string().contains(&lost.name), "{inbox}");
}

/// Downloads pause where the client says that too little is free, until there is room; where it says nothing, they go on.
async fn full(site: &Site, missing: &Sample) {
    for side in &site.sides {
        side.add(&site.api, missing, "full", "").await;
        side.until(&site.api, missing, "it to want data", |torrent| {
            torrent["state"] == "downloading"
        })
        .await;
    }
    let pauses = site
        .store("Pause downloads when the disk is full", |rule| {
            rule["conditions"][0]["value"] = json!(1_u64 << 60);
        })
        .await;
    for side in &site.sides {
        let hash = side.hash(missing);
        let path = format!(
            "/api/automation/rules/{pauses}/explain?hash={hash}&engineId={}",
            side.engine
        );
        let free = site.api.get(&path).await["conditions"][0]["seen"].clone();
        if free.is_null() {
            assert_eq!(
                side.client.doing(hash).await,
                Doing::Running,
                "nothing is known of the disk"
            );
        } else {
            site.until_done(&pauses, hash).await;
            side.until_doing(missing, Doing::Paused).await;
        }
    }
    let paused = &site.sides[1];
    assert!(matches!(&paused.client, Client::Qbittorrent(_)));
    site.until_done(&pauses, paused.hash(missing)).await;
    site.drop_rule(&pauses).await;
    let tags = |expected: Value| move |torrent: &Value| torrent["tags"] == expected;
    paused
        .until(&site.api, missing, "its tag", tags(json!(["low-disk"])))
        .await;
    let resumes = site
        .store("Resume them when there is room", |rule| {
            rule["conditions"][0]["value"] = json!(0);
        })
        .await;
    site.until_done(&resumes, paused.hash(missing)).await;
    paused.until_doing(missing, Doing::Running).await;
    paused
        .until(&site.api, missing, "its tag to go", tags(json!([])))
        .await;
    site.drop_rule(&resumes).await;
}

fn prepare(at: &Path) -> PathBuf {
    std::fs::create_dir_all(at).expect("our own directory");
    at.to_owned()
}

fn sample_at(side: &Side, sample: &Sample) {
    sample.write_to(&prepare(&side.root.join("lost")));
}

both_databases! {
    async fn the_rules_of_the_page_do_what_it_says(db: &TestDb) {
        let site = Site::start(db).await;
        let announce = site.tracker.announce();
        let sample = |name: &str, size, seed| Sample::new(name, size, seed, Format::V1, &announce);
        let seeds = [sample("one.bin", 600_000, 601), sample("two.bin", 600_000, 602)];
        for seed in &seeds {
            site.tracker.allow(&seed.hash).await;
        }
        completed(&site, &seeds).await;
        shared(&site, &seeds).await;
        let nowhere = "http://127.0.0.1:9/announce";
        let apart = |name: &str, seed| Sample::new(name, 100_000, seed, Format::V1, nowhere);
        seeded(&site, &apart("seeded.bin", 603)).await;
        limited(&site, &apart("limited.bin", 607)).await;
        named(&site, &apart("named.bin", 608)).await;
        public(&site, &apart("public.bin", 604)).await;
        full(&site, &apart("missing.bin", 605)).await;
        unregistered(&site, &sample("lost.bin", 100_000, 606)).await;
        site.server.end().await;
    }
}
