//! The verdict on the members of a group.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{Evidence, Facts};

/// Reason for which somebody has to choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Warning {
    TooFewCandidates,
    /// The group would have more members than a group may have.
    TooManyCandidates,
    DifferentYears,
    DifferentEpisodes,
    DifferentEditions,
    /// One provider has several ids for the members.
    ConflictingExternalIds,
    RuntimeMismatch,
    /// Some members were measured and others were not.
    IncomparableQualityEvidence,
}

/// The verdict on one member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    pub id: String,
    /// 1: the best.
    pub rank: u32,
    pub score: i64,
    pub reasons: Vec<String>,
}

/// The verdict on a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// The best member first.
    pub verdicts: Vec<Verdict>,
    pub warnings: Vec<Warning>,
    /// 0 to 100.
    pub confidence: i64,
    pub requires_review: bool,
    /// Member to keep; `None`: somebody has to choose.
    pub keeper: Option<String>,
    /// Bytes of all members but the best.
    pub savings: i64,
}

/// Words of paths that name an edition.
const EDITIONS: [(&str, &str); 12] = [
    ("directors cut", "directors_cut"),
    ("director s cut", "directors_cut"),
    ("theatrical", "theatrical"),
    ("extended", "extended"),
    ("unrated", "unrated"),
    ("uncut", "uncut"),
    ("remastered", "remastered"),
    ("special edition", "special_edition"),
    ("final cut", "final_cut"),
    ("ultimate edition", "ultimate_edition"),
    ("imax", "imax"),
    ("3d", "3d"),
];

/// Judges the members of a group.
pub fn judge(members: &[Facts], is_cut: bool) -> Judgement {
    let warnings = warn(members, is_cut);
    let are_comparable = !warnings.contains(&Warning::IncomparableQualityEvidence);
    let mut scored: Vec<(i64, Vec<String>, &Facts)> = score(members, are_comparable);
    scored.sort_by(|(one, _, first), (other, _, second)| {
        other
            .cmp(one)
            .then(second.updated_at.cmp(&first.updated_at))
            .then(first.id.cmp(&second.id))
    });
    let measured = members.iter().filter(|item| is_measured(item)).count();
    let is_clear = scored.len() < 2 || scored[0].0 > scored[1].0;
    let confidence = match (measured, is_clear) {
        (0, _) => 20,
        (count, true) if count == members.len() => 90,
        (count, false) if count == members.len() => 60,
        (_, true) => 70,
        (_, false) => 40,
    };
    let requires_review = !warnings.is_empty() || confidence < 50;
    let total: i64 = members.iter().map(|item| item.size.max(0)).sum();
    let best = scored.first();
    Judgement {
        keeper: best
            .filter(|_| !requires_review)
            .map(|(_, _, item)| item.id.clone()),
        savings: best.map_or(0, |(_, _, item)| total - item.size.max(0)),
        verdicts: scored
            .iter()
            .zip(1..)
            .map(|((score, reasons, item), rank)| Verdict {
                id: item.id.clone(),
                rank,
                score: *score,
                reasons: reasons.clone(),
            })
            .collect(),
        warnings,
        confidence,
        requires_review,
    }
}

fn is_measured(item: &Facts) -> bool {
    let is_probed = |file: &Evidence| file.height.is_some() || file.bitrate_kbps.is_some();
    item.files.iter().any(is_probed)
}

fn largest(item: &Facts, of: impl Fn(&Evidence) -> Option<i64>) -> Option<i64> {
    item.files.iter().filter_map(of).max()
}

fn warn(members: &[Facts], is_cut: bool) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut add = |holds: bool, warning: Warning| {
        if holds {
            warnings.push(warning);
        }
    };
    add(members.len() < 2, Warning::TooFewCandidates);
    add(is_cut, Warning::TooManyCandidates);
    let years: BTreeSet<i64> = members.iter().filter_map(|item| item.year).collect();
    add(years.len() > 1, Warning::DifferentYears);
    let episodes: BTreeSet<_> = members
        .iter()
        .filter(|item| item.season.is_some() || item.episode.is_some())
        .map(|item| (item.season, item.episode, item.episode_end.or(item.episode)))
        .collect();
    add(episodes.len() > 1, Warning::DifferentEpisodes);
    let editions: BTreeSet<BTreeSet<&str>> = members.iter().map(|item| editions(&item.path)).collect();
    add(editions.len() > 1, Warning::DifferentEditions);
    let mut ids: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (provider, id) in members.iter().flat_map(|item| &item.external_ids) {
        ids.entry(provider).or_default().insert(id);
    }
    add(
        ids.values().any(|ids| ids.len() > 1),
        Warning::ConflictingExternalIds,
    );
    let durations: Vec<i64> = members
        .iter()
        .filter_map(|item| largest(item, |file| file.duration_sec))
        .filter(|seconds| *seconds > 0)
        .collect();
    let (shortest, longest) = (durations.iter().min(), durations.iter().max());
    let differ = |(shortest, longest): (&i64, &i64)| (longest - shortest) * 20 > *longest;
    add(
        shortest.zip(longest).is_some_and(differ),
        Warning::RuntimeMismatch,
    );
    let probed = members
        .iter()
        .filter(|item| largest(item, |file| file.height).is_some())
        .count();
    add(
        probed > 0 && probed < members.len(),
        Warning::IncomparableQualityEvidence,
    );
    warnings
}

