//! Conflicts of two files that need the same place, or are releases of the same episode or movie: the better one, and the
//! resolutions allowed.

use qm_release::Release;

/// Similarity of two files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictKind {
    /// The same bytes, as far as a partial hash tells.
    Identical,
    /// Releases of one episode or movie.
    SameEpisode,
    /// The same name, nothing else.
    NameClash,
}

impl ConflictKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            ConflictKind::Identical => "identical",
            ConflictKind::SameEpisode => "same_episode",
            ConflictKind::NameClash => "name_clash",
        }
    }

    /// The resolutions that are possible, in the order they are offered.
    pub const fn allowed(self) -> &'static [Resolution] {
        match self {
            ConflictKind::Identical => &[Resolution::DeleteSource, Resolution::Replace, Resolution::Skip],
            ConflictKind::SameEpisode | ConflictKind::NameClash => &[
                Resolution::Replace,
                Resolution::KeepBoth,
                Resolution::DeleteSource,
                Resolution::Skip,
            ],
        }
    }

    /// The resolution that is proposed.
    pub const fn recommended(self, verdict: Verdict) -> Resolution {
        match (self, verdict) {
            (ConflictKind::Identical, _) => Resolution::DeleteSource,
            (ConflictKind::SameEpisode, Verdict::SourceBetter) => Resolution::Replace,
            (ConflictKind::SameEpisode, Verdict::TargetBetter) => Resolution::DeleteSource,
            (ConflictKind::SameEpisode, Verdict::Equivalent) | (ConflictKind::NameClash, _) => {
                Resolution::Skip
            }
        }
    }
}

/// A way to end a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    Replace,
    KeepBoth,
    DeleteSource,
    Skip,
}

impl Resolution {
    pub const NAMES: &'static [&'static str] = &["replace", "keep_both", "delete_source", "skip"];

    pub const fn as_str(self) -> &'static str {
        match self {
            Resolution::Replace => "replace",
            Resolution::KeepBoth => "keep_both",
            Resolution::DeleteSource => "delete_source",
            Resolution::Skip => "skip",
        }
    }

    pub fn from_name(name: &str) -> Option<Resolution> {
        [
            Resolution::Replace,
            Resolution::KeepBoth,
            Resolution::DeleteSource,
            Resolution::Skip,
        ]
        .into_iter()
        .find(|resolution| resolution.as_str() == name)
    }
}

/// Comparison of two releases by quality.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    SourceBetter,
    TargetBetter,
    Equivalent,
}

impl Verdict {
    pub const fn as_str(self) -> &'static str {
        match self {
            Verdict::SourceBetter => "source_better",
            Verdict::TargetBetter => "target_better",
            Verdict::Equivalent => "equivalent",
        }
    }
}

/// Compares two releases by their names. The texts name the dimensions in which the winner is better.
pub fn compare(source: &Quality, target: &Quality) -> (Verdict, Vec<String>) {
    let (winner, loser, verdict) = match source.score().cmp(&target.score()) {
        std::cmp::Ordering::Greater => (source, target, Verdict::SourceBetter),
        std::cmp::Ordering::Less => (target, source, Verdict::TargetBetter),
        std::cmp::Ordering::Equal => return (Verdict::Equivalent, Vec::new()),
    };
    let reasons = DIMENSIONS
        .iter()
        .zip(winner.0.iter().zip(&loser.0))
        .filter(|(_, (better, worse))| better.rank > worse.rank)
        .map(|((name, _), (better, worse))| format!("{name} {} > {}", better.label, worse.label))
        .collect();
    (verdict, reasons)
}

/// Dimensions of quality, each with the weight of one rank.
const DIMENSIONS: [(&str, u32); 5] = [
    ("resolution", 1000),
    ("source", 100),
    ("hdr", 50),
    ("audio", 10),
    ("channels", 5),
];

/// Quality as a release name tells it: one rank for each dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quality([Rank; DIMENSIONS.len()]);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rank {
    rank: u32,
    label: &'static str,
}

const NONE: Rank = Rank {
    rank: 0,
    label: "none",
};

