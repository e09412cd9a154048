//! Errors that each operation may answer, for the OpenAPI document. Answers common to every guarded operation
//! are added elsewhere.

use qm_matching::DraftError;
use qm_platform::ActingError;
use qm_web::faults;

use crate::error::RssError as E;

faults! {
    CreateFeed => with(own(), [E::TooManyFeeds(1000)]);
    OfFeed => with(own(), [E::NoSuchFeed(some())]);
    Refresh => with(own(), [E::NoSuchFeed(some()), E::Fetch(some())]);
    Backfill => own();
    History => [E::NoSuchFeed(some())];
    Export => [E::FeedNotFound];
    Import => with(own(), [E::NoBundle]);
    CreateRule => with(with(own(), rule()), [E::UnknownFeed(some()), E::TooManyRules(5000)]);
    ChangeRule => with(with(own(), rule()), [E::NoSuchRule(some())]);
    DeleteRule => with(own(), [E::NoSuchRule(some())]);
    OfRule => [E::NoSuchRule(some())];
    Preview => with(candidate(), [E::UnknownFeed(some()), E::Path(some()), E::NoSuchProfile(some())]);
    CreateCandidate => with(with(own(), candidate()), [E::RuleNotFound]);
    ChangeCandidate => with(with(own(), candidate()), [E::NoSuchRule(some()), E::NoSuchCandidate]);
    DeleteCandidate => with(own(), [E::NoSuchRule(some()), E::NoSuchCandidate]);
    Reorder => with(own(), [E::NoSuchRule(some()), E::NoOrder, E::Order(some())]);
    Apply => with(with(own(), candidate()), [E::NoSuchRule(some()), E::NothingToApply]);
    TestMatch => with(candidate(), [E::NoSuchRule(some()), E::NoSuchCandidate, E::NoTitles, E::NoCandidate]);
    TestList => [E::NoSuchRule(some()), E::NoTitles];
    Named => [E::NoTorrentName];
    Download => with(own(), [E::NoSuchItem, E::NoLink, E::Download(some()), E::Path(some())]);
    Reset => with(own(), [E::NoSuchItem, E::MayNotDelete, E::Removal(some())]);
}

/// Placeholder for a part of a message that is known only at run time.
fn some() -> String {
    "…".to_owned()
}

fn with(mut errors: Vec<E>, others: impl IntoIterator<Item = E>) -> Vec<E> {
    errors.extend(others);
    errors
}

/// Errors of a user whose account or permission is gone while the token still works.
fn own() -> Vec<E> {
    vec![
        E::Acting(ActingError::Gone),
        E::Acting(ActingError::Inactive),
        E::Acting(ActingError::Lacks(some())),
    ]
}

fn rule() -> Vec<E> {
    vec![
        E::NameTaken(some()),
        E::PathTaken(some()),
        E::Path(some()),
        E::NoSuchProfile(some()),
        E::InactiveShow(some()),
        E::MayNotOverride,
    ]
}

fn candidate() -> Vec<E> {
    vec![
        E::Candidate(DraftError::NoName),
        E::Candidate(DraftError::NoMatchType),
        E::Candidate(DraftError::MatchType(some())),
        E::Candidate(DraftError::Field(some())),
        E::Candidate(DraftError::TooMany(101)),
    ]
}
