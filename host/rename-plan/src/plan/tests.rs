//! Tables of names as people and release groups write them, and properties of every plan.

use std::collections::HashSet;

use super::*;

mod downloads;

fn wish(preset: Preset, kind: Option<Kind>) -> Wish {
    Wish {
        kind,
        ..Wish::new(preset, &preset.templates()).unwrap()
    }
}

fn sources(names: &[&str]) -> Vec<Source> {
    let source = |name: &&str| Source {
        path: (*name).to_owned(),
        name: (*name).to_owned(),
        size: None,
    };
    names.iter().map(source).collect()
}

/// New name of each source, or the reason why it stays, after a dash.
fn names_of(wish: &Wish, names: &[&str]) -> Vec<String> {
    let plan = plan(wish, &sources(names));
    let found = |name: &&str| {
        let item = plan.items.iter().find(|item| item.source == **name).unwrap();
        item.destination
            .clone()
            .unwrap_or_else(|| format!("– {}", item.reason))
    };
    names.iter().map(found).collect()
}

/// Checks the new names of files, and that they keep them.
fn check_names(preset: Preset, kind: Option<Kind>, expected: &[(&str, &str)]) {
    let wish = wish(preset, kind);
    let names: Vec<&str> = expected.iter().map(|(name, _)| *name).collect();
    let found = names_of(&wish, &names);
    for ((name, expected), found) in expected.iter().zip(&found) {
        assert_eq!(found, expected, "{preset:?} {kind:?} {name}");
    }
    let placed: Vec<&str> = found
        .iter()
        .map(String::as_str)
        .filter(|name| !name.starts_with('–'))
        .collect();
    assert_eq!(names_of(&wish, &placed), placed, "they keep their names");
}

#[test]
fn episodes_get_names_that_media_servers_read() {
    check_names(
        Preset::Plex,
        None,
        &[
            // The last word of a title that looks like a disc.
            (
                "The.Amber.Ox.S00E01.Aad.Cda.x264.mkv",
                "The Amber Ox/Specials/The Amber Ox - S00E01 - Aad Cda.mkv",
            ),
            (
                "The.Wire.S01E02.The.Detail.1080p.BluRay.x265-GRP.mkv",
                "The Wire/Season 1/The Wire - S01E02 - The Detail.mkv",
            ),
            (
                "The.Wire.S01E03E04.1080p.BluRay.x265-GRP.mkv",
                "The Wire/Season 1/The Wire - S01E03 - E04.mkv",
            ),
            (
                "[Group] Some Anime - 12 (1080p) [ABCD1234].mkv",
                "Some Anime/Season 1/Some Anime - S01E12.mkv",
            ),
            (
                "[Group] Some Anime S2 - 05v2 (1080p).mkv",
                "Some Anime/Season 2/Some Anime - S02E05.mkv",
            ),
            (
                "The.Daily.Show.2011.11.15.Guest.Name.720p.HDTV.x264-GRP.mkv",
                "The Daily Show/Season 2011/The Daily Show - 2011-11-15 - Guest Name.mkv",
            ),
            (
                "Show - 1x02 - Title.mkv",
                "Show/Season 1/Show - S01E02 - Title.mkv",
            ),
            ("1923.S01E01.1080p.mkv", "1923/Season 1/1923 - S01E01.mkv"),
            (
                "Show.Name.2019.S2019E03.mkv",
                "Show Name/Season 2019/Show Name - S2019E03.mkv",
            ),
            (
                "Doctor.Who.2005.S00E01.720p.mkv",
                "Doctor Who (2005)/Specials/Doctor Who - S00E01.mkv",
            ),
            (
                "Alder.S01E02.Part1.720p.mkv",
                "Alder/Season 1/Alder - S01E02 - part1.mkv",
            ),
            (
                "Alder.S01E02.Part2.720p.mkv",
                "Alder/Season 1/Alder - S01E02 - part2.mkv",
            ),
        ],
    );
    // Presets that have no place for the last of several episodes keep it all the same.
    check_names(
        Preset::Jellyfin,
        None,
        &[
            (
                "The.Wire.S01E02E03.1080p.BluRay.x265-GRP.mkv",
                "The Wire/Season 1/The Wire S01E02-E03.mkv",
            ),
            (
                "The Wire - S01E04-E05 - The Detail.mkv",
                "The Wire/Season 1/The Wire S01E04-E05 The Detail.mkv",
            ),
        ],
    );
    check_names(
        Preset::Kodi,
        None,
        &[(
            "The.Wire.S01E02E03.1080p.BluRay.x265-GRP.mkv",
            "The Wire/Season 1/The Wire S01E02-E03.mkv",
        )],
    );
    check_names(
        Preset::Plex,
        Some(Kind::Tv),
        &[
            ("CAFÉ S01E02.mkv", "CAFÉ/Season 1/CAFÉ - S01E02.mkv"),
            ("Cafe\u{301} S01E01.mkv", "CAFÉ/Season 1/CAFÉ - S01E01.mkv"),
            ("no number.mkv", "– its name says no episode and no day"),
        ],
    );
}

