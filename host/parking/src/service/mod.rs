//! Use cases of this area. [`ParkingLot`] is what the area wires.

mod follow;
mod park;
mod pass;
mod rules;
mod sweep;
#[cfg(test)]
mod tests;
mod unpark;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use qm_engines::Engines;
use qm_engines::model::intake::ParkMarks;
use qm_kernel::{Permission, Timestamp};
use qm_lanes::IgnorePoison;
use qm_platform::Ground;
use qm_realtime::Hub;
use qm_torrent_data::TorrentData;
use tokio_util::sync::CancellationToken;

use crate::error::ParkingError;
use crate::model::row::Row;
use crate::repo;
use sweep::Sweeps;

/// Permission of whoever sets the rules, or has torrents parked by them.
pub const TO_PARK: &[Permission] = &[Permission::TorrentsPause];

/// Parts of the server that this area works with.
pub struct ParkingDeps {
    pub ground: Ground,
    pub engines: Arc<Engines>,
    pub data: Arc<TorrentData>,
    pub hub: Hub,
}

/// Parked torrents of all engines.
pub struct ParkingLot {
    ground: Ground,
    engines: Arc<Engines>,
    data: Arc<TorrentData>,
    hub: Hub,
    /// Parked torrents by engine, as they are stored.
    book: Mutex<HashMap<String, Arc<Standing>>>,
    /// Held while the book is read anew: what was read last is what it has.
    reading: tokio::sync::Mutex<()>,
    /// One an engine, held by whoever changes its rows or starts and pauses its parked torrents.
    turns: Mutex<HashMap<String, Arc<tokio::sync::Mutex<Turn>>>>,
    sweeps: Sweeps,
    /// Ends the waits of requests.
    stopping: CancellationToken,
}

/// Parked torrents of an engine in memory.
struct Standing {
    rows: Vec<Row>,
    marks: Arc<ParkMarks>,
}

impl Standing {
    /// Takes those that are parked among the rows.
    fn new(mut rows: Vec<Row>) -> Self {
        rows.retain(Row::is_parked);
        let marks = rows
            .iter()
            .filter_map(|row| Some((row.hash.clone(), Arc::new(row.mark()?))));
        Self {
            marks: Arc::new(marks.collect()),
            rows,
        }
    }
}

/// State of an engine that outlives a sweep.
#[derive(Default)]
struct Turn {
    /// Instant since when a torrent is missing from the list.
    missing: HashMap<String, Timestamp>,
}

impl ParkingLot {
    /// Reads what is stored.
    pub async fn start(deps: ParkingDeps) -> Result<Arc<Self>, ParkingError> {
        let lot = Arc::new(Self {
            sweeps: Sweeps::beginning_at(deps.ground.ctx.now()),
            ground: deps.ground,
            engines: deps.engines,
            data: deps.data,
            hub: deps.hub,
            book: Mutex::default(),
            reading: tokio::sync::Mutex::default(),
            turns: Mutex::default(),
            stopping: CancellationToken::new(),
        });
        lot.read_book().await?;
        Ok(lot)
    }

    /// Ends the waits of requests.
    pub fn stop(&self) {
        self.stopping.cancel();
    }

    /// Reads the parked torrents of all engines again, and marks them in lists.
    async fn read_book(&self) -> Result<(), ParkingError> {
        let _reading = self.reading.lock().await;
        let mut tx = self.ground.db.begin_read().await?;
        let parked = repo::list_parked(&mut tx).await?;
        drop(tx);
        let mut by_engine: HashMap<String, Vec<Row>> = HashMap::new();
        for (engine_id, row) in parked {
            by_engine.entry(engine_id).or_default().push(row);
        }
        {
            let mut book = self.book.lock().ignore_poison();
            // The marks of an engine that has none any more are taken away.
            for engine_id in book.keys() {
                by_engine.entry(engine_id.clone()).or_default();
            }
            let standings = by_engine
                .into_iter()
                .map(|(engine_id, rows)| (engine_id, Arc::new(Standing::new(rows))));
            *book = standings.collect();
        }
        self.show_marks();
        Ok(())
    }

    /// Reads the parked torrents of an engine again.
    async fn read_engine(&self, engine_id: &str) -> Result<(), ParkingError> {
        let _reading = self.reading.lock().await;
        let mut tx = self.ground.db.begin_read().await?;
        let rows = repo::list_of(&mut tx, engine_id).await?;
        drop(tx);
        {
            let mut book = self.book.lock().ignore_poison();
            book.insert(engine_id.to_owned(), Arc::new(Standing::new(rows)));
        }
        self.show_marks();
        Ok(())
    }

    /// Marks parked torrents in lists, also in those of engines that were loaded since.
    fn show_marks(&self) {
        for engine in self.engines.all() {
            let standing = self.standing(&engine.id);
            if standing.is_some_and(|standing| engine.intakes.set_parked(&standing.marks)) {
                engine.poke();
            }
        }
    }

    fn standing(&self, engine_id: &str) -> Option<Arc<Standing>> {
        self.book.lock().ignore_poison().get(engine_id).cloned()
    }

    fn turn_of(&self, engine_id: &str) -> Arc<tokio::sync::Mutex<Turn>> {
        let mut turns = self.turns.lock().ignore_poison();
        turns.entry(engine_id.to_owned()).or_default().clone()
    }

    /// Lets go of what is kept for engines that are not loaded any more. What is in use stays.
    fn drop_turns(&self) {
        let engines = self.engines.all();
        let mut turns = self.turns.lock().ignore_poison();
        turns.retain(|id, turn| {
            Arc::strong_count(turn) > 1 || engines.iter().any(|engine| *engine.id == **id)
        });
    }
}
