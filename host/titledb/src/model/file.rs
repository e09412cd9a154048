//! The files of the data set: their columns, and the tables these go into.

/// A table of the store, one a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    Titles,
    Ratings,
    Akas,
    Crew,
    Episodes,
    Persons,
    Principals,
}

/// What a column holds, and what becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `tt` and digits: the number.
    Title,
    /// `nm` and digits: the number.
    Person,
    Integer,
    /// A decimal, in tenths.
    Tenths,
    /// `1` is true.
    Flag,
    Text,
}

/// A column of a file.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// As the header of the file names it.
    pub name: &'static str,
    /// Its column in the table.
    pub stored: &'static str,
    pub shape: Shape,
    /// A row without it is bad.
    pub required: bool,
}

const fn must(name: &'static str, stored: &'static str, shape: Shape) -> Column {
    Column {
        name,
        stored,
        shape,
        required: true,
    }
}

const fn may(name: &'static str, stored: &'static str, shape: Shape) -> Column {
    Column {
        name,
        stored,
        shape,
        required: false,
    }
}

/// A file of the data set.
#[derive(Debug)]
pub struct Source {
    pub table: Table,
    /// e.g. `title.basics.tsv.gz`
    pub file: &'static str,
    pub stored: &'static str,
    pub columns: &'static [Column],
}

impl Source {
    /// Name of the file without its ending.
    pub fn key(&self) -> &'static str {
        self.file.strip_suffix(".tsv.gz").unwrap_or(self.file)
    }
}

impl Table {
    pub fn source(self) -> &'static Source {
        let found = SOURCES.iter().find(|source| source.table == self);
        // Each table has its row below; a test looks.
        found.unwrap_or(&SOURCES[0])
    }
}

/// Every file, in the order in which they are imported.
pub const SOURCES: &[Source] = &[
    Source {
        table: Table::Titles,
        file: "title.basics.tsv.gz",
        stored: "titles",
        columns: &[
            must("tconst", "id", Shape::Title),
            may("titleType", "kind", Shape::Text),
            must("primaryTitle", "title", Shape::Text),
            may("originalTitle", "original", Shape::Text),
            may("isAdult", "adult", Shape::Flag),
            may("startYear", "start_year", Shape::Integer),
            may("endYear", "end_year", Shape::Integer),
            may("runtimeMinutes", "runtime", Shape::Integer),
            may("genres", "genres", Shape::Text),
        ],
    },
    Source {
        table: Table::Ratings,
        file: "title.ratings.tsv.gz",
        stored: "ratings",
        columns: &[
            must("tconst", "id", Shape::Title),
            must("averageRating", "rating", Shape::Tenths),
            must("numVotes", "votes", Shape::Integer),
        ],
    },
    Source {
        table: Table::Akas,
        file: "title.akas.tsv.gz",
        stored: "akas",
        columns: &[
            must("titleId", "title_id", Shape::Title),
            must("ordering", "ordering", Shape::Integer),
            must("title", "title", Shape::Text),
            may("region", "region", Shape::Text),
            may("language", "language", Shape::Text),
            may("types", "types", Shape::Text),
            may("attributes", "attributes", Shape::Text),
            may("isOriginalTitle", "is_original", Shape::Flag),
        ],
    },
    Source {
        table: Table::Crew,
        file: "title.crew.tsv.gz",
        stored: "crew",
        columns: &[
            must("tconst", "id", Shape::Title),
            may("directors", "directors", Shape::Text),
            may("writers", "writers", Shape::Text),
        ],
    },
    Source {
        table: Table::Episodes,
        file: "title.episode.tsv.gz",
        stored: "episodes",
        columns: &[
            must("tconst", "id", Shape::Title),
            must("parentTconst", "parent", Shape::Title),
            may("seasonNumber", "season", Shape::Integer),
            may("episodeNumber", "episode", Shape::Integer),
        ],
    },
    Source {
        table: Table::Persons,
        file: "name.basics.tsv.gz",
        stored: "persons",
        columns: &[
            must("nconst", "id", Shape::Person),
            must("primaryName", "name", Shape::Text),
            may("birthYear", "birth", Shape::Integer),
            may("deathYear", "death", Shape::Integer),
            may("primaryProfession", "professions", Shape::Text),
            may("knownForTitles", "known_for", Shape::Text),
        ],
    },
    Source {
        table: Table::Principals,
        file: "title.principals.tsv.gz",
        stored: "principals",
        columns: &[
            must("tconst", "title_id", Shape::Title),
            must("ordering", "ordering", Shape::Integer),
            must("nconst", "person_id", Shape::Person),
            may("category", "category", Shape::Text),
            may("job", "job", Shape::Text),
            may("characters", "characters", Shape::Text),
        ],
    },
];

/// Types of titles that are films, series and episodes; what a search is narrowed to. A store holds them as numbers: `KINDS` of
/// `ops::read` goes up when a type becomes another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    Other = 0,
    Movie = 1,
    Tv = 2,
    Episode = 3,
}

impl Sort {
    /// By the word of the data set.
    pub fn of(kind: &str) -> Self {
        match kind {
            "movie" | "tvMovie" | "short" | "video" | "tvShort" | "tvSpecial" => Sort::Movie,
            "tvSeries" | "tvMiniSeries" => Sort::Tv,
            "tvEpisode" => Sort::Episode,
            _ => Sort::Other,
        }
    }
}

/// `tt` and seven digits at least.
pub fn title_id(number: i64) -> String {
    format!("tt{number:07}")
}

/// `nm` and seven digits at least.
pub fn person_id(number: i64) -> String {
    format!("nm{number:07}")
}

/// The number of an id with this prefix: up to ten digits.
pub fn number_of(id: &str, prefix: &str) -> Option<i64> {
    let digits = id.strip_prefix(prefix)?;
    let fits = (1..=10).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_digit());
    fits.then(|| digits.parse().ok()).flatten()
}

/// The number of a title as clients name it: `tt` and five to ten digits.
pub fn named_title(id: &str) -> Option<i64> {
    number_of(id, "tt").filter(|_| (7..=12).contains(&id.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_has_its_file() {
        for table in [
            Table::Titles,
            Table::Ratings,
            Table::Akas,
            Table::Crew,
            Table::Episodes,
            Table::Persons,
            Table::Principals,
        ] {
            assert_eq!(table.source().table, table);
        }
        assert_eq!(Table::Titles.source().key(), "title.basics");
    }

    #[test]
    fn whatever_people_keep_as_a_film_is_one() {
        for kind in ["movie", "tvMovie", "short", "video", "tvShort", "tvSpecial"] {
            assert_eq!(Sort::of(kind), Sort::Movie, "{kind}");
        }
        assert_eq!(
            (Sort::of("videoGame"), Sort::of("tvEpisode")),
            (Sort::Other, Sort::Episode)
        );
    }

    #[test]
    fn ids_are_numbers_with_a_prefix() {
        assert_eq!(number_of("tt0111161", "tt"), Some(111_161));
        assert_eq!(title_id(111_161), "tt0111161");
        assert_eq!(title_id(10_111_161), "tt10111161");
        for bad in ["", "tt", "nm0111161", "tt12a", "tt-1", "tt12345678901", "tt+1"] {
            assert_eq!(number_of(bad, "tt"), None, "{bad}");
        }
        assert_eq!(named_title("tt1234"), None);
        assert_eq!(named_title("tt12345"), Some(12_345));
    }
}