impl Quality {
    pub fn from_release(name: &str, release: &Release) -> Self {
        let name = name.to_lowercase();
        let words: Vec<&str> = name
            .split(|c: char| !c.is_alphanumeric() && c != '+')
            .filter(|word| !word.is_empty())
            .collect();
        Self([
            resolution(release, &words),
            source(release, &words),
            hdr(release, &words),
            audio(release, &words),
            channels(&name),
        ])
    }

    fn score(&self) -> u32 {
        DIMENSIONS
            .iter()
            .zip(&self.0)
            .map(|((_, weight), rank)| weight * rank.rank)
            .sum()
    }
}

const fn rank(rank: u32, label: &'static str) -> Rank {
    Rank { rank, label }
}

fn resolution(release: &Release, words: &[&str]) -> Rank {
    match release.resolution {
        Some("2160p") => rank(4, "2160p"),
        Some("1080p") => rank(3, "1080p"),
        Some("1080i") => rank(3, "1080i"),
        Some("720p") => rank(2, "720p"),
        Some("480p") => rank(1, "480p"),
        _ if words.contains(&"4k") => rank(4, "2160p"),
        _ if words.contains(&"576p") => rank(1, "576p"),
        _ => NONE,
    }
}

fn source(release: &Release, words: &[&str]) -> Rank {
    if words.contains(&"remux") {
        return rank(5, "Remux");
    }
    match release.source {
        Some("Remux") => rank(5, "Remux"),
        Some("BluRay") => rank(4, "BluRay"),
        Some("WEB-DL") => rank(3, "WEB-DL"),
        Some("WEBRip") => rank(2, "WEBRip"),
        Some("WEB") => rank(2, "WEB"),
        Some("HDTV") => rank(1, "HDTV"),
        Some("DVD") => rank(1, "DVD"),
        _ if words.contains(&"sdtv") => rank(1, "SDTV"),
        _ => NONE,
    }
}

fn hdr(release: &Release, words: &[&str]) -> Rank {
    let dolby_vision = words.windows(2).any(|pair| pair == ["dolby", "vision"]);
    if dolby_vision || words.contains(&"dovi") || release.hdr.contains(&"DV") {
        rank(4, "Dolby Vision")
    } else if words.contains(&"hdr10plus") || release.hdr.contains(&"HDR10+") {
        rank(3, "HDR10+")
    } else if release.hdr.contains(&"HDR10") {
        rank(2, "HDR10")
    } else if release.hdr.contains(&"HDR") {
        rank(2, "HDR")
    } else if words.contains(&"hlg") {
        rank(1, "HLG")
    } else {
        NONE
    }
}

fn audio(release: &Release, words: &[&str]) -> Rank {
    // `dd5` of `DD5.1` is the word `dd` with the channels behind it.
    let bare: Vec<&str> = words
        .iter()
        .map(|word| word.trim_end_matches(|c: char| c.is_ascii_digit()))
        .collect();
    let says = |word: &str| bare.contains(&word) || words.contains(&word);
    let named = |name: &str| release.audio.contains(&name);
    if named("Atmos") {
        rank(5, "Atmos")
    } else if says("dtsx") || words.windows(2).any(|pair| pair == ["dts", "x"]) {
        rank(5, "DTS:X")
    } else if named("TrueHD") {
        rank(4, "TrueHD")
    } else if named("DTS-HD") {
        rank(4, "DTS-HD")
    } else if named("DDP") || says("ddp") || says("dd+") || says("eac3") {
        rank(3, "DD+")
    } else if named("DTS") {
        rank(2, "DTS")
    } else if named("AC3") || says("dd") {
        rank(2, "DD")
    } else if named("AAC") || says("aac") {
        rank(1, "AAC")
    } else if named("Opus") {
        rank(1, "Opus")
    } else if named("MP3") {
        rank(1, "MP3")
    } else {
        NONE
    }
}

fn channels(name: &str) -> Rank {
    for (text, rank) in [
        ("7.1", rank(3, "7.1")),
        ("5.1", rank(2, "5.1")),
        ("2.0", rank(1, "2.0")),
    ] {
        let stands_alone = |at: usize| {
            let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
            !digit(name[..at].chars().next_back()) && !digit(name[at + text.len()..].chars().next())
        };
        if name.match_indices(text).any(|(at, _)| stands_alone(at)) {
            return rank;
        }
    }
    NONE
}

