//! Generator of data sets in the real format, for tests and benchmarks.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use async_trait::async_trait;
use flate2::Compression;
use flate2::write::GzEncoder;
use qm_db::Db;

use crate::model::options::Options;
use crate::model::plan::Loaded;
use crate::service::load::{LoadError, Watch, load};
use crate::service::search::{Question, find};
use crate::service::store::Store;

/// Number of rows of a generated data set.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub titles: u64,
    pub akas: u64,
    pub episodes: u64,
    pub principals: u64,
    pub persons: u64,
}

impl Size {
    /// A small data set, which loads at once.
    pub const SMALL: Size = Size {
        titles: 3_000,
        akas: 24_000,
        episodes: 1_000,
        principals: 3_000,
        persons: 500,
    };
    /// The data set for benchmarks of searches and imports.
    pub const LARGE: Size = Size {
        titles: 1_000_000,
        akas: 4_000_000,
        episodes: 3_000_000,
        principals: 5_000_000,
        persons: 100_000,
    };
}

const WORDS: &[&str] = &[
    "the",
    "of",
    "a",
    "night",
    "day",
    "man",
    "woman",
    "love",
    "death",
    "house",
    "dark",
    "last",
    "first",
    "city",
    "king",
    "queen",
    "river",
    "star",
    "moon",
    "sun",
    "blood",
    "ghost",
    "dream",
    "secret",
    "lost",
    "garden",
    "winter",
    "summer",
    "road",
    "home",
    "war",
    "peace",
    "fire",
    "ice",
    "stone",
    "glass",
    "paper",
    "silver",
    "golden",
    "black",
    "white",
    "red",
    "blue",
    "green",
    "little",
    "great",
    "young",
    "old",
    "return",
    "revenge",
    "story",
    "legend",
    "shadow",
    "light",
    "island",
    "mountain",
    "sea",
    "sky",
    "wind",
    "rain",
    "storm",
    "heart",
    "soul",
    "mind",
    "eye",
    "hand",
    "brother",
    "sister",
    "father",
    "mother",
    "daughter",
    "son",
    "friend",
    "enemy",
    "stranger",
    "doctor",
    "detective",
    "captain",
];
const SYLLABLES: &[&str] = &[
    "ka", "lo", "mi", "ra", "ven", "tor", "zan", "bel", "dri", "fen", "gol", "hul", "jor", "kel", "lum",
    "mar", "nis", "ori", "pel", "qua", "ros", "sil", "tan", "ulm", "vor", "wen", "xan", "yel", "zor", "cha",
    "shi", "tho",
];

/// Reproducible random numbers (SplitMix64).
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    pub fn below(&mut self, most: u64) -> u64 {
        self.roll() % most.max(1)
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len() as u64) as usize]
    }
}

/// A name of two to four words, some common and some invented.
fn name(dice: &mut Dice) -> String {
    let mut name = String::new();
    for _ in 0..2 + dice.below(3) {
        if !name.is_empty() {
            name.push(' ');
        }
        let start = name.len();
        if dice.below(5) < 3 {
            name.push_str(dice.pick(WORDS));
        } else {
            for _ in 0..2 + dice.below(2) {
                name.push_str(dice.pick(SYLLABLES));
            }
        }
        let first = name[start..=start].to_uppercase();
        name.replace_range(start..=start, &first);
    }
    name
}

/// Name of the title with this number, from 1.
pub fn title_name(seed: u64, number: u64) -> String {
    name(&mut Dice::new(seed ^ number.wrapping_mul(0x2545_f491_4f6c_dd1d)))
}

struct Out(GzEncoder<BufWriter<File>>);

impl Out {
    fn make(directory: &Path, file: &str, header: &str) -> io::Result<Self> {
        let file = BufWriter::new(File::create(directory.join(file))?);
        let mut out = Self(GzEncoder::new(file, Compression::fast()));
        writeln!(out.0, "{header}")?;
        Ok(out)
    }

    fn end(self) -> io::Result<()> {
        self.0.finish()?.flush()
    }
}

