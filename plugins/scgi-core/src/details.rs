//! One torrent, its files, peers and trackers; the session.

use crate::client::{Call, Client, target};
use crate::commands::parts;
use crate::error::{Error, Subject};
use crate::fields::{self, Moving, Resting};
use crate::wire::{Clock, Transport};
use crate::xml::{Param, Value};
use engine_model::{File, Peer, SessionStats, Torrent, Tracker, TrackerStatus};

/// What one torrent is asked for, in the order of the list's first element, without the hash and the message.
const NUMBERS: [&str; 15] = [
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
];
const RESTING: [&str; 7] = [
    "d.is_multi_file",
    "d.is_private",
    "d.timestamp.started",
    "d.timestamp.finished",
    "d.name",
    "d.custom1",
    "d.base_path",
];

impl<T: Transport, C: Clock> Client<T, C> {
    /// One torrent, asked now; none when rTorrent has none of that hash.
    pub fn get(&self, hash: &str) -> Result<Option<Torrent>, Error> {
        let Ok(target) = target(hash) else { return Ok(None) };
        let found = self.look(&[target])?.pop().flatten();
        Ok(found.map(|(moving, resting)| fields::torrent(&moving, &resting)))
    }

    /// Both parts of several torrents; none for one that does not exist.
    pub(crate) fn look(&self, targets: &[String]) -> Result<Vec<Option<(Moving, Resting)>>, Error> {
        let methods = || {
            NUMBERS
                .iter()
                .chain(&["d.message", "d.directory"])
                .chain(&RESTING)
        };
        let values = self.values_of(targets, &methods().copied().collect::<Vec<_>>())?;
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

    /// What each method answers for each torrent; none for a torrent that does not exist.
    fn values_of(&self, targets: &[String], methods: &[&str]) -> Result<Vec<Option<Vec<Value>>>, Error> {
        let of = |target| {
            methods
                .iter()
                .map(move |method| (*method, vec![Param::from(target)]))
        };
        let calls: Vec<Call<'_>> = targets.iter().flat_map(of).collect();
        let mut answers = self.multicall(&calls)?.into_iter();
        let mut all = Vec::with_capacity(targets.len());
        for _ in targets {
            let values: Vec<_> = answers.by_ref().take(methods.len()).collect();
            let values: Result<Vec<Value>, _> = values.into_iter().collect();
            match values.map_err(Error::from) {
                Ok(values) => all.push(Some(values)),
                Err(Error::NotFound(Subject::Torrent)) => all.push(None),
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    pub fn files(&self, hash: &str) -> Result<Vec<File>, Error> {
        let columns = [
            "f.path=",
            "f.size_bytes=",
            "f.completed_chunks=",
            "f.size_chunks=",
            "f.priority=",
        ];
        let rows = self.rows_of(hash, "f.multicall", &columns)?;
        Ok(rows
            .iter()
            .zip(0..)
            .map(|(row, index)| file(index, &Columns(row.array())))
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
        ])?;
        let [version, port, dht] = parts(answers)?;
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

    /// A count, of which 0 says that rTorrent does not know.
    fn count(&self, at: usize) -> Option<u32> {
        u32::try_from(self.uint(at)).ok().filter(|count| *count > 0)
    }
}

fn resting(values: &[Value]) -> Resting {
    let row = Columns(values);
    Resting {
        is_multi_file: row.uint(0) != 0,
        is_private: row.uint(1) != 0,
        started_at: row.uint(2),
        finished_at: row.uint(3),
        name: row.text(4),
        label: row.text(5),
        base_path: row.text(6),
    }
}

fn file(index: u32, row: &Columns<'_>) -> File {
    let (done, all) = (row.uint(2), row.uint(3));
    // Small files share chunks, so more of them may be done than the file alone has.
    let progress = if all == 0 {
        1.0
    } else {
        (done as f64 / all as f64).min(1.0)
    };
    File {
        index,
        path: row.text(0),
        size: row.uint(1),
        progress,
        priority: row.uint(4).min(2) as u8,
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
