//! Selection of the rows to import, and the progress of an import.

use serde::{Deserialize, Serialize};

use super::batch::{Batch, Cell};
use super::file::{SOURCES, Source, Table};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Films, with series if selected; of other files the rows of selected titles.
    OptimizedMovies,
    /// Every present file and every row.
    Full,
}

impl Strategy {
    pub const fn as_str(self) -> &'static str {
        match self {
            Strategy::OptimizedMovies => "optimized_movies",
            Strategy::Full => "full",
        }
    }
}

/// Selection of an import, fixed at its begin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    pub strategy: Strategy,
    pub min_year: i64,
    pub tv: bool,
    pub akas: bool,
    pub crew: bool,
    pub people: bool,
    /// Lower case; when both are empty, names of every region and language.
    pub regions: Vec<String>,
    pub languages: Vec<String>,
}

/// Reason to leave out a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skip {
    Kind,
    Adult,
    Year,
    Parent,
    Aka,
}

/// Columns that a plan reads.
const KIND: usize = 1;
const ADULT: usize = 4;
const START_YEAR: usize = 5;
const REGION: usize = 3;
const LANGUAGE: usize = 4;

impl Plan {
    /// The files it needs, in import order.
    pub fn sources(&self) -> impl Iterator<Item = &'static Source> + '_ {
        SOURCES.iter().filter(|source| self.takes(source.table))
    }

    fn takes(&self, table: Table) -> bool {
        if self.strategy == Strategy::Full {
            return true;
        }
        match table {
            Table::Titles | Table::Ratings => true,
            Table::Akas => self.akas,
            Table::Crew => self.crew,
            Table::Episodes => self.tv,
            Table::Persons => self.people,
            Table::Principals => false,
        }
    }

    /// True when rows of other files are kept only with their title.
    pub fn needs_titles(&self) -> bool {
        self.strategy == Strategy::OptimizedMovies
    }

    /// Reason to leave out the last row of a batch, if any; `known` tells if a title was kept.
    pub fn skips(&self, batch: &Batch, known: impl Fn(i64) -> bool) -> Option<Skip> {
        let optimized = self.strategy == Strategy::OptimizedMovies;
        match batch.table {
            Table::Titles if optimized => self.skips_title(batch),
            Table::Titles | Table::Persons => None,
            Table::Akas if !self.wants_aka(batch) => Some(Skip::Aka),
            _ if optimized && !batch.last_id().is_some_and(known) => Some(Skip::Parent),
            _ => None,
        }
    }

    fn skips_title(&self, batch: &Batch) -> Option<Skip> {
        let wanted = match batch.last_text(KIND).unwrap_or_default() {
            "movie" | "tvMovie" | "video" => true,
            "tvSeries" | "tvMiniSeries" | "tvEpisode" => self.tv,
            _ => false,
        };
        if !wanted {
            return Some(Skip::Kind);
        }
        if batch.last(ADULT) == Cell::Integer(1) {
            return Some(Skip::Adult);
        }
        match batch.last(START_YEAR) {
            Cell::Integer(year) if year >= self.min_year => None,
            _ => Some(Skip::Year),
        }
    }

    fn wants_aka(&self, batch: &Batch) -> bool {
        if self.regions.is_empty() && self.languages.is_empty() {
            return true;
        }
        let among = |list: &[String], column| {
            batch
                .last_text(column)
                .is_some_and(|word| list.iter().any(|wanted| wanted.eq_ignore_ascii_case(word)))
        };
        among(&self.regions, REGION) || among(&self.languages, LANGUAGE)
    }
}

/// Counts of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    pub rows_scanned: u64,
    pub rows_imported: u64,
    pub skipped_title_type: u64,
    pub skipped_adult: u64,
    pub skipped_min_year: u64,
    pub skipped_parent_missing: u64,
    pub skipped_aka_filtered: u64,
    /// Number of invalid rows.
    pub errors: u64,
    pub duration_ms: u64,
    /// Names of the files without their endings.
    pub datasets: Vec<String>,
    /// The first invalid rows, each with file, line and reason.
    pub examples: Vec<String>,
}

/// Number of invalid rows kept as examples.
pub const EXAMPLES: usize = 10;

impl Stats {
    pub fn skip(&mut self, skip: Skip) {
        let count = match skip {
            Skip::Kind => &mut self.skipped_title_type,
            Skip::Adult => &mut self.skipped_adult,
            Skip::Year => &mut self.skipped_min_year,
            Skip::Parent => &mut self.skipped_parent_missing,
            Skip::Aka => &mut self.skipped_aka_filtered,
        };
        *count += 1;
    }

    pub fn bad(&mut self, source: &Source, line: u64, why: &str) {
        self.errors += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(format!("{}, line {line}: {why}", source.file));
        }
    }

    pub fn add(&mut self, other: &Stats) {
        self.rows_scanned += other.rows_scanned;
        self.rows_imported += other.rows_imported;
        self.skipped_title_type += other.skipped_title_type;
        self.skipped_adult += other.skipped_adult;
        self.skipped_min_year += other.skipped_min_year;
        self.skipped_parent_missing += other.skipped_parent_missing;
        self.skipped_aka_filtered += other.skipped_aka_filtered;
        self.errors += other.errors;
        let room = EXAMPLES.saturating_sub(self.examples.len());
        self.examples.extend(other.examples.iter().take(room).cloned());
    }
}

/// Progress of a store; written with every batch, in the same transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Loaded {
    /// Identity of files and plan: with another one the import starts anew.
    pub fingerprint: String,
    /// Boot id of the machine that wrote it: a power cut may have damaged unsynced data.
    pub boot: String,
    /// Names of the finished files, without their endings.
    pub done: Vec<String>,
    /// Lines read of the next file, including its header.
    pub lines: u64,
    pub stage: Stage,
    pub stats: Stats,
    /// Number of titles loaded.
    pub titles: u64,
    /// Modification time of the newest file, in Unix milliseconds.
    pub dataset_date: Option<i64>,
    pub strategy: Option<Strategy>,
    /// Number of names in the posting lists; `None` in a store of a version without such lists.
    pub names: Option<i64>,
}

/// Step of an import after the files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    #[default]
    Files,
    /// Names of titles with votes, most votes first; up to this title.
    Rated {
        votes: i64,
        id: i64,
        rank: i64,
    },
    /// Names of the other titles; up to this title.
    Unrated {
        id: i64,
        rank: i64,
    },
    /// Posting lists of names; from this block on.
    Lists {
        block: i64,
    },
    /// Indexes of the posting lists.
    Index,
    Complete,
}
