//! A made-up rTorrent that answers as the real one does, and the host's side of the poll.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use engine_model::{Attention, State, Torrent};
use scgi_core::{Client, Clock, Endpoint, Error, NetError, Poller, Reply, Summary, Transport};

use super::script::{Frozen, endpoint};

#[derive(Clone, Debug, PartialEq)]
pub struct Fake {
    pub number: u32,
    pub name: String,
    pub label: String,
    pub directory: String,
    pub completed: u64,
    pub started: bool,
    pub rate: u64,
    pub message: String,
    /// Counts, as the list tells them.
    pub trackers: String,
}

impl Fake {
    pub fn new(number: u32) -> Self {
        Self {
            number,
            name: format!("t{number} <&>"),
            label: String::new(),
            directory: "/d".to_owned(),
            completed: 0,
            started: true,
            rate: 0,
            message: String::new(),
            trackers: "3:1:0:0:0/".to_owned(),
        }
    }

    pub fn hash(&self) -> String {
        format!("{:040x}", self.number)
    }

    pub fn moving(&self) -> String {
        let started = u8::from(self.started);
        format!(
            "{} 1000 {} 5 {} 0 0 {started} {started} 0 {started} 0 2 0 0 0 9 {}",
            self.hash().to_uppercase(),
            self.completed,
            self.rate,
            self.message
        )
    }

    pub fn essential(&self) -> String {
        let started = u8::from(self.started);
        let hash = self.hash().to_uppercase();
        format!("{hash} {started} {started} 0 {started} 0 2 9 {}", self.message)
    }

    /// Answer of rTorrent when it is asked for this one alone.
    pub fn value(&self, method: &str) -> String {
        let flag = || u8::from(self.started).to_string();
        match method {
            "d.name" => self.name.clone(),
            "d.custom1" => self.label.clone(),
            "d.directory" => self.directory.clone(),
            "d.message" => self.message.clone(),
            "d.base_path" | "d.connection_seed" => String::new(),
            "d.timestamp.started" => "7".to_owned(),
            "d.size_bytes" => "1000".to_owned(),
            "d.completed_bytes" => self.completed.to_string(),
            "d.up.total" => "5".to_owned(),
            "d.down.rate" => self.rate.to_string(),
            "d.state" | "d.is_active" | "d.is_open" => flag(),
            "d.priority" => "2".to_owned(),
            "d.wanted_chunks" => "9".to_owned(),
            "branch" => self.trackers.clone(),
            "t.url" => format!("http://tracker-{}.example/announce", self.number),
            _ => "0".to_owned(),
        }
    }

    /// Facts that the host must know of it.
    pub fn seen(&self) -> (String, String, Option<String>, String, u64, State) {
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

pub fn shown(torrent: &Torrent) -> (String, String, Option<String>, String, u64, State) {
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
pub struct World {
    pub torrents: Vec<Fake>,
    /// Fault of the next answer.
    pub damage: Option<fn(String) -> String>,
    /// Kinds of questions asked so far.
    pub asked: Vec<&'static str>,
    /// True for a release without `d.multicall.filtered`.
    pub is_old: bool,
    /// True for a release without `branch`.
    pub cannot_branch: bool,
}

#[derive(Clone, Default)]
pub struct FakeClient(pub Rc<RefCell<World>>);

pub fn element(value: &str) -> String {
    let value = value
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    format!("<value><string>{value}</string></value>\r\n")
}

pub fn array(content: &str) -> String {
    format!("<value><array><data>\r\n{content}</data></array></value>\r\n")
}

pub fn fault(code: i32, text: &str) -> String {
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
        } else if request.contains("branch=") && self.cannot_branch {
            self.asked.push("full");
            "<value><i8>9</i8></value>\r\n"
                .repeat(4)
                .replace("<value>", "<value><array><data>\r\n<value>")
                .replace("</i8></value>", "</i8></value>\r\n</data></array></value>")
                + &fault(-503, "Unsupported command")
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
                    row += &element("0 0 7 0 0 seed");
                    row += &(element(&torrent.name) + &element(&torrent.label) + &element(""));
                    let counts = if self.cannot_branch { "" } else { &torrent.trackers };
                    row += &element(counts);
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
                    .find(|torrent| hash.starts_with(&torrent.hash().to_uppercase()));
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

pub struct Once(Vec<u8>);

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
pub struct Host {
    pub world: FakeClient,
    pub clock: Frozen,
    pub client: Client<FakeClient, Frozen>,
    pub poller: Poller,
    pub cursor: Option<u64>,
    pub known: HashMap<String, Torrent>,
    /// Hashes the last poll told, in order.
    pub told: Vec<String>,
}

impl Host {
    pub fn new(torrents: impl IntoIterator<Item = Fake>) -> Self {
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

    pub fn poll(&mut self) -> Result<Summary, Error> {
        self.poll_for(Attention::Watched)
    }

    pub fn poll_quietly(&mut self) -> Result<Summary, Error> {
        self.poll_for(Attention::Quiet)
    }

    pub fn poll_for(&mut self, attention: Attention) -> Result<Summary, Error> {
        self.poll_fresh(attention, &[])
    }

    pub fn poll_fresh(&mut self, attention: Attention, fresh: &[String]) -> Result<Summary, Error> {
        self.clock.sleep_ms(2000);
        self.world.0.borrow_mut().asked.clear();
        let mut told = Vec::new();
        let summary =
            self.poller
                .poll_fresh(&self.client, self.cursor, attention, fresh, &mut |torrent| {
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

    pub fn change(&self, change: impl FnOnce(&mut Vec<Fake>)) {
        change(&mut self.world.0.borrow_mut().torrents);
    }

    pub fn asked(&self) -> Vec<&'static str> {
        self.world.0.borrow().asked.clone()
    }

    /// The host knows what is.
    pub fn assert_known(&self) {
        let mut known: Vec<_> = self.known.values().map(shown).collect();
        let mut is: Vec<_> = self.world.0.borrow().torrents.iter().map(Fake::seen).collect();
        known.sort_by(|left, right| left.0.cmp(&right.0));
        is.sort_by(|left, right| left.0.cmp(&right.0));
        assert_eq!(known, is);
    }
}