#[test]
fn films_keep_their_editions_versions_and_parts() {
    check_names(
        Preset::Plex,
        None,
        &[
            (
                "Blade.Runner.1982.Final.Cut.2160p.UHD.BluRay.x265-GRP.mkv",
                "Blade Runner (1982)/Blade Runner (1982) - 2160p {edition-Final Cut}.mkv",
            ),
            (
                "Blade.Runner.1982.1080p.BluRay.x264-GRP.mkv",
                "Blade Runner (1982)/Blade Runner (1982) - 1080p - x264.mkv",
            ),
            (
                "Blade.Runner.1982.1080p.BluRay.x265-GRP.mkv",
                "Blade Runner (1982)/Blade Runner (1982) - 1080p - x265.mkv",
            ),
            (
                "Blade.Runner.1982.1080p.BluRay.x264-GRP.en.srt",
                "Blade Runner (1982)/Blade Runner (1982) - 1080p - x264.en.srt",
            ),
            (
                "Blade.Runner.1982.1080p.BluRay.x264-GRP.nfo",
                "Blade Runner (1982)/Blade Runner (1982) - 1080p - x264.nfo",
            ),
            (
                "Amber.Ox.2013.CD1.DVDRip.XviD-GRP.avi",
                "Amber Ox (2013)/Amber Ox (2013) - part1.avi",
            ),
            (
                "Amber.Ox.2013.CD2.DVDRip.XviD-GRP.avi",
                "Amber Ox (2013)/Amber Ox (2013) - part2.avi",
            ),
        ],
    );
    check_names(
        Preset::Jellyfin,
        None,
        &[
            (
                "Blade.Runner.1982.Final.Cut.2160p.UHD.BluRay.x265-GRP.mkv",
                "Blade Runner (1982)/Blade Runner (1982) [2160p] - Final Cut.mkv",
            ),
            (
                "Blade.Runner.1982.1080p.BluRay.x264-GRP.mkv",
                "Blade Runner (1982)/Blade Runner (1982) [1080p].mkv",
            ),
        ],
    );
    check_names(
        Preset::Emby,
        None,
        &[
            (
                "Tide.1982.2160p.BluRay.x265-GRP.mkv",
                "Tide (1982)/Tide (1982) - 2160p.mkv",
            ),
            (
                "Tide.1982.1080p.BluRay.x264-GRP.mkv",
                "Tide (1982)/Tide (1982) - 1080p.mkv",
            ),
        ],
    );
}

#[test]
fn films_in_folders_of_their_own_keep_what_tells_them_apart() {
    check_names(
        Preset::Plex,
        Some(Kind::Movie),
        &[
            (
                "Ox (2005)/Ox (2005) - Director's Cut.mkv",
                "Ox (2005)/Ox (2005) {edition-Director's Cut}.mkv",
            ),
            (
                "Ox (2005)/Ox (2005) - Theatrical.mkv",
                "Ox (2005)/Ox (2005) {edition-Theatrical}.mkv",
            ),
            (
                "Ox (2005)/Ox (2005) {edition-My Own}.mkv",
                "Ox (2005)/Ox (2005) {edition-My Own}.mkv",
            ),
            ("Ox (2005)/Ox (2005).mkv", "Ox (2005)/Ox (2005).mkv"),
            (
                "A (2000)/A (2000) - Black and White.mkv",
                "A (2000)/A (2000) - Black and White.mkv",
            ),
            ("A (2000)/A (2000) - Colour.mkv", "A (2000)/A (2000) - Colour.mkv"),
            (
                "...And Justice for All (1979).mkv",
                "And Justice for All (1979)/And Justice for All (1979).mkv",
            ),
            (
                "Mission: Impossible (1996).mkv",
                "Mission Impossible (1996)/Mission Impossible (1996).mkv",
            ),
            ("CON.mkv", "CON_/CON_.mkv"),
            ("Tide {tmdb-603} (1999).mkv", "Tide (1999)/Tide (1999).mkv"),
        ],
    );
    // The same film twice: neither is lost.
    check_names(
        Preset::Plex,
        Some(Kind::Movie),
        &[
            ("a/Tide (1982).mkv", "Tide (1982)/Tide (1982).mkv"),
            ("b/TIDE (1982).mkv", "Tide (1982)/Tide (1982) [dup2].mkv"),
        ],
    );
}

