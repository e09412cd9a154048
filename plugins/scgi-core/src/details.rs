//! One torrent, its files, peers and trackers; the session.

use crate::client::{Call, Client, target};
use crate::commands::parts;
use crate::error::{Error, Subject};
use crate::fields::{self, Moving, Resting};
use crate::names;
use crate::trackers::{self, Trackers};
use crate::wire::{Clock, Transport};
use crate::xml::{Param, Response, Value};
use engine_model::{File, Peer, SessionStats, Torrent, Tracker, TrackerStatus};

/// Fields asked of one torrent, in the order of the list's first element, without the hash and the message.
const NUMBERS: [&str; 16] = [
    "d.size_bytes",
    "d.completed_bytes",
    "d.up.total",
    "d.down.rate",
    "d.up.rate",
    "d.ratio",
    "d.state",
    "d.is_active",
    "d.complete",
    "d.is_open",
    "d.hashing",
    "d.priority",
    "d.peers_connected",
    "d.peers_complete",
    "d.peers_accounted",
    "d.wanted_chunks",
];
const RESTING: [&str; 9] = [
    "d.is_multi_file",
    "d.is_private",
    "d.timestamp.started",
    "d.timestamp.finished",
    "d.chunk_size",
    "d.name",
    "d.custom1",
    "d.base_path",
    "d.connection_seed",
];

impl<T: Transport, C: Clock> Client<T, C> {
    /// One torrent, asked now; none when rTorrent has none of that hash.
    pub fn get(&self, hash: &str) -> Result<Option<Torrent>, Error> {
        let Ok(target) = target(hash) else { return Ok(None) };
        let found = self.look(&[target])?.pop().flatten();
        Ok(found.map(|(moving, resting)| fields::torrent(&moving, &resting)))
    }

    /// Reads both parts of several torrents; `None` for one that does not exist.
    pub(crate) fn look(&self, targets: &[String]) -> Result<Vec<Option<(Moving, Resting)>>, Error> {
        let methods: Vec<&str> = NUMBERS
            .iter()
            .chain(&["d.message", "d.directory"])
            .chain(&RESTING)
            .copied()
            .collect();
        let values = self.values_of(targets, &methods)?;
        let both = |(target, values): (&String, Option<Vec<Value>>)| {
            let Some(values) = values else { return Ok(None) };
            let (numbers, rest) = values.split_at(NUMBERS.len());
            let (texts, rest) = rest.split_at(2);
            let mut joined = target.clone();
            for number in numbers {
                joined.push(' ');
                joined.push_str(&number.int().to_string());
            }
            let [message, directory] =
                [0, 1].map(|at: usize| texts.get(at).map(Value::text).unwrap_or_default());
            joined.push(' ');
            joined.push_str(&message);
            Ok(Some((Moving::parse(&joined, directory)?, resting(rest))))
        };
        targets.iter().zip(values).map(both).collect()
    }

    /// The resting part of several torrents; none for one that does not exist.
    pub(crate) fn resting(&self, targets: &[String]) -> Result<Vec<Option<Resting>>, Error> {
        let values = self.values_of(targets, &RESTING)?;
        Ok(values
            .into_iter()
            .map(|values| values.map(|values| resting(&values)))
            .collect())
    }

    /// The address of each torrent's first tracker, empty where there is none; none for a torrent that does not exist.
    pub(crate) fn first_trackers(&self, targets: &[String]) -> Result<Vec<Option<String>>, Error> {
        let firsts: Vec<String> = targets.iter().map(|target| first_of(target)).collect();
        let calls: Vec<Call<'_>> = firsts.iter().map(|first| ("t.url", vec![first.into()])).collect();
        let answers = self.multicall(&calls)?;
        let url = |answer: Response| match answer {
            Ok(url) => Some(url.text()),
            Err(fault) if Error::from(fault.clone()) == Error::NotFound(Subject::Torrent) => None,
            Err(_) => Some(String::new()),
        };
        Ok(answers.into_iter().map(url).collect())
    }

