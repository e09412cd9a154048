//! Tests of realistic and hostile names.

mod identities;
mod tags;

use proptest::prelude::*;

use super::*;

/// Fields that the tables of names compare.
#[derive(Debug, Default, PartialEq)]
struct Facts {
    title: &'static str,
    episode: (Option<u32>, Option<u32>, Option<u32>),
    absolute: Option<u32>,
    date: Option<&'static str>,
    part: Option<u32>,
    year: Option<u32>,
    quality: (Option<&'static str>, Option<&'static str>, Option<&'static str>),
    group: Option<&'static str>,
    kind: ContentType,
}

fn check(name: &str, facts: &Facts) -> Release {
    let release = parse(name);
    let found = (
        release.title.as_deref().unwrap_or_default(),
        (release.season, release.episode, release.episode_end),
        (
            release.absolute_episode,
            release.air_date.as_deref(),
            release.part,
            release.year,
        ),
        (release.resolution, release.source, release.codec),
        (release.release_group.as_deref(), release.content_type),
    );
    let expected = (
        facts.title,
        facts.episode,
        (facts.absolute, facts.date, facts.part, facts.year),
        facts.quality,
        (facts.group, facts.kind),
    );
    assert_eq!(found, expected, "{name}");
    release
}

const HD: Option<&str> = Some("1080p");

#[test]
fn episodes() {
    let release = check(
        "Orchard.Lane.S02E07.The.Long.Winter.1080p.WEB-DL.H.264-KESTREL",
        &Facts {
            title: "Orchard Lane",
            episode: (Some(2), Some(7), None),
            quality: (HD, Some("WEB-DL"), Some("x264")),
            group: Some("KESTREL"),
            kind: ContentType::TvEpisode,
            ..Facts::default()
        },
    );
    assert_eq!((release.confidence, release.warnings.len()), (100, 0));
    check(
        "Harbor Nine - S01E01 S01E02 - Arrivals 1080p WEBRip x265-TIDE",
        &Facts {
            title: "Harbor Nine",
            episode: (Some(1), Some(1), Some(2)),
            quality: (HD, Some("WEBRip"), Some("x265")),
            group: Some("TIDE"),
            kind: ContentType::TvEpisode,
            ..Facts::default()
        },
    );
    let release = check(
        "Harbor.Nine.S01E03-E05.2160p.UHD.BluRay.HDR10.HEVC.Atmos-TIDE",
        &Facts {
            title: "Harbor Nine",
            episode: (Some(1), Some(3), Some(5)),
            quality: (Some("2160p"), Some("BluRay"), Some("x265")),
            group: Some("TIDE"),
            kind: ContentType::TvEpisode,
            ..Facts::default()
        },
    );
    assert_eq!((&*release.audio, &*release.hdr), (&["Atmos"][..], &["HDR10"][..]));
    let release = check(
        "A.B.'s Corner S01E02 PROPER REPACK German 1080p WEBRip AV1 Opus",
        &Facts {
            title: "A.B.'s Corner",
            episode: (Some(1), Some(2), None),
            quality: (HD, Some("WEBRip"), Some("AV1")),
            kind: ContentType::TvEpisode,
            ..Facts::default()
        },
    );
    assert!(release.proper && release.repack);
    assert_eq!(
        (&*release.languages, &*release.audio),
        (&["GERMAN"][..], &["Opus"][..])
    );
    assert_eq!(release.warnings, ["No release group was recognised"]);
}

#[test]
fn episodes_with_a_year() {
    check(
        "Atlas.2023.S02E03.1080p.WEB.h264-TIDE",
        &Facts {
            title: "Atlas",
            episode: (Some(2), Some(3), None),
            year: Some(2023),
            quality: (HD, Some("WEB"), Some("x264")),
            group: Some("TIDE"),
            kind: ContentType::TvEpisode,
            ..Facts::default()
        },
    );
    check(
        "7-4-2 (2018) S05E01 720p HDTV x264-MOTH",
        &Facts {
            title: "7-4-2",
            episode: (Some(5), Some(1), None),
            year: Some(2018),
            quality: (Some("720p"), Some("HDTV"), Some("x264")),
            group: Some("MOTH"),
            kind: ContentType::TvEpisode,
            ..Facts::default()
        },
    );
    // A year that the title needs stays in it.
    check(
        "Class of 2020 S01E01",
        &Facts {
            title: "Class of 2020",
            episode: (Some(1), Some(1), None),
            kind: ContentType::TvEpisode,
            ..Facts::default()
        },
    );
    // A year in the episode's own title cuts nothing off.
    check(
        "Harbor Nine S01E04 Summer 1984 720p",
        &Facts {
            title: "Harbor Nine",
            episode: (Some(1), Some(4), None),
            year: Some(1984),
            quality: (Some("720p"), None, None),
            kind: ContentType::TvEpisode,
            ..Facts::default()
        },
    );
}

#[test]
fn anime_and_daily() {
    let release = check(
        "[Kitsune] Paper Lantern - 05 [1080p] [HEVC].mkv",
        &Facts {
            title: "Paper Lantern",
            absolute: Some(5),
            quality: (HD, None, Some("x265")),
            group: Some("Kitsune"),
            kind: ContentType::AnimeEpisode,
            ..Facts::default()
        },
    );
    assert_eq!(release.confidence, 78);
    // The season stays in the title, as anime has it, and is told too: the number is counted within it.
    check(
        "[Kitsune] Paper Lantern S2 - 05v2 (720p).mkv",
        &Facts {
            title: "Paper Lantern S2",
            episode: (Some(2), None, None),
            absolute: Some(5),
            quality: (Some("720p"), None, None),
            group: Some("Kitsune"),
            kind: ContentType::AnimeEpisode,
            ..Facts::default()
        },
    );
    let release = check(
        "Nightly.Ledger.2026.03.14.720p.WEB.x264-DESK",
        &Facts {
            title: "Nightly Ledger",
            date: Some("2026-03-14"),
            year: Some(2026),
            quality: (Some("720p"), Some("WEB"), Some("x264")),
            group: Some("DESK"),
            kind: ContentType::Daily,
            ..Facts::default()
        },
    );
    assert_eq!(release.confidence, 93);
    check(
        "Nightly Ledger 2026-03-14",
        &Facts {
            title: "Nightly Ledger",
            date: Some("2026-03-14"),
            year: Some(2026),
            kind: ContentType::Daily,
            ..Facts::default()
        },
    );
    check(
        "Nightly Ledger 2026 13 14",
        &Facts {
            title: "Nightly Ledger",
            year: Some(2026),
            kind: ContentType::Movie,
            ..Facts::default()
        },
    );
}

#[test]
fn movies() {
    check(
        "1944 (2021) 1080p WEBRip",
        &Facts {
            title: "1944",
            year: Some(2021),
            quality: (HD, Some("WEBRip"), None),
            kind: ContentType::Movie,
            ..Facts::default()
        },
    );
    check(
        "The Quiet Web (2019)",
        &Facts {
            title: "The Quiet Web",
            year: Some(2019),
            kind: ContentType::Movie,
            ..Facts::default()
        },
    );
    check(
        "Silver River 2 Part 2 (2023) 1080p BluRay x265-CEDAR",
        &Facts {
            title: "Silver River 2 Part 2",
            part: Some(2),
            year: Some(2023),
            quality: (HD, Some("BluRay"), Some("x265")),
            group: Some("CEDAR"),
            kind: ContentType::Movie,
            ..Facts::default()
        },
    );
    check(
        "Orbit.2049.2017.2160p.BluRay.REMUX.HDR10+.DV.TrueHD.7.1.Atmos-CEDAR.mkv",
        &Facts {
            title: "Orbit 2049",
            year: Some(2017),
            quality: (Some("2160p"), Some("Remux"), None),
            group: Some("CEDAR"),
            kind: ContentType::Movie,
            ..Facts::default()
        },
    );
    // Part of a title in another script, right up to its year.
    check(
        "千年の森 (2001) 720p",
        &Facts {
            title: "千年の森",
            year: Some(2001),
            quality: (Some("720p"), None, None),
            kind: ContentType::Movie,
            ..Facts::default()
        },
    );
}

#[test]
fn seasons() {
    let release = check(
        "Harbor.Nine.S03.1080p.WEB-DL.DDP5.1.H.264-TIDE",
        &Facts {
            title: "Harbor Nine",
            episode: (Some(3), None, None),
            quality: (HD, Some("WEB-DL"), Some("x264")),
            group: Some("TIDE"),
            ..Facts::default()
        },
    );
    assert_eq!(identity(&release).as_deref(), Some("pack:harbor nine:3"));
    for (name, season, year) in [
        ("Harbor Nine Season 3 (2019) 720p", Some(3), Some(2019)),
        ("Harbor Nine 2019 S03", Some(3), Some(2019)),
        ("Harbor.Nine.S01-S03.720p", Some(1), None),
        ("Harbor Nine Seasons 1 to 3", Some(1), None),
    ] {
        let release = parse(name);
        let found = (release.title.as_deref(), release.season, release.year);
        assert_eq!(found, (Some("Harbor Nine"), season, year), "{name}");
        assert_eq!(release.episode, None, "{name}");
    }
}

#[test]
fn sound_and_picture() {
    for (name, audio, hdr) in [
        ("A S01E01 DDP5.1", &["DDP"][..], &[][..]),
        ("A S01E01 DDP.5.1 Atmos", &["Atmos", "DDP"], &[]),
        ("A S01E01 DD5.1", &["AC3"], &[]),
        ("A S01E01 DD+5.1", &["DDP"], &[]),
        ("A S01E01 EAC3", &["DDP"], &[]),
        ("A S01E01 AAC2.0 MP3", &["AAC", "MP3"], &[]),
        ("A S01E01 DTS-HD.MA.5.1", &["DTS-HD", "DTS"], &[]),
        ("A S01E01 TrueHD.7.1 FLAC", &["TrueHD", "FLAC"], &[]),
        ("A S01E01 HDR10+ DV", &[], &["HDR10+", "DV"]),
        ("A S01E01 DV HDR", &[], &["HDR", "DV"]),
        ("A S01E01 HDR10Plus HDR10", &[], &["HDR10+", "HDR10"]),
        ("A S01E01 HDR HDR", &[], &["HDR"]),
    ] {
        let release = parse(name);
        assert_eq!((&*release.audio, &*release.hdr), (audio, hdr), "{name}");
    }
}

#[test]
fn the_wire_form_has_every_field() {
    let empty = serde_json::to_value(parse("")).unwrap();
    let expected = serde_json::json!({
        "title": null, "season": null, "episode": null, "episodeEnd": null, "absoluteEpisode": null, "part": null,
        "airDate": null, "year": null, "resolution": null, "source": null, "codec": null, "audio": [], "hdr": [],
        "languages": [], "releaseGroup": null, "proper": false, "repack": false, "contentType": "unknown",
        "explanations": [], "confidence": 0, "episodes": [], "absoluteEpisodes": [], "seasons": [], "edition": null,
        "country": null, "version": null, "streamingService": null, "bitDepth": null, "channels": null,
        "assumed": { "resolution": null, "source": null },
        "warnings": ["No release group was recognised", "No resolution was recognised", "No source was recognised",
            "No title was recognised"],
    });
    assert_eq!(empty, expected);
    let release = serde_json::to_value(parse("Atlas S02E03")).unwrap();
    assert_eq!(
        release["explanations"],
        serde_json::json!([
            { "field": "season", "value": "2", "reason": "read from `S02E03` (season and episode)" },
            { "field": "episode", "value": "3", "reason": "read from `S02E03` (season and episode)" },
            { "field": "title", "value": "Atlas", "reason": "stands before everything else that was recognised" },
        ])
    );
}

#[test]
fn the_quick_view_leaves_out_what_is_absent() {
    let view = |name: &str| serde_json::to_value(quick(name)).unwrap();
    assert_eq!(
        view("Harbor.Nine.2023.S01E03-E05.4K.WEB-DL.MULTI.PROPER.HEVC"),
        serde_json::json!({
            "resolution": "2160p", "source": "webdl", "codec": "x265", "season": 1, "episode": 3, "episodeEnd": 5,
            "year": 2023, "languages": ["multi"], "repack": false, "proper": true, "badQuality": [],
        })
    );
    assert_eq!(
        view("silver_river_hdcam_telesync_dubbed_repack_web"),
        serde_json::json!({
            "source": "web", "languages": [], "repack": true, "proper": false,
            "badQuality": ["telesync", "hdcam", "dubbed"],
        })
    );
    assert_eq!(view("A Season 2 Episode 7 BDRip x264")["source"], "bluray");
}

/// Words that the parser knows, so that random names reach its rules.
fn names() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "S01E02",
        "S01",
        "1x02",
        "E05",
        " - 05 ",
        "-03",
        "Season 2",
        "Episode 7",
        "Part 2",
        "2026.03.14",
        "(2021)",
        "1999",
        "1080p",
        "4K",
        "WEB",
        "WEB-DL",
        "x264",
        "H.264",
        "A.B.",
        "S.H.",
        "[Kitsune]",
        "-TIDE",
        ".mkv",
        "HDR10+",
        "DTS-HD",
        ".US.",
        "(UK)",
        " - AB - ",
        "É",
        "千",
        "\u{301}",
        "\0",
        "(",
        "]",
        ".",
        "_",
        " ",
        "of",
    ]);
    prop::collection::vec(prop_oneof![word.prop_map(str::to_owned), ".{0,6}"], 0..40)
        .prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn no_name_breaks_it(name in prop_oneof![names(), "(?s).{0,200}"]) {
        let release = parse(&name);
        let _ = quick(&name);
        prop_assert!(release.confidence <= 100);
        prop_assert!(release.title.as_ref().is_none_or(|title| !title.trim().is_empty() && title.len() <= name.len()));
        prop_assert!(release.episode_end.is_none_or(|last| release.episode.is_some_and(|first| first < last)));
        prop_assert_eq!(release.content_type == ContentType::TvEpisode, release.episode.is_some());
        if let Some(identity) = identity(&release) {
            prop_assert!(!identity.contains("::"), "{identity}");
        }
    }

    #[test]
    fn case_does_not_matter_to_what_is_recognised(name in names()) {
        let (name, upper) = (parse(&name.to_ascii_lowercase()), parse(&name.to_ascii_uppercase()));
        prop_assert_eq!((name.season, name.episode, name.year), (upper.season, upper.episode, upper.year));
        prop_assert_eq!((name.resolution, name.source, name.codec), (upper.resolution, upper.source, upper.codec));
    }
}

