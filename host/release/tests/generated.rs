//! Generated names are parsed as intended: conventions of a grammar times vocabulary times separators.
//!
//! `QM_NAMES` sets their number, `QM_NAMES_SEED` the random seed.

mod grammar;

use std::collections::BTreeMap;
use std::fmt::Debug;

use grammar::{Dice, Meant, name};
use qm_release::{Release, parse};

const NAMES: usize = 6000;

fn asked(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn sorted<T: Ord + Clone>(all: &[T]) -> Vec<T> {
    let mut all = all.to_vec();
    all.sort();
    all
}

/// The first field with a difference: name, parsed value, intended value.
fn difference(meant: &Meant, release: &Release) -> Option<(&'static str, String)> {
    fn other<T: PartialEq + Debug>(field: &'static str, read: T, meant: T) -> Option<(&'static str, String)> {
        (read != meant).then(|| (field, format!("{field} is {read:?}, not {meant:?}")))
    }
    let title = release.title.as_deref().unwrap_or_default();
    let group = release.release_group.as_deref();
    other("title", title, &meant.title)
        .or_else(|| other("season", release.season, meant.season))
        .or_else(|| other("seasons", &release.seasons, &meant.seasons))
        .or_else(|| other("episodes", &release.episodes, &meant.episodes))
        .or_else(|| other("absolute", &release.absolute_episodes, &meant.absolutes))
        .or_else(|| other("date", &release.air_date, &meant.date))
        .or_else(|| {
            if meant.date.is_none() {
                other("year", release.year, meant.year)
            } else {
                None
            }
        })
        .or_else(|| other("resolution", release.resolution, meant.resolution))
        .or_else(|| other("source", release.source, meant.source))
        .or_else(|| other("codec", release.codec, meant.codec))
        .or_else(|| other("audio", sorted(&release.audio), sorted(&meant.audio)))
        .or_else(|| other("hdr", sorted(&release.hdr), sorted(&meant.hdr)))
        .or_else(|| other("languages", sorted(&release.languages), sorted(&meant.languages)))
        .or_else(|| other("service", release.streaming_service, meant.service))
        .or_else(|| other("group", group, meant.group.as_deref()))
        .or_else(|| other("edition", release.edition.as_deref(), meant.edition))
        .or_else(|| other("version", release.version, meant.version))
        .or_else(|| other("proper", release.proper, meant.proper))
        .or_else(|| other("repack", release.repack, meant.repack))
}

#[test]
fn names_of_the_grammar_are_read_as_they_were_meant() {
    let names = asked("QM_NAMES").map_or(NAMES, |names| names as usize);
    let mut dice = Dice(asked("QM_NAMES_SEED").unwrap_or(7));
    let mut wrong: BTreeMap<(&str, &str), (usize, String, String)> = BTreeMap::new();
    let mut families: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for _ in 0..names {
        let (name, meant) = name(&mut dice);
        let counts = families.entry(meant.family).or_default();
        counts.1 += 1;
        let Some((field, told)) = difference(&meant, &parse(&name)) else {
            counts.0 += 1;
            continue;
        };
        let shortest = wrong
            .entry((meant.family, field))
            .or_insert_with(|| (0, name.clone(), told.clone()));
        shortest.0 += 1;
        if name.len() < shortest.1.len() {
            (shortest.1, shortest.2) = (name, told);
        }
    }
    for (family, (good, all)) in &families {
        println!("{family:28}{good:6}/{all:5}");
    }
    let mut report: Vec<_> = wrong.iter().collect();
    report.sort_by_key(|(_, (_, name, _))| name.len());
    let lines: Vec<String> = report
        .iter()
        .map(|((family, _), (count, name, told))| format!("{name}\n    {told} ({family}, {count} times)"))
        .collect();
    assert!(families.len() >= 16, "{families:?}");
    assert!(
        lines.is_empty(),
        "the shortest names of each kind that are misread:\n{}",
        lines.join("\n")
    );
}
