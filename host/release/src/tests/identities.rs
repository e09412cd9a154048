//! Tests of the identity keys.

use super::*;

#[test]
fn identities_are_those_of_the_thing_not_of_the_release() {
    for (name, expected) in [
        (
            "Orchard.Lane.S02E07.1080p.WEB-DL-KESTREL",
            Some("ep:orchard lane:2:7"),
        ),
        ("orchard lane - 2x07 [720p]", Some("ep:orchard lane:2:7")),
        ("[Kitsune] Paper Lantern! - 05", Some("anime:paper lantern:5")),
        (
            "Nightly.Ledger.2026.03.14.720p",
            Some("daily:nightly ledger:2026-03-14"),
        ),
        ("1944 (2021) 1080p", Some("movie:1944:2021")),
        ("Élan Vital (2021)", Some("movie:elan vital:2021")),
        // The country that distinguishes series is part of the key.
        ("The.Lodgers.UK.S02E07.720p", Some("ep:the lodgers uk:2:7")),
        ("the.lodgers.uk.s02e07.720p", Some("ep:the lodgers uk:2:7")),
        ("The Lodgers (UK) 2x07", Some("ep:the lodgers uk:2:7")),
        ("The.Lodgers.S02E07.720p", Some("ep:the lodgers:2:7")),
        ("Something", None),
        ("S01E01", None),
        ("!!! (2021)", None),
    ] {
        assert_eq!(identity(&parse(name)).as_deref(), expected, "{name}");
    }
}

#[test]
fn a_season_that_the_title_keeps_is_a_season() {
    for (name, expected) in [
        ("[Kitsune] Paper Lantern S2 - 09 [1080p]", "ep:paper lantern:2:9"),
        ("Paper.Lantern.S02E09.1080p.WEB-TIDE", "ep:paper lantern:2:9"),
        (
            "[Kitsune] Paper Lantern Season 2 - 09 [1080p]",
            "ep:paper lantern:2:9",
        ),
        ("[Kitsune] Paper Lantern S02 09 [1080p]", "ep:paper lantern:2:9"),
        // The number over all seasons differs.
        ("[Kitsune] Paper Lantern - 09 [1080p]", "anime:paper lantern:9"),
    ] {
        assert_eq!(identity(&parse(name)).as_deref(), Some(expected), "{name}");
    }
    let title = parse("[Kitsune] Paper Lantern S2 - 09 [1080p]").title;
    assert_eq!(title.as_deref(), Some("Paper Lantern S2"));
}

/// A rule that took a pack for one of its episodes would skip that one.
#[test]
fn several_episodes_or_seasons_are_none_of_them() {
    for (name, expected) in [
        (
            "Stone.Canal.S01-05.1080p.BluRay.x264-TIDE",
            Some("pack:stone canal:1-5"),
        ),
        ("Stone.Canal.S01-S05.720p", Some("pack:stone canal:1-5")),
        ("Stone Canal Seasons 1 & 3 720p", Some("pack:stone canal:1+3")),
        ("Stone Canal Season 1 720p", Some("pack:stone canal:1")),
        (
            "Stone.Canal.S01.Part.2.720p.WEB-TIDE",
            Some("pack:stone canal:1:2"),
        ),
        (
            "Stone.Canal.S01E01-16.720p.HDTV.x264-TIDE",
            Some("ep:stone canal:1:1-16"),
        ),
        (
            "Stone.Canal.S01E01E02.720p.HDTV.x264-TIDE",
            Some("ep:stone canal:1:1-2"),
        ),
        (
            "[Kit] Stone Canal 01 - 24 [Batch]",
            Some("anime:stone canal:1-24"),
        ),
        // A part that is neither an episode nor a season has no key.
        ("Stone.Canal.S01D02.COMPLETE.BLURAY-TIDE", None),
        ("Stone.Canal.S01.DISC.1.1080p.BluRay-TIDE", None),
        ("Stone.Canal.S03.Extras.02.720p.WEB-TIDE", None),
        ("Stone.Canal.S03Extras.720p.WEB-TIDE", None),
        ("Stone.Canal.S01E07.5.1080p.WEB-TIDE", None),
        ("[Kit] Stone Canal - 07.5 [1080p]", None),
    ] {
        assert_eq!(identity(&parse(name)).as_deref(), expected, "{name}");
    }
}

#[test]
fn days_are_the_same_in_every_order() {
    for name in [
        "Nightly.Ledger.2026.03.25.720p.WEB-TIDE",
        "Nightly.Ledger.2026.25.03.720p.WEB-TIDE",
        "Nightly.Ledger.25.03.2026.720p.WEB-TIDE",
        "Nightly Ledger 03-25-2026 720p",
        "Nightly.Ledger.20260325.720p.WEB-TIDE",
        "Nightly.Ledger.260325.720p.WEB-TIDE",
        "Nightly Ledger 25 March 2026 720p",
        "Nightly Ledger 2026 Mar 25 720p",
    ] {
        let found = identity(&parse(name));
        assert_eq!(
            found.as_deref(),
            Some("daily:nightly ledger:2026-03-25"),
            "{name}"
        );
    }
}

#[test]
fn shows_that_stand_in_brackets_are_apart() {
    let of = |name: &str| identity(&parse(name)).expect("an identity");
    assert_eq!(of("[Stone Canal][05]"), "anime:stone canal:5");
    assert_eq!(of("[Harbor Folk][05]"), "anime:harbor folk:5");
    assert_eq!(of("[夜灯字幕组][4月新番][石渠][05][1080P]"), "anime:石渠:5");
    assert_eq!(of("[夜灯字幕组][4月新番][河港][05][1080P]"), "anime:河港:5");
}

#[test]
fn spellings_of_a_title_are_one() {
    for (one, other) in [
        ("Pokéhouse.S01E02.720p", "Pokehouse S01E02"),
        ("Tide.&.Moth.S01E02.720p", "Tide and Moth S01E02"),
        ("S.W.O.P.S01E02.720p.WEB-TIDE", "SWOP S01E02"),
        ("Grey's Harbor S01E02", "Greys.Harbor.S01E02.720p"),
    ] {
        let (one, other) = (identity(&parse(one)), identity(&parse(other)));
        assert!(one.is_some(), "{other:?}");
        assert_eq!(one, other);
    }
}