#[test]
fn companions_travel_with_their_video() {
    check_names(
        Preset::Plex,
        None,
        &[
            (
                "The Wire (2002)/Season 1/01 - The Target.mkv",
                "The Wire (2002)/Season 1/The Wire - S01E01 - The Target.mkv",
            ),
            (
                "The Wire (2002)/Season 1/01 - The Target.en.forced.srt",
                "The Wire (2002)/Season 1/The Wire - S01E01 - The Target.en.forced.srt",
            ),
            (
                "The Wire (2002)/Season 1/01 - The Target-thumb.jpg",
                "The Wire (2002)/Season 1/The Wire - S01E01 - The Target-thumb.jpg",
            ),
            (
                "The Wire (2002)/Specials/S00E01 - Prequel.mkv",
                "The Wire (2002)/Specials/The Wire - S00E01 - Prequel.mkv",
            ),
            ("The Wire (2002)/tvshow.nfo", "The Wire (2002)/tvshow.nfo"),
            (
                "The Wire (2002)/season01-poster.jpg",
                "The Wire (2002)/season01-poster.jpg",
            ),
            (
                "The Wire (2002)/Season 1/poster.jpg",
                "The Wire (2002)/Season 1/poster.jpg",
            ),
            (
                "The Wire (2002)/Extras/Gag Reel.mkv",
                "The Wire (2002)/Extras/Gag Reel.mkv",
            ),
            (
                "The Wire (2002)/Season 1/Featurettes/Making Of.mkv",
                "The Wire (2002)/Season 1/Extras/Making Of.mkv",
            ),
            ("The Wire (2002)/theme.mp3", "– theme of a show or a film"),
        ],
    );
}

#[test]
fn companions_of_downloads_find_their_video() {
    check_names(
        Preset::Plex,
        None,
        &[
            (
                "Alien.1979.1080p/alien.mkv",
                "Alien (1979)/Alien (1979) - 1080p.mkv",
            ),
            ("Alien.1979.1080p/Sample/sample.mkv", "– sample file ignored"),
            (
                "Alien.1979.1080p/Subs/2_English.srt",
                "Alien (1979)/Alien (1979) - 1080p.en.srt",
            ),
            (
                "Alien.1979.1080p/Subs/3_German.srt",
                "Alien (1979)/Alien (1979) - 1080p.de.srt",
            ),
            (
                "Alien.1979.1080p/Subs/4_German.srt",
                "– another file gets its name",
            ),
            ("Alien.1979.1080p/movie.nfo", "Alien (1979)/movie.nfo"),
            ("Alien.1979.1080p/poster.jpg", "Alien (1979)/poster.jpg"),
            (
                "Alien.1979.1080p/alien-trailer.mkv",
                "Alien (1979)/Extras/alien-trailer.mkv",
            ),
            ("Alien.1979.1080p/readme.txt", "– non-media file"),
        ],
    );
    check_names(
        Preset::Plex,
        None,
        &[
            (
                "Show.S01.1080p/Show.S01E01.mkv",
                "Show/Season 1/Show - S01E01.mkv",
            ),
            (
                "Show.S01.1080p/Show.S01E02.mkv",
                "Show/Season 1/Show - S01E02.mkv",
            ),
            (
                "Show.S01.1080p/Subs/Show.S01E01/2_English.srt",
                "Show/Season 1/Show - S01E01.en.srt",
            ),
            (
                "Show.S01.1080p/Subs/Show.S01E02/2_English.srt",
                "Show/Season 1/Show - S01E02.en.srt",
            ),
            ("Show.S01.1080p/Show.S01E03.srt", "– no video for its episode"),
        ],
    );
    check_names(
        Preset::Plex,
        None,
        &[
            (
                "Artist - Song.mp3",
                "– artist and album of music are not read from names: it stays as it is",
            ),
            ("holiday.mp4", "holiday.mp4"),
        ],
    );
}

