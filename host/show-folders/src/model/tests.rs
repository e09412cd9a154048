//! Families and plans over folders in memory.

use std::collections::{BTreeMap, BTreeSet};

use qm_ports::folders::FolderShow;
use qm_ports::trash::FileState;

use super::contents::EpisodeKey;
use super::family::is_same_name;
use super::*;

fn show(id: &str, folder: &str, key: &str, year: Option<i64>, titledb_id: Option<&str>) -> FolderShow {
    FolderShow {
        id: id.to_owned(),
        library_id: "l".to_owned(),
        library_kind: "tv".to_owned(),
        library: "/tv".to_owned(),
        path: format!("/tv/{folder}"),
        place: folder.to_owned(),
        title: folder.to_owned(),
        year,
        titledb_id: titledb_id.map(str::to_owned),
        canonical_key: key.to_owned(),
    }
}

/// Folder with files of these sizes. Each file has an inode of its own.
fn folder(show: FolderShow, inode: u64, files: &[(&str, u64)]) -> (FolderShow, Contents) {
    let files = files.iter().enumerate().map(|(at, (below, size))| FolderFile {
        path: format!("{}/{below}", show.path),
        below: (*below).to_owned(),
        kind: FileKind::from_name(below),
        state: FileState {
            device: 1,
            inode: inode * 1000 + at as u64 + 1,
            size: *size,
            modified: (at as i64, 0),
        },
        links: 1,
    });
    let contents = Contents {
        path: show.path.clone(),
        identity: (1, inode * 1000),
        files: files.collect(),
        ..Contents::default()
    };
    (show, contents)
}

/// The Wire in two folders, of which the first stays.
fn order(canonical: &[(&str, u64)], duplicate: &[(&str, u64)]) -> Order {
    let stays = show("a", "The Wire (2002)", "the wire", Some(2002), None);
    let goes = show("b", "The.Wire", "the wire", None, None);
    Order {
        shows: vec![folder(stays, 1, canonical), folder(goes, 2, duplicate)],
        choices: BTreeMap::new(),
        is_acknowledged: false,
        locked: BTreeSet::new(),
        libraries: BTreeSet::from(["/tv".to_owned()]),
    }
}

fn steps(plan: &Plan) -> Vec<String> {
    let shown = |path: &str| path.strip_prefix("/tv/").unwrap_or(path).to_owned();
    let told = plan.steps.iter().map(|step| {
        let from = format!("{} {}", step.action.as_str(), shown(&step.from));
        match &step.to {
            Some(to) => format!("{from} > {}", shown(to)),
            None => from,
        }
    });
    told.collect()
}

fn families(shows: &[FolderShow]) -> Vec<String> {
    let told = find_families(shows).into_iter().map(|family| {
        let ids: Vec<&str> = family.shows.iter().map(|show| &*show.id).collect();
        let review = if family.needs_review { " review" } else { "" };
        format!("{} {}{review}", family.tie.as_str(), ids.join(","))
    });
    told.collect()
}

#[test]
fn shows_of_one_name_or_id_are_a_family() {
    let shows = [
        show("a", "The Wire (2002)", "the wire", Some(2002), Some("tt1")),
        show("b", "The.Wire", "the wire", None, None),
        show("c", "the wire (2002)", "the wire", Some(2002), Some("tt1")),
        show("d", "Dune (1984)", "dune", Some(1984), None),
        show("e", "Dune (2000)", "dune", Some(2000), None),
        show("f", "Dune", "dune", None, None),
        show("g", "Tatort", "tatort", None, Some("tt2")),
        show("h", "Crime Scene", "crime scene", None, Some("tt2")),
        show("i", "Alone", "alone", None, Some("")),
    ];
    assert_eq!(families(&shows), ["name+titledb a,b,c", "titledb g,h review"]);
    let mut elsewhere = shows[1].clone();
    elsewhere.library_id = "other".to_owned();
    assert_eq!(families(&[shows[0].clone(), elsewhere]), [""; 0]);
}

#[test]
fn a_name_that_may_mean_two_years_joins_neither() {
    let dune = |id: &str, year| show(id, "Dune", "dune", year, None);
    let three = [dune("a", Some(1984)), dune("b", Some(2000)), dune("c", None)];
    assert_eq!(families(&three), [""; 0]);
    assert_eq!(
        families(&[three[0].clone(), three[2].clone(), dune("d", None)]),
        ["name a,c,d"]
    );
    assert!(is_same_name(&three[0], &three[2]) && !is_same_name(&three[0], &three[1]));
}

