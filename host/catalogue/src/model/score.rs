//! Score of the metadata and the files of a library, in points.

use std::collections::BTreeMap;

/// Properties of an item that give points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a thing of its own that counts"
)]
pub struct Merits {
    pub is_matched: bool,
    pub is_duplicate: bool,
    pub has_metadata: bool,
    pub has_artwork: bool,
    /// True if it lies in a folder of its season or film, not in one that is named after the episode.
    pub is_organised: bool,
    /// True if the file was probed.
    pub is_probed: bool,
    pub has_subtitles: bool,
}

impl Merits {
    /// Points out of 100, and the reasons for the lost ones.
    pub fn judge(self) -> (i64, Vec<&'static str>) {
        let mut reasons = Vec::new();
        let mut score = 0;
        if self.is_matched && !self.is_duplicate {
            score += 35;
        }
        if !self.is_matched {
            reasons.push("unmatched");
        }
        if self.is_duplicate {
            reasons.push("duplicate");
        }
        for (holds, weight, reason) in [
            (self.has_metadata, 25, "missing_metadata"),
            (self.has_artwork, 15, "missing_artwork"),
            (self.is_organised, 10, "unorganised_path"),
            (self.is_probed, 8, "not_analyzed"),
            (self.has_subtitles, 7, "missing_subtitles"),
        ] {
            if holds {
                score += weight;
            } else {
                reasons.push(reason);
            }
        }
        (score, reasons)
    }
}

/// True if a folder is named after one episode: its name contains `SxxEyy`.
pub fn names_episode(folder: &str) -> bool {
    let bytes = folder.as_bytes();
    let digits = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    (0..bytes.len()).any(|at| {
        let is_start = at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
        let season = digits(at + 1);
        is_start
            && bytes[at].eq_ignore_ascii_case(&b's')
            && (1..=4).contains(&season)
            && bytes
                .get(at + 1 + season)
                .is_some_and(|byte| byte.eq_ignore_ascii_case(&b'e'))
            && digits(at + 2 + season) > 0
    })
}

/// Word for a score; a score of `None` means that there was nothing to judge.
pub fn status(score: Option<i64>) -> &'static str {
    match score {
        None => "unknown",
        Some(85..) => "healthy",
        Some(55..) => "attention",
        Some(_) => "problem",
    }
}

/// Rounded mean of scores; `None` without any.
pub fn mean(scores: &[i64]) -> Option<i64> {
    let count = i64::try_from(scores.len()).ok().filter(|count| *count > 0)?;
    let sum: i64 = scores.iter().sum();
    Some((2 * sum + count) / (2 * count))
}

/// Number of times that each reason is given.
pub fn counted<'a>(reasons: impl Iterator<Item = &'a &'static str>) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for reason in reasons {
        *counts.entry(*reason).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_lost_for_reasons() {
        let all = Merits {
            is_matched: true,
            is_duplicate: false,
            has_metadata: true,
            has_artwork: true,
            is_organised: true,
            is_probed: true,
            has_subtitles: true,
        };
        assert_eq!(all.judge(), (100, vec![]));
        let duplicate = Merits {
            is_duplicate: true,
            has_subtitles: false,
            ..all
        };
        assert_eq!(duplicate.judge(), (58, vec!["duplicate", "missing_subtitles"]));
        let (none, reasons) = Merits {
            is_duplicate: true,
            ..Merits::default()
        }
        .judge();
        assert_eq!((none, reasons.len()), (0, 7));
        for (score, word) in [
            (None, "unknown"),
            (Some(0), "problem"),
            (Some(54), "problem"),
            (Some(55), "attention"),
            (Some(84), "attention"),
            (Some(85), "healthy"),
            (Some(100), "healthy"),
        ] {
            assert_eq!(status(score), word, "{score:?}");
        }
        assert_eq!(
            (mean(&[]), mean(&[1, 2]), mean(&[1, 1, 2])),
            (None, Some(2), Some(1))
        );
    }

    #[test]
    fn a_folder_may_be_named_after_an_episode() {
        for (folder, expected) in [
            ("The.Wire.S01E02.1080p-GRP", true),
            ("s1e2", true),
            ("The Wire S01", false),
            ("Season 1", false),
            ("Aces1e5", false),
            ("S01E", false),
            ("", false),
            ("Ünï S02E10", true),
        ] {
            assert_eq!(names_episode(folder), expected, "{folder}");
        }
    }
}
