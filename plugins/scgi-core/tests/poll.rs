//! The delta, against a made-up rTorrent that answers as the real one does.

#![allow(
    clippy::unwrap_used,
    clippy::float_cmp,
    reason = "a test that cannot go on has failed; values are exact"
)]

mod support;

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use engine_model::{Attention, State, Torrent};
use proptest::prelude::*;
use scgi_core::{Client, Clock, Endpoint, Error, NetError, Poller, Reply, Summary, Transport};
use support::script::{Frozen, endpoint};

#[derive(Clone, Debug, PartialEq)]
struct Fake {
    number: u32,
    name: String,
    label: String,
    directory: String,
    completed: u64,
    started: bool,
    rate: u64,
    message: String,
}

impl Fake {
    fn new(number: u32) -> Self {
        Self {
            number,
            name: format!("t{number} <&>"),
            label: String::new(),
            directory: "/d".to_owned(),
            completed: 0,
            started: true,
            rate: 0,
            message: String::new(),
        }
    }

    fn hash(&self) -> String {
        format!("{:040x}", self.number)
    }

    fn moving(&self) -> String {
        let started = u8::from(self.started);
        format!(
            "{} 1000 {} 5 {} 0 0 {started} {started} 0 {started} 0 2 0 0 0 {}",
            self.hash().to_uppercase(),
            self.completed,
            self.rate,
            self.message
        )
    }

    fn essential(&self) -> String {
        let started = u8::from(self.started);
        let hash = self.hash().to_uppercase();
        format!("{hash} {started} {started} 0 {started} 0 2 {}", self.message)
    }

    /// What rTorrent says of it when it is asked alone.
    fn value(&self, method: &str) -> String {
        let flag = || u8::from(self.started).to_string();
        match method {
            "d.name" => self.name.clone(),
            "d.custom1" => self.label.clone(),
            "d.directory" => self.directory.clone(),
            "d.message" => self.message.clone(),
            "d.base_path" => String::new(),
            "d.timestamp.started" => "7".to_owned(),
            "d.size_bytes" => "1000".to_owned(),
            "d.completed_bytes" => self.completed.to_string(),
            "d.up.total" => "5".to_owned(),
            "d.down.rate" => self.rate.to_string(),
            "d.state" | "d.is_active" | "d.is_open" => flag(),
            "d.priority" => "2".to_owned(),
            _ => "0".to_owned(),
        }
    }

    /// What the host must know of it.
    fn seen(&self) -> (String, String, Option<String>, String, u64, State) {
        let state = if self.started {
            State::Downloading
        } else {
            State::Stopped
        };
        (
            self.hash(),
            self.name.clone(),
            Some(self.label.clone()).filter(|label| !label.is_empty()),
            self.directory.clone(),
            self.completed,
            state,
        )
    }
}

fn shown(torrent: &Torrent) -> (String, String, Option<String>, String, u64, State) {
    (
        torrent.hash.clone(),
        torrent.name.clone(),
        torrent.label.clone(),
        torrent.save_path.clone(),
        torrent.downloaded,
        torrent.state,
    )
}

#[derive(Default)]
struct World {
    torrents: Vec<Fake>,
    /// What is wrong with the next answer.
    damage: Option<fn(String) -> String>,
    /// Kinds of questions asked so far.
    asked: Vec<&'static str>,
    /// It knows no `d.multicall.filtered`.
    is_old: bool,
}

#[derive(Clone, Default)]
struct FakeClient(Rc<RefCell<World>>);

fn element(value: &str) -> String {
    let value = value
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    format!("<value><string>{value}</string></value>\r\n")
}

fn array(content: &str) -> String {
    format!("<value><array><data>\r\n{content}</data></array></value>\r\n")
}

fn fault(code: i32, text: &str) -> String {
    format!(
        "<value><struct><member><name>faultCode</name><value><i4>{code}</i4></value></member>\
         <member><name>faultString</name><value><string>{text}</string></value></member></struct></value>\r\n"
    )
}