#[test]
fn names_without_a_letter_or_a_digit_say_nothing() {
    let signs = |id: &str, folder: &str, titledb_id| show(id, folder, "", None, titledb_id);
    let shows = [
        signs("a", "!!!", None),
        signs("b", "???", None),
        signs("c", "...!", Some("tt1")),
    ];
    assert_eq!(families(&shows), [""; 0]);
    assert!(!is_same_name(&shows[0], &shows[1]));
    let tied = [shows[2].clone(), signs("d", "+++", Some("tt1"))];
    assert_eq!(families(&tied), ["titledb c,d review"]);
}

#[test]
fn a_disc_is_not_taken_apart() {
    let part = "The Wire Disc 1/video_ts/VTS_01_1.VOB";
    let disc = draft(&order(&[("The Wire S01E01.mkv", 9)], &[(part, 5)]));
    assert!(
        disc.blockers.len() == 1 && disc.blockers[0].contains(part),
        "{:?}",
        disc.blockers
    );
    // One in the folder that stays is left where it is.
    let kept = draft(&order(&[(part, 9)], &[("The Wire S01E02.mkv", 5)]));
    assert_eq!(kept.blockers, [""; 0]);
}

#[test]
fn folders_in_one_another_and_libraries_in_them_are_refused() {
    let mut nested = order(&[("The Wire S01E01.mkv", 9)], &[("the.wire.s01e02.mkv", 5)]);
    let inner = show("c", "The.Wire/More", "the wire", None, None);
    nested.shows.push(folder(inner, 3, &[("the.wire.s01e03.mkv", 5)]));
    let plan = draft(&nested);
    assert_eq!(
        plan.blockers,
        ["/tv/The.Wire/More and /tv/The.Wire lie in one another"]
    );
    let mut held = order(&[("The Wire S01E01.mkv", 9)], &[("the.wire.s01e02.mkv", 5)]);
    held.libraries.insert("/tv/The.Wire 2/More".to_owned());
    assert_eq!(draft(&held).blockers, [""; 0]);
    held.libraries.insert("/tv/The.Wire/More".to_owned());
    assert_eq!(
        draft(&held).blockers,
        ["the directory of a library, /tv/The.Wire/More, is in /tv/The.Wire"]
    );
}

#[test]
fn files_move_to_the_top_with_those_beside_them() {
    let plan = draft(&order(
        &[("Season 1/The Wire S01E01.mkv", 9)],
        &[
            ("Season 1/The.Wire.S01E02.mkv", 5),
            ("Season 1/The.Wire.S01E02.en.srt", 1),
            ("Season 1/The.Wire.S01E02-thumb.jpg", 1),
            ("Extras/Making of.mkv", 2),
            ("poster.jpg", 7),
            ("tvshow.nfo", 3),
        ],
    ));
    assert_eq!(plan.blockers, [""; 0]);
    assert_eq!(
        steps(&plan),
        [
            "move The.Wire/Season 1/The.Wire.S01E02.mkv > The Wire (2002)/The.Wire.S01E02.mkv",
            "move The.Wire/Season 1/The.Wire.S01E02.en.srt > The Wire (2002)/The.Wire.S01E02.en.srt",
            "move The.Wire/Season 1/The.Wire.S01E02-thumb.jpg > The Wire (2002)/The.Wire.S01E02-thumb.jpg",
            "move The.Wire/Extras/Making of.mkv > The Wire (2002)/Extras/Making of.mkv",
            "folder The.Wire",
        ]
    );
    assert_eq!(
        (plan.collisions.len(), plan.expected_freed),
        (0, 10),
        "a picture and a note go with the folder"
    );
    assert_eq!(plan.left, ["/tv/The.Wire/poster.jpg", "/tv/The.Wire/tvshow.nfo"]);
    assert_eq!(plan.deletions, ["/tv/The.Wire"]);
}

