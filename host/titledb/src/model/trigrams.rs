//! Trigrams: runs of three letters by which names are indexed, and queries made of them.
//!
//! A name is enclosed in two marks, and has one extra run each for its year and its type, so that these
//! narrow a search without reading names. A name with all requested runs may have them in another order, so
//! it is checked afterwards. Not all runs of a name are requested, only the rarest ones, whose lists are
//! short.

use std::collections::HashMap;

use super::file::Sort;

/// Mark before and behind a name.
const EDGE: char = '\u{e000}';
/// First of the code points that stand for years.
const YEARS: u32 = 0xe400;
const FIRST_YEAR: i64 = 1800;
const SORTS: u32 = 0xe100;
/// Bits of a letter.
const LETTER: u32 = 21;
/// Largest number of requested runs of a name, and the expected number of names with all of them below which
/// no further run is requested.
const RUNS: usize = 6;
const ENOUGH: f64 = 0.001;
/// The same for a part of a name.
const PART_RUNS: usize = 3;
const PART_ENOUGH: f64 = 5_000.0;
/// Number of names above which a type is not requested: most hits have it anyway.
const COMMON: u64 = 300_000;
/// Shortest name that is searched with typing errors.
const FUZZY_FROM: usize = 5;

/// Three letters as one number.
pub type Run = i64;

fn run(letters: &[char]) -> Run {
    letters
        .iter()
        .fold(0, |run, letter| (run << LETTER) | Run::from(u32::from(*letter)))
}

fn three(code: u32) -> Run {
    run(&[char::from_u32(code).unwrap_or(EDGE); 3])
}

fn year_run(year: i64) -> Run {
    three(YEARS + (year - FIRST_YEAR).clamp(0, 1000) as u32)
}

fn sort_run(sort: i64) -> Run {
    three(SORTS + sort.clamp(0, 255) as u32)
}

fn marked(name: &str, begins: bool, ends: bool) -> Vec<char> {
    let mark = |is_there: bool| is_there.then_some(EDGE);
    mark(begins)
        .into_iter()
        .chain(name.chars())
        .chain(mark(ends))
        .collect()
}

/// The distinct runs of letters.
fn runs(letters: &[char]) -> Vec<Run> {
    let mut runs: Vec<Run> = letters.windows(3).map(run).collect();
    runs.sort_unstable();
    runs.dedup();
    runs
}

/// The runs under which a name is indexed.
pub fn runs_of(name: &str, year: Option<i64>, sort: i64) -> Vec<Run> {
    let mut runs = runs(&marked(name, true, true));
    runs.extend(year.map(year_run));
    runs.push(sort_run(sort));
    runs
}

/// Restriction of a search.
#[derive(Clone, Copy, Debug, Default)]
pub struct Narrow {
    /// Year; the years before and after match too.
    pub year: Option<i64>,
    pub sort: Option<Sort>,
}

impl Narrow {
    fn years(self) -> Vec<Run> {
        self.year
            .map_or_else(Vec::new, |year| (year - 1..=year + 1).map(year_run).collect())
    }

    /// True when a name of this year and type matches.
    pub fn takes(self, year: Option<i64>, sort: i64) -> bool {
        let is_near = |asked: i64| year.is_some_and(|year| (asked - 1..=asked + 1).contains(&year));
        self.year.is_none_or(is_near) && self.sort.is_none_or(|asked| asked as i64 == sort)
    }
}

/// Number of names, and number of names per run; a missing run occurs in no name.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    pub names: u64,
    pub runs: HashMap<Run, u64>,
}

impl Counts {
    fn names_with(&self, run: Run) -> u64 {
        self.runs.get(&run).copied().unwrap_or(0)
    }