    /// The counts of each torrent's trackers, empty for a torrent that does not exist.
    pub(crate) fn count_trackers(&self, targets: &[String]) -> Result<Vec<String>, Error> {
        let calls: Vec<Call<'_>> = targets.iter().map(|target| trackers::count_of(target)).collect();
        let answers = self.multicall(&calls)?.into_iter();
        Ok(answers
            .map(|answer| answer.map(|counts| counts.text()).unwrap_or_default())
            .collect())
    }

    /// Answers of each method for each torrent, then the counts of its trackers and the address of the first; none for a torrent
    /// that does not exist.
    fn values_of(&self, targets: &[String], methods: &[&str]) -> Result<Vec<Option<Vec<Value>>>, Error> {
        let firsts: Vec<String> = targets.iter().map(|target| first_of(target)).collect();
        let mut calls: Vec<Call<'_>> = Vec::new();
        for (target, first) in targets.iter().zip(&firsts) {
            calls.extend(methods.iter().map(|method| (*method, vec![target.into()])));
            calls.push(trackers::count_of(target));
            calls.push(("t.url", vec![first.into()]));
        }
        let mut answers = self.multicall(&calls)?.into_iter();
        let mut all = Vec::with_capacity(targets.len());
        for _ in targets {
            let values: Vec<_> = answers.by_ref().take(methods.len()).collect();
            let values: Result<Vec<Value>, _> = values.into_iter().collect();
            // A torrent without a first tracker, or a release that does not count them so, has nothing there.
            let trackers = answers
                .by_ref()
                .take(2)
                .map(|answer| answer.unwrap_or(Value::Nil));
            let trackers: Vec<Value> = trackers.collect();
            match values.map_err(Error::from) {
                Ok(mut values) => {
                    values.extend(trackers);
                    all.push(Some(values));
                }
                Err(Error::NotFound(Subject::Torrent)) => all.push(None),
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    /// The files, by their paths below the directory that [`Torrent::save_path`] says: rTorrent tells them below the torrent's own
    /// folder.
    pub fn files(&self, hash: &str) -> Result<Vec<File>, Error> {
        let target = target(hash)?;
        let columns = [
            "f.path=",
            "f.size_bytes=",
            "f.completed_chunks=",
            "f.size_chunks=",
            "f.priority=",
        ];
        let mut params = vec![Param::from(&target), Param::Text("")];
        params.extend(columns.iter().map(|column| Param::Text(column)));
        let answers = self.multicall(&[
            ("f.multicall", params),
            ("d.is_multi_file", vec![Param::from(&target)]),
            ("d.name", vec![Param::from(&target)]),
            ("d.directory", vec![Param::from(&target)]),
        ])?;
        let [rows, multi, name, directory] = parts(answers)?;
        let Value::Array(rows) = rows? else {
            return Err(Error::Protocol("f.multicall gave no list".to_owned()));
        };
        let resting = Resting {
            is_multi_file: multi?.int() != 0,
            name: names::decoded(&name?.text()),
            ..Resting::default()
        };
        let directory = names::decoded(&directory?.text());
        let is_shared = fields::save_path(&directory, &resting) != directory;
        let folder = is_shared.then_some(resting.name.as_str());
        Ok(rows
            .iter()
            .zip(0..)
            .map(|(row, index)| file(index, folder, &Columns(row.array())))
            .collect())
    }

    pub fn peers(&self, hash: &str) -> Result<Vec<Peer>, Error> {
        let columns = [
            "p.address=",
            "p.port=",
            "p.client_version=",
            "p.completed_percent=",
            "p.down_rate=",
            "p.up_rate=",
            "p.is_encrypted=",
        ];
        let rows = self.rows_of(hash, "p.multicall", &columns)?;
        Ok(rows.iter().map(|row| peer(&Columns(row.array()))).collect())
    }

    pub fn trackers(&self, hash: &str) -> Result<Vec<Tracker>, Error> {
        let columns = [
            "t.url=",
            "t.group=",
            "t.is_enabled=",
            "t.scrape_complete=",
            "t.scrape_incomplete=",
        ];
        let rows = self.rows_of(hash, "t.multicall", &columns)?;
        Ok(rows.iter().map(|row| tracker(&Columns(row.array()))).collect())
    }

    pub fn session_stats(&self) -> Result<SessionStats, Error> {
        let answers = self.multicall(&[
            ("system.client_version", vec![]),
            ("network.listen.port", vec![]),
            ("dht.statistics", vec![]),
            ("directory.default", vec!["".into()]),
        ])?;
        let [version, port, dht, default] = parts(answers)?;
        let dht_mode = dht
            .ok()
            .and_then(|dht| dht.member("dht").map(Value::text))
            .unwrap_or_default();
        Ok(SessionStats {
            engine_version: version?.text(),
            listen_port: port
                .ok()
                .and_then(|port| u16::try_from(port.int()).ok())
                .filter(|port| *port > 0),
            dht_enabled: !matches!(dht_mode.as_str(), "" | "off" | "disable"),
            queueing: None,
            default_save_path: default
                .ok()
                .map(|path| names::decoded(&path.text()))
                .filter(|path| path.starts_with('/')),
            free_disk_bytes: None,
        })
    }

    fn rows_of(&self, hash: &str, method: &str, columns: &[&str]) -> Result<Vec<Value>, Error> {
        let target = target(hash)?;
        let mut params = vec![Param::from(&target), Param::Text("")];
        params.extend(columns.iter().map(|column| Param::Text(column)));
        match self.call(method, &params)?? {
            Value::Array(rows) => Ok(rows),
            _ => Err(Error::Protocol(format!("{method} gave no list"))),
        }
    }
}

/// A row; a column that is missing reads as nothing.
struct Columns<'a>(&'a [Value]);

impl Columns<'_> {
    fn text(&self, at: usize) -> String {
        self.0.get(at).map(Value::text).unwrap_or_default()
    }

    fn uint(&self, at: usize) -> u64 {
        self.0.get(at).map_or(0, Value::uint)
    }

    /// Count; `None` for 0, by which rTorrent says that it does not know.
    fn count(&self, at: usize) -> Option<u32> {
        u32::try_from(self.uint(at)).ok().filter(|count| *count > 0)
    }
}

/// The first tracker of a torrent, as a target.
fn first_of(target: &str) -> String {
    format!("{target}:t0")
}

fn resting(values: &[Value]) -> Resting {
    let row = Columns(values);
    let mut trackers = Trackers::parse(&row.text(RESTING.len()));
    trackers.put_first(&row.text(RESTING.len() + 1));
    Resting {
        is_multi_file: row.uint(0) != 0,
        is_private: row.uint(1) != 0,
        started_at: row.uint(2),
        finished_at: row.uint(3),
        chunk_size: row.uint(4),
        is_super_seeding: row.text(8) == fields::SUPER_SEEDING,
        trackers,
        name: names::decoded(&row.text(5)),
        label: row.text(6),
        base_path: names::decoded(&row.text(7)),
    }
}

/// A file of a torrent with a folder of its own, if it has one.
fn file(index: u32, folder: Option<&str>, row: &Columns<'_>) -> File {
    let (done, all) = (row.uint(2), row.uint(3));
    // Small files share chunks, so more of them may be done than the file alone has.
    let progress = if all == 0 {
        1.0
    } else {
        (done as f64 / all as f64).min(1.0)
    };
    let path = names::decoded(&row.text(0));
    File {
        index,
        path: folder.map_or_else(|| path.clone(), |folder| format!("{folder}/{path}")),
        size: row.uint(1),
        progress,
        priority: row.uint(4).min(2) as u8,
        availability: None,
    }
}

fn peer(row: &Columns<'_>) -> Peer {
    Peer {
        ip: row.text(0),
        port: u16::try_from(row.uint(1)).unwrap_or(0),
        client: Some(row.text(2)).filter(|client| !client.is_empty()),
        country: None,
        progress: (row.uint(3) as f64 / 100.0).min(1.0),
        download_rate: row.uint(4),
        upload_rate: row.uint(5),
        encrypted: row.uint(6) != 0,
    }
}

fn tracker(row: &Columns<'_>) -> Tracker {
    Tracker {
        url: row.text(0),
        tier: u32::try_from(row.uint(1)).unwrap_or(0),
        status: if row.uint(2) == 0 {
            TrackerStatus::Disabled
        } else {
            TrackerStatus::Enabled
        },
        seeders: row.count(3),
        leechers: row.count(4),
        message: None,
    }
}
