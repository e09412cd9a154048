//! Evaluation order of checks, and the recorded results.

use crate::compile::{Compiled, Rule, Wanted, source};
use crate::core::quoted;
use crate::outcome::{Check, ListResult, Outcome, Verdict, Winner};
use crate::sample::Prepared;
use crate::text::Script;

/// The matching candidate, without a record of the others.
pub fn matches<'a>(list: &'a Compiled, name: &Prepared<'_>) -> Option<Winner<'a>> {
    let winner = list
        .rules
        .iter()
        .find(|rule| judge(rule, name, &mut Unheard) == Verdict::Matched)?;
    Some(Winner {
        candidate_id: &winner.candidate.id,
        priority_order: winner.candidate.priority_order,
    })
}

/// The matching candidate, and the checks of each candidate.
pub fn evaluate(list: &Compiled, name: &Prepared<'_>) -> ListResult {
    let mut winner = None;
    let candidates = list
        .rules
        .iter()
        .map(|rule| {
            if winner.is_some() {
                let reason = "a higher-priority candidate already matched";
                return outcome(rule, Verdict::Skipped, reason.to_owned(), Vec::new());
            }
            let mut checks = Vec::new();
            let verdict = judge(rule, name, &mut checks);
            if verdict == Verdict::Matched {
                winner = Some(rule);
            }
            let reason = match (verdict, checks.last()) {
                (Verdict::Matched, _) => "every check passed".to_owned(),
                (Verdict::Disabled, _) => "the candidate is disabled".to_owned(),
                (_, Some(check)) => format!("{}: {}", check.label, check.detail),
                (_, None) => String::new(),
            };
            outcome(rule, verdict, reason, checks)
        })
        .collect();
    ListResult {
        matched: winner.is_some(),
        matched_candidate_id: winner.map(|rule| rule.candidate.id.clone()),
        matched_candidate_priority: winner.map(|rule| rule.candidate.priority_order),
        candidates,
        parsed: name.parsed().clone(),
    }
}

fn outcome(rule: &Rule, result: Verdict, reason: String, checks: Vec<Check>) -> Outcome {
    let candidate = &rule.candidate;
    Outcome {
        candidate_id: candidate.id.clone(),
        name: candidate.name.clone(),
        priority_order: candidate.priority_order,
        match_type: candidate.match_type,
        result,
        reason,
        checks,
    }
}

/// Receiver of check results.
trait Hearer {
    /// The detail is made only if it is kept.
    fn hear(&mut self, label: &'static str, passed: bool, detail: &dyn Fn() -> String);

    fn asks(&mut self, label: &'static str, passed: bool, detail: &dyn Fn() -> String) -> bool {
        self.hear(label, passed, detail);
        passed
    }
}

/// Receiver that discards results.
struct Unheard;

impl Hearer for Unheard {
    fn hear(&mut self, _: &'static str, _: bool, _: &dyn Fn() -> String) {}
}

impl Hearer for Vec<Check> {
    fn hear(&mut self, label: &'static str, passed: bool, detail: &dyn Fn() -> String) {
        self.push(Check {
            label,
            passed,
            detail: detail(),
        });
    }
}

/// Evaluates one candidate; the first failing check ends it.
fn judge(rule: &Rule, name: &Prepared<'_>, hearer: &mut impl Hearer) -> Verdict {
    if !rule.candidate.enabled {
        return Verdict::Disabled;
    }
    if !in_scope(rule, name, hearer) {
        return Verdict::Skipped;
    }
    let label = rule.label();
    let passed = rule
        .core
        .ask(name, |passed, detail| hearer.hear(label, passed, detail))
        && terms(rule, name, hearer)
        && quality(rule, name, hearer)
        && size(rule, name, hearer);
    if passed { Verdict::Matched } else { Verdict::Failed }
}

fn in_scope(rule: &Rule, name: &Prepared<'_>, hearer: &mut impl Hearer) -> bool {
    let feeds = &rule.candidate.feed_scope.feed_ids;
    let Some(feed) = name.feed_id().filter(|_| !feeds.is_empty()) else {
        return true;
    };
    let listed = feeds.iter().any(|id| id == feed);
    hearer.asks("feed scope", listed, &|| {
        let looks = if listed { "looks" } else { "does not look" };
        format!("the candidate {looks} at this feed")
    })
}

fn terms(rule: &Rule, name: &Prepared<'_>, hearer: &mut impl Hearer) -> bool {
    let has = |there: bool| if there { "has" } else { "does not have" };
    rule.required.iter().all(|term| {
        let there = term.is_in(name);
        hearer.asks("required term", there, &|| {
            format!("the name {} {}", has(there), quoted(&term.written))
        })
    }) && rule.excluded.iter().all(|term| {
        let there = term.is_in(name);
        hearer.asks("excluded term", !there, &|| {
            format!("the name {} {}", has(there), quoted(&term.written))
        })
    }) && rule.exclude.as_ref().is_none_or(|pattern| {
        let there = pattern.is_in(name.title());
        hearer.asks("excluded regex", !there, &|| {
            let matches = if there { "matches" } else { "does not match" };
            format!("the excluding pattern {matches} the name")
        })
    })
}

fn quality(rule: &Rule, name: &Prepared<'_>, hearer: &mut impl Hearer) -> bool {
    let rules = &rule.wants;
    let mut ask = |label, wanted: &Option<Wanted>, read: fn(&Prepared<'_>) -> Option<&'static str>| {
        wanted.as_ref().is_none_or(|wanted| {
            let read = read(name);
            let value = if label == "source" { read.map(source) } else { read };
            // Nearly every remux names its disc too, which the quick view finds first.
            let remux = label == "source" && wanted.value == "remux" && name.text(Script::Latin).has("remux");
            hearer.asks(label, remux || value == Some(&wanted.value), &|| match read {
                _ if remux => "remux".to_owned(),
                Some(read) => format!("{} is wanted, the name has {read}", quoted(&wanted.written)),
                None => format!("{} is wanted, the name tells none", quoted(&wanted.written)),
            })
        })
    };
    ask("resolution", &rules.resolution, |name| name.parsed().resolution)
        && ask("source", &rules.source, |name| name.parsed().source)
        && ask("codec", &rules.codec, |name| name.parsed().codec)
        && rules.quality.as_ref().is_none_or(|term| {
            let there = term.is_in(name);
            hearer.asks("quality", there, &|| {
                let has = if there { "has" } else { "does not have" };
                format!("the name {has} {}", quoted(&term.written))
            })
        })
}

fn size(rule: &Rule, name: &Prepared<'_>, hearer: &mut impl Hearer) -> bool {
    let rules = &rule.candidate.size_rules;
    if rules.min_bytes.is_none() && rules.max_bytes.is_none() {
        return true;
    }
    let Some(size) = name.size() else {
        return hearer.asks("size", true, &|| "the size is not known".to_owned());
    };
    let small = rules.min_bytes.filter(|least| size < *least);
    let large = rules.max_bytes.filter(|most| size > *most);
    hearer.asks(
        "size",
        small.is_none() && large.is_none(),
        &|| match (small, large) {
            (Some(least), _) => format!("{size} bytes are less than {least}"),
            (_, Some(most)) => format!("{size} bytes are more than {most}"),
            _ => format!("{size} bytes"),
        },
    )
}