    /// The rarest of some runs: at least one, at most `most`, and more only while `enough` or more names are
    /// expected to have all.
    fn rarest(&self, mut runs: Vec<Run>, most: usize, enough: f64) -> Vec<Run> {
        runs.sort_by_key(|run| self.names_with(*run));
        let names = self.names.max(1) as f64;
        let (mut expected, mut taken) = (names, 0);
        while taken < most.min(runs.len()) && (taken == 0 || expected > enough) {
            expected *= self.names_with(runs[taken]) as f64 / names;
            taken += 1;
        }
        runs.truncate(taken);
        runs
    }
}

/// Every run that a query about this name may request.
pub fn all_runs(name: &str, narrow: Narrow) -> Vec<Run> {
    let mut all = runs(&marked(name, true, true));
    all.extend(as_word(name).iter().flat_map(|way| runs(way)));
    all.extend(narrow.years());
    all.extend(narrow.sort.map(|sort| sort_run(sort as i64)));
    all.sort_unstable();
    all.dedup();
    all
}

/// Query: names with all runs of `needed` of the parts, a run of one of the years, if any, and that of the
/// type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    pub parts: Vec<Vec<Run>>,
    /// Number of parts whose runs the name must have.
    pub needed: usize,
    pub years: Vec<Run>,
    pub sort: Option<Run>,
}

impl Question {
    fn new(parts: Vec<Vec<Run>>, needed: usize, narrow: Narrow, counts: &Counts) -> Self {
        let sort = narrow.sort.map(|sort| sort_run(sort as i64));
        Self {
            parts,
            needed,
            years: narrow.years(),
            sort: sort.filter(|sort| counts.names_with(*sort) < COMMON),
        }
    }

    /// The runs whose lists the query needs.
    pub fn runs(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = self.parts.iter().flatten().copied().collect();
        runs.extend(&self.years);
        runs.extend(self.sort);
        runs.sort_unstable();
        runs.dedup();
        runs
    }
}

/// Query for names equal to this one; it finds others too.
pub fn exactly(name: &str, narrow: Narrow, counts: &Counts) -> Question {
    let runs = counts.rarest(runs(&marked(name, true, true)), RUNS, ENOUGH);
    Question::new(vec![runs], 1, narrow, counts)
}

/// A short name as a whole word; none for a longer one.
fn as_word(name: &str) -> Vec<Vec<char>> {
    let mut ways = Vec::new();
    if name.chars().count() < 3 {
        for before in [' ', EDGE] {
            for behind in [' ', EDGE] {
                ways.push([before].into_iter().chain(name.chars()).chain([behind]).collect());
            }
        }
    }
    ways
}

/// Query for names that contain this one; it finds others too. Fewer than three letters must be a whole word.
pub fn holding(name: &str, narrow: Narrow, counts: &Counts) -> Question {
    let mut ways = as_word(name);
    if ways.is_empty() {
        ways.push(name.chars().collect());
    }
    let ways = ways.iter().map(|way| counts.rarest(runs(way), RUNS, ENOUGH));
    Question::new(ways.collect(), 1, narrow, counts)
}

/// Parts of a name, and the number of them that a similar name shares. `None` for a name that is too short.
fn parts(name: &str) -> Option<(Vec<Part>, usize)> {
    let letters: Vec<char> = name.chars().collect();
    let length = letters.len();
    if length < FUZZY_FROM {
        return None;
    }
    let count = match length {
        0..9 => 2,
        9..14 => 3,
        _ => 4,
    };
    let needed = if count > 2 { 2 } else { 1 };
    let parts = (0..count).map(|part| {
        let (from, to) = (part * length / count, (part + 1) * length / count);
        Part {
            text: letters[from..to].iter().collect(),
            begins: part == 0,
            ends: part + 1 == count,
        }
    });
    Some((parts.collect(), needed))
}

/// A part of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    text: String,
    /// True when it begins the name.
    begins: bool,
    ends: bool,
}

