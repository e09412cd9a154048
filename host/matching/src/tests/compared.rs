//! Tests of the comparison of single candidates.

use super::*;

/// Type, pattern, name, and true for a match.
type Compared = (MatchType, &'static str, &'static str, bool);

const RELEASE: &str = "Orchard.Lane.S02E07.The.Long.Winter.1080p.WEB-DL.H.264-KESTREL";

const TYPES: &[Compared] = {
    use MatchType::{
        ContainsText, ExactText, FuzzyMatch, Regex, SmartEpisodeMatch, SmartMovieMatch, Wildcard,
    };
    &[
        (
            ExactText,
            "orchard lane - it's here",
            "Orchard_Lane.Its.Here",
            true,
        ),
        (ExactText, "orchard lane", RELEASE, false),
        (ExactText, "進撃", "進撃!", true),
        (ExactText, "進撃", "巨人", false),
        (ContainsText, "Orchard Lane 1080p", RELEASE, true),
        (ContainsText, "Pokéhouse & Co", "Pokehouse.and.Co.S01E02", true),
        (FuzzyMatch, "S.W.O.P. & Tide", "SWOP.and.Tide.S01E02", true),
        (ContainsText, "Lane Orchard web-dl kestrel", RELEASE, true),
        (ContainsText, "Orchard Winter", RELEASE, false),
        (ContainsText, "1080p winter", RELEASE, true),
        (ContainsText, "orch", RELEASE, false),
        (ContainsText, "", RELEASE, false),
        (ContainsText, "!?", RELEASE, false),
        (Regex, r"^orchard\.lane.*(720|1080)p", RELEASE, true),
        (Regex, r"lane$", RELEASE, false),
        (Regex, "(", RELEASE, false),
        (Regex, r"(a)\1", "aa", false),
        (Regex, "(?=orchard)", RELEASE, false),
        (Regex, "", RELEASE, false),
        (Wildcard, "orchard?lane*1080P", RELEASE, true),
        (Wildcard, "lane.s02", RELEASE, true),
        (Wildcard, "orchard+lane", RELEASE, false),
        (Wildcard, "*", RELEASE, true),
        (Wildcard, "lane?the", RELEASE, false),
        (SmartEpisodeMatch, "The Orchard Lane", RELEASE, true),
        (SmartEpisodeMatch, "Orchard", RELEASE, false),
        (SmartEpisodeMatch, "", RELEASE, false),
        (SmartEpisodeMatch, "…", RELEASE, false),
        (SmartEpisodeMatch, "Rise", "The Rise of Morning S01E01", false),
        (SmartEpisodeMatch, "9-1-1", "9-1-1.Lone.Star.S01E01", false),
        (SmartEpisodeMatch, "9-1-1", "9-1-1.2018.S01E01", true),
        (SmartEpisodeMatch, "The Keeper", "Keeper 2021 S01E01", true),
        (SmartEpisodeMatch, "1944", "1944.S01E01", true),
        (
            SmartEpisodeMatch,
            "Paper Lantern",
            "[Kitsune] Paper Lantern - 05 [1080p] [HEVC].mkv",
            true,
        ),
        (
            SmartEpisodeMatch,
            "Lantern",
            "[Kitsune] Paper Lantern - 05 [1080p] [HEVC].mkv",
            false,
        ),
        (SmartEpisodeMatch, "進撃", "[Group] 進撃 第05話 1080p", true),
        (
            SmartMovieMatch,
            "Silver River 2",
            "Silver River 2 (2023) 1080p BluRay",
            true,
        ),
        (FuzzyMatch, "lane the orchard", RELEASE, true),
        // Two of three, and seven of ten.
        (FuzzyMatch, "orchard lane summer", RELEASE, false),
        (
            FuzzyMatch,
            "orchard lane the long winter 1080p kestrel no nay never",
            RELEASE,
            true,
        ),
        (FuzzyMatch, "Orchard Lane Season 2 Episode 7", RELEASE, true),
        (FuzzyMatch, "Orchard Lane S02E07", RELEASE, true),
        (FuzzyMatch, "Orchard Lane S02E08", RELEASE, false),
        (FuzzyMatch, "S02E07", RELEASE, false),
        (
            FuzzyMatch,
            "Paper Lantern Episode 5",
            "[Kitsune] Paper Lantern - 05 [1080p]",
            true,
        ),
        (
            FuzzyMatch,
            "Paper Lantern Episode 6",
            "[Kitsune] Paper Lantern - 05 [1080p]",
            false,
        ),
        (FuzzyMatch, "", RELEASE, false),
    ]
};

