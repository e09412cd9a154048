//! Tests of candidates suggested from names.

use super::*;

#[test]
fn suggestions_match_the_name_they_were_made_of() {
    for (title, kinds) in [
        (
            "Orchard.Lane.S02E07.The.Long.Winter.1080p.WEB-DL.H.264-KESTREL",
            4,
        ),
        ("Harbor Nine - S01E01 S01E02 - Arrivals 1080p WEBRip x265-TIDE", 4),
        ("Harbor.Nine.S01E03-E05.2160p.UHD.BluRay.HDR10.HEVC.Atmos-TIDE", 4),
        ("Harbor Nine Season 2 Episode 4 720p HDTV", 4),
        ("[Kitsune] Paper Lantern - 05 [1080p] [HEVC].mkv", 4),
        ("Nightly.Ledger.2026.03.14.720p.WEB.x264-DESK", 3),
        ("1944 (2021) 1080p WEBRip", 4),
        ("The Quiet Web (2019)", 4),
        ("Silver River 2 Part 2 (2023) 1080p BluRay x265-CEDAR", 4),
        ("Atlas.2023.S02E03.1080p.WEB.h264-TIDE", 4),
        ("7-4-2 (2018) S05E01 720p HDTV x264-MOTH", 4),
        (
            "A.B.'s Corner S01E02 PROPER REPACK German 1080p WEBRip AV1 Opus",
            4,
        ),
        ("Copper.Field.2020.2160p.UHD.BluRay.REMUX.HEVC-OAK", 4),
        ("The.Lodgers.US.S02E07.1080p.WEB.h264-TIDE", 4),
        ("The.Lodgers.(UK).S02E07.1080p.WEB.h264-TIDE", 4),
        ("[Kitsune]_Paper_Lantern_-_PL_-_05_[1080p].mkv", 4),
    ] {
        let analysis = analyze(title);
        let told: Vec<_> = analysis
            .warnings
            .iter()
            .filter(|warning| warning.contains("does not match"))
            .collect();
        assert!(
            told.is_empty(),
            "{title}: {told:?} {:#?}",
            analysis.recommended_candidates
        );
        assert_eq!(analysis.recommended_candidates.len(), kinds, "{title}");
        for (at, candidate) in analysis.recommended_candidates.into_iter().enumerate() {
            assert!(
                is_matched(candidate.into_candidate(at.to_string(), 1), title),
                "{title}"
            );
        }
    }
}

#[test]
fn suggestions_of_an_episode() {
    let analysis = analyze(" Orchard.Lane.S02E07.The.Long.Winter.1080p.WEB-DL.H.264-KESTREL ");
    assert_eq!(analysis.confidence_score, 100);
    assert_eq!(
        analysis.source_name,
        "Orchard.Lane.S02E07.The.Long.Winter.1080p.WEB-DL.H.264-KESTREL"
    );
    let told: Vec<_> = analysis
        .recommended_candidates
        .iter()
        .map(|candidate| {
            (
                candidate.match_type.as_str(),
                candidate.pattern.as_str(),
                candidate.confidence,
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("smart_episode_match", "Orchard Lane", Confidence::High),
            (
                "regex",
                r"Orchard\.Lane\.S02E07.*1080p.*WEB-DL.*H\.264.*",
                Confidence::Medium
            ),
            (
                "contains_text",
                "Orchard Lane S02E07 1080p WEB-DL H.264",
                Confidence::Medium
            ),
            ("fuzzy_match", "Orchard Lane Season 2 Episode 7", Confidence::Low),
        ]
    );
    assert_eq!(
        to_value(&analysis.recommended_candidates[0].quality_rules).expect("JSON"),
        json!({"resolution": "1080p", "source": "WEB-DL", "codec": "x264", "season": 2, "episode": 7})
    );
    let empty = analyze("   ");
    assert_eq!(
        (empty.recommended_candidates.len(), empty.confidence_score),
        (0, 0)
    );
    assert!(!empty.warnings.is_empty());
}
