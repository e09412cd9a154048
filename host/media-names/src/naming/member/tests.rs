//! Files of films and episodes, each line one way in which people, and media servers, name them.

use super::*;

/// Files of one directory, each with its label and its part, by what they have in common.
fn grouped(folder: &str, names: &[&str], kind: Kind) -> Vec<Vec<(String, Option<String>, Option<i64>)>> {
    let beside = Beside::read_names(folder, names.iter().copied());
    let mut groups: Vec<(Option<String>, Vec<_>)> = Vec::new();
    for name in names {
        let path = if folder.is_empty() {
            (*name).to_owned()
        } else {
            format!("{folder}/{name}")
        };
        let found = member(&path, kind, &beside);
        let file = ((*name).to_owned(), found.label, found.part);
        match groups
            .iter_mut()
            .find(|(key, _)| key.is_some() && *key == found.key)
        {
            Some((_, files)) => files.push(file),
            None => groups.push((found.key, vec![file])),
        }
    }
    groups.into_iter().map(|(_, files)| files).collect()
}

fn labels(folder: &str, names: &[&str], kind: Kind) -> Vec<Option<String>> {
    let groups = grouped(folder, names, kind);
    assert_eq!(groups.len(), 1, "{folder}: {groups:?}");
    groups.into_iter().flatten().map(|(_, label, _)| label).collect()
}

fn parts(folder: &str, names: &[&str], kind: Kind) -> Vec<Option<i64>> {
    let groups = grouped(folder, names, kind);
    assert_eq!(groups.len(), 1, "{folder}: {groups:?}");
    groups.into_iter().flatten().map(|(_, _, part)| part).collect()
}

#[test]
fn versions_of_a_film_are_one() {
    for (folder, names, expected) in [
        (
            "Amber Ox (2013)",
            &[
                "Amber Ox (2013) - 1080p.mkv",
                "Amber Ox (2013) - Director's Cut.mkv",
                "Amber Ox (2013) - 4K.mkv",
            ][..],
            &[Some("1080p"), Some("Director's Cut"), Some("4K")][..],
        ),
        (
            "",
            &["Amber Ox (2013) - 1080p.mkv", "Amber Ox (2013) [4K].mkv"],
            &[Some("1080p"), Some("4K")],
        ),
        (
            "Amber Ox (2013)",
            &["Amber Ox (2013).mkv", "Amber Ox (2013) [1080p].mkv"],
            &[None, Some("1080p")],
        ),
        (
            "Amber Ox (2013)",
            &[
                "Amber.Ox.2013.1080p.BluRay.x264-GRP.mkv",
                "Amber.Ox.2013.2160p.WEB-DL.x265-OTHER.mkv",
            ],
            &[Some("1080p BluRay"), Some("2160p WEB-DL")],
        ),
        (
            "Amber Ox (1982)",
            &[
                "Amber Ox (1982) [Final Cut] [1080p HEVC AAC].mkv",
                "Amber Ox (1982) [EE by ADM] [480p HEVC AAC,AAC,AAC].mkv",
            ],
            &[
                Some("Final Cut 1080p HEVC AAC"),
                Some("EE by ADM 480p HEVC AAC,AAC,AAC"),
            ],
        ),
        (
            "Amber Ox (2013)",
            &[
                "Amber Ox (2013) {edition-Director's Cut}.mkv",
                "Amber Ox (2013).mp4",
            ],
            &[Some("Director's Cut"), None],
        ),
        (
            "Amber Ox",
            &[
                "Amber Ox.mkv",
                "Amber Ox-720p.mkv",
                "Amber Ox - test.mkv",
                "Amber Ox [3d].mkv",
            ],
            &[None, Some("720p"), Some("test"), Some("3d")],
        ),
        (
            "Amber Ox",
            &["Amber Ox - 1080p.mkv", "Amber Ox [hsbs].mkv"],
            &[Some("1080p"), Some("hsbs")],
        ),
        (
            "Amber Ox (1925)",
            &[
                "Amber Ox (1925) - 1925 version.mkv",
                "Amber Ox (1925) - 1929 version.mkv",
            ],
            &[Some("1925 version"), Some("1929 version")],
        ),
    ] {
        let expected: Vec<Option<String>> = expected.iter().map(|label| label.map(str::to_owned)).collect();
        assert_eq!(labels(folder, names, Kind::Movie), expected, "{folder}");
    }
}