/// Editions that a path names.
fn editions(path: &str) -> BTreeSet<&'static str> {
    let words = format!(" {} ", crate::keys::plain(path));
    EDITIONS
        .iter()
        .filter(|(word, _)| words.contains(&format!(" {word} ")))
        .map(|(_, edition)| *edition)
        .collect()
}

fn score(members: &[Facts], are_comparable: bool) -> Vec<(i64, Vec<String>, &Facts)> {
    let all_probed = members
        .iter()
        .all(|item| largest(item, |file| file.height).is_some());
    let height = |item: &Facts| {
        if !are_comparable {
            return None;
        }
        if all_probed {
            return largest(item, |file| file.height);
        }
        largest(item, |file| lines(file.resolution.as_deref()?))
    };
    let bitrate = |item: &Facts| largest(item, |file| file.bitrate_kbps);
    let channels = |item: &Facts| largest(item, |file| file.audio_channels);
    let best = |of: &dyn Fn(&Facts) -> Option<i64>| members.iter().filter_map(of).max();
    let (tallest, fastest, widest) = (best(&height), best(&bitrate), best(&channels));
    let biggest = best(&|item: &Facts| Some(item.size));
    let of = |item| {
        let mut points = 0;
        let mut reasons = Vec::new();
        match height(item) {
            None => reasons.push("resolution_unknown".to_owned()),
            found if found == tallest => {
                points += 1000;
                reasons.push("highest_resolution".to_owned());
            }
            Some(_) => reasons.push("lower_resolution".to_owned()),
        }
        for (has, worth, reason) in [
            (
                fastest.is_some() && bitrate(item) == fastest,
                100,
                "highest_bitrate",
            ),
            (
                widest.is_some() && channels(item) == widest,
                10,
                "most_audio_channels",
            ),
            (Some(item.size) == biggest, 1, "largest_file_tiebreak"),
        ] {
            if has {
                points += worth;
                reasons.push(reason.to_owned());
            }
        }
        (points, reasons, item)
    };
    members.iter().map(of).collect()
}

/// Lines of a resolution such as `1080p`, `2160p` or `4K`.
fn lines(resolution: &str) -> Option<i64> {
    let word = resolution.trim().to_ascii_lowercase();
    match word.as_str() {
        "4k" | "uhd" => return Some(2160),
        "8k" => return Some(4320),
        _ => {}
    }
    let digits: String = word.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|lines| (100..=10_000).contains(lines))
}

/// Score of the best file of an item in lists, by the words of its name.
pub fn quality(files: &[Evidence]) -> i64 {
    files.iter().map(quality_of).max().unwrap_or(0)
}

