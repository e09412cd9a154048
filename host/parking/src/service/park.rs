//! The second half of a pass: torrents that are parked now, and those that are started to see if somebody shares them.

use qm_ports::engine::{Command, Torrent, TorrentState};
use qm_ports::parking::ParkReason;

use super::pass::Pass;
use crate::error::ParkingError;
use crate::model::judge::{find_reason, known_seeders};
use crate::model::row::Row;

/// Torrents that one pass parks; the others follow in the next.
const PARKED_A_PASS: usize = 1000;

impl Pass<'_> {
    /// Parks torrents that nobody shares.
    pub async fn park_dead(&mut self) -> Result<(), ParkingError> {
        let now = self.now();
        let is_dead = |torrent: &Torrent| {
            let row = self.rows.get(&*torrent.hash);
            if row.is_some_and(Row::is_parked) {
                return None;
            }
            let released_at = row.and_then(|row| row.released_at);
            let reason = find_reason(torrent, released_at, self.rules, now)?;
            self.is_free(&torrent.hash).then_some(reason)
        };
        let new = |torrent: &Torrent, reason: ParkReason| Row {
            hash: torrent.hash.to_string(),
            name: torrent.name.clone(),
            reason,
            parked_at: now,
            rests_since: None,
            probing_since: None,
            last_probed_at: None,
            probe_count: 0,
            last_seeders: known_seeders(torrent),
            released_at: None,
            updated_at: now,
        };
        let dead: Vec<Row> = self
            .list
            .torrents()
            .filter_map(|torrent| Some(new(torrent, is_dead(torrent)?)))
            .take(PARKED_A_PASS)
            .collect();
        if dead.is_empty() {
            return Ok(());
        }
        let hashes: Vec<String> = dead.iter().map(|row| row.hash.clone()).collect();
        self.rows
            .extend(dead.into_iter().map(|row| (row.hash.clone(), row)));
        self.store(&hashes, Vec::new()).await?;
        self.pause(hashes, Vec::new()).await
    }

    /// Starts the torrents whose probe is due, those first that have waited longest.
    pub async fn begin_probes(&mut self) -> Result<(), ParkingError> {
        let now = self.now();
        let is_ready = |row: &&Row| {
            let torrent = self.find_free(&row.hash);
            row.is_resting()
                && row.due_at(self.rules) <= now
                && torrent.is_some_and(|torrent| torrent.state != TorrentState::Checking)
        };
        let mut due: Vec<_> = self
            .rows
            .values()
            .filter(is_ready)
            .map(|row| (row.due_at(self.rules), row.hash.clone()))
            .collect();
        due.sort_unstable();
        due.truncate(self.rules.probe_batch as usize);
        let due: Vec<String> = due.into_iter().map(|(_, hash)| hash).collect();
        self.change(&due, |row| row.probe(now));
        self.store(&due, Vec::new()).await?;
        let forced = self.order(&due, &Command::ForceStart(true)).await;
        // A client that cannot force a start may start it all the same.
        let (others, mut begun): (Vec<_>, Vec<_>) = due
            .into_iter()
            .filter(|hash| forced.done.contains(hash) || forced.refused.contains(hash))
            .partition(|hash| forced.refused.contains(hash));
        let started = self.order(&others, &Command::Resume).await;
        let (refused, others): (Vec<_>, Vec<_>) = others
            .into_iter()
            .partition(|hash| started.refused.contains(hash));
        begun.extend(others.into_iter().filter(|hash| started.done.contains(hash)));
        self.summary.probed += begun.len() as u64;
        let now = self.now();
        self.change(&refused, |row| row.rest(now));
        self.store(&refused, Vec::new()).await
    }
}
