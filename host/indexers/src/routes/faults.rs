//! Errors that each operation may answer, for the OpenAPI document. Answers common to every guarded operation
//! are added elsewhere.

use qm_platform::ActingError;
use qm_platform::config_schema::BadSchema;
use qm_ports::Settling;
use qm_ports::indexer::IndexerError;
use qm_web::faults;

use crate::error::IndexerAreaError as E;
use crate::model::reports::AggregatorError;

faults! {
    Of => [E::NoSuchIndexer];
    Create => with(configuring(), [E::TooMany]);
    Change => with(configuring(), [E::NoSuchIndexer]);
    Delete => with(acting(), [E::NoSuchIndexer]);
    Test => with(acting(), [E::NoSuchIndexer, E::Settling(Settling::unknown())]);
    Acting => acting();
    ChangeLink => with(acting(), [E::LinkUrl("internalUrl", "…"), addresses()]);
    TryLink => with(acting(), [E::LinkUrl("internalUrl", "…"), E::NoLinkKey("…"), E::LinkKeyWanted(some()), addresses()]);
    Import => with(
        acting(),
        [
            E::LinkDisabled,
            E::NoLinkKey("…"),
            E::LinkKeyWanted(some()),
            E::LinkChanged,
            E::Importing,
            E::Settling(Settling::unknown()),
            E::Aggregator(AggregatorError::Denied(some())),
            E::Aggregator(AggregatorError::Rejected(some())),
            E::Aggregator(AggregatorError::Jackett(some())),
            E::Aggregator(AggregatorError::Timeout(some())),
            E::Aggregator(AggregatorError::Unreachable { place: some(), why: some() }),
        ],
    );
    SearchAll => [E::Settling(Settling::unknown())];
    Search => [
        E::NoSuchIndexer,
        E::Disabled,
        E::Settling(Settling::unknown()),
        failed(IndexerError::Unreachable(some())),
        failed(IndexerError::Timeout(some())),
        failed(IndexerError::Busy),
        failed(IndexerError::Auth(some())),
    ];
}

/// Placeholder for a part of a message that is known only at run time.
fn some() -> String {
    "…".to_owned()
}

fn failed(source: IndexerError) -> E {
    E::Failed {
        message: some(),
        source,
    }
}

fn with(mut errors: Vec<E>, more: impl IntoIterator<Item = E>) -> Vec<E> {
    errors.extend(more);
    errors
}

fn acting() -> Vec<E> {
    vec![E::Acting(ActingError::Gone), E::Acting(ActingError::Inactive)]
}

fn configuring() -> Vec<E> {
    with(
        acting(),
        [
            E::NoSuchImplementation {
                asked: some(),
                known: some(),
            },
            E::Settling(Settling::unknown()),
            E::Config(vec![some()]),
            E::BadSchema(some(), BadSchema::unusable()),
            addresses(),
        ],
    )
}

fn addresses() -> E {
    E::TooManyAddresses { most: 0, minutes: 0 }
}