impl World {
    fn answer(&mut self, request: &str) -> String {
        let body = if request.contains("d.multicall.filtered") && self.is_old {
            self.asked.push("busy");
            fault(-506, "Method 'd.multicall.filtered' not defined")
        } else if request.contains("<string>d.multicall") {
            let filtered = request.contains("d.multicall.filtered");
            let full = request.contains("d.base_path=");
            let essential = !request.contains("d.size_bytes=");
            let labels = request.contains("d.custom1=");
            self.asked.push(match (filtered, essential, full, labels) {
                (true, ..) => "busy",
                (_, true, ..) => "essential",
                (_, _, true, _) => "full",
                (.., true) => "labelled",
                _ => "light",
            });
            let row = |torrent: &Fake| {
                if essential {
                    let texts = element(&torrent.directory) + &element(&torrent.label);
                    return array(&(element(&torrent.essential()) + &texts));
                }
                let mut row = element(&torrent.moving()) + &element(&torrent.directory);
                if labels && !full {
                    row += &element(&torrent.label);
                }
                if full {
                    row += &element("0 0 7 0");
                    row += &(element(&torrent.name) + &element(&torrent.label) + &element(""));
                }
                array(&row)
            };
            let listed = |torrent: &&Fake| !filtered || torrent.rate > 0;
            let rows: String = self.torrents.iter().filter(listed).map(row).collect();
            array("<value><i8>9</i8></value>\r\n").repeat(4) + &array(&array(&rows))
        } else {
            self.asked.push("single");
            let mut answers = String::new();
            for call in request.split("<name>methodName</name>").skip(1) {
                let hash = call
                    .split("<data><value><string>")
                    .nth(1)
                    .and_then(|rest| rest.split('<').next())
                    .unwrap();
                let method = call
                    .split("<string>")
                    .nth(1)
                    .and_then(|rest| rest.split('<').next())
                    .unwrap();
                let found = self
                    .torrents
                    .iter()
                    .find(|torrent| torrent.hash().to_uppercase() == hash);
                answers += &match found {
                    Some(torrent) => array(&element(&torrent.value(method))),
                    None => fault(-501, "Could not find info-hash."),
                };
            }
            answers
        };
        let xml = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\r\n<methodResponse>\r\n<params>\r\n<param>{}</param>\r\n</params>\r\n</methodResponse>\r\n",
            array(&body).trim_end()
        );
        let xml = self.damage.take().map_or(xml.clone(), |damage| damage(xml));
        format!("Status: 200 OK\r\n\r\n{xml}")
    }
}

struct Once(Vec<u8>);

impl Reply for Once {
    fn read(&mut self) -> Result<Vec<u8>, NetError> {
        Ok(std::mem::take(&mut self.0))
    }
}

impl Transport for FakeClient {
    type Reply = Once;

    fn dial(&self, _: &Endpoint, _: u32, request: &[u8]) -> Result<Once, NetError> {
        Ok(Once(
            self.0
                .borrow_mut()
                .answer(&String::from_utf8_lossy(request))
                .into_bytes(),
        ))
    }

    fn post(&self, _: &str, _: u32, _: Vec<u8>) -> Result<(u16, Once), NetError> {
        Err(NetError::Refused)
    }
}

/// The host's side: a list kept by deltas.
struct Host {
    world: FakeClient,
    clock: Frozen,
    client: Client<FakeClient, Frozen>,
    poller: Poller,
    cursor: Option<u64>,
    known: HashMap<String, Torrent>,
    /// Hashes the last poll told, in order.
    told: Vec<String>,
}

impl Host {
    fn new(torrents: impl IntoIterator<Item = Fake>) -> Self {
        let world = FakeClient::default();
        world.0.borrow_mut().torrents = torrents.into_iter().collect();
        let clock = Frozen::default();
        let client = Client::new(endpoint(), 1000, world.clone(), clock.clone());
        Self {
            world,
            clock,
            client,
            poller: Poller::default(),
            cursor: None,
            known: HashMap::new(),
            told: Vec::new(),
        }
    }

    fn poll(&mut self) -> Result<Summary, Error> {
        self.poll_for(Attention::Watched)
    }

    fn poll_quietly(&mut self) -> Result<Summary, Error> {
        self.poll_for(Attention::Quiet)
    }

