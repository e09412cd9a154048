//! Request and response types.

use qm_kernel::Timestamp;
use qm_web::{FromBody, FromQuery};
use serde::Serialize;
use utoipa::ToSchema;

use crate::model::row::Row;
use crate::model::rules::{Rules, RulesChange};
use crate::model::summary::Summary;

const MAX_ID: usize = 200;

/// The engine whose torrents are asked for.
#[derive(FromQuery)]
pub struct EngineQuery {
    /// Absent: all engines.
    #[field(max = MAX_ID)]
    pub engine_id: Option<String>,
}

/// Rules of parking to change; those that are left out stay. Numbers are cut off to whole ones, and brought between their bounds
/// instead of being refused.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = ParkingRulesChange)]
pub struct RulesInput {
    pub enabled: Option<bool>,
    /// 0 or more; 0: no torrent is parked for its lack of seeders.
    pub min_seeders: Option<f64>,
    /// 1 or more.
    pub dead_after_minutes: Option<f64>,
    /// 0 or more; 0: the rule is off.
    pub stalled_after_minutes: Option<f64>,
    /// 1 to 1000.
    pub probe_batch_size: Option<f64>,
    /// 1 or more.
    pub probe_interval_minutes: Option<f64>,
    /// No less than `probeIntervalMinutes`.
    pub max_probe_interval_minutes: Option<f64>,
}

impl RulesInput {
    pub fn into_change(self) -> RulesChange {
        RulesChange {
            enabled: self.enabled,
            min_seeders: self.min_seeders,
            dead_after: self.dead_after_minutes,
            stalled_after: self.stalled_after_minutes,
            probe_batch: self.probe_batch_size,
            probe_interval: self.probe_interval_minutes,
            max_probe_interval: self.max_probe_interval_minutes,
        }
    }
}

/// Rules by which torrents are parked and probed.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ParkingRules)]
pub struct RulesView {
    pub enabled: bool,
    /// A torrent with fewer known seeders has none, if nobody is connected.
    pub min_seeders: u32,
    /// Age from which a torrent without seeders is parked.
    pub dead_after_minutes: u32,
    /// Age from which a torrent that loads nothing is parked; 0: the rule is off.
    pub stalled_after_minutes: u32,
    /// Torrents of an engine that one sweep starts, to see if somebody shares them.
    pub probe_batch_size: u32,
    /// Time from one probe to the next; doubled each time.
    pub probe_interval_minutes: u32,
    pub max_probe_interval_minutes: u32,
}

impl From<Rules> for RulesView {
    fn from(rules: Rules) -> Self {
        Self {
            enabled: rules.enabled,
            min_seeders: rules.min_seeders,
            dead_after_minutes: rules.dead_after,
            stalled_after_minutes: rules.stalled_after,
            probe_batch_size: rules.probe_batch,
            probe_interval_minutes: rules.probe_interval,
            max_probe_interval_minutes: rules.max_probe_interval,
        }
    }
}

/// A parked torrent.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ParkedTorrent)]
pub struct ParkedTorrentView {
    pub hash: String,
    pub engine_id: String,
    pub name: String,
    /// `no_seeders` or `stalled`.
    pub reason: &'static str,
    #[schema(value_type = String, format = DateTime)]
    pub parked_at: Timestamp,
    /// Instant since which it runs to see if somebody shares it.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub probing_since: Option<Timestamp>,
    /// End of the last probe that found nobody.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_probed_at: Option<Timestamp>,
    /// Probes that found nobody.
    pub probe_count: u32,
    /// Seeders that were known when it was parked or last probed.
    pub last_seeders: u32,
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

impl ParkedTorrentView {
    pub fn new((engine_id, row): (String, Row)) -> Self {
        Self {
            hash: row.hash,
            engine_id,
            name: row.name,
            reason: row.reason.as_str(),
            parked_at: row.parked_at,
            probing_since: row.probing_since,
            last_probed_at: row.last_probed_at,
            probe_count: row.probe_count,
            last_seeders: row.last_seeders,
            updated_at: row.updated_at,
        }
    }
}

/// Numbers of torrents in a sweep over all engines; zeros while parking is switched off.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ParkingSweep)]
pub struct SweepView {
    pub parked: u64,
    /// Those that somebody shares again, or that are complete: they run as before.
    pub revived: u64,
    /// Those that were started to see if somebody shares them.
    pub probed: u64,
    /// Those whose probe found nobody.
    pub still_dead: u64,
}

impl From<Summary> for SweepView {
    fn from(summary: Summary) -> Self {
        Self {
            parked: summary.parked,
            revived: summary.revived,
            probed: summary.probed,
            still_dead: summary.still_dead,
        }
    }
}

/// The engine of a parked torrent.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = UnparkInput)]
pub struct UnparkInput {
    #[field(not_empty, max = MAX_ID)]
    pub engine_id: String,
}

/// Confirmation that a torrent is not parked.
#[derive(Serialize, ToSchema)]
#[schema(as = Unparked)]
pub struct UnparkedView {
    pub success: bool,
}
