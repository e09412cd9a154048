//! Transfers as they are asked for and answered.

use qm_kernel::Timestamp;
use qm_web::{Fields, FromQuery};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::model::answers::{Choice, History, Point, Question, Top, TopQuestion, TopTorrent};
use crate::model::{MOST_TOP, Step};

const MAX_TEXT: usize = 64;
/// Torrents of a list when the request does not say.
const USUAL_TOP: usize = 10;
const BY: &[&str] = &["uploaded", "downloaded"];

/// Query of the counts by steps.
pub struct StatsQuery(pub Question);

impl FromQuery for StatsQuery {
    fn from_query(f: &mut Fields<'_>) -> Self {
        let engines = read_engines(f);
        let hash = f
            .string("hash")
            .about("Info-hash of a torrent; absent: of all torrents together.")
            .given()
            .max(MAX_TEXT)
            .optional();
        if hash
            .as_deref()
            .is_some_and(|hash| hash.len() != 40 || !hash.bytes().all(|digit| digit.is_ascii_hexdigit()))
        {
            f.broken("hash must be an info-hash of 40 hexadecimal digits");
        }
        let step = f
            .string("step")
            .about("Length of a step: `5m` (kept for 2 days), `hour` (60 days) or `day` (5 years, in the time zone `app.timezone`); absent: `hour`.")
            .given()
            .one_of(Step::NAMES)
            .optional();
        let from = read_instant(
            f,
            "from",
            "Instant; the step that it lies in is the first. Absent: a day, a week or 90 days before `to`, by the step.",
        );
        let to = read_instant(f, "to", "Instant before which the last step begins; absent: now.");
        Self(Question {
            engines,
            hash: hash.map(|hash| hash.to_ascii_lowercase()),
            step: step.and_then(|step| Step::from_name(&step)).unwrap_or(Step::Hour),
            from,
            to,
        })
    }
}

/// Query of the torrents that moved most.
pub struct TopQuery(pub TopQuestion);

impl FromQuery for TopQuery {
    fn from_query(f: &mut Fields<'_>) -> Self {
        let engines = read_engines(f);
        let by = f
            .string("by")
            .about("Bytes by which the torrents are sorted; absent: `uploaded`.")
            .given()
            .one_of(BY)
            .optional();
        let from = read_instant(
            f,
            "from",
            "Instant; the step that it lies in counts whole. Absent: a day before `to`.",
        );
        let to = read_instant(f, "to", "Instant before which the last step begins; absent: now.");
        let limit = f.integer("limit").min(1).max(MOST_TOP as i64).optional();
        Self(TopQuestion {
            engines,
            by_upload: by.as_deref() != Some("downloaded"),
            from,
            to,
            limit: limit
                .and_then(|limit| usize::try_from(limit).ok())
                .unwrap_or(USUAL_TOP),
        })
    }
}

fn read_engines(f: &mut Fields<'_>) -> Choice {
    let id = f
        .string("engineId")
        .about("An engine, or `all`; absent: the default one.")
        .optional()
        .filter(|id| !id.is_empty());
    match id {
        Some(id) if id == "all" => Choice::All,
        id => Choice::One(id),
    }
}

fn read_instant(f: &mut Fields<'_>, name: &'static str, about: &'static str) -> Option<Timestamp> {
    let text = f.string(name).about(about).given().max(MAX_TEXT).optional()?;
    let instant: Result<Timestamp, _> = serde_json::from_value(Value::String(text));
    // Nobody asks for what was before, and days are reckoned in years of four digits.
    let instant = instant.ok().filter(|at| at.ms() >= 0);
    if instant.is_none() {
        f.broken(format!(
            "{name} must be an instant from 1970 on in ISO 8601, e.g. 2031-04-02T09:15:00Z"
        ));
    }
    instant
}

/// Bytes that were moved.
#[derive(Serialize, ToSchema)]
#[schema(as = TransferTotals)]
pub struct TotalsView {
    pub downloaded: u64,
    pub uploaded: u64,
}