#[test]
fn each_type_compares_its_way() {
    for &(kind, pattern, title, expected) in TYPES {
        let outcome = ask(candidate("a", kind, pattern), &named(title));
        assert_eq!(
            outcome.result == Verdict::Matched,
            expected,
            "{kind} {pattern} in {title}: {outcome:?}"
        );
        assert!(!outcome.reason.is_empty() && !outcome.checks.is_empty());
    }
}

#[test]
fn what_an_invalid_pattern_lacks_is_told() {
    for (pattern, reason) in [
        (
            "(?<!x)a",
            "regex: the pattern uses a look ahead or behind, which patterns here cannot have",
        ),
        (
            r"(a)\1",
            "regex: the pattern uses a backreference, which patterns here cannot have",
        ),
        (
            "[z-a]",
            "regex: the pattern is no regular expression: a range in a class runs backwards",
        ),
        (
            "((a{99}){99}){99}",
            "regex: the pattern is too large when it is compiled",
        ),
        ("", "regex: the pattern is empty"),
    ] {
        let outcome = ask(candidate("a", MatchType::Regex, pattern), &named("a"));
        assert_eq!(
            (outcome.result, outcome.reason.as_str()),
            (Verdict::Failed, reason)
        );
    }
}

/// Patterns that would practically never end in a backtracking engine: here they give the right answer.
#[test]
fn patterns_that_would_run_for_ever_answer() {
    let long = "a".repeat(4000) + "!";
    for (pattern, expected) in [
        ("^(a+)+$", false),
        ("^(a|aa)+$", false),
        ("(a*)*b", false),
        ("(.*a){20}", true),
        ("(x+x+)+y", false),
    ] {
        assert_eq!(
            is_matched(candidate("a", MatchType::Regex, pattern), &long),
            expected,
            "{pattern}"
        );
    }
    let stars = "*a".repeat(30);
    assert!(is_matched(candidate("a", MatchType::Wildcard, &stars), &long));
    assert!(!is_matched(
        candidate("a", MatchType::Wildcard, &(stars + "b")),
        &long
    ));
}

/// Type, pattern, its season, episode and year, name, and true for a match.
type Numbered = (MatchType, &'static str, [Option<u32>; 3], &'static str, bool);

const NUMBERS: &[Numbered] = {
    use MatchType::{SmartEpisodeMatch, SmartMovieMatch};
    const SPAN: &str = "Harbor.Nine.S01E03-E05.2160p";
    const SECOND: &str = "[Kitsune] Paper Lantern S2 - 09 [1080p]";
    const BARE_SECOND: &str = "Paper.Lantern.S2.-.09.1080p";
    const ANIME: &str = "[Kitsune] Paper Lantern - 05 [1080p]";
    &[
        (
            SmartEpisodeMatch,
            "Harbor Nine",
            [Some(1), Some(3), None],
            SPAN,
            true,
        ),
        (
            SmartEpisodeMatch,
            "Paper Lantern",
            [Some(2), Some(9), None],
            SECOND,
            true,
        ),
        (
            SmartEpisodeMatch,
            "Paper Lantern",
            [Some(2), None, None],
            BARE_SECOND,
            true,
        ),
        (
            SmartEpisodeMatch,
            "Paper Lantern",
            [None, None, None],
            SECOND,
            true,
        ),
        (
            SmartEpisodeMatch,
            "Paper Lantern S2",
            [None, Some(9), None],
            SECOND,
            true,
        ),
        (
            SmartEpisodeMatch,
            "Paper Lantern",
            [Some(1), Some(9), None],
            SECOND,
            false,
        ),
        (
            SmartEpisodeMatch,
            "Paper Lantern",
            [Some(2), Some(8), None],
            BARE_SECOND,
            false,
        ),
        (
            SmartEpisodeMatch,
            "Paper",
            [Some(2), Some(9), None],
            BARE_SECOND,
            false,
        ),
        (
            SmartEpisodeMatch,
            "Harbor Nine",
            [Some(1), Some(4), None],
            SPAN,
            false,
        ),
        (
            SmartEpisodeMatch,
            "Harbor Nine",
            [Some(2), None, None],
            "Harbor.Nine.S01E03",
            false,
        ),
        (
            SmartEpisodeMatch,
            "Harbor Nine",
            [None, Some(3), None],
            "Harbor.Nine.S04E03",
            true,
        ),
        (
            SmartEpisodeMatch,
            "Paper Lantern",
            [None, Some(5), None],
            ANIME,
            true,
        ),
        (
            SmartEpisodeMatch,
            "Paper Lantern",
            [None, Some(6), None],
            ANIME,
            false,
        ),
        (
            SmartEpisodeMatch,
            "Paper Lantern",
            [Some(1), Some(5), None],
            ANIME,
            false,
        ),
        (
            SmartMovieMatch,
            "The Quiet Web",
            [None, None, Some(2019)],
            "The Quiet Web (2019)",
            true,
        ),
        (
            SmartMovieMatch,
            "The Quiet Web",
            [None, None, Some(2018)],
            "The Quiet Web (2019)",
            false,
        ),
        (
            SmartMovieMatch,
            "1944",
            [None, None, Some(2021)],
            "1944 (2021) 1080p",
            true,
        ),
        (
            SmartMovieMatch,
            "Atlas",
            [None, None, Some(2021)],
            "Atlas 1080p",
            false,
        ),
        // The other type ignores them.
        (
            SmartMovieMatch,
            "Harbor Nine",
            [Some(7), Some(7), None],
            "Harbor.Nine.S01E03",
            true,
        ),
    ]
};

