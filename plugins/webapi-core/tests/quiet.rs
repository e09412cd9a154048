//! Requests to a 4.x client while nobody looks, and the changes they find: against a fake client that counts the requests.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on ends"
)]

mod support;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use engine_model::{Attention, Torrent};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use support::http::Whole;
use support::wire::Wire;
use webapi_core::{Clock, Delta, Session};

#[derive(Clone, Debug, PartialEq)]
struct Row {
    name: String,
    state: &'static str,
    category: String,
    uploaded: u64,
    rate: u64,
}

/// A client that reckons its whole list for every `sync/maindata`, as 4.x does.
#[derive(Default)]
struct World {
    rows: BTreeMap<String, Row>,
    categories: BTreeSet<String>,
    log: Vec<Value>,
    /// Rows of the last answer of `sync/maindata`, and its number.
    told: (u64, Map<String, Value>),
    /// Calls since the last look, each with the number of rows it was answered with.
    asked: Vec<(String, usize)>,
    is_new: bool,
}

fn hash(number: u64) -> String {
    format!("{number:040x}")
}

fn form(body: &[u8]) -> BTreeMap<String, String> {
    let body = String::from_utf8_lossy(body)
        .replace('+', " ")
        .replace("%7C", "|");
    assert!(!body.contains('%'), "nothing else is escaped here: {body:.80}");
    let pairs = body.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

impl Row {
    fn json(&self) -> Value {
        json!({ "name": self.name, "state": self.state, "category": self.category, "uploaded": self.uploaded,
            "upspeed": self.rate, "save_path": "/d" })
    }
}

impl World {
    fn note(&mut self, line: &str) {
        let id = self.log.len();
        self.log
            .push(json!({ "id": id, "timestamp": 1000 + id, "message": line, "type": 1 }));
    }

    fn put(&mut self, number: u64) {
        let row = Row {
            name: format!("t{number}"),
            state: "stalledUP",
            category: String::new(),
            uploaded: 0,
            rate: 0,
        };
        self.rows.insert(hash(number), row);
        self.note("added");
    }

    fn row(&mut self, number: u64) -> &mut Row {
        self.rows.get_mut(&hash(number)).expect("a listed torrent")
    }

    fn answer(&mut self, path: &str, query: &BTreeMap<String, String>) -> Value {
        match path {
            "/sync/maindata" => self.maindata(query["rid"].parse().expect("a number")),
            "/torrents/info" => self.info(query),
            "/torrents/categories" => {
                json!(
                    self.categories
                        .iter()
                        .map(|name| (name, json!({})))
                        .collect::<BTreeMap<_, _>>()
                )
            }
            "/log/main" => {
                let known: i64 = query["last_known_id"].parse().expect("a number");
                json!(
                    self.log
                        .iter()
                        .filter(|line| line["id"].as_i64() > Some(known))
                        .collect::<Vec<_>>()
                )
            }
            other => panic!("{other} was asked for"),
        }
    }

    fn maindata(&mut self, rid: u64) -> Value {
        let now: Map<String, Value> = self
            .rows
            .iter()
            .map(|(hash, row)| (hash.clone(), row.json()))
            .collect();
        let full = rid == 0 || rid != self.told.0;
        let next = (self.told.0 + 1, now.clone());
        let before = std::mem::replace(&mut self.told, next);
        let differs = |(hash, row): &(&String, &Value)| full || before.1.get(*hash) != Some(*row);
        // The real one leaves out the fields that are as they were, and so does this.
        let part = |hash: &String, row: &Value| match before.1.get(hash).filter(|_| !full) {
            Some(known) => {
                let fields = row.as_object().expect("an object").iter();
                fields
                    .filter(|(name, value)| known[*name] != **value)
                    .map(|(n, v)| (n.clone(), v.clone()))
                    .collect::<Map<_, _>>()
                    .into()
            }
            None => row.clone(),
        };
        let torrents: Map<String, Value> = now
            .iter()
            .filter(differs)
            .map(|(hash, row)| (hash.clone(), part(hash, row)))
            .collect();
        let removed: Vec<&String> = before.1.keys().filter(|hash| !now.contains_key(*hash)).collect();
        json!({ "rid": self.told.0, "full_update": full, "torrents": torrents, "torrents_removed": removed })
    }

    fn info(&self, query: &BTreeMap<String, String>) -> Value {
        let named: Option<BTreeSet<&str>> = query.get("hashes").map(|hashes| hashes.split('|').collect());
        let chosen = |(hash, row): &(&String, &Row)| {
            named.as_ref().is_none_or(|named| named.contains(hash.as_str()))
                && query
                    .get("category")
                    .is_none_or(|category| row.category == *category)
                && match query.get("filter").map(String::as_str) {
                    Some("active") => row.rate > 0,
                    Some("checking") => row.state == "checkingUP",
                    _ => true,
                }
        };
        let listed = |(hash, row): (&String, &Row)| {
            let mut row = row.json();
            row["hash"] = json!(hash);
            row
        };
        json!(self.rows.iter().filter(chosen).map(listed).collect::<Vec<_>>())
    }
}

#[derive(Clone, Default)]
struct Ticks(Rc<Cell<u64>>);

impl Clock for Ticks {
    fn monotonic_ms(&self) -> u64 {
        self.0.get()
    }
    fn sleep_ms(&self, _: u32) {}
}

/// The host's side: a list kept by deltas.
struct Host {
    world: Rc<RefCell<World>>,
    session: Session<Wire, Ticks>,
    clock: Ticks,
    cursor: Option<u64>,
    /// Torrents to be told as they are.
    fresh: Vec<String>,
    known: BTreeMap<String, Torrent>,
}

impl Host {
    fn new(torrents: u64) -> Host {
        let world = Rc::new(RefCell::new(World::default()));
        world.borrow_mut().note("started");
        for number in 0..torrents {
            world.borrow_mut().put(number);
        }
        let client = world.clone();
        let wire = Wire::scripted(move |request| {
            let mut world = client.borrow_mut();
            let path = request
                .url
                .strip_prefix("http://box:8080/api/v2")
                .expect("the base");
            let (path, query) = path.split_once('?').unwrap_or((path, ""));
            let told = match path {
                "/auth/login" => {
                    return Ok(Whole::new(200, "Ok.").with_header("set-cookie", "SID=abc"));
                }
                "/app/webapiVersion" if world.is_new => return Ok(Whole::new(200, "2.11.4")),
                "/app/webapiVersion" => return Ok(Whole::new(200, "2.8.19")),
                _ => world.answer(path, &form(&[query.as_bytes(), b"&", &request.body].concat())),
            };
            let rows = told.as_array().map_or(0, Vec::len);
            world.asked.push((path.to_owned(), rows));
            Ok(Whole::new(200, told.to_string()))
        });
        let clock = Ticks::default();
        Host {
            world,
            session: Session::new(support::config("http://box:8080", "u", "p"), wire, clock.clone()),
            clock,
            cursor: None,
            fresh: Vec::new(),
            known: BTreeMap::new(),
        }
    }

    /// The next tick.
    fn poll(&mut self, attention: Attention) -> Delta {
        self.clock.0.set(self.clock.0.get() + 2000);
        self.world.borrow_mut().asked.clear();
        let delta = self
            .session
            .poll(self.cursor, attention, &self.fresh)
            .expect("a list");
        if delta.full {
            self.known.clear();
        }
        for hash in &delta.removed {
            assert!(self.known.remove(hash).is_some(), "{hash} was known");
        }
        for torrent in &delta.changed {
            self.known.insert(torrent.hash.clone(), torrent.clone());
        }
        self.cursor = Some(delta.cursor);
        delta
    }

    fn quietly(&mut self, ticks: usize) {
        for _ in 0..ticks {
            self.poll(Attention::Quiet);
        }
    }

    fn change(&self, change: impl FnOnce(&mut World)) {
        change(&mut self.world.borrow_mut());
    }

    /// Calls of the last poll.
    fn asked(&self) -> Vec<String> {
        self.world
            .borrow()
            .asked
            .iter()
            .map(|(path, _)| path.clone())
            .collect()
    }

    fn assert_known(&self) {
        let known: BTreeMap<_, _> = self
            .known
            .iter()
            .map(|(hash, torrent)| {
                let label = torrent.label.clone().unwrap_or_default();
                (
                    hash.clone(),
                    (torrent.name.clone(), label, torrent.uploaded, torrent.upload_rate),
                )
            })
            .collect();
        let is: BTreeMap<_, _> = self
            .world
            .borrow()
            .rows
            .iter()
            .map(|(hash, row)| {
                (
                    hash.clone(),
                    (row.name.clone(), row.category.clone(), row.uploaded, row.rate),
                )
            })
            .collect();
        assert_eq!(known, is);
    }
}

#[test]
fn nobody_watching_the_whole_list_is_not_reckoned() {
    let mut host = Host::new(5000);
    host.poll(Attention::Watched);
    host.quietly(6); // the lines of the log so far are read, and what they told
    let (mut reckoned, mut rows) = (0, 0);
    for _ in 0..30 {
        let delta = host.poll(Attention::Quiet);
        assert!(!delta.full && delta.changed.is_empty() && delta.removed.is_empty());
        for (path, count) in &host.world.borrow().asked {
            reckoned += usize::from(path == "/sync/maindata");
            rows += if path == "/torrents/info" { *count } else { 0 };
        }
    }
    assert_eq!((reckoned, rows), (0, 3000), "rows rendered in a minute");
    host.poll(Attention::Watched);
    assert_eq!(
        host.asked(),
        ["/sync/maindata"],
        "whoever looks is told all of it"
    );
}

#[test]
fn a_client_that_knows_what_changed_is_asked_for_that() {
    let mut host = Host::new(3);
    host.world.borrow_mut().is_new = true;
    host.poll(Attention::Watched);
    host.quietly(1);
    host.change(|world| world.row(1).name = "renamed".to_owned());
    host.quietly(1);
    assert_eq!(host.asked(), ["/sync/maindata"]);
    host.assert_known();
}

#[test]
fn what_is_active_is_told_by_every_quiet_poll() {
    let mut host = Host::new(300);
    host.change(|world| world.row(7).rate = 5);
    host.poll(Attention::Watched);
    host.quietly(6);
    for uploaded in [10, 20] {
        host.change(|world| world.row(7).uploaded = uploaded);
        let delta = host.poll(Attention::Quiet);
        assert_eq!(
            (delta.stats.upload_rate, delta.stats.total_uploaded),
            (5, uploaded)
        );
        host.assert_known();
    }
    host.change(|world| {
        *world.row(7) = Row {
            rate: 0,
            uploaded: 30,
            ..world.row(7).clone()
        };
        world.row(8).rate = 6;
    });
    host.quietly(1);
    host.assert_known();
    // The client's memory of `sync/maindata` is older than what was told meanwhile.
    host.change(|world| world.row(8).rate = 0);
    host.poll(Attention::Watched);
    host.assert_known();
}

#[test]
fn what_others_do_is_told_within_ten_seconds() {
    type Deed = fn(&mut World);
    let deeds: [Deed; 6] = [
        |world| world.put(9000),
        |world| {
            world.rows.remove(&hash(1));
            world.note("removed");
        },
        |world| {
            world.row(2).state = "pausedUP";
            world.note("paused");
        },
        |world| {
            world.categories.insert("tv".to_owned());
            world.row(3).category = "tv".to_owned();
        },
        |world| world.row(4).category.clear(),
        |world| world.row(0).rate = 3,
    ];
    for deed in deeds {
        for idle in 0..5 {
            let mut host = Host::new(800);
            host.change(|world| {
                world.categories.insert("films".to_owned());
                world.row(4).category = "films".to_owned();
            });
            host.poll(Attention::Watched);
            host.quietly(idle);
            host.change(deed);
            host.quietly(5);
            host.assert_known();
        }
    }
}

#[test]
fn a_name_is_told_when_its_turn_comes() {
    let mut host = Host::new(400);
    host.poll(Attention::Watched);
    host.change(|world| world.row(123).name = "renamed".to_owned());
    host.quietly(5);
    host.assert_known();
}

#[test]
fn a_restarted_client_is_read_anew() {
    let mut host = Host::new(2000);
    host.poll(Attention::Watched);
    host.quietly(6);
    host.change(|world| {
        world.log.clear();
        world.rows.remove(&hash(1));
        world.told = (0, Map::new());
        world.note("started");
    });
    host.quietly(5);
    host.assert_known();
}

#[derive(Clone, Debug)]
enum Step {
    Add(u64),
    Remove(u64),
    Pause(u64),
    Upload(u64, u64),
    Label(u64, bool),
    Rename(u64),
    Quiet,
    Watched,
}

fn step() -> impl Strategy<Value = Step> {
    let number = || 0..8_u64;
    prop_oneof![
        number().prop_map(Step::Add),
        number().prop_map(Step::Remove),
        number().prop_map(Step::Pause),
        (number(), 0..3_u64).prop_map(|(number, rate)| Step::Upload(number, rate)),
        (number(), any::<bool>()).prop_map(|(number, on)| Step::Label(number, on)),
        number().prop_map(Step::Rename),
        Just(Step::Quiet),
        Just(Step::Quiet),
        Just(Step::Quiet),
        Just(Step::Watched),
    ]
}

fn apply(world: &mut World, step: &Step) {
    match step {
        Step::Add(number) if !world.rows.contains_key(&hash(*number)) => world.put(*number),
        Step::Remove(number) if world.rows.remove(&hash(*number)).is_some() => world.note("removed"),
        Step::Pause(number) if world.rows.contains_key(&hash(*number)) => {
            world.row(*number).state = "pausedUP";
            world.row(*number).rate = 0;
            world.note("paused");
        }
        Step::Upload(number, rate) if world.rows.contains_key(&hash(*number)) => {
            let row = world.row(*number);
            row.uploaded += row.rate;
            row.rate = *rate;
        }
        Step::Label(number, on) if world.rows.contains_key(&hash(*number)) => {
            world.categories.insert("tv".to_owned());
            world.row(*number).category = if *on { "tv".to_owned() } else { String::new() };
        }
        Step::Rename(number) if world.rows.contains_key(&hash(*number)) => {
            world.row(*number).name.push('x');
        }
        _ => {}
    }
}

proptest! {
    /// Quiet polls among others leave nothing wrong behind: whoever looks sees the client's list, at the latest after ten seconds.
    #[test]
    fn deltas_add_up(steps in prop::collection::vec(step(), 1..80)) {
        let mut host = Host::new(4);
        host.poll(Attention::Watched);
        for step in &steps {
            match step {
                Step::Quiet => drop(host.poll(Attention::Quiet)),
                Step::Watched => {
                    for _ in 0..5 {
                        host.poll(Attention::Watched);
                    }
                    host.assert_known();
                }
                change => host.change(|world| apply(world, change)),
            }
        }
        host.quietly(5);
        host.assert_known();
        host.poll(Attention::Watched);
        host.assert_known();
    }
}

/// At 5,000 torrents of a client that renders all of them for every answer.
#[test]
fn who_looks_costs_a_whole_list_every_ten_seconds() {
    let mut host = Host::new(5000);
    host.poll(Attention::Watched);
    for _ in 0..10 {
        host.poll(Attention::Watched); // the lines of the log so far are read
    }
    let (mut whole, mut rows) = (0, 0);
    for _ in 0..30 {
        host.poll(Attention::Watched);
        for (path, count) in &host.world.borrow().asked {
            whole += usize::from(path == "/sync/maindata");
            rows += if path == "/torrents/info" { *count } else { 0 };
        }
    }
    assert_eq!(whole, 6, "whole lists in a minute");
    assert!(rows <= 3000, "{rows} rows rendered beside them");
}

#[test]
fn a_torrent_before_somebodys_eyes_is_told_at_once_and_any_other_within_ten_seconds() {
    let mut host = Host::new(5000);
    host.poll(Attention::Watched);
    host.poll(Attention::Watched);
    host.fresh = vec![hash(17)];
    host.change(|world| {
        world.row(17).name = "seen".to_owned();
        world.row(4000).name = "unseen".to_owned();
    });
    let delta = host.poll(Attention::Watched);
    assert!(delta.changed.iter().any(|torrent| torrent.name == "seen"));
    for _ in 0..5 {
        host.poll(Attention::Watched);
    }
    host.assert_known();
}

#[test]
fn a_fresh_torrent_that_the_client_no_longer_has_is_told_as_removed() {
    let mut host = Host::new(300);
    host.poll(Attention::Watched);
    host.poll(Attention::Watched);
    host.fresh = vec![hash(3), "f".repeat(40)];
    host.change(|world| drop(world.rows.remove(&hash(3))));
    let delta = host.poll(Attention::Watched);
    assert_eq!(delta.removed, [hash(3)]);
    host.assert_known();
}

#[test]
fn an_exact_poll_tells_everything_at_once() {
    let mut host = Host::new(5000);
    for attention in [Attention::Watched, Attention::Quiet] {
        host.poll(attention);
        host.poll(attention);
        host.change(|world| {
            let name = world.row(4000).name.clone();
            world.row(4000).name = name + "x";
        });
        host.poll(Attention::Exact);
        assert_eq!(host.asked(), ["/sync/maindata"], "after {attention:?}");
        host.assert_known();
    }
}

/// A client may list a torrent some polls after it took it.
#[test]
fn a_fresh_torrent_that_was_not_known_is_told_by_the_first_poll_after_it_came() {
    for attention in [Attention::Watched, Attention::Quiet] {
        let mut host = Host::new(300);
        host.poll(attention);
        for _ in 0..4 {
            host.poll(attention);
        }
        host.fresh = vec![hash(9000)];
        for _ in 0..2 {
            let delta = host.poll(attention);
            assert_eq!(
                (delta.changed.len(), delta.removed.len()),
                (0, 0),
                "it is not there yet"
            );
        }
        // The line that an add leaves in the log may be read before, and is answered by a whole list 8 s later at most.
        host.change(|world| {
            world.put(9000);
            world.log.pop();
        });
        let delta = host.poll(attention);
        let told: Vec<&str> = delta
            .changed
            .iter()
            .map(|torrent| torrent.hash.as_str())
            .collect();
        assert_eq!(told, [hash(9000)], "{attention:?}");
        host.assert_known();
        // The client ends and comes back with the torrent: the list is read whole, and it is still told no other way.
        host.change(|world| {
            world.told = (0, Map::new());
            world.log.clear();
            world.row(9000).name = "after".to_owned();
        });
        host.poll(attention);
        assert_eq!(host.known[&hash(9000)].name, "after");
    }
}