#[test]
fn of_one_episode_the_larger_file_stays_and_languages_are_rescued() {
    let canonical = [
        ("Season 1/The Wire S01E01.mkv", 5),
        ("Season 1/The Wire S01E01.en.srt", 1),
        ("Season 1/The Wire S01E01.fr.srt", 1),
        ("Season 1/The Wire S01E02.mkv", 8),
        ("Season 1/The Wire S01E02.en.srt", 1),
        ("Season 1/The Wire S01E03.mkv", 4),
    ];
    let duplicate = [
        ("the.wire.s01e01.mkv", 9),
        ("the.wire.s01e01.en.srt", 1),
        ("the.wire.s01e02.mkv", 3),
        ("the.wire.s01e02.en.srt", 1),
        ("the.wire.s01e02.de.forced.srt", 1),
        ("the.wire.s01e02.nfo", 1),
        ("the.wire.s01e03.mkv", 4),
    ];
    let plan = draft(&order(&canonical, &duplicate));
    assert_eq!(plan.blockers, [""; 0]);
    assert_eq!(
        steps(&plan),
        [
            "trash The Wire (2002)/Season 1/The Wire S01E01.mkv",
            "trash The Wire (2002)/Season 1/The Wire S01E01.en.srt",
            "trash The.Wire/the.wire.s01e02.mkv",
            "trash The.Wire/the.wire.s01e02.en.srt",
            "trash The.Wire/the.wire.s01e02.nfo",
            "trash The.Wire/the.wire.s01e03.mkv",
            "rescue The Wire (2002)/Season 1/The Wire S01E01.fr.srt > The Wire (2002)/the.wire.s01e01.fr.srt",
            "rescue The.Wire/the.wire.s01e02.de.forced.srt > The Wire (2002)/Season 1/The Wire S01E02.de.forced.srt",
            "move The.Wire/the.wire.s01e01.mkv > The Wire (2002)/the.wire.s01e01.mkv",
            "move The.Wire/the.wire.s01e01.en.srt > The Wire (2002)/the.wire.s01e01.en.srt",
            "folder The.Wire",
        ]
    );
    let told = plan
        .collisions
        .iter()
        .map(|it| (&*it.key, it.is_incoming_better, it.is_chosen));
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            ("s1e1", true, false),
            ("s1e2", false, false),
            ("s1e3", false, false)
        ],
        "of two equal ones that which is there stays"
    );
    let languages: Vec<Option<&str>> = plan.rescued.iter().map(|it| it.language.as_deref()).collect();
    assert_eq!(languages, [Some("fr"), Some("de")]);
    let kept = |at: usize| plan.steps[at].kept.as_ref().map(|kept| &*kept.path);
    assert_eq!(kept(0), Some("/tv/The.Wire/the.wire.s01e01.mkv"));
    assert_eq!(kept(2), Some("/tv/The Wire (2002)/Season 1/The Wire S01E02.mkv"));
    assert_eq!(plan.expected_freed, 5 + 1 + 3 + 1 + 1 + 4);
}

#[test]
fn people_choose_and_locked_items_stay() {
    let (canonical, duplicate) = ([("The Wire S01E01.mkv", 5)], [("the.wire.s01e01.mkv", 9)]);
    let mut wish = order(&canonical, &duplicate);
    let ours = "/tv/The Wire (2002)/The Wire S01E01.mkv".to_owned();
    wish.locked.insert(ours.clone());
    assert_eq!(
        draft(&wish).blockers.len(),
        1,
        "the larger one would take the place of a locked one"
    );
    wish.choices.insert("s1e1".to_owned(), ours);
    let plan = draft(&wish);
    assert_eq!(plan.blockers, [""; 0]);
    assert_eq!(
        steps(&plan),
        ["trash The.Wire/the.wire.s01e01.mkv", "folder The.Wire"]
    );
    assert!(plan.collisions[0].is_chosen && !plan.collisions[0].is_incoming_better);
    for (key, path) in [
        ("s1e1", "/tv/The.Wire/poster.jpg"),
        ("s9e9", "/tv/The.Wire/the.wire.s01e01.mkv"),
    ] {
        let mut wish = order(&canonical, &duplicate);
        wish.choices.insert(key.to_owned(), path.to_owned());
        assert_eq!(draft(&wish).blockers.len(), 1, "{key} {path}");
    }
}