#[test]
fn folders_that_are_there_are_kept_in_place() {
    let mut wish = wish(Preset::Plex, Some(Kind::Tv));
    wish.mode = Mode::RenameInPlace;
    wish.library = "/tv".to_owned();
    let source = |name: &str| Source {
        path: format!("/tv/{name}"),
        name: name.to_owned(),
        size: Some(1 << 30),
    };
    let plan = plan(
        &wish,
        &[
            source("the wire/Season 01/the.wire.s01e02.mkv"),
            source("loose.S01E01.mkv"),
        ],
    );
    let to: Vec<&str> = plan
        .items
        .iter()
        .filter_map(|item| item.destination.as_deref())
        .collect();
    assert_eq!(
        to,
        [
            "/tv/loose/Season 1/loose - S01E01.mkv",
            "/tv/the wire/Season 01/the wire - S01E02.mkv"
        ]
    );
}

#[test]
fn shows_of_the_library_give_their_title() {
    let mut wish = wish(Preset::Plex, Some(Kind::Tv));
    wish.shows = vec![KnownShow {
        title: "Marvel's Tide".to_owned(),
        year: Some(2015),
        folder: "Marvel's Tide (2015)".to_owned(),
    }];
    assert_eq!(
        names_of(&wish, &["marvels.tide.s01e01.mkv", "Tide.S01E01.mkv"]),
        [
            "Marvel's Tide (2015)/Season 1/Marvel's Tide - S01E01.mkv",
            "Tide/Season 1/Tide - S01E01.mkv"
        ]
    );
    wish.shows.push(KnownShow {
        year: Some(1980),
        ..wish.shows[0].clone()
    });
    assert_eq!(
        names_of(&wish, &["marvels.tide.s01e01.mkv"]),
        ["marvels tide/Season 1/marvels tide - S01E01.mkv"]
    );
}

#[test]
fn the_name_of_a_source_helps_its_only_file() {
    let mut wish = wish(Preset::Plex, None);
    wish.source_name = Some("Salt.River.2019.1080p.BluRay.x264-GRP".to_owned());
    assert_eq!(
        names_of(&wish, &["grp-sr.mkv"]),
        ["Salt River (2019)/Salt River (2019) - 1080p.mkv"]
    );
    let both = ["Salt River 1080p.mkv", "Amber Ox 1080p.mkv"];
    let named = [
        "Salt River/Salt River - 1080p.mkv",
        "Amber Ox/Amber Ox - 1080p.mkv",
    ];
    wish.kind = Some(Kind::Movie);
    assert_eq!(names_of(&wish, &both), named, "a collection is none of its films");
    wish.kind = None;
    wish.source_name = Some("Salt River S02".to_owned());
    assert_eq!(
        names_of(&wish, &["S02E03.mkv"]),
        ["Salt River/Season 2/Salt River - S02E03.mkv"]
    );
}

#[test]
fn long_titles_are_shortened_or_refused() {
    let long = format!("Show - S01E01 - {}.mkv", "wordy ".repeat(38).trim());
    let plan = plan(&wish(Preset::Plex, None), &sources(&[&long]));
    let name = plan.items[0].destination.clone().unwrap();
    let name = name.rsplit('/').next().unwrap();
    assert!(name.len() <= 255 && name.ends_with("wordy.mkv"), "{name}");
    let film = format!("{} (2010) 1080p.mkv", "é".repeat(115));
    let found = names_of(&wish(Preset::Plex, None), &[&film]);
    assert!(found[0].len() < 600 && !found[0].starts_with('–'), "{found:?}");
    let film = format!("{} (2010) 1080p.mkv", "é".repeat(125));
    let found = names_of(&wish(Preset::Plex, None), &[&film]);
    assert!(found[0].contains("bytes, and file systems take 255"), "{found:?}");
}