    fn poll_for(&mut self, attention: Attention) -> Result<Summary, Error> {
        self.clock.sleep_ms(2000);
        self.world.0.borrow_mut().asked.clear();
        let mut told = Vec::new();
        let summary = self
            .poller
            .poll(&self.client, self.cursor, attention, &mut |torrent| {
                told.push(torrent);
            })?;
        if summary.full {
            self.known.clear();
        }
        for hash in &summary.removed {
            assert!(self.known.remove(hash).is_some());
        }
        self.told = told.iter().map(|torrent| torrent.hash.clone()).collect();
        self.known
            .extend(told.into_iter().map(|torrent| (torrent.hash.clone(), torrent)));
        self.cursor = Some(summary.cursor);
        Ok(summary)
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Fake>)) {
        change(&mut self.world.0.borrow_mut().torrents);
    }

    fn asked(&self) -> Vec<&'static str> {
        self.world.0.borrow().asked.clone()
    }

    /// The host knows what is.
    fn assert_known(&self) {
        let mut known: Vec<_> = self.known.values().map(shown).collect();
        let mut is: Vec<_> = self.world.0.borrow().torrents.iter().map(Fake::seen).collect();
        known.sort_by(|left, right| left.0.cmp(&right.0));
        is.sort_by(|left, right| left.0.cmp(&right.0));
        assert_eq!(known, is);
    }
}

#[test]
fn an_idle_list_says_nothing() {
    let mut host = Host::new((1..=100).map(Fake::new));
    let first = host.poll().unwrap();
    assert!(first.full && host.told.len() == 100 && host.asked() == ["full"]);
    assert_eq!(
        (
            first.stats.torrent_count,
            first.stats.active_count,
            first.stats.total_uploaded
        ),
        (100, 100, 500)
    );
    assert_eq!((first.stats.download_rate, first.stats.upload_rate_limit), (9, 9));
    for _ in 0..3 {
        let idle = host.poll().unwrap();
        assert!(!idle.full && host.told.is_empty() && idle.removed.is_empty() && host.asked() == ["light"]);
        assert_eq!(idle.stats, first.stats);
    }
    host.assert_known();
}

#[test]
fn what_moves_is_told_at_once() {
    let mut host = Host::new((1..=5).map(Fake::new));
    host.poll().unwrap();
    host.change(|torrents| torrents[2].completed = 500);
    assert_eq!(host.poll().unwrap().stats.total_downloaded, 500);
    assert_eq!((host.told.len(), host.asked()), (1, vec!["light"]));
    host.change(|torrents| torrents[2].message = "Tracker: [a & b]".to_owned());
    host.poll().unwrap();
    assert_eq!((host.told.len(), host.asked()), (1, vec!["light"]));
    host.assert_known();
}

#[test]
fn what_matters_brings_the_rest_along() {
    let mut host = Host::new((1..=5).map(Fake::new));
    host.poll().unwrap();
    host.change(|torrents| {
        torrents[1].started = false;
        torrents[1].label = "new".to_owned();
        torrents[3].directory = "/e".to_owned();
        torrents.push(Fake::new(9));
        torrents.remove(0);
    });
    let summary = host.poll().unwrap();
    assert_eq!(
        (summary.removed.len(), host.told.len(), host.asked()),
        (1, 3, vec!["light", "single"])
    );
    host.assert_known();
    host.poll().unwrap();
    assert_eq!((host.told.len(), host.asked()), (0, vec!["light"]));
}

#[test]
fn nobody_watching_only_what_is_busy_is_asked_for() {
    let mut host = Host::new((1..=100).map(Fake::new));
    let first = host.poll().unwrap();
    let mut asked = Vec::new();
    for _ in 0..30 {
        let idle = host.poll_quietly().unwrap();
        assert!(!idle.full && host.told.is_empty() && idle.removed.is_empty());
        assert_eq!(idle.stats, first.stats);
        asked.extend(host.asked());
    }
    let count = |kind: &str| asked.iter().filter(|asked| **asked == kind).count();
    assert_eq!(
        (count("busy"), count("essential"), count("full"), asked.len()),
        (22, 7, 1, 30),
        "in a minute"
    );
    host.poll().unwrap();
    assert_eq!(host.asked(), ["labelled"], "whoever looks is told all of it");
    host.poll().unwrap();
    assert_eq!(host.asked(), ["light"]);
    host.assert_known();
}