/// Query for names that share enough parts with this one, and so may be similar. `None` for a name that is
/// too short.
pub fn like(name: &str, narrow: Narrow, counts: &Counts) -> Option<Question> {
    let (parts, needed) = parts(name)?;
    // A year leaves about one name in twenty.
    let enough = if narrow.year.is_some() {
        f64::MAX
    } else {
        PART_ENOUGH
    };
    let parts: Vec<Vec<Run>> = parts
        .iter()
        .map(|part| runs(&marked(&part.text, part.begins, part.ends)))
        .filter(|runs| !runs.is_empty())
        .map(|runs| counts.rarest(runs, PART_RUNS, enough))
        .collect();
    (parts.len() >= needed).then(|| Question::new(parts, needed, narrow, counts))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_of(text: &str) -> Run {
        run(&text.chars().collect::<Vec<char>>())
    }

    fn counts(runs: &[(&str, u64)]) -> Counts {
        Counts {
            names: 1_000_000,
            runs: runs.iter().map(|(text, count)| (run_of(text), *count)).collect(),
        }
    }

    #[test]
    fn the_rarest_runs_are_asked_for() {
        let known = counts(&[
            ("the", 900),
            ("he ", 700),
            ("e w", 10),
            (" wi", 40),
            ("wir", 20),
            ("ire", 30),
        ]);
        let asked = holding("the wire", Narrow::default(), &known);
        assert_eq!(
            asked.parts,
            [["e w", "wir"].map(run_of)],
            "nobody has both by chance"
        );
        let asked = holding("the wire x", Narrow::default(), &known);
        assert_eq!(asked.parts[0].len(), 1, "no name has it");
        let movie = Narrow {
            year: Some(1995),
            sort: Some(Sort::Movie),
        };
        let mut known = counts(&[("the", 900)]);
        known.runs.insert(sort_run(1), COMMON);
        let asked = holding("the", movie, &known);
        assert_eq!((asked.years.len(), asked.sort), (3, None));
        known.runs.insert(sort_run(1), COMMON - 1);
        assert_eq!(holding("the", movie, &known).sort, Some(sort_run(1)));
        assert_eq!(asked.runs().len(), 4);
    }

    #[test]
    fn everything_that_is_asked_for_was_counted() {
        let narrow = Narrow {
            year: Some(2000),
            sort: Some(Sort::Tv),
        };
        for name in [
            "a",
            "up",
            "heat",
            "inception",
            "the lord of the rings",
            "千と千尋",
        ] {
            let all = all_runs(name, narrow);
            // Each is so common that the next one is requested too.
            let known = Counts {
                names: COMMON,
                runs: all.iter().map(|run| (*run, COMMON - 1)).collect(),
            };
            let mut asked = vec![exactly(name, narrow, &known), holding(name, narrow, &known)];
            asked.extend(like(name, narrow, &known));
            for question in asked {
                assert!(question.runs().iter().all(|run| all.contains(run)), "{name}");
            }
        }
        assert_eq!(
            holding("up", Narrow::default(), &Counts::default()).parts.len(),
            4
        );
        assert_eq!(
            holding("heat", Narrow::default(), &Counts::default()).parts.len(),
            1
        );
    }

    #[test]
    fn one_wrong_letter_leaves_a_part_whole() {
        assert_eq!(parts("heat"), None);
        let (found, needed) = parts("inception").unwrap();
        assert_eq!((found.len(), needed), (3, 2));
        assert_eq!(
            (&*found[0].text, found[0].begins, found[2].ends),
            ("inc", true, true)
        );
        let asked = like("inception", Narrow::default(), &Counts::default()).unwrap();
        assert_eq!((asked.parts.len(), asked.needed), (3, 2));
    }

    #[test]
    fn years_and_types_narrow() {
        let narrow = Narrow {
            year: Some(2000),
            sort: Some(Sort::Tv),
        };
        assert!(narrow.takes(Some(2001), 2) && narrow.takes(Some(1999), 2));
        assert!(!narrow.takes(Some(2002), 2) && !narrow.takes(None, 2) && !narrow.takes(Some(2000), 1));
        assert!(Narrow::default().takes(None, 0));
    }
}