#[test]
fn what_is_to_be_cleaned_is_deleted_only_where_files_move() {
    let mut wish = wish(Preset::Plex, None);
    wish.cleanup = Cleanup {
        enabled: true,
        delete_globs: vec!["*.txt".to_owned(), "*.mkv".to_owned()],
        keep_languages: vec!["en".to_owned()],
    };
    let names = [
        "Tide.2010/Tide.2010.mkv",
        "Tide.2010/a.TXT",
        "Tide.2010/Tide.2010.de.srt",
        "Tide.2010/Sample/sample.mkv",
    ];
    let deleted = |wish: &Wish| {
        let plan = plan(wish, &sources(&names));
        plan.items
            .iter()
            .filter(|item| item.action == Action::Delete)
            .count()
    };
    assert_eq!(deleted(&wish), 0);
    wish.mode = Mode::Hardlink;
    assert_eq!(deleted(&wish), 0);
    wish.mode = Mode::RenameMove;
    assert_eq!(deleted(&wish), 3);
}

#[test]
fn an_explanation_says_where_each_value_is_from() {
    let found = crate::explain(
        &wish(Preset::Plex, None),
        "The Wire (2002)/Season 1/The.Wire.S01E02.The.Detail.1080p.mkv",
    );
    assert_eq!(
        found.destination.as_deref(),
        Ok("The Wire (2002)/Season 1/The Wire - S01E02 - The Detail.mkv")
    );
    let of = |token: Token| found.tokens.iter().find(|one| one.token == token).unwrap();
    let episode = of(Token::Episode);
    assert_eq!((episode.value.as_deref(), episode.is_used), (Some("2"), true));
    assert_eq!(episode.from.as_ref().unwrap().token.as_deref(), Some("S01E02"));
    assert_eq!(of(Token::Year).from.as_ref().unwrap().place, "folder");
    assert_eq!(of(Token::EpisodeEnd).value, None);
    assert!(!of(Token::Resolution).is_used);
    assert!(found.parts.iter().any(|part| part.taken_for == "episode"));
}