#[test]
fn of_an_endless_name_the_beginning_counts() {
    for unit in [
        "a",
        "S01E01",
        "S01E01-",
        "A.",
        "(2021",
        "[",
        "千",
        "E0",
        " - 05",
        "1x01-1x02",
    ] {
        let name = unit.repeat(10_000 / unit.len());
        let release = parse(&name);
        assert!(
            release.title.is_none_or(|title| title.len() <= MAX_NAME),
            "{unit}"
        );
        let _ = quick(&name);
    }
    let late = format!("Atlas {} S01E01", "x".repeat(MAX_NAME));
    assert_eq!(parse(&late).episode, None);
}

#[test]
fn the_work_grows_with_the_name_and_with_nothing_else() {
    // The most expensive units: markers, words, numbers, brackets, separators, and beginnings of all of them.
    for unit in [
        "S01E01",
        "s1 e",
        "1x02-",
        "season 1 episode ",
        "season.",
        "- 05 ",
        "05 ",
        "[05]",
        "(",
        "((",
        "]",
        "[a",
        "1.",
        "2019.",
        "12.12.",
        "web.",
        "dts.hd.",
        "x",
        "E01-E02",
        "- ",
        " ",
        "_",
        "-",
        "千",
        "ep",
        "part 1 ",
        "a-",
        "A.",
        "1080p",
        "cap.101_",
        "S01 ",
        "[00000000]",
        "www.",
        "/",
        "AKA ",
    ] {
        let steps =
            |length: usize| crate::read::read(crate::clip(&unit.repeat(length / unit.len() + 1))).steps;
        let (short, long) = (steps(1000), steps(4000));
        assert!(long <= 4 * short + 2000, "{unit}: {short} steps, then {long}");
        assert!(long <= 250 * 4000, "{unit}: {long} steps");
    }
}

