//! Files of the data set: their columns and tables.

/// A table of the store; one per file.
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

/// Type of a column and its conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `tt` and digits; stored as the number.
    Title,
    /// `nm` and digits; stored as the number.
    Person,
    Integer,
    /// A decimal, stored in tenths.
    Tenths,
    /// `1` means true.
    Flag,
    Text,
}

/// A column of a file.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Name in the header of the file.
    pub name: &'static str,
    /// Name of the column in the table.
    pub stored: &'static str,
    pub shape: Shape,
    /// True when a row without it is invalid.
    pub required: bool,
}

const fn required(name: &'static str, stored: &'static str, shape: Shape) -> Column {
    Column {
        name,
        stored,
        shape,
        required: true,
    }
}

const fn optional(name: &'static str, stored: &'static str, shape: Shape) -> Column {
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
    /// File name without its ending.
    pub fn key(&self) -> &'static str {
        self.file.strip_suffix(".tsv.gz").unwrap_or(self.file)
    }
}

impl Table {
    pub fn source(self) -> &'static Source {
        let found = SOURCES.iter().find(|source| source.table == self);
        // Each table has a row below, as a test checks.
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
            required("tconst", "id", Shape::Title),
            optional("titleType", "kind", Shape::Text),
            required("primaryTitle", "title", Shape::Text),
            optional("originalTitle", "original", Shape::Text),
            optional("isAdult", "adult", Shape::Flag),
            optional("startYear", "start_year", Shape::Integer),
            optional("endYear", "end_year", Shape::Integer),
            optional("runtimeMinutes", "runtime", Shape::Integer),
            optional("genres", "genres", Shape::Text),
        ],
    },
    Source {
        table: Table::Ratings,
        file: "title.ratings.tsv.gz",
        stored: "ratings",
        columns: &[
            required("tconst", "id", Shape::Title),
            required("averageRating", "rating", Shape::Tenths),
            required("numVotes", "votes", Shape::Integer),
        ],
    },
    Source {
        table: Table::Akas,
        file: "title.akas.tsv.gz",
        stored: "akas",
        columns: &[
            required("titleId", "title_id", Shape::Title),
            required("ordering", "ordering", Shape::Integer),
            required("title", "title", Shape::Text),
            optional("region", "region", Shape::Text),
            optional("language", "language", Shape::Text),
            optional("types", "types", Shape::Text),
            optional("attributes", "attributes", Shape::Text),
            optional("isOriginalTitle", "is_original", Shape::Flag),
        ],
    },
    Source {
        table: Table::Crew,
        file: "title.crew.tsv.gz",
        stored: "crew",
        columns: &[
            required("tconst", "id", Shape::Title),
            optional("directors", "directors", Shape::Text),
            optional("writers", "writers", Shape::Text),
        ],
    },
    Source {
        table: Table::Episodes,
        file: "title.episode.tsv.gz",
        stored: "episodes",
        columns: &[
            required("tconst", "id", Shape::Title),
            required("parentTconst", "parent", Shape::Title),
            optional("seasonNumber", "season", Shape::Integer),
            optional("episodeNumber", "episode", Shape::Integer),
        ],
    },
    Source {
        table: Table::Persons,
        file: "name.basics.tsv.gz",
        stored: "persons",
        columns: &[
            required("nconst", "id", Shape::Person),
            required("primaryName", "name", Shape::Text),
            optional("birthYear", "birth", Shape::Integer),
            optional("deathYear", "death", Shape::Integer),
            optional("primaryProfession", "professions", Shape::Text),
            optional("knownForTitles", "known_for", Shape::Text),
        ],
    },
    Source {
        table: Table::Principals,
        file: "title.principals.tsv.gz",
        stored: "principals",
        columns: &[
            required("tconst", "title_id", Shape::Title),
            required("ordering", "ordering", Shape::Integer),
            required("nconst", "person_id", Shape::Person),
            optional("category", "category", Shape::Text),
            optional("job", "job", Shape::Text),
            optional("characters", "characters", Shape::Text),
        ],
    },
];

/// Kinds of titles for searches: films, series and episodes. A store holds them as numbers: raise `KINDS` in
/// `ops::read` when a type moves to another kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    Other = 0,
    Movie = 1,
    Tv = 2,
    Episode = 3,
}

impl Sort {
    /// Kind of a title type of the data set.
    pub fn from_title_type(kind: &str) -> Self {
        match kind {
            "movie" | "tvMovie" | "short" | "video" | "tvShort" | "tvSpecial" => Sort::Movie,
            "tvSeries" | "tvMiniSeries" => Sort::Tv,
            "tvEpisode" => Sort::Episode,
            _ => Sort::Other,
        }
    }
}

/// Id with `tt` and at least seven digits.
pub fn title_id(number: i64) -> String {
    format!("tt{number:07}")
}

/// Id with `nm` and at least seven digits.
pub fn person_id(number: i64) -> String {
    format!("nm{number:07}")
}

/// Number in an id with this prefix: up to ten digits.
pub fn number_of(id: &str, prefix: &str) -> Option<i64> {
    let digits = id.strip_prefix(prefix)?;
    let fits = (1..=10).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_digit());
    fits.then(|| digits.parse().ok()).flatten()
}

/// Number in a title id from a client: `tt` and five to ten digits.
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
            assert_eq!(Sort::from_title_type(kind), Sort::Movie, "{kind}");
        }
        assert_eq!(
            (
                Sort::from_title_type("videoGame"),
                Sort::from_title_type("tvEpisode")
            ),
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