#[test]
fn what_is_busy_is_told_by_every_quiet_poll() {
    let mut host = Host::new((1..=5).map(Fake::new));
    host.change(|torrents| torrents[2].rate = 10);
    host.poll().unwrap();
    for completed in [100, 200] {
        host.change(|torrents| torrents[2].completed = completed);
        assert_eq!(host.poll_quietly().unwrap().stats.total_downloaded, completed);
        assert_eq!((host.told.len(), host.asked()), (1, vec!["busy"]));
        host.assert_known();
    }
    host.change(|torrents| {
        torrents[2].completed = 1000;
        torrents[2].rate = 0;
        torrents[4].rate = 5;
    });
    host.poll_quietly().unwrap();
    assert_eq!(
        (host.told.len(), host.asked()),
        (2, vec!["busy", "single"]),
        "one that came to rest is asked for once more"
    );
    host.assert_known();
    assert_eq!(host.known[&Fake::new(3).hash()].download_rate, 0);
}

#[test]
fn what_others_do_is_told_within_ten_seconds() {
    type Deed = fn(&mut Vec<Fake>);
    let deeds: [Deed; 6] = [
        |torrents| torrents[1].started = false,
        |torrents| torrents[2].label = "tv".to_owned(),
        |torrents| torrents[3].directory = "/elsewhere".to_owned(),
        |torrents| torrents.push(Fake::new(9)),
        |torrents| drop(torrents.remove(0)),
        |torrents| torrents.extend((100..300).map(Fake::new)),
    ];
    for deed in deeds {
        for idle in 0..5 {
            let mut host = Host::new((1..=5).map(Fake::new));
            host.poll().unwrap();
            for _ in 0..idle {
                host.poll_quietly().unwrap();
            }
            host.change(deed);
            for _ in 0..5 {
                host.poll_quietly().unwrap();
            }
            host.assert_known();
            host.poll().unwrap();
            host.assert_known();
        }
    }
}

#[test]
fn a_new_label_is_told_within_ten_seconds() {
    for idle in 0..5 {
        let mut host = Host::new((1..=5).map(Fake::new));
        for _ in 0..=idle {
            host.poll().unwrap();
        }
        host.change(|torrents| torrents[2].label = "tv".to_owned());
        for _ in 0..5 {
            host.poll().unwrap();
        }
        host.assert_known();
    }
}

#[test]
fn a_release_that_cannot_filter_is_asked_for_what_is_essential() {
    let mut host = Host::new((1..=5).map(Fake::new));
    host.world.0.borrow_mut().is_old = true;
    host.poll().unwrap();
    host.poll_quietly().unwrap();
    assert_eq!(host.asked(), ["busy", "essential"]);
    host.change(|torrents| torrents[1].started = false);
    host.poll_quietly().unwrap();
    assert_eq!(host.asked(), ["essential", "single"]);
    host.assert_known();
}

#[test]
fn many_at_once_cost_one_more_list() {
    let mut host = Host::new((1..=10).map(Fake::new));
    host.poll().unwrap();
    host.change(|torrents| {
        torrents[0].completed = 3;
        torrents.extend((100..200).map(Fake::new));
    });
    host.poll().unwrap();
    assert_eq!((host.told.len(), host.asked()), (101, vec!["light", "full"]));
    host.assert_known();
    host.poll().unwrap();
    assert!(host.told.is_empty());
}

#[test]
fn what_rests_is_read_again_in_half_a_minute() {
    let mut host = Host::new((1..=5).map(Fake::new));
    host.poll().unwrap();
    host.change(|torrents| torrents[4].name = "by another client".to_owned());
    let mut polls = 0;
    while host.told != [format!("{:040x}", 5)] {
        host.poll().unwrap();
        polls += 1;
    }
    assert_eq!((polls, host.asked()), (15, vec!["full"]));
    host.assert_known();
    host.poll().unwrap();
    assert!(host.told.is_empty());
}

