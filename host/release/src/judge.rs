//! Content type, confidence, warnings, and the trace of every decision.

use crate::model::{ContentType, Decision, Release};
use crate::read::Reader;

impl Reader<'_> {
    pub(crate) fn judge(&mut self) {
        let release = &mut self.release;
        let many_episodes = self.marker.is_some() && release.episode.is_none();
        release.content_type = if release.season.is_some() && release.episode.is_some() {
            ContentType::TvEpisode
        } else if release.air_date.is_some() {
            ContentType::Daily
        } else if release.absolute_episode.is_some() {
            ContentType::AnimeEpisode
        } else if release.year.is_some() && !many_episodes {
            ContentType::Movie
        } else {
            ContentType::Unknown
        };
        release.confidence = confidence(release);
        for (missing, warning) in [
            (release.release_group.is_none(), "No release group was recognised"),
            (release.resolution.is_none(), "No resolution was recognised"),
            (release.source.is_none(), "No source was recognised"),
            (release.title.is_none(), "No title was recognised"),
        ] {
            if missing {
                release.warnings.push(warning);
            }
        }
    }

    /// Meaning of every part of the name, in the name's order.
    pub(crate) fn decisions(&self) -> Vec<Decision> {
        let mut spans: Vec<(usize, usize, &'static str, &'static str)> = self
            .spans
            .iter()
            .map(|span| (span.start, span.end, span.taken_for, span.rule))
            .collect();
        if self.release.title.is_some() {
            spans.push((
                self.title.0,
                self.title.1,
                "title",
                "stands before what was recognised",
            ));
        }
        spans.sort_unstable();
        let mut decisions = Vec::with_capacity(spans.len() * 2);
        let mut at = 0;
        for (start, end, taken_for, rule) in spans {
            self.unread(at, start, &mut decisions);
            self.decide((start, end), taken_for, rule, &mut decisions);
            at = at.max(end);
        }
        self.unread(at, self.text.len(), &mut decisions);
        decisions
    }

    fn unread(&self, from: usize, to: usize, decisions: &mut Vec<Decision>) {
        if (from..to).any(|at| self.text.is_word(at)) {
            self.decide((from, to), "ignored", "no rule", decisions);
        }
    }

    fn decide(
        &self,
        (start, end): (usize, usize),
        taken_for: &'static str,
        rule: &'static str,
        decisions: &mut Vec<Decision>,
    ) {
        let token = self
            .text
            .raw(start, end)
            .trim_matches(|c: char| " ._-".contains(c));
        decisions.push(Decision {
            token: token.to_owned(),
            taken_for,
            rule,
        });
    }
}

fn confidence(release: &Release) -> u8 {
    let identified =
        release.absolute_episode.is_some() || release.air_date.is_some() || release.year.is_some();
    let points = [
        (release.title.is_some(), 30),
        (release.episode.is_some(), 25),
        (release.episode.is_none() && identified, 18),
        (release.resolution.is_some(), 15),
        (release.source.is_some(), 15),
        (release.codec.is_some(), 10),
        (release.release_group.is_some(), 5),
    ];
    points
        .into_iter()
        .filter_map(|(known, points)| known.then_some(points))
        .sum()
}
