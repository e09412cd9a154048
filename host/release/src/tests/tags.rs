//! Tests of the ends of titles, countries and groups.

use super::*;

#[test]
fn groups() {
    for (name, group) in [
        ("Harbor.Nine.S01E01.1080p-TIDE", Some("TIDE")),
        ("Harbor.Nine.S01E01-TIDE_2.torrent", Some("TIDE_2")),
        ("Harbor.Nine.S01E01.1080p.WEB-DL", None),
        ("Harbor.Nine.S01E01.Blu-ray", None),
        ("Harbor.Nine.S01E03-05", None),
        ("Harbor.Nine.S01E03-E05", None),
        ("Harbor.Nine.S01E03-720p", None),
        ("Harbor Nine - Arrivals", None),
        ("Harbor-x", None),
        // A tag behind the bracket of the release is the maker's; a spreader or a checksum is not.
        (
            "Harbor Nine (2019) S01 (1080p NF Webrip x265 10bit - Name) [TIDE]",
            Some("TIDE"),
        ),
        (
            "Harbor Nine (2019) S01 (1080p NF Webrip x265 10bit - Name)[rartv]",
            Some("Name"),
        ),
        (
            "Harbor Nine (2019) S01E01 (1080p x265 - Name) [1A2B3C4D]",
            Some("Name"),
        ),
        (
            "[Kitsune] Paper Lantern - 05 (1080p x264) [Name]",
            Some("Kitsune"),
        ),
    ] {
        assert_eq!(parse(name).release_group.as_deref(), group, "{name}");
    }
    assert_eq!(parse("Harbor.Nine.S01E03-05").episode_end, Some(5));
}

#[test]
fn a_country_is_told_apart_where_it_is_a_tag() {
    for (name, title, country) in [
        (
            "The.Lodgers.US.S02E07.720p.WEB.x264-TIDE",
            "The Lodgers",
            Some("US"),
        ),
        ("The.Lodgers.UK.S02.1080p.WEB-DL-TIDE", "The Lodgers", Some("UK")),
        ("The.Lodgers.USA.2019.S02E07.720p-TIDE", "The Lodgers", Some("US")),
        (
            "The.Lodgers.1990.UK.S02E07.DVDRip-TIDE",
            "The Lodgers",
            Some("UK"),
        ),
        (
            "Night.Market.AU.2026.03.14.720p.WEB-TIDE",
            "Night Market",
            Some("AU"),
        ),
        ("The Lodgers (uk) - 2x07 [720p]", "The Lodgers", Some("UK")),
        (
            "The Lodgers (US) - The Long Stair S02E07",
            "The Lodgers",
            Some("US"),
        ),
        // With spaces, in small letters, or in capitals throughout it may be a normal word.
        ("The Lodgers US S02E07 720p", "The Lodgers US", None),
        ("the.lodgers.us.s02e07.720p", "the lodgers us", None),
        ("THE.LODGERS.US.S02E07.720P", "THE LODGERS US", None),
        // It continues the words before it.
        ("All.of.US.S02E07.720p", "All of US", None),
        ("Lodging.in.the.UK.S02E07.720p", "Lodging in the UK", None),
        ("US.S02E07.720p", "US", None),
        ("(UK).S02E07.720p", "UK", None),
        // In a film it may belong to the title.
        ("Lodgers.USA.2015.1080p.BluRay-TIDE", "Lodgers USA", None),
    ] {
        let release = parse(name);
        assert_eq!(
            (release.title.as_deref(), release.country),
            (Some(title), country),
            "{name}"
        );
        let whole = country.map_or_else(|| title.to_owned(), |country| format!("{title} {country}"));
        assert_eq!(release.named().as_deref(), Some(whole.as_str()), "{name}");
    }
}

#[test]
fn initials_behind_a_title_are_no_part_of_it() {
    for (name, title) in [
        ("[Kitsune] Paper Lantern - PL - 05 [1080p]", "Paper Lantern"),
        (
            "[Kitsune]_Paper_Lantern_of_Mist_-_PLOM_-_05v2_[720p]",
            "Paper Lantern of Mist",
        ),
        (
            "[Kitsune] Paper Lantern - Mist - 05 [1080p]",
            "Paper Lantern - Mist",
        ),
        ("[Kitsune] Paper Lantern - P - 05 [1080p]", "Paper Lantern - P"),
    ] {
        assert_eq!(parse(name).title.as_deref(), Some(title), "{name}");
    }
}

#[test]
fn acronyms_keep_their_dots() {
    for (name, title) in [
        ("Agents.of.S.H.I.E.L.D.S01E01", "Agents of S.H.I.E.L.D."),
        ("S.W.A.T.2017.S05E01", "S.W.A.T."),
        ("Harbor.H.264", "Harbor"),
        ("Mr.Orchard.1080p", "Mr Orchard"),
    ] {
        assert_eq!(parse(name).title.as_deref(), Some(title), "{name}");
    }
}