#[test]
fn the_cursor_decides() {
    let mut host = Host::new((1..=5).map(Fake::new));
    let first = host.poll().unwrap();
    host.cursor = Some(first.cursor + 7);
    assert!(host.poll().unwrap().full);
    host.cursor = None;
    assert!(host.poll().unwrap().full);
    assert!(!host.poll().unwrap().full);
    // An answer that never reached the host: it comes back with an older cursor.
    let lost = host.cursor;
    host.change(|torrents| torrents[0].completed = 1);
    host.poll().unwrap();
    host.cursor = lost;
    assert!(host.poll().unwrap().full);
    host.assert_known();
}

#[test]
fn after_an_error_everything_is_read_again() {
    let damages: [fn(String) -> String; 4] = [
        |xml| xml[..xml.len() / 2].to_owned(),
        |_| "garbage".to_owned(),
        |xml| xml.replacen("<value><string>0000", "<value><string>XXXX", 1),
        |xml| {
            xml.replacen(
                "<value><array><data>\r\n<value><string>",
                "<value><struct><member>",
                1,
            )
        },
    ];
    for damage in damages {
        let mut host = Host::new((1..=50).map(Fake::new));
        host.poll().unwrap();
        host.change(|torrents| torrents.iter_mut().for_each(|torrent| torrent.completed = 7));
        host.world.0.borrow_mut().damage = Some(damage);
        let error = host.poll().unwrap_err();
        assert!(matches!(error, Error::Protocol(_)), "{error:?}");
        let next = host.poll().unwrap();
        assert!(next.full && host.asked() == ["full"]);
        host.assert_known();
    }
}

#[test]
fn the_order_of_the_list_does_not_matter() {
    let mut host = Host::new((1..=20).map(Fake::new));
    host.poll().unwrap();
    host.change(|torrents| torrents.reverse());
    host.poll().unwrap();
    assert!(host.told.is_empty());
    host.change(|torrents| torrents.push(Fake::new(3)));
    host.poll().unwrap();
    assert!(host.told.is_empty(), "one listed twice is one");
}

#[derive(Clone, Debug)]
enum Step {
    Progress(usize),
    StartStop(usize),
    Move(usize),
    Add(u32),
    Remove(usize),
    Swap(usize, usize),
    Rate(usize),
    Damage,
    Poll,
    QuietPoll,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        any::<usize>().prop_map(Step::Progress),
        any::<usize>().prop_map(Step::StartStop),
        any::<usize>().prop_map(Step::Move),
        (1..80_u32).prop_map(Step::Add),
        any::<usize>().prop_map(Step::Remove),
        (any::<usize>(), any::<usize>()).prop_map(|(one, other)| Step::Swap(one, other)),
        any::<usize>().prop_map(Step::Rate),
        Just(Step::Damage),
        Just(Step::Poll),
        Just(Step::QuietPoll),
        Just(Step::QuietPoll),
    ]
}

fn apply(torrents: &mut Vec<Fake>, step: &Step) {
    let count = torrents.len();
    match step {
        Step::Add(number) if torrents.iter().all(|torrent| torrent.number != *number) => {
            torrents.push(Fake::new(*number));
        }
        Step::Progress(at) if count > 0 => torrents[at % count].completed += 1,
        Step::Rate(at) if count > 0 => torrents[at % count].rate ^= 5,
        Step::StartStop(at) if count > 0 => torrents[at % count].started ^= true,
        Step::Move(at) if count > 0 => torrents[at % count].directory.push('x'),
        Step::Remove(at) if count > 0 => drop(torrents.remove(at % count)),
        Step::Swap(one, other) if count > 0 => torrents.swap(one % count, other % count),
        _ => {}
    }
}

proptest! {
    #[test]
    fn deltas_add_up(steps in prop::collection::vec(step(), 1..120)) {
        let mut host = Host::new((1..10).map(Fake::new));
        for step in &steps {
            match step {
                Step::Damage => host.world.0.borrow_mut().damage = Some(|xml| xml[..xml.len() * 2 / 3].to_owned()),
                Step::QuietPoll => drop(host.poll_quietly()),
                Step::Poll => {
                    if host.poll().is_ok() {
                        host.assert_known();
                    }
                }
                change => host.change(|torrents| apply(torrents, change)),
            }
        }
        host.world.0.borrow_mut().damage = None;
        host.poll().unwrap();
        host.assert_known();
    }
}