/// Writes all seven files into a directory. Of a thousand titles 500 are films, 40 series and the rest
/// episodes, up to the number of episodes.
#[expect(
    clippy::too_many_lines,
    reason = "one file of the set after the other, all from the same dice"
)]
pub fn write(directory: &Path, size: Size, seed: u64) -> io::Result<()> {
    let mut dice = Dice::new(seed);
    let mut titles = Out::make(
        directory,
        "title.basics.tsv.gz",
        "tconst\ttitleType\tprimaryTitle\toriginalTitle\tisAdult\tstartYear\tendYear\truntimeMinutes\tgenres",
    )?;
    for number in 1..=size.titles {
        let kind = match number % 25 {
            0 => "tvSeries",
            1..=12 => "movie",
            13 => "short",
            _ => "tvEpisode",
        };
        let name = title_name(seed, number);
        let (year, adult) = (1970 + dice.below(60), u64::from(number % 500 == 1));
        writeln!(
            titles.0,
            "tt{number:07}\t{kind}\t{name}\t{name}\t{adult}\t{year}\t\\N\t{}\tDrama,Comedy",
            60 + dice.below(90)
        )?;
    }
    titles.end()?;
    let mut ratings = Out::make(
        directory,
        "title.ratings.tsv.gz",
        "tconst\taverageRating\tnumVotes",
    )?;
    for number in (1..=size.titles).filter(|number| number % 3 != 0) {
        let scale = 1 << dice.below(21);
        let votes = 5 + dice.below(scale);
        let (whole, part) = (1 + dice.below(9), dice.below(10));
        writeln!(ratings.0, "tt{number:07}\t{whole}.{part}\t{votes}")?;
    }
    ratings.end()?;
    let mut akas = Out::make(
        directory,
        "title.akas.tsv.gz",
        "titleId\tordering\ttitle\tregion\tlanguage\ttypes\tattributes\tisOriginalTitle",
    )?;
    let each = (size.akas / size.titles.max(1)).max(1);
    for number in 0..size.akas {
        let (title, ordering) = ((number / each) % size.titles + 1, number % each + 1);
        let region = ["US", "DE", "FR", "JP"][(number % 4) as usize];
        let name = name(&mut dice);
        writeln!(
            akas.0,
            "tt{title:07}\t{ordering}\t{name}\t{region}\t\\N\timdbDisplay\t\\N\t0"
        )?;
    }
    akas.end()?;
    let mut crew = Out::make(directory, "title.crew.tsv.gz", "tconst\tdirectors\twriters")?;
    for number in 1..=size.titles {
        let one = 1 + dice.below(size.persons);
        writeln!(crew.0, "tt{number:07}\tnm{one:07}\tnm{one:07},nm9999999")?;
    }
    crew.end()?;
    let mut episodes = Out::make(
        directory,
        "title.episode.tsv.gz",
        "tconst\tparentTconst\tseasonNumber\tepisodeNumber",
    )?;
    let series = (size.titles / 25).max(1);
    for number in 0..size.episodes {
        // There are more episodes than titles: the others have no title of their own.
        let own = size.titles + 1 + number;
        let parent = (number % series + 1) * 25;
        let place = number / series;
        writeln!(
            episodes.0,
            "tt{own:07}\ttt{parent:07}\t{}\t{}",
            place / 10 + 1,
            place % 10 + 1
        )?;
    }
    episodes.end()?;
    let mut persons = Out::make(
        directory,
        "name.basics.tsv.gz",
        "nconst\tprimaryName\tbirthYear\tdeathYear\tprimaryProfession\tknownForTitles",
    )?;
    for number in 1..=size.persons {
        let name = name(&mut dice);
        writeln!(
            persons.0,
            "nm{number:07}\t{name}\t1950\t\\N\tactor,director\ttt0000001"
        )?;
    }
    persons.end()?;
    let mut principals = Out::make(
        directory,
        "title.principals.tsv.gz",
        "tconst\tordering\tnconst\tcategory\tjob\tcharacters",
    )?;
    let each = (size.principals / size.titles.max(1)).max(1);
    for number in 0..size.principals {
        let (title, ordering) = (
            (number / each) % size.titles + 1,
            number / each / size.titles * each + number % each + 1,
        );
        let person = 1 + dice.below(size.persons);
        writeln!(
            principals.0,
            "tt{title:07}\t{ordering}\tnm{person:07}\tactor\t\\N\t[\"Self\"]"
        )?;
    }
    principals.end()
}

/// A stand-alone store without a server, for benchmarks.
pub struct Measured(Store);

struct Unwatched;

#[async_trait]
impl Watch for Unwatched {
    async fn step(&self, _: f64, _: &str, _: &Loaded) -> Result<(), LoadError> {
        Ok(())
    }
}

impl Measured {
    /// A store on a database; on SQLite its file lies in `data_dir`.
    pub fn new(db: &Db, data_dir: &Path) -> Self {
        Self(Store::new(db.clone(), data_dir.to_owned()))
    }

    /// Imports everything; returns the number of rows.
    pub async fn load(&self, files: &Path) -> Result<u64, String> {
        let plan = Options::from_stored(&serde_json::Map::from_iter([(
            "importStrategy".to_owned(),
            "full".into(),
        )]))
        .plan();
        let loaded = load(&self.0, files, &plan, &Unwatched).await;
        loaded
            .map(|loaded| loaded.stats.rows_imported)
            .map_err(|error| error.to_string())
    }

    /// Number of titles that the search route finds.
    pub async fn search(&self, title: &str, year: Option<i64>) -> Result<usize, String> {
        let question = Question {
            title: title.to_owned(),
            year,
            sort: None,
        };
        let options = Options::from_stored(&serde_json::Map::new());
        let live = self.0.live().await.map_err(|error| error.to_string())?;
        let live = live.ok_or("nothing was imported")?;
        let found = find(&live, &question, &options).await;
        found.map(|found| found.len()).map_err(|error| error.to_string())
    }
}