/// `name (2).ext` … `name (99).ext`: the names under which a file may be kept beside one of its own name.
pub fn free_names(name: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let dot = name.iter().rposition(|byte| *byte == b'.').filter(|at| *at > 0);
    let (stem, extension) = name.split_at(dot.unwrap_or(name.len()));
    (2..=99).map(move |number| {
        let middle = format!(" ({number})");
        [stem, middle.as_bytes(), extension].concat()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(source: &str, target: &str) -> (Verdict, Vec<String>) {
        let quality = |name: &str| Quality::from_release(name, &qm_release::parse(name));
        compare(&quality(source), &quality(target))
    }

    #[test]
    fn the_better_release_wins_and_says_why() {
        for (better, worse, reasons) in [
            (
                "Harbor.Nine.S01E01.2160p.WEB-DL.H.265-TIDE.mkv",
                "Harbor.Nine.S01E01.1080p.WEB-DL.x264-TIDE.mkv",
                vec!["resolution 2160p > 1080p"],
            ),
            (
                "Harbor.Nine.S01E01.1080p.BluRay.REMUX.TrueHD.7.1-TIDE.mkv",
                "Harbor.Nine.S01E01.1080p.BluRay.DTS.5.1.x264-TIDE.mkv",
                vec![
                    "source Remux > BluRay",
                    "audio TrueHD > DTS",
                    "channels 7.1 > 5.1",
                ],
            ),
            (
                "A (2021) 1080p WEBRip DDP5.1.mkv",
                "A (2021) 1080p WEBRip AAC2.0.mkv",
                vec!["audio DD+ > AAC", "channels 5.1 > 2.0"],
            ),
            (
                "A (2021) 2160p WEB-DL DV.mkv",
                "A (2021) 2160p WEB-DL HDR10.mkv",
                vec!["hdr Dolby Vision > HDR10"],
            ),
            (
                "A (2021) 576p.mkv",
                "A (2021).mkv",
                vec!["resolution 576p > none"],
            ),
        ] {
            let reasons: Vec<String> = reasons.into_iter().map(str::to_owned).collect();
            assert_eq!(
                verdict(better, worse),
                (Verdict::SourceBetter, reasons.clone()),
                "{better}"
            );
            assert_eq!(
                verdict(worse, better),
                (Verdict::TargetBetter, reasons),
                "{better}"
            );
        }
        assert_eq!(
            verdict(
                "Harbor.Nine.S07.1080p-TIDE.mkv",
                "Harbor.Nine.S07.1080p.x265-TIDE.mkv"
            ),
            (Verdict::Equivalent, vec![])
        );
    }

    #[test]
    fn proposals_follow_kind_and_verdict() {
        use ConflictKind::*;
        for (kind, verdict, proposal) in [
            (Identical, Verdict::Equivalent, Resolution::DeleteSource),
            (SameEpisode, Verdict::SourceBetter, Resolution::Replace),
            (SameEpisode, Verdict::TargetBetter, Resolution::DeleteSource),
            (SameEpisode, Verdict::Equivalent, Resolution::Skip),
            (NameClash, Verdict::SourceBetter, Resolution::Skip),
        ] {
            assert_eq!(kind.recommended(verdict), proposal);
            assert!(kind.allowed().contains(&proposal));
        }
        assert!(
            Resolution::NAMES
                .iter()
                .all(|name| Resolution::from_name(name).is_some())
        );
    }

    #[test]
    fn free_names_keep_the_extension() {
        for (name, first, last) in [
            ("a.b.mkv", "a.b (2).mkv", "a.b (99).mkv"),
            (".hidden", ".hidden (2)", ".hidden (99)"),
            ("README", "README (2)", "README (99)"),
        ] {
            let names: Vec<Vec<u8>> = free_names(name.as_bytes()).collect();
            assert_eq!(names.len(), 98);
            assert_eq!(
                (names[0].as_slice(), names[97].as_slice()),
                (first.as_bytes(), last.as_bytes())
            );
        }
    }
}
