//! Errors that each operation may answer, for the OpenAPI document. Answers common to every guarded operation
//! are added elsewhere.

use qm_platform::ActingError;
use qm_ports::Settling;
use qm_ports::channel::ChannelError;
use qm_web::faults;

use crate::error::NotificationsError as E;
use crate::model::code::{LIFE, MOST};
use crate::model::proof::{HOUR, OF_PERSON};

faults! {
    /// The caller's own data; the account may be gone or deactivated.
    Own => own();
    Prefer => with(own(), [E::UnknownEvent]);
    Email => with(connect(), [E::EmailNotConfigured, too_many_letters()]);
    /// A channel that clients know by name.
    Known => with(connect(), [E::NotInstalled(some())]);
    Any => with(
        connect(),
        [E::UnknownChannel(some()), E::NotInstalled(some()), E::EmailNotConfigured, too_many_letters()],
    );
    Test => with(
        connect(),
        [E::UnknownChannel(some()), E::NotInstalled(some()), E::EmailNotConfigured, E::NoSuchConnection, E::Unconfirmed],
    );
    Disconnect => with(own(), [E::NoSuchConnection]);
    Link => with(linkable(), [E::TooManyCodes { most: MOST, minutes: LIFE.as_secs() / 60 }]);
    Confirm => with(with(linkable(), upstream()), [E::NoCodeReceived, E::ChatTaken, E::WrongCode]);
    Mark => with(own(), [E::NoSuchNotification]);
}

/// Placeholder for a part of a message that is known only at run time.
fn some() -> String {
    "…".to_owned()
}

fn with(mut errors: Vec<E>, more: impl IntoIterator<Item = E>) -> Vec<E> {
    errors.extend(more);
    errors
}

fn too_many_letters() -> E {
    E::TooManyCodes {
        most: OF_PERSON,
        minutes: HOUR.as_secs() / 60,
    }
}

fn own() -> Vec<E> {
    vec![E::Acting(ActingError::Gone), E::Acting(ActingError::Inactive)]
}

fn channel(source: ChannelError) -> E {
    E::Channel {
        channel: "<channel>".to_owned(),
        source,
    }
}

/// Errors of the service behind a channel.
fn upstream() -> Vec<E> {
    vec![
        channel(ChannelError::Unreachable(some())),
        channel(ChannelError::Timeout(some())),
        channel(ChannelError::Busy),
        channel(ChannelError::Rejected(some())),
    ]
}

fn connect() -> Vec<E> {
    with(
        with(own(), upstream()),
        [
            E::Config(Vec::new()),
            E::NoSuchConnection,
            E::Settling(Settling::unknown()),
        ],
    )
}

fn linkable() -> Vec<E> {
    with(
        own(),
        [
            E::NotConfigured(some()),
            E::Settling(Settling::unknown()),
            E::NotInstalled(some()),
            E::UnknownChannel(some()),
            E::EmailNotConfigured,
            E::NoCodes(some()),
        ],
    )
}