#[test]
fn other_films_are_others() {
    for (folder, names) in [
        ("M", &["Amber 1.mkv", "Amber 2.mkv", "Amber 3.mkv"][..]),
        (
            "Amber Ox",
            &["Amber Ox.mkv", "Amber Ox (2008).mkv", "Amber Ox (2009).mkv"],
        ),
        ("", &["Amber Ox (2006).mkv", "Amber Ox (2007).mkv"]),
        ("Amber", &["Amber - A New Ox.mkv", "Amber - The Ox Returns.mkv"]),
        ("Amber", &["Amber - B (2006).mkv", "Amber - C (2007).mkv"]),
        (
            "Amber",
            &["Amber 1 - The motion ox.mkv", "Amber 2- The wrath of ox.mkv"],
        ),
        ("", &["300a.mkv", "300b.mkv", "300c.mkv"]),
        ("", &["Amber.mkv", "Amber part 2.mkv"]),
        ("", &["Amber Part 2.mkv", "Amber Part 3.mkv"]),
    ] {
        assert_eq!(
            grouped(folder, names, Kind::Movie).len(),
            names.len(),
            "{names:?}"
        );
    }
    let home = ["holiday 1.mp4", "holiday - beach.mp4", "holiday.mp4"];
    assert_eq!(
        grouped("holiday", &home, Kind::General).len(),
        3,
        "nobody says what they are"
    );
}

#[test]
fn parts_of_a_film_are_one() {
    for (folder, names) in [
        (
            "Amber Ox (2013)",
            &["Amber Ox (2013) - part1.mkv", "Amber Ox (2013) - part2.mkv"][..],
        ),
        ("", &["Amber Ox (2013) cd1.avi", "Amber Ox (2013) cd2.avi"]),
        (
            "Amber Ox (2013)",
            &[
                "Amber.Ox.2013.CD1.DVDRip.XviD-GRP.avi",
                "Amber.Ox.2013.CD2.DVDRip.XviD-GRP.avi",
            ],
        ),
        ("Amber Ox (2013)", &["Amber Ox disc 1.mkv", "Amber Ox disc 2.mkv"]),
        ("Amber Ox (2013)", &["Amber Ox-pt1.mkv", "Amber Ox-pt2.mkv"]),
        ("Amber Ox (2013)", &["cd1.avi", "cd2.avi"]),
        (
            "Amber Ox (2013)",
            &["Amber Ox (2013) parta.mkv", "Amber Ox (2013) partb.mkv"],
        ),
        ("", &["300 (2006) part1.mkv", "300 (2006) part2.mkv"]),
        (
            "",
            &[
                "Amber Ox (2011)[720p][PG][Family]part1.mkv",
                "Amber Ox (2011)[720p][PG][Family]part2.mkv",
            ],
        ),
        ("", &["Amber Ox part 1.mkv", "Amber Ox part 2.mkv"]),
    ] {
        assert_eq!(parts(folder, names, Kind::Movie), [Some(1), Some(2)], "{names:?}");
    }
    let mixed = [
        "Amber Ox (2013) - 1080p - part1.mkv",
        "Amber Ox (2013) - 1080p - part2.mkv",
        "Amber Ox (2013) - 720p.mkv",
    ];
    assert_eq!(
        parts("Amber Ox (2013)", &mixed, Kind::Movie),
        [Some(1), Some(2), None]
    );
    // Parts in folders of their own.
    for paths in [
        [
            "Amber Ox (2013)/CD1/Amber Ox.avi",
            "Amber Ox (2013)/CD2/Amber Ox.avi",
        ],
        [
            "Amber Ox (2013)/Disc 1/VIDEO_TS/VTS_01_1.VOB",
            "Amber Ox (2013)/Disc 2/VIDEO_TS/VTS_01_1.VOB",
        ],
        [
            "Amber Ox/Amber Ox (1965) (Disc 01)/VIDEO_TS/VTS_01_1.VOB",
            "Amber Ox/Amber Ox (1965) (Disc 02)/VIDEO_TS/VTS_01_1.VOB",
        ],
    ] {
        let alone = Beside {
            is_alone: true,
            ..Beside::default()
        };
        let [one, other] = paths.map(|path| member(path, Kind::Movie, &alone));
        assert!(
            one.key.is_some() && one.key == other.key,
            "{paths:?}: {one:?} {other:?}"
        );
        assert_eq!((one.part, other.part), (Some(1), Some(2)), "{paths:?}");
    }
    let release = member(
        "Amber Ox (2013)/Amber.Ox.2013.720p-GRP/grp-ox.mkv",
        Kind::Movie,
        &Beside {
            is_alone: true,
            ..Beside::default()
        },
    );
    let own = member(
        "Amber Ox (2013)/Amber Ox (2013).mkv",
        Kind::Movie,
        &Beside::default(),
    );
    assert_eq!(release.key, own.key, "a release in the folder of its film");
}

