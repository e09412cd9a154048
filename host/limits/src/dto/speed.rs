//! Limits of speed.

use qm_kernel::Timestamp;
use qm_ports::engine::RateLimits;
use qm_web::{Fields, FromBody};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::model::schedule::{DAYS, Entry, MAX_ENTRIES, MINUTES_OF_DAY, Schedule, clock_text, read_clock};
use crate::model::speed::{Chosen, SpeedInput, mode_word};
use crate::model::views::SpeedView;

/// The largest limit in bytes per second, a terabyte.
const MAX_RATE: u64 = TOP_RATE.unsigned_abs();
const TOP_RATE: i64 = 1 << 40;
const MODES: &[&str] = &["normal", "alternative"];

/// Limits of an engine on all torrents together, in bytes per second; 0, null and what is left out are no limit.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = EngineSpeedInput)]
pub struct SpeedBody {
    #[field(max = TOP_RATE)]
    pub upload: Option<u64>,
    #[field(max = TOP_RATE)]
    pub download: Option<u64>,
    /// The second set of limits: `{upload, download}`.
    #[field(with = read_alternative)]
    #[schema(value_type = Option<RatesView>)]
    pub alternative: RateLimits,
    /// Time table of the week, in the time zone of the operator; 50 entries at most, which do not overlap. Between them the normal
    /// limits are in force.
    #[field(with = read_schedule)]
    #[schema(value_type = Option<Vec<EntryView>>)]
    pub schedule: Schedule,
}

impl SpeedBody {
    pub fn into_input(self) -> SpeedInput {
        SpeedInput {
            normal: RateLimits {
                upload: self.upload.filter(|limit| *limit > 0),
                download: self.download.filter(|limit| *limit > 0),
            },
            alternative: self.alternative,
            schedule: self.schedule,
        }
    }
}

/// Mode to choose.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = EngineSpeedMode)]
pub struct ModeBody {
    /// `auto`, as the time table says, `normal` or `alternative`.
    #[field(one_of = Chosen::WORDS)]
    pub mode: String,
}

impl ModeBody {
    pub fn chosen(&self) -> Chosen {
        Chosen::from_word(&self.mode)
    }
}

/// Limits in bytes per second; 0 is no limit.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = EngineRates)]
pub struct RatesView {
    pub upload: u64,
    pub download: u64,
}

impl From<RateLimits> for RatesView {
    fn from(limits: RateLimits) -> Self {
        Self {
            upload: limits.upload.unwrap_or(0),
            download: limits.download.unwrap_or(0),
        }
    }
}

/// Entry of a time table.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = EngineSpeedEntry)]
pub struct EntryView {
    /// Days on which it begins: `mon`, `tue`, `wed`, `thu`, `fri`, `sat`, `sun`.
    pub days: Vec<&'static str>,
    /// `HH:MM`
    pub from: String,
    /// `HH:MM`, up to `24:00`; not after `from` means on the next day.
    pub to: String,
    /// `normal` or `alternative`.
    pub mode: &'static str,
}

impl From<&Entry> for EntryView {
    fn from(entry: &Entry) -> Self {
        let days = entry.days.iter();
        Self {
            days: days
                .filter_map(|day| DAYS.get(usize::from(*day)).copied())
                .collect(),
            from: clock_text(entry.from),
            to: clock_text(entry.to),
            mode: mode_word(entry.mode()),
        }
    }
}

/// Limits of speed of an engine.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = EngineSpeed)]
pub struct EngineSpeedView {
    pub engine_id: String,
    /// False: the server sets no limits, and the client has its own.
    pub is_set: bool,
    /// Bytes per second; 0 is no limit.
    pub upload: u64,
    /// Bytes per second; 0 is no limit.
    pub download: u64,
    pub alternative: RatesView,
    pub schedule: Vec<EntryView>,
    /// `auto`, `normal` or `alternative`: as somebody chose.
    pub mode: &'static str,
    /// `normal` or `alternative`: the set that is in force now; null where none is set.
    pub current: Option<&'static str>,
    /// When the time table changes that next; null when it does not.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub until: Option<Timestamp>,
    /// True when the client was told what is in force now.
    pub is_applied: bool,
    /// Why it was not told.
    pub error: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub set_at: Option<Timestamp>,
}

impl From<SpeedView> for EngineSpeedView {
    fn from(view: SpeedView) -> Self {
        let is_set = view.speed.is_some();
        let speed = view.speed.unwrap_or_default();
        let standing = view.standing.filter(|standing| Some(standing.mode) == view.mode);
        let normal = RatesView::from(speed.normal);
        Self {
            engine_id: view.engine_id,
            is_set,
            upload: normal.upload,
            download: normal.download,
            alternative: speed.alternative.into(),
            schedule: speed.schedule.entries().iter().map(EntryView::from).collect(),
            mode: speed.chosen.as_str(),
            current: view.mode.map(mode_word),
            until: view.until,
            is_applied: standing.as_ref().is_some_and(|standing| {
                let wanted = speed.wanted(standing.mode).in_force();
                standing.problem.is_none() && standing.limits == wanted
            }),
            error: standing.and_then(|standing| standing.problem),
            set_at: speed.set_at,
        }
    }
}

