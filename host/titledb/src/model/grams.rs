//! Questions to an index of names by runs of three letters.
//!
//! A name stands there between two marks, with one more run for its year and one for its type, so that a year and a type
//! narrow a search without looking at a title. What the index finds has all runs that were asked for, in whatever order: it
//! is looked at again.

use super::file::Sort;

/// Before and behind a name.
const EDGE: char = '\u{e000}';
/// The first of the letters that stand for years.
const YEARS: u32 = 0xe400;
const FIRST_YEAR: i64 = 1800;
const SORTS: u32 = 0xe100;
/// Shortest name that is looked for with other letters in it.
const FUZZY_FROM: usize = 5;

/// What is written of a name.
pub fn indexed(name: &str, year: Option<i64>, sort: Sort) -> String {
    let mut text = String::with_capacity(name.len() + 30);
    text.push(EDGE);
    text.push_str(name);
    text.push(EDGE);
    if let Some(year) = year {
        text.push_str(&year_run(year));
    }
    text.push_str(&sort_run(sort));
    text
}

fn letter(code: u32) -> String {
    let letter = char::from_u32(code).unwrap_or(EDGE);
    [letter; 3].iter().collect()
}

fn year_run(year: i64) -> String {
    let code = (year - FIRST_YEAR).clamp(0, 1000) as u32;
    letter(YEARS + code)
}

fn sort_run(sort: Sort) -> String {
    letter(SORTS + sort as u32)
}

/// Which names are asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Narrow {
    /// And those of the year before and after.
    pub year: Option<i64>,
    pub sort: Option<Sort>,
}

impl Narrow {
    fn and(self, question: String) -> String {
        let mut all = vec![question];
        if let Some(year) = self.year {
            let near: Vec<String> = (year - 1..=year + 1)
                .map(|year| format!("\"{}\"", year_run(year)))
                .collect();
            all.push(format!("({})", near.join(" OR ")));
        }
        if let Some(sort) = self.sort {
            all.push(format!("\"{}\"", sort_run(sort)));
        }
        all.join(" AND ")
    }
}

/// All runs of a text of three letters at least.
fn every(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let mut runs: Vec<String> = letters
        .windows(3)
        .map(|run| format!("\"{}\"", run.iter().collect::<String>()))
        .collect();
    runs.sort_unstable();
    runs.dedup();
    format!("({})", runs.join(" AND "))
}

/// Names that are this one.
pub fn exactly(name: &str, narrow: Narrow) -> String {
    narrow.and(every(&format!("{EDGE}{name}{EDGE}")))
}

/// Names that hold this one; of fewer than three letters, as a word.
pub fn holding(name: &str, narrow: Narrow) -> String {
    if name.chars().count() >= 3 {
        return narrow.and(every(name));
    }
    let mut ways = Vec::new();
    for before in [' ', EDGE] {
        for behind in [' ', EDGE] {
            ways.push(every(&format!("{before}{name}{behind}")));
        }
    }
    narrow.and(format!("({})", ways.join(" OR ")))
}

/// Parts of a name of which some are in a name that is like it, and how many. A name that begins or ends a part says so by
/// `true`; `None` for one that is too short.
pub fn parts(name: &str) -> Option<(Vec<Part>, usize)> {
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
pub struct Part {
    pub text: String,
    /// It begins the name.
    pub begins: bool,
    pub ends: bool,
}

impl Part {
    fn marked(&self) -> String {
        let before = if self.begins {
            EDGE.to_string()
        } else {
            String::new()
        };
        let behind = if self.ends {
            EDGE.to_string()
        } else {
            String::new()
        };
        format!("{before}{}{behind}", self.text)
    }

    fn is_long(&self) -> bool {
        self.marked().chars().count() >= 3
    }
}

/// Choices of `needed` of the parts, each as one question; names that are like it answer one of them.
pub fn like(name: &str, narrow: Narrow) -> Option<String> {
    let (parts, needed) = parts(name)?;
    let runs: Vec<String> = parts
        .iter()
        .filter(|part| part.is_long())
        .map(|part| every(&part.marked()))
        .collect();
    let mut ways = Vec::new();
    for (at, one) in runs.iter().enumerate() {
        if needed == 1 {
            ways.push(one.clone());
        } else {
            ways.extend(runs[at + 1..].iter().map(|other| format!("({one} AND {other})")));
        }
    }
    (!ways.is_empty()).then(|| narrow.and(format!("({})", ways.join(" OR "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_runs_of_three_letters() {
        assert_eq!(holding("heat", Narrow::default()), "(\"eat\" AND \"hea\")");
        let narrow = Narrow {
            year: Some(1995),
            sort: Some(Sort::Movie),
        };
        let asked = holding("heat", narrow);
        assert_eq!(asked.matches('"').count(), 2 * (2 + 3 + 1), "{asked}");
        assert!(holding("up", Narrow::default()).contains(&format!("\"{EDGE}up\"")));
        assert_eq!(holding("x", Narrow::default()).matches(" OR ").count(), 3);
        assert_eq!(exactly("a", Narrow::default()), format!("(\"{EDGE}a{EDGE}\")"));
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
        assert!(
            like("inception", Narrow::default())
                .unwrap()
                .matches(" OR ")
                .count()
                == 2
        );
    }
}