proptest! {
    #[test]
    fn the_work_is_bounded_by_the_length(name in prop_oneof![names(), "(?s).{0,300}"]) {
        let steps = crate::read::read(&name).steps;
        prop_assert!(steps <= 250 * (name.len() as u64 + 4), "{steps} steps for {} bytes", name.len());
    }

    #[test]
    fn the_lists_agree_with_the_numbers(name in names()) {
        let release = parse(&name);
        prop_assert!(release.episodes.is_sorted() && release.seasons.is_sorted());
        if let Some(first) = release.episode {
            prop_assert_eq!(release.episodes.first(), Some(&first));
            prop_assert_eq!(release.episodes.last(), Some(&release.episode_end.unwrap_or(first)));
        }
        if let Some(first) = release.absolute_episode {
            prop_assert_eq!(release.absolute_episodes.first(), Some(&first));
        }
        prop_assert_eq!(release.season.is_some(), !release.seasons.is_empty());
        let assumed = release.assumed;
        prop_assert!(assumed.source.is_none() || release.source.is_none());
        prop_assert!(assumed.resolution.is_none() || release.resolution.is_none());
    }

    #[test]
    fn every_part_of_a_name_is_explained(name in names()) {
        let decisions = explain(&name);
        let release = parse(&name);
        prop_assert_eq!(release.title.is_some(), decisions.iter().any(|decision| decision.taken_for == "title"));
        let group = decisions.iter().any(|decision| decision.taken_for == "releaseGroup");
        prop_assert_eq!(release.release_group.is_some(), group);
        prop_assert!(decisions.iter().all(|decision| !decision.rule.is_empty()));
    }
}

