//! Tests of lists and names: the sentences of the contract, and invariants of any text.

use proptest::prelude::*;
use serde_json::{from_value, json, to_value};

use super::*;

mod compared;
mod suggested;

fn candidate(id: &str, kind: MatchType, pattern: &str) -> Candidate {
    Candidate {
        id: id.to_owned(),
        priority_order: 1,
        name: format!("candidate {id}"),
        description: None,
        enabled: true,
        match_type: kind,
        pattern: Some(pattern.to_owned()),
        required_terms: Vec::new(),
        excluded_terms: Vec::new(),
        quality_rules: QualityRules::default(),
        size_rules: SizeRules::default(),
        feed_scope: FeedScope::default(),
        exclude_regex: None,
    }
}

fn named(title: &str) -> Prepared<'_> {
    Prepared::new(Sample {
        title,
        ..Sample::default()
    })
}

/// Result of one candidate on a name.
fn ask(candidate: Candidate, name: &Prepared<'_>) -> Outcome {
    let list = Compiled::new(vec![candidate]);
    let result = evaluate(&list, name);
    let outcome = result.candidates.into_iter().next().expect("one candidate");
    assert_eq!(matches(&list, name).is_some(), outcome.result == Verdict::Matched);
    outcome
}

fn is_matched(candidate: Candidate, title: &str) -> bool {
    ask(candidate, &named(title)).result == Verdict::Matched
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn sizes_are_inclusive_and_may_be_unknown() {
    let asked = Candidate {
        size_rules: SizeRules {
            min_bytes: Some(10),
            max_bytes: Some(20),
        },
        ..candidate("a", MatchType::Wildcard, "*")
    };
    for (size, expected) in [
        (Some(9), false),
        (Some(10), true),
        (Some(20), true),
        (Some(21), false),
        (None, true),
    ] {
        let name = Prepared::new(Sample {
            title: "a",
            size,
            feed_id: None,
        });
        let outcome = ask(asked.clone(), &name);
        assert_eq!(outcome.result == Verdict::Matched, expected, "{size:?}");
        assert_eq!(outcome.checks.last().map(|check| check.label), Some("size"));
    }
}

#[test]
fn a_feed_that_is_not_listed_is_skipped() {
    let asked = Candidate {
        feed_scope: FeedScope {
            feed_ids: texts(&["f1", "f2"]),
        },
        ..candidate("a", MatchType::Wildcard, "*")
    };
    for (feed_id, expected) in [
        (Some("f2"), Verdict::Matched),
        (Some("f3"), Verdict::Skipped),
        (None, Verdict::Matched),
    ] {
        let name = Prepared::new(Sample {
            title: "a",
            size: None,
            feed_id,
        });
        assert_eq!(ask(asked.clone(), &name).result, expected);
    }
}

#[test]
fn the_first_by_priority_wins_and_the_rest_are_skipped() {
    let of = |id: &str, priority_order, pattern: &str| Candidate {
        priority_order,
        ..candidate(id, MatchType::ContainsText, pattern)
    };
    let mut off = of("off", 1, "harbor");
    off.enabled = false;
    let list = Compiled::new(vec![
        of("last", 9, "nine"),
        of("second", 3, "harbor"),
        off,
        of("equal", 3, "harbor"),
        of("first", 2, "720p"),
    ]);
    let name = named("Harbor.Nine.S01E01.1080p");
    let result = evaluate(&list, &name);
    let told: Vec<_> = result
        .candidates
        .iter()
        .map(|outcome| (outcome.candidate_id.as_str(), outcome.result))
        .collect();
    assert_eq!(
        told,
        [
            ("off", Verdict::Disabled),
            ("first", Verdict::Failed),
            ("second", Verdict::Matched),
            ("equal", Verdict::Skipped),
            ("last", Verdict::Skipped),
        ]
    );
    assert_eq!(
        result.candidates[3].reason,
        "a higher-priority candidate already matched"
    );
    assert_eq!(
        matches(&list, &name),
        Some(Winner {
            candidate_id: "second",
            priority_order: 3
        })
    );
}

#[test]
fn a_result_has_the_names_of_the_interface() {
    let asked = Candidate {
        quality_rules: QualityRules {
            resolution: Some("1080p".to_owned()),
            ..QualityRules::default()
        },
        ..candidate("c1", MatchType::SmartEpisodeMatch, "Harbor Nine")
    };
    let list = Compiled::new(vec![asked]);
    let result = evaluate(&list, &named("Harbor.Nine.S01E02.1080p"));
    assert_eq!(
        to_value(&result).expect("JSON"),
        json!({
            "matched": true,
            "matchedCandidateId": "c1",
            "matchedCandidatePriority": 1,
            "candidates": [{
                "candidateId": "c1",
                "name": "candidate c1",
                "priorityOrder": 1,
                "matchType": "smart_episode_match",
                "result": "matched",
                "reason": "every check passed",
                "checks": [
                    {"label": "smart episode", "passed": true, "detail": "the title is the same"},
                    {"label": "resolution", "passed": true, "detail": "\"1080p\" is wanted, the name has 1080p"},
                ],
            }],
            "parsed": {
                "resolution": "1080p", "season": 1, "episode": 2, "languages": [],
                "repack": false, "proper": false, "badQuality": [],
            },
        })
    );
    let empty = evaluate(&Compiled::default(), &named(""));
    let empty = to_value(&empty).expect("JSON");
    assert_eq!(empty["matchedCandidateId"], json!(null));
}

#[test]
fn a_simple_filter_is_a_candidate_too() {
    assert_eq!(Candidate::of_filter(None, Some(" ")), None);
    for (include, exclude, title, expected) in [
        (Some("harbor"), None, "Harbor.Nine", true),
        (Some("harbor"), Some("nine$"), "Harbor.Nine", false),
        (None, Some("cam"), "Harbor.Nine", true),
        (Some("("), None, "Harbor.Nine", false),
        // Unlike in the filter itself, an invalid exclusion excludes nothing.
        (Some("harbor"), Some("("), "Harbor.Nine", true),
    ] {
        let asked = Candidate::of_filter(include, exclude).expect("a candidate");
        assert_eq!(is_matched(asked, title), expected, "{include:?} {exclude:?}");
    }
}

#[test]
fn rules_are_read_as_clients_write_them() {
    let quality: QualityRules = from_value(json!({
        "season": "2", "episode": 7.0, "year": null, "resolution": "1080p", "other": {},
    }))
    .expect("rules");
    assert_eq!(
        (quality.season, quality.episode, quality.year),
        (Some(2), Some(7), None)
    );
    assert_eq!(
        to_value(&quality).expect("JSON"),
        json!({"season": 2, "episode": 7, "resolution": "1080p"})
    );
    let size: SizeRules = from_value(json!({"maxBytes": 3e9, "minBytes": ""})).expect("rules");
    assert_eq!((size.min_bytes, size.max_bytes), (None, Some(3_000_000_000)));
    for wrong in [
        json!({"season": -1}),
        json!({"season": "x"}),
        json!({"season": 1.5}),
        json!({"season": 4294967296_u64}),
    ] {
        assert!(from_value::<QualityRules>(wrong).is_err());
    }
    assert_eq!(to_value(FeedScope::default()).expect("JSON"), json!({}));
    for kind in MatchType::ALL {
        assert_eq!(kind.as_str().parse(), Ok(kind));
        assert_eq!(to_value(kind).expect("JSON"), json!(kind.as_str()));
    }
}

#[test]
fn what_is_beyond_a_bound_fails_with_a_reason() {
    let long = "x".repeat(MAX_PATTERN_CHARS + 1);
    let mut terms = candidate("a", MatchType::Wildcard, "*");
    terms.required_terms = vec!["x".to_owned(); MAX_TERMS + 1];
    let mut term = candidate("a", MatchType::Wildcard, "*");
    term.excluded_terms = vec!["y".repeat(MAX_TERM_CHARS + 1)];
    let mut feeds = candidate("a", MatchType::Wildcard, "*");
    feeds.feed_scope.feed_ids = vec!["f".to_owned(); MAX_FEEDS + 1];
    let mut sizes = candidate("a", MatchType::Wildcard, "*");
    sizes.size_rules = SizeRules {
        min_bytes: Some(2),
        max_bytes: Some(1),
    };
    let mut name = candidate("a", MatchType::Wildcard, "*");
    name.name = "n".repeat(MAX_NAME_CHARS + 1);
    for (beyond, field) in [
        (candidate("a", MatchType::Wildcard, &long), "pattern"),
        (terms, "requiredTerms"),
        (term, "excludedTerms"),
        (feeds, "feedScope"),
        (sizes, "sizeRules"),
        (name, "name"),
    ] {
        let refused = beyond.check().expect_err("beyond");
        assert_eq!(refused.field, field);
        let outcome = ask(beyond, &named("x"));
        assert_eq!(outcome.result, Verdict::Failed);
        assert!(outcome.reason.contains(&refused.reason), "{}", outcome.reason);
    }
    let list = Compiled::new(vec![candidate("a", MatchType::Wildcard, "y"); MAX_CANDIDATES + 1]);
    let result = evaluate(&list, &named("x"));
    assert!(result.candidates[MAX_CANDIDATES].reason.contains("more than 100"));
}

fn any_candidate() -> impl Strategy<Value = Candidate> {
    (
        0..3i64,
        proptest::sample::select(&MatchType::ALL[..]),
        prop_oneof![
            "\\PC{0,20}",
            "[a-c1-2 .*?()\\[\\]|+-]{0,12}",
            "(Harbor Nine|harbor|s01e0[12]|1080p| ){0,4}"
        ],
        proptest::collection::vec("\\PC{0,6}", 0..3),
        proptest::collection::vec("\\PC{0,6}", 0..2),
        any::<(bool, Option<u32>, Option<u32>, Option<u64>)>(),
    )
        .prop_map(
            |(priority_order, kind, pattern, required, excluded, (enabled, season, episode, min))| {
                Candidate {
                    priority_order,
                    enabled,
                    required_terms: required,
                    excluded_terms: excluded,
                    quality_rules: QualityRules {
                        season,
                        episode,
                        ..QualityRules::default()
                    },
                    size_rules: SizeRules {
                        min_bytes: min,
                        max_bytes: None,
                    },
                    ..candidate("c", kind, &pattern)
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn at_most_one_matches_and_the_order_is_kept(
        list in proptest::collection::vec(any_candidate(), 0..6),
        title in prop_oneof!["\\PC{0,60}", "(Harbor Nine|harbor|[.]|s01e0[12]|1080p|a|b| ){0,9}"],
        size: Option<u64>,
    ) {
        let mut list = list;
        for (at, candidate) in list.iter_mut().enumerate() {
            candidate.id = at.to_string();
        }
        let compiled = Compiled::new(list);
        let name = Prepared::new(Sample { title: &title, size, feed_id: None });
        let result = evaluate(&compiled, &name);
        let at = |verdict| result.candidates.iter().positions_of(verdict);
        let matched = at(Verdict::Matched);
        prop_assert!(matched.len() <= 1);
        prop_assert_eq!(result.matched, matched.len() == 1);
        let orders: Vec<_> = result.candidates.iter().map(|outcome| outcome.priority_order).collect();
        prop_assert!(orders.is_sorted());
        for outcome in &result.candidates[..matched.first().copied().unwrap_or(orders.len())] {
            prop_assert!(matches!(outcome.result, Verdict::Failed | Verdict::Disabled));
        }
        for outcome in matched.first().map_or(&[][..], |at| &result.candidates[at + 1..]) {
            prop_assert_eq!(outcome.result, Verdict::Skipped);
        }
        let winner = matches(&compiled, &name).map(|winner| winner.candidate_id.to_owned());
        prop_assert_eq!(winner, result.matched_candidate_id);
    }

    #[test]
    fn any_name_is_analyzed(title in "\\PC{0,120}") {
        let analysis = analyze(&title);
        for candidate in analysis.recommended_candidates {
            let compiled = Compiled::new(vec![candidate.into_candidate("c".to_owned(), 1)]);
            evaluate(&compiled, &named(&title));
        }
    }

    #[test]
    fn a_converted_text_matches_itself(text in "[a-zA-Z0-9 .*+?^${}()|\\[\\]\\\\/-]{1,40}") {
        let filter = Filter::compile(Some(&convert_to_regex(&text)), None);
        prop_assert_eq!(filter.matches(text.trim()), !text.trim().is_empty());
    }
}

trait Positions {
    fn positions_of(self, verdict: Verdict) -> Vec<usize>;
}

impl<'a, I: Iterator<Item = &'a Outcome>> Positions for I {
    fn positions_of(self, verdict: Verdict) -> Vec<usize> {
        self.enumerate()
            .filter(|(_, outcome)| outcome.result == verdict)
            .map(|(at, _)| at)
            .collect()
    }
}
