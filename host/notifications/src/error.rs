//! Errors of this area and the answer that the caller gets for each.

use qm_db::DbError;
use qm_kernel::ErrorKind;
use qm_platform::ActingError;
use qm_ports::Settling;
use qm_ports::channel::ChannelError;
use qm_web::ApiError;

#[derive(Debug, thiserror::Error)]
pub enum NotificationsError {
    #[error("Unknown notification event")]
    UnknownEvent,
    #[error("Notification not found.")]
    NoSuchNotification,
    #[error("No such connection.")]
    NoSuchConnection,
    #[error("Unknown channel \"{0}\".")]
    UnknownChannel(String),
    #[error("Email is not configured on this server yet.")]
    EmailNotConfigured,
    #[error(
        "The channel \"{0}\" is not available on this server: an administrator has to install its plugin first."
    )]
    NotInstalled(String),
    /// Plugins are still being compiled, so the channel may appear soon.
    #[error(transparent)]
    Settling(#[from] Settling),
    /// Every violated rule of a configuration.
    #[error("{}", .0.join("; "))]
    Config(Vec<String>),
    #[error("Connect the channel \"{0}\" first: it has no configuration yet.")]
    NotConfigured(String),
    #[error("The channel \"{0}\" is not linked by a code.")]
    NoCodes(String),
    #[error("Too many codes were asked for: no more than {most} in {minutes} minutes. Try again later.")]
    TooManyCodes { most: usize, minutes: u64 },
    #[error("No code has been received yet: send the newest code to your bot, then confirm again.")]
    NoCodeReceived,
    #[error(
        "That is not the code, or it is no longer good: enter the one of the newest letter, or save the address again to get another one."
    )]
    WrongCode,
    #[error("Nothing is sent to this address before it is confirmed: enter the code that was sent there.")]
    Unconfirmed,
    #[error("This chat is connected to another user.")]
    ChatTaken,
    /// Error of the service behind a channel.
    #[error("{channel} {source}")]
    Channel {
        /// The product's name.
        channel: String,
        source: ChannelError,
    },
    /// The token still allows it, but the user has lost the permission.
    #[error(transparent)]
    Acting(#[from] ActingError),
    #[error(transparent)]
    Database(#[from] DbError),
}

impl NotificationsError {
    pub const fn kind(&self) -> ErrorKind {
        match self {
            NotificationsError::UnknownEvent
            | NotificationsError::NoSuchNotification
            | NotificationsError::NoSuchConnection
            | NotificationsError::NoCodeReceived => ErrorKind::NotFound,
            NotificationsError::UnknownChannel(_)
            | NotificationsError::EmailNotConfigured
            | NotificationsError::NotInstalled(_)
            | NotificationsError::Config(_)
            | NotificationsError::NotConfigured(_)
            | NotificationsError::NoCodes(_)
            | NotificationsError::WrongCode
            | NotificationsError::Unconfirmed
            | NotificationsError::ChatTaken => ErrorKind::BadRequest,
            NotificationsError::Settling(_) => Settling::KIND,
            NotificationsError::TooManyCodes { .. } => ErrorKind::TooManyRequests,
            NotificationsError::Channel { source, .. } => upstream(source),
            NotificationsError::Acting(error) => error.kind(),
            NotificationsError::Database(error) => error.kind(),
        }
    }

    /// Stable machine-readable word in `code` of the answer; never changes.
    pub const fn code(&self) -> &'static str {
        match self {
            NotificationsError::UnknownEvent => "not_found.notification_event",
            NotificationsError::NoSuchNotification => "not_found.notification",
            NotificationsError::NoSuchConnection => "not_found.connection",
            NotificationsError::NoCodeReceived => "not_found.code",
            NotificationsError::UnknownChannel(_) => "bad_request.unknown_channel",
            NotificationsError::EmailNotConfigured => "bad_request.email_not_configured",
            NotificationsError::NotInstalled(_) => "bad_request.channel_not_installed",
            NotificationsError::Settling(_) => Settling::CODE,
            NotificationsError::Config(_) => "bad_request.rules",
            NotificationsError::NotConfigured(_) => "bad_request.not_configured",
            NotificationsError::NoCodes(_) => "bad_request.no_codes",
            NotificationsError::TooManyCodes { .. } => "throttled.codes",
            NotificationsError::WrongCode => "bad_request.wrong_code",
            NotificationsError::Unconfirmed => "bad_request.unconfirmed",
            NotificationsError::ChatTaken => "bad_request.chat_taken",
            NotificationsError::Channel { source, .. } => match upstream(source) {
                ErrorKind::Upstream => "upstream.channel",
                ErrorKind::UpstreamTimeout => "upstream_timeout.channel",
                ErrorKind::Unavailable => "unavailable.channel",
                _ => "bad_request.channel",
            },
            NotificationsError::Acting(error) => error.code(),
            NotificationsError::Database(error) => error.kind().code(),
        }
    }
}

/// Error kind of a failed call: a refusal by the service is for the caller to fix (token, address); other
/// failures are upstream faults.
const fn upstream(error: &ChannelError) -> ErrorKind {
    match error {
        ChannelError::Unreachable(_) | ChannelError::Protocol(_) | ChannelError::Plugin(_) => {
            ErrorKind::Upstream
        }
        ChannelError::Timeout(_) => ErrorKind::UpstreamTimeout,
        ChannelError::Throttled(_) | ChannelError::Busy => ErrorKind::Unavailable,
        ChannelError::Auth(_)
        | ChannelError::InvalidConfig(_)
        | ChannelError::NotFound(_)
        | ChannelError::Unsupported(_)
        | ChannelError::Rejected(_)
        | ChannelError::Denied(_)
        | ChannelError::Missing(_) => ErrorKind::BadRequest,
    }
}

impl From<NotificationsError> for ApiError {
    fn from(error: NotificationsError) -> Self {
        if let NotificationsError::Config(messages) = error {
            return ApiError::validation(messages);
        }
        ApiError::new(error.kind(), error.to_string())
            .with_code(error.code())
            .with_source(error)
    }
}