/// Counts of a step of time. Rates are bytes per second.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TransferStep)]
pub struct StepView {
    /// Begin of the step.
    #[schema(value_type = String, format = DateTime)]
    pub start: Timestamp,
    /// Begin of the next one. A day has 23 or 25 hours where clocks are changed.
    #[schema(value_type = String, format = DateTime)]
    pub end: Timestamp,
    pub downloaded: u64,
    pub uploaded: u64,
    /// Over the part of the step that has passed.
    pub average_download_rate: u64,
    pub average_upload_rate: u64,
    /// As the client told it at a look every five seconds. Of several engines: the sum of their peaks, which they need not have had at
    /// one time.
    pub peak_download_rate: u64,
    pub peak_upload_rate: u64,
    /// Seconds in which these bytes moved: longer than the step where the engine or the server was away before, as what moved
    /// meanwhile is counted when it is seen again. The averages take that into account.
    pub seconds: u64,
    /// Number of torrents that moved something, on average; null in counts of a torrent.
    pub active_torrents: Option<f64>,
    /// Largest number of torrents that moved something at once; null in counts of a torrent.
    pub peak_active_torrents: Option<u64>,
}

impl From<Point> for StepView {
    fn from(point: Point) -> Self {
        let tally = point.tally;
        Self {
            start: Timestamp::from_ms(point.start),
            end: Timestamp::from_ms(point.end),
            downloaded: tally.moved.downloaded,
            uploaded: tally.moved.uploaded,
            average_download_rate: point.average_download,
            average_upload_rate: point.average_upload,
            peak_download_rate: tally.peak_download,
            peak_upload_rate: tally.peak_upload,
            seconds: tally.covered_ms / 1000,
            active_torrents: point.active.map(|active| (active * 100.0).round() / 100.0),
            peak_active_torrents: point.peak_active,
        }
    }
}

/// Transfers by steps of time.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TransferHistory)]
pub struct StatsView {
    /// An engine's id, or `all`.
    pub engine_id: String,
    /// Info-hash of the torrent whose counts these are; null for those of all torrents together.
    pub hash: Option<String>,
    /// `5m`, `hour` or `day`.
    pub step: &'static str,
    /// Begin of the first step.
    #[schema(value_type = String, format = DateTime)]
    pub from: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub to: Timestamp,
    /// The oldest first. A step in which nobody looked at the engine, or in which the torrent moved nothing, is left out.
    pub items: Vec<StepView>,
    /// Sums of the items.
    pub totals: TotalsView,
}

impl StatsView {
    pub fn new(history: History, hash: Option<String>) -> Self {
        Self {
            engine_id: history.engine_id.unwrap_or_else(|| "all".to_owned()),
            hash,
            step: history.step.as_str(),
            from: history.from,
            to: history.to,
            items: history.points.into_iter().map(StepView::from).collect(),
            totals: TotalsView {
                downloaded: history.moved.downloaded,
                uploaded: history.moved.uploaded,
            },
        }
    }
}

/// A torrent with what it moved.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TransferOfTorrent)]
pub struct TopTorrentView {
    pub engine_id: String,
    pub hash: String,
    /// The name that it had when it moved something last.
    pub name: String,
    pub downloaded: u64,
    pub uploaded: u64,
    /// When its engine listed it no longer; null while it does.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub gone_at: Option<Timestamp>,
}

impl From<TopTorrent> for TopTorrentView {
    fn from(torrent: TopTorrent) -> Self {
        Self {
            engine_id: torrent.engine_id,
            hash: torrent.hash,
            name: torrent.name,
            downloaded: torrent.moved.downloaded,
            uploaded: torrent.moved.uploaded,
            gone_at: torrent.gone_at,
        }
    }
}

/// Torrents that moved most in a range.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TopTransfers)]
pub struct TopView {
    /// An engine's id, or `all`.
    pub engine_id: String,
    /// Step whose counts were added up, chosen by the range: `5m`, `hour` or `day`.
    pub step: &'static str,
    /// Begin of the first step.
    #[schema(value_type = String, format = DateTime)]
    pub from: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub to: Timestamp,
    /// The one that moved most first. One that moved nothing is left out.
    pub items: Vec<TopTorrentView>,
}

impl From<Top> for TopView {
    fn from(top: Top) -> Self {
        Self {
            engine_id: top.engine_id.unwrap_or_else(|| "all".to_owned()),
            step: top.step.as_str(),
            from: top.from,
            to: top.to,
            items: top.torrents.into_iter().map(TopTorrentView::from).collect(),
        }
    }
}