#[test]
fn files_of_an_episode_are_one() {
    let folder = "Alder/Season 1";
    let names = ["Alder S01E01 - 1080p.mkv", "Alder S01E01 - 720p.mkv"];
    assert_eq!(
        labels(folder, &names, Kind::Tv),
        [Some("1080p".to_owned()), Some("720p".to_owned())]
    );
    let names = [
        "Alder.S01E01.1080p.WEB-DL.x264-GRP.mkv",
        "Alder.S01E01.720p.HDTV.x264-OTHER.mkv",
    ];
    assert_eq!(labels(folder, &names, Kind::Tv).len(), 2);
    for names in [
        ["Alder S01E01-part1.mkv", "Alder S01E01-part2.mkv"],
        [
            "Alder - S01E01 - Words - pt1.mkv",
            "Alder - S01E01 - Words - pt2.mkv",
        ],
        ["Alder.S01E01.cd1.avi", "Alder.S01E01.cd2.avi"],
    ] {
        assert_eq!(parts(folder, &names, Kind::Tv), [Some(1), Some(2)], "{names:?}");
    }
    for names in [
        ["Alder S01E01.mkv", "Alder S01E02.mkv"],
        ["Alder S01E01.mkv", "Alder S01E01-E02.mkv"],
        ["Alder S00E01 - Making of.mkv", "Alder S00E01 - Bloopers.mkv"],
        ["Part 1.mkv", "Part 2.mkv"],
        ["Alder S01E01.mkv", "Late.S01E01.mkv"],
    ] {
        assert_eq!(grouped(folder, &names, Kind::Tv).len(), 2, "{names:?}");
    }
}

#[test]
fn an_extra_belongs_to_its_film_or_its_show() {
    for (path, kind, folder, season) in [
        (
            "Amber Ox (2013)/Trailers/any.mkv",
            Kind::Movie,
            "Amber Ox (2013)",
            None,
        ),
        (
            "Amber Ox (2013)/trailer.mkv",
            Kind::Movie,
            "Amber Ox (2013)",
            None,
        ),
        (
            "A/Amber Ox (2013)/extras/more/any.mkv",
            Kind::Movie,
            "A/Amber Ox (2013)",
            None,
        ),
        ("Alder/Extras/any.mkv", Kind::Tv, "Alder", None),
        ("Alder/Season 2/Featurettes/any.mkv", Kind::Tv, "Alder", Some(2)),
        (
            "Alder/Season 2/Alder S02E01-trailer.mkv",
            Kind::Tv,
            "Alder",
            Some(2),
        ),
        ("Alder/trailer.mkv", Kind::Tv, "Alder", None),
        ("Group/Alder/Season 3/Extras/any.mkv", Kind::Tv, "Group", Some(3)),
        ("trailer.mkv", Kind::Tv, "", None),
    ] {
        let found = owner_of(path, kind);
        assert_eq!((&*found.folder, found.season), (folder, season), "{path}");
    }
    let film = member("Amber Ox (2013) - 1080p.mkv", Kind::Movie, &Beside::default());
    let trailer = owner_of("Amber Ox (2013)-trailer.mkv", Kind::Movie);
    assert!(
        trailer.key.is_some() && trailer.key == film.key,
        "{trailer:?} {film:?}"
    );
}

