//! Connection of one user with a channel.

use qm_kernel::{Secret, Timestamp};
use qm_ports::channel::{ChannelConfig, ChannelKind};

/// Email.
pub const EMAIL: &str = "email";
/// Telegram, with the user's own bot.
pub const CHAT_APP_A: &str = "chat_app_a";
/// Discord, with an incoming webhook.
pub const CHAT_APP_B: &str = "chat_app_b";
/// Channels that clients know by name, with or without a plugin; in the order of lists.
pub const KNOWN: [&str; 3] = [EMAIL, CHAT_APP_A, CHAT_APP_B];

/// Number of consecutive failures from which a connection counts as failing. It is still used.
const FAILING: i64 = 3;
/// Largest stored error in bytes.
const MAX_ERROR: usize = 500;
/// Largest number of characters of a channel id.
pub const MAX_ID: usize = 64;
/// Capability of a channel that sends letters by the operator's mail server.
const MAIL: &str = "mail";

/// A connection without its secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Connection {
    pub user_id: String,
    pub channel: String,
    pub enabled: bool,
    /// True once a message or a code has reached the destination.
    pub verified: bool,
    /// Name of the configured account in the service, e.g. the bot's name.
    pub account: Option<String>,
    /// Destination for display, masked by the plugin.
    pub label: Option<String>,
    pub last_tested_at: Option<Timestamp>,
    pub last_success_at: Option<Timestamp>,
    pub last_failure_at: Option<Timestamp>,
    pub last_error: Option<String>,
    /// Failures since the last success.
    pub consecutive_failures: i64,
}

/// Decrypted secrets of a connection.
#[derive(Debug)]
pub struct Open {
    pub config: ChannelConfig,
    /// Opaque state of the plugin; `None` until the destination is known.
    pub state: Option<Secret>,
}

/// Health of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    Disabled,
    Unverified,
    Failing,
    Healthy,
}

impl Health {
    pub const fn as_str(self) -> &'static str {
        match self {
            Health::Disabled => "disabled",
            Health::Unverified => "unverified",
            Health::Failing => "failing",
            Health::Healthy => "healthy",
        }
    }
}

impl Connection {
    pub const fn health(&self) -> Health {
        if !self.enabled {
            Health::Disabled
        } else if !self.verified {
            Health::Unverified
        } else if self.consecutive_failures >= FAILING {
            Health::Failing
        } else {
            Health::Healthy
        }
    }

    /// The bot's name without a leading `@`; blank without a bot.
    pub fn bot_username(&self) -> &str {
        let name = self.account.as_deref().unwrap_or_default();
        name.strip_prefix('@').unwrap_or(name)
    }
}

/// A channel with the user's connection.
#[derive(Clone, Debug)]
pub struct Seen {
    pub channel: String,
    /// `None`: not connected.
    pub connection: Option<Connection>,
}

/// All channels of a user.
#[derive(Clone, Debug)]
pub struct Overview {
    pub channels: Vec<Seen>,
    /// Channels of the installed plugins, by id.
    pub kinds: Vec<ChannelKind>,
    /// Mail can be sent.
    pub email_ready: bool,
}

/// Error text as it is stored and shown: one line of limited length.
pub fn kept_error(text: &str) -> String {
    let line: String = text
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    line[..line.floor_char_boundary(MAX_ERROR)].to_owned()
}

/// True for a valid channel id.
pub fn is_id(text: &str) -> bool {
    (1..=MAX_ID).contains(&text.len())
        && text.bytes().all(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-' | b'.')
        })
}

/// True if the channel sends letters to an address that the user enters.
pub fn sends_letters(kind: &ChannelKind) -> bool {
    kind.id == EMAIL || kind.capabilities.iter().any(|word| word == MAIL)
}

/// True if the service reports the sender of a code. A channel that sends letters always uses the host's own
/// codes, whatever its plugin declares: only they show that letters reach the user.
pub fn links_by_code(kind: &ChannelKind) -> bool {
    kind.links_by_code && !sends_letters(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn health_is_what_holds_first() {
        for (enabled, verified, failures, health) in [
            (false, false, 0, "disabled"),
            (false, true, 9, "disabled"),
            (true, false, 9, "unverified"),
            (true, true, 0, "healthy"),
            (true, true, 2, "healthy"),
            (true, true, 3, "failing"),
        ] {
            let connection = Connection {
                enabled,
                verified,
                consecutive_failures: failures,
                ..Connection::default()
            };
            assert_eq!(
                connection.health().as_str(),
                health,
                "{enabled} {verified} {failures}"
            );
        }
    }

    #[test]
    fn errors_are_one_line_and_short() {
        assert_eq!(kept_error("a\r\nb\0c"), "a  b c");
        let long = kept_error(&"ä".repeat(400));
        assert_eq!((long.len(), long.chars().count()), (500, 250));
    }

    #[test]
    fn a_bot_is_named_without_its_sign() {
        for (account, name) in [
            (None, ""),
            (Some("@house_bot"), "house_bot"),
            (Some("house"), "house"),
        ] {
            let connection = Connection {
                account: account.map(str::to_owned),
                ..Connection::default()
            };
            assert_eq!(connection.bot_username(), name);
        }
    }

    #[test]
    fn ids_are_words() {
        for good in ["email", "chat_app_a", "org.example.push-2"] {
            assert!(is_id(good), "{good}");
        }
        for bad in ["", "Email", "a b", "ä", "a/b", &"a".repeat(65)] {
            assert!(!is_id(bad), "{bad}");
        }
    }
}