#[test]
fn a_trace_names_the_rule_of_each_decision() {
    let trace: Vec<(String, &str, &str)> = explain("[Kitsune] Paper Lantern - 05v2 [1080p] odd")
        .into_iter()
        .map(|decision| (decision.token, decision.taken_for, decision.rule))
        .collect();
    let expected = [
        ("Kitsune", "releaseGroup", "leads the name in brackets"),
        ("Paper Lantern", "title", "stands before what was recognised"),
        ("05v2", "absoluteEpisode", "number behind a dash"),
        ("1080p", "resolution", "known word"),
        ("odd", "ignored", "no rule"),
    ];
    let found: Vec<_> = trace
        .iter()
        .map(|(token, what, rule)| (token.trim_matches(['[', ']', ' ']), *what, *rule))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn what_is_assumed_is_told_apart() {
    let release = parse("Harbor.Nine.S01E01.1080p.mkv");
    assert_eq!((release.source, release.assumed.source), (None, Some("HDTV")));
    let release = parse("Harbor.Nine.S01E01.BluRay.x264-TIDE");
    assert_eq!(
        (release.resolution, release.assumed.resolution),
        (None, Some("720p"))
    );
    assert_eq!(parse("Harbor Nine").assumed, Assumed::default());
}

#[test]
fn names_that_once_went_wrong() {
    // A range that runs backwards is ignored.
    assert_eq!(parse("Season 2\u{250}Episode 7 - 05 ").episodes, [7]);
}

#[test]
fn names_of_no_release_stay_whole() {
    for (name, title) in [
        (
            "debian-13.1.0-amd64-netinst.iso",
            "debian-13 1 0-amd64-netinst iso",
        ),
        (
            "holiday pictures french riviera",
            "holiday pictures french riviera",
        ),
        ("A Night Uncut", "A Night Uncut"),
    ] {
        let release = parse(name);
        assert_eq!(release.title.as_deref(), Some(title));
        assert_eq!(release.content_type, ContentType::Unknown, "{name}");
    }
}