#[test]
fn what_cannot_be_merged_is_refused() {
    let plan = draft(&order(
        &[("The Wire S01E01.mkv", 5), ("b.mkv", 1)],
        &[("B.mkv", 2)],
    ));
    assert_eq!(
        plan.blockers.len(),
        1,
        "the destination is taken: {:?}",
        plan.blockers
    );
    let plan = draft(&order(
        &[("The Wire S01E01.mkv", 5)],
        &[("x/b.mkv", 2), ("y/b.mkv", 2)],
    ));
    assert_eq!(
        plan.blockers.len(),
        1,
        "two files would get one path: {:?}",
        plan.blockers
    );
    let plan = draft(&order(&[("The Wire S01E01.mkv", 5)], &[]));
    assert_eq!(
        (plan.blockers.len(), steps(&plan).len()),
        (0, 1),
        "an empty folder goes"
    );

    let mut same = order(&[("The Wire S01E01.mkv", 5)], &[("b.mkv", 2)]);
    same.shows[1].1.identity = same.shows[0].1.identity;
    assert_eq!(draft(&same).blockers.len(), 1);
    let mut root = order(&[("The Wire S01E01.mkv", 5)], &[("b.mkv", 2)]);
    root.libraries.insert("/tv/The.Wire".to_owned());
    assert_eq!(draft(&root).blockers.len(), 1);
    let mut named = order(&[("The Wire S01E01.mkv", 5)], &[("b.mkv", 2)]);
    named.shows[1].0.canonical_key = "wire".to_owned();
    assert_eq!(draft(&named).blockers.len(), 1);
    named.is_acknowledged = true;
    assert_eq!(draft(&named).blockers, [""; 0]);
}

#[test]
fn a_freed_place_is_free_and_a_folder_with_something_left_stays() {
    let plan = draft(&order(
        &[("The Wire S01E01.mkv", 5)],
        &[("The Wire S01E01.mkv", 9), ("Subs/English.srt", 1)],
    ));
    assert_eq!(plan.blockers, [""; 0]);
    assert_eq!(
        steps(&plan),
        [
            "trash The Wire (2002)/The Wire S01E01.mkv",
            "move The.Wire/The Wire S01E01.mkv > The Wire (2002)/The Wire S01E01.mkv",
        ]
    );
    assert_eq!(
        (plan.deletions.len(), plan.warnings.len()),
        (0, 1),
        "{:?}",
        plan.warnings
    );
    let mut linked = order(&[("The Wire S01E01.mkv", 5)], &[]);
    linked.shows[1].1.odd.push("/tv/The.Wire/link.mkv".to_owned());
    assert!(draft(&linked).deletions.is_empty());
}

#[test]
fn an_episode_whose_folder_says_its_season_keeps_its_place() {
    let files = [("Season 2/03 - Words.mkv", 5), ("Season 2/03 - Words.en.srt", 1)];
    let plan = draft(&order(&[("Season 1/The Wire S01E01.mkv", 5)], &files));
    assert_eq!(
        steps(&plan),
        [
            "move The.Wire/Season 2/03 - Words.mkv > The Wire (2002)/Season 2/03 - Words.mkv",
            "move The.Wire/Season 2/03 - Words.en.srt > The Wire (2002)/Season 2/03 - Words.en.srt",
            "folder The.Wire",
        ]
    );
}

#[test]
fn files_that_share_an_episode_stay_both() {
    let plan = draft(&order(
        &[("The Wire S01E01-E02.mkv", 5)],
        &[("The Wire S01E02.mkv", 9)],
    ));
    assert_eq!(
        (plan.collisions.len(), plan.warnings.len()),
        (0, 1),
        "{:?}",
        plan.warnings
    );
    assert_eq!(plan.moves.len(), 1);
    let key = |season, first, last| EpisodeKey { season, first, last };
    assert_eq!(key(1, 2, 2).to_string(), "s1e2");
    assert_eq!(key(1, 2, 4).to_string(), "s1e2-e4");
    assert_eq!(
        key(1, 2, 4).singles().collect::<Vec<_>>(),
        ["s1e2", "s1e3", "s1e4"]
    );
    assert!(key(1, 1, 2).is_overlapping(key(1, 2, 2)) && !key(1, 1, 2).is_overlapping(key(2, 2, 2)));
}

