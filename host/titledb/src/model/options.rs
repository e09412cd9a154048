//! Stored settings: a JSON object; missing or invalid members take their defaults.

use qm_platform::origins::take_wanted;
use serde_json::{Map, Value};

use super::plan::{Plan, Strategy};

pub type Stored = Map<String, Value>;

pub const BASE_URL: &str = "https://datasets.imdbws.com/";
pub const MIN_YEARS: (i64, i64) = (1874, 2200);
/// Default size limit of a downloaded file in bytes.
const MAX_FILE: i64 = 4 << 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Disabled,
    Dataset,
    OfficialApi,
    Hybrid,
}

impl Mode {
    pub const WORDS: &'static [&'static str] = &["disabled", "dataset", "official_api", "hybrid"];

    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "disabled" => Mode::Disabled,
            "dataset" => Mode::Dataset,
            "official_api" => Mode::OfficialApi,
            "hybrid" => Mode::Hybrid,
            _ => return None,
        })
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Mode::Disabled => "disabled",
            Mode::Dataset => "dataset",
            Mode::OfficialApi => "official_api",
            Mode::Hybrid => "hybrid",
        }
    }

    pub const fn uses_dataset(self) -> bool {
        matches!(self, Mode::Dataset | Mode::Hybrid)
    }

    pub const fn uses_api(self) -> bool {
        matches!(self, Mode::OfficialApi | Mode::Hybrid)
    }
}

/// The settings; the API key is encrypted.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    pub mode: Mode,
    pub api_base_url: Option<String>,
    pub sealed_key: Option<String>,
    /// Secrets to enter again, because the address of the API changed.
    pub wanted: Vec<String>,
    pub dataset_path: Option<String>,
    pub import_schedule: Option<String>,
    pub auto_download_enabled: bool,
    pub dataset_base_url: String,
    pub auto_update_interval_hours: f64,
    pub import_strategy: Strategy,
    pub min_import_year: i64,
    pub import_tv_shows: bool,
    pub import_akas: bool,
    pub import_crew: bool,
    pub import_people: bool,
    pub preferred_region: Option<String>,
    pub preferred_language: Option<String>,
    pub include_adult: bool,
    pub min_votes: i64,
    pub cache_ttl: f64,
    /// Bytes.
    pub max_file_bytes: i64,
}