#[test]
fn numbers_and_years_must_be_equal() {
    for &(kind, pattern, [season, episode, year], title, expected) in NUMBERS {
        let asked = Candidate {
            quality_rules: QualityRules {
                season,
                episode,
                year,
                ..QualityRules::default()
            },
            ..candidate("a", kind, pattern)
        };
        assert_eq!(is_matched(asked, title), expected, "{pattern} in {title}");
    }
}

#[test]
fn terms_are_parts_of_the_normalized_name() {
    let asked = |required: &[&str], excluded: &[&str]| Candidate {
        required_terms: texts(required),
        excluded_terms: texts(excluded),
        ..candidate("a", MatchType::Wildcard, "*")
    };
    let title = "Harbor.Nine.S01E01.1080p.WEB-DL.中字.[v2]";
    for (required, excluded, label) in [
        (
            &["web dl", "WEB-DL", "bor nin", "中字", "[V2]", " "][..],
            &["hdcam", "日本", "{", ""][..],
            None,
        ),
        (&["720p"], &[], Some("required term")),
        (&["日本"], &[], Some("required term")),
        (&["{"], &[], Some("required term")),
        (&[], &["web.dl"], Some("excluded term")),
        (&[], &["中字"], Some("excluded term")),
        (&[], &["["], Some("excluded term")),
    ] {
        let outcome = ask(asked(required, excluded), &named(title));
        let failed = outcome.checks.iter().find(|check| !check.passed);
        assert_eq!(
            failed.map(|check| check.label),
            label,
            "{required:?} {excluded:?}"
        );
    }
}

#[test]
fn quality_is_compared_in_the_words_of_the_quick_view() {
    let rules = |resolution: &str, source: &str, codec: &str, quality: &str| {
        let said = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Candidate {
            quality_rules: QualityRules {
                resolution: said(resolution),
                source: said(source),
                codec: said(codec),
                quality: said(quality),
                ..QualityRules::default()
            },
            ..candidate("a", MatchType::Wildcard, "*")
        }
    };
    for (asked, title, label) in [
        (
            rules("1080P", "WEB-DL", "H.264", "web dl"),
            "A.1080p.WEB-DL.x264",
            None,
        ),
        (rules("4K", "web", "", ""), "A.2160p.WEB-DL", None),
        (rules("", "webdl", "", ""), "A.WEB.x264", None),
        (rules("", "webrip", "", ""), "A.WEB-DL.x264", Some("source")),
        (rules("", "bdrip", "hevc", ""), "A.BluRay.x265", None),
        (rules("", "bluray", "h265", ""), "A.BRRip.HEVC", None),
        (rules("", "BluRay", "avc", ""), "A.BDRip.h264", None),
        (rules("", "remux", "", ""), "A.BluRay.REMUX.1080p", None),
        (rules("", "remux", "", ""), "A.BluRay.1080p", Some("source")),
        (rules("", "dvdrip", "", ""), "A.DVDRip", None),
        (rules("720p", "", "", ""), "A.1080p", Some("resolution")),
        (rules("720p", "", "", ""), "A", Some("resolution")),
        (rules("", "", "x265", ""), "A.x264", Some("codec")),
        (rules("", "", "", "hdr10"), "A.HDR", Some("quality")),
        (rules(" ", "", "", " "), "A", None),
    ] {
        let outcome = ask(asked, &named(title));
        let failed = outcome.checks.iter().find(|check| !check.passed);
        assert_eq!(failed.map(|check| check.label), label, "{title}: {outcome:?}");
    }
}