fn quality_of(file: &Evidence) -> i64 {
    let resolution = file
        .resolution
        .as_deref()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let by_resolution = match resolution.as_str() {
        "2160p" | "4k" | "uhd" => 5,
        "1080p" => 4,
        "1080i" => 3,
        "720p" => 2,
        "480p" => 1,
        _ => 0,
    };
    let codec = file
        .video_codec
        .as_deref()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let ranks: [(&[&str], i64); 4] = [
        (&["av1"], 4),
        (&["265", "hevc"], 3),
        (&["264", "avc"], 2),
        (&["xvid", "divx"], 1),
    ];
    let by_codec = ranks
        .iter()
        .find(|(words, _)| words.iter().any(|word| codec.contains(word)))
        .map_or(0, |(_, rank)| *rank);
    by_resolution * 10 + by_codec
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Item with one file: resolution, measured height, bitrate, channels, seconds.
    fn item(
        id: &str,
        size: i64,
        resolution: &str,
        (height, bitrate, channels, seconds): (i64, i64, i64, i64),
    ) -> Facts {
        let some = |number: i64| (number > 0).then_some(number);
        Facts {
            id: id.to_owned(),
            size,
            files: vec![Evidence {
                size,
                height: some(height),
                bitrate_kbps: some(bitrate),
                audio_channels: some(channels),
                duration_sec: some(seconds),
                resolution: (!resolution.is_empty()).then(|| resolution.to_owned()),
                video_codec: None,
            }],
            ..Facts::default()
        }
    }

    /// `id:score` of each member, confidence, keeper, savings.
    fn shown(judgement: &Judgement) -> String {
        let verdicts: Vec<String> = judgement
            .verdicts
            .iter()
            .map(|verdict| format!("{}:{}", verdict.id, verdict.score))
            .collect();
        format!(
            "{} | {} | {} | {}",
            verdicts.join(" "),
            judgement.confidence,
            judgement.keeper.as_deref().unwrap_or("-"),
            judgement.savings
        )
    }

    #[test]
    fn members_are_scored() {
        let none = (0, 0, 0, 0);
        for (members, expected) in [
            (
                vec![
                    item("a", 5, "1080p", (1080, 8000, 6, 100)),
                    item("b", 9, "2160p", (2160, 4000, 2, 100)),
                ],
                "b:1001 a:110 | 90 | b | 5",
            ),
            (
                vec![
                    item("a", 5, "", (1080, 8000, 6, 100)),
                    item("b", 5, "", (1080, 8000, 6, 100)),
                ],
                "a:1111 b:1111 | 60 | a | 5",
            ),
            // Only bit rates are measured: names tell the lines.
            (
                vec![item("a", 5, "720p", (0, 100, 0, 0)), item("b", 6, "1080p", none)],
                "b:1001 a:100 | 70 | b | 5",
            ),
            (
                vec![item("a", 5, "720p", none), item("b", 5, "4K", none)],
                "b:1001 a:1 | 20 | - | 5",
            ),
            // Heights cannot be compared.
            (
                vec![item("a", 5, "2160p", none), item("b", 6, "720p", (720, 0, 0, 0))],
                "b:1 a:0 | 70 | - | 5",
            ),
        ] {
            assert_eq!(shown(&judge(&members, false)), expected);
        }
        let verdict = &judge(&[item("a", 5, "", none), item("b", 6, "", none)], false).verdicts[0];
        assert_eq!((verdict.rank, &*verdict.id), (1, "b"));
        assert_eq!(verdict.reasons, ["resolution_unknown", "largest_file_tiebreak"]);
    }

    #[test]
    fn the_last_changed_of_equals_is_kept() {
        let good = (1080, 8000, 6, 100);
        let newer = Facts {
            updated_at: 7,
            ..item("b", 5, "", good)
        };
        let judged = judge(&[item("a", 5, "", good), newer], false);
        assert_eq!(judged.keeper.as_deref(), Some("b"));
    }

    #[test]
    fn doubts_are_told_and_have_somebody_choose() {
        let good = |id: &str| item(id, 5, "1080p", (1080, 8000, 6, 1000));
        let pair = |change: &dyn Fn(&mut Facts)| {
            let mut other = good("b");
            change(&mut other);
            let judged = judge(&[good("a"), other], false);
            assert_eq!(judged.requires_review, !judged.warnings.is_empty());
            assert_eq!(judged.keeper.is_none(), judged.requires_review);
            judged.warnings
        };
        assert_eq!(pair(&|_| {}), []);
        assert_eq!(
            pair(&|item| item.year = Some(1999)),
            [],
            "one year and an unknown one"
        );
        assert_eq!(
            pair(&|item| item.path = "/films/Alien (Director's Cut).mkv".into()),
            [Warning::DifferentEditions]
        );
        assert_eq!(
            pair(&|item| item.path = "/films/Alien.2003.DIRECTORS.CUT.mkv".into()),
            [Warning::DifferentEditions]
        );
        assert_eq!(pair(&|item| item.path = "/films/Unextended.mkv".into()), []);
        assert_eq!(pair(&|item| item.files[0].duration_sec = Some(950)), []);
        assert_eq!(
            pair(&|item| item.files[0].duration_sec = Some(949)),
            [Warning::RuntimeMismatch]
        );
        assert_eq!(
            pair(&|item| item.files[0].height = None),
            [Warning::IncomparableQualityEvidence]
        );
        let mut items = [good("a"), good("b")];
        (items[0].year, items[1].year) = (Some(1999), Some(2000));
        (items[0].episode, items[1].episode) = (Some(1), Some(1));
        items[1].episode_end = Some(2);
        items[0].external_ids = vec![("titledb".into(), "tt1".into())];
        items[1].external_ids = vec![("titledb".into(), "tt2".into())];
        let judged = judge(&items, true);
        assert_eq!(
            judged.warnings,
            [
                Warning::TooManyCandidates,
                Warning::DifferentYears,
                Warning::DifferentEpisodes,
                Warning::ConflictingExternalIds
            ]
        );
        assert_eq!(judge(&items[..1], false).warnings, [Warning::TooFewCandidates]);
    }

    #[test]
    fn names_have_a_quality() {
        let file = |resolution: &str, codec: &str| Evidence {
            resolution: Some(resolution.to_owned()),
            video_codec: Some(codec.to_owned()),
            ..Evidence::default()
        };
        for (resolution, codec, expected) in [
            ("2160p", "AV1", 54),
            ("1080p", "x265", 43),
            ("1080i", "H.264", 32),
            ("720p", "XviD", 21),
            ("480p", "VP9", 10),
            ("576p", "", 0),
        ] {
            assert_eq!(
                quality(&[file(resolution, codec)]),
                expected,
                "{resolution} {codec}"
            );
        }
        assert_eq!(quality(&[file("480p", ""), file("720p", "")]), 20);
        assert_eq!(quality(&[]), 0);
    }
}