/// Folders of films, each with files of one film.
const FILMS: &[(&str, &[&str])] = &[
    (
        "X Ox (2016)",
        &[
            "X Ox (2016) - 1080p.mkv",
            "X Ox (2016) - 720p.mkv",
            "X Ox (2016) - Directors Cut.mkv",
            "X Ox (2016) - Theatrical Release.mkv",
        ],
    ),
    (
        "Amber Ox - Kapitel 3 (2019) [imdbid=tt6146586]",
        &[
            "Amber Ox - Kapitel 3 (2019) [imdbid=tt6146586] - Version 1.mkv",
            "Amber Ox - Kapitel 3 (2019) [imdbid=tt6146586] - Version 2.mkv",
        ],
    ),
    (
        "Amber Ox - Chapter 3 (2019)",
        &[
            "Amber Ox - Chapter 3 (2019) [Version 1].mkv",
            "Amber Ox - Chapter 3 (2019) [Version 2.mkv",
        ],
    ),
    ("Amber", &["Amber.mkv", "Amber-2.mkv", "Amber-3.mkv"]),
    (
        "",
        &[
            "Amber.Ox.2013.1080p.BluRay.x264-GRP.mkv",
            "Amber.Ox.2013.2160p.UHD.BluRay.x265-GRP.mkv",
        ],
    ),
    (
        "Amber Ox (2013)",
        &[
            "Amber Ox (2013) 3D.mkv",
            "Amber Ox (2013) 1080p.mkv",
            "Amber Ox (2013).mkv",
        ],
    ),
    (
        "Amber Ox (2013)",
        &[
            "Amber Ox (2013) - [1080p].mkv",
            "Amber Ox (2013) - [Extended Edition].mkv",
        ],
    ),
    (
        "Amber Ox (2013)",
        &[
            "Amber Ox (2013) (Director's Cut).mkv",
            "Amber Ox (2013) (Theatrical).mkv",
        ],
    ),
    (
        "Amber Ox (2013)",
        &["Amber Ox (2013) Extended Edition.mkv", "Amber Ox (2013).mkv"],
    ),
    (
        "Amber Ox (2013) {tmdb-12}",
        &[
            "Amber Ox (2013) {tmdb-12} - 2160p.mkv",
            "Amber Ox (2013) {tmdb-12}.mkv",
        ],
    ),
    (
        "Amber Ox (2013)",
        &[
            "Amber.Ox.2013.Directors.Cut.1080p.BluRay.x264-GRP.mkv",
            "Amber.Ox.2013.Theatrical.1080p.BluRay.x264-GRP.mkv",
        ],
    ),
    (
        "Amber Ox (2013)",
        &[
            "Amber Ox (2013) {edition-Final Cut} - 1080p.mkv",
            "Amber Ox (2013) {edition-Final Cut} - 4K.mkv",
        ],
    ),
    ("Amber Ox (2013)", &["Amber Ox.mkv", "Amber Ox - 1080p.mkv"]),
    (
        "Amber Ox (2013)",
        &["Amber Ox (2013) - disc1.avi", "Amber Ox (2013) - disc2.avi"],
    ),
    (
        "Amber Ox (2013)",
        &["Amber Ox (2013) - dvd 1.avi", "Amber Ox (2013) - dvd 2.avi"],
    ),
    (
        "Amber Ox (2013)",
        &["Amber_Ox_(2013)_cd1.avi", "Amber_Ox_(2013)_cd2.avi"],
    ),
    (
        "Amber Ox (2013)",
        &[
            "Amber Ox (2013) - part1 - 1080p.mkv",
            "Amber Ox (2013) - part2 - 1080p.mkv",
        ],
    ),
    (
        "Amber Ox (2013)",
        &[
            "Amber Ox (2013) - cd1.avi",
            "Amber Ox (2013) - cd2.avi",
            "Amber Ox (2013) - 1080p.mkv",
        ],
    ),
];

/// Files of one episode.
const EPISODES: &[&[&str]] = &[
    &["Alder - s01e01-pt1.mkv", "Alder - s01e01-pt2.mkv"],
    &["Alder S01E01 - disc 1.mkv", "Alder S01E01 - disc 2.mkv"],
    &["Alder.S01E01.Part1.720p.mkv", "Alder.S01E01.Part2.720p.mkv"],
    &[
        "Alder - S01E01 - Words (1080p).mkv",
        "Alder - S01E01 - Words (720p).mkv",
    ],
    &["Alder S01E01 [1080p].mkv", "Alder S01E01.mkv"],
    &[
        "Alder (2012) - S01E01 - 1080p.mkv",
        "Alder (2012) - S01E01 - 720p.mkv",
    ],
    &["Alder - 1x01.mkv", "Alder - S01E01 720p.mkv"],
    &["S01E01 - Words.mkv", "S01E01 - Words 1080p.mkv"],
    &["01 - Words.mkv", "01 - Words [1080p].mkv"],
];

#[test]
fn ways_to_name_versions_and_parts() {
    for (folder, names) in FILMS {
        let groups = grouped(folder, names, Kind::Movie);
        assert_eq!(groups.len(), 1, "{names:?}: {groups:#?}");
    }
    for names in EPISODES {
        let groups = grouped("Alder (2012)/Season 1", names, Kind::Tv);
        assert_eq!(groups.len(), 1, "{names:?}: {groups:#?}");
    }
}