impl Options {
    pub fn from_stored(stored: &Stored) -> Self {
        let text = |name: &str| {
            let text = stored.get(name).and_then(Value::as_str).map(str::trim);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let flag = |name: &str, default| stored.get(name).and_then(Value::as_bool).unwrap_or(default);
        let number = |name: &str, least: f64, default: f64| {
            let number = stored.get(name).and_then(Value::as_f64);
            number.filter(|number| *number >= least).unwrap_or(default)
        };
        let integer = |name: &str, (least, most): (i64, i64), default: i64| {
            let number = stored.get(name).and_then(Value::as_i64);
            number
                .filter(|number| (least..=most).contains(number))
                .unwrap_or(default)
        };
        Self {
            mode: text("mode")
                .and_then(|word| Mode::from_word(&word))
                .unwrap_or(Mode::Disabled),
            api_base_url: text("apiBaseUrl"),
            sealed_key: text("apiKey"),
            wanted: take_wanted(&mut stored.clone()),
            dataset_path: text("datasetPath"),
            import_schedule: text("importSchedule"),
            auto_download_enabled: flag("autoDownloadEnabled", false),
            dataset_base_url: text("datasetBaseUrl").unwrap_or_else(|| BASE_URL.to_owned()),
            auto_update_interval_hours: number("autoUpdateIntervalHours", 1.0, 168.0),
            import_strategy: match text("importStrategy").as_deref() {
                Some("full") => Strategy::Full,
                _ => Strategy::OptimizedMovies,
            },
            min_import_year: integer("minImportYear", MIN_YEARS, 1970),
            import_tv_shows: flag("importTvShows", false),
            import_akas: flag("importAkas", true),
            import_crew: flag("importCrew", false),
            import_people: flag("importPeople", false),
            preferred_region: text("preferredRegion"),
            preferred_language: text("preferredLanguage"),
            include_adult: flag("includeAdult", false),
            min_votes: integer("minVotes", (0, i64::MAX), 0),
            cache_ttl: number("cacheTtl", 0.0, 3600.0),
            max_file_bytes: integer("maxFileBytes", (1, i64::MAX), MAX_FILE),
        }
    }

    /// Kinds of rows that an import with these settings leaves out, each with the setting that includes it.
    pub fn left_out(&self) -> Vec<String> {
        let plan = self.plan();
        let is_whole = plan.strategy == Strategy::Full;
        let year = plan.min_year;
        let filtered = !plan.regions.is_empty() || !plan.languages.is_empty();
        let said = [
            (
                !is_whole && !plan.tv,
                "series and their episodes (importTvShows)".to_owned(),
            ),
            (
                !is_whole,
                "short films, specials and video games (importStrategy full)".to_owned(),
            ),
            (
                !is_whole,
                format!("titles of before {year}, and those of no year (minImportYear)"),
            ),
            (!is_whole, "titles for adults (importStrategy full)".to_owned()),
            (
                !is_whole && !plan.akas,
                "names of titles in other countries and languages (importAkas)".to_owned(),
            ),
            (
                filtered,
                "names of other regions and languages than preferred (preferredRegion, preferredLanguage)"
                    .to_owned(),
            ),
            (
                !is_whole && !plan.crew,
                "directors and writers (importCrew)".to_owned(),
            ),
            (
                !is_whole && !plan.people,
                "names of people (importPeople)".to_owned(),
            ),
        ];
        said.into_iter()
            .filter_map(|(is_out, what)| is_out.then_some(what))
            .collect()
    }

    /// The selection of an import with these settings.
    pub fn plan(&self) -> Plan {
        let words = |list: &Option<String>| -> Vec<String> {
            let list = list.as_deref().unwrap_or_default();
            let words = list.split(',').map(|word| word.trim().to_lowercase());
            words.filter(|word| !word.is_empty()).collect()
        };
        Plan {
            strategy: self.import_strategy,
            min_year: self.min_import_year,
            tv: self.import_tv_shows,
            akas: self.import_akas,
            crew: self.import_crew,
            people: self.import_people,
            regions: words(&self.preferred_region),
            languages: words(&self.preferred_language),
        }
    }
}

#[cfg(test)]
mod tests {
    use qm_kernel::secret::is_mask;

    use super::*;
    use serde_json::json;

    #[test]
    fn what_makes_no_sense_stands_for_its_default() {
        let of = |stored: Value| Options::from_stored(stored.as_object().unwrap());
        let defaults = of(json!({}));
        assert_eq!(defaults.mode, Mode::Disabled);
        assert!(defaults.import_akas && !defaults.import_tv_shows);
        let odd = json!({ "mode": "x", "minImportYear": 1, "importAkas": "no", "minVotes": -1, "datasetBaseUrl": " ",
            "autoUpdateIntervalHours": 0.5, "cacheTtl": "a", "maxFileBytes": 0 });
        assert_eq!(of(odd), defaults);
        let plan = of(json!({ "preferredRegion": " US, de ,", "importStrategy": "full" })).plan();
        assert_eq!(
            (plan.regions, plan.strategy),
            (vec!["us".to_owned(), "de".to_owned()], Strategy::Full)
        );
        let left_out = |stored: Value| of(stored).left_out().join("; ");
        let defaults = left_out(json!({}));
        for what in ["importTvShows", "before 1970", "short films"] {
            assert!(defaults.contains(what), "{defaults}");
        }
        assert!(!defaults.contains("importAkas"), "{defaults}");
        let more = left_out(json!({ "importTvShows": true, "minImportYear": 1900, "importAkas": false }));
        assert!(
            !more.contains("importTvShows") && more.contains("before 1900") && more.contains("importAkas"),
            "{more}"
        );
        assert_eq!(left_out(json!({ "importStrategy": "full" })), "");
        assert!(is_mask("••••••••") && !is_mask("") && !is_mask("•x"));
    }
}