/// Checks what holds for every plan.
fn check_plan(wish: &Wish, sources: &[Source], plan: &Plan) {
    assert_eq!(plan.items.len(), sources.len(), "each file is answered once");
    let mut seen = HashSet::new();
    for item in &plan.items {
        let Some(destination) = &item.destination else {
            assert!(
                matches!(item.action, Action::Skip | Action::Delete) && !item.reason.is_empty(),
                "{item:?}"
            );
            continue;
        };
        let library = wish.library.trim_end_matches('/');
        let path = destination.strip_prefix(library).unwrap().trim_start_matches('/');
        assert!(seen.insert(fold(destination)), "{destination} twice");
        // Folders that are there stay as they are.
        let kept = if wish.mode == Mode::RenameInPlace {
            usize::MAX
        } else {
            0
        };
        for (at, name) in path.rsplit('/').enumerate() {
            assert!(!matches!(name, "." | ".."), "{destination}");
            if at > 0 && kept > 0 {
                continue;
            }
            assert!(
                !name.is_empty() && name.len() <= crate::MAX_NAME_BYTES,
                "{destination}"
            );
            assert!(
                !name.starts_with(['.', ' ']) && !name.ends_with(['.', ' ']),
                "{destination:?}"
            );
            let bad = |letter: char| letter.is_control() || "\\:*?\"<>|".contains(letter);
            assert!(!name.contains(bad), "{destination:?}");
        }
    }
    assert_eq!(&super::plan(wish, sources), plan, "the same again");
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    fn preset() -> impl Strategy<Value = Preset> {
        prop::sample::select(vec![Preset::Plex, Preset::Jellyfin, Preset::Emby, Preset::Kodi])
    }

    fn kind() -> impl Strategy<Value = Option<Kind>> {
        prop::sample::select(vec![
            None,
            Some(Kind::Tv),
            Some(Kind::Anime),
            Some(Kind::Movie),
            Some(Kind::General),
        ])
    }

    fn mode() -> impl Strategy<Value = Mode> {
        let modes = Mode::WORDS.iter().map(|word| Mode::from_word(word).unwrap());
        prop::sample::select(modes.collect::<Vec<_>>())
    }

    /// Names as anybody may write them.
    fn wild() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            4 => "[A-Za-z]{1,8}",
            1 => "\\PC{1,12}",
            1 => prop::sample::select(vec!["..", ".", " ", "/", "CON", "-", "{year}", "()", "[dup2]", "e\u{301}", "\u{202e}"]).prop_map(str::to_owned),
            2 => prop::sample::select(vec![
                "S01E02", "s00e01", "1x03", "2010", "(1999)", "1080p", "x265", "BluRay", "part2", "cd1", "Season 1",
                "Specials", "Extras", "trailer", "sample", "Final Cut", "{edition-Own}", "2011-11-15", "en", "forced",
            ]).prop_map(str::to_owned),
            1 => "[a-z]{200,260}",
        ];
        let ext = prop::sample::select(vec!["mkv", "MP4", "srt", "nfo", "jpg", "mp3", "txt", ""]);
        let joint = prop::sample::select(vec![" ", ".", " - ", "/", "_"]);
        (prop::collection::vec((piece, joint), 1..7), ext).prop_map(|(pieces, ext)| {
            let text: String = pieces
                .iter()
                .map(|(piece, joint)| format!("{piece}{joint}"))
                .collect();
            format!("{}.{ext}", text.trim_matches('/'))
        })
    }

    /// Names as release groups and people write them, with their kind.
    fn usual() -> impl Strategy<Value = String> {
        let title = prop::sample::select(vec![
            "The Amber Ox",
            "Salt River",
            "Tide",
            "Mr. Alder",
            "Über den Fluss",
            "1923",
        ]);
        let year = prop::option::of(1950..2024_i32);
        let quality = prop::option::of(prop::sample::select(vec!["1080p", "2160p", "720p"]));
        let source = prop::option::of(prop::sample::select(vec!["BluRay", "WEB-DL", "HDTV"]));
        let codec = prop::option::of(prop::sample::select(vec!["x264", "x265"]));
        let edition = prop::option::weighted(
            0.3,
            prop::sample::select(vec!["Directors Cut", "Extended", "Final Cut"]),
        );
        let episode = prop::option::of((
            0..4_i64,
            1..30_i64,
            prop::option::weighted(0.2, 1..3_i64),
            prop::option::of("[A-Z][a-z]{2,7} [A-Z][a-z]{2,7}"),
        ));
        (
            title,
            year,
            quality,
            source,
            codec,
            edition,
            episode,
            any::<bool>(),
        )
            .prop_map(
                |(title, year, quality, source, codec, edition, episode, is_dotted)| {
                    let mut words: Vec<String> = vec![title.to_owned()];
                    words.extend(year.map(|year| {
                        if is_dotted {
                            year.to_string()
                        } else {
                            format!("({year})")
                        }
                    }));
                    match episode {
                        Some((season, first, more, title)) => {
                            let more = more
                                .map(|more| format!("-E{:02}", first + more))
                                .unwrap_or_default();
                            words.push(format!("S{season:02}E{first:02}{more}"));
                            words.extend(title);
                        }
                        None => words.extend(edition.map(str::to_owned)),
                    }
                    words.extend([quality, source, codec].into_iter().flatten().map(str::to_owned));
                    let name = if is_dotted {
                        words.join(".").replace(' ', ".")
                    } else {
                        words.join(" ")
                    };
                    format!("{name}.mkv")
                },
            )
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn nothing_leaves_the_library_and_no_two_files_get_one_name(
            preset in preset(), kind in kind(), mode in mode(), names in prop::collection::vec(wild(), 1..12),
        ) {
            let mut wish = wish(preset, kind);
            wish.mode = mode;
            wish.library = "/media/all".to_owned();
            let names: HashSet<String> = names.into_iter().collect();
            let sources: Vec<Source> = names.iter().map(|name| Source {
                path: format!("/media/all/{name}"), name: name.clone(), size: Some(1),
            }).collect();
            let plan = plan(&wish, &sources);
            check_plan(&wish, &sources, &plan);
        }

        #[test]
        fn files_that_have_their_names_keep_them(
            preset in preset(), names in prop::collection::vec(usual(), 1..8), is_kind_known in any::<bool>(),
        ) {
            let names: HashSet<String> = names.into_iter().collect();
            let is_film = |name: &str| naming::episode::explicit(name).is_none();
            for wants_films in [true, false] {
                let kind = if wants_films { Kind::Movie } else { Kind::Tv };
                let wish = wish(preset, is_kind_known.then_some(kind));
                let names: Vec<&str> = names.iter().map(String::as_str).filter(|name| is_film(name) == wants_films).collect();
                let first = plan(&wish, &sources(&names));
                check_plan(&wish, &sources(&names), &first);
                let placed: Vec<&str> = first.items.iter().filter_map(|item| item.destination.as_deref()).collect();
                let second = plan(&wish, &sources(&placed));
                for item in &second.items {
                    prop_assert!(item.is_unchanged, "{:?} of {:?}", item, first.items);
                }
            }
        }
    }
}
