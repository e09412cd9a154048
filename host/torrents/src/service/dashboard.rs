//! The data of the dashboard: counts of torrents, recent events, and the results of a search. No client is asked.

use std::sync::Arc;

use qm_engines::model::ledger::{Counters, Growth};
use qm_engines::repo::ledger;
use qm_engines::{Engine, TorrentsError};
use qm_platform::{AuditRecord, AuditResult, AuditTrail};
use qm_ports::engine::TorrentState;

use super::{EngineChoice, Torrents};
use crate::dto::dashboard::SummaryView;
use crate::model::activity;
use crate::model::activity::{Event, Line};
use crate::model::stored::SnapshotRow;
use crate::repo;

impl Torrents {
    /// Torrents by what they are doing, from the last snapshots; bytes from the ledger, as far as it is stored. Without an
    /// engine, or before its first list, everything is 0.
    pub async fn summary(&self, choice: &EngineChoice) -> Result<SummaryView, TorrentsError> {
        let engines: Vec<Arc<Engine>> = match choice {
            EngineChoice::One(id) => self.resolve(id.as_deref()).into_iter().collect(),
            EngineChoice::All => self.engines.all(),
        };
        let mut summary = SummaryView {
            engine_online: !engines.is_empty(),
            ..SummaryView::default()
        };
        let mut moved = Counters::default();
        let mut tx = self.db.begin_read().await?;
        for engine in &engines {
            let stored = ledger::load(&mut tx, &engine.id).await?;
            let of_torrents = count(engine, &mut summary);
            moved = moved.plus(stored.map_or(of_torrents, |ledger| ledger.totals(Growth::default())));
        }
        summary.total_downloaded = moved.downloaded;
        summary.total_uploaded = moved.uploaded;
        if moved.downloaded > 0 {
            summary.ratio = moved.uploaded as f64 / moved.downloaded as f64;
        }
        Ok(summary)
    }

    /// Recent events, newest first, like events on one line.
    pub async fn activity(&self) -> Result<Vec<Line>, TorrentsError> {
        let mut tx = self.db.begin_read().await?;
        let rows = AuditTrail::newest(&mut tx, activity::ROWS).await?;
        let events: Vec<Event> = rows.into_iter().map(event).collect();
        Ok(activity::lines(&events))
    }

    /// Stored torrents with `text` in their name, label, save path or hash, those seen first last. A blank text finds none.
    pub async fn search(&self, text: &str, limit: u64) -> Result<Vec<SnapshotRow>, TorrentsError> {
        let text = text.trim();
        // No stored text holds a NUL.
        if text.is_empty() || text.contains('\0') {
            return Ok(Vec::new());
        }
        Ok(repo::search::search(&mut self.db.begin_read().await?, text, limit).await?)
    }
}

/// Adds an engine's torrents to the summary; returns what they have moved.
fn count(engine: &Engine, summary: &mut SummaryView) -> Counters {
    let Some(snapshot) = engine.snapshot() else {
        return Counters::default();
    };
    let live = engine.status().is_some_and(|status| status.online);
    for torrent in snapshot.torrents() {
        summary.total_torrents += 1;
        if live {
            summary.download_rate = summary.download_rate.saturating_add(torrent.download_rate);
            summary.upload_rate = summary.upload_rate.saturating_add(torrent.upload_rate);
        }
        if torrent.progress >= 1.0 {
            summary.completed += 1;
        }
        match torrent.state {
            TorrentState::Downloading => summary.downloading += 1,
            TorrentState::Seeding => summary.seeding += 1,
            TorrentState::Paused | TorrentState::Stopped => summary.paused += 1,
            TorrentState::Error => summary.errored += 1,
            TorrentState::Queued
            | TorrentState::Checking
            | TorrentState::Completed
            | TorrentState::Allocating
            | TorrentState::Unknown => {}
        }
    }
    Counters::sum(snapshot.torrents())
}

fn event(row: AuditRecord) -> Event {
    let user = row.user.map(|user| {
        let shown = user.display_name.filter(|name| !name.trim().is_empty());
        shown.unwrap_or(user.username)
    });
    Event {
        id: row.id,
        action: row.action,
        failed: row.result == AuditResult::Failure.as_str(),
        user_id: row.user_id,
        user,
        metadata: row.metadata,
        at: row.created_at,
    }
}