fn read_alternative(f: &mut Fields<'_>, name: &'static str) -> RateLimits {
    let given = match f.any(name).optional() {
        None => return RateLimits::default(),
        Some(Value::Object(given)) => given,
        Some(_) => {
            f.broken(format!("{name} must be an object"));
            return RateLimits::default();
        }
    };
    if let Some(key) = given
        .keys()
        .find(|key| !["upload", "download"].contains(&key.as_str()))
    {
        f.broken(format!("property {name}.{key} should not exist"));
    }
    let mut rate = |key: &str| match given.get(key) {
        None | Some(Value::Null) => None,
        Some(value) => match value.as_u64().filter(|rate| *rate <= MAX_RATE) {
            Some(rate) => Some(rate).filter(|rate| *rate > 0),
            None => {
                f.broken(format!(
                    "{name}.{key} must be a whole number from 0 to {MAX_RATE}"
                ));
                None
            }
        },
    };
    let upload = rate("upload");
    RateLimits {
        upload,
        download: rate("download"),
    }
}

fn read_schedule(f: &mut Fields<'_>, name: &'static str) -> Schedule {
    let entries = match f.any(name).optional() {
        None => return Schedule::default(),
        Some(Value::Array(entries)) if entries.len() <= MAX_ENTRIES => entries,
        Some(Value::Array(_)) => {
            f.broken(format!("{name} must contain no more than {MAX_ENTRIES} elements"));
            return Schedule::default();
        }
        Some(_) => {
            f.broken(format!("{name} must be an array"));
            return Schedule::default();
        }
    };
    let mut read = Vec::with_capacity(entries.len());
    for (number, entry) in entries.iter().enumerate() {
        let label = format!("{name}[{number}]");
        match entry.as_object().map(read_entry) {
            Some(Ok(entry)) => read.push(entry),
            Some(Err(fault)) => f.broken(format!("{label}{fault}")),
            None => f.broken(format!("{label} must be an object")),
        }
    }
    if read.len() < entries.len() {
        return Schedule::default();
    }
    Schedule::new(read).unwrap_or_else(|overlap| {
        let ((first, before), (second, after)) = (overlap.first, overlap.second);
        f.broken(format!(
            "{name}[{second}] ({after}) overlaps {name}[{first}] ({before}): change one of them"
        ));
        Schedule::default()
    })
}

/// Reads an entry; an error begins with the member that is at fault.
fn read_entry(given: &Map<String, Value>) -> Result<Entry, String> {
    const KEYS: &[&str] = &["days", "from", "to", "mode"];
    if let Some(key) = given.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(format!(".{key} should not exist"));
    }
    let text = |key: &str| given.get(key).and_then(Value::as_str);
    let clock = |key: &str| {
        let read = text(key).and_then(read_clock);
        read.ok_or_else(|| format!(".{key} must be a time of day as HH:MM"))
    };
    let mut days = Vec::new();
    let given_days = given.get("days").and_then(Value::as_array);
    for day in given_days.into_iter().flatten() {
        let place = DAYS.iter().position(|word| day.as_str() == Some(word));
        match place.and_then(|place| u8::try_from(place).ok()) {
            Some(day) if !days.contains(&day) => days.push(day),
            _ => return Err(format!(".days must be different words of {}", DAYS.join(", "))),
        }
    }
    if days.is_empty() {
        return Err(format!(".days must name at least one of {}", DAYS.join(", ")));
    }
    days.sort_unstable();
    let (from, to) = (clock("from")?, clock("to")?);
    if from == MINUTES_OF_DAY {
        return Err(".from must be before 24:00".to_owned());
    }
    match text("mode").filter(|mode| MODES.contains(mode)) {
        Some(mode) => Ok(Entry {
            days,
            from,
            to,
            alternative: mode == MODES[1],
        }),
        None => Err(format!(".mode must be one of {}", MODES.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_entry_is_read_or_its_fault_is_named() {
        let read = |value: Value| read_entry(value.as_object().expect("an object"));
        let entry =
            read(json!({ "days": ["sun", "mon"], "from": "22:00", "to": "06:00", "mode": "alternative" }));
        let entry = entry.unwrap();
        assert_eq!(entry.describe(), "mon,sun 22:00-06:00 alternative");
        for (value, fault) in [
            (
                json!({ "days": [], "from": "22:00", "to": "06:00", "mode": "normal" }),
                ".days",
            ),
            (
                json!({ "days": ["Mon"], "from": "22:00", "to": "06:00", "mode": "normal" }),
                ".days",
            ),
            (
                json!({ "days": ["mon", "mon"], "from": "22:00", "to": "06:00", "mode": "normal" }),
                ".days",
            ),
            (
                json!({ "days": ["mon"], "from": "24:00", "to": "06:00", "mode": "normal" }),
                ".from",
            ),
            (
                json!({ "days": ["mon"], "from": "22:00", "to": 6, "mode": "normal" }),
                ".to",
            ),
            (
                json!({ "days": ["mon"], "from": "22:00", "to": "06:00", "mode": "auto" }),
                ".mode",
            ),
            (
                json!({ "days": ["mon"], "from": "22:00", "to": "06:00", "mode": "normal", "x": 1 }),
                ".x",
            ),
        ] {
            let error = read(value.clone()).unwrap_err();
            assert!(error.starts_with(fault), "{value}: {error}");
        }
    }
}
