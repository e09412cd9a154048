//! Preference lists: the candidate of a rule that matches the name of a release, and the reasons why others
//! do not.
//!
//! A list is compiled once ([`Compiled`]) and used for any number of names; a name is prepared once
//! ([`Prepared`]) and used for any number of lists. [`matches()`] returns the matching candidate,
//! [`evaluate`] also the checks of each candidate. Further: the simple filter of rules without candidates
//! ([`Filter`]), both as the conditions of one rule ([`RuleMatcher`]), candidates as a request or an import gives them
//! ([`CandidateDraft`]), a pattern from a text ([`convert_to_regex`]) and candidates suggested from a name
//! ([`analyze`]).
//!
//! Candidates are tried by priority, the smallest number first; the first match wins, so at most one matches.
//!
//! Pure: no I/O, no clock; nothing panics on any text. Patterns run on an engine whose time is linear in the text. Bounds: a
//! list has [`MAX_CANDIDATES`], a candidate [`MAX_TERMS`] of each kind, [`MAX_TERM_CHARS`] characters each, and a pattern of
//! [`MAX_PATTERN_CHARS`]; of a name the first [`qm_release::MAX_NAME`] bytes count. What is beyond a bound fails as a
//! candidate, with a reason; [`Candidate::check`] tells it before it is stored.

mod candidate;
mod compile;
mod core;
mod draft;
mod filter;
mod judge;
mod outcome;
mod rule_matcher;
mod sample;
mod smart;
mod text;

#[cfg(test)]
mod tests;

pub use candidate::{
    Candidate, FeedScope, MAX_FEEDS, MAX_NAME_CHARS, MAX_PATTERN_CHARS, MAX_TERM_CHARS, MAX_TERMS, MatchType,
    QualityRules, Refused, SizeRules,
};
pub use compile::{Compiled, MAX_CANDIDATES};
pub use draft::{CandidateDraft, DraftError, check_list_length};
pub use filter::{Filter, convert_to_regex};
pub use judge::{evaluate, matches};
pub use outcome::{Check, ListResult, Outcome, Verdict, Winner};
pub use rule_matcher::{Hit, RuleMatcher};
pub use sample::{Prepared, Sample};
pub use smart::{Analysis, Confidence, SmartCandidate, analyze};