#[test]
fn a_hard_link_is_told_and_frees_nothing() {
    let mut linked = order(&[("The Wire S01E01.mkv", 5)], &[("the.wire.s01e01.mkv", 5)]);
    let state = linked.shows[0].1.files[0].state;
    linked.shows[1].1.files[0].state = state;
    for at in 0..2 {
        linked.shows[at].1.files[0].links = 2;
    }
    let plan = draft(&linked);
    assert_eq!(
        (plan.blockers.len(), plan.warnings.len(), plan.expected_freed),
        (0, 1, 0)
    );
    linked.shows[0].1.files[0].links = 1;
    linked.shows[1].1.files[0].links = 1;
    assert_eq!(
        draft(&linked).blockers.len(),
        1,
        "it is one file, seen by two ways"
    );
}

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    /// Files of a folder: episodes in several forms, and files beside them or not.
    fn files(&mut self, show: &str) -> Vec<(String, u64)> {
        let mut files = Vec::new();
        for _ in 0..self.roll(8) {
            let (season, episode) = (1 + self.roll(2), 1 + self.roll(4));
            let name = match self.roll(4) {
                0 => format!("{show} S{season:02}E{episode:02}"),
                1 => format!("{show} S{season:02}E{episode:02}-E{:02}", episode + 1),
                2 => format!("{season}x{episode:02}"),
                _ => format!("Season {season}/{episode:02} - Words"),
            };
            for ending in [".mkv", ".en.srt", ".de.srt", ".nfo", "-thumb.jpg", "x.srt"] {
                if ending == ".mkv" && self.roll(6) > 0 || self.roll(4) == 0 {
                    files.push((format!("{name}{ending}"), 1 + self.roll(3)));
                }
            }
        }
        for name in ["poster.jpg", "Extras/Trailer.mkv", "Subs/English.srt"] {
            if self.roll(5) == 0 {
                files.push((name.to_owned(), 1));
            }
        }
        files.sort();
        files.dedup_by(|one, other| one.0 == other.0);
        files
    }
}

/// Checks that a plan loses nothing.
fn check(order: &Order, plan: &Plan) {
    let from: BTreeSet<&str> = plan.steps.iter().map(|step| &*step.from).collect();
    assert_eq!(from.len(), plan.steps.len(), "one step a file: {:?}", steps(plan));
    let trashed: BTreeSet<&str> = plan
        .steps
        .iter()
        .filter(|step| step.action == Action::Trash)
        .map(|step| &*step.from)
        .collect();
    for step in &plan.steps {
        let kept = step.kept.as_ref().map(|kept| &*kept.path);
        assert_eq!(
            kept.is_some(),
            matches!(step.action, Action::Trash | Action::Rescue)
        );
        assert!(
            kept.is_none_or(|kept| !trashed.contains(kept)),
            "what stays stays: {step:?}"
        );
    }
    let targets = plan.steps.iter().filter_map(|step| step.to.as_deref());
    let targets: Vec<String> = targets.map(str::to_lowercase).collect();
    let each: BTreeSet<&String> = targets.iter().collect();
    assert!(
        each.len() == targets.len() || !plan.blockers.is_empty(),
        "{targets:?}"
    );
    let mut left = BTreeSet::new();
    for (show, contents) in &order.shows {
        let goes = plan.deletions.contains(&contents.path);
        for file in &contents.files {
            let is_missed = matches!(file.kind, FileKind::Video | FileKind::Subtitle);
            assert!(
                !goes || !is_missed || from.contains(&*file.path),
                "{} is lost",
                file.path
            );
        }
        for (at, key) in contents.clips(&show.library_kind) {
            if !trashed.contains(&*contents.files[at].path) {
                left.extend(key.into_iter().flat_map(EpisodeKey::singles));
            }
        }
    }
    let all = order.shows.iter();
    let all: BTreeSet<String> = all
        .flat_map(|(show, contents)| contents.episodes(&show.library_kind))
        .collect();
    assert_eq!(left, all, "every episode is there afterwards");
}

#[test]
fn no_plan_loses_an_episode_a_video_or_subtitles() {
    let mut dice = Dice(7);
    let (mut collisions, mut rescued, mut moves) = (0, 0, 0);
    for _ in 0..300 {
        let folders: Vec<Vec<(String, u64)>> =
            (0..2 + dice.roll(2)).map(|_| dice.files("The Wire")).collect();
        let shows = folders.iter().enumerate().map(|(at, files)| {
            let files: Vec<(&str, u64)> = files.iter().map(|(name, size)| (&**name, *size)).collect();
            let name = ["The Wire (2002)", "The.Wire", "the wire"][at];
            let inode = at as u64 + 1;
            folder(
                show(&format!("{at}"), name, "the wire", None, None),
                inode,
                &files,
            )
        });
        let mut wish = order(&[], &[]);
        wish.shows = shows.collect();
        let plan = draft(&wish);
        check(&wish, &plan);
        assert_eq!(draft(&wish), plan, "the same folders give the same plan");
        collisions += plan.collisions.len();
        rescued += plan.rescued.len();
        moves += plan.moves.len();
    }
    assert!(
        collisions > 100 && rescued > 100 && moves > 100,
        "{collisions} {rescued} {moves}"
    );
}
